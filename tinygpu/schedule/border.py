"""Where a nest's own conditions all hold: the interior, which needs no test, between borders, which do.

Comes in: a `Nest` and its innermost axis. Goes out: bounds of that axis and conditions on the others, and the body without the tests.
The one idea: `q + s - 1 >= 0` for every `s < 3` is `q >= 1`, so conditions that are linear cut the innermost loop in three.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.linear import ONE, Polynomial, number, plus, polynomial, stride
from tinygpu.category.term import BOOL, App, Axis, Const, Term, conjuncts, variables, walk
from tinygpu.program.step import Step
from tinygpu.record import dataclass
from tinygpu.schedule.access import is_long
from tinygpu.schedule.lift import sites
from tinygpu.schedule.merge import Nest, assume, pure
from tinygpu.schedule.polynomial import limit, positive, term


@dataclass(frozen=True, slots=True)
class Interior:
    """`low <= lane < high` for all lows and highs, where every condition of `outer` holds: there `body` does what the nest does."""

    lows: tuple[Term, ...]
    highs: tuple[Term, ...]
    outer: tuple[Term, ...]
    body: tuple[Step, ...]


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
    for condition, loops in _conditions(nest.body):
        worst = _worst(condition, loops)
        if worst is None:
            continue
        if _ends(condition, loops):
            continue
        if (end := limit(worst, lane.name)) is not None:
            (lows if end[0] > 0 else highs)[end[1]] = None
        elif stride(worst, lane.name)[0] == {}:
            outer[App("gt", (term(worst), Const(0)), BOOL)] = None
        else:
            continue
        facts[condition] = None
    return Interior(tuple(lows), tuple(highs), tuple(outer), assume(nest.body, facts)) if facts else None


def _conditions(body: tuple[Step, ...]) -> Iterator[tuple[Term, tuple[Axis, ...]]]:
    """The parts of every condition that reads nothing, with the loops around it."""
    for site in sites(body):
        loops = tuple(loop.axis for loop in site.loops)
        whole = [*site.guards, site.step.guard]
        whole += [t.args[0] for root in site.terms for t in walk(root) if isinstance(t, App) and t.op == "select"]
        yield from ((part, loops) for guard in whole for part in conjuncts(guard) if pure(part) and variables(part))


def _ends(condition: Term, loops: tuple[Axis, ...]) -> bool:
    """Whether a condition says where a long loop begins or ends, so it is no test."""
    return any(is_long(axis) and limit(positive(condition), axis.name) is not None for axis in loops[-1:])


def _worst(condition: Term, loops: tuple[Axis, ...]) -> Polynomial | None:
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
