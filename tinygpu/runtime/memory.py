"""What moves between a thread and others, for kernels: wide accesses, a block's memory, values of other lanes, updates that nothing interrupts.

Comes in: counts, sizes and names. Goes out: numba intrinsics, `load(cells, pointer, offset)`, `shared(dtype, bytes)`, `shuffle_xor(value, lanes)`,
`atomic_sum(pointer, offset, value)`. The one idea: each is as few instructions as 16 bytes a move allow, and what moves are words, of which elements
are the bits; so one text serves all dtypes. Assembly is only what the compiler has no word for: updates, and a `streaming` store (`.cs`), of what is
touched once in global memory and is to leave the caches first.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types

from tinygpu.runtime.kernel import _intrinsic


def wide_shape(count: int, bits: int) -> tuple[int, int, int]:
    """How `count` elements of `bits` bits move: the number of accesses, the words in one, the bits of a word.

    >>> wide_shape(4, 32), wide_shape(8, 32), wide_shape(8, 16), wide_shape(2, 8), wide_shape(2, 64)
    ((1, 4, 32), (2, 4, 32), (1, 4, 32), (1, 1, 16), (1, 4, 32))
    """
    from math import gcd

    size = gcd(count * bits, 128)
    word = min(size, 32)
    return count * bits // size, size // word, word


def wide_place(builder: Any, pointer: Any, offset: Any, move: Any, access: int, space: str) -> Any:
    """The address in `global` (`streaming` too) or `shared` memory of one access of that type, behind element `offset`."""
    number = 3 if space == "shared" else 1
    near = builder.addrspacecast(builder.gep(pointer, [offset]), ir.PointerType(pointer.type.pointee, number))
    return builder.gep(builder.bitcast(near, ir.PointerType(move, number)), [ir.IntType(32)(access)])


@_intrinsic
def hint() -> Any:
    """The intrinsic `prefetch(pointer, offset)`: what lies around an element of global memory is on its way to the second cache."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8)
        place = builder.ptrtoint(wide_place(builder, arguments[0], arguments[1], byte, 0, "global"), ir.IntType(64))
        kind = ir.FunctionType(ir.VoidType(), [place.type])
        builder.call(ir.InlineAsm(kind, "prefetch.global.L2 [$0];", "l,~{memory}", True), [place])
        return context.get_dummy_value()

    return lambda context, pointer, offset: (types.void(pointer, offset), build)


def wide_cell(context: Any, builder: Any, kind: Any, cells: Any, at: int) -> Any:
    """The place of a thread's cell."""
    return builder.gep(context.make_array(kind)(context, builder, cells).data, [ir.IntType(32)(at)])


def wide_unpacked(builder: Any, moved: Any, item: Any, bits: int) -> list[Any]:
    """The elements of `bits` bits of a vector of words; several in a word are shifted out of it, or compilers split the access."""
    word, words = moved.type.element, [builder.extract_element(moved, ir.IntType(32)(n)) for n in range(moved.type.count)]
    if bits < word.width:
        places = range(0, word.width, bits)
        return [builder.trunc(builder.lshr(w, word(place)), item) for w in words for place in places]
    lanes = moved.type.count * word.width // bits
    values = builder.bitcast(moved, ir.VectorType(item, lanes))
    return [builder.extract_element(values, ir.IntType(32)(lane)) for lane in range(lanes)]


def wide_packed(builder: Any, values: list[Any], move: Any, bits: int) -> Any:
    """Elements of `bits` bits as a vector of words."""
    word = move.element
    if bits < word.width:
        each = word.width // bits
        shifted = [builder.shl(builder.zext(v, word), word(n % each * bits)) for n, v in enumerate(values)]
        values = [functools.reduce(builder.or_, shifted[n : n + each]) for n in range(0, len(shifted), each)]
    packed = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
    for lane, value in enumerate(values):
        packed = builder.insert_element(packed, value, ir.IntType(32)(lane))
    return builder.bitcast(packed, move)


def wide_streamed(builder: Any, place: Any, packed: Any) -> None:
    """Stores 32-bit words that are to leave the caches first."""
    words, word, long = range(packed.type.count), packed.type.element, ir.IntType(64)
    vector = f".v{len(words)}" if len(words) > 1 else ""
    text = f"st.global.cs{vector}.b32 [$0], {{{', '.join(f'${n + 1}' for n in words)}}};"
    values = [builder.extract_element(packed, ir.IntType(32)(n)) for n in words]
    kind = ir.FunctionType(ir.VoidType(), [long, *(word for _ in words)])
    builder.asm(kind, text, ",".join(["l", *("r" for _ in words)]), [builder.ptrtoint(place, long), *values], True)


