"""What CUDA kernels call things: the dtypes, the functions of libdevice, and `ix`, an index of 32 or 64 bits.

Comes in: the bits of an index. Goes out: a namespace. The one idea: numba is imported when a kernel is made, and not before.
"""

from __future__ import annotations

import functools
from typing import Any


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
