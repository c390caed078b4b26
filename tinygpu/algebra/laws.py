"""The laws by which one value is another, over the reals: the only place where an `Equal` is made.

    Σₖ (a + b) = Σₖ a + Σₖ b          Σₖ c·b = c·Σₖ b          (Σₖ a)·(Σₗ b) = Σₖ Σₗ a·b = Σₖₗ a·b          Σ_{k < n} b = n·b
    Σ_{k | g} b = Σₖ [g]·b            Σ_{k < 2} b(k) = b(0) + b(1)                    max_k (c + b) = c + max_k b, over something
    a = b where a·d = b·d and d ≠ 0

Comes in: values, and equations between their parts. Goes out: equations, each an instance of one law, or made of others. The one idea: the right side is made here from
the left one, and whoever looks for a proof only chooses: the law, the place, and what bound variables are called. What a law needs beside is a `Side`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

from tinygpu.algebra.polynomial import (
    ONE,
    RAISED,
    REAL,
    ZERO,
    Met,
    Monomial,
    Polynomial,
    Unfollowed,
    atom,
    inverse,
    plus,
    product,
    ring,
    term_of,
    times,
    truth,
    written,
)
from tinygpu.category.linear import polynomial as index_polynomial
from tinygpu.category.linear import term_of as index_of
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    FLOATS,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    rebuild,
    select,
    substitute,
    text,
    variables,
)
from tinygpu.category.text import claimed
from tinygpu.record import InitVar, dataclass

OPENED = ("add", "sub", "mul", "div", "neg", "select")  # what arithmetic sees through
_KEY = object()


@dataclass(frozen=True, slots=True)
class Side:
    """What a law needs, at every point of the axes where the guard holds: a value that is not 0 (`unequal`), or that a box is not empty (`something`)."""

    kind: str
    term: Term
    axes: tuple[Axis, ...] = ()
    guard: Term = TRUE


@dataclass(frozen=True, slots=True)
class Equal:
    """`left = right` for all inputs, where the sides hold. `laws` says how many instances of which it took."""

    left: Term
    right: Term
    sides: frozenset[Side]
    laws: tuple[tuple[str, int], ...]
    key: InitVar[object] = None

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("an Equal is made by tinygpu.algebra.laws alone")


def _made(left: Term, right: Term, law: str, *parts: Equal, met: Met | None = None, sides: Sequence[Side] = ()) -> Equal:
    """An equation by a law, from others."""
    used = Counter({law: 1}) if law else Counter[str]()
    for part in parts:
        used.update(dict(part.laws))
    needed = frozenset(sides).union(*(p.sides for p in parts), (Side("unequal", t) for t in met or ()))
    return Equal(left, right, needed, tuple(sorted(used.items())), _KEY)


# ── equality ───────────────────────────────────────────────────────────────────────────────────────────────────────


def same(term: Term) -> Equal:
    """`a = a`."""
    return _made(term, term, "")


def then(first: Equal, second: Equal) -> Equal:
    """`a = b` and `b = c` give `a = c`. Raises ValueError where they do not meet."""
    if first.right != second.left:
        raise ValueError(f"{text(first.right)} is not {text(second.left)}")
    return first if second.left == second.right and not second.sides else _made(first.left, second.right, "", first, second)


def meet(left: Equal, right: Equal, nought: Equal | None = None) -> Equal:
    """`a = c` and `b = c` give `a = b`; so do `a = c`, `b = d` and `c − d = 0`. Raises ValueError where they do not meet."""
    if nought is None and left.right != right.right:
        raise ValueError("two other forms")
    if nought is not None and (nought.left, nought.right) != (App("sub", (left.right, right.right), REAL), term_of(ZERO)):
        raise ValueError("another difference")
    return _made(left.left, right.left, "", left, right, *((nought,) if nought else ()))


def inside(term: Term, change: Callable[[Term], Equal], below: Callable[[Term], Equal] | None = None) -> Equal:
    """Equals for the atoms of a value: what arithmetic does not see through; and for what is divided by, as a whole."""
    parts: list[Equal] = []

    def exchanged(t: Term, opened: bool = True) -> Term:
        match t:
            case App("div", (a, b)) if opened:
                return App("div", (exchanged(a), exchanged(b, False)), t.dtype)
            case App(op, args) if op in OPENED and opened:
                return App(op, tuple(map(exchanged, args)), t.dtype)
        if t.dtype in (BOOL, INDEX) or isinstance(t, Const):
            return t
        found = change(t) if opened or below is None else below(t)
        if found.left != t:
            raise ValueError(f"{text(found.left)} is not {text(t)}")
        parts.append(found)
        return found.right

    return _made(term, exchanged(term), "", *parts)


def applied(term: App, args: Sequence[Equal]) -> Equal:
    """`f(a) = f(b)` where `a = b`."""
    if tuple(a.left for a in args) != term.args:
        raise ValueError("other arguments")
    return _made(term, App(term.op, tuple(a.right for a in args), term.dtype), "", *args)


def under(fold: Fold, body: Equal) -> Equal:
    """A fold of what is equal at each of its points; what that needs is needed at each of them."""
    if body.left != fold.body:
        raise ValueError("another body")
    sides = [_scoped(side, fold.axes, fold.guard) for side in body.sides]
    bare = Equal(body.left, body.right, frozenset(), body.laws, _KEY)
    return _made(fold, _with(fold, fold.guard, body.right), "", bare, sides=sides)


def _scoped(side: Side, axes: tuple[Axis, ...], guard: Term) -> Side:
    """What is needed at each point of a box; of one that does not speak of it, nothing more is said."""
    free = {*variables(side.term), *variables(side.guard), *(n for a in side.axes for n in variables(a.extent))} - {
        a.name for a in side.axes
    }
    if free.isdisjoint(a.name for a in axes):
        return side
    side = apart(side, {*free, *variables(guard), *(a.name for a in axes), *(n for a in axes for n in variables(a.extent))})
    return Side(side.kind, side.term, (*axes, *side.axes), conjunction(guard, side.guard))


def apart(side: Side, taken: set[str]) -> Side:
    """The same, its indices named otherwise than what is taken."""
    to: dict[str, Term] = {}
    axes: list[Axis] = []
    for axis in side.axes:
        extent = substitute(axis.extent, to)
        name = claimed(axis.name, taken)
        to[axis.name] = Var(name)
        axes.append(Axis(name, extent))
    return Side(side.kind, substitute(side.term, to), tuple(axes), substitute(side.guard, to))


def _with(fold: Fold, guard: Term, body: Term) -> Fold:
    return Fold(fold.monoid, fold.axes, guard, body, REAL if fold.dtype in FLOATS else fold.dtype)


# ── arithmetic ─────────────────────────────────────────────────────────────────────────────────────────────────────


def arithmetic(term: Term) -> Equal:
    """A value is its polynomial."""
    met: Met = set()
    return _made(term, term_of(ring(term, met)), "arithmetic", met=met)


def linear(term: Term, parts: Mapping[Monomial, Equal]) -> Equal:
    """A sum of monomials with equals for some of these."""
    met: Met = set()
    out: Polynomial = ZERO
    used: list[Equal] = []
    for monomial, c in ring(term, met).items():
        part = parts.get(monomial)
        if part is None:
            out = plus(out, {monomial: c})
            continue
        if part.left != written(monomial):
            raise ValueError("another monomial")
        used.append(part)
        out = plus(out, ring(part.right, met), c)
    return _made(term, term_of(out), "linear", *used, met=met)


def cleared(term: Term, by: Term, power: int, nought: Equal) -> Equal:
    """`a = 0` where `a · dⁿ = 0` and d is not 0."""
    met: Met = {by}
    whole = times(ring(term, met), atom(by, power), met)
    if nought.left != term_of(whole) or nought.right != term_of(ZERO):
        raise ValueError("not known to be 0")
    return _made(term, nought.right, "cleared", nought, met=met)


# ── folds ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_sum(term: Term) -> bool:
    """Whether an atom is a sum over all of a box."""
    return isinstance(term, Fold) and str(term.monoid) == "sum" and term.guard == TRUE


def split(fold: Fold) -> Equal:
    """`Σ_{k | g} (c·a + b) = c·Σₖ [g]·a + Σₖ [g]·b`."""
    if str(fold.monoid) != "sum":
        raise ValueError("no sum")
    met: Met = set()
    body = times(truth(fold.guard, met), ring(fold.body, met), met)
    out: Polynomial = ZERO
    for monomial, c in body.items():
        out = plus(out, atom(Fold("sum", fold.axes, TRUE, written(monomial), REAL)), c)
    sides = [_scoped(Side("unequal", t), fold.axes, fold.guard) for t in met]
    return _made(fold, term_of(out), "split", sides=sides)


def hoisted(term: Term) -> Equal:
    """`Σₖ c·b = c·Σₖ b`: a product whose sums have only what speaks of their indices."""
    met: Met = set()
    out = ONE
    ((monomial, c),) = ring(term, met).items()
    for factor, power in monomial:
        one = atom(factor)
        if isinstance(factor, Fold) and is_sum(factor):
            names = {a.name for a in factor.axes}
            ((body, d),) = ring(factor.body, met).items()
            front = tuple((t, p) for t, p in body if names.isdisjoint(variables(t)))
            rest = tuple(f for f in body if f not in front)
            one = {product((*front, (Fold("sum", factor.axes, TRUE, written(rest), REAL), 1)), met): d}
        for _ in range(abs(power)):
            out = times(out, one if power > 0 else inverse(one), met)
    return _made(term, term_of({m: c * d for m, d in out.items()}), "hoisted", met=met)


def logarithm(term: App) -> Equal:
    """`log(a·b) = log a + log b` and `log(exp a) = a`, of what is above 0."""
    met: Met = set()
    ((monomial, c),) = ring(term.args[0], met).items()
    out: Polynomial = ZERO if c == 1 else atom(App("log", (term_of({(): c}),), REAL))
    sides = [Side("above", term_of({(): c}))] if c != 1 else []
    for factor, power in monomial:
        if isinstance(factor, App) and factor.op == "exp":
            out = plus(out, ring(factor.args[0], met), power)
            continue
        out = plus(out, atom(App("log", (factor,), REAL)), power)
        sides.append(Side("above", factor))
    return _made(term, term_of(out), "logarithm", met=met, sides=sides)


def exponential(term: App) -> Equal:
    """`exp(log a + b) = a · exp b`, of what is above 0."""
    met: Met = set()
    out: Polynomial = ONE
    rest, sides = dict[Monomial, Fraction](), list[Side]()
    for monomial, c in ring(term.args[0], met).items():
        match monomial:
            case ((App("log", (a,)), 1),) if c.denominator == 1 and abs(c) <= RAISED:
                one = ring(a, met)
                for _ in range(abs(int(c))):
                    out = times(out, one if c > 0 else inverse(one), met)
                sides.append(Side("above", a))
            case _:
                rest[monomial] = c
    whole = times(out, ring(App("exp", (term_of(rest),), REAL), met), met)
    return _made(term, term_of(whole), "exponential", met=met, sides=sides)


def cut(fold: Fold, at: int, parts: int) -> Equal:
    """`Σ_{k < 2·n} b(k) = Σ_{k < n} b(k) + Σ_{k < n} b(k + n)`."""
    axis, out = fold.axes[at], list[Term]()
    extent = index_polynomial(axis.extent)
    if str(fold.monoid) != "sum" or parts < 2 or any(c % parts for c in extent.values()):
        raise ValueError("no parts of one length")
    length = index_of({m: c // parts for m, c in extent.items()})
    axes = (*fold.axes[:at], Axis(axis.name, length), *fold.axes[at + 1 :])
    for part in range(parts):
        to: dict[str, Term] = {axis.name: Var(axis.name) + length * part}
        guard, body = (simplify(substitute(t, to)) for t in (fold.guard, fold.body))
        out.append(Fold("sum", axes, guard, body, REAL))
    return _made(fold, reduce(lambda a, b: App("add", (a, b), REAL), out), "cut")


def joined(term: Term) -> Equal:
    """A product with sums in it, or the sum of such a product, as one sum: `Σₖ a·(Σₗ b) = Σₖₗ a·b`; `Σ_{k < n} b = n·b` where b does not speak of k."""
    taken = set(variables(term))
    if isinstance(term, Fold) and is_sum(term):
        taken |= {a.name for a in term.axes}
        every, factors, c = _flat(term.axes, term.body, taken)
    else:
        every, factors, c = _flat((), term, taken)
    axes = every
    counts: list[Term] = []
    while True:
        known = {n for t, _ in factors for n in variables(t)} | {n for a in axes for n in variables(a.extent)}
        idle = next((a for a in axes if a.name not in known), None)
        if idle is None:
            break
        axes = tuple(a for a in axes if a is not idle)
        counts.append(App("cast", (idle.extent,), REAL))
    met: Met = set()
    body = product(factors, met)
    whole = Fold("sum", axes, TRUE, written(body), REAL) if axes else written(body)
    right = term_of({(): c}) if c != 1 else None
    for factor in (whole, *counts):
        right = factor if right is None else App("mul", (right, factor), REAL)
    assert right is not None
    sides = [*(Side("counts", n.args[0]) for n in counts if isinstance(n, App)), *(Side("unequal", t) for t in met)]
    return _made(term, right, "joined", sides=[_scoped(s, every, TRUE) for s in sides])


def _flat(axes: tuple[Axis, ...], product: Term, taken: set[str]) -> tuple[tuple[Axis, ...], list[tuple[Term, int]], Fraction]:
    """All axes of a product of sums, each with a name of its own, what is multiplied at each of their points, and a number. Raises Unfollowed."""
    met: Met = set()
    found = ring(product, met)
    if len(found) != 1 or met:
        raise Unfollowed("a sum where a product is")
    ((factors, c),) = found.items()
    out: list[tuple[Term, int]] = []
    for term, power in factors:
        if not (isinstance(term, Fold) and is_sum(term)) or power < 0:
            out.append((term, power))
            continue
        for _ in range(power):
            names = {a.name: Var(claimed(a.name, taken)) for a in term.axes}
            own = tuple(Axis(names[a.name].name, a.extent) for a in term.axes)
            more, rest, d = _flat(own, substitute(term.body, names), taken)
            axes, out, c = (*axes, *more), [*out, *rest], c * d
    return axes, out, c


def renamed(fold: Fold, order: Sequence[int], names: Sequence[str]) -> Equal:
    """The same fold, its axes in another order and with other names."""
    axes = [fold.axes[n] for n in order]
    if sorted(order) != list(range(len(fold.axes))) or len(set(names)) != len(axes) or len(names) != len(axes):
        raise ValueError("no order")
    if any(variables(a.extent) & {b.name for b in axes} for a in axes):
        raise Unfollowed("an extent that follows another index")
    free = {*variables(fold.body), *variables(fold.guard), *(n for a in axes for n in variables(a.extent))}
    if free & {*names} - {a.name for a in axes}:
        raise ValueError("a name is taken")
    to: dict[str, Term] = {a.name: Var(name) for a, name in zip(axes, names, strict=True)}
    new = tuple(Axis(name, a.extent) for name, a in zip(names, axes, strict=True))
    return _made(fold, Fold(fold.monoid, new, substitute(fold.guard, to), substitute(fold.body, to), fold.dtype), "renamed")


def unrolled(fold: Fold, at: int) -> Equal:
    """A sum with one of its axes, of so many places, written out."""
    axis, rest = fold.axes[at], fold.axes[:at] + fold.axes[at + 1 :]
    if str(fold.monoid) != "sum" or not isinstance(axis.extent, Const) or any(axis.name in variables(a.extent) for a in rest):
        raise ValueError("not to be written out")
    out: Term = Const(0.0, REAL)
    for place in range(int(axis.extent.value)):
        guard, body = (simplify(substitute(t, {axis.name: Const(place)})) for t in (fold.guard, fold.body))
        one = Fold("sum", rest, guard, body, REAL) if rest else select(guard, body, Const(0.0, REAL))
        out = App("add", (out, one), REAL)
    return _made(fold, out, "unrolled")


def asked(fold: Fold) -> Equal:
    """A fold whose guard is written in one way: comparisons of indices as `0 <= d`, in one order."""
    parts = dict.fromkeys(map(_comparison, conjuncts(fold.guard)))
    return _made(fold, _with(fold, conjunction(*sorted(parts, key=text)), fold.body), "asked")


def _comparison(condition: Term) -> Term:
    match condition:
        case App("lt" | "le" | "gt" | "ge" as op, (a, b)) if a.dtype == INDEX and b.dtype == INDEX:
            low, high = (b, a) if op in ("gt", "ge") else (a, b)
            return App("le", (Const(0), simplify(high - low - (1 if op in ("lt", "gt") else 0))), BOOL)
    return condition


def shifted(fold: Fold) -> Equal:
    """`max_k (c + b) = c + max_k b`, the maximum of something."""
    if str(fold.monoid) not in ("max", "min"):
        raise ValueError("no maximum")
    met: Met = set()
    names, body = {a.name for a in fold.axes}, ring(fold.body, met)
    out = {m: c for m, c in body.items() if names.isdisjoint(n for t, _ in m for n in variables(t))}
    rest = {m: c for m, c in body.items() if m not in out}
    over = atom(_with(fold, fold.guard, term_of(rest))) if rest else ZERO
    sides = [*([Side("something", fold)] if out else []), *(_scoped(Side("unequal", t), fold.axes, fold.guard) for t in met)]
    return _made(fold, term_of(plus(out, over)), "shifted", sides=sides)


def settled(term: Term) -> Equal:
    """A value with its indices as short as they are. (`simplify` is trusted for all else, too.)"""
    return _made(term, _short(term), "")


def _short(term: Term) -> Term:
    return simplify(term) if term.dtype in (INDEX, BOOL) else rebuild(term, _short)


__all__ = [
    "OPENED", "Equal", "Side", "apart", "applied", "arithmetic", "asked", "cleared", "cut", "exponential", "hoisted", "inside", "is_sum", "joined", "linear", "logarithm", "meet",
    "renamed", "same", "settled", "shifted", "split", "then", "under", "unrolled",
]  # fmt: skip
