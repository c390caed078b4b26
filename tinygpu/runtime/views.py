"""What emitted modules do with the arrays it is given: look at them without copying, and refuse what was not proved.

Comes in: arrays of numpy, torch, CuPy, numba, or anything with a CUDA array interface or DLPack. Goes out: `_View` values.
The one idea: nothing is copied or converted; what could not be passed as it is is refused, with what to do about it.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
from typing import Any, NoReturn

import numpy as np

_HELD = {  # dtype of the language: what may hold it, and its bytes
    "f64": (("float64",), 8), "f32": (("float32",), 4), "f16": (("float16",), 2), "bf16": (("bfloat16", "uint16"), 2),
    "tf32": (("float32",), 4), "i4": (("int8",), 1), "u4": (("uint8",), 1),  # of workspaces alone
    "e4m3": (("float8_e4m3fn", "uint8"), 1), "e5m2": (("float8_e5m2", "uint8"), 1),
    **{f"{sign[0]}{bits}": ((f"{sign}{bits}",), bits // 8) for sign in ("int", "uint") for bits in (64, 32, 16, 8)}, "bool": (("bool",), 1),
}  # fmt: skip
_OTHERS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # what numpy has only where ml_dtypes is imported
_USUAL = {dtype: {np.dtype(n) for n in names if n not in _OTHERS} for dtype, (names, _) in _HELD.items()}
_TYPESTR = {"V2": "bfloat16", "u2": "uint16", "b1": "bool"}  # in a CUDA array interface, where numpy's own reading is not wanted
_FARTHEST = 2**63 - 2**32  # bytes between the first and the last element of a strided array
_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


class _View:
    """An array looked at: `device` is -1 on the CPU, else the ordinal of the GPU; `base` is what the CPU kernel is given. `steps` are how many
    elements neighbours along each axis are apart, or None where the array lies in rows; `nbytes` are those of its elements."""

    __slots__ = ("base", "device", "family", "name", "nbytes", "owner", "pointer", "readonly", "shape", "steps")

    def __init__(
        self, name: str, owner: Any, family: str, device: int, at: int | None, shape: Any, nbytes: int, readonly: bool, base: Any,
        steps: tuple[int, ...] | None = None,
    ):  # fmt: skip
        self.name, self.owner, self.family, self.device = name, owner, family, device
        self.shape, self.nbytes, self.readonly, self.base, self.steps = shape, nbytes, readonly, base, steps
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


def _view(
    function: str, name: str, value: Any, dtype: str, shape: str, rank: int, strided: bool = False, written: bool = False
) -> _View:
    """`value` as an argument: an array of `dtype` and `rank`, aligned to its elements, C-contiguous unless it may be `strided`. `shape` is for
    messages only, and so is whether it is `written`: a copy of an output helps nobody."""
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
    family, device, pointer, extents, kind, steps, readonly, base = _look(function, name, value, wanted)
    names, size = _HELD[dtype]
    if kind not in names:
        convert = f"to(torch.{names[0]})" if family == "torch" else f"astype({names[0]!r})"
        way = f"Make it with dtype={names[0]!r}" if written else f"Convert it, for example with {name}.{convert}"
        _fail(TypeError, "TG802", function, f"{wanted}; its dtype is {kind}. {way}")
    if len(extents) != rank:
        _fail(ValueError, "TG803", function, f"{wanted}; its shape is {tuple(extents)}, of rank {len(extents)} instead of {rank}")
    if steps is not None and not strided:
        copied = f"{name}.contiguous()" if family == "torch" else f"ascontiguousarray({name})"
        way = "Pass a contiguous array, and copy from it" if written else f"Pass {copied}"
        _fail(
            ValueError,
            "TG805",
            function,
            f"{wanted}, C-contiguous; its strides are not. {way}, or say {dtype}{shape} strided in the op",
        )
    if pointer % size or None in (steps or ()):
        _fail(ValueError, "TG813", function, f"{wanted}; its memory is not aligned to the {size} bytes of an element")
    made = _View(name, value, family, device, pointer, tuple(extents), math.prod(extents) * size, readonly, base, steps)
    if steps is not None and size * sum((e - 1) * abs(s) for e, s in zip(extents, steps, strict=True)) > _FARTHEST:
        _fail(ValueError, "TG810", function, f"too large: {name} has strides {steps}, and kernels count its bytes with 64 bits")
    return made


_QUICK: dict[type, Any] = {}  # a type of arrays on GPUs that was met: how to look at one with which all is well, and its library
_KINDS: dict[Any, str] = {}  # dtypes of other libraries that were met, of torch with whether on a GPU, and typestrs: their names


def _quick_torch(name: str, value: Any, dtype: str, rank: int, family: str) -> _View | None:
    """A tensor; None, where anything has to be said about it. The same of the two below, on a GPU."""
    shape, pointer, (names, size) = value.shape, value.data_ptr(), _HELD[dtype]
    fits = _KINDS.get((value.dtype, value.is_cuda)) in names and len(shape) == rank and not pointer % size
    if not fits or not value.is_contiguous() or value.is_neg() or (value.requires_grad and sys.modules[family].is_grad_enabled()):
        return None
    if value.is_cuda:
        return _View(name, value, family, value.get_device(), pointer, shape, value.nbytes, False, None)
    return _View(
        name,
        value,
        family,
        -1,
        pointer,
        tuple(shape),
        value.nbytes,
        False,
        (value.detach() if value.requires_grad else value).numpy(),
    )


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
    """(family, device, pointer, shape, dtype name, steps, read-only, numpy array or None) of anything that is an array."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            _fail(TypeError, "TG801", function, f"{wanted}; it is a masked array, whose mask would be lost. Pass {name}.filled(…)")
        array = value if type(value) is np.ndarray else value.view(np.ndarray)
        kind = array.dtype.name if array.dtype.isnative else array.dtype.str
        pointer, steps = array.__array_interface__["data"][0], _steps(array.shape, array.strides, array.itemsize)
        return "numpy", -1, pointer, array.shape, kind, steps, not array.flags.writeable, array
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
        shape, steps = tuple(seen.shape), _steps(seen.shape, seen.strides, 1)
        return family, seen.device_id, seen.ptr, shape, _packed(seen), steps, seen.readonly, None
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
        return next((name for name in _OTHERS if name in str(error)), "unknown")


