"""What an emitted module does when it is asked to check data: evaluate what the op promises of its inputs, at every index.

Comes in: `_View` values and numbers, and promises. Goes out: nothing, or an error with the first element that breaks one. The one idea: numpy evaluates a promise for many indices at a time, and once more where it fails, to say what was read.
"""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from tinygpu.runtime.calls import _ends, _shown_sizes
from tinygpu.runtime.conditions import _kept, _Point, _python
from tinygpu.runtime.cuda import _stream_of
from tinygpu.runtime.views import _HELD, _driver, _fail, _View

_Promise = tuple[
    str, dict[str, str], str, tuple[str, ...], str
]  # in words; binders and how far; what holds; what it reads; who asks

_AT_ONCE = 1 << 20  # indices for which a promise is evaluated together


class _Data:
    """An input as a promise reads it: integers as they are, floats as f64, which holds them all. An index outside reads the nearest
    element; a promise does not hold by what it reads there. `seen` are the reads of one evaluation, if anybody wants to know."""

    def __init__(self, name: str, values: Any, dtype: str):
        self.name, self.values, self.dtype, self.seen = name, values, dtype, {}  # type: ignore[var-annotated]

    def __getitem__(self, index: Any) -> Any:
        places = index if isinstance(index, tuple) else (index,)
        if self.values.size:
            inside = tuple(
                [
                    np.asarray(np.clip(i, 0, extent - 1)).astype(np.int64)
                    for i, extent in zip(places, self.values.shape, strict=True)
                ]
            )
            read = self.values[inside]
        else:
            read = np.zeros(np.broadcast_shapes(*map(np.shape, places)), self.values.dtype)
        if all(np.ndim(i) == 0 for i in places):
            self.note(tuple(map(int, places)), read)
        return read if self.values.dtype.kind in "iub" else np.float64(read)

    def note(self, place: tuple[int, ...], read: Any) -> None:
        """Remember one element."""
        at = f"{self.name}[{', '.join(map(str, place))}]" if place else self.name
        outside = not all(0 <= i < extent for i, extent in zip(place, self.values.shape, strict=True))
        value = float(read) if self.values.dtype.kind not in "iub" else read.item()
        self.seen[at] = f"{at} is outside" if outside else f"{at} = {value}"


def _data(function: str, name: str, value: Any, dtype: str, stream: Any) -> _Data:
    """An input on the host. From a GPU it is copied, after everything that was put on the stream before: the call waits for that."""
    values = value
    if isinstance(value, _View):
        values = value.base if value.device < 0 else _to_host(function, value, dtype, stream)
    values = np.asarray(values)
    if dtype == "bf16" and values.dtype == np.uint16:
        values = (values.astype(np.uint32) << 16).view(np.float32)
    elif dtype == "e5m2" and values.dtype == np.uint8:  # the upper half of an f16
        values = (values.astype(np.uint16) << 8).view(np.float16)
    elif dtype == "e4m3" and values.dtype == np.uint8:
        shifted = (values & 0x7F).astype(np.uint16) << 7  # an f16 of that size times 2**-8; 0x7F is no number
        size = np.where(shifted == 0x3F80, np.nan, shifted.view(np.float16).astype(np.float32) * 256)
        values = np.where(values & 0x80, -size, size)
    return _Data(name, values, dtype)


def _to_host(function: str, view: _View, dtype: str, stream: Any) -> Any:
    """A copy of an array on a GPU, of any library; the caller's current context is what it was."""
    from cuda.core import Device

    kind, (first, last) = np.dtype(_HELD[dtype][0][-1]), _ends(view)
    if not view.nbytes:
        return np.empty(view.shape, kind)
    made = np.empty(last - first, np.uint8)
    strides = None if view.steps is None else tuple(kind.itemsize * step for step in view.steps)
    handle, driver = _stream_of(function, stream, view), _driver()
    _, before = driver.cuCtxGetCurrent()
    Device(view.device).set_current()
    try:
        (error,) = driver.cuStreamSynchronize(handle or 1)
        if not int(error):
            (error,) = driver.cuMemcpyDtoH(made.ctypes.data, first, made.nbytes)
    finally:
        driver.cuCtxSetCurrent(before)
    if int(error):
        _fail(RuntimeError, "TG815", function, f"{view.name} cannot be copied from GPU {view.device} to check it: {error.name}")
    return np.ndarray(view.shape, kind, made, view.pointer - first, strides)


def _promises(function: str, promises: list[_Promise], data: dict[str, _Data], sizes: dict[str, int]) -> None:
    """Whether promises are kept; the error names the first point, in the order of a promise, at which one is broken."""
    with np.errstate(all="ignore"):
        for promise in promises:
            _promised(function, promise, data, sizes)


def _promised(function: str, promise: _Promise, data: dict[str, _Data], sizes: dict[str, int]) -> None:
    said, over, holds, read, _ = promise
    names = {f"n_{name}": value for name, value in sizes.items()}
    extents = tuple(max(0, eval(_python(extent), {}, names)) for extent in over.values())
    used, tree = {name: data[name] for name in read}, _kept(holds)
    binders = [f"n_{name}" for name in over]
    points = math.prod(extents)
    for low in range(0, points, _AT_ONCE):
        flat = np.arange(low, min(low + _AT_ONCE, points))
        places = np.unravel_index(flat, extents) if extents else ()
        kept = _Point(names | dict(zip(binders, places, strict=True)), used).truth(tree)[0]
        kept = np.broadcast_to(kept, flat.shape)
        if not kept.all():
            first = int(np.argmin(kept))
            for one in used.values():
                one.seen.clear()
            _Point(names | {name: int(place[first]) for name, place in zip(binders, places, strict=True)}, used).truth(tree)
            _promise_broken(function, said, tuple(used.values()), sizes)


def _promise_broken(function: str, promise: str, data: tuple[_Data, ...], sizes: dict[str, int]) -> NoReturn:
    read = ", ".join(text for one in data for text in one.seen.values())
    known = _shown_sizes(sizes)
    _fail(ValueError, "TG808", function, f"proved only where {promise}; here {read}{f', with {known}' if known else ''}")
