"""Kernels of saxpy.tgpu, emitted by tinygpu; every machine was proved for all sizes before it was written.

  saxpy_v4 : saxpy

Needs numpy and numba; for arrays on a GPU also numba-cuda and cuda-core. Nothing of tinygpu. Kernels are compiled at
their first call and kept on disk. Arrays are never copied; a call on a GPU returns at once, on the caller's stream.

Floating point: sums are in the order of the loops, products and sums may be fused or reassociated.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib
import math
import operator
import os
import re
import struct
import sys
import tempfile
import threading
from importlib import metadata
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numba import get_num_threads, njit, prange

__all__ = ["saxpy", "saxpy_v4"]

Array: TypeAlias = Any  # of numpy, torch, CuPy, numba, or with a CUDA array interface or DLPack

at = np.uintp  # the number of an element: unsigned, so that numba makes no test for negative indices
inlined = njit(error_model="numpy", fastmath={"contract"}, forceinline=True)


# ── saxpy_v4 : saxpy ────────────────────────────────────────────────────────────────────────────────────────────────────────────

@njit(cache=True, error_model="numpy", nogil=True, fastmath={"contract"})
def saxpy_v4_work(first, last, a, x, y, z, n):
    """Items [first, last) of the points i < n."""
    for item in range(first, last):
        start = item * 8192
        for i in range(start, min(start + 8192, n)):
            z[at(i)] = a * x[at(i)] + y[at(i)]


@njit(cache=True, parallel=True, error_model="numpy", nogil=True)
def saxpy_v4_parallel(items, parts, a, x, y, z, n):
    """All saxpy_v4_work, in `parts` equal parts."""
    for part in prange(parts):
        saxpy_v4_work(items * part // parts, items * (part + 1) // parts, a, x, y, z, n)


def saxpy_v4_cpu(a, x, y, z, n):
    """a: f32[], x: f32[n], y: f32[n], z: f32[n]; C-contiguous arrays, 16-bit floats in any 16-bit dtype; writes the outputs."""
    a = np.float32(a)
    x = x.reshape(-1)
    y = y.reshape(-1)
    z = z.reshape(-1)
    items = (n + 8191) // 8192
    if n < 65536:
        saxpy_v4_work(0, items, a, x, y, z, n)
    else:
        saxpy_v4_parallel(items, min(items, get_num_threads()), a, x, y, z, n)


def saxpy_v4_kernel(bits: int, wide: bool) -> Any:
    """The kernel of saxpy_v4, for indices of 32 or 64 bits, with wide accesses or without.

    z[i] = a*x[i] + y[i]

    grid = (g: ceil(n / 256)), block = (t: 64)

    Products and sums may be contracted to fused multiply-adds; nothing else is relaxed, and reductions keep their order.
    """
    names = cuda_names(bits)
    cuda, f32, ix, pointer = names.cuda, names.f32, names.ix, names.pointer
    constant = constant_memory()
    load4 = wide_load(4)
    store4 = wide_store(4)
    upto = counted()

    def saxpy_v4(x, y, z, a, n):
        g = ix(cuda.blockIdx.x)
        t = ix(cuda.threadIdx.x)
        x_v = cuda.local.array(4, f32)
        y_v = cuda.local.array(4, f32)
        z_v = cuda.local.array(4, f32)
        i0 = ix(ix(g*256) + ix(t*4))
        # x by 16 bytes, y by 16 bytes, z by 16 bytes, where all 4 lanes are inside
        if wide and ix(i0 + 3) < n:
            load4(x_v, x, i0)
            load4(y_v, y, i0)
            for v in upto(ix(4)):
                z_v[v] = a*x_v[v] + y_v[v]
            store4(z, i0, z_v)
        else:
            for v in upto(ix(4)):
                i = ix(i0 + v)
                if i < n:
                    z[i] = a*x[i] + y[i]

    return saxpy_v4, names.void(constant(f32), constant(f32), pointer(f32), f32, ix)


def saxpy_v4(a: float, x: Array, y: Array, *, out: Array = None, stream: Any = None) -> Array:
    """z[i] = a*x[i] + y[i]

    in   a: f32, by value
    in   x: f32[n]
    in   y: f32[n]
    out  z: f32[n]

    Machine: grid (g: ceil(n / 256)), block (t: 64).

    As in a test, nothing is proved.
    """
    _a = _scalar("saxpy_v4", "a", a, "f32")
    _x = _view("saxpy_v4", "x", x, "f32", "[n]", 1)
    _y = _view("saxpy_v4", "y", y, "f32", "[n]", 1)
    n = _x.shape[0]
    _sizes = {"n": n}
    if _y.shape != (n,):
        _shape_error("saxpy_v4", _y, "[n]", (n,), _sizes)
    _first = _same_device("saxpy_v4", (_x, _y))
    if out is None:
        _z = _allocate("saxpy_v4", "z", _first, "f32", (n,), stream)
    else:
        (_z,) = _given("saxpy_v4", out, 1)
        _z = _writable("saxpy_v4", "out", _z, "f32", "[n]", 1)
        if _z.shape != (n,):
            _shape_error("saxpy_v4", _z, "[n]", (n,), _sizes)
        _same_device("saxpy_v4", (_x, _y) + (_z,))
        _distinct("saxpy_v4", (_z,), (_x, _y))
    if not _z.nbytes:
        return _z.owner
    if _z.device < 0:
        if max(-(-n // 256), -(-n // 256)*256 - 1, n, 0) > 9223372032559808512:
            _too_large("saxpy_v4", "ceil(n / 256) and ceil(n / 256)*256 - 1 and n", 9223372032559808512, _sizes)
        _no_stream("saxpy_v4", stream)
        _on_cpu(saxpy_v4_cpu, _a, _x.base, _y.base, _z.base, n)
    else:
        _bits = 32 if -(-n // 256) <= 2147483647 and -(-n // 256)*256 - 1 <= 2147483647 and n <= 2147483647 else 64
        if _bits == 64 and max(-(-n // 256), -(-n // 256)*256 - 1, n, 0) > 9223372036854775807:
            _too_large("saxpy_v4", "ceil(n / 256) and ceil(n / 256)*256 - 1 and n", 9223372036854775807, _sizes)
        _stream = _stream_of("saxpy_v4", stream, _x, _y, _z)
        _wide = _aligned((_x, 16), (_y, 16), (_z, 16))
        _index = np.int32 if _bits == 32 else np.int64
        _blocks = -(-n // 256)
        if _blocks > 2147483647:
            _too_large("saxpy_v4", "the number of blocks, ceil(n / 256),", 2147483647, _sizes)
        _saxpy_v4_cuda(_z, _stream, _bits, _wide, _blocks, _x.pointer, _y.pointer, _z.pointer, _memory(_a, "f32"), _index(n))
    return _z.owner


saxpy = saxpy_v4


# ── what CUDA kernels call ──────────────────────────────────────────────────────────────────────────────────────────────────────

@functools.cache
def cuda_names(bits: int) -> Any:
    """What kernels call things: `cuda`, the dtypes, `ix` (indices of that many bits), libdevice's functions."""
    import math
    from types import SimpleNamespace

    import numpy

    if not hasattr(numpy, "row_stack"):  # numba-cuda asks for a name that numpy 2.5 dropped
        numpy.row_stack = numpy.vstack  # type: ignore[attr-defined]
    from numba import cuda, types
    from numba.cuda import libdevice

    ix = types.int32 if bits == 32 else types.int64
    names = SimpleNamespace(cuda=cuda, ix=ix, inf=math.inf, pointer=types.CPointer, void=types.void)
    names.f64, names.f32, names.i64, names.i32, names.i8 = types.float64, types.float32, types.int64, types.int32, types.int8
    names.u64, names.u32, names.u16, names.u8 = types.uint64, types.uint32, types.uint16, types.uint8
    for function in ("exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "erf", "floor", "fabs"):
        setattr(names, function, getattr(libdevice, function))
        setattr(names, function + "f", getattr(libdevice, function + "f"))
    return names


@functools.cache
def constant_memory() -> Any:
    """The type `constant(dtype)`: a pointer to global memory, whose loads are `ld.global.nc`."""
    import operator

    from llvmlite import ir
    from numba import types
    from numba.cuda.cudaimpl import registry
    from numba.cuda.extending import core_models, register_model

    class Constant(types.CPointer):  # type: ignore[misc]
        mutable = False

        def __init__(self, dtype: Any):
            super().__init__(dtype)
            self.name: str = f"constant {dtype}*"

        @property
        def key(self) -> Any:
            return self.name

    register_model(Constant)(core_models.PointerModel)

    def element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item = context.get_data_type(signature.args[0].dtype)
        place = builder.gep(builder.addrspacecast(arguments[0], ir.PointerType(item, 1)), [arguments[1]])
        value = builder.load(place)
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    registry.lower(operator.getitem, Constant, types.Integer)(element)
    return Constant


@functools.cache
def counted() -> Any:
    """The intrinsic `upto(stop)`: 0, 1, … below `stop`, in its type."""
    from llvmlite import ir
    from numba import types
    from numba.cuda import cgutils
    from numba.cuda.core.imputils import RefType, iternext_impl
    from numba.cuda.cudaimpl import registry
    from numba.cuda.extending import core_models, intrinsic, register_model

    class Turns(types.SimpleIteratorType):  # type: ignore[misc]
        def __init__(self, kind: Any):
            super().__init__(f"turns of {kind}", kind)

    class Upto(types.SimpleIterableType):  # type: ignore[misc]
        def __init__(self, kind: Any):
            super().__init__(f"upto {kind}", Turns(kind))

    @register_model(Upto)
    class Stop(core_models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, ir.IntType(kind.iterator_type.yield_type.bitwidth))

    @register_model(Turns)
    class State(core_models.StructModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, [("stop", kind.yield_type), ("turn", types.CPointer(kind.yield_type))])

    def start(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        state.turn = cgutils.alloca_once(builder, arguments[0].type)
        state.stop = arguments[0]
        builder.store(ir.Constant(arguments[0].type, 0), state.turn)
        return state._getvalue()

    def step(context: Any, builder: Any, signature: Any, arguments: Any, result: Any) -> None:
        state = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        turn = builder.load(state.turn)
        result.set_valid(builder.icmp_signed("<", turn, state.stop))
        result.yield_(turn)
        builder.store(builder.add(turn, ir.Constant(turn.type, 1), flags=["nsw"]), state.turn)  # the last turn's is never used

    registry.lower("getiter", Upto)(start)
    registry.lower("iternext", Turns)(iternext_impl(RefType.UNTRACKED)(step))

    def upto(typingctx: Any, stop: Any) -> Any:
        return Upto(stop)(stop), lambda context, builder, signature, arguments: arguments[0]

    return intrinsic(upto)


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
    from llvmlite import ir

    number = 3 if space == "shared" else 1
    near = builder.addrspacecast(builder.gep(pointer, [offset]), ir.PointerType(pointer.type.pointee, number))
    return builder.gep(builder.bitcast(near, ir.PointerType(move, number)), [ir.IntType(32)(access)])


def wide_cell(context: Any, builder: Any, kind: Any, cells: Any, at: int) -> Any:
    """The place of a thread's cell."""
    from llvmlite import ir

    return builder.gep(context.make_array(kind)(context, builder, cells).data, [ir.IntType(32)(at)])


def wide_packed(builder: Any, values: list[Any], move: Any, bits: int) -> Any:
    """Elements of `bits` bits as a vector of words."""
    from llvmlite import ir

    word = move.element
    if bits < word.width:
        each = word.width // bits
        shifted = [builder.shl(builder.zext(v, word), word(n % each * bits)) for n, v in enumerate(values)]
        values = [functools.reduce(builder.or_, shifted[n : n + each]) for n in range(0, len(shifted), each)]
    packed = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
    for lane, value in enumerate(values):
        packed = builder.insert_element(packed, value, ir.IntType(32)(lane))
    return builder.bitcast(packed, move)


def wide_unpacked(builder: Any, moved: Any, item: Any, bits: int) -> list[Any]:
    """The elements of `bits` bits of a vector of words; several in a word are shifted out of it, or compilers split the access."""
    from llvmlite import ir

    word, words = moved.type.element, [builder.extract_element(moved, ir.IntType(32)(n)) for n in range(moved.type.count)]
    if bits < word.width:
        places = range(0, word.width, bits)
        return [builder.trunc(builder.lshr(w, word(place)), item) for w in words for place in places]
    lanes = moved.type.count * word.width // bits
    values = builder.bitcast(moved, ir.VectorType(item, lanes))
    return [builder.extract_element(values, ir.IntType(32)(lane)) for lane in range(lanes)]


def wide_streamed(builder: Any, place: Any, packed: Any) -> None:
    """Stores 32-bit words that are to leave the caches first."""
    from llvmlite import ir

    words, word, long = range(packed.type.count), packed.type.element, ir.IntType(64)
    vector = f".v{len(words)}" if len(words) > 1 else ""
    text = f"st.global.cs{vector}.b32 [$0], {{{', '.join(f'${n + 1}' for n in words)}}};"
    values = [builder.extract_element(packed, ir.IntType(32)(n)) for n in words]
    kind = ir.FunctionType(ir.VoidType(), [long, *(word for _ in words)])
    builder.asm(kind, text, ",".join(["l", *("r" for _ in words)]), [builder.ptrtoint(place, long), *values], True)


@functools.cache
def wide_load(count: int, space: str = "global") -> Any:
    """The intrinsic `load(cells, pointer, offset)`: `count` elements into cells; by `.nc` where the pointer is only read."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def load(typingctx: Any, cells: Any, pointer: Any, offset: Any) -> Any:
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

        return types.void(cells, pointer, offset), build

    return intrinsic(load)


@functools.cache
def wide_store(count: int, space: str = "global") -> Any:
    """The intrinsic `store(pointer, offset, cells)`: `count` elements out of cells."""
    from llvmlite import ir
    from numba import types
    from numba.cuda.extending import intrinsic

    def store(typingctx: Any, pointer: Any, offset: Any, cells: Any) -> Any:
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

        return types.void(pointer, offset, cells), build

    return intrinsic(store)


# ── the same in every module ────────────────────────────────────────────────────────────────────────────────────────────────────

_HELD = {  # dtype of the language: what may hold it, and its bytes
    "f64": (("float64",), 8), "f32": (("float32",), 4), "f16": (("float16",), 2), "bf16": (("bfloat16", "uint16"), 2),
    "i64": (("int64",), 8), "i32": (("int32",), 4), "u32": (("uint32",), 4), "i8": (("int8",), 1), "u8": (("uint8",), 1),
    "bool": (("bool",), 1),
}  # fmt: skip
_USUAL = {dtype: {np.dtype(n) for n in names if n != "bfloat16"} for dtype, (names, _) in _HELD.items()}
_TYPESTR = {"V2": "bfloat16", "u2": "uint16", "b1": "bool"}  # in a CUDA array interface, where numpy's own reading is not wanted
_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


class _View:
    """An array looked at: `device` is -1 on the CPU, else the ordinal of the GPU; `base` is what the CPU kernel is given."""

    __slots__ = ("base", "device", "family", "name", "nbytes", "owner", "pointer", "readonly", "shape")

    def __init__(
        self, name: str, owner: Any, family: str, device: int, at: int | None, shape: Any, nbytes: int, readonly: bool, base: Any
    ):
        self.name, self.owner, self.family, self.device = name, owner, family, device
        self.shape, self.nbytes, self.readonly, self.base = shape, nbytes, readonly, base
        if at is not None:
            self.pointer = at

    def __getattr__(self, name: str) -> Any:
        """The address of the first element, of an array of numpy: asked for only where it matters, since that takes longer than all the rest."""
        if name != "pointer":
            raise AttributeError(name)
        self.pointer = int(self.base.__array_interface__["data"][0])
        return self.pointer


def _fail(error: type[Exception], code: str, function: str, message: str) -> NoReturn:
    raise error(f"{code} {function}: {message}")


def _view(function: str, name: str, value: Any, dtype: str, shape: str, rank: int, written: bool = False) -> _View:
    """`value` as an argument: an array of `dtype` and `rank`, C-contiguous, aligned to its elements. `shape` is for messages only,
    and so is whether it is `written`: a copy of an output helps nobody."""
    if type(value) is np.ndarray and value.dtype in _USUAL[dtype] and value.ndim == rank:
        flags = value.flags
        if flags.c_contiguous and flags.aligned:
            return _View(name, value, "numpy", -1, None, value.shape, value.nbytes, not flags.writeable, value)
    quick = _QUICK.get(type(value))
    if quick is not None:
        try:
            view = quick[0](name, value, dtype, rank, quick[1])
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
            view = None  # what is wrong is found below, and said
        if view is not None:
            return view
    wanted = f"{name} must be {_article(_HELD[dtype][0][0])} array of shape {shape}"
    family, device, pointer, extents, kind, contiguous, readonly, base = _look(function, name, value, wanted)
    names, size = _HELD[dtype]
    if kind not in names:
        way = f"Make it with dtype={names[0]!r}" if written else f"Convert it, for example with {name}.astype({names[0]!r})"
        _fail(TypeError, "TG802", function, f"{wanted}; its dtype is {kind}. {way}")
    if len(extents) != rank:
        _fail(ValueError, "TG803", function, f"{wanted}; its shape is {tuple(extents)}, of rank {len(extents)} instead of {rank}")
    if not contiguous:
        way = "Pass a contiguous array, and copy from it" if written else "Pass a contiguous copy of it"
        _fail(ValueError, "TG805", function, f"{wanted}, C-contiguous; its strides are not. {way}")
    if pointer % size:
        _fail(ValueError, "TG813", function, f"{wanted}; its memory is not aligned to the {size} bytes of an element")
    return _View(name, value, family, device, pointer, tuple(extents), math.prod(extents) * size, readonly, base)


_QUICK: dict[type, Any] = {}  # a type of arrays on GPUs that was met: how to look at one with which all is well, and its library
_KINDS: dict[Any, str] = {}  # dtypes of other libraries that were met, and typestrs: their names


def _quick_torch(name: str, value: Any, dtype: str, rank: int, family: str) -> _View | None:
    """A tensor on a GPU; None, where anything has to be said about it. The same of the two below."""
    shape, pointer, (names, size) = value.shape, value.data_ptr(), _HELD[dtype]
    fits = value.is_cuda and _KINDS.get(value.dtype) in names and len(shape) == rank and not pointer % size
    if not fits or not value.is_contiguous() or value.is_neg() or (value.requires_grad and sys.modules[family].is_grad_enabled()):
        return None
    return _View(name, value, family, value.get_device(), pointer, shape, value.nbytes, False, None)


def _quick_cupy(name: str, value: Any, dtype: str, rank: int, family: str) -> _View | None:
    shape, pointer, (names, size) = value.shape, value.data.ptr, _HELD[dtype]
    if _KINDS.get(value.dtype.str) not in names or len(shape) != rank or pointer % size or not value.flags.c_contiguous:
        return None
    return _View(name, value, family, value.device.id, pointer, shape, value.nbytes, False, None)


def _quick_interface(name: str, value: Any, dtype: str, rank: int, family: str) -> _View | None:
    said, (names, size) = value.__cuda_array_interface__, _HELD[dtype]
    shape, (at, readonly) = tuple(said["shape"]), said["data"]
    pointer = int(at or 0)
    fits = _KINDS.get(said["typestr"]) in names and said.get("strides") is None and said.get("mask") is None and len(shape) == rank
    if not fits or not pointer or pointer % size or min(shape, default=0) < 0:
        return None
    return _View(name, value, family, _device_of(pointer), pointer, shape, math.prod(shape) * size, readonly, None)


def _look(function: str, name: str, value: Any, wanted: str) -> tuple[Any, ...]:
    """(family, device, pointer, shape, dtype name, C-contiguous, read-only, numpy array or None) of anything that is an array."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            _fail(TypeError, "TG801", function, f"{wanted}; it is a masked array, whose mask would be lost. Pass {name}.filled(…)")
        array = value if type(value) is np.ndarray else value.view(np.ndarray)
        kind = array.dtype.name if array.dtype.isnative else array.dtype.str
        flags = array.flags
        pointer = array.__array_interface__["data"][0]
        return "numpy", -1, pointer, array.shape, kind, flags.c_contiguous, not flags.writeable, array
    try:
        return _look_beyond(function, name, value, wanted)
    except Exception as error:
        if isinstance(error, ImportError) or str(error).startswith("TG8"):
            raise
        said = f"{type(error).__name__}: {error}"[:200]
        problem = TypeError(
            f"TG801 {function}: {wanted}; what {_article(type(value).__name__)} says of itself cannot be read ({said})"
        )
    raise problem


def _look_beyond(function: str, name: str, value: Any, wanted: str) -> tuple[Any, ...]:
    """The same of what is no array of numpy; what describes itself wrongly raises anything."""
    family = _family(value)
    if family == "torch" and hasattr(value, "data_ptr"):
        return _look_torch(function, name, value)
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is not None:
        return _look_interface(family, value, interface)
    if hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] in _DLPACK_CUDA:
        from cuda.core.utils import StridedMemoryView

        seen = StridedMemoryView.from_dlpack(value, stream_ptr=1)  # what its library still does comes before the default stream
        shape, contiguous = tuple(seen.shape), _in_rows(seen.shape, seen.strides, 1)
        return family, seen.device_id, seen.ptr, shape, _packed(seen), contiguous, seen.readonly, None
    _fail(TypeError, "TG801", function, f"{wanted}, of numpy or on a GPU; it is {_article(type(value).__name__)}")


def _family(value: Any) -> str:
    """The library that an array is of, which is also that of classes that others have made of its own."""
    for library, name in (("torch", "Tensor"), ("cupy", "ndarray")):
        kind = getattr(sys.modules.get(library), name, None)
        if isinstance(kind, type) and isinstance(value, kind):
            return library
    return str(type(value).__module__).partition(".")[0]


def _packed(seen: Any) -> str:
    """The name of the dtype of a tensor of DLPack."""
    try:
        return "unknown" if seen.dtype is None else np.dtype(seen.dtype).name
    except NotImplementedError as error:  # numpy knows bfloat16 only where ml_dtypes is installed
        return "bfloat16" if "bfloat16" in str(error) else "unknown"


def _look_torch(function: str, name: str, value: Any) -> tuple[Any, ...]:
    torch = sys.modules["torch"]
    if value.requires_grad and torch.is_grad_enabled():
        _fail(TypeError, "TG801", function, f"{name} requires a gradient, which the kernel does not give. Pass {name}.detach()")
    if value.is_neg():
        _fail(TypeError, "TG801", function, f"{name} is negated only when torch reads it. Pass {name}.resolve_neg()")
    kind = str(value.dtype).removeprefix("torch.")
    if value.is_cuda:
        _QUICK[type(value)], _KINDS[value.dtype] = (_quick_torch, "torch"), kind
        return "torch", value.device.index, value.data_ptr(), tuple(value.shape), kind, value.is_contiguous(), False, None
    if value.device.type != "cpu":
        _fail(TypeError, "TG801", function, f"{name} is on device {value.device}; only the CPU and CUDA devices are served")
    plain = value.detach()
    base = plain.view(torch.int16).numpy().view(np.uint16) if kind == "bfloat16" and plain.is_contiguous() else None
    base = plain.numpy() if kind != "bfloat16" else base
    return "torch", -1, value.data_ptr(), tuple(value.shape), kind, value.is_contiguous(), False, base


def _look_interface(family: str, value: Any, interface: dict[str, Any]) -> tuple[Any, ...]:
    at, readonly = interface["data"]
    pointer = int(at or 0)
    typestr = interface["typestr"]
    kind = _TYPESTR.get(typestr[1:]) or (np.dtype(typestr).name if np.dtype(typestr).isnative else typestr)
    shape = tuple(interface["shape"])
    if interface.get("mask") is not None or any(extent < 0 for extent in shape):
        raise ValueError("a mask, or a negative extent")
    contiguous = _in_rows(shape, interface.get("strides"), np.dtype(typestr).itemsize)
    quick = _quick_cupy if family == "cupy" else _quick_interface
    _QUICK[type(value)], _KINDS[typestr] = (quick, family), kind
    return family, _device_of(pointer), pointer, shape, kind, contiguous, readonly, None


def _in_rows(shape: Any, strides: Any, unit: int) -> bool:
    """Whether strides are those of a C-contiguous array with elements of `unit`; no strides means that they are."""
    if strides is None or 0 in shape:
        return True
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != unit:
            return False
        unit *= extent
    return True


def _device_of(pointer: int) -> int:
    """The GPU that a pointer belongs to; of an empty array, which has none, the current one."""
    try:
        if pointer:
            ask, wanted = _ordinal()
            error, ordinal = ask(wanted, pointer)
            if not int(error):
                return int(ordinal)
        _driver()
        return int(sys.modules["cuda.core"].Device().device_id)
    except (ImportError, RuntimeError) as error:  # the libraries, or the driver's own, are not there
        reason = str(error).split("\n")[0]
        raise RuntimeError(f"TG815: arrays on a GPU need numba-cuda[cu13], cuda-core and a driver: {reason}") from None


@functools.cache
def _driver() -> Any:
    """The driver as Python calls it; importing it again would take as long as a launch."""
    with _importing():
        import cuda.core  # noqa: F401
        from cuda.bindings import driver
    return driver


@functools.cache
def _ordinal() -> tuple[Any, Any]:
    """What tells the GPU of a pointer, and how it is asked: to find the name takes as long as the answer."""
    driver = _driver()
    return driver.cuPointerGetAttribute, driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


def _importing() -> Any:
    """What imports of CUDA's libraries hold, over all modules of tinygpu in this process: two threads at once find them half made."""
    import numba

    return vars(numba).setdefault("_tinygpu_import_lock", threading.RLock())


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeio" or word == "ndarray" else f"a {word}"


_BEYOND = {"f64": math.inf, "f32": 2.0**128 - 2.0**103, "f16": 65520.0, "bf16": 2.0**128 - 2.0**119}  # these round to infinity
_PLAIN: dict[str, Any] = {  # Python's numbers that are taken as they are: their type, what they are between, and what they become
    "f64": (float, -math.inf, math.inf, np.float64), "f32": (float, -_BEYOND["f32"], _BEYOND["f32"], np.float32),
    "i32": (int, -(2**31) - 1, 2**31, np.int32), "i64": (int, -(2**63) - 1, 2**63, np.int64),
}  # fmt: skip


def _scalar(function: str, name: str, value: Any, dtype: str) -> Any:
    """A number of `dtype`, checked for kind and range: a numpy scalar; a 16-bit float as the f32 that it is."""
    plain = _PLAIN.get(dtype)
    if plain is not None and type(value) is plain[0] and plain[1] < value < plain[2]:
        return plain[3](value)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, (int, float, np.generic)) or isinstance(value, (str, bytes)):
        _fail(TypeError, "TG812", function, f"{name} must be one number ({dtype}), not {_article(type(value).__name__)}")
    if dtype == "bool":
        if not isinstance(value, (bool, np.bool_)):
            _fail(TypeError, "TG812", function, f"{name} must be True or False, not {value!r}")
        return np.bool_(value)
    if dtype[0] in "iu":
        kind = np.dtype(_HELD[dtype][0][0])
        if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
            _fail(TypeError, "TG812", function, f"{name} must be an integer ({dtype}), not {value!r}")
        whole, bounds = operator.index(value), np.iinfo(kind)  # type: ignore[arg-type]
        if not bounds.min <= whole <= bounds.max:
            _fail(
                ValueError,
                "TG812",
                function,
                f"{name} must be within {bounds.min} to {bounds.max} ({dtype}); it is {_short(whole)}",
            )
        return kind.type(whole)
    return _real(function, name, value, dtype)


