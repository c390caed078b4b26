"""What intervals decide about index terms, without a solver.

Comes in: index terms over axes with known extents. Goes out: comparisons decided true or false, and terms with their decided
conditions gone. The one idea: `a < b` is the sign of the smallest value of `b − a − 1`, and a linear form takes its smallest
value at a corner of the box.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FALSE,
    INDEX,
    TRUE,
    App,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    lift,
    negation,
    rebuild,
    variables,
)

Extents = Mapping[str, Term]


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + Σ coefficient · atom`, an atom being whatever is not linear."""

    parts: tuple[tuple[Term, int], ...]
    constant: int = 0

    def plus(self, other: Linear, scale: int = 1) -> Linear:
        """`self + scale · other`."""
        total = dict(self.parts)
        for atom, c in other.parts:
            total[atom] = total.get(atom, 0) + scale * c
        return Linear(tuple((a, c) for a, c in total.items() if c), self.constant + scale * other.constant)

    def scaled(self, k: int) -> Linear:
        return Linear((), 0).plus(self, k)

    def coefficient(self, atom: Term) -> int:
        return dict(self.parts).get(atom, 0)

    def without(self, *atoms: Term) -> Linear:
        return Linear(tuple((a, c) for a, c in self.parts if a not in atoms), self.constant)

    def term(self) -> Term:
        """Back to a term, positive parts first."""
        out: Term | None = None
        for atom, c in sorted(self.parts, key=lambda p: p[1] < 0):
            piece = atom * abs(c)
            if out is None:
                out = piece if c > 0 else Const(0) - piece
            else:
                out = out + piece if c > 0 else out - piece
        if out is None:
            return Const(self.constant)
        return out + self.constant if self.constant >= 0 else out - (-self.constant)


def linear(term: Term) -> Linear:
    """The linear form of an index term; what is not linear is an atom.

    >>> i, g = Var("i"), Var("g")
    >>> linear((g * 8 + i) * 4 - i)
    Linear(parts=((Var(name='g', dtype='index'), 32), (Var(name='i', dtype='index'), 3)), constant=0)
    """
    match term:
        case Const(int(value)):
            return Linear((), value)
        case App("add", (a, b)):
            return linear(a).plus(linear(b))
        case App("sub", (a, b)):
            return linear(a).plus(linear(b), -1)
        case App("mul", (a, b)):
            x, y = linear(a), linear(b)
            if not x.parts:
                return y.scaled(x.constant)
            if not y.parts:
                return x.scaled(y.constant)
    return Linear(((term, 1),))


def smallest(form: Linear, extents: Extents) -> int | None:
    """The smallest value of a linear form over the box `0 ≤ x < extents[x]`, if that is a number; sizes are at least 0.

    >>> smallest(linear(Var("n") - Var("i") - 1), {"i": Var("n")})
    0
    """
    for _ in range(len(form.parts) + 1):
        negative = next(((a, c) for a, c in form.parts if c < 0), None)
        if negative is None:
            return form.constant if all(_natural(atom) for atom, _ in form.parts) else None
        bound = _largest(negative[0], extents)
        if bound is None:
            return None
        form = form.without(negative[0]).plus(linear(bound), negative[1])
    return None


def _largest(atom: Term, extents: Extents) -> Term | None:
    match atom:
        case Var(name) if name in extents:
            return extents[name] - 1
        case App("mod", (_, n)):
            return n - 1
    return None


def _natural(atom: Term) -> bool:
    """Axes, sizes and their Euclidean quotients and remainders are not negative; anything else might be."""
    match atom:
        case Var():
            return True
        case App("mod", _):
            return True
        case App("mul" | "ceildiv" | "floordiv" | "add" | "min" | "max", args):
            return all(_natural(a) or (isinstance(a, Const) and a.value >= 0) for a in args)
    return False


def decide(condition: Term, extents: Extents) -> bool | None:
    """Whether a comparison of index terms holds everywhere on a box (True), nowhere (False), or neither is seen (None).

    >>> i = Var("i")
    >>> decide(i < 4, {"i": Const(4)}), decide(i < 0, {}), decide(App("eq", (i + 1, i), BOOL), {}), decide(i < 3, {"i": Const(4)})
    (True, False, False, None)
    """
    match condition:
        case Const(bool(value)):
            return value
        case App(op, (a, b)) if op in COMPARISONS and a.dtype == INDEX == b.dtype:
            difference = linear(b).plus(linear(a), -1)
            low, high = smallest(difference, extents), smallest(difference.scaled(-1), extents)
            return _sign(op, low, None if high is None else -high)
    return None


def _sign(op: str, low: int | None, high: int | None) -> bool | None:
    """What `low ≤ b − a ≤ high` says of `a op b`."""
    above = low is not None and low > 0
    below = high is not None and high < 0
    least = low is not None and low >= 0
    most = high is not None and high <= 0
    yes = {"lt": above, "le": least, "gt": below, "ge": most, "eq": least and most, "ne": above or below}
    no = {"lt": most, "le": below, "gt": least, "ge": above, "eq": above or below, "ne": least and most}
    return True if yes[op] else False if no[op] else None


def settle(term: Term, extents: Extents, given: frozenset[Term] = frozenset()) -> Term:
    """The term with every condition that the box or the given facts decide replaced by its value.

    >>> from tinygpu.category.term import select, Read, text
    >>> i = Var("i")
    >>> text(settle(select(i < 8, Read("x", (i,), "f32"), Const(0.0, "f32")), {"i": Const(8)}))
    'x[i]'
    """
    if term in given:
        return TRUE
    if term.dtype == BOOL and negation(term) in given:
        return FALSE
    match term:
        case App(op, (_, _)) if op in COMPARISONS:
            verdict = decide(term, extents)
            if verdict is not None:
                return Const(verdict, BOOL)
        case App("select", (condition, then, otherwise), _):
            c = settle(condition, extents, given)
            if isinstance(c, Const):
                return settle(then if c.value else otherwise, extents, given)
        case Fold(monoid, axes, guard, body, dtype, span):
            inner = {**extents, **{a.name: a.extent for a in axes}}
            names = {a.name for a in axes}
            outer = frozenset(g for g in given if not names & variables(g))
            guard = settle(guard, inner, outer)
            return Fold(monoid, axes, guard, settle(body, inner, outer | frozenset(conjuncts(guard))), dtype, span)
    return rebuild(term, lambda t: settle(t, extents, given))


def solve(left: Term, right: Term, name: str) -> Term | None:
    """The term `s` with `left = right ⇔ name = s`, when `name` stands once and its coefficient divides the rest.

    >>> from tinygpu.category.term import text
    >>> text(solve(Var("p") + Var("r") - 1, Var("q"), "r"))
    'q - p + 1'
    >>> text(solve(Var("c") * 2, Var("k") * 4 + 6, "c")), solve(Var("c") * 2, Var("k"), "c")
    ('k*2 + 3', None)
    """
    difference = linear(left).plus(linear(right), -1)
    c = difference.coefficient(Var(name))
    rest = difference.without(Var(name))
    if not c or any(name in variables(atom) for atom, _ in rest.parts) or any(k % c for _, k in rest.parts) or rest.constant % c:
        return None
    return Linear(tuple((atom, -k // c) for atom, k in rest.parts), -rest.constant // c).term()


def within(term: Term, extent: Term) -> Term:
    """The guard `0 ≤ term < extent`."""
    return conjunction(App("le", (lift(0), term), BOOL), App("lt", (term, extent), BOOL))
