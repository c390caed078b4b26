"""Loops as boxes: `for v in range(a, b, s)` is an axis over sizes and a guard.

    { a + s·x | x ≥ 0, a + s·x < b }  =  { base + s·x | 0 ≤ x < extent, guard }

Comes in: the bounds as terms, and what is known where the loop stands. Goes out: an extent over the sizes alone, the value of the loop's
name over the axis, and guards. Guards that follow from what is known are left out; that they follow is asked of the solver.
"""

from __future__ import annotations

from tinygpu.category.affine import linear
from tinygpu.category.term import (
    BOOL,
    FALSE,
    TRUE,
    App,
    Axis,
    Const,
    Term,
    Var,
    apply,
    conjunction,
    equal,
    lift,
    negation,
    variables,
    walk,
)
from tinygpu.obligations.obligation import Obligation, Point
from tinygpu.proof.kernel import Theorem, discharge
from tinygpu.record import dataclass

QUICK = 400_000  # solver steps for a question whose answer only makes a guard shorter


@dataclass(frozen=True, slots=True)
class Loop:
    """An axis, the value that the loop's name has at it, and where on the axis the loop really runs."""

    axis: Axis
    value: Term
    guards: tuple[Term, ...]


def loop(name: str, start: Term, stop: Term, step: int, point: Point, sizes: frozenset[str]) -> Loop | None:
    """A loop as a box, or None where no extent over the sizes is found."""
    x = Var(name)
    ends = _operands("min", reached(stop, start))
    lengths = [linear(end - start + (step - 1)).term() for end in ends]
    known = [(n, t) for n, t in enumerate(lengths) if variables(t) <= sizes]
    for number, length in sorted(known, key=lambda k: k[1].value if isinstance(k[1], Const) else float("inf")):
        axis = Axis(name, length if step == 1 else _quotient(length, step), "time")
        value = start if axis.extent == Const(1) else start + x * step
        others = [value < e for i, e in enumerate(ends) if i != number]
        return Loop(axis, value, shortened(others, point.inside(axis)))
    return _inside(name, start, stop, step, point, sizes)


def reached(stop: Term, start: Term) -> Term:
    """The end of a range without cases in which it is empty: `max(0, s) - 1` from 0 on is `s - 1`."""
    match stop:
        case App("sub", (App("max" | "min" as op, (a, b)), Const() as c)):
            return reached(apply(op, a - c, b - c), start)
        case App("max", (a, b)):
            rest = [t for t in (a, b) if not (not (form := linear(t - start)).parts and form.constant <= 0)]
            if len(rest) == 1:
                return reached(rest[0], start)
        case App("min", (a, b)):
            return apply("min", reached(a, start), reached(b, start))
        case App("sub", (App("sub", (a, Const() as c)), Const() as d)):
            return reached(a - (int(c.value) + int(d.value)), start)
    return stop


def _quotient(length: Term, step: int) -> Term:
    if isinstance(length, Const):
        return Const(max(0, int(length.value)) // step)
    return length // step


def _inside(name: str, start: Term, stop: Term, step: int, point: Point, sizes: frozenset[str]) -> Loop | None:
    """A loop between bounds that are chosen among several: inside a part whose length is a term over the sizes, which is proved."""
    runs = point.under(start < stop)
    if step > 1 and proved(runs, stop <= start + step):  # one turn
        return Loop(Axis(name, Const(1), "time"), start, shortened([start < stop], point))
    parts = _parts(start, stop, sizes)
    if step > 1:
        whole = [
            p for p in parts if p[0] != start and proved(runs, equal((start - p[0]) % step, lift(0)))
        ]  # it counts on from the base
        parts = [*whole, *dict.fromkeys((start, length) for _, length in parts)]
    for base, extent in parts:
        if proved(runs, conjunction(base <= start, stop <= base + extent)):
            axis = Axis(name, extent if step == 1 else _quotient(linear(extent + (step - 1)).term(), step), "time")
            value = base + Var(name) * step
            guards = [*below(start, value), *above(stop, value)] if base != start else above(stop, value)
            return Loop(axis, value, shortened(guards, point.inside(axis)))
    return None


def _parts(start: Term, stop: Term, sizes: frozenset[str]) -> list[tuple[Term, Term]]:
    """Ranges `[base, base + n)` whose ends stand in the bounds, with n over the sizes: numbers first."""
    inside = dict.fromkeys(t for t in (start, *walk(start), *walk(stop), Const(0)) if t.dtype == "index")
    found: dict[tuple[Term, Term], int] = {}
    for base in inside:
        for end in inside:
            length = linear(end - base)
            if length.parts and variables(length.term()) <= sizes:
                found[base, length.term()] = 1
            elif not length.parts and length.constant > 1:
                found[base, Const(length.constant)] = 0
    return sorted(found, key=lambda f: found[f])


def _operands(op: str, term: Term) -> tuple[Term, ...]:
    match term:
        case App(name, args, "index") if name == op:
            return tuple(o for a in args for o in _operands(op, a))
    return (term,)


def below(bound: Term, value: Term) -> list[Term]:
    """`bound ≤ value` as guards without `min`, `max` and choices in them."""
    return _compared(bound, "max", "min", lambda b: b <= value)


def above(bound: Term, value: Term) -> list[Term]:
    """`value < bound`, likewise."""
    return _compared(bound, "min", "max", lambda b: value < b)


def _compared(bound: Term, every: str, some: str, atom: object) -> list[Term]:
    assert callable(atom)
    match bound:
        case App(op, args, "index") if op == every:
            return [g for a in args for g in _compared(a, every, some, atom)]
        case App(op, args, "index") if op == some:
            out: list[Term] = [FALSE]
            for arg in args:
                out = [either(g, h) for g in out for h in _compared(arg, every, some, atom)]
            return out
        case App("select", (condition, yes, no), "index"):
            first = [either(negation(condition), g) for g in _compared(yes, every, some, atom)]
            return first + [either(condition, g) for g in _compared(no, every, some, atom)]
    return [atom(bound)]


def either(a: Term, b: Term) -> Term:
    """`a or b`, flat."""
    parts: dict[Term, None] = {}
    for term in (a, b):
        parts.update(dict.fromkeys(term.args if isinstance(term, App) and term.op == "or" else (term,)))
    parts.pop(FALSE, None)
    if TRUE in parts or any(negation(p) in parts for p in parts):
        return TRUE
    return App("or", tuple(parts), BOOL) if len(parts) > 1 else next(iter(parts), FALSE)


def shortened(guards: list[Term], point: Point) -> tuple[Term, ...]:
    """The guards without what is known at the point, and without the cases that cannot be."""
    kept: list[Term] = []
    for guard in sorted(guards, key=lambda g: isinstance(g, App) and g.op == "or"):
        here = point.under(*kept)
        cases = guard.args if isinstance(guard, App) and guard.op == "or" else (guard,)
        if len(cases) > 1:
            cases = tuple(c for c in cases if not proved(here, negation(c)))
        rest: Term = FALSE
        for case in cases:
            rest = either(rest, case)
        if rest != TRUE and not proved(here, rest):
            kept.append(rest)
    return tuple(kept)


def proved(point: Point, goal: Term) -> bool:
    """Whether the goal holds wherever the point is."""
    return goal == TRUE or isinstance(discharge(Obligation("cpu", "TG823", "", "", point.facts, goal), QUICK), Theorem)
