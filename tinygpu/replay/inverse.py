"""Who writes this cell: equations solved for the axes of a writer, by reading them in mixed radix.

    c₁·d₁ + c₂·d₂ + … = r,  c₁ | c₂ | …       →       dᵢ = r // cᵢ % (cᵢ₊₁ / cᵢ)

Comes in: unknown axes, and equations between terms. Goes out: a term for each unknown, or None. The one idea: an unknown that is cut into
digits is put together again from them. What is found is a guess: whoever uses it proves it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from tinygpu.record import dataclass, field
from tinygpu.replay.ir import INDEX, ONE, ZERO, Axis, Num, Op, Term, Var, free, num, put, rebuild
from tinygpu.replay.linear import Ranges
from tinygpu.replay.polynomials import Poly, back, digit, made, plus, polynomial

ROUNDS = 30
FLAT = "flat thread"


def inverse(
    unknown: tuple[Axis, ...], equations: Iterable[tuple[Term, Term]], block: tuple[Axis, ...], ranges: Ranges
) -> dict[str, Term] | None:
    """A term for each unknown such that the equations hold, as far as can be seen; `block` are the axes that make one number of a thread."""
    wanted = {a.name for a in unknown}
    sizes = [a.extent.value for a in block if isinstance(a.extent, Num)]
    together = len(block) > 1 and len(sizes) == len(block) and wanted >= {a.name for a in block}
    bounds = {**ranges.bounds}
    places: dict[str, Term] = {}
    if together:
        total = 1
        for axis, size in zip(reversed(block), reversed(sizes), strict=True):
            cut = Var(FLAT) if total == 1 else Op("floordiv", (Var(FLAT), num(total)), INDEX)
            total *= int(size)
            places[axis.name] = cut if axis is block[0] else Op("mod", (cut, num(int(size))), INDEX)
        bounds[FLAT] = (0, total - 1)
    for axis in unknown:
        if isinstance(axis.extent, Num):
            bounds[axis.name] = (0, int(axis.extent.value) - 1)
        else:
            bounds.setdefault(axis.name, (0, None))
    names = (wanted - set(places)) | ({FLAT} if places else set())
    solver = Solver(names, Ranges(bounds))
    for left, right in equations:
        solver.add(put(left, places), right)
    found = solver.run()
    for axis in unknown:
        if axis.extent == ONE and axis.name not in found:
            found[axis.name] = ZERO
    if places and FLAT in found:
        found |= {n: ranges.simplify(put(t, {FLAT: found[FLAT]})) for n, t in places.items()}
    return {n: ranges.simplify(found[n]) for n in wanted} if wanted <= set(found) else None


@dataclass(slots=True)
class Solver:
    """Linear equations over unknowns and digits of them."""

    names: set[str]
    ranges: Ranges
    waiting: list[tuple[Poly, Poly]] = field(default_factory=list)
    digits: dict[Term, dict[tuple[int, int | None], Poly]] = field(default_factory=dict)
    halves: dict[tuple[Term, Term], dict[str, Term]] = field(default_factory=dict)
    later: list[tuple[Poly, Poly]] = field(default_factory=list)
    found: dict[str, Term] = field(default_factory=dict)

    def add(self, left: Term, right: Term) -> None:
        self.waiting.append((polynomial(self.ranges.simplify(left)), polynomial(right)))

    def run(self) -> dict[str, Term]:
        """What could be solved."""
        for _ in range(ROUNDS):
            again = [pair for pair in self.waiting if not self.solve(*pair)]
            grown = [base for base in list(self.digits) if self.assemble(base)]
            if len(again) == len(self.waiting) and not grown and not self.rejoin():
                break
            self.waiting, self.later = again + self.later, []
        return self.found

    def known(self, poly: Poly) -> Poly:
        """A polynomial with what was solved put in."""
        term = put(back(poly), self.found)
        for base, digits in self.digits.items():
            for (a, b), value in digits.items():
                term = replaced(term, made(base, a, b), back(value))
        return self.ranges.joined(polynomial(self.ranges.simplify(term)))

    def solve(self, left: Poly, right: Poly) -> bool:
        """One equation, if its unknowns are digits of a number in mixed radix."""
        left = self.known(left)
        mine = {m: f for m, f in left.items() if any(free(atom) & self.names for atom in m)}
        rest = plus(self.known(right), {m: f for m, f in left.items() if m not in mine}, -1)
        if not mine:
            return True
        if any(free(a) & self.names for m in rest for a in m):
            return False
        if any(len(m) != 1 for m in mine):
            return self.strided(mine, rest)
        if all(f < 0 for f in mine.values()):
            mine, rest = {m: -f for m, f in mine.items()}, plus({}, rest, -1)
        mine, flipped = self.mirrored(mine)
        for monomial, high in flipped.items():
            rest = plus(rest, {(): mine[monomial] * high})
        order = sorted(mine, key=lambda m: mine[m])
        factors = [mine[m] for m in order]
        if factors[0] <= 0 or any(b % a or a == b for a, b in pairwise(factors)):
            return False
        whole = back(rest)
        for place, monomial in enumerate(order):
            c = factors[place]
            value = whole if c == 1 else Op("floordiv", (whole, num(c)), INDEX)
            if place + 1 < len(order):
                value = Op("mod", (value, num(factors[place + 1] // c)), INDEX)
            if monomial in flipped:
                value = Op("sub", (num(flipped[monomial]), value), INDEX)
            self.assign(monomial[0], self.ranges.simplify(value))
        return True

    def strided(self, mine: Poly, rest: Poly) -> bool:
        """The same where strides have known terms in them: each divides the next, and what is left of a number is cut again."""
        strides: list[tuple[Term, tuple[Term, ...], int]] = []  # the unknown, and its stride
        for monomial, factor in mine.items():
            unknown = [a for a in monomial if free(a) & self.names]
            if len(unknown) != 1 or factor <= 0:
                return False
            strides.append((unknown[0], tuple(a for a in monomial if a != unknown[0]), factor))
        strides.sort(key=lambda s: (len(s[1]), s[2]))
        left, number = back(rest), 1
        terms: tuple[Term, ...] = ()
        values: list[Term] = []
        for place, (_, more, factor) in enumerate(strides):
            if more[: len(terms)] != terms or factor % number or (place and (more, factor) == (terms, number)):
                return False
            size = back({more[len(terms) :]: factor // number})
            if place:
                values.append(Op("mod", (left, size), INDEX))
            left = left if size == ONE else Op("floordiv", (left, size), INDEX)
            terms, number = more, factor
        for (atom, _, _), value in zip(strides, (*values, left), strict=True):
            self.assign(atom, self.ranges.simplify(value))
        return True

    def mirrored(self, poly: Poly) -> tuple[Poly, dict[tuple[Term, ...], int]]:
        """A polynomial with `c·(high − u)` for `−c·u`, and the greatest values of these u."""
        found, flipped = dict(poly), {}
        for monomial, factor in poly.items():
            high = self.ranges.atom(monomial[0])[1]
            if factor < 0 and high is not None:
                found[monomial], flipped[monomial] = -factor, high
        return found, flipped

    def assign(self, atom: Term, value: Term) -> None:
        """An unknown, or a digit of something unknown."""
        if isinstance(atom, Var):
            self.found[atom.name] = value
            return
        match atom:
            case Op("floordiv" | "mod" as op, (number, divisor)) if not isinstance(divisor, Num):
                self.halves.setdefault((number, divisor), {})[op] = value
                return
        base, a, b = digit(atom)
        self.digits.setdefault(base, {})[a, b] = polynomial(value)

    def rejoin(self) -> bool:
        """`x = (x // n)·n + x % n` for an n that is no number."""
        for (number, divisor), parts in list(self.halves.items()):
            if len(parts) == 2:
                del self.halves[number, divisor]
                whole = Op("add", (Op("mul", (parts["floordiv"], divisor), INDEX), parts["mod"]), INDEX)
                self.later.append((polynomial(number), polynomial(whole)))
                return True
        return False

    def assemble(self, base: Term) -> bool:
        """A number from its digits, once there is one for each place."""
        parts = self.digits[base]
        total: Poly = {}
        weight = 1
        _, high = self.ranges.interval(polynomial(base))
        for (a, b), value in sorted(parts.items(), key=lambda p: p[0][0]):
            if a != weight:
                return False
            total = plus(total, value, a)
            weight = -1 if b is None else a * b
        if weight != -1 and (high is None or weight <= high):
            return False
        del self.digits[base]
        if isinstance(base, Var):
            self.found[base.name] = self.ranges.simplify(back(total))
        else:
            self.later.append((polynomial(base), total))
        return True


def replaced(term: Term, old: Term, new: Term) -> Term:
    """One term in the place of another."""
    return new if term == old else rebuild(term, lambda t: replaced(t, old, new))


def equations_in(guards: Iterable[Term], unknown: Iterable[str]) -> list[tuple[Term, Term]]:
    """The equations among guards that speak of the unknowns, these on the left."""
    names = set(unknown)
    found: list[tuple[Term, Term]] = []
    for guard in guards:
        match guard:
            case Op("eq", (a, b)) if a.dtype == INDEX == b.dtype:
                if free(a) & names and not free(b) & names:
                    found.append((a, b))
                elif free(b) & names and not free(a) & names:
                    found.append((b, a))
    return found
