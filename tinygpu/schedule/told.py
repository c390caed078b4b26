"""Loops that data begin and end: what every pass does something under, and cells of the thread tell, are the ends of the loop.

    for c < ⌈Z / 32⌉ { s += x[32·c + l] if begin <= 32·c + l and 32·c + l < end }
        ↦   for c from ⌈(max(begin, l) - l) / 32⌉ to min(⌈Z / 32⌉, ⌈(max(end, l) - l) / 32⌉) { s += x[32·c + l] }

Comes in: a loop, and what is known around it. Goes out: its ends, and what is done between; the passes that are left out do nothing. The one idea: a
condition of all that a pass does is an end of the loop where it is linear in its axis, and what it reads is in cells that the loop does not write.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce

from tinygpu.category.decide import holds
from tinygpu.category.linear import ONE, Polynomial, number, plus, scaled, stride
from tinygpu.category.region import Region
from tinygpu.category.term import INDEX, App, Axis, Const, Read, Term, ceildiv, conjuncts, reads, variables
from tinygpu.program.step import Assign, For, If
from tinygpu.program.traverse import written
from tinygpu.record import dataclass, replace
from tinygpu.schedule.bound import assume
from tinygpu.schedule.nest import Body
from tinygpu.schedule.polynomial import limit, positive, term


@dataclass(frozen=True, slots=True)
class Told:
    """What data say of a loop: it begins at the largest of `lows`, ends at the least of `highs`; `body` is what is done between."""

    lows: tuple[Term, ...]
    highs: tuple[Term, ...]
    body: Body


def told(loop: For, region: Region, cells: Collection[str]) -> Told | None:
    """The ends that data tell of a loop; None where they tell none. `cells` are the thread's, of rank 0."""
    match loop.body:
        case (If(guard) | Assign(guard=guard),) if reads(guard):
            fixed, lows, highs, gone = {*cells} - written(loop.body), list[Term](), list[Term](), list[Term]()
        case _:
            return None
    for part in conjuncts(guard):
        form, axis = positive(part), loop.axis
        end = _end(form, axis, region) if reads(part) else limit(form, axis.name)
        if end is not None and {r.tensor for r in reads(part)} <= fixed and axis.name not in variables(end[1]):
            (lows if end[0] > 0 else highs).append(end[1])
            gone.append(part)
    return Told(tuple(dict.fromkeys(lows)), tuple(dict.fromkeys(highs)), assume(loop.body, gone)) if gone else None


def ended(loop: For, region: Region, cells: Collection[str]) -> For:
    """The loop, from where data begin it to where they end it."""
    found = told(loop, region, cells)
    if found is None:
        return loop
    start = reduce(lambda a, b: App("max", (a, b)), found.lows) if found.lows else loop.start
    extent = reduce(lambda a, b: App("min", (a, b)), found.highs, loop.axis.extent)
    return replace(loop, axis=replace(loop.axis, extent=extent), body=found.body, start=start)


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
