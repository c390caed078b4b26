"""Witnesses: for an arrow given by terms, the point of its domain that a target point should come from.

Comes in: the terms of an arrow, its domain axes, a target. Goes out: a term for every axis. The one idea: a linear form
`Σ cᵢ·xᵢ` whose coefficients are the products of the smaller extents is a number in mixed radix, and its digits are the inverse.
Nothing here is trusted: a wrong witness makes a formula that does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.settle import Linear, linear, solve
from tinygpu.category.term import App, Axis, Const, Term, Var, conjuncts, substitute, variables

Equations = list[tuple[Term, Term]]


def preimage(terms: Iterable[Term], axes: tuple[Axis, ...], targets: Iterable[Term], guard: Term) -> dict[str, Term]:
    """`terms(w) = targets` solved for the axes `w`; an axis in no term is what the guard says it equals, or 0.

    >>> from tinygpu.category.term import text, lift, TRUE
    >>> g, t = Var("g"), Var("t")
    >>> w = preimage((g * 256 + t,), (Axis("g", Var("G")), Axis("t", lift(256))), (Var("i"),), TRUE)
    >>> {name: text(term) for name, term in w.items()}
    {'t': 'i % 256', 'g': 'i // 256'}
    """
    known: dict[str, Term] = {}
    equations = merged(list(zip(terms, targets, strict=True)))
    waiting = {a.name: a for a in axes}
    while equations:
        equations.sort(key=lambda e: len(variables(e[0]) & set(waiting)))
        term, target = equations.pop(0)
        found = digits(linear(substitute(term, known)), target, waiting)
        for name, value in found.items():
            known[name] = value
            del waiting[name]
    for name in list(waiting):
        known[name] = _from_guard(name, guard, known)
    return known


def merged(equations: Equations) -> Equations:
    """`E // n = q` and `E % n = r` are one equation, `E = q·n + r`."""
    for left, q in equations:
        for right, r in equations:
            match left, right:
                case App("floordiv", (e, n)), App("mod", (f, m)) if e == f and n == m:
                    rest = [x for x in equations if x[0] not in (left, right)]
                    return merged([*rest, (e, q * n + r)])
    return equations


def digits(form: Linear, target: Term, axes: dict[str, Axis]) -> dict[str, Term]:
    """The axes of a linear form as digits of `target`, smallest coefficient first."""
    places: list[tuple[Term, Axis]] = []
    rest = form
    for atom, c in form.parts:
        match atom:
            case Var(name) if name in axes:
                places.append((Const(c), axes[name]))
                rest = rest.without(atom)
            case App("mul", (Var(name), n)) | App("mul", (n, Var(name))) if name in axes and not variables(n) & set(axes):
                places.append((n * c, axes[name]))
                rest = rest.without(atom)
    value = target - rest.term() if rest.parts or rest.constant else target
    if places and all(isinstance(c, Const) and c.value < 0 for c, _ in places):
        places = [(Const(-c.value), a) for c, a in places if isinstance(c, Const)]
        value = linear(Const(0) - value).term()
    # smallest stride first; of equal strides the one with the fewest values, which may be one
    places.sort(key=lambda p: (_rank(p[0]), _rank(p[1].extent)))
    out: dict[str, Term] = {}
    for position, (stride, axis) in enumerate(places):
        digit = value // stride
        out[axis.name] = digit % _radix(stride, axis.extent, places[position + 1][0]) if position < len(places) - 1 else digit
    return out


def _radix(stride: Term, extent: Term, above: Term) -> Term:
    """How many values a digit needs: up to the next stride where that is a multiple, so that overlapping digits still reach everything."""
    match stride, extent, above:
        case Const(int(s)), Const(int(e)), Const(int(a)) if s < a and a % s == 0 and a // s <= e:
            return Const(a // s)
    return extent


def _rank(term: Term) -> tuple[bool, int]:
    return (False, int(term.value)) if isinstance(term, Const) else (True, 0)


def _from_guard(name: str, guard: Term, known: dict[str, Term]) -> Term:
    for part in conjuncts(guard):
        match part:
            case App("eq", (a, b)):
                point = solve(a, b, name)
                if point is not None:
                    return substitute(point, known)
    return Const(0)
