"""Vectors for CPU kernels: f32 or f64 numbers, as many as a hardware register has or as a program says, with the few operations that tiles need.

Comes in: the dtype of the numbers. Goes out: how many they are, types, and their intrinsics: load, store, spread, arithmetic. The one idea: LLVM
has vectors of any length as values; given a name in numba they are variables, and so they stay in registers, which arrays of accumulators do not.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from tinygpu.runtime.arithmetic import at

_X86 = platform.machine() in ("x86_64", "AMD64")


class Lanes(types.Type):  # type: ignore[misc]
    """`count` numbers of a type."""

    def __init__(self, number: Any, llvm: Any, count: int):
        super().__init__(name=f"Lanes({count} x {number})")
        self.number, self.count, self.vector = number, count, ir.VectorType(llvm, count)


class _Vector(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, kind.vector)


register_model(Lanes)(_Vector)


def _lanes_place(kind: Lanes, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Where the elements from a number on lie."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), kind.vector.as_pointer())


def _moves(kind: Lanes) -> Iterator[Any]:
    """The elements from a number on; a number in every lane."""

    def load(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        loaded = builder.load(_lanes_place(kind, context, builder, signature, arguments))
        loaded.align = kind.number.bitwidth // 8
        return loaded

    def spread(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = builder.insert_element(ir.Constant(kind.vector, ir.Undefined), arguments[0], ir.IntType(32)(0))
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
        return builder.shuffle_vector(one, ir.Constant(kind.vector, ir.Undefined), zeros)

    yield intrinsic(lambda typing, array, first: (kind(array, types.uintp), load))
    yield intrinsic(lambda typing, number: (kind(kind.number), spread))


def _prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    kinds = [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3]
    hint = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), kinds), "llvm.prefetch.p0")
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    place = cgutils.get_item_pointer(context, builder, signature.args[0], array, arguments[1:], wraparound=False, boundscheck=False)
    builder.call(hint, [builder.bitcast(place, kinds[0]), *map(ir.IntType(32), (0, 3, 1))])  # to be read, again and again, as data
    return context.get_dummy_value()


@intrinsic
def prefetch(typing: Any, array: Any, place: Any) -> Any:
    """What lies around an element comes nearer, and nobody waits for it."""
    return types.none(array, place), _prefetch


@intrinsic
def _past(typing: Any, array: Any, place: Any, made: Any, first: Any) -> Any:
    """64 bytes of an array, from where a line of memory begins, past the caches."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item = context.get_value_type(array.dtype)
        line = ir.VectorType(item, 512 // array.dtype.bitwidth)
        near, far = (
            builder.bitcast(
                builder.gep(context.make_array(signature.args[n])(context, builder, arguments[n]).data, [arguments[n + 1]]),
                line.as_pointer(),
            )
            for n in (2, 0)
        )
        loaded = builder.load(near)
        loaded.align = array.dtype.bitwidth // 8
        stored = builder.store(loaded, far)
        stored.align = 64
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))
        return context.get_dummy_value()

    return types.none(array, place, made, first), build


@intrinsic
def settled(typing: Any) -> Any:
    """What went past the caches is seen by others before what is written later."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _X86:  # whose stores past the caches are behind no other fence
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.sse.sfence"), [])
        else:
            builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.none(), build


@njit(error_model="numpy", forceinline=True)  # type: ignore[untyped-decorator]
def streamed(array: Any, place: Any, made: Any, count: Any) -> None:
    """`array[place + n] = made[n]` for n < count, whole lines of memory past the caches."""
    lanes = at(64 // array.itemsize)
    begin = (at(array.ctypes.data) // at(array.itemsize) + place) % lanes
    head = min(at(count), (lanes - begin) % lanes)
    lines = (at(count) - head) // lanes
    for n in range(head):
        array[at(place + at(n))] = made[at(n)]
    for line in range(lines):
        _past(array, at(place + head + at(line) * lanes), made, at(head + at(line) * lanes))
    for n in range(head + lines * lanes, at(count)):
        array[at(place + at(n))] = made[at(n)]


def _lanes_store(number: Any) -> Any:
    """To write a vector from an element on."""

    def store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[2]
        stored = builder.store(arguments[2], _lanes_place(kind, context, builder, signature, arguments))
        stored.align = number.bitwidth // 8
        return context.get_dummy_value()

    return intrinsic(
        lambda typing, array, first, vector: (types.none(array, types.uintp, vector), store) if _is(vector, number) else None
    )


def _combined(number: Any, instruction: str) -> Any:
    """An operation of two vectors: an instruction of LLVM (a product and a sum may become one fused operation, as in the scalar code), or the
    left number of each lane where it stands in that relation to the right one."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if instruction in "<>":
            return builder.select(builder.fcmp_ordered(instruction, *arguments), *arguments)
        return getattr(builder, instruction)(*arguments, flags=("contract",))

    return intrinsic(lambda typing, left, right: (left(left, right), build) if _is(left, number) and left == right else None)


def _is(vector: Any, number: Any) -> bool:
    return isinstance(vector, Lanes) and vector.number == number


def _operations(number: Any) -> Iterator[Any]:
    yield _lanes_store(number)
    yield from (_combined(number, instruction) for instruction in ("fadd", "fsub", "fmul", "fdiv", ">", "<"))


_WIDE = bool(get_host_cpu_features().get("avx512f"))
LANES_f32, LANES_f64 = (16, 8) if _WIDE else (8, 4)  # numbers in one vector register
_F32, _F64 = (types.float32, ir.FloatType()), (types.float64, ir.DoubleType())
lanes_load_f32, lanes_spread_f32 = _moves(Lanes(*_F32, LANES_f32))
lanes_load_f64, lanes_spread_f64 = _moves(Lanes(*_F64, LANES_f64))
lanes_load_f32x4, lanes_spread_f32x4 = _moves(Lanes(*_F32, 4))
lanes_load_f64x4, lanes_spread_f64x4 = _moves(Lanes(*_F64, 4))
lanes_load_f32x8, lanes_spread_f32x8 = _moves(Lanes(*_F32, 8))
lanes_load_f64x8, lanes_spread_f64x8 = _moves(Lanes(*_F64, 8))
lanes_load_f32x16, lanes_spread_f32x16 = _moves(Lanes(*_F32, 16))
lanes_load_f64x16, lanes_spread_f64x16 = _moves(Lanes(*_F64, 16))
lanes_store_f32, lanes_add_f32, lanes_sub_f32, lanes_mul_f32, lanes_div_f32, lanes_max_f32, lanes_min_f32 = _operations(
    types.float32
)
lanes_store_f64, lanes_add_f64, lanes_sub_f64, lanes_mul_f64, lanes_div_f64, lanes_max_f64, lanes_min_f64 = _operations(
    types.float64
)
