"""Kernels of saxpy.tgpu, emitted by tinygpu; every machine was proved for all sizes before it was written.

  saxpy_v4 : saxpy

Needs tinygpu_runtime.py beside it, numpy and numba; for arrays on a GPU also numba-cuda and cuda-core. Nothing of tinygpu.
Kernels are compiled at their first call and kept on disk. Arrays are never copied; a call on a GPU returns at once, on the
caller's stream.

Floating point: sums are in the order of the loops, products and sums may be fused or reassociated.
"""

from __future__ import annotations

import math
import os
import sys
from typing import Any, TypeAlias

import numpy as np
from numba import get_num_threads, njit, prange

if __package__:
    from . import tinygpu_runtime as runtime
else:
    try:
        import tinygpu_runtime as runtime
    except ModuleNotFoundError:  # this file is loaded by itself, from a folder that is not on the path
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import tinygpu_runtime as runtime

        del sys.path[0]

if getattr(runtime, "VERSION", "") != "VERSION OF THE RUNTIME":
    raise ImportError(f"TG819 {__file__} was built with another version of {runtime.__file__}: build them again, into one folder")

__all__ = ["saxpy", "saxpy_v4"]

Array: TypeAlias = Any  # of numpy, torch, CuPy, numba, or with a CUDA array interface or DLPack
cuda_names = runtime.cuda_names
constant_memory = runtime.constant_memory
counted = runtime.counted
wide_load = runtime.wide_load
wide_store = runtime.wide_store

at = np.uintp  # the number of an element: unsigned, so that numba makes no test for negative indices
inlined = njit(error_model="numpy", fastmath={"contract"}, forceinline=True)


# ── saxpy_v4 : saxpy ────────────────────────────────────────────────────────────────────────────────────────────────────────────

@njit(cache=True, error_model="numpy", nogil=True, fastmath={"contract"})
def saxpy_v4_work(first, last, a, x, y, z, n):
    """Items [first, last) of g < ceil(n / 256)."""
    for item in range(first, last):
        g = item
        for t in range(64):
            for v in range(min(4, n - g * 256 - t * 4)):
                i = g * 256 + t * 4 + v
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
    items = (n + 255) // 256
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


saxpy_v4_spec = {
    "name": "saxpy_v4",
    "inputs": {"a": ("f32", None), "x": ("f32", ("n",)), "y": ("f32", ("n",))},
    "outputs": {"z": ("f32", ("n",))},
    "workspaces": {},
    "sizes": ("n",),
    "solved": {"n": ("x", 0, "0", "1")},
    "where": (),
    "promises": (),
    "limits": ("ceil(n / 256)", "ceil(n / 256)*256 - 1", "n"),
    "counted": ("ceil(n / 256)", "ceil(n / 256)*256 - 1", "n"),
    "wide": ((), {"x": 16, "y": 16, "z": 16}),
    "cpu": {},
    "launches": (
        ("saxpy_v4_kernel", "ceil(n / 256)", 64, (0, 0), "7c40966317f2e2fd29b25b0a36bf46ed8c8b4c58f15a5652fdc451685d94f56c", 0),
    ),
}  # fmt: skip


def saxpy_v4(a: float, x: Array, y: Array, *, out: Array = None, stream: Any = None) -> Array:
    """z[i] = a*x[i] + y[i]

    in   a: f32, by value
    in   x: f32[n]
    in   y: f32[n]
    out  z: f32[n]

    Machine: grid (g: ceil(n / 256)), block (t: 64).

    As in a test, nothing is proved.
    """
    return saxpy_v4_launch(a, x, y, out, stream)


saxpy_v4_launch = runtime.launcher(saxpy_v4_spec, globals())


saxpy = saxpy_v4
