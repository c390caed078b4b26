"""The laws of the monoids with components that a program folds with, for all values of their carriers.

    (a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)      e ⊕ a = a = a ⊕ e      a ⊕ b = b ⊕ a and a ⊕ a = a (where the monoid is taken to have them)
    the invariant holds of e, of a ⊕ b, and of what an element is lifted to; and all of it has a value

Comes in: a program. Goes out: for each law one formula for each way in which components are infinite (see `extended`).
A component is finite, or the infinity that is its unit. That small numbers do not break the last two laws is no proof: they are claimed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product

from tinygpu.category.cancel import cancel
from tinygpu.category.carrier import OPERANDS, sides
from tinygpu.category.evaluate import number
from tinygpu.category.monoid import Carrier
from tinygpu.category.node import kept
from tinygpu.category.region import Region
from tinygpu.category.ring import flips
from tinygpu.category.term import (
    BOOL,
    FALSE,
    FLOATS,
    TRUE,
    App,
    Const,
    Fold,
    Term,
    Var,
    children,
    conjunction,
    disjunction,
    negation,
    substitute,
    tensors,
    text,
    walk,
)
from tinygpu.diagnostic import NOWHERE, Label, Span
from tinygpu.obligations.defined import valued
from tinygpu.obligations.extended import NOTHING, Path, Unfollowed, infinite, several, truths
from tinygpu.obligations.finite import HIGH, LOW, apart
from tinygpu.obligations.named import inlined
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace, Value, evaluated_in, preconditions
from tinygpu.program.step import Array, Program
from tinygpu.program.traverse import terms as stated

KIND, CODE = "monoid", "TG520"
SENTENCES = {
    "unit": "the unit changes nothing", "associative": "{0}({0}(a, b), c) is {0}(a, {0}(b, c))", "commutative": "{0}(a, b) is {0}(b, a)",
    "idempotent": "{0}(a, a) is a",
    "invariant": "what two values combine to is a value of the carrier", "lift": "what an element is lifted to is a value of the carrier",
}  # fmt: skip
TITLES = {
    "unit": "the unit of {} changes a value", "associative": "{} is not associative", "commutative": "{} is not commutative",
    "idempotent": "{} counts what it takes twice",
    "invariant": "{} combines two values to one that is none of its carrier", "lift": "{} lifts an element to no value of its carrier",
}  # fmt: skip
HELPS = {
    "unit": "the unit combined with any value of the carrier gives that value, on both sides",
    "associative": "a fold is cut into parts that are combined: the cut must not matter",
    "commutative": "the parts of a fold are combined in any order: combine must not tell its operands apart",
    "idempotent": "a value that is combined with itself must not matter",
    "invariant": "strengthen the invariant, or guard what is infinite or divided by",
    "lift": "weaken the invariant, or let lift give a value of it",
}
Env = dict[str, Term]


def title(monoid: str, law: str) -> str:
    """What is wrong where a law fails."""
    return TITLES[law].format(monoid)


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for carrier in sorted(folded_with(program)):
        yield from _known(carrier, carrier.span)
        yield from _elements(program, trace, carrier)
        yield from _some_element(program, carrier)


def folded_with(program: Program) -> frozenset[Carrier]:
    """The monoids with components that a program or its equations speak of."""
    found: set[str] = {a.dtype for a in program.steps if isinstance(a, Array)}
    found |= {w.dtype for w in program.workspaces}
    terms = [*(e.value for e in program.op.equations), *program.op.promises, *program.where]
    for step in program.steps:
        terms += stated(step, facts=True)
    found |= {t.monoid if isinstance(t, Fold) else t.dtype for term in terms for t in walk(term)}
    return frozenset(name for name in found if isinstance(name, Carrier))


def in_equations(program: Program) -> Iterator[tuple[Region, Fold]]:
    """The folds of the equations."""
    for equation in program.op.equations:
        yield from ((Region(equation.axes, preconditions(program)), t) for t in walk(equation.value) if isinstance(t, Fold))


def _elements(program: Program, trace: Trace, d: Carrier) -> Iterator[Obligation]:
    """What is put together of components is a value of the carrier, wherever that is done: the laws are those of such values."""
    said = [Value(inlined(program.op, e.value), Region(e.axes, preconditions(program)), e.span) for e in program.op.equations]
    for value in (*said, *trace.of(Value)):
        for term, point in evaluated_in(value.term, value.point, lambda t: d not in packs(t)):
            if not isinstance(term, App) or (term.op, term.dtype) != ("pack", d):
                continue
            goal = conjunction(*_of_carrier(d, tuple(map(cancel, term.args)), point))
            if goal != TRUE:
                inside = point.under(*valued(term, point))  # elsewhere it has no value
                sentence = f"{text(term)} is a value of {d}"
                labels = (Label(value.span, "put together here"),)
                yield Obligation(
                    KIND, CODE, "what is put together is no value of the carrier", sentence, inside.facts, goal, labels
                )


@kept
def packs(term: Term) -> frozenset[str]:
    """The carriers whose values are put together in a term."""
    inside = frozenset[str]().union(*map(packs, children(term)))
    return inside | {term.dtype} if isinstance(term, App) and term.op == "pack" else inside


def _of_carrier(d: Carrier, parts: tuple[Term, ...], point: Region) -> Iterator[Term]:
    """That components put together at a point are a value of the carrier: each is a number, or the infinity that is its unit."""
    ways: list[tuple[Term, ...]] = []
    for part, unit in zip(parts, d.identity, strict=True):
        ends = [sign for sign in (LOW, HIGH) if part.dtype in FLOATS and not infinite(part)]
        maybe = {sign: a for sign in ends if (a := point.settled(apart(part, sign, point, {}))) != TRUE}
        own = [sign for sign in maybe if infinite(unit) and isinstance(unit, Const) and unit.value * sign > 0]
        yield from (a for sign, a in maybe.items() if sign not in own)
        ways.append((part, unit) if own else (part,))
    yield from (_allowed(d, way, {}) for way in product(*ways))


def _some_element(program: Program, d: Carrier) -> Iterator[Obligation]:
    """A fold of an equation whose result has no value for the unit, such as a mean, is over something."""
    units = {n: c.value for (n, _), c in zip(d.components, d.identity, strict=True)}
    if all((value := number(result, units)) == value for result in d.results):
        return
    for point, fold in in_equations(program):
        if fold.monoid == d and not tensors(fold.guard):  # what data choose is said beside the verdict, by `where_defined`
            first: Env = {a.name: Const(0) for a in fold.axes}
            goal = conjunction(*(a.extent >= 1 for a in fold.axes), substitute(fold.guard, first))
            title = f"{d} has no value where it folds nothing"
            sentence, help = f"{d} folds something", "add a precondition to the op, such as: where N >= 1"
            yield Obligation("fold", "TG532", title, sentence, point.facts, goal, (Label(fold.span, "folded here"),), help)


@lru_cache(maxsize=32)
def _known(d: Carrier, span: Span) -> tuple[Obligation, ...]:
    """The claims of one monoid, which many machines fold with; they say where it is declared."""
    return tuple(of(d))


def of(d: Carrier) -> Iterator[Obligation]:
    """The claims of one monoid, of finite elements; infinite ones are asked of where they are lifted.

    One that does not commute is folded in order, by one thread or by several; that the order is kept is a claim of `fold`.
    """
    yield stated_law(d, "lift", (), _allowed(d, d.lift, {}), {})
    yield stated_law(d, "unit", (), _allowed(d, d.identity, {}), {})
    has = {"idempotent": d.idempotent, "commutative": d.commutative}
    for law in ("unit", "idempotent", "invariant", "associative", "commutative"):
        if has.get(law, True):
            yield from _law(d, law)


def _law(d: Carrier, law: str) -> Iterator[Obligation]:
    """One of the laws about values of the carrier, case by case."""
    for env in _choices(d, OPERANDS[law]):
        goals = (_allowed(d, left, env) if right is None else same_values(left, right, env) for left, right in sides(d, law))
        yield stated_law(d, law, _given(d, OPERANDS[law], env), conjunction(*goals), env)


def _choices(d: Carrier, names: tuple[str, ...]) -> Iterator[Env]:
    """Which components are infinite: each that may be, is or is not."""
    may = [(f"{name}.{n}", unit) for name in names for (n, _), unit in zip(d.components, d.identity, strict=True) if infinite(unit)]
    for choice in product((False, True), repeat=len(may)):
        yield {name: unit for (name, unit), is_it in zip(may, choice, strict=True) if is_it}


def _given(d: Carrier, names: tuple[str, ...], env: Env) -> tuple[Term, ...]:
    """That the invariant holds of the values with these names."""
    found = []
    for name in names:
        bind: Env = {n: Var(f"{name}.{n}", dtype) for n, dtype in d.components}
        found.append(_some(truths(substitute(d.invariant, bind), env, ())))
    return tuple(g for g in found if g != TRUE)


def _some(found: Iterable[tuple[Path, bool | None]]) -> Term:
    """A condition that is given, from its cases: some case in which it is true; nothing, where the cases are not followed."""
    try:
        return disjunction(*(conjunction(*path) for path, holds in found if holds))
    except Unfollowed:
        return TRUE


def _all(found: Iterable[tuple[Path, Term]]) -> Term:
    """What is to hold in every case; never, where the cases are not followed."""
    parts = []
    try:
        for path, goal in found:
            if goal != TRUE:
                parts.append(goal if not path else App("or", (*map(negation, path), goal), BOOL))
    except Unfollowed:
        return FALSE
    return conjunction(*parts)


def same_values(left: tuple[Term, ...], right: tuple[Term, ...], env: Env) -> Term:
    """Component for component the same, and with a value."""
    return conjunction(*(_all(_equal(a, b, env)) for a, b in zip(left, right, strict=True)))


def _equal(left: Term, right: Term, env: Env) -> Iterator[tuple[Path, Term]]:
    for path, (a, b) in several((left, right), env, ()):
        if a is NOTHING or b is NOTHING:
            yield path, FALSE
        elif a == b or flips(a) == flips(b):
            yield path, TRUE
        elif infinite(a) or infinite(b):
            yield path, FALSE
        else:
            yield path, App("eq", (a, b), BOOL)


def _allowed(d: Carrier, parts: tuple[Term, ...], env: Env) -> Term:
    """That components have values, finite ones or their unit's infinity, and satisfy the invariant."""

    def found() -> Iterator[tuple[Path, Term]]:
        for path, values in several(parts, env, ()):
            pairs = list(zip(values, d.identity, strict=True))
            if any(v is NOTHING or (infinite(v) and v != unit) for v, unit in pairs):
                yield path, FALSE
                continue
            bind = {n: v for (n, _), v in zip(d.components, values, strict=True)}
            for there, holds in truths(substitute(d.invariant, bind), {}, path):
                if not holds:
                    yield there, FALSE

    return _all(found())


def stated_law(d: Carrier, law: str, given: tuple[Term, ...], goal: Term, env: Env) -> Obligation:
    """The formula of a law, with the positivity of the exponentials in it."""
    powers = {t for term in (goal, *given) for t in walk(term) if isinstance(t, App) and t.op in ("exp", "exp2")}
    positive = tuple(App("gt", (t, Const(0.0, t.dtype)), BOOL) for t in sorted(powers, key=repr))
    where = ", ".join(f"{n} = {'' if c.value > 0 else '-'}inf" for n, c in sorted(env.items()) if isinstance(c, Const))
    sentence = f"{d}: {SENTENCES[law].format(d)}{f', where {where}' if where else ''}"
    labels = () if d.span is NOWHERE else (Label(d.span, "declared here"),)
    return Obligation(KIND, CODE, title(d, law), sentence, (*given, *positive), goal, labels, HELPS[law])
