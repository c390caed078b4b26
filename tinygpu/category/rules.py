"""The rules of simplification, as a table: what it looks like, what it becomes, and when.

Comes in: nothing. Goes out: `RULES`, each of them a theorem of the integers that a test proves with z3.
The one idea: a sum is matched by dividing it. Where the divisor is known, `q*B + r` is any sum: q is what B divides, r the rest.
What is divided on the right is never negative where what is divided on the left is not: a term that may be evaluated stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import gcd
from typing import TypeAlias

from tinygpu.category.linear import Polynomial, constant, divide, number, plus, polynomial, term_of
from tinygpu.category.term import ARITHMETIC, App, Const, Term, Var, apply, ceildiv, equal, lift, substitute, text, variables
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