def _real(function: str, name: str, value: Any, dtype: str) -> Any:
    if isinstance(value, (bool, np.bool_, np.complexfloating)):
        _fail(TypeError, "TG812", function, f"{name} must be a real number ({dtype}), not {value!r}")
    try:
        double = float(value)
    except OverflowError:  # an int beyond f64
        double = sys.float_info.max if dtype != "f64" else math.nan
    except (TypeError, ValueError):  # a date, raw bytes
        _fail(TypeError, "TG812", function, f"{name} must be a real number ({dtype}), not {_article(type(value).__name__)}")
    if (math.isfinite(double) and abs(double) >= _BEYOND[dtype]) or (double != double and value == value):
        _fail(ValueError, "TG812", function, f"{name} must be within the range of {dtype}; it is {_short(value)}")
    if dtype == "f64":
        return np.float64(double)
    return np.float32(double if dtype == "f32" else _rounded(double, dtype))


def _short(value: Any) -> str:
    """A number as a message shows it; of a whole number with hundreds of digits only how large it is."""
    whole = isinstance(value, int) and value.bit_length() > 128
    return f"beyond 2**{value.bit_length() - 1}" if whole else repr(value)


def _rounded(double: float, dtype: str) -> float:
    """The nearest number of f16 or bf16, ties to even."""
    if dtype == "f16" or not math.isfinite(double):
        return float(np.float16(double)) if dtype == "f16" else double
    word = int(np.float32(double).view(np.uint32))
    return float(np.uint32((word + 0x7FFF + (word >> 16 & 1)) & 0xFFFF0000).view(np.float32))


