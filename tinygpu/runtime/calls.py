"""What emitted modules do around a call: sizes against shapes, outputs made or checked, numbers in their dtype, the CPU's lock.

Comes in: `_View` values, Python's and numpy's numbers. Goes out: errors that name the argument, arrays for the kernel to write, numpy scalars. The one
idea: what the proof assumed is checked here, each assumption once, before anything is written; a number that a kernel could not hold is refused.
"""

from __future__ import annotations

import functools
import math
import operator
import os
import sys
import threading
from typing import Any, NoReturn

import numpy as np

from tinygpu.runtime.views import _HELD, _article, _fail, _rows, _View, _view


def _shown_sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def _shape_error(function: str, view: _View, shape: str, expected: tuple[int, ...], sizes: dict[str, int]) -> NoReturn:
    """The shape is not what the sizes say, or no sizes fit it."""
    known = _shown_sizes({name: value for name, value in sizes.items() if value >= 0})
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


def _refused(function: str, code: str, said: str, sizes: dict[str, int]) -> NoReturn:
    _fail(ValueError, code, function, f"{said}; here {_shown_sizes(sizes)}")


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


def _writable(function: str, name: str, value: Any, dtype: str, shape: str, rank: int, strided: bool = False) -> _View:
    """An array given as `out=`."""
    view = _view(function, name, value, dtype, shape, rank, strided, written=True)
    if view.readonly:
        _fail(ValueError, "TG806", function, f"{name} is read-only, and the kernel writes it")
    if view.steps is not None:
        _apart(function, view.name, view.steps, view.shape)
    return view


def _apart(function: str, name: str, steps: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """That no two elements of an output are one: by size, each stride is larger than what the smaller ones reach."""
    reach = 0
    for step, extent in sorted((abs(s), e) for s, e in zip(steps, shape, strict=True) if e != 1):
        if step <= reach:
            said = f"with strides {steps}; each has to be larger than the smaller ones reach"
            _fail(ValueError, "TG807", function, f"{name} may have two elements at one place, {said}")
        reach += step * (extent - 1)


def by_dtype(function: str, name: str, value: Any, launchers: dict[str, Any]) -> Any:
    """The launcher for the dtype of `value`; the first one, whose error says more, for what is no array or has another dtype."""
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    found = {dtype: launcher for dtype, launcher in launchers.items() if kind in _HELD[dtype][0]}
    if len(found) > 1:
        _fail(
            TypeError,
            "TG802",
            function,
            f"{name} has dtype {kind}, which may be {' or '.join(found)}; call the function of one of them",
        )
    if found:
        return next(iter(found.values()))
    if kind:
        known = ", ".join(_HELD[dtype][0][0] for dtype in launchers)
        _fail(TypeError, "TG802", function, f"{name} has dtype {kind}; there are kernels for {known}")
    return next(iter(launchers.values()))


def _distinct(function: str, outputs: tuple[_View, ...], inputs: tuple[_View, ...], same: tuple[tuple[int, int], ...] = ()) -> None:
    """No output shares memory with an input or with another output; but of the pairs that may be the `same` array, by their numbers."""
    for number, output in enumerate(outputs):
        start, end = _ends(output)
        for place, other in enumerate(inputs + outputs[:number]):
            if (number, place) in same and output.pointer == other.pointer and output.steps == other.steps:
                continue
            first, last = (other.pointer, other.pointer + other.nbytes) if other.steps is None else _ends(other)
            if start < last and first < end and output.nbytes and other.nbytes and _meet(output, other):
                said = f"{output.name} shares memory with {other.name}; outputs need memory of their own"
                _fail(ValueError, "TG807", function, said)


def _ends(view: _View) -> tuple[int, int]:
    """The first byte of an array, and the one behind its last."""
    if view.steps is None:
        return view.pointer, view.pointer + view.nbytes
    size, reached = view.nbytes // math.prod(view.shape), [s * (e - 1) for s, e in zip(view.steps, view.shape, strict=True)]
    return view.pointer + size * sum(min(r, 0) for r in reached), view.pointer + size * (1 + sum(max(r, 0) for r in reached))


def _meet(one: _View, other: _View) -> bool:
    """Whether two arrays have a byte in common, where the one lies within the ends of the other: columns of one matrix need not. What numpy does not
    find out soon counts as such."""
    if one.steps is None and other.steps is None:
        return True
    try:
        return bool(np.shares_memory(_shadow(one), _shadow(other), max_work=_SOON))  # type: ignore[arg-type]
    except RuntimeError:  # too hard
        return True


def _shadow(view: _View) -> Any:
    """An array of numpy that lies where a view does, on whatever device: nobody reads it."""
    size = view.nbytes // math.prod(view.shape)
    strides = tuple(size * step for step in (_rows(view.shape) if view.steps is None else view.steps))
    interface = {"shape": view.shape, "strides": strides, "typestr": f"|V{size}", "data": (view.pointer, True), "version": 3}
    return np.asarray(type("_Shadow", (), {"__array_interface__": interface})())


def _strides(view: _View) -> Any:
    """The strides as kernels take them: in elements, with 64 bits."""
    return map(np.int64, _rows(view.shape) if view.steps is None else view.steps)


_SOON = 1 << 12  # of what numpy counts as work
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
    """Run a kernel that may be the first to load the threading layer. GNU OpenMP is told then, unless the user has said something before, that a thread
    without work sleeps soon: left alone it spins for milliseconds, and where it shares a core with the thread that has the work, both
    take many times as long. GNU OpenMP reads the environment of the process; `os.environ`, its copy in Python, would take longer to change."""
    if _waits_are_said():
        kernel(*arguments)
        return
    os.putenv("GOMP_SPINCOUNT", "1000")
    try:
        kernel(*arguments)
    finally:
        os.unsetenv("GOMP_SPINCOUNT")


@functools.cache
def _waits_are_said() -> bool:
    """Whether the user has said how threads wait, before the first call."""
    return bool(os.environ.keys() & {"GOMP_SPINCOUNT", "OMP_WAIT_POLICY"})


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────────


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
            said = f"{name} must be within {bounds.min} to {bounds.max} ({dtype}); it is {_short(whole)}"
            _fail(ValueError, "TG812", function, said)
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
    if (math.isfinite(double) and abs(double) >= _BEYOND[dtype]) or (not math.isfinite(double) and double != value == value):
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
