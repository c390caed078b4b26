"""What a state moves and computes, from the extents of its factors alone: no text, no program.

    touched(array, loops inside) = Π extents of its factors there        moved from a cache = touched where all fits · turns of what is outside

Comes in: the loops of one launch, outermost first, and what it reads and writes at which indices. Goes out: cycles of a core. The one idea: an index is one to one, so what a turn of a loop touches
is a product; and what fits into a cache is loaded once for each turn around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, prod

from tinygpu.record import dataclass

CACHES = ((32 << 10, 48.0), (1 << 20, 16.0), (64 << 20, 5.0))  # bytes that are of use, and bytes a cycle from the next one, a core
LINE, WORD = 16, 4  # words of a line, bytes of a word
LANES = 4  # what a compiler makes of a loop that says nothing
HELD = 28  # vectors that stay in registers
TURN = 4  # cycles of a turn of a loop


@dataclass(frozen=True, slots=True)
class Loop:
    """A factor as a loop: of which index, carried by whom, how far."""

    index: str
    level: str
    extent: int


@dataclass(frozen=True, slots=True)
class Touched:
    """An array that is read or written at indices, the last one along memory; `staged`, it is a tile of its own."""

    name: str
    indices: tuple[str, ...]
    stores: bool = False
    staged: int | None = None  # how many loops are around its copy


def cycles(loops: Sequence[Loop], accesses: Sequence[Touched], cores: int = 2) -> float:
    """Cycles of a core, of all turns.

    >>> product = [Touched("A", ("i", "k")), Touched("B", ("k", "j")), Touched("C", ("i", "j"), True)]
    >>> plain = [Loop("i", "core", 256), Loop("j", "time", 256), Loop("k", "time", 256)]
    >>> wide = [*plain[:1], Loop("j", "time", 16), Loop("k", "time", 256), Loop("j", "simd", 16)]
    >>> cycles(wide, product) < cycles(plain, product)
    True
    """
    total = prod(one.extent for one in loops)
    wide = [one for one in loops if one.level in ("simd", "vector")]
    lanes = prod(one.extent for one in wide)
    arithmetic = total / (lanes if wide else LANES) / 2
    issued = sum(_issued(a, loops, total, wide, lanes) for a in accesses)
    memory = [_moved(loops, accesses, size) / rate for size, rate in CACHES]
    cells = prod(
        one.extent for one in loops if one.level == "register" and any(a.stores and one.index in a.indices for a in accesses)
    )
    spill = 1 + max(0, cells - HELD) / 10
    copied = sum(_copied(a, loops) for a in accesses if a.staged is not None) / 8
    outer = prod(one.extent for one in loops if one.level not in ("register", "simd", "vector"))
    whole = max(arithmetic * spill, issued * spill, *memory) + (arithmetic + issued + sum(memory)) / 4 + copied + outer * TURN
    return whole / max(1, min(cores, prod(one.extent for one in loops if one.level in ("core", "grid"))))


def _issued(a: Touched, loops: Sequence[Loop], total: int, wide: Sequence[Loop], lanes: int) -> float:
    """Loads and stores of an access; one that a vector goes along is one of a vector, if memory does too."""
    if a.stores:
        return total / prod(one.extent for one in loops if one.index not in a.indices) / (lanes if wide else 1)
    kept = prod(one.extent for one in loops if one.level == "register" and one.index not in a.indices)
    gathered = bool(wide) and wide[0].index in a.indices and a.indices[-1] != wide[0].index
    return total / kept / (1 if gathered or not wide else lanes) / 2


def _moved(loops: Sequence[Loop], accesses: Sequence[Touched], size: int) -> float:
    """Bytes that come into a cache of some size."""
    fits = next((n for n in range(len(loops) + 1) if sum(_touched(a, loops[n:]) for a in accesses) <= size), len(loops))
    out = 0.0
    for a in accesses:
        around = list(loops[:fits])
        while around and around[-1].index not in a.indices:
            around.pop()
        out += _touched(a, loops[fits:]) * prod(one.extent for one in around)
    return out


def _touched(a: Touched, inside: Sequence[Loop]) -> float:
    """Bytes that an access touches in some loops: whole lines, but of a tile."""
    mine = [one for one in inside if one.index in a.indices]
    count = prod(one.extent for one in mine)
    if a.staged is not None or not a.indices:
        return count * WORD
    run = prod(one.extent for one in mine if one.index == a.indices[-1])
    return ceil(run / LINE) * LINE * (count / run) * WORD


def _copied(a: Touched, loops: Sequence[Loop]) -> int:
    """Elements that are copied into tiles."""
    assert a.staged is not None
    tile = prod(one.extent for one in loops[a.staged :] if one.index in a.indices)
    return tile * prod(one.extent for one in loops[: a.staged])


def numbers(extents: Mapping[str, int], cuts: Sequence[tuple[str, Sequence[tuple[str, str, int | None]]]]) -> dict[str, Loop]:
    """Each factor as a loop: one without an extent goes as far as is left of its index."""
    out: dict[str, Loop] = {}
    for index, cut in cuts:
        known = prod(extent for *_, extent in cut if extent)
        for name, level, extent in cut:
            out[name] = Loop(index, level, extent or max(1, ceil(extents[index] / known)))
    return out