def _look_torch(function: str, name: str, value: Any) -> tuple[Any, ...]:
    torch = sys.modules["torch"]
    if value.requires_grad and torch.is_grad_enabled():
        _fail(TypeError, "TG801", function, f"{name} requires a gradient, which the kernel does not give. Pass {name}.detach()")
    if value.is_neg():
        _fail(TypeError, "TG801", function, f"{name} is negated only when torch reads it. Pass {name}.resolve_neg()")
    kind, steps = str(value.dtype).removeprefix("torch."), _steps(value.shape, None if value.is_contiguous() else value.stride(), 1)
    if value.is_cuda or (value.device.type == "cpu" and kind not in _OTHERS):
        _QUICK[type(value)], _KINDS[value.dtype, value.is_cuda] = (_quick_torch, "torch"), kind
    if value.is_cuda:
        return "torch", value.device.index, value.data_ptr(), tuple(value.shape), kind, steps, False, None
    if value.device.type != "cpu":
        _fail(TypeError, "TG801", function, f"{name} is on device {value.device}; only the CPU and CUDA devices are served")
    plain = value.detach()
    if kind in _OTHERS:
        plain = plain.view(torch.int16 if kind == "bfloat16" else torch.uint8)
    base = plain.numpy().view(np.uint16) if kind == "bfloat16" else plain.numpy()
    return "torch", -1, value.data_ptr(), tuple(value.shape), kind, steps, False, base


def _look_interface(family: str, value: Any, interface: dict[str, Any]) -> tuple[Any, ...]:
    at, readonly = interface["data"]
    pointer = int(at or 0)
    typestr = interface["typestr"]
    kind = _TYPESTR.get(typestr[1:]) or (np.dtype(typestr).name if np.dtype(typestr).isnative else typestr)
    shape = tuple(interface["shape"])
    if interface.get("mask") is not None or any(extent < 0 for extent in shape):
        raise ValueError("a mask, or a negative extent")
    steps = _steps(shape, interface.get("strides"), np.dtype(typestr).itemsize)
    quick = _quick_cupy if family == "cupy" else _quick_interface
    _QUICK[type(value)], _KINDS[typestr] = (quick, family), kind
    return family, _device_of(pointer), pointer, shape, kind, steps, readonly, None


def _steps(shape: Any, strides: Any, unit: int) -> tuple[Any, ...] | None:
    """How many elements of `unit` neighbours along each axis are apart, 0 along an axis of one, None where that is no whole number; nothing for
    an array in rows, and no strides mean that it is one. Whoever looks at an array asks here how it lies."""
    if strides is None or 0 in shape:
        return None
    found = tuple(
        0 if extent == 1 else stride // unit if stride % unit == 0 else None for extent, stride in zip(shape, strides, strict=True)
    )
    return None if found == _rows(shape) else found


def _rows(shape: Any) -> tuple[int, ...]:
    """The steps of an array in rows."""
    steps, count = [], 1
    for extent in reversed(shape):
        steps.append(0 if extent == 1 else count)
        count *= extent
    return tuple(reversed(steps))


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
