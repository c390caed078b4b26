"""The prelude of emitted modules: what kernels call things, and every PTX instruction that they name.

Comes in: the names that kernels use. Goes out: the source of the functions that give them, taken from this folder's files as text.
The one idea: kernels only call names, so another compiler than numba-cuda needs another prelude and nothing else. What is pasted imports
numba when it is called and not before, and needs nothing of tinygpu; here the same text is tested as code.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Collection
from typing import Any

from tinygpu.emit.constant import constant_memory
from tinygpu.emit.conversion import conversion, conversion_text
from tinygpu.emit.cooperation import atomic, shared_memory, shuffle, shuffle_source
from tinygpu.emit.counted import counted
from tinygpu.emit.division import division
from tinygpu.emit.trigonometry import angle_function, angle_reduced, angle_series, angle_value
from tinygpu.emit.wide_access import (
    wide_cell,
    wide_load,
    wide_packed,
    wide_place,
    wide_shape,
    wide_store,
    wide_streamed,
    wide_unpacked,
)
from tinygpu.program.lanes import MOST_LANES

CONVERSIONS = ("f16_bits", "f16_value", "bf16_bits", "bf16_value", "round_f16", "round_bf16", "trunc_i32", "trunc_u32", "trunc_i64")
ANGLES = ("sinf", "cosf", "sin", "cos")
SHUFFLED = tuple(f"shuffle_{mode}" for mode in ("xor", "up", "down", "idx", "up_any", "down_any"))
UPDATED = tuple(f"{space}atomic_{update}" for space in ("", "shared_") for update in ("sum", "max", "min"))
MOVES = tuple(
    f"{move}{count}"
    for move in ("load", "store", "shared_load", "shared_store", "streaming_store")
    for count in range(1, MOST_LANES + 1)
)
MADE = {"shared": "shared_memory(0)", "upto": "counted()", "constant": "constant_memory()"}
MADE |= {name: f"division({name!r})" for name in ("div", "mod", "ceil")}
IMPORTS = ("import functools", "from typing import Any")
WIDE = (wide_shape, wide_place, wide_cell, wide_packed, wide_unpacked, wide_streamed, wide_load, wide_store)
PARTS: tuple[tuple[tuple[str, ...], tuple[Any, ...]], ...] = (  # what makes a name, and what it is pasted with
    (("constant_memory",), (constant_memory,)),
    (("counted",), (counted,)),
    (("division",), (division,)),
    (("wide_load", "wide_store"), WIDE),
    (("shared_memory",), (shared_memory,)),
    (("shuffle",), (shuffle_source, shuffle)),
    (("atomic",), (atomic,)),
    (("conversion",), (conversion, conversion_text)),
    (("angle_function",), (angle_function, angle_value, angle_reduced, angle_series)),
)
HELPERS = frozenset({"cuda_names", *(part.__name__ for _, several in PARTS for part in several)})  # what may stand in a module


def made_by(name: str) -> str:
    """How the prelude makes a name that a kernel uses.

    >>> made_by("load4"), made_by("shared_load4"), made_by("streaming_store4"), made_by("f16_bits"), made_by("sinf"), made_by("expf")
    ('wide_load(4)', "wide_load(4, 'shared')", "wide_store(4, 'streaming')", "conversion('f16_bits')", "angle_function('sinf')", 'names.expf')
    >>> made_by("shuffle_xor"), made_by("shared_atomic_sum"), made_by("shared"), made_by("upto"), made_by("constant")
    ("shuffle('xor')", "atomic('sum', 'shared')", 'shared_memory(0)', 'counted()', 'constant_memory()')
    >>> made_by("div")
    "division('div')"
    """
    if name in MOVES:
        move = name.rstrip("0123456789")
        memory, _, moved = move.rpartition("_")
        return f"wide_{moved}({name.removeprefix(move)}{f', {memory!r}' if memory else ''})"
    if name in SHUFFLED:
        return f"shuffle({name.removeprefix('shuffle_')!r})"
    if name in UPDATED:
        space, _, update = name.partition("atomic_")
        return f"atomic({update!r}, {'shared' if space else 'global'!r})"
    if name in MADE:
        return MADE[name]
    if name in CONVERSIONS:
        return f"conversion({name!r})"
    return f"angle_function({name!r})" if name in ANGLES else f"names.{name}"


def prelude_source(uses: Collection[str]) -> str:
    """The prelude's text, without imports (`IMPORTS`): `cuda_names` always, the rest where one of the names used is made by it.

    >>> text = prelude_source(["load4"])
    >>> "def wide_load" in text, "def conversion" in text, "tinygpu" in text
    (True, False, False)
    """
    makers = {made_by(name).partition("(")[0] for name in uses}
    parts = [cuda_names, *(part for made, several in PARTS for part in several if makers & {*made})]
    return "\n\n".join(inspect.getsource(part) for part in parts)


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