def _shape_error(function: str, view: _View, shape: str, expected: tuple[int, ...], sizes: dict[str, int]) -> NoReturn:
    """The shape is not what the sizes say, or no sizes fit it."""
    known = ", ".join(f"{name} = {value}" for name, value in sizes.items() if value >= 0)
    has = f"{view.name} has shape {tuple(view.shape)}"
    if any(value < 0 for value in sizes.values()):
        _fail(ValueError, "TG804", function, f"{has}, which is too small for {shape}: no size fits it")
    reason = f", with {known}" if known else ""
    _fail(ValueError, "TG804", function, f"{has}; {shape} has to be {expected}{reason}")


def _size_given(function: str, name: str, value: Any) -> int:
    """A size that no input's shape tells, given as a keyword."""
    try:
        whole = operator.index(value)
    except (TypeError, ValueError, RuntimeError):
        whole = None
    if whole is None or isinstance(value, bool):
        _fail(TypeError, "TG804", function, f"no input's shape tells {name}: give it as {name}=…, a whole number")
    if whole < 0:
        _fail(ValueError, "TG804", function, f"{name} is {whole}; a size is at least 0")
    return whole


def _precondition(function: str, condition: str, sizes: dict[str, int]) -> NoReturn:
    known = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    _fail(ValueError, "TG808", function, f"proved only where {condition}; here {known}")


