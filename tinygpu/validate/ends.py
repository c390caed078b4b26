"""How far an index term of a kernel's text reaches: its lowest and its highest value, as polynomials over the sizes.

    a·E + x ≤ (a + 1)·E - 1  where x < E        H·x ≤ H·top(x)        x // b ≤ q - 1  where top(x) = q·b + r, r < 0        max(x, y) ≤ the larger top

Comes in: a term, what is known of axes, and guards. Goes out: polynomials. The one idea: an address is made of digits, so its end is found by its form;
what a guard says of a part is said of the whole.
"""

from __future__ import annotations

from functools import lru_cache
from math import gcd

from tinygpu.category.bounds import range_of
from tinygpu.category.decide import decided, nonnegative
from tinygpu.category.known import Known, apart
from tinygpu.category.linear import Polynomial, as_written, constant, number, plus, polynomial, times, without
from tinygpu.category.term import INDEX, App, Const, Term, equal
from tinygpu.record import dataclass
from tinygpu.validate.same import canonical


@lru_cache(maxsize=1 << 12)
def upper_guards(guards: tuple[Term, ...]) -> tuple[tuple[Polynomial, Polynomial], ...]:
    """What guards say is at most what: `x + c < E` as `(x, E − c − 1)`, x without a number; those of longer sums, which say more, first."""
    found = []
    for guard in guards:
        match guard:
            case App("lt" | "le" as op, (a, b)) | App("not", (App("ge" | "gt" as op, (a, b)),)) if a.dtype == INDEX:
                form = polynomial(a)
                left = without(form, ())
                most = plus(polynomial(b), constant(form.get((), 0) + (op in ("lt", "ge"))), -1)
                found.append((left, most))
    return tuple(sorted(found, key=lambda bound: -len(bound[0])))


