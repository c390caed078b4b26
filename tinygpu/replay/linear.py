"""Index terms in one form: polynomials whose atoms are variables and digits, so that `a // 4 * 4 + a % 4` is `a`.

    (n·q + r) // n = q + r // n        n·q + r with 0 ≤ r < n has the quotient q        (b//a) % n and (b//(a·n)) % m are the digits (b//a) % (n·m)

Comes in: a term and what its variables run over. Goes out: an equal term. The one idea: a digit is `base // a % b`; sums of neighbouring
digits of one base are a longer digit. All rules hold for floor division by positive constants.
"""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

from tinygpu.record import dataclass, field
from tinygpu.replay.ir import (
    BOOL,
    COMPARISONS,
    FALSE,
    INDEX,
    TRUE,
    Axis,
    Num,
    Op,
    Term,
    Var,
    both,
    compare,
    either,
    num,
    rebuild,
    select,
)
from tinygpu.replay.polynomials import Poly, back, digit, divided, made, opposite, plus, polynomial, single

Interval: TypeAlias = tuple[int | None, int | None]  # None is no bound
WIDENING = ("cast.f16.f32", "cast.f16.f64", "cast.bf16.f32", "cast.bf16.f64", "cast.f32.f64")
LAST = 40  # monomials from which on a term is left as it is


