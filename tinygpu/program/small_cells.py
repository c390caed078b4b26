"""The arrays of a small run: what is in them, who has written it, and who meets whom there.

Comes in: accesses at points, in lists. Goes out: values, and the faults that `memory`, `global_cells`, `shared_cells` and `shadow` report, in
the same order. The one idea: a cell that nobody has written holds None, and a cell of shared memory has an address of its own in each block,
so that two lanes that meet are two lanes at one address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import nan, prod
from typing import TYPE_CHECKING

from tinygpu.category.listed import FLOATING, Listed, Number, combining, mapped, rounded
from tinygpu.category.points import Points
from tinygpu.program.fault import EACH, READ, STORE, DoubleStore, OutOfBounds, Race, ReadOutput, Uninitialised, unflat
from tinygpu.record import dataclass, field

if TYPE_CHECKING:
    from tinygpu.program.small_run import Event, Run

LANE, BLOCK, TURN = "\0lane", "\0block", "\0turn"  # columns of a run's points: lanes are numbered block by block
MOMENTS = 32  # bits of a moment in a key: the rest is the lane, counted from the front or from the back
MASK, LAST = (1 << MOMENTS) - 1, (1 << 24) - 1


@dataclass(slots=True, eq=False, repr=False)
class Shadow:
    """For each kind of access and each address, the greatest lane that has been there since the last barrier, and the least, and when."""

    scope: str
    logs: dict[str, tuple[dict[int, int], dict[int, int]]] = field(default_factory=dict)

    def touch(self, kind: str, cells: Cells, address: Listed, at: Points, seen: frozenset[str] | None, run: Run) -> None:
        """Notes an access and reports whom it meets. Turns of a nest that its index does not speak of are one (`seen`; None is all)."""
        addresses = address if isinstance(address, list) else [address] * at.size
        lanes, turns, places = at[LANE], at[TURN], run.once(at, seen)
        base = run.open()
        found = [
            (p, addresses[p], lanes[p], base + (turns[p] if isinstance(turns, list) else turns))
            for p in places
            if addresses[p] is not None
        ]
        for other, log in self.logs.items():
            if other != kind and log[0] and (kind != READ or other != READ):
                self._report(other, kind, log, found, cells, at, run)
        rising, falling = log = self.logs.setdefault(kind, ({}, {}))
        up, down = rising.get, falling.get
        for _, where, lane, moment in found:
            key = lane << MOMENTS | moment
            if key > up(where, -1):
                rising[where] = key
            key = (LAST - lane) << MOMENTS | moment
            if key > down(where, -1):
                falling[where] = key
        if kind == STORE and self.scope == "block":  # two stores in one launch are seen by the array itself
            self._report(kind, kind, log, found, cells, at, run)

    def _report(
        self,
        other: str,
        kind: str,
        log: tuple[dict[int, int], dict[int, int]],
        found: list[tuple[int, int, int, int]],
        cells: Cells,
        at: Points,
        run: Run,
    ) -> None:
        """The first few points that meet an earlier access by another lane; of two in one access, the later one."""
        count = 0
        for place, address, lane, moment in found:
            key = log[0].get(address)
            if key is None:
                continue
            there = key >> MOMENTS
            if there == lane:
                key = log[1][address]
                there = LAST - (key >> MOMENTS)
            then = key & MASK
            if there == lane or (other == kind and not (then < moment or (then == moment and there < lane))):
                continue
            what = "-".join(READ if k == READ else "write" for k in (other, kind))
            atomic = (other not in (READ, STORE), kind not in (READ, STORE))
            first, index = run.who(then, there), cells.index(address)
            run.report(Race(run.at(at, place), cells.name, index, first, what, self.scope, atomic))
            count += 1
            if count == EACH:
                return

    def forget(self, blocks: set[int], each: int, all: bool) -> None:
        """These blocks have passed a barrier; perhaps it is all of them."""
        if all:
            self.logs.clear()
        for log in self.logs.values():
            for side in log:
                for address in [a for a in side if a // each in blocks]:
                    del side[address]


@dataclass(slots=True, eq=False, repr=False)
class Cells:
    """An array: `space` is `input`, `output`, `workspace`, `shared` or `local`. `each`: elements of one thread's, block's or all threads' piece.

    `ready` are the addresses that earlier launches wrote, `stored` who stored an element in this one.
    """

    name: str
    dtype: str
    space: str
    extents: tuple[int, ...]
    values: list[Number | None]
    shadow: Shadow | None = None
    ready: frozenset[int] = frozenset()
    stored: dict[int, tuple[Event, Points, int]] = field(default_factory=dict)

    @property
    def each(self) -> int:
        """Elements of one piece."""
        return prod(self.extents)

    def begin(self, kinds: frozenset[str]) -> None:
        """A launch begins that does this with the array in global memory."""
        self.shadow = Shadow("launch") if len(kinds) > 1 else None
        self.ready = frozenset(a for a, v in enumerate(self.values) if v is not None) if self.space == "output" else frozenset()
        self.stored = {}

    def index(self, address: int) -> tuple[int, ...]:
        """The index of an address."""
        return unflat(address, self.extents)

    def read(self, index: list[Listed], at: Points, seen: frozenset[str], run: Run, ghost: bool = False) -> Listed:
        """The elements; a ghost may look at anything shared, or at an output, and nobody sees it."""
        flat, inside = self._inside(index, at, run)
        if not self.values:
            return self.unwritten
        where = self._where(flat, at)
        found = mapped(self.values.__getitem__, where)
        missing = None in found if isinstance(found, list) else found is None
        looks = ghost and self.space in ("shared", "output", "workspace")
        if (missing or self.space == "output") and not looks:
            self._unready(where, index, inside, at, run)
        if missing:
            found = mapped(lambda v: self.unwritten if v is None else v, found)
        if self.shadow is not None and not looks:
            self.shadow.touch(READ, self, _kept(where, inside, at), at, seen, run)
        return found

    def store(self, index: list[Listed], value: Listed, at: Points, run: Run) -> None:
        """Writes in the order of the points; a second store of an element of global memory in one launch is a fault."""
        flat, inside = self._inside(index, at, run)
        if not self.values:
            return
        where = self._where(flat, at)
        if self.shadow is not None:
            self.shadow.touch(STORE, self, _kept(where, inside, at), at, None, run)
        pairs = list(_pairs(where, value, inside, at))
        if self.space in ("output", "workspace"):
            self._mark(pairs, at, run)
        for _, address, given in pairs:
            self.values[address] = given

    def update(self, monoid: str, index: list[Listed], value: Listed, at: Points, run: Run) -> None:
        """Atomic: points that meet are combined."""
        flat, inside = self._inside(index, at, run)
        if not self.values:
            return
        where = self._where(flat, at)
        found = mapped(self.values.__getitem__, where)
        if None in found if isinstance(found, list) else found is None:
            self._unwritten(where, index, inside, at, run)
        if self.shadow is not None:
            self.shadow.touch(monoid, self, _kept(where, inside, at), at, None, run)
        combine = combining(monoid, self.dtype)
        for _, address, given in _pairs(where, value, inside, at):
            old = self.values[address]
            if old is not None:
                self.values[address] = rounded(combine(old, given), self.dtype)

    @property
    def unwritten(self) -> Number:
        """What is read where nobody has written."""
        return nan if self.dtype in FLOATING and self.space in ("output", "workspace") else rounded(0, self.dtype)

    def _inside(self, index: list[Listed], at: Points, run: Run) -> tuple[Listed, list[int] | None]:
        """Bounds, axis by axis: the row-major address with 0 for what is outside, and the points that are inside (None is all)."""
        address: Listed = 0
        bad: set[int] = set()
        for axis, (value, extent) in enumerate(zip(index, self.extents, strict=True)):
            many = isinstance(value, list)
            if (not many and not 0 <= value < extent) or (many and value and (min(value) < 0 or max(value) >= extent)):
                out = [p for p, v in enumerate(value) if not 0 <= v < extent] if many else list(range(at.size))
                for p in out[:EACH]:
                    full = tuple(i[p] if isinstance(i, list) else i for i in index)
                    run.report(OutOfBounds(run.at(at, p), self.name, full, axis, extent))
                bad.update(out)
                value = [v if 0 <= v < extent else 0 for v in value] if many else 0
            address = value if address == 0 else mapped(lambda a, v, n=extent: a * n + v, address, value)
        return address, None if not bad else [p for p in range(at.size) if p not in bad]

    def _where(self, flat: Listed, at: Points) -> Listed:
        """The address among the cells of all lanes or blocks."""
        if self.space == "local":
            each = self.each
            return [lane * each + flat for lane in at[LANE]] if not isinstance(flat, list) else [
                lane * each + f for lane, f in zip(at[LANE], flat, strict=True)
            ]  # fmt: skip
        block = at[BLOCK] if self.space == "shared" else 0
        return flat if block == 0 else mapped(lambda f, b, n=self.each: b * n + f, flat, block)

    def _unready(self, where: Listed, index: list[Listed], inside: list[int] | None, at: Points, run: Run) -> None:
        """A thread may read back what it has left in a workspace itself; an output it may not."""
        if self.space != "output":
            self._unwritten(where, index, inside, at, run)
            return
        for p in _first(inside, at, lambda p: (where[p] if isinstance(where, list) else where) not in self.ready):
            run.report(ReadOutput(run.at(at, p), self.name, tuple(i[p] if isinstance(i, list) else i for i in index)))

    def _unwritten(self, where: Listed, index: list[Listed], inside: list[int] | None, at: Points, run: Run) -> None:
        owner = {"local": "thread", "shared": "block"}.get(self.space, "launch")
        for p in _first(inside, at, lambda p: self.values[where[p] if isinstance(where, list) else where] is None):
            full = tuple(i[p] if isinstance(i, list) else i for i in index)
            run.report(Uninitialised(run.at(at, p), self.name, full, owner))

    def _mark(self, pairs: list[tuple[int, int, Number]], at: Points, run: Run) -> None:
        """Notes who stores; of several stores in one step the first has done it, and the last is remembered."""
        for p, address in [(p, a) for p, a, _ in pairs if a in self.stored][:EACH]:
            event, then, place = self.stored[address]
            run.report(DoubleStore(run.at(at, p), self.name, self.index(address), event.at(then, place)))
        first: dict[int, int] = {}
        for p, address in [(p, a) for p, a, _ in pairs if first.setdefault(a, p) != p][:EACH]:
            run.report(DoubleStore(run.at(at, p), self.name, self.index(address), run.at(at, first[address])))
        self.stored.update((a, (run.now, at, p)) for p, a, _ in pairs)


def _first(inside: list[int] | None, at: Points, bad: Callable[[int], bool]) -> list[int]:
    """The first few points where something is wrong."""
    out = []
    for p in range(at.size) if inside is None else inside:
        if bad(p):
            out.append(p)
            if len(out) == EACH:
                break
    return out


def _kept(where: Listed, inside: list[int] | None, at: Points) -> Listed:
    """Addresses, None for the points that are outside."""
    if inside is None:
        return where
    good = set(inside)
    return [(where[p] if isinstance(where, list) else where) if p in good else None for p in range(at.size)]


def _pairs(where: Listed, value: Listed, inside: list[int] | None, at: Points) -> Iterator[tuple[int, int, Number]]:
    """Point, address and value of each store."""
    places: Iterable[int] = range(at.size) if inside is None else inside
    for p in places:
        yield p, where[p] if isinstance(where, list) else where, value[p] if isinstance(value, list) else value
