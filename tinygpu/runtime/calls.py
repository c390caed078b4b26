"""What emitted modules do around a call: sizes against shapes, preconditions, outputs made or checked, the CPU's lock.

Comes in: `_View` values of `support`. Goes out: errors that name the argument, and arrays for the kernel to write.
The one idea: what the proof assumed is checked here, each assumption once, before anything is written.
"""

from __future__ import annotations

import contextlib
import operator
import os
import sys
import threading
from typing import Any, NoReturn

import numpy as np

from tinygpu.runtime.cuda import _stream_of
from tinygpu.runtime.views import _HELD, _article, _fail, _View, _view


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


def by_dtype(function: str, name: str, value: Any, launchers: dict[str, Any]) -> Any:
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
        said = "stream is for arrays on a GPU; these are on the CPU, where a call returns when it is done"
        _fail(TypeError, "TG816", function, said)


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
        if not _emptied(kernel):
            raise
        _in_turn(kernel, *arguments)
    _CALLED.add(kernel)


def _emptied(kernel: Any) -> bool:
    """Forget what numba has kept of the kernels in this one's module; says whether there was anything to forget."""
    made = [one for one in kernel.__globals__.values() if hasattr(one, "py_func") and hasattr(one, "_cache")]
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