def _too_large(function: str, what: str, limit: int, sizes: dict[str, int]) -> NoReturn:
    known = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    _fail(ValueError, "TG810", function, f"too large: {what} has to be at most {limit}; here {known}")


def _same_device(function: str, views: tuple[_View, ...]) -> _View | None:
    """All on the CPU, or all on one GPU: the first of them. An empty array of a GPU is nowhere, so it is on none."""
    if not views:
        return None
    first = views[0]
    for view in views:
        if view.device != first.device:
            break
    else:
        return first
    first = next((view for view in views if view.nbytes), first)
    for view in views:
        if view.device != first.device and (view.nbytes or min(view.device, first.device) < 0):
            places = f"{first.name} is {_place(first)} and {view.name} is {_place(view)}"
            _fail(ValueError, "TG809", function, f"all arrays have to be on one device; {places}")
    return first


def _place(view: _View) -> str:
    return "on the CPU" if view.device < 0 else f"on GPU {view.device}"


def _given(function: str, out: Any, count: int, name: str = "out") -> tuple[Any, ...]:
    """`out=` or `workspace=` as a tuple of `count` arrays."""
    many = out if isinstance(out, (tuple, list)) else (out,)
    if len(many) != count:
        plural = "an array" if count == 1 else f"a tuple of {count} arrays"
        what = f"{_article(type(out).__name__)} of {len(many)}" if many is out else "one"
        _fail(TypeError, "TG811", function, f"{name} must be {plural}, not {what}")
    return tuple(many)


