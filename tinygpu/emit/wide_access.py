"""Wide accesses for kernels: neighbours between a pointer and a thread's cells, as few PTX instructions as 16 bytes each allow.

Comes in: how many elements; the dtype is the pointer's. Goes out: numba intrinsics, `load(cells, pointer, offset)` and
`store(pointer, offset, cells)`, for global memory by PTX, for a block's by the compiler's own vectors, which it may move and merge. The one idea: an access is of words, and words are elements by a bitcast, so one text serves all dtypes.
This file is pasted into emitted modules, function by function: each imports what it needs when it is called.
"""

from __future__ import annotations

import functools
from typing import Any


def wide_shape(count: int, bits: int) -> tuple[int, int, int]:
    """How `count` elements of `bits` bits move: the number of accesses, the words in one, the bits of a word.

    >>> wide_shape(4, 32), wide_shape(8, 32), wide_shape(8, 16), wide_shape(2, 8), wide_shape(2, 64)
    ((1, 4, 32), (2, 4, 32), (1, 4, 32), (1, 1, 16), (1, 4, 32))
    """
    from math import gcd

    size = gcd(count * bits, 128)
    word = min(size, 32)
    return count * bits // size, size // word, word


def wide_slots(start: int, words: int) -> str:
    """The operands of one access: `{$1, $2}`."""
    names = ", ".join(f"${start + n}" for n in range(words))
    return "{" + names + "}" if words > 1 else names


def wide_place(context: Any, builder: Any, pointer: Any, offset: Any, item: Any) -> Any:
    """The address of element `offset`, as 64 bits."""
    from llvmlite import ir

    place = builder.gep(pointer, [builder.sext(offset, ir.IntType(64)) if offset.type.width < 64 else offset])
    return builder.ptrtoint(place, ir.IntType(64))


def wide_cell(context: Any, builder: Any, kind: Any, cells: Any, at: int) -> Any:
    """The place of a thread's cell."""
    from llvmlite import ir

    return builder.gep(context.make_array(kind)(context, builder, cells).data, [ir.IntType(32)(at)])


@functools.cache
def wide_load(count: int) -> Any:
    """The intrinsic `load(cells, pointer, offset)`: `count` elements into cells. The data is not written while the kernel runs (`.nc`)."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def load(typingctx: Any, cells: Any, pointer: Any, offset: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[0]
            accesses, words, bits = wide_shape(count, kind.dtype.bitwidth)
            word, lanes = ir.IntType(bits), count // accesses
            place = wide_place(context, builder, arguments[1], arguments[2], kind.dtype)
            result = word if words == 1 else ir.LiteralStructType([word] * words)
            constraints = ",".join([{16: "=h", 32: "=r"}[bits]] * words + ["l"])
            for access in range(accesses):
                vector = f".v{words}" if words > 1 else ""
                text = f"ld.global.nc{vector}.b{bits} {wide_slots(0, words)}, [${words}+{access * words * bits // 8}];"
                got = builder.call(ir.InlineAsm(ir.FunctionType(result, [place.type]), text, constraints, False), [place])
                packed = ir.Constant(ir.VectorType(word, words), ir.Undefined)
                for n in range(words):
                    part = builder.extract_value(got, n) if words > 1 else got
                    packed = builder.insert_element(packed, part, ir.IntType(32)(n))
                values = builder.bitcast(packed, ir.VectorType(context.get_data_type(kind.dtype), lanes))
                for lane in range(lanes):
                    value = builder.extract_element(values, ir.IntType(32)(lane))
                    builder.store(value, wide_cell(context, builder, kind, arguments[0], access * lanes + lane))
            return context.get_dummy_value()

        return types.void(cells, pointer, offset), build

    return intrinsic(load)


@functools.cache
def wide_store(count: int) -> Any:
    """The intrinsic `store(pointer, offset, cells)`: `count` elements out of cells."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def store(typingctx: Any, pointer: Any, offset: Any, cells: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[2]
            accesses, words, bits = wide_shape(count, kind.dtype.bitwidth)
            word, lanes = ir.IntType(bits), count // accesses
            place = wide_place(context, builder, arguments[0], arguments[1], kind.dtype)
            shape = ir.FunctionType(ir.VoidType(), [place.type] + [word] * words)
            constraints = ",".join(["l"] + [{16: "h", 32: "r"}[bits]] * words + ["~{memory}"])
            for access in range(accesses):
                packed = ir.Constant(ir.VectorType(context.get_data_type(kind.dtype), lanes), ir.Undefined)
                for lane in range(lanes):
                    value = builder.load(wide_cell(context, builder, kind, arguments[2], access * lanes + lane))
                    packed = builder.insert_element(packed, value, ir.IntType(32)(lane))
                values = builder.bitcast(packed, ir.VectorType(word, words))
                vector = f".v{words}" if words > 1 else ""
                text = f"st.global{vector}.b{bits} [$0+{access * words * bits // 8}], {wide_slots(1, words)};"
                parts = [builder.extract_element(values, ir.IntType(32)(n)) for n in range(words)]
                builder.call(ir.InlineAsm(shape, text, constraints, True), [place, *parts])
            return context.get_dummy_value()

        return types.void(pointer, offset, cells), build

    return intrinsic(store)


def shared_place(builder: Any, pointer: Any, offset: Any, move: Any, access: int) -> Any:
    """The address in a block's memory of one access of that type."""
    from llvmlite import ir

    place = builder.gep(pointer, [offset])
    near = builder.addrspacecast(place, ir.PointerType(place.type.pointee, 3))
    return builder.gep(builder.bitcast(near, ir.PointerType(move, 3)), [ir.IntType(32)(access)])


@functools.cache
def shared_load(count: int) -> Any:
    """The intrinsic `load(cells, pointer, offset)`: `count` elements of a block's memory into cells."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def load(typingctx: Any, cells: Any, pointer: Any, offset: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[0]
            accesses, words, bits = wide_shape(count, kind.dtype.bitwidth)
            move, lanes = ir.VectorType(ir.IntType(bits), words), count // accesses
            for access in range(accesses):
                place = shared_place(builder, arguments[1], arguments[2], move, access)
                values = builder.load(place, align=words * bits // 8)
                values = builder.bitcast(values, ir.VectorType(context.get_data_type(kind.dtype), lanes))
                for lane in range(lanes):
                    value = builder.extract_element(values, ir.IntType(32)(lane))
                    builder.store(value, wide_cell(context, builder, kind, arguments[0], access * lanes + lane))
            return context.get_dummy_value()

        return types.void(cells, pointer, offset), build

    return intrinsic(load)


@functools.cache
def shared_store(count: int) -> Any:
    """The intrinsic `store(pointer, offset, cells)`: `count` elements out of cells into a block's memory."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def store(typingctx: Any, pointer: Any, offset: Any, cells: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[2]
            accesses, words, bits = wide_shape(count, kind.dtype.bitwidth)
            move, lanes = ir.VectorType(ir.IntType(bits), words), count // accesses
            for access in range(accesses):
                packed = ir.Constant(ir.VectorType(context.get_data_type(kind.dtype), lanes), ir.Undefined)
                for lane in range(lanes):
                    value = builder.load(wide_cell(context, builder, kind, arguments[2], access * lanes + lane))
                    packed = builder.insert_element(packed, value, ir.IntType(32)(lane))
                place = shared_place(builder, arguments[0], arguments[1], move, access)
                builder.store(builder.bitcast(packed, move), place, align=words * bits // 8)
            return context.get_dummy_value()

        return types.void(pointer, offset, cells), build

    return intrinsic(store)
