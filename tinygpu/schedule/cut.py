"""A block's steps cut into regions: what each thread may do alone, between barriers and inside loops that all go through together.

Comes in: the body of a launch without shuffles. Goes out: regions, with the loops and conditions around them, and the cells that outlive one.
The one idea: a loop is taken out of the threads at a barrier, and also where neighbouring threads are closer in memory than
neighbouring passes; then the threads are the inner loop, and that is the one the compiler makes vectors of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tinygpu.category.linear import polynomial, stride
from tinygpu.category.names import claimed
from tinygpu.category.term import BOOL, TRUE, Axis, Read, Term, conjunction, variables, walk
from tinygpu.program.address import address
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, Ghost, If, Step, Sync, arrays_in, steps
from tinygpu.record import dataclass
from tinygpu.schedule.lift import sites, tensor_reads

FAR = 1 << 20  # the distance of neighbours that are a size apart


@dataclass(frozen=True, slots=True)
class Region:
    """Steps that each thread runs alone, if the guard holds for it."""

    body: tuple[Step, ...]
    guard: Term


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop that all threads go through together."""

    axis: Axis
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What all threads of the block do, or none."""

    guard: Term
    parts: tuple[Part, ...]


Part: TypeAlias = Region | Repeat | Choice


class Cutter:
    """Cuts a body. `shapes` are the extents of every array in memory, `own` the names of what differs from thread to thread; masks are
    the locals made on the way."""

    def __init__(
        self, block: tuple[Axis, ...], body: tuple[Step, ...], shapes: Mapping[str, tuple[Term, ...]], taken: frozenset[str]
    ) -> None:
        self.fastest = block[-1].name if block else ""
        self.shapes = shapes
        self.own = {a.name for a in block} | {s.name for s in arrays_in(body, "thread")}
        self.taken = set(taken)
        self.masks: list[Array] = []

    def parts(self, body: tuple[Step, ...], guard: Term = TRUE) -> tuple[Part, ...]:
        """Regions as long as they can be, with loops and conditions around barriers outside of them."""
        out: list[Part] = []
        alone: list[Step] = []

        def close() -> None:
            if any(isinstance(s, Assign | For | If) for s in alone):
                out.append(Region(tuple(alone), guard))
            alone.clear()

        for step in body:
            if isinstance(step, Ghost) or (isinstance(step, Array) and step.owner == "block"):
                continue
            if not any(isinstance(s, Sync) or self._together(s) for s in steps((step,))):
                alone.append(step)
                continue
            if isinstance(step, If) and self._differs(step.guard):
                mask = self._mask(step.guard, guard, alone)
                close()
                out += self.parts(step.body, mask)
                continue
            close()
            match step:
                case For(axis, inner):
                    out.append(Repeat(axis, self.parts(inner, guard)))
                case If(condition, inner):
                    out.append(Choice(condition, self.parts(inner, guard)))
        close()
        return tuple(out)

    def _differs(self, guard: Term) -> bool:
        return bool(variables(guard) & self.own) or any(isinstance(t, Read) and t.tensor in self.own for t in walk(guard))

    def _together(self, step: Step) -> bool:
        """Whether a loop is better around the threads: most accesses step further from pass to pass than from thread to thread."""
        if not isinstance(step, For) or not self.fastest or variables(step.axis.extent) & self.own:
            return False
        score = 0
        for site in sites(step.body):
            accesses = [(site.step.target, site.step.index), *((r.tensor, r.index) for r in tensor_reads(site))]
            for place in (polynomial(address(self.shapes[name], index)) for name, index in accesses if name in self.shapes):
                near, far = (_distance(stride(place, name)[0]) for name in (self.fastest, step.axis.name))
                score += (near < far) - (near > far)
        return score > 0

    def _mask(self, condition: Term, guard: Term, alone: list[Step]) -> Term:
        """The guard of the regions inside: the condition itself, or what it was at the start, where it reads cells that may change."""
        if not any(isinstance(t, Read) for t in walk(condition)):
            return conjunction(guard, condition)
        name = claimed(f"mask_{len(self.masks)}", self.taken)
        self.own.add(name)
        self.masks.append(Array(name, BOOL, (), LOCAL))
        alone += [self.masks[-1], Assign(name, (), condition)]
        return conjunction(guard, Read(name, (), BOOL))


def _distance(pace: Mapping[tuple[Term, ...], int] | None) -> int:
    """How far apart neighbours are, at least about; far where nobody knows."""
    return FAR if pace is None else sum(abs(c) * (FAR if monomial else 1) for monomial, c in pace.items())


def regions(parts: tuple[Part, ...], repeated: bool = False) -> Iterator[tuple[Region, bool]]:
    """Every region, in order, and whether it stands in a loop."""
    for part in parts:
        match part:
            case Region():
                yield part, repeated
            case Repeat(_, inner):
                yield from regions(inner, True)
            case Choice(_, inner):
                yield from regions(inner, repeated)


def kept(parts: tuple[Part, ...], names: frozenset[str]) -> frozenset[str]:
    """The locals that outlive a region: used in more than one, or carried from one pass of a loop to the next."""
    uses: dict[str, list[tuple[Region, bool]]] = {name: [] for name in names}
    for region, repeated in regions(parts):
        used = {t.tensor for t in walk(region.guard) if isinstance(t, Read)}
        for site in sites(region.body):
            used |= {site.step.target} | {read.tensor for read in tensor_reads(site)}
        for name in used & names:
            uses[name].append((region, repeated))
    out = set()
    for name, places in uses.items():
        declared = [name in {s.name for s in arrays_in(region.body, "thread")} for region, _ in places]
        if len(places) > 1 or any(repeated and not here for (_, repeated), here in zip(places, declared, strict=True)):
            out.add(name)
    return frozenset(out)
