"""The laws by which one value is another, over the reals: the only place where an `Equal` is made.

    a = a        a = b, b = c ⊢ a = c        a = b ⊢ f(a) = f(b)        a is its polynomial        a·d = 0, d ≠ 0 ⊢ a = 0
    log(a·b) = log a + log b,  log(exp a) = a,  exp(log a + b) = a · exp b        of what is above 0

Comes in: values, and equations between their parts. Goes out: equations, each an instance of one law, or made of others. The one idea: the right side is made here from
the left one, and whoever looks for a proof only chooses: the law, the place, and what bound variables are called. What a law needs beside is a `Side`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from tinygpu.algebra.polynomial import (
    ONE,
    RAISED,
    REAL,
    ZERO,
    Met,
    Monomial,
    Polynomial,
    added,
    atom,
    inverse,
    ring,
    term_of,
    times,
    written,
)
from tinygpu.category.operation import expanded
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
    rebuild,
    substitute,
    text,
    variables,
)
from tinygpu.category.text import claimed
from tinygpu.record import InitVar, dataclass

BY_FORMULA = (
    "sigmoid",
)  # functions that are opened where nothing else helps; the others that have a formula are seen through as they are
OPENED = ("add", "sub", "mul", "div", "neg", "select")  # what arithmetic sees through
_KEY = object()


@dataclass(frozen=True, slots=True)
class Side:
    """What a law needs, at every point of the axes where the guard holds: a value that is not 0 (`unequal`), or that a box is not empty (`something`)."""

    kind: str
    term: Term
    axes: tuple[Axis, ...] = ()
    guard: Term = TRUE

    @property
    def place(self) -> tuple[str, ...]:
        """Where it stands among others."""
        return self.kind, text(self.term), text(self.guard), *(f"{a.name}: {text(a.extent)}" for a in self.axes)


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


def equation(left: Term, right: Term, law: str, *parts: Equal, met: Met | None = None, sides: Sequence[Side] = ()) -> Equal:
    """An equation by a law, from others."""
    used = Counter({law: 1}) if law else Counter[str]()
    for part in parts:
        used.update(dict(part.laws))
    needed = frozenset(sides).union(*(p.sides for p in parts), (Side("unequal", t) for t in met or ()))
    return Equal(left, right, needed, tuple(sorted(used.items())), _KEY)


# ── equality ───────────────────────────────────────────────────────────────────────────────────────────────────────


def same(term: Term) -> Equal:
    """`a = a`."""
    return equation(term, term, "")


def then(first: Equal, second: Equal) -> Equal:
    """`a = b` and `b = c` give `a = c`. Raises ValueError where they do not meet."""
    if first.right != second.left:
        raise ValueError(f"{text(first.right)} is not {text(second.left)}")
    return first if second.left == second.right and not second.sides else equation(first.left, second.right, "", first, second)


def meet(left: Equal, right: Equal, nought: Equal | None = None) -> Equal:
    """`a = c` and `b = c` give `a = b`; so do `a = c`, `b = d` and `c − d = 0`. Raises ValueError where they do not meet."""
    if nought is None and left.right != right.right:
        raise ValueError("two other forms")
    if nought is not None and (nought.left, nought.right) != (App("sub", (left.right, right.right), REAL), term_of(ZERO)):
        raise ValueError("another difference")
    return equation(left.left, right.left, "", left, right, *((nought,) if nought else ()))


def inside(term: Term, change: Callable[[Term], Equal], below: Callable[[Term], Equal] | None = None) -> Equal:
    """Equals for the atoms of a value: what arithmetic does not see through; and for what is divided by, as a whole."""
    parts: list[Equal] = []

    def exchanged(t: Term, opened: bool = True) -> Term:
        match t:
            case App("div", (a, b)) if opened:
                return App("div", (exchanged(a), exchanged(b, False)), t.dtype)
            case App(op, args) if op in OPENED and opened:
                return App(op, tuple(map(exchanged, args)), t.dtype)
        if t.dtype == BOOL and isinstance(t, App):  # what a condition compares may be written otherwise, too
            return App(t.op, tuple(exchanged(a, False) for a in t.args), BOOL)
        if t.dtype not in FLOATS or isinstance(t, Const):
            return t
        found = change(t) if opened or below is None else below(t)
        if found.left != t:
            raise ValueError(f"{text(found.left)} is not {text(t)}")
        parts.append(found)
        return found.right

    return equation(term, exchanged(term), "", *parts)


def applied(term: App, args: Sequence[Equal]) -> Equal:
    """`f(a) = f(b)` where `a = b`."""
    if tuple(a.left for a in args) != term.args:
        raise ValueError("other arguments")
    return equation(term, App(term.op, tuple(a.right for a in args), term.dtype), "", *args)


def under(fold: Fold, body: Equal) -> Equal:
    """A fold of what is equal at each of its points; what that needs is needed at each of them."""
    if body.left != fold.body:
        raise ValueError("another body")
    sides = [scoped(side, fold.axes, fold.guard) for side in body.sides]
    bare = Equal(body.left, body.right, frozenset(), body.laws, _KEY)
    return equation(fold, with_body(fold, fold.guard, body.right), "", bare, sides=sides)


def scoped(side: Side, axes: tuple[Axis, ...], guard: Term) -> Side:
    """What is needed at each point of a box; of one that does not speak of it, nothing more is said."""
    free = {*variables(side.term), *variables(side.guard), *(n for a in side.axes for n in variables(a.extent))} - {
        a.name for a in side.axes
    }
    if free.isdisjoint(a.name for a in axes):
        return side
    side = named_apart(side, {*free, *variables(guard), *(a.name for a in axes), *(n for a in axes for n in variables(a.extent))})
    return Side(side.kind, side.term, (*axes, *side.axes), conjunction(guard, side.guard))


def named_apart(side: Side, taken: set[str]) -> Side:
    """The same, its indices named otherwise than what is taken."""
    to: dict[str, Term] = {}
    axes: list[Axis] = []
    for axis in side.axes:
        extent = substitute(axis.extent, to)
        name = claimed(axis.name, taken)
        to[axis.name] = Var(name)
        axes.append(Axis(name, extent))
    return Side(side.kind, substitute(side.term, to), tuple(axes), substitute(side.guard, to))


def with_body(fold: Fold, guard: Term, body: Term) -> Fold:
    return Fold(fold.monoid, fold.axes, guard, body, REAL if fold.dtype in FLOATS else fold.dtype)


# ── arithmetic ─────────────────────────────────────────────────────────────────────────────────────────────────────


def arithmetic(term: Term) -> Equal:
    """A value is its polynomial."""
    met: Met = set()
    return equation(term, term_of(ring(term, met)), "arithmetic", met=met)


def linear(term: Term, parts: Mapping[Monomial, Equal]) -> Equal:
    """A sum of monomials with equals for some of these."""
    met: Met = set()
    out: Polynomial = ZERO
    used: list[Equal] = []
    for monomial, c in ring(term, met).items():
        part = parts.get(monomial)
        if part is None:
            out = added(out, {monomial: c})
            continue
        if part.left != written(monomial):
            raise ValueError("another monomial")
        used.append(part)
        out = added(out, ring(part.right, met), c)
    return equation(term, term_of(out), "linear", *used, met=met)


def cleared(term: Term, by: Term, power: int, nought: Equal) -> Equal:
    """`a = 0` where `a · dⁿ = 0` and d is not 0."""
    met: Met = {by}
    whole = times(ring(term, met), atom(by, power), met)
    if nought.left != term_of(whole) or nought.right != term_of(ZERO):
        raise ValueError("not known to be 0")
    return equation(term, nought.right, "cleared", nought, met=met)


def logarithm(term: App) -> Equal:
    """`log(a·b) = log a + log b` and `log(exp a) = a`, of what is above 0."""
    met: Met = set()
    ((monomial, c),) = ring(term.args[0], met).items()
    out: Polynomial = ZERO if c == 1 else atom(App("log", (term_of({(): c}),), REAL))
    sides = [Side("above", term_of({(): c}))] if c != 1 else []
    for factor, power in monomial:
        if isinstance(factor, App) and factor.op == "exp":
            out = added(out, ring(factor.args[0], met), power)
            continue
        out = added(out, atom(App("log", (factor,), REAL)), power)
        sides.append(Side("above", factor))
    return equation(term, term_of(out), "logarithm", met=met, sides=sides)


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
    return equation(term, term_of(whole), "exponential", met=met, sides=sides)


def formulas(term: Term) -> Equal:
    """`sigmoid(a) = 1 / (1 + exp(−a))`, wherever it stands."""

    def opened(t: Term) -> Term:
        new = rebuild(t, opened)
        return expanded(new.op, REAL, new.args[0], App, Const) if isinstance(new, App) and new.op in BY_FORMULA else new

    return equation(term, opened(term), "formula")


def settled(term: Term) -> Equal:
    """A value with its indices as short as they are. (`simplify` is trusted for all else, too.)"""
    return equation(term, shortened(term), "")


def shortened(term: Term) -> Term:
    """The term with its indices as short as they are."""
    return simplify(term) if term.dtype in (INDEX, BOOL) else rebuild(term, shortened)
