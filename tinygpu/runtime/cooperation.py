"""What threads do together, for kernels: a block's memory, values of other lanes, updates that nothing interrupts.

Comes in: sizes and names. Goes out: numba intrinsics, `shared(dtype, bytes)`, `shuffle_xor(value, lanes)`, `atomic_sum(pointer, offset, value)`.
The one idea: each is one PTX instruction for every dtype; a shuffle moves words of 32 bits, and narrower or wider values are words.
Each function imports what it needs when it is called.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def shared_memory(size: int) -> Any:
    """The intrinsic `shared(dtype, bytes)`: a pointer into the block's memory of `size` bytes; 0 where the launch says how many."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def shared(typingctx: Any, kind: Any, start: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            byte, name = ir.IntType(8), "shared_memory"
            held = builder.module.globals.get(name)
            if held is None:
                held = ir.GlobalVariable(builder.module, ir.ArrayType(byte, size), name, addrspace=3)
                held.align = 16
                held.linkage = "internal" if size else "external"
                if size:
                    held.initializer = ir.Constant(held.value_type, ir.Undefined)
            place = builder.gep(builder.bitcast(held, ir.PointerType(byte, 3)), [arguments[1]])
            item = context.get_data_type(kind.dtype)
            return builder.addrspacecast(builder.bitcast(place, ir.PointerType(item, 3)), ir.PointerType(item))

        return types.CPointer(kind.dtype)(kind, start), build

    return intrinsic(shared)


def shuffle_source(builder: Any, mode: str, by: Any) -> Any:
    """The lane that `up` and `down` name, and the own one where there is none."""
    from llvmlite import ir

    word = ir.IntType(32)
    name = "llvm.nvvm.read.ptx.sreg.laneid"
    lane = builder.call(builder.module.globals.get(name) or ir.Function(builder.module, ir.FunctionType(word, []), name), [])
    far = builder.sub(lane, by) if mode == "up" else builder.add(lane, by)
    return builder.select(builder.icmp_unsigned("<", far, word(32)), far, lane)


@functools.cache
def shuffle(mode: str) -> Any:
    """The intrinsic `shuffle(value, lanes)` of all 32 lanes: `xor`, `up`, `down`, `idx`; `up_any` and `down_any` for any distance."""
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    way, _, any_distance = mode.partition("_")
    name = f"llvm.nvvm.shfl.sync.{'idx' if any_distance else {'xor': 'bfly'}.get(way, way)}.i32"

    def exchange(typingctx: Any, value: Any, lanes: Any) -> Any:
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

        return value(value, lanes), build

    return intrinsic(exchange)


@functools.cache
def atomic(update: str, space: str) -> Any:
    """The intrinsic `atomic(pointer, offset, value)`: `sum`, `max` or `min` of an element in `global` or `shared` memory."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def change(typingctx: Any, pointer: Any, offset: Any, value: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = signature.args[0].dtype
            sign = "f" if kind in types.real_domain else "s" if kind.signed and (update != "sum" or kind.bitwidth < 64) else "u"
            operation = {"sum": "add"}.get(update, update)
            text = f"red.relaxed.{'cta' if space == 'shared' else 'gpu'}.{space}.{operation}.{sign}{kind.bitwidth} [$0], $1;"
            far = builder.addrspacecast(arguments[0], ir.PointerType(arguments[0].type.pointee, 3 if space == "shared" else 1))
            place = builder.ptrtoint(builder.gep(far, [arguments[1]]), ir.IntType(64))
            shape = ir.FunctionType(ir.VoidType(), [place.type, arguments[2].type])
            mark = {"f32": "f", "f64": "d"}.get(f"{sign}{kind.bitwidth}", "r" if kind.bitwidth == 32 else "l")
            builder.call(ir.InlineAsm(shape, text, f"l,{mark},~{{memory}}", True), [place, arguments[2]])
            return context.get_dummy_value()

        return types.void(pointer, offset, pointer.dtype), build

    return intrinsic(change)
