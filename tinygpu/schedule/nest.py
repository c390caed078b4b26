"""What a layout is made of: a nest of points, the assignments in it with what stands around them, and how these walk through memory.

    pace : access × axis → elements between neighbours        x[i*N + k] along k is 1, along i is N

Comes in: bodies of launches, the shapes of arrays in memory. Goes out: sites, paces, and bodies with other terms, or with elements elsewhere. The one
idea: all that a schedule for a CPU wants to know of a program is in the polynomials of its addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from typing import TypeAlias

from tinygpu.category.linear import Polynomial, polynomial, stride
from tinygpu.category.term import TRUE, Axis, Const, Read, Term, memoised, reads, rebuild, substitute
from tinygpu.program.arrays import address
from tinygpu.program.call import Call, Prefetch
from tinygpu.program.step import Assign, Fact, For, Ghost, If, Launch, Step, arrays_in, steps
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.record import dataclass, replace

Body: TypeAlias = tuple[Step, ...]
Shapes: TypeAlias = Mapping[str, tuple[Term, ...]]  # of the arrays in memory, by name
LONG = 64  # a loop of so many turns is short
SIDE_BY_SIDE: Polynomial = {(): 1}
BACKWARDS: Polynomial = {(): -1}


@dataclass(frozen=True, slots=True)
class Nest:
    """Points of `axes` at which every guard holds, in any order; each runs `body`. Axes run over `[0, extent)`."""

    axes: tuple[Axis, ...]
    guards: tuple[Term, ...]
    body: Body


@dataclass(frozen=True, slots=True)
class Site:
    """An assignment, the loops around it and the guards over it, outermost first."""

    step: Assign
    loops: tuple[For, ...]
    guards: tuple[Term, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """Everything that is evaluated for it, the target's own index included."""
        return (*self.guards, self.step.guard, *self.step.index, self.step.value)

    @property
    def reads(self) -> tuple[Read, ...]:
        """Every read of tensors and of cells."""
        return tuple(read for term in self.terms for read in reads(term))

    def within(self, name: str) -> bool:
        """Whether it stands in a loop over that axis."""
        return any(loop.axis.name == name for loop in self.loops)

    def looks_at(self, name: str) -> bool:
        """Whether it reads an array."""
        return any(read.tensor == name for read in self.reads)

    def touches(self, name: str) -> bool:
        """Whether it reads or writes an array."""
        return self.step.target == name or self.looks_at(name)

    def sets(self, name: str) -> bool:
        """Whether it gives a single cell a value, whatever was there."""
        step = self.step
        return step.target == name and not step.index and not step.update and step.guard == TRUE and not self.looks_at(name)


def sites(body: Body, loops: tuple[For, ...] = (), guards: tuple[Term, ...] = ()) -> Iterator[Site]:
    """Every assignment of a body, in order."""
    for step in body:
        match step:
            case Assign():
                yield Site(step, loops, guards)
            case For(_, inner):
                yield from sites(inner, (*loops, step), guards)
            case If(guard, inner):
                yield from sites(inner, loops, (*guards, guard))


def loops_of(body: Body) -> tuple[For, ...]:
    """Every loop of a body, in order."""
    return tuple(s for s in steps(body) if isinstance(s, For))


def where(guard: Term, body: Body) -> Body:
    """The body where a guard holds."""
    return (If(guard, body),) if guard != TRUE else body


def perfect(step: Step) -> tuple[tuple[Axis, ...], Step]:
    """Loops that hold nothing but each other, and the innermost one."""
    loops: list[Axis] = []
    while isinstance(step, For) and len(step.body) == 1 and isinstance(step.body[0], For):
        loops.append(step.axis)
        step = step.body[0]
    return tuple(loops), step


def names_in(launch: Launch) -> frozenset[str]:
    """The names of a launch's axes and of the arrays that it declares."""
    axes = (*launch.grid, *launch.block, *(loop.axis for loop in loops_of(launch.body)))
    return frozenset((*(axis.name for axis in axes), *(array.name for array in arrays_in(launch.body))))


def change_terms(body: Body, change: Callable[[Term], Term]) -> Body:
    """The body with `change` applied to every index, guard, value and extent of a loop; what only serves a proof is left out, but for ghost facts, and what threads say to each other."""
    return map_steps(
        body,
        lambda step: () if isinstance(step, Fact | Call) and not isinstance(step, Ghost | Prefetch) else (map_terms(step, change),),
    )