def whole_guards(guards: tuple[Term, ...], known: Known) -> tuple[tuple[Polynomial, Polynomial], ...]:
    """The same with what is a multiple of a number at most the last one: `4·x < n` says `4·x ≤ n − 4` where 4 divides n.

    >>> from tinygpu.category.term import Var
    >>> x, n = Var("x"), Var("n")
    >>> [whole_guards((x * 4 < n,), Known.of({}, frozenset({equal(n % by, 0)})))[0][1] == polynomial(n - 4) for by in (12, 6)]
    [True, False]
    """
    found = []
    for left, most in upper_guards(guards):
        by, end = gcd(*left.values()), plus(most, constant(1))
        many = by > 1 and number(end) is None and decided(equal(as_written(end) % by, 0), known)
        found.append((left, plus(end, constant(by), -1) if many else most))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Ends:
    """Lowest and highest values of index terms as polynomials over the sizes, by their form.

    `a·E + x` with `x < E` is less than `(a + 1)·E`: that is what an address is.
    """

    known: Known
    below: tuple[tuple[Polynomial, Polynomial], ...]

    def high(self, term: Term) -> Polynomial | None:
        """At least the term, or None."""
        value = polynomial(canonical(term))
        for left, most in self.below:
            times_ = ratio(value, left)
            rest = plus(value, left, -times_) if times_ else value
            if times_ and number(rest) is not None and (end := self._end(left, most)) is not None:
                return plus(rest, end, times_)
        return self._formed(term) or self._factored(value) or self._bounded(value)

    def _end(self, left: Polynomial, most: Polynomial) -> Polynomial | None:
        """The highest value of what a guard says something is at most; another guard may be about that."""
        whole = self._range(most)[1]
        if whole == most:
            return whole
        others = Ends(self.known, tuple(one for one in self.below if one != (left, most)))
        return others.high(as_written(most)) or whole

    def _factored(self, value: Polynomial) -> Polynomial | None:
        """Of a sum of multiples of a size so many times the sum."""
        common = [a for a in next(iter(value), ()) if len(value) > 1 and all(a in m for m in value) and self.known.constant(a)]
        if not common or not self.known.positive({(common[0],): 1}):
            return None
        top = self.high(as_written(divided(value, common[0])[0]))
        return None if top is None else times(top, {(common[0],): 1})

    def _formed(self, term: Term) -> Polynomial | None:
        """By the form of the term."""
        match term:
            case App("add", (App("mul", (a, extent)), x), "index") if not isinstance(extent, Const):
                high, most, size = self.high(a), self.high(x), polynomial(extent)
                if high is None or most is None or not self.known.constant(extent) or not decided(extent >= 0, self.known):
                    return None
                if nonnegative(plus(plus(size, constant(1), -1), most, -1), self.known, moves=1):  # G·(F // G) is at most F
                    end, exact = plus(times(plus(high, constant(1)), size), constant(1), -1), plus(times(high, size), most)
                    return end if number(plus(end, exact, -1)) is None else exact
                return plus(times(high, size), most) if self._natural(a) else None
            case App("add", (a, b), "index"):  # a guard may say more of a part, or of the whole
                left, right, whole = self.high(a), self.high(b), self._bounded(polynomial(canonical(term)))
                parts = None if left is None or right is None else plus(left, right)
                sums = [None if p is None else number(p) for p in (parts, whole)]
                return parts if whole is None or (sums[0] is not None and sums[1] is not None and sums[0] < sums[1]) else None
            case App("mul", (a, b), "index") if self._natural(a) and self._natural(b):
                left, right = self.high(a), self.high(b)
                return None if left is None or right is None else times(left, right)
            case App("floordiv", (a, Const(int(n))), "index") if n > 0:
                inner = polynomial(a)
                top = self.high(a)
                if top is not None and all(c % n == 0 for m, c in top.items() if m):  # n·q + r, of which r is a number
                    return {m: c // n for m, c in top.items() if c // n}
                over = inner.get((), 0)
                low, high = self._range(without(inner, ()))
                if low is not None and self.known.positive(low) and 0 <= over < n:
                    return high  # (x + n − 1) // n is at most x
            case App("floordiv", (a, by), "index") if self.known.constant(by) and (top := self.high(a)) is not None:
                quotient, rest = divided(top, by)
                if self.known.positive(plus(polynomial(by), constant(1), -1)) and self.known.positive(
                    plus({}, plus(rest, constant(1)), -1)
                ):
                    return plus(quotient, constant(1), -1)
            case App("max", (a, b), "index"):
                left, right = self.high(a), self.high(b)
                if left is not None and right is not None and self.known.positive(plus(left, right, -1)):
                    return left
                return right if left is not None and right is not None and self.known.positive(plus(right, left, -1)) else None
        return None

    def _bounded(self, value: Polynomial) -> Polynomial | None:
        """By a guard about a part of the sum, and intervals for the others; or about a sum that it is a part of; else by intervals."""
        for left, most in self.below:
            if (whole := number(most)) is not None and (part := self._part(value, left)):
                return constant(whole // part)
            digits = in_digits(value, left)
            times_ = ratio(digits, left)
            if times_:
                ends = self._range(plus(digits, left, -times_))[1], self._range(most)[1]
                if ends[0] is not None and ends[1] is not None:
                    return plus(ends[0], ends[1], times_)
        return self._range(value)[1]

    def _part(self, value: Polynomial, left: Polynomial) -> int:
        """How many times the value is at most that sum, whole: 0 if that is not seen."""
        count = min((left.get(m, 0) // c for m, c in value.items() if c > 0), default=0)
        low = self._range(plus(left, value, -count))[0] if count > 0 else None
        return count if low is not None and self.known.positive(low) else 0

    def low(self, term: Term) -> Polynomial | None:
        """At most the term, or None."""
        value = polynomial(canonical(term))
        least = [n for fact in self.known.sizes.facts if (n := apart(value, fact)) is not None]
        if least:
            return constant(max(least))
        match term:
            case App("add", (a, b), "index"):
                left, right = self.low(a), self.low(b)
                if left is not None and right is not None:
                    return plus(left, right)
            case App("mul", (a, b), "index") if self._natural(a) and self._natural(b):
                return {}
        return self._range(value)[0]

    def _natural(self, term: Term) -> bool:
        low = self.low(term)
        return low is not None and self.known.positive(low)

    def _range(self, value: Polynomial) -> tuple[Polynomial | None, Polynomial | None]:
        return range_of(value, self.known)


def in_digits(value: Polynomial, left: Polynomial) -> Polynomial:
    """The sum with `x = n·(x // n) + x % n` for each `x // n` that a guard speaks of.

    >>> from tinygpu.category.term import Var
    >>> x = Var("x")
    >>> in_digits(polynomial(x * 8), polynomial(x // 4)) == polynomial((x // 4) * 32 + x % 4 * 8)
    True
    """
    for (atom,) in (m for m in left if len(m) == 1):
        match atom:
            case App("floordiv", (x, Const(int(n)))) if n > 0 and (count := value.get((x,), 0)):
                value = plus(plus(value, polynomial(x), -count), polynomial(x // n * n + x % n), count)
    return value


def ratio(value: Polynomial, part: Polynomial) -> int:
    """How many times a part stands in a sum, whole: 0 if it does not."""
    counts = {value.get(m, 0) // c if value.get(m, 0) % c == 0 else 0 for m, c in part.items()}
    return max(counts.pop(), 0) if len(counts) == 1 else 0


def divided(value: Polynomial, by: Term) -> tuple[Polynomial, Polynomial]:
    """`(q, r)` with `value = q·by + r`: of each product that has the atom the others.

    >>> from tinygpu.category.term import Var
    >>> h, p = Var("h"), Var("p")
    >>> divided(polynomial(h * p - h), p) == (polynomial(h), polynomial(h * -1))
    True
    """
    quotient: Polynomial = {}
    for monomial, c in value.items():
        if by in monomial:
            at = monomial.index(by)
            quotient[monomial[:at] + monomial[at + 1 :]] = c
    return quotient, {m: c for m, c in value.items() if by not in m}
