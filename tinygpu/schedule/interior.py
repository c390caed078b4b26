"""The part of a nest in which nothing is asked: between its borders every condition that is linear in an axis is true.

    y[i] = x[i - 1] if i >= 1 else 0   ↦   y[i] = x[i - 1] for 1 <= i < n

Comes in: a nest and the axis that runs innermost. Goes out: where its interior begins and ends, and what is done there. The one idea: a condition
inside loops is true in all of their turns where it is true in the worst of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.linear import ONE, Polynomial, number, plus, polynomial, stride
from tinygpu.category.term import BOOL, App, Axis, Const, Term, conjuncts, reads, variables, walk
from tinygpu.program.step import arrays_in
from tinygpu.record import dataclass
from tinygpu.schedule.bound import assume
from tinygpu.schedule.nest import Body, Nest, is_long, sites
from tinygpu.schedule.polynomial import limit, positive, term


@dataclass(frozen=True, slots=True)
class Interior:
    """`low <= lane < high` for all lows and highs, where every condition of `outer` holds: there `body` does what the nest does."""

    lows: tuple[Term, ...]
    highs: tuple[Term, ...]
    outer: tuple[Term, ...]
    body: Body


def interior(nest: Nest, lane: Axis) -> Interior | None:
    """The interior, if the nest has linear conditions that are no ends of long loops.

    >>> from tinygpu.category.term import Read, Var, select, text
    >>> from tinygpu.program.step import Assign
    >>> i, n = Var("i"), Var("n")
    >>> left = select(i - 1 >= 0, Read("x", (i - 1,), "f32"), Const(0.0, "f32"))
    >>> found = interior(Nest((Axis("i", n),), (), (Assign("y", (i,), left),)), Axis("i", n))
    >>> [text(t) for t in found.lows], found.highs, text(found.body[0].value)
    (['1'], (), 'x[i - 1]')
    """
    lows: dict[Term, None] = {}
    highs: dict[Term, None] = {}
    outer: dict[Term, None] = {}
    facts: dict[Term, None] = {}
    for condition, loops in conditions(nest.body):
        least = worst(condition, loops)
        begins = any(is_long(axis) and limit(positive(condition), axis.name) is not None for axis in loops[-1:])
        if least is None or begins:  # where a long loop begins or ends is no test
            continue
        if (end := limit(least, lane.name)) is not None:
            (lows if end[0] > 0 else highs)[end[1]] = None
        elif stride(least, lane.name)[0] == {}:
            outer[App("gt", (term(least), Const(0)), BOOL)] = None
        else:
            continue
        facts[condition] = None
    return Interior(tuple(lows), tuple(highs), tuple(outer), assume(nest.body, facts)) if facts else None


def conditions(body: Body) -> Iterator[tuple[Term, tuple[Axis, ...]]]:
    """The parts of every condition that reads nothing, with the loops around it; none of those that say with cells where loops begin and end."""
    cells = {s.name for s in arrays_in(body) if not s.extents}
    for site in sites(body):
        loops = tuple(loop.axis for loop in site.loops)
        whole = [*site.guards, site.step.guard]
        whole += [t.args[0] for root in site.terms for t in walk(root) if isinstance(t, App) and t.op == "select"]
        whole = [guard for guard in whole if cells.isdisjoint(r.tensor for r in reads(guard))]
        yield from ((part, loops) for guard in whole for part in conjuncts(guard) if not reads(part) and variables(part))


def worst(condition: Term, loops: tuple[Axis, ...]) -> Polynomial | None:
    """The smallest value of `p` over the loops, where `condition ⇔ p > 0`."""
    p = positive(condition)
    for axis in loops:
        if p is None or axis.name not in {v for m in p for atom in m for v in variables(atom)}:
            continue
        pace, rest = stride(p, axis.name)
        if not pace or (by := number(pace)) is None:
            return None
        p = rest if by > 0 else plus(rest, plus(polynomial(axis.extent), ONE, -1), by)
    return p