def _writable(function: str, name: str, value: Any, dtype: str, shape: str, rank: int) -> _View:
    """An array given as `out=`."""
    view = _view(function, name, value, dtype, shape, rank, written=True)
    if view.readonly:
        _fail(ValueError, "TG806", function, f"{name} is read-only, and the kernel writes it")
    return view


def _allocate(function: str, name: str, like: _View | None, dtype: str, shape: tuple[int, ...], stream: Any) -> _View:
    """A new array of the same library and device as the first argument; its elements are not set.

    torch and CuPy hand out memory that earlier work of a stream may still use, so it is taken on the stream that the kernel runs on.
    """
    kind = _HELD[dtype][0][0]
    if like is None or like.family == "numpy":
        try:
            made: Any = np.empty(shape, _numpy_dtype(kind))
        except ValueError:  # numpy's limit of what an array may be; memory that there is not is a MemoryError
            _fail(ValueError, "TG810", function, f"too large: {name} would be an array of shape {shape}")
    elif like.family == "torch":
        torch = sys.modules["torch"]
        if stream is None:
            made = torch.empty(shape, dtype=getattr(torch, kind), device=like.owner.device)
        else:
            with _current(torch.cuda, function, stream, like):
                made = torch.empty(shape, dtype=getattr(torch, kind), device=like.owner.device)
    elif like.family == "cupy":
        cupy = sys.modules["cupy"]
        with cupy.cuda.Device(like.device), _current(cupy.cuda, function, stream, like):
            made = cupy.empty(shape, _numpy_dtype(kind))
    elif like.family in ("numba", "numba_cuda"):
        from numba import cuda

        with cuda.gpus[like.device]:
            made = cuda.device_array(shape, _numpy_dtype(kind))
    else:
        _fail(TypeError, "TG811", function, f"cannot make arrays of {like.family}: pass out= with one for {name}")
    return _view(function, name, made, dtype, "its own", len(shape))


