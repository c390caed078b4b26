"""How a step walks through memory: which loop is long, and how far apart neighbours along an axis lie.

    pace : access × axis → elements between neighbours        x[i*N + k] along k is 1, along i is N

Comes in: steps and the shapes of arrays in memory. Goes out: paces, and the axis along which most of memory is contiguous.
The one idea: all that a schedule for a CPU wants to know of a program is in the polynomials of its addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from tinygpu.category.linear import Polynomial, polynomial, stride
from tinygpu.category.term import Axis, Const, Read, Term, walk
from tinygpu.program.address import address
from tinygpu.program.step import For, Step, steps
from tinygpu.schedule.lift import sites

Shapes: TypeAlias = Mapping[str, tuple[Term, ...]]  # of the arrays in memory, by name
LONG = 64  # a loop of so many turns is short
SIDE_BY_SIDE: Polynomial = {(): 1}


def is_long(axis: Axis) -> bool:
    """A loop that may run long: its extent is no small number."""
    return not (isinstance(axis.extent, Const) and axis.extent.value <= LONG)


def heavy(body: tuple[Step, ...]) -> bool:
    """Whether one point runs a long loop."""
    return any(isinstance(s, For) and is_long(s.axis) for s in steps(body))


def pace(read: Read, name: str, shapes: Shapes) -> Polynomial | None:
    """By how many elements neighbours along an axis are apart; None where that changes.

    >>> from tinygpu.category.term import Var
    >>> x, shapes = Read("x", (Var("i"), Var("k")), "f32"), {"x": (Var("M"), Var("N"))}
    >>> pace(x, "k", shapes), pace(x, "i", shapes) == polynomial(Var("N")), pace(x, "j", shapes)
    ({(): 1}, True, {})
    """
    return stride(polynomial(address(shapes[read.tensor], read.index)), name)[0]


def memory_reads(terms: Sequence[Term], shapes: Shapes) -> Iterator[Read]:
    """The reads of arrays in memory that have more than one element."""
    return (r for t in terms for r in walk(t) if isinstance(r, Read) and r.index and r.tensor in shapes)


def contiguity(body: tuple[Step, ...], name: str, shapes: Shapes) -> int:
    """Contiguous accesses count for an axis, strided ones against it, stores double."""
    score = 0
    for site in sites(body):
        places = [(Read(site.step.target, site.step.index, ""), 2)] if site.step.target in shapes else []
        places += [(r, 1) for t in site.terms for r in walk(t) if isinstance(r, Read) and r.tensor in shapes]
        for place, weight in places:
            step = pace(place, name, shapes)
            score += weight * (0 if step == {} else 2 if step == SIDE_BY_SIDE else 1 if step == {(): -1} else -1)
    return score


def innermost(axes: tuple[Axis, ...], body: tuple[Step, ...], shapes: Shapes) -> Axis | None:
    """The axis along which most accesses are contiguous; the last one if they tie; None for a single point."""
    return max(reversed(axes), key=lambda axis: contiguity(body, axis.name, shapes)) if axes else None
