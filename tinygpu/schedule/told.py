"""Loops that data begin and end: what every pass does something under, and cells of the thread tell, are the ends of the loop.

    for c < ⌈Z / 32⌉ { s += x[32·c + l] if begin <= 32·c + l and 32·c + l < end }
        ↦   for c from ⌈(max(begin, l) - l) / 32⌉ to min(⌈Z / 32⌉, ⌈(max(end, l) - l) / 32⌉) { s += x[32·c + l] }

Comes in: a loop, and what is known around it. Goes out: the same loop with other ends, where the passes that are left out do nothing. The one idea: a
condition that is linear in the axis of a loop is an end of it, if what it reads is in cells that the loop does not write.
"""

from __future__ import annotations

from collections.abc import Collection

from tinygpu.category.decide import holds
from tinygpu.category.linear import ONE, Polynomial, number, plus, polynomial, scaled, stride, times
from tinygpu.category.region import Region
from tinygpu.category.term import INDEX, App, Axis, Const, Read, Term, ceildiv, conjuncts, reads, variables
from tinygpu.program.step import Call, For, If, steps
from tinygpu.program.traverse import meets, written
from tinygpu.record import dataclass
from tinygpu.schedule.bound import assume, passing
from tinygpu.schedule.nest import Body, sites
from tinygpu.schedule.polynomial import positive, term


@dataclass(frozen=True, slots=True)
class Told:
    """What data say of a loop: it begins at the largest of `lows`, ends at the least of `highs`; `body` is what is done between."""

    lows: tuple[Term, ...]
    highs: tuple[Term, ...]
    body: Body


def told(loop: For, region: Region, cells: Collection[str], whole: Body) -> Told | None:
    """The ends that data tell of a loop in a `whole` body; None where they tell none. `cells` are the thread's, of rank 0."""
    fixed = {*cells} - written(loop.body)
    lows, highs, gone = list[Term](), list[Term](), list[Term]()
    if not any(r.tensor in fixed for site in sites(loop.body) for g in (*site.guards, site.step.guard) for r in reads(g)):
        return None
    for fact, inner in common(loop.body, passing(loop, whole)):
        form = positive(fact)
        if form is None or not reads(fact) or not {r.tensor for r in reads(fact)} <= fixed:
            continue
        exact = not variables(fact) & {a.name for a in inner}
        if (found := _end(_most(form, inner), loop.axis, region)) is not None:
            (lows if found[0] > 0 else highs).append(found[1])
            gone += [fact] * exact
    return Told(tuple(dict.fromkeys(lows)), tuple(dict.fromkeys(highs)), assume(loop.body, gone)) if lows or highs else None


def common(body: Body, nobody: Collection[str]) -> list[tuple[Term, tuple[Axis, ...]]]:
    """The conditions that all that a body does is under, each with the loops of the body that it is in. What it leaves in cells of `nobody` counts
    for nothing."""
    if any(isinstance(s, Call) or meets(s) for s in steps(body)):
        return [(part, ()) for part in conjuncts(body[0].guard)] if len(body) == 1 and isinstance(body[0], If) else []
    found = [s for s in sites(body) if s.step.target not in nobody]
    places = [
        {part: tuple(loop.axis for loop in s.loops) for g in (*s.guards, s.step.guard) for part in conjuncts(g)} for s in found
    ]
    return (
        [(part, inner) for part, inner in places[0].items() if all(place.get(part) == inner for place in places)] if places else []
    )


def _most(form: Polynomial | None, inner: tuple[Axis, ...]) -> Polynomial | None:
    """The largest value of a polynomial over some axes; None where it is not seen."""
    for axis in reversed(inner):
        if form is not None:
            pace, rest = stride(form, axis.name)
            by = 0 if pace == {} else number(pace) if pace else None
            last = polynomial(axis.extent - 1) if by and by > 0 else Polynomial()
            form = None if by is None or pace is None else plus(rest, times(pace, last))
    return form


def _end(form: Polynomial | None, axis: Axis, region: Region) -> tuple[int, Term] | None:
    """What `form > 0` says of an axis, `(1, begin)` or `(-1, end)`, where one element of data tells it: `data > m·axis + rest`."""
    pace, rest = stride(form or {}, axis.name)
    by = number(pace) if pace else None
    data = [monomial for monomial in rest if any(reads(atom) for atom in monomial)]
    if not by or len(data) != 1 or rest[data[0]] != (1 if by < 0 else -1):
        return None
    match data[0]:
        case (App("cast", (Read(_, ()),), "index") as read,):
            others = scaled({m: c for m, c in rest.items() if m != data[0]}, -1 if by < 0 else 1)
            start = term(others if by < 0 else plus(others, ONE, -1))
            if abs(by) == 1 and start == Const(0):
                return (-1, read) if by < 0 else (1, App("max", (read, Const(0)), INDEX))
            if holds(start >= 0, region) is True:
                return (-1 if by < 0 else 1), ceildiv(App("max", (read, start), INDEX) - start, abs(by))
    return None
