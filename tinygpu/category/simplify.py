"""Simplification: one normal form for sums, divisions undone, guards that bounds decide gone.

Comes in: a term and the region where it stands. Goes out: a term that is equal at every point of it. The one idea: sums are polynomials, and
everything else is a table of rules, each of them a theorem of the integers that a test proves with z3; their side conditions are decided by
bounds. A sum is matched by dividing it: where the divisor is known, `q*B + r` is any sum, q is what B divides and r the rest. What is divided
on the right is never negative where what is divided on the left is not: a term that may be evaluated stays one.
Only indices and guards change; values keep the order of evaluation that they were written in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import gcd
from typing import TypeAlias

from tinygpu.category.decide import decided
from tinygpu.category.known import Known
from tinygpu.category.linear import Polynomial, constant, divide, number, plus, polynomial, term_of, times
from tinygpu.category.operation import COMPLEMENT
from tinygpu.category.region import EVERYWHERE, Region
from tinygpu.category.term import (
    ARITHMETIC,
    BOOL,
    COMPARISONS,
    INDEX,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    apply,
    ceildiv,
    conjunction,
    conjuncts,
    disjunction,
    equal,
    lift,
    memoised,
    negation,
    rebuild,
    select,
    substitute,
    text,
    variables,
)
from tinygpu.record import dataclass

Binding: TypeAlias = Mapping[str, Term]
Division: TypeAlias = Callable[[Polynomial, Polynomial], tuple[Polynomial, Polynomial]]


@dataclass(frozen=True, slots=True)
class Rule:
    """`left → right` where every guard of `when` holds. Variables stand for terms; `g` is guessed first, among common factors."""

    name: str
    left: Term
    right: Term
    when: tuple[Term, ...] = ()

    def __str__(self) -> str:
        conditions = " and ".join(map(text, self.when))
        return f"{text(self.left)}  →  {text(self.right)}" + (f"  if {conditions}" if conditions else "")


a, b, c, d, g, q, r, x, y, B = map(Var, "abcdgqrxyB")
_digit, _step = (r >= 0, r < B), (r >= 0, r < g)

RULES: tuple[Rule, ...] = (
    Rule("the quotient of a small number", r // B, lift(0), _digit),
    Rule("the remainder of a small number", r % B, r, _digit),
    Rule("the quotient just below zero", r // B, lift(-1), (r < 0, r + B >= 0)),
    Rule("the remainder just below zero", r % B, r + B, (r < 0, r + B >= 0)),
    Rule("the quotient just below a multiple", (q * B + r) // B, q - 1, (r < 0, r + B >= 0)),
    Rule("the remainder just below a multiple", (q * B + r) % B, r + B, (r < 0, r + B >= 0)),
    Rule("the quotient of a sum of digits", (q * B + r) // B, q + r // B, (r >= 0, B > 0)),
    Rule("the remainder of a sum of digits", (q * B + r) % B, r % B, (r >= 0, B > 0)),
    Rule("the quotient of a quotient", x // a // b, x // (a * b), (a > 0, b > 0)),
    Rule("the remainder of a remainder", x % (c * b) % b, x % b, (b > 0, c > 0)),
    Rule("the quotient of a remainder", x % (c * b) // b, x // b % c, (b > 0, c > 0)),
    Rule("the quotient by a common factor", (q * g + r) // (d * g), q // d, (*_step, d > 0)),
    Rule("the remainder by a common factor", (q * g + r) % (d * g), q % d * g + r, (*_step, d > 0)),
    Rule("the remainder of a multiple", x % B, lift(0), (B > 0, equal(x % B, 0))),
    Rule("the ceiling of a multiple", ceildiv(x, B), x // B, (B > 0, equal(x % B, 0))),
    Rule("the ceiling of a small number", ceildiv(r, B), lift(1), (r > 0, r <= B)),
    Rule("the ceiling just below zero", ceildiv(r, B), lift(0), (r <= 0, r + B > 0)),
    Rule("the ceiling just below a multiple", ceildiv(q * B + r, B), q, (r <= 0, r + B > 0)),
    Rule("the ceiling of a sum of digits", ceildiv(q * B + r, B), q + ceildiv(r, B), (r >= 0, B > 0)),
    Rule("the ceiling of a ceiling", ceildiv(ceildiv(x, a), b), ceildiv(x, a * b), (a > 0, b > 0)),
    Rule("the ceiling by a common factor", ceildiv(q * g + r, d * g), ceildiv(q, d), (r <= 0, r + g > 0, d > 0)),
    Rule("the smaller on the left", apply("min", x, y), x, (x <= y,)),
    Rule("the smaller on the right", apply("min", x, y), y, (y <= x,)),
    Rule("the larger on the left", apply("max", x, y), x, (x >= y,)),
    Rule("the larger on the right", apply("max", x, y), y, (y >= x,)),
    Rule("a flip undone", (x ^ y) ^ y, x),
    Rule("a flip of nothing", x ^ lift(0), x),
    Rule("a flip of itself", x ^ x, lift(0)),
)

HEADED = {op: tuple(rule for rule in RULES if isinstance(rule.left, App) and rule.left.op == op) for op in ARITHMETIC}


def matches(rule: Rule, term: App) -> Iterator[Binding]:
    """Every way in which the left side of a rule is the term.

    >>> i, j = Var("i"), Var("j")
    >>> {k: text(v) for k, v in sorted(next(iter(matches(RULES[4], (i * 8 + j) // 4))).items())}
    {'B': '4', 'q': 'i*2', 'r': 'j'}
    """
    guesses: Iterator[dict[str, Term]] = iter([{}])
    if "g" in variables(rule.left):
        guesses = ({"g": guess} for guess in common_factors(term))
    for guess in guesses:
        for divide_by in (divide, _divide_but_constants):
            found = _match(rule.left, term, guess, divide_by)
            if found is not None:
                yield found


def _divide_but_constants(p: Polynomial, d: Polynomial) -> tuple[Polynomial, Polynomial]:
    """`divide`, with the number in p left in the rest: it may be what keeps the rest from being negative."""
    least = constant(p.get((), 0))
    quotient, rest = divide(plus(p, least, -1), d)
    return quotient, plus(rest, least)


def _match(pattern: Term, term: Term, found: Binding, divide_by: Division) -> Binding | None:
    match pattern:
        case Const():
            return found if pattern == term else None
        case Var(name):
            return {**found, name: term} if found.get(name, term) == term else None
        case App("add", (App("mul", (Var(many), by)), Var(rest))) if variables(by) <= found.keys():
            quotient, left = divide_by(polynomial(term), polynomial(substitute(by, found)))
            return {**found, many: term_of(quotient), rest: term_of(left)} if quotient else None
        case App("mul", (Var(many), by)) if variables(by) <= found.keys():
            quotient, left = divide_by(polynomial(term), polynomial(substitute(by, found)))
            return {**found, many: term_of(quotient)} if quotient and not left else None
        case App(op, parts):
            if not isinstance(term, App) or term.op != op or len(term.args) != len(parts):
                return None
            # the divisor first, and then the sum that it divides
            state: Binding | None = found
            for part, arg in zip(reversed(parts), reversed(term.args), strict=True):
                state = None if state is None else _match(part, arg, state, divide_by)
            return state
    return None


def common_factors(term: App) -> Iterator[Term]:
    """What might be cancelled in a division: divisors that the constant divisor shares with coefficients, atoms of a symbolic one."""
    if len(term.args) != 2:
        return
    above, below = map(polynomial, term.args)
    by = number(below)
    if by is not None:
        yield from (lift(f) for f in sorted({gcd(by, k) for k in above.values()} - {1, abs(by)}, reverse=True))
    elif len(below) == 1:
        ((monomial, k),) = below.items()
        yield from dict.fromkeys(monomial)
        yield from (lift(f) for f in sorted({gcd(k, e) for e in above.values()} - {1}, reverse=True))


def simplify(term: Term, region: Region = EVERYWHERE) -> Term:
    """`term → term`, equal at every point of the region.

    >>> from tinygpu.category.term import lift, text
    >>> by, ty, ri, i, n = map(Var, ("by", "ty", "ri", "i", "n"))
    >>> tile = Region((Axis("by", Var("G")), Axis("ty", lift(8)), Axis("ri", lift(8))))
    >>> text(simplify((by * 8 + ty) * 8 + ri, tile)), text(simplify(((by * 8 + ty) * 8 + ri) // 8 % 8, tile))
    ('by*64 + ty*8 + ri', 'ty')
    >>> text(simplify(i // 1024 * 1024 + i // 4 % 256 * 4 + i % 4)), text(simplify((i < n + 4), Region((Axis("i", n),))))
    ('i', 'true')
    >>> text(simplify(i // 6 * 6 + i % 252 - i // 6 % 42 * 6)), text(simplify(i % 252 - i // 6 % 41 * 6))
    ('i', 'i % 252 - i // 6 % 41*6')
    """
    return _simple(term, Known.at(region))


@memoised
def _simple(term: Term, known: Known) -> Term:
    match term:
        case Var(name):
            return Const(0) if name in known.extents and number(polynomial(known.extents[name])) == 1 else term
        case Fold():
            return _fold(term, known)
        case App("select", (condition, then, otherwise)):
            yes = _simple(condition, known)
            no = _complement(yes)
            return select(yes, _simple(then, known.within(yes, then)), _simple(otherwise, known.within(no, otherwise)))
        case App("and" | "or" | "not", args):
            return _logic(term, args, known)
        case App(op, args, dtype):
            new = tuple(_simple(t, known) for t in args)
            if op in COMPARISONS and all(t.dtype == INDEX for t in new):
                return _comparison(op, new, known)
            if dtype != INDEX or op in ("cast", "table"):
                return App(op, new, dtype)
            return _index(op, new, known)
    return rebuild(term, lambda part: _simple(part, known))


def _index(op: str, args: tuple[Term, ...], known: Known) -> Term:
    """An operation on simple index terms: a sum in normal form, or the first rule that fits."""
    if op in ("add", "sub", "mul", "neg"):
        whole = polynomial(App(op, args))
        joined = _joined(whole, known)
        return term_of(joined, known.extents) if joined == whole else _simple(term_of(joined, known.extents), known)
    term = apply(op, *args)
    if not isinstance(term, App):
        return term
    for rule in HEADED.get(term.op, ()):
        for found in matches(rule, term):
            if all(decided(substitute(guard, found), known) for guard in rule.when):
                return _simple(substitute(rule.right, found), known)
    return term


def _joined(p: Polynomial, known: Known) -> Polynomial:
    """Digits put together again: `x // B·B + x % B` is x, and where B divides x, `x // B·B` is; `x % (b·c)` less the digit `x // b % c·b` is `x % b`."""
    for monomial, c in p.items():
        for position, atom in enumerate(monomial):
            others = {monomial[:position] + monomial[position + 1 :]: c}
            match atom:
                case App("mod", (x, by)) if decided(by >= 1, known):
                    tens = times(others, times(polynomial(by), polynomial(_simple(apply("floordiv", x, by), known))))
                    if tens and all(p.get(m) == k for m, k in tens.items()):
                        return _joined(plus(plus(plus(p, tens, -1), {monomial: c}, -1), times(others, polynomial(x))), known)
                    for b, digit in _digits(x, by, p):
                        tens = times(plus({}, others, -1), times(polynomial(b), polynomial(digit)))
                        if decided(b >= 1, known) and all(p.get(m) == k for m, k in tens.items()):
                            rest = plus(plus(p, tens, -1), {monomial: c}, -1)
                            return _joined(plus(rest, times(others, polynomial(_simple(x % b, known)))), known)
                case App("floordiv", (x, by)) if decided(equal(apply("mod", x, by), 0), known):
                    times_x, rest = divide(others, polynomial(by))
                    if times_x and not rest:
                        return _joined(plus(plus(p, {monomial: c}, -1), times(times_x, polynomial(x))), known)
    return p


def _digits(x: Term, by: Term, p: Polynomial) -> Iterator[tuple[Term, Term]]:
    """The digits `x // b % c` among the atoms of a polynomial with `b·c = by`, each with its b."""
    for atom in dict.fromkeys(atom for monomial in p for atom in monomial):
        match atom:
            case App("mod", (App("floordiv", (y, b)), c)) if y == x and polynomial(b * c) == polynomial(by):
                yield b, atom


def _comparison(op: str, args: tuple[Term, ...], known: Known) -> Term:
    """A comparison of simple index terms: decided where bounds decide it."""
    guard = apply(op, *args)
    verdict = decided(guard, known)
    return guard if verdict is None else Const(verdict, BOOL)


def _logic(term: App, args: tuple[Term, ...], known: Known) -> Term:
    """Conjunctions lose what the rest implies, disjunctions their false parts; the complement of a comparison of indices is one."""
    match term.op:
        case "not":
            return _complement(_simple(args[0], known))
        case "or":
            return disjunction(*(_simple(arg, known) for arg in args))
    parts_kept: tuple[Term, ...] = ()
    for part in conjuncts(term):
        parts_kept += conjuncts(_simple(part, known.under(conjunction(*parts_kept))))
    for part in parts_kept[::-1]:
        others = tuple(other for other in parts_kept if other != part)
        if decided(part, known.under(conjunction(*others))):
            parts_kept = others
    return conjunction(*parts_kept)


def _complement(guard: Term) -> Term:
    """`not guard`; comparisons of indices turned round (those of floats are not: NaN compares with nothing)."""
    match guard:
        case App(op, (a, b), dtype) if op in COMPLEMENT and a.dtype == b.dtype == INDEX:
            return App(COMPLEMENT[op], (a, b), dtype)
    return negation(guard)


def _fold(fold: Fold, known: Known) -> Term:
    """A fold: its extents outside its axes, its guard and its body inside."""
    axes = tuple(Axis(a.name, _simple(a.extent, known), a.sort, a.span) for a in fold.axes)
    inside = known.inside(axes)
    guard = _simple(fold.guard, inside)
    return Fold(fold.monoid, axes, guard, _simple(fold.body, inside.within(guard, fold.body)), fold.dtype, fold.span)