def _current(library: Any, function: str, stream: Any, like: _View) -> Any:
    """The stream given, made the current one of torch.cuda or cupy.cuda; nothing to do for none, and on the CPU."""
    if stream is None or like.device < 0:
        return contextlib.nullcontext()
    handle = _stream_of(function, stream, like)
    if like.family != "torch":
        return library.ExternalStream(handle)
    device = like.owner.device  # torch takes 0 for any stream of its own, and no 1 at all
    return library.stream(library.default_stream(device) if handle in (0, 1) else library.ExternalStream(handle, device=device))


def _numpy_dtype(kind: str) -> Any:
    """numpy's dtype; for bfloat16 the one of ml_dtypes where that is installed, else the bits as uint16."""
    if kind != "bfloat16":
        return np.dtype(kind)
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16)
    return np.dtype(ml_dtypes.bfloat16)


def _by_dtype(function: str, name: str, value: Any, launchers: dict[str, Any]) -> Any:
    """The launcher for the dtype of `value`; the first one, whose error says more, for what is no array or has another dtype."""
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    for dtype, launcher in launchers.items():
        if kind in _HELD[dtype][0]:
            return launcher
    if kind:
        known = ", ".join(_HELD[dtype][0][0] for dtype in launchers)
        _fail(TypeError, "TG802", function, f"{name} has dtype {kind}; there are kernels for {known}")
    return next(iter(launchers.values()))


def _distinct(function: str, outputs: tuple[_View, ...], inputs: tuple[_View, ...]) -> None:
    """No output shares memory with an input or with another output."""
    for number, output in enumerate(outputs):
        start, end = output.pointer, output.pointer + output.nbytes
        for other in inputs + outputs[:number]:
            if start < other.pointer + other.nbytes and other.pointer < end and output.nbytes and other.nbytes:
                said = f"{output.name} shares memory with {other.name}; outputs need memory of their own"
                _fail(ValueError, "TG807", function, said)


def _no_stream(function: str, stream: Any) -> None:
    if stream is not None:
        _fail(
            TypeError,
            "TG816",
            function,
            "stream is for arrays on a GPU; these are on the CPU, where a call returns when it is done",
        )


_CALLED: set[Any] = set()  # kernels that have run in this process
_LAYER: list[Any] = []  # the lock that CPU calls hold; None where they need none; empty before the first call


def _on_cpu(kernel: Any, *arguments: Any) -> None:
    """Run a CPU kernel. Its first call reads what numba has kept of an earlier process; where that is damaged (a disk that was full, a
    machine that stopped), it is emptied, and the kernel is compiled again."""
    if kernel in _CALLED:
        _in_turn(kernel, *arguments)
        return
    try:
        _in_turn(kernel, *arguments)
    except Exception:
        if not _emptied():
            raise
        _in_turn(kernel, *arguments)
    _CALLED.add(kernel)


def _emptied() -> bool:
    """Forget what numba has kept of this module's kernels; says whether there was anything to forget."""
    made = [one for one in globals().values() if hasattr(one, "py_func") and hasattr(one, "_cache")]
    for one in made:
        one._cache.flush()
    return bool(made)


def _in_turn(kernel: Any, *arguments: Any) -> None:
    """Run a CPU kernel, alone where that has to be. numba's own threading layer aborts when two Python threads launch at once, so with that layer calls wait
    for each other, over all modules of tinygpu in this process; `NUMBA_THREADING_LAYER=tbb` or `omp` lets them run together."""
    if not _LAYER:
        import numba

        lock = vars(numba).setdefault("_tinygpu_launch_lock", threading.RLock())
        with lock:
            _with_short_waits(kernel, *arguments)
            try:
                _LAYER.append(lock if numba.threading_layer() == "workqueue" else None)
            except ValueError:  # still not chosen: no kernel had anything to do in parallel
                return
    elif _LAYER[0] is None:
        kernel(*arguments)
    else:
        with _LAYER[0]:
            kernel(*arguments)


