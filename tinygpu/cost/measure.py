"""The cost of a program at given sizes: what it moves, computes and waits for, launch by launch and access by access.

Comes in: a program, sizes. Goes out: a `Cost`, which knows no device. The one idea: the same program that is proved and emitted is counted, so no count is of
another kernel; a compiler may do less than a program says, and caches may serve some of it, but nothing does more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import TRUE, text
from tinygpu.cost.counted import NOTHING, Count, Counter, added, size_of
from tinygpu.cost.operations import KINDS, flops_of
from tinygpu.cost.sites import BEHIND, MEETINGS, Access, Site, Work, sites
from tinygpu.cost.underway import Underway, underway
from tinygpu.cost.vectors import at_width, in_memory, made
from tinygpu.cost.warps import Tally, known, tally
from tinygpu.derive.unpack import unpack
from tinygpu.derive.wide import wide_accesses
from tinygpu.diagnostic import Span
from tinygpu.hardware.processor import Processor
from tinygpu.program.arrays import arrays, shared_places
from tinygpu.program.step import Launch, Program, arrays_in
from tinygpu.record import dataclass

SECTOR = 32


@dataclass(frozen=True, slots=True)
class Line:
    """One access of the text, and how the kernels that are taken make it: how many elements all threads ask for, the bytes that a thread moves at
    once, what its warps do."""

    access: Access
    made: tuple[Access, ...]
    asked: Count
    widths: tuple[int, ...]
    tally: Tally | None

    @property
    def launch(self) -> int:
        return self.access.where.launch

    @property
    def span(self) -> Span:
        return self.access.where.span

    @property
    def array(self) -> str:
        return self.access.array.name

    @property
    def shared(self) -> bool:
        """Whether it is of a block's memory, or of a core's own."""
        return self.access.array.owner != "grid"

    @property
    def copied(self) -> bool:
        """Whether the hardware copies what is stored, later."""
        return any(made.pending for made in self.made)

    @property
    def element(self) -> str:
        """As a program says it."""
        return f"{self.array}[{', '.join(map(text, self.access.index))}]"

    @property
    def moved(self) -> int | None:
        """The bytes of the sectors that it touches; None where that is data."""
        return None if self.tally is None or self.tally.units is None else self.tally.units * SECTOR


@dataclass(frozen=True, slots=True)
class Flow:
    """A global array, read or written: the elements that are asked for, the bytes of the sectors moved, the bytes of each element once."""

    array: str
    role: str
    stores: bool
    item: int
    asked: Count
    moved: int | None
    once: int | None

    @property
    def times(self) -> float | None:
        """How often each of its bytes is moved."""
        return self.moved / self.once if self.once and self.moved is not None else None


@dataclass(frozen=True, slots=True)
class LaunchCost:
    """A launch: its blocks, the threads of a block, the bytes of shared memory, the registers of a lane that each of its fragments takes, what a block has
    under way, and how often one thread meets others."""

    launch: Launch
    blocks: Count
    threads: int
    shared_bytes: int
    fragments: Mapping[str, int]
    underway: Underway | None
    barriers: Count
    warp_barriers: Count
    shuffles: Count


@dataclass(frozen=True, slots=True)
class Cost:
    """All of it. `tiles`: the bytes of shared memory that units read behind descriptors. `wide`: whether its kernels take wide accesses at these sizes; None where it has none."""

    program: Program
    sizes: Mapping[str, int]
    wide: bool | None
    launches: tuple[LaunchCost, ...]
    lines: tuple[Line, ...]
    flows: tuple[Flow, ...]
    operations: tuple[tuple[str, str, Count], ...]
    tiles: tuple[tuple[str, Count], ...]
    outputs: Count

    @property
    def flops(self) -> Count:
        """Floating-point operations: a fused one is two."""
        return added(count * flops_of(kind, dtype) for kind, dtype, count in self.operations if flops_of(kind, dtype))

    @property
    def moved(self) -> int | None:
        """Bytes of sectors moved, read and written; None where some are not known."""
        return known(f.moved for f in self.flows)  # type: ignore[no-any-return]

    @property
    def once(self) -> int | None:
        """Bytes of each element of each tensor once."""
        return known(f.once for f in self.flows if f.role != "workspace")  # type: ignore[no-any-return]


def measure(program: Program, sizes: Mapping[str, int], cpu: Processor | None = None) -> Cost:
    """`program × sizes → cost`; of one that a CPU runs, vectors are counted in place of warps."""
    program = unpack(program if cpu is None else at_width(program, cpu))
    taken = takes_wide(program, sizes) if cpu is None else None
    counter = Counter(program, sizes)
    if cpu is None:
        plain, emitted = sites(program), sites(program, wide=bool(taken))
        lines = lines_of(program, plain, emitted, counter)
    else:
        plain = sites(program, memory=in_memory(program, cpu))
        lines = tuple(_of_core(site, cpu, counter) for site in plain if isinstance(site, Access))
    launches = tuple(_launch(program, n, plain, lines, counter) for n in range(len(program.launches)))
    outputs = added(size_of(t.shape, sizes) for t in program.op.outputs)
    tiles = tuple((name, count) for _, name, count in _operations(plain, counter, (BEHIND,)))
    return Cost(program, sizes, taken, launches, lines, flows(program, lines, sizes), _operations(plain, counter), tiles, outputs)


def takes_wide(program: Program, sizes: Mapping[str, int]) -> bool | None:
    """Whether the launcher takes the kernels with wide accesses at these sizes, given memory that is aligned; None if there are none."""
    wides = wide_accesses(program)
    if not wides:
        return None
    asked = [w.asks for w in wides if not w.shared and w.asks != TRUE]
    return all(evaluate(a, sizes) for a in asked)


def lines_of(program: Program, plain: tuple[Site, ...], emitted: tuple[Site, ...], counter: Counter) -> tuple[Line, ...]:
    """The accesses in order, each once: how much is asked for is said by the plain kernel, how it is moved by the one that is taken."""
    moved: dict[tuple[object, ...], list[tuple[Access, Tally | None]]] = {}
    for site in emitted:
        if isinstance(site, Access):
            moved.setdefault(site.key, []).append((site, tally(program, site, counter.sizes)))
    return tuple(_line(site, moved.get(site.key, []), counter) for site in plain if isinstance(site, Access))


def _line(site: Access, moves: list[tuple[Access, Tally | None]], counter: Counter) -> Line:
    tallies = [t for _, t in moves]
    widths = tuple(sorted({a.bytes for a, t in moves if t is None or t.requests or len(moves) == 1}, reverse=True))
    whole = known(tallies, partial(reduce, Tally.__add__)) if tallies else None
    return Line(site, tuple(a for a, _ in moves), counter.threads(site.where) * site.lanes, widths, whole)


def _of_core(site: Access, cpu: Processor, counter: Counter) -> Line:
    access, elements, lanes, found = made(site, cpu, counter)
    return Line(access, (site,), elements, (lanes * site.item,), found)


def flows(program: Program, lines: tuple[Line, ...], sizes: Mapping[str, int]) -> tuple[Flow, ...]:
    """The global arrays, in the order of the op, each read and written."""
    shapes = [(t.name, t.role, t.shape) for t in program.op.tensors]
    shapes += [(w.name, "workspace", w.extents) for w in program.workspaces]
    found = []
    for name, role, shape in shapes:
        for stores in (False, True):
            mine = [one for one in lines if one.array == name and one.access.stores == stores]
            if not mine:
                continue
            asked, moved = added(one.asked for one in mine), known(one.moved for one in mine)
            item, whole = mine[0].access.item, size_of(shape, sizes).number
            once = None if whole is None else min(whole, asked.number if asked.number is not None else whole) * item
            found.append(Flow(name, role, stores, item, asked, moved, once))
    return tuple(found)


def _launch(program: Program, number: int, found: tuple[Site, ...], lines: tuple[Line, ...], counter: Counter) -> LaunchCost:
    launch = program.launches[number]
    here = [s for s in found if isinstance(s, Work) and s.where.launch == number]
    each = [added(counter.one_thread(s.where) for s in here if s.kind == kind) for kind in MEETINGS]
    threads = prod(int(evaluate(a.extent, counter.sizes)) for a in launch.block)
    blocks = size_of(tuple(a.extent for a in launch.grid), counter.sizes)
    fragments = {a.name: a.held.registers for a in arrays_in(launch.body, "block") if a.held is not None}
    begun = {(one.array, one.access.index) for one in lines if one.launch == number and one.copied}
    ahead = underway(launch, begun, arrays(program), counter.sizes)
    return LaunchCost(launch, blocks, threads, shared_places(launch)[1], fragments, ahead, *each)


def _operations(found: tuple[Site, ...], counter: Counter, kinds: Sequence[str] = KINDS) -> tuple[tuple[str, str, Count], ...]:
    """How often each kind of operation is made on each dtype, by all threads."""
    total: dict[tuple[str, str], Count] = {}
    for site in found:
        if isinstance(site, Work) and site.kind in kinds:
            key = site.kind, site.dtype
            total[key] = total.get(key, NOTHING) + counter.threads(site.where) * site.times
    return tuple((*key, total[key]) for key in sorted(total, key=lambda k: (kinds.index(k[0]), k[1])))
