"""Arrays that a call makes: like the first argument, on its device, by its library and on the stream; and what begins as another one does.

Comes in: views, a dtype and a shape. Goes out: a view of a new array, or elements copied. The one idea: memory is its library's own affair.
"""

from __future__ import annotations

import contextlib
import math
import sys
from typing import Any

import numpy as np

from tinygpu.runtime.cuda import _context, _stream_of
from tinygpu.runtime.views import _HELD, _OTHERS, _driver, _fail, _View, _view

_LINE = 64  # bytes
_MANY = 1 << 14


def _allocate(function: str, name: str, like: _View | None, dtype: str, shape: tuple[int, ...], stream: Any) -> _View:
    """A new array of the same library and device as the first argument; its elements are not set.

    torch and CuPy hand out memory that earlier work of a stream may still use, so it is taken on the stream that the kernel runs on.
    """
    kind = _HELD[dtype][0][0]
    if like is None or like.family == "numpy":
        try:
            made: Any = _lined(shape, _numpy_dtype(kind))
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


def _lined(shape: tuple[int, ...], kind: Any) -> Any:
    """An array of numpy; one of many elements begins at a line of the caches, so that no vector of it lies in two."""
    length = math.prod(shape) * kind.itemsize
    if length < _MANY:
        return np.empty(shape, kind)
    held = np.empty(length + _LINE, np.uint8)
    start = -int(held.__array_interface__["data"][0]) % _LINE
    return held[start : start + length].view(kind).reshape(shape)


class _Part:
    """An array in the memory of another one on a GPU, as libraries look at any: by its address."""

    __slots__ = ("__cuda_array_interface__",)

    def __init__(self, pointer: int, shape: tuple[int, ...], typestr: str):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (pointer, False),
            "strides": None,
            "version": 3,
        }


def _laid(arena: _View, at: int, name: str, dtype: str, shape: tuple[int, ...]) -> _View:
    """An array of a shape in an array of bytes, which begins at a byte of it, as it is seen."""
    names, size = _HELD[dtype]
    kind, length = _PLACED.get(dtype) or _PLACED.setdefault(dtype, np.dtype(names[-1])), math.prod(shape) * size
    if arena.device < 0:
        base: Any = np.ndarray(shape, kind, arena.base, at)
        return _View(name, base, "numpy", -1, None, shape, length, False, base)
    pointer = arena.pointer + at
    return _View(name, _Part(pointer, shape, kind.str), "", arena.device, pointer, shape, length, False, None)


_PLACED: dict[str, Any] = {}  # what numpy has of each dtype that was met


def _copied(function: str, made: _View, source: _View, stream: Any) -> None:
    """An output that goes on from an input begins as it: nothing to do where they are one array. Of elements that lie apart their library knows where."""
    if made.pointer == source.pointer or not made.nbytes:
        return
    if made.device < 0:
        made.base[...] = source.base
    elif made.steps is None is source.steps:
        _moved(function, made, source, _stream_of(function, stream, made, source))
    elif made.family == source.family == "torch":
        with _current(sys.modules["torch"].cuda, function, stream, made):
            made.owner.copy_(source.owner)
    elif made.family == "cupy":
        with _current(sys.modules["cupy"].cuda, function, stream, made):
            made.owner[...] = sys.modules["cupy"].asarray(source.owner)
    else:
        _fail(TypeError, "TG811", function, f"{made.name} cannot begin as {source.name}: pass {source.name} itself as out=")


def _moved(function: str, made: Any, source: Any, stream: int) -> None:
    """The bytes of one dense array to another of the same GPU, on a stream, without waiting; a graph that captures the stream holds it."""
    driver = _driver()
    _, before = driver.cuCtxGetCurrent()
    driver.cuCtxSetCurrent(_context(function, made.device))
    try:
        (error,) = driver.cuMemcpyDtoDAsync(made.pointer, source.pointer, made.nbytes, stream or 1)
    finally:
        driver.cuCtxSetCurrent(before)
    if error:
        _fail(RuntimeError, "TG815", function, f"the driver does not copy {source.name} to {made.name}: {error.name}")


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
    """numpy's dtype; for what it lacks the one of ml_dtypes where that is installed, else the bits as uint16 or uint8."""
    if kind not in _OTHERS:
        return np.dtype(kind)
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(np.uint16 if kind == "bfloat16" else np.uint8)
    return np.dtype(getattr(ml_dtypes, kind))