def _with_short_waits(kernel: Any, *arguments: Any) -> None:
    """Run the first kernel, which loads the threading layer. GNU OpenMP is told then, unless the user has said something, that a thread
    without work sleeps soon: left alone it spins for milliseconds, and where it shares a core with the thread that has the work, both
    take many times as long."""
    if os.environ.keys() & {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"}:
        kernel(*arguments)
        return
    os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        kernel(*arguments)
    finally:
        os.environ.pop("GOMP_SPINCOUNT", None)


def _cache_folder() -> Path:
    """Where cubins are kept: TINYGPU_CACHE, else the user's cache folder."""
    named = os.environ.get("TINYGPU_CACHE")
    if named:
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:  # no home at all
        home = Path(tempfile.gettempdir())
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "tinygpu"


def _stored(path: Path) -> bytes | None:
    """What `_store` wrote there; None if it is missing or not whole."""
    try:
        held = path.read_bytes()
    except OSError:
        return None
    return held[32:] if hashlib.sha256(held[32:]).digest() == held[:32] else None


def _store(path: Path, content: bytes) -> None:
    """Write the content with its checksum, whole or not at all; a folder that cannot be written is no error, only slower."""
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if not isinstance(error, OSError):
            raise


@functools.cache
def _toolchain() -> tuple[str, ...]:
    """What makes machine code, with versions; nothing where one of them does not say its own."""
    try:
        return (
            *map(_version, ("numba", "numba-cuda", "cuda-core")),
            _version("nvidia-nvvm", "nvvm"),
            _version("nvidia-nvjitlink", "nvJitLink"),
        )
    except (ImportError, OSError, RuntimeError):  # what cannot be named cannot be kept
        return ()


def _version(package: str, library: str = "") -> str:
    """The version of a package; of a library that was installed by another tool than pip, which file it is."""
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        if not library:
            raise
    pathfinder = importlib.import_module("cuda.pathfinder")
    path = pathfinder.load_nvidia_dynamic_lib(library).abs_path
    found = os.stat(path)
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _for_linker(ptx: str) -> str:
    """The text for the assembler that is loaded. That may be older than what wrote the text (torch brings one of its own), and refuses a
    version that it does not know; what kernels consist of is in all versions for CUDA 13."""
    from cuda.bindings import nvjitlink

    major, minor = nvjitlink.version()
    said = re.search(r"(?m)^\.version (\d+)\.(\d+)", ptx)
    if said is None or (int(said[1]), int(said[2])) <= (major - 4, minor):
        return ptx
    return f"{ptx[: said.start()]}.version {major - 4}.{minor}{ptx[said.end() :]}"


def _need_cuda(function: str, library: str) -> None:
    """A library of the GPU path, or what to install."""
    try:
        with _importing():
            importlib.import_module(library)
    except ImportError as error:
        _fail(ImportError, "TG815", function, f"arrays on a GPU need numba-cuda[cu13] and cuda-core: {error}")


def _stream_of(function: str, stream: Any, *views: Any) -> int:
    """The handle of the stream to launch on: the one given, else the current one of torch or CuPy, of whichever the first array is that is
    of either, else the default stream."""
    if stream is None:
        for view in views:
            if view.family == "torch":
                torch = sys.modules["torch"]
                handle = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)  # makes no object of the stream
                return int(handle(view.device)) if handle else int(torch.cuda.current_stream(view.device).cuda_stream)
            if view.family == "cupy":
                return int(sys.modules["cupy"].cuda.get_current_stream(view.device).ptr)
        return 0
    if isinstance(stream, (int, np.integer)) and not isinstance(stream, bool):
        return int(stream)
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # torch, CuPy, numba
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    _fail(TypeError, "TG816", function, f"stream must be a CUDA stream or its handle, not {type(stream).__name__}")


def _aligned(*pairs: tuple[Any, int]) -> bool:
    """Whether the memory of each view starts at a multiple of that many bytes, as wide accesses need it."""
    for view, count in pairs:  # noqa: SIM110  # a generator for all() takes twice as long
        if view.pointer % count:
            return False
    return True


def _memory(number: Any, dtype: str) -> Any:
    """A scalar as the kernel takes it: of 16-bit floats the bits, of a truth value a byte."""
    if dtype == "f16":
        return np.float16(number).view(np.uint16)
    if dtype == "bf16":
        return np.uint16(int(np.float32(number).view(np.uint32)) >> 16)
    return np.uint8(number) if dtype == "bool" else number