def change_reads(body: Body, change: Callable[[Read], Term]) -> Body:
    """The body with another term for each read, what stands in it changed before."""

    @memoised
    def term(t: Term) -> Term:
        t = rebuild(t, term)
        return change(t) if isinstance(t, Read) else t

    return change_terms(body, term)


def moved(body: Body, place: Callable[[str, tuple[Term, ...]], tuple[str, tuple[Term, ...]]]) -> Body:
    """The body with elements elsewhere, where it reads and where it writes them."""

    def read(element: Read) -> Read:
        name, index = place(element.tensor, element.index)
        return replace(element, tensor=name, index=index)

    def written(step: Step) -> Body:
        if isinstance(step, Assign | Ghost):
            name, index = place(step.target, step.index)
            return (replace(step, target=name, index=index),)
        return (step,)

    return map_steps(change_reads(body, read), written)


def substituted(step: Step, mapping: Mapping[str, Term]) -> Step:
    """A step, and all in it, with other terms for variables."""
    (found,) = map_steps((step,), lambda inner: (map_terms(inner, lambda term: substitute(term, mapping)),))
    return found


def regions(
    body: Body,
    guard: Term,
    apart: Callable[[Step], bool],
    region: Callable[[Body, Term, bool], Body],
    condition: Callable[[If, Term, list[Step]], Term | None],
    again: bool = False,
) -> Body:
    """A body in regions as long as they can be, each where a guard holds and, in a loop, `again`; loops and conditions around what stands
    `apart` are outside of them, but for a `condition` that becomes a part of the guard."""
    out: list[Step] = []
    alone: list[Step] = []

    def close() -> None:
        if any(isinstance(s, Assign | For | If) for s in alone):
            out.extend(region(tuple(alone), guard, again))
        alone.clear()

    for step in body:
        if not apart(step):
            alone.append(step)
            continue
        inner = condition(step, guard, alone) if isinstance(step, If) else None
        close()
        match step:
            case If(_, steps) if inner is not None:
                out += regions(steps, inner, apart, region, condition, again)
            case For(_, steps) | If(_, steps):
                out.append(replace(step, body=regions(steps, guard, apart, region, condition, again or isinstance(step, For))))
    close()
    return tuple(out)


def is_long(axis: Axis) -> bool:
    """A loop that may run long: its extent is no small number."""
    return not (isinstance(axis.extent, Const) and axis.extent.value <= LONG)


def heavy(body: Body) -> bool:
    """Whether one point runs a long loop."""
    return any(is_long(loop.axis) for loop in loops_of(body))


def pace(read: Read, name: str, shapes: Shapes) -> Polynomial | None:
    """By how many elements neighbours along an axis are apart; None where that changes.

    >>> from tinygpu.category.term import Var
    >>> x, shapes = Read("x", (Var("i"), Var("k")), "f32"), {"x": (Var("M"), Var("N"))}
    >>> pace(x, "k", shapes), pace(x, "i", shapes) == polynomial(Var("N")), pace(x, "j", shapes)
    ({(): 1}, True, {})
    """
    return stride(polynomial(address(shapes[read.tensor], read.index)), name)[0]


def memory_reads(terms: Iterable[Term], shapes: Shapes) -> tuple[Read, ...]:
    """The different reads of arrays in memory that have more than one element."""
    return tuple(dict.fromkeys(r for t in terms for r in reads(t) if r.index and r.tensor in shapes))


def contiguity(body: Body, name: str, shapes: Shapes) -> int:
    """Contiguous accesses count for an axis, strided ones against it, as often as their tensor has axes, and stores double: a row that is read again
    and again weighs little."""
    score = 0
    for site in sites(body):
        stores = [(Read(site.step.target, site.step.index, ""), 2)]
        for place, weight in (*stores, *((read, 1) for read in site.reads)):
            if place.tensor in shapes:
                step = pace(place, name, shapes)
                score += (
                    weight * len(place.index) * (0 if step == {} else 2 if step == SIDE_BY_SIDE else 1 if step == BACKWARDS else -1)
                )
    return score


def innermost(axes: tuple[Axis, ...], body: Body, shapes: Shapes) -> Axis | None:
    """The axis along which most accesses are contiguous; the last one if they tie; None for a single point."""
    return max(reversed(axes), key=lambda axis: contiguity(body, axis.name, shapes)) if axes else None


def known_turns(axes: Iterable[Axis]) -> int:
    """The product of the extents that are numbers."""
    return prod(int(a.extent.value) for a in axes if isinstance(a.extent, Const))
