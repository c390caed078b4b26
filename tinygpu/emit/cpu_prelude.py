"""The functions that an emitted CPU kernel may call, as text: Euclidean division, 16-bit floats, casts.

Comes in: the names that a kernel uses. Goes out: their source in a fixed order, with what they need in turn.
The one idea: a module carries only what its kernels call, each function is inlined by LLVM, and nothing of ours is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tinygpu.category.dtype import RANGE
from tinygpu.emit.mathlib import TEXT as MATH

HEADER_IMPORTS = """import math

import numpy as np
from numba import get_num_threads, njit, prange
"""
HEADER = """at = np.uintp  # the number of an element: unsigned, so that numba makes no test for negative indices
inlined = njit(error_model="numpy", fastmath={"contract"}, forceinline=True)
"""

PLAIN: dict[str, str] = {
    "quotient": '''
@inlined
def quotient(a, b):
    """a // b of natural numbers."""
    return np.int64(np.uint64(a) // np.uint64(b))
''',
    "remainder": '''
@inlined
def remainder(a, b):
    """a % b of natural numbers."""
    return np.int64(np.uint64(a) % np.uint64(b))
''',
    "smaller": '''
@inlined
def smaller(a, b):
    return a if a < b else b
''',
    "larger": '''
@inlined
def larger(a, b):
    return a if a > b else b
''',
    "f16_to_f32": '''
@inlined
def f16_to_f32(bits):
    """The number that 16 bits hold (1 sign, 5 exponent, 10 fraction)."""
    magnitude = np.uint32(np.uint32(bits) & np.uint32(0x7FFF))
    shifted = np.uint32(magnitude << np.uint32(13))
    scaled = shifted.view(np.float32) * np.float32(2.0**112)
    special = np.uint32(0x7F800000) if magnitude >= np.uint32(0x7C00) else np.uint32(0)
    sign = np.uint32(np.uint32(np.uint32(bits) & np.uint32(0x8000)) << np.uint32(16))
    return np.uint32(np.float32(scaled).view(np.uint32) | special | sign).view(np.float32)
''',
    "f32_to_f16": '''
@inlined
def f32_to_f16(x):
    """The bits of the nearest f16, ties to even; beyond 65520 infinity."""
    bits = np.float32(x).view(np.uint32)
    magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
    odd = np.uint32(np.uint32(magnitude >> np.uint32(13)) & np.uint32(1))
    usual = np.uint32(np.uint32(magnitude + odd + np.uint32(0xC8000FFF)) >> np.uint32(13))
    tiny = np.uint32(np.float32(magnitude.view(np.float32) + np.float32(0.5)).view(np.uint32) - np.uint32(0x3F000000))
    rounded = tiny if magnitude < np.uint32(0x38800000) else usual
    rounded = np.uint32(0x7C00) if magnitude >= np.uint32(0x47800000) else rounded
    rounded = np.uint32(0x7E00) if magnitude > np.uint32(0x7F800000) else rounded
    return np.uint16(rounded | np.uint32(np.uint32(bits >> np.uint32(16)) & np.uint32(0x8000)))
''',
    "bf16_to_f32": '''
@inlined
def bf16_to_f32(bits):
    """The number that 16 bits hold (1 sign, 8 exponent, 7 fraction)."""
    return np.uint32(np.uint32(bits) << np.uint32(16)).view(np.float32)
''',
    "f32_to_bf16": '''
@inlined
def f32_to_bf16(x):
    """The bits of the nearest bf16, ties to even."""
    bits = np.float32(x).view(np.uint32)
    odd = np.uint32(np.uint32(bits >> np.uint32(16)) & np.uint32(1))
    usual = np.uint32(np.uint32(bits + odd + np.uint32(0x7FFF)) >> np.uint32(16))
    nan = np.uint32(bits & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    return np.uint16(np.uint32(np.uint32(bits >> np.uint32(16)) | np.uint32(0x40)) if nan else usual)
''',
    "round_f16": '''
@inlined
def round_f16(x):
    """The nearest f16, as f32."""
    return f16_to_f32(f32_to_f16(x))
''',
    "round_bf16": '''
@inlined
def round_bf16(x):
    """The nearest bf16, as f32."""
    return bf16_to_f32(f32_to_bf16(x))
''',
    "narrow_to_odd": '''
@inlined
def narrow_to_odd(x):
    """f64 to f32, towards zero, the last bit set where something was lost: rounding this to 16 bits rounds x once."""
    near = np.float32(x)
    bits = near.view(np.uint32)
    beyond = np.uint32(1) if abs(np.float64(near)) > abs(x) else np.uint32(0)
    inexact = np.uint32(1) if np.float64(near) != x and x == x else np.uint32(0)
    return np.uint32(np.uint32(bits - beyond) | inexact).view(np.float32)
''',
}  # fmt: skip


def _saturating(dtype: str) -> str:
    """Float to integer: towards zero, the ends of the range beyond it, NaN to 0."""
    low, high = RANGE[dtype]
    kind = f"np.{'uint' if dtype[0] == 'u' else 'int'}{dtype[1:]}"
    return f'''
@inlined
def to_{dtype}(x):
    """f64 to {dtype}: towards zero; the end of the range beyond it; NaN to 0."""
    inside = x > {float(low) - 1.0!r} and x < {float(high + 1)!r}
    return {kind}(x) if inside else ({kind}({high}) if x > 0.0 else ({kind}({low}) if x < 0.0 else {kind}(0)))
'''


TEXT: dict[str, str] = {**PLAIN, **{f"to_{dtype}": _saturating(dtype) for dtype in RANGE}, **MATH}


def prelude(needs: Iterable[str]) -> str:
    """The text of those functions and of all that they call, each after what it calls.

    >>> prelude({"round_bf16"}).count("def ")
    3
    """
    wanted = set(needs)
    while True:
        called = {name for name in TEXT for user in wanted if name not in wanted and re.search(rf"\b{name}\(", TEXT[user])}
        if not called:
            break
        wanted |= called
    return "\n".join(TEXT[name].strip("\n") + "\n\n" for name in TEXT if name in wanted)
