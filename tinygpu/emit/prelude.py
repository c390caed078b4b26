"""The names that CUDA kernels call, and which function of the runtime gives each.

Comes in: the names that kernels use. Goes out: how each is made. The one idea: kernels only call names, so another compiler than numba-cuda
needs other functions behind them and nothing else.
"""

from __future__ import annotations

from tinygpu.category.operation import FUNCTION
from tinygpu.derive.lanes import MOST_LANES

CONVERSIONS = ("f16_bits", "f16_value", "bf16_bits", "bf16_value", "round_f16", "round_bf16", "trunc_i32", "trunc_u32", "trunc_i64")
ANGLES = tuple(row.cuda + end for end in ("f", "") for row in FUNCTION.values() if row.angle)
SHUFFLED = tuple(f"shuffle_{mode}" for mode in ("xor", "up", "down", "idx", "up_any", "down_any"))
UPDATED = tuple(f"{space}atomic_{update}" for space in ("", "shared_") for update in ("sum", "max", "min"))
MOVES = tuple(
    f"{move}{count}"
    for move in ("load", "store", "shared_load", "shared_store", "streaming_store")
    for count in range(1, MOST_LANES + 1)
)
MADE = {"shared": "shared_memory(0)", "upto": "counted()", "constant": "constant_memory()"}
MADE |= {name: f"division({name!r})" for name in ("div", "mod", "ceil")}


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