@dataclass(slots=True)
class Ranges:
    """What the variables run over, where that is numbers; sizes are at least 0."""

    bounds: dict[str, Interval] = field(default_factory=dict)
    done: dict[Term, Term] = field(default_factory=dict)

    @classmethod
    def of(cls, axes: tuple[Axis, ...], sizes: tuple[str, ...] = ()) -> Ranges:
        found = cls(dict.fromkeys(sizes, (0, None)))
        for axis in axes:
            high = found.interval(polynomial(found.simplify(axis.extent)))[1]
            found.bounds[axis.name] = (0, None if high is None else high - 1)
        return found

    def interval(self, poly: Poly) -> Interval:
        """Bounds of a polynomial."""
        low: int | None = 0
        high: int | None = 0
        for monomial, factor in poly.items():
            least, most = self.product(monomial)
            a, b = (least, most) if factor > 0 else (most, least)
            low = None if low is None or a is None else low + factor * a
            high = None if high is None or b is None else high + factor * b
        return low, high

    def product(self, monomial: tuple[Term, ...]) -> Interval:
        """Bounds of a product of atoms: exact where nothing is negative."""
        low, high = 1, 1
        lower: int | None = low
        upper: int | None = high
        for atom in monomial:
            a, b = self.atom(atom)
            if a is None or a < 0:
                return (a, b) if len(monomial) == 1 else (None, None)
            lower = None if lower is None else lower * a
            upper = None if upper is None or b is None else upper * b
        return lower, upper

    def atom(self, atom: Term) -> Interval:
        """Bounds of one atom."""
        match atom:
            case Var(name, "index"):
                return self.bounds.get(name, (None, None))
            case Op("mod", (a, Num(int(n)))) if n > 0:
                _, high = self.interval(polynomial(a))
                low, _ = self.interval(polynomial(a))
                return 0, n - 1 if high is None or low is None or low < 0 else min(n - 1, high)
            case Op("floordiv", (a, Num(int(n)))) if n > 0:
                low, high = self.interval(polynomial(a))
                return (None if low is None else low // n), (None if high is None else high // n)
            case Op("select", (_, a, b)):
                (low, high), (least, most) = self.interval(polynomial(a)), self.interval(polynomial(b))
                return (
                    None if low is None or least is None else min(low, least),
                    None if high is None or most is None else max(high, most),
                )
        return None, None

    def simplify(self, term: Term) -> Term:
        """The term in normal form, in all its parts."""
        if term not in self.done:
            self.done[term] = self._simplify(term)
        return self.done[term]

    def _simplify(self, term: Term) -> Term:
        match term:
            case Op("select", (condition, then, otherwise)):
                return select(self.simplify(condition), self.simplify(then), self.simplify(otherwise))
            case Op("and", args):
                return both(*map(self.simplify, args))
            case Op("or", args):
                return either(*map(self.simplify, args))
            case Op("not", (a,)):
                return opposite(self.simplify(a))
        term = rebuild(term, self.simplify)
        match term:
            case Op(op, (Num(value),), dtype) if op in WIDENING:  # the wider type has the number
                return Num(value, dtype)
            case Op(op, (Op("select", (condition, a, b)),), dtype) if op.startswith("cast.") and (
                isinstance(a, Num) or isinstance(b, Num)
            ):
                return select(condition, self.simplify(Op(op, (a,), dtype)), self.simplify(Op(op, (b,), dtype)))
            case Op(op, (a, b), "bool") if op in COMPARISONS and a.dtype == INDEX == b.dtype:
                return self.compared(op, a, b)
            case Op(op, (a, b), "bool") if op in COMPARISONS:
                return compare(op, a, b) if a == b or (isinstance(a, Num) and isinstance(b, Num)) else term
            case Op("ceildiv", (a, Num(int(n)))) if n > 0:
                return back(self.quotient(polynomial(Op("add", (a, num(n - 1)), INDEX)), n))
            case Op("add" | "sub" | "mul" | "neg" | "floordiv" | "mod", _, "index"):
                return back(self.joined(self.poly(term)))
        return term

    def compared(self, op: str, a: Term, b: Term) -> Term:
        """A comparison, decided where bounds decide it."""
        low, high = self.interval(self.joined(plus(polynomial(a), polynomial(b), -1)))
        match op:
            case "lt" | "ge":
                if (high is not None and high < 0) or (low is not None and low >= 0):
                    return TRUE if (op == "lt") == (high is not None and high < 0) else FALSE
            case "le" | "gt":
                if (high is not None and high <= 0) or (low is not None and low > 0):
                    return TRUE if (op == "le") == (high is not None and high <= 0) else FALSE
            case "eq" | "ne":
                if low == high == 0:
                    return TRUE if op == "eq" else FALSE
                if (high is not None and high < 0) or (low is not None and low > 0):
                    return FALSE if op == "eq" else TRUE
        return Op(op, (a, b), BOOL)

    def poly(self, term: Term) -> Poly:
        """The polynomial of a term whose parts are in normal form."""
        match term:
            case Op("floordiv", (a, Num(int(n)))) if n > 0:
                return self.quotient(polynomial(a), n)
            case Op("mod", (a, Num(int(n)))) if n > 0:
                return self.remainder(polynomial(a), n)
        return polynomial(term)

    def quotient(self, poly: Poly, n: int) -> Poly:
        """`poly // n`."""
        whole, rest = divided(poly, n)
        low, high = self.interval(rest)
        if low is not None and high is not None and low // n == high // n:
            return plus(whole, {(): low // n})
        g, upper, _ = self.scaled(rest, n)
        if g > 1:
            return plus(whole, self.quotient(upper, n // g)) if n > g else plus(whole, upper)
        for monomial in rest:
            match monomial:
                case (Op("floordiv", (inner, Num(int(m)))),) if rest[monomial] == 1 and m > 0:
                    more = {k: f * m for k, f in rest.items() if k != monomial}
                    return plus(whole, self.quotient(plus(polynomial(inner), more), m * n))
        atom = single(rest)
        if atom is not None:
            base, a, b = digit(atom)
            if b is None:
                return plus(whole, {(made(base, a * n, None),): 1})
            if b % n == 0:
                return plus(whole, {(made(base, a * n, b // n),): 1})
        return plus(whole, {(Op("floordiv", (back(rest), num(n)), INDEX),): 1})

    def remainder(self, poly: Poly, n: int) -> Poly:
        """`poly % n`."""
        _, rest = divided(poly, n)
        low, high = self.interval(rest)
        if low is not None and high is not None and low // n == high // n:
            return plus(rest, {(): -(low // n) * n})
        g, upper, small = self.scaled(rest, n)
        if g > 1:
            return plus({m: f * g for m, f in self.remainder(upper, n // g).items()}, small) if n > g else small
        atom = single(rest)
        if atom is not None:
            base, a, b = digit(atom)
            if b is None or b % n == 0:
                return {(made(base, a, n),): 1}
        return {(Op("mod", (back(rest), num(n)), INDEX),): 1}

    def scaled(self, poly: Poly, n: int) -> tuple[int, Poly, Poly]:
        """`poly = g·upper + small` with g a divisor of n and 0 ≤ small < g; g is 1 where there is no such."""
        for g in sorted({gcd(f, n) for f in poly.values()}, reverse=True):
            upper = {m: f // g for m, f in poly.items() if f % g == 0}
            small = {m: f for m, f in poly.items() if f % g}
            if () in small:
                upper = plus(upper, {(): small[()] // g})
                small[()] %= g
            low, high = self.interval(small)
            if g > 1 and low is not None and high is not None and low >= 0 and high < g:
                return g, upper, {m: f for m, f in small.items() if f}
        return 1, poly, {}

    def joined(self, poly: Poly) -> Poly:
        """Neighbouring digits of one base as one digit, and `c·(x % n) + c·n·(x // n)` as `c·x`."""
        while len(poly) <= LAST:
            found = next((new for low in poly if (new := self.neighbour(poly, low) or self.whole(poly, low)) is not None), None)
            if found is None:
                break
            poly = found
        return poly

    def neighbour(self, poly: Poly, low: tuple[Term, ...]) -> Poly | None:
        """A polynomial with one of its digits and the next one of the same base joined."""
        if len(low) != 1:
            return None
        base, a, b = digit(low[0])
        for high in [m for m in poly if b is not None and len(m) == 1 and poly[m] == poly[low] * b]:
            other, a2, b2 = digit(high[0])
            if b is not None and other == base and a2 == a * b:
                rest = {m: f for m, f in poly.items() if m not in (low, high)}
                joint = self.shortened(made(base, a, None if b2 is None else b * b2))
                return plus(rest, {m: f * poly[low] for m, f in joint.items()})
        return None

    def whole(self, poly: Poly, low: tuple[Term, ...]) -> Poly | None:
        """A polynomial with a remainder and its quotient put together."""
        match low:
            case (Op("mod", (x, Num(int(n)))),) if n > 0 and poly.get((x,)) == -poly[low]:  # x − x % n is (x // n)·n
                rest = {m: f for m, f in poly.items() if m not in (low, (x,))}
                return plus(rest, {m: -f * n * poly[low] for m, f in self.quotient(polynomial(x), n).items()})
            case (Op("mod", (x, Num(int(n)))),) if n > 0:
                quotient = self.quotient(polynomial(x), n)
                for atom in [m for m in quotient if len(m) == 1 and quotient[m] == 1]:
                    if poly.get(atom) == poly[low] * n:
                        rest = {m: f for m, f in poly.items() if m not in (low, atom)}
                        others = {m: f * poly[low] * n for m, f in quotient.items() if m != atom}
                        return plus(plus(rest, polynomial(x), poly[low]), others, -1)
        return None

    def shortened(self, term: Term) -> Poly:
        """A digit as a polynomial: without `%` where its base is too short for it."""
        base, a, b = digit(term)
        _, high = self.interval(polynomial(base))
        low, _ = self.interval(polynomial(base))
        if b is not None and low is not None and high is not None and low >= 0 and high // a < b:
            b = None
        return polynomial(base) if (a, b) == (1, None) else {(made(base, a, b),): 1}
