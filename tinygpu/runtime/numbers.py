"""What emitted modules do with the numbers it is given: their kind and range, and how they are rounded.

Comes in: Python's and numpy's numbers. Goes out: numpy scalars.
The one idea: a number that a kernel could not hold is refused, and never changed.
"""

from __future__ import annotations

import math
import operator
import sys
from typing import Any

import numpy as np

from tinygpu.runtime.views import _HELD, _article, _fail

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