class _Cuda:
    """The kernel of one launch: `make(bits, wide)` gives its function and signature; compiled for each architecture that it meets.
    `shared` are the bytes of a block's memory that the launch gives, where they are more than a kernel may have by itself."""

    def __init__(self, name: str, make: Any, threads: int, least: tuple[int, int], key: str, shared: int = 0):
        self.name, self.make, self.threads, self.least, self.key, self.shared = name, make, threads, least, key, shared
        self.loaded: dict[tuple[int, int, bool], _Loaded] = {}
        self.lock = threading.Lock()

    def cubin(self, arch: tuple[int, int], bits: int, wide: bool) -> bytes:
        """The machine code for `arch`, from the disk if it was made before, by the same toolchain. Needs no GPU."""
        versions = _toolchain()
        if not versions:
            return self.compile(arch, bits, wide)
        key = "\n".join([self.key, self.name, str(arch), str(bits), str(wide), str(self.threads), *versions])
        path = _cache_folder() / "cubin" / (hashlib.sha256(key.encode()).hexdigest() + ".cubin")
        held = _stored(path)
        if held is None:
            held = self.compile(arch, bits, wide)
            _store(path, held)
        return held

    def compile(self, arch: tuple[int, int], bits: int, wide: bool) -> bytes:
        """numba's NVVM for the text of PTX, nvJitLink for the assembly."""
        _need_cuda(self.name, "numba_cuda")
        _need_cuda(self.name, "numba.cuda")
        from cuda.core import Linker, LinkerOptions, ObjectCode
        from numba import cuda

        if "numba_cuda" not in (cuda.__file__ or ""):
            said = "numba-cuda is installed where Python does not run its .pth file: install it into site-packages"
            _fail(ImportError, "TG815", self.name, said)
        kernel, signature = self.make(bits, wide)
        ptx, _ = cuda.compile_ptx(kernel, signature, cc=arch, launch_bounds=self.threads)
        entry = re.search(r"\.entry\s+(\w+)", ptx)
        assert entry is not None
        ptx = _for_linker(ptx.replace(entry[1], self.symbol))
        linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=LinkerOptions(arch=f"sm_{arch[0]}{arch[1]}"))
        return bytes(linker.link("cubin").code)

    @property
    def symbol(self) -> str:
        """The kernel's name in machine code, where a few words are not names."""
        return self.name + "_kernel" if re.fullmatch(r"_+|WARP_SZ", self.name) else self.name

    def __call__(self, view: Any, stream: int, bits: int, wide: bool, blocks: int, *arguments: Any) -> None:
        """Launch on the GPU of `view`, without waiting; the caller's current device is as it was. 1 is the legacy default stream, by
        whatever rules Python was started."""
        if not blocks:
            return
        loaded = self.loaded.get((view.device, bits, wide)) or self.load(view.device, bits, wide)
        try:
            buffer, places, pack = loaded.spare.pop()
        except IndexError:
            buffer, places, pack = loaded.buffer(arguments)
        pack(buffer, 0, *arguments)
        driver = loaded.driver
        _, before = driver.cuCtxGetCurrent()
        elsewhere = int(before) != loaded.place
        if elsewhere:
            driver.cuCtxSetCurrent(loaded.context)
        try:
            (error,) = driver.cuLaunchKernel(loaded.function, blocks, 1, 1, self.threads, 1, 1, self.shared, stream or 1, places, 0)
        finally:
            if elsewhere:
                driver.cuCtxSetCurrent(before)
        loaded.spare.append((buffer, places, pack))
        if error:
            _fail(RuntimeError, "TG815", self.name, f"the driver refuses the launch: {error.name}")

    def load(self, device: int, bits: int, wide: bool) -> _Loaded:
        """The kernel on a GPU: made, or read, and loaded at the first call; other threads that want it wait."""
        _need_cuda(self.name, "cuda.core")
        from cuda.core import Device

        with self.lock:
            if (device, bits, wide) not in self.loaded:
                try:
                    found = Device(device)
                except Exception as error:  # noqa: BLE001  # the driver's library is not there, or does not start
                    _fail(RuntimeError, "TG815", self.name, f"this machine has no driver for GPUs: {error}".split("\n")[0])
                arch = (found.compute_capability.major, found.compute_capability.minor)
                if arch < self.least:
                    has, needs = (f"sm_{a}{b}" for a, b in (arch, self.least))
                    _fail(RuntimeError, "TG815", self.name, f"proved on {needs} and newer; GPU {device} is {has}")
                self.loaded[device, bits, wide] = self.placed(found, self.cubin(arch, bits, wide))
            return self.loaded[device, bits, wide]

    def placed(self, device: Any, cubin: bytes) -> _Loaded:
        """Machine code in a GPU's memory. A thread that captures a stream may load too, if it says that nothing of it is captured. The context
        is held for good: what loads it for us lets go of it when its thread ends."""
        from cuda.core import ObjectCode

        driver = _driver()
        status, context = driver.cuDevicePrimaryCtxRetain(device.device_id)
        if int(status):
            _fail(RuntimeError, "TG815", self.name, f"GPU {device.device_id} cannot be used: {status.name}")
        _, before = driver.cuCtxGetCurrent()
        relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        _, mode = driver.cuThreadExchangeStreamCaptureMode(relaxed)
        try:
            device.set_current()
            try:
                kernel = ObjectCode.from_cubin(cubin).get_kernel(self.symbol)
            except Exception as error:  # noqa: BLE001  # of a kind of its own
                said = f"GPU {device.device_id} cannot load the kernel: {error}".split("\n")[0]
                _fail(RuntimeError, "TG815", self.name, said)
            if self.shared:
                self.allow(kernel, device)
            status, function = driver.cuKernelGetFunction(kernel.handle)
            if self.shared and not int(status):  # what is launched is the function, which a driver may keep apart from the kernel
                attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                (status,) = driver.cuFuncSetAttribute(function, attribute, self.shared)
            if int(status):
                _fail(RuntimeError, "TG815", self.name, f"GPU {device.device_id} cannot load the kernel: {status.name}")
            with contextlib.suppress(AttributeError, RuntimeError):  # drivers before 12.4 have no such function
                driver.cuFuncLoad(function)  # now, and not when it is first launched
            return _Loaded(kernel, function, context)
        finally:
            driver.cuThreadExchangeStreamCaptureMode(mode)
            driver.cuCtxSetCurrent(before)

    def allow(self, code: Any, device: Any) -> None:
        """Let the kernel's blocks have that much memory, if this GPU has it."""
        driver = _driver()
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (error,) = driver.cuKernelSetAttribute(attribute, self.shared, code.handle, driver.CUdevice(device.device_id))
        if error != driver.CUresult.CUDA_SUCCESS:
            said = f"a block needs {self.shared} bytes of shared memory, which GPU {device.device_id} does not give: {error.name}"
            _fail(RuntimeError, "TG815", self.name, said)


_PACKED = {int: "Q", np.float64: "d", np.float32: "f4x", np.int64: "q", np.int32: "i4x", np.uint32: "I4x", np.uint16: "H6x", np.int8: "b7x", np.uint8: "B7x"}  # fmt: skip


class _Loaded:
    """A kernel on one GPU, and memory for its arguments: each has eight bytes, of which the driver takes those that it needs. The driver
    copies them before a launch returns, so a buffer in `spare` is used again; calls of several threads have one each."""

    __slots__ = ("code", "context", "driver", "function", "place", "spare")

    def __init__(self, code: Any, function: Any, context: Any):
        self.code, self.function = code, function  # without its code the function would be unloaded
        self.context, self.place, self.driver = context, int(context), _driver()
        self.spare: list[tuple[Any, int, Any]] = []

    def buffer(self, arguments: tuple[Any, ...]) -> tuple[Any, int, Any]:
        """Memory for arguments, the address of pointers to each, and how they are written; their types are those of every call."""
        count = len(arguments)
        memory = (ctypes.c_uint64 * (2 * count + 1))()
        start = ctypes.addressof(memory)
        memory[count : 2 * count] = [start + 8 * k for k in range(count)]
        return memory, start + 8 * count, struct.Struct("<" + "".join(_PACKED[type(a)] for a in arguments)).pack_into


_saxpy_v4_cuda = _Cuda(
    "saxpy_v4", saxpy_v4_kernel, 64, (0, 0), "a59c80b7adb960c93e5eb761b822b44cc3a4324cb7f6ce718e934de26fb651d2"
)  # fmt: skip