@_intrinsic
def wide_load(count: int, space: str = "global") -> Any:
    """The intrinsic `load(cells, pointer, offset)`: `count` elements into cells; by `.nc` where the pointer is only read."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        accesses, words, bits = wide_shape(count, kind.dtype.bitwidth)
        move = ir.VectorType(ir.IntType(bits), words)
        for access in range(accesses):
            place = wide_place(builder, arguments[1], arguments[2], move, access, space)
            moved = builder.load(place, align=words * bits // 8)
            if not signature.args[1].mutable:
                moved.set_metadata("invariant.load", builder.module.add_metadata([]))
            values = wide_unpacked(builder, moved, context.get_data_type(kind.dtype), kind.dtype.bitwidth)
            for lane, value in enumerate(values, access * len(values)):
                builder.store(value, wide_cell(context, builder, kind, arguments[0], lane))
        return context.get_dummy_value()

    return lambda context, cells, pointer, offset: (types.void(cells, pointer, offset), build)


@_intrinsic
def wide_store(count: int, space: str = "global") -> Any:
    """The intrinsic `store(pointer, offset, cells)`: `count` elements out of cells."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[2]
        accesses, words, bits = wide_shape(count, kind.dtype.bitwidth)
        move, lanes = ir.VectorType(ir.IntType(bits), words), count // accesses
        for access in range(accesses):
            cells = (wide_cell(context, builder, kind, arguments[2], access * lanes + lane) for lane in range(lanes))
            packed = wide_packed(builder, [builder.load(cell) for cell in cells], move, kind.dtype.bitwidth)
            place = wide_place(builder, arguments[0], arguments[1], move, access, space)
            if space == "streaming" and bits == 32:
                wide_streamed(builder, place, packed)
            else:
                builder.store(packed, place, align=words * bits // 8)
        return context.get_dummy_value()

    return lambda context, pointer, offset, cells: (types.void(pointer, offset, cells), build)


@_intrinsic
def shared_memory(size: int) -> Any:
    """The intrinsic `shared(dtype, bytes)`: a pointer into the block's memory of `size` bytes; 0 where the launch says how many."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, name = ir.IntType(8), "shared_memory"
        held = builder.module.globals.get(name)
        if held is None:
            held = ir.GlobalVariable(builder.module, ir.ArrayType(byte, size), name, addrspace=3)
            held.align = 1024  # as the patterns of swizzles
            held.linkage = "internal" if size else "external"
            if size:
                held.initializer = ir.Constant(held.value_type, ir.Undefined)
        place = builder.gep(builder.bitcast(held, ir.PointerType(byte, 3)), [arguments[1]])
        item = context.get_data_type(signature.args[0].dtype)
        return builder.addrspacecast(builder.bitcast(place, ir.PointerType(item, 3)), ir.PointerType(item))

    return lambda context, kind, start: (types.CPointer(kind.dtype)(kind, start), build)


def shuffle_source(builder: Any, mode: str, by: Any) -> Any:
    """The lane that `up` and `down` name, and the own one where there is none."""
    word = ir.IntType(32)
    name = "llvm.nvvm.read.ptx.sreg.laneid"
    lane = builder.call(builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(word, []), name), [])
    far = builder.sub(lane, by) if mode == "up" else builder.add(lane, by)
    return builder.select(builder.icmp_unsigned("<", far, word(32)), far, lane)


@_intrinsic
def shuffle(mode: str) -> Any:
    """The intrinsic `shuffle(value, lanes)` of all 32 lanes: `xor`, `up`, `down`, `idx`; `up_any` and `down_any` for any distance."""

    way, _, any_distance = mode.partition("_")
    name = f"llvm.nvvm.shfl.sync.{'idx' if any_distance else {'xor': 'bfly'}.get(way, way)}.i32"

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, bits = ir.IntType(32), ir.IntType(signature.args[0].bitwidth)
        by = builder.trunc(arguments[1], word) if arguments[1].type.width > 32 else arguments[1]
        by = shuffle_source(builder, way, by) if any_distance else by
        wide = ir.IntType(max(bits.width, 32))
        whole = builder.bitcast(arguments[0], bits)
        whole = builder.zext(whole, wide) if wide != bits else whole
        move = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(word, [word] * 4), name)
        out = ir.Constant(wide, 0)
        for part in range(wide.width // 32):
            given = builder.trunc(builder.lshr(whole, wide(part * 32)), word) if wide != word else whole
            got = builder.call(move, [word(-1), given, by, word(0 if mode == "up" else 31)])
            out = builder.or_(out, builder.shl(builder.zext(got, wide), wide(part * 32))) if wide != word else got
        return builder.bitcast(builder.trunc(out, bits) if wide != bits else out, arguments[0].type)

    return lambda context, value, lanes: (value(value, lanes), build)


@_intrinsic
def atomic(update: str, space: str) -> Any:
    """The intrinsic `atomic(pointer, offset, value)`: `sum`, `max`, `min`, `bitor`, `bitand` or `xor` of an element in `global` or `shared` memory."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0].dtype
        sign = "f" if kind in types.real_domain else "s" if kind.signed and (update != "sum" or kind.bitwidth < 64) else "u"
        operation = {"sum": "add", "bitor": "or", "bitand": "and"}.get(update, update)
        sign = "b" if operation in ("or", "and", "xor") else sign
        text = f"red.relaxed.{'cta' if space == 'shared' else 'gpu'}.{space}.{operation}.{sign}{kind.bitwidth} [$0], $1;"
        far = builder.addrspacecast(arguments[0], ir.PointerType(arguments[0].type.pointee, 3 if space == "shared" else 1))
        place = builder.ptrtoint(builder.gep(far, [arguments[1]]), ir.IntType(64))
        shape = ir.FunctionType(ir.VoidType(), [place.type, arguments[2].type])
        mark = {"f32": "f", "f64": "d"}.get(f"{sign}{kind.bitwidth}", "r" if kind.bitwidth == 32 else "l")
        builder.call(ir.InlineAsm(shape, text, f"l,{mark},~{{memory}}", True), [place, arguments[2]])
        return context.get_dummy_value()

    return lambda context, pointer, offset, value: (types.void(pointer, offset, pointer.dtype), build)


@_intrinsic
def warp_number() -> Any:
    """The intrinsic `uniform(number)` of a number that all lanes of a warp have: the first one's, so that a compiler knows of it."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, (number,) = ir.IntType(32), arguments
        name = "llvm.nvvm.shfl.sync.idx.i32"
        move = builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(word, [word] * 4), name)
        given = builder.trunc(number, word) if number.type.width > 32 else number
        got = builder.call(move, [word(-1), given, word(0), word(31)])
        return builder.zext(got, number.type) if number.type.width > 32 else got

    return lambda context, number: (number(number), build)
