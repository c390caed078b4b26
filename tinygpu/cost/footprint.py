"""What a state moves and computes, from the extents of its factors alone: no text, no program.

    touched(array, loops inside) = Π extents of its factors there        moved from a cache = touched where all fits · turns of what is outside

Comes in: the loops of one launch, outermost first, and what it reads and writes at which indices. Goes out: cycles of a core. The one idea: an index is one to one, so what a turn of a loop touches
is a product; and what fits into a cache is loaded once for each turn around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, prod

from tinygpu.hardware.arch import Device
from tinygpu.record import dataclass

CACHES = ((32 << 10, 48.0), (1 << 20, 16.0), (64 << 20, 5.0))  # bytes that are of use, and bytes a cycle from the next one, a core
LINE, WORD = 16, 4  # words of a line, bytes of a word
LANES = 4  # what a compiler makes of a loop that says nothing
OWN = ("register", "simd", "vector", "box")  # levels whose turns are written out, or are one instruction
BOXED = 16  # times as much as lanes do, of an instruction that multiplies boxes


@dataclass(frozen=True, slots=True)
class Core:
    """What works at once: how many, with which caches; of plain code the points, loads and copies of a cycle; the cells of a thread that stay in registers, the cycles of
    a turn of a loop, and of how many threads all of it is busy."""

    cores: int = 2
    caches: tuple[tuple[int, float], ...] = CACHES
    points: float = 2 * LANES
    loads: float = 2.0
    copies: float = 8.0
    held: int = 28
    turn: float = 4.0
    threads: int = 1


CPU = Core()


def on_gpu(device: Device) -> Core:
    """A multiprocessor as a core: tiles and what is read again lie in what it has of memory, and all others share the rest."""
    share = device.memory_bytes_per_second / device.clock_hertz / device.multiprocessors
    caches = ((128 << 10, 64.0), (device.l2_bytes, share))
    return Core(device.multiprocessors, caches, device.fp32_lanes, 32.0, 128.0, 160, 1 / 32, 256)


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


def cycles(loops: Sequence[Loop], accesses: Sequence[Touched], core: Core = CPU, lanes_of_box: int = 1) -> float:
    """Cycles of a core, of all turns; threads that share a box are beside those of its loops.

    >>> product = [Touched("A", ("i", "k")), Touched("B", ("k", "j")), Touched("C", ("i", "j"), True)]
    >>> plain = [Loop("i", "core", 256), Loop("j", "time", 256), Loop("k", "time", 256)]
    >>> wide = [*plain[:1], Loop("j", "time", 16), Loop("k", "time", 256), Loop("j", "simd", 16)]
    >>> cycles(wide, product) < cycles(plain, product)
    True
    """
    total = prod(one.extent for one in loops)
    wide = [one for one in loops if one.level in ("simd", "vector")]
    lanes = prod(one.extent for one in wide)
    threads = lanes_of_box * prod(one.extent for one in loops if one.level == "block")
    blocks = prod(one.extent for one in loops if one.level in ("core", "grid"))
    boxed = BOXED if any(one.level == "box" for one in loops) else 1
    plain = lanes / LANES if wide and core.threads == 1 else boxed
    arithmetic = total / core.points / plain
    issued = sum(_issued(a, loops, total, wide, lanes) for a in accesses) * 2 / core.loads
    memory = [_moved(loops, accesses, size) / rate for size, rate in core.caches]
    cells = prod(
        one.extent for one in loops if one.level == "register" and any(a.stores and one.index in a.indices for a in accesses)
    )
    spill = 1 + max(0, cells - core.held) / 10
    copied = sum(_copied(a, loops) for a in accesses if a.staged is not None) / core.copies
    outer = prod(one.extent for one in loops if one.level not in OWN)
    whole = max(arithmetic * spill, issued * spill, *memory) + (arithmetic + issued + sum(memory)) / 4 + copied + outer * core.turn
    busy = min(1.0, threads * max(1.0, blocks / core.cores) / core.threads)
    return whole / max(1, min(core.cores, blocks)) / busy


def _issued(a: Touched, loops: Sequence[Loop], total: int, wide: Sequence[Loop], lanes: int) -> float:
    """Loads and stores of an access: one that a vector goes along is one of a vector, if memory does too, as it is where the innermost loop is plain; what the innermost loops do not change is loaded
    once for them."""
    along, last = (wide[0].index, lanes) if wide else (loops[-1].index, min(LANES, loops[-1].extent))
    if a.stores:
        return total / prod(one.extent for one in loops if one.index not in a.indices) / (last if a.indices[-1:] == (along,) else 1)
    inside, around = list(loops), list[Loop]()
    while inside and inside[-1].index not in a.indices and inside[-1].level not in ("simd", "vector"):
        around.append(inside.pop())
    kept = prod(one.extent for one in loops if one in around or (one.level in ("register", "box") and one.index not in a.indices))
    gathered = along in a.indices and a.indices[-1] != along
    return total / kept / (1 if gathered or (not wide and along not in a.indices) else last) / 2


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
    """Each factor as a loop: one without an extent goes as far as is left of its index, and none goes further.

    >>> [one.extent for one in numbers({"i": 100}, [("i", [("ib", "core", None), ("ic", "core", 512), ("is", "simd", 16)])]).values()]
    [1, 7, 16]
    """
    out: dict[str, Loop] = {}
    for index, cut in cuts:
        known = prod(extent for *_, extent in cut if extent)
        inside = [prod(extent for *_, extent in cut[at + 1 :] if extent) for at in range(len(cut))]
        for (name, level, extent), within in zip(cut, inside, strict=True):
            left = max(1, ceil(extents[index] / (within if extent else known)))
            out[name] = Loop(index, level, min(extent or left, left))
    return out
