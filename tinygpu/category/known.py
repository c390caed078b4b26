"""What is known where an index term stands: the box that it lives on, and facts as polynomials that are not negative.

Comes in: extents of axes, and conditions that hold. Goes out: `Known`. The one idea: a comparison is a polynomial that is at least 0; every
variable that is no axis is a size and not negative, and a polynomial over the sizes is seen to be not negative when it has no negative
coefficient once each atom is written as its least value and a rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from tinygpu.category.linear import ONE, Monomial, Polynomial, constant, number, plus, polynomial, replace_atoms, scaled
from tinygpu.category.node import kept
from tinygpu.category.operation import COMPLEMENT
from tinygpu.category.term import BOOL, INDEX, App, Axis, Const, Term, Var, children, conjuncts, negation, variables
from tinygpu.category.text import sorting
from tinygpu.record import dataclass, field

if TYPE_CHECKING:
    from tinygpu.category.region import Region

Extents = Mapping[str, Term]
FEW, MANY = 100, 6000  # parts of a term, written out


@dataclass(frozen=True, slots=True)
class Sizes:
    """Polynomials that are not negative at any point, with what of each is taken away, least values of atoms over the sizes, remainders that are 0."""

    facts: tuple[Polynomial, ...]
    negative: tuple[frozenset[Monomial], ...]
    least: Mapping[Term, int]
    zeros: frozenset[Term]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known where a term stands: the extents of axes, facts, and those facts as polynomials that are not negative, with what of each is
    taken away; and what terms are there, by their identity, since it matters which of equal ones it is.

    All of it is so at the points of the box; an empty box has no points, so there anything may be said.
    """

    extents: Extents
    given: frozenset[Term] = frozenset()
    forms: tuple[Polynomial, ...] = ()
    negative: tuple[frozenset[Monomial], ...] = ()
    settled: dict[int, tuple[Term, Term]] = field(default_factory=dict, compare=False, repr=False)
    further: dict[Term, Known] = field(default_factory=dict, compare=False, repr=False)
    decided: dict[Term, bool | None] = field(default_factory=dict, compare=False, repr=False)
    ranges: dict[Term, tuple[Polynomial | None, Polynomial | None]] = field(default_factory=dict, compare=False, repr=False)
    most: dict[Term, Polynomial | None] = field(default_factory=dict, compare=False, repr=False)
    natural: dict[Term, bool] = field(default_factory=dict, compare=False, repr=False)
    looked: list[Sizes] = field(default_factory=list, compare=False, repr=False)

    @staticmethod
    def of(extents: Extents, given: frozenset[Term] = frozenset()) -> Known:
        """The same object where the same is known, as far as it is remembered; its forms are in the order of the facts' texts, whichever was
        made first: what is tried one after the other is the same in every process.

        >>> known = Known.of({}, frozenset(Var(name) >= 1 for name in "srqpon"))
        >>> known.forms == tuple(polynomial(Var(name) - 1) for name in "nopqrs")
        True
        """
        return _known(tuple(extents.items()), given)

    @staticmethod
    def at(region: Region) -> Known:
        """What a region says."""
        return Known.of(region.extents, frozenset(part for guard in region.guard for part in conjuncts(guard)))

    def under(self, condition: Term) -> Known:
        """What is known where a condition holds too."""
        if condition not in self.further:
            self.further[condition] = Known.of(self.extents, self.given.union(conjuncts(condition)))
        return self.further[condition]

    def within(self, condition: Term, branch: Term) -> Known:
        """What is known in a branch that is taken where a condition holds; of one that is very large no more than around it."""
        if branch.parts < FEW:
            return self.under(condition)
        return self if branch.parts > MANY or idle(condition, branch) else self.under(condition)

    def inside(self, axes: tuple[Axis, ...]) -> Known:
        """What is known inside of a fold: its axes hide all that is known of others of their names."""
        names = {a.name for a in axes}
        ranges = (*((name, e) for name, e in self.extents.items() if name not in names), *((a.name, a.extent) for a in axes))
        given = frozenset(fact for fact in self.given if not names & variables(fact))
        return Known.of({name: extent for name, extent in ranges if not names & variables(extent)}, given)

    @property
    def sizes(self) -> Sizes:
        """What it says of the sizes, found when it is first asked."""
        if not self.looked:
            self.looked.append(_sizes(self))
        return self.looked[0]

    def constant(self, term: Term) -> bool:
        """Whether no axis occurs in a term: it is one number, or a size."""
        return variables(term).isdisjoint(self.extents)

    def positive(self, p: Polynomial) -> bool:
        """Whether a polynomial over the sizes is seen to be never negative.

        >>> n = Var("n")
        >>> Known.of({"i": n}).positive(polynomial(n - 1)), Known.of({}).positive(polynomial(n - 1))
        (True, False)
        """
        less = [m for m, c in p.items() if c < 0 and m]
        longer = [n for n, c in p.items() if c > 0 and len(n) > 1] if less else []
        # where an atom is as much more than its least value as it likes, only longer products make up for one
        if not all(any(len(n) > len(m) and set(m) <= set(n) for n in longer) for m in less):
            return False
        least = {a: self.least(a) for m in p for a in m}
        if None in least.values():
            return False
        if any(least.values()) and min(p.values()) < 0:
            p = replace_atoms(p, lambda a: plus({(a,): 1}, constant(least[a] or 0)))
        return all(c >= 0 for c in p.values())

    def least(self, atom: Term) -> int | None:
        """The least value known of an atom over the sizes.

        >>> c, g = Var("c"), Var("g")
        >>> [Known.of({}, frozenset({g >= 1, c >= g - short})).least(c // g) for short in (0, 1)]
        [1, 0]
        """
        if atom in self.sizes.least:
            return self.sizes.least[atom]
        match atom:
            case Var(name):
                return None if name in self.extents else 0
            case App("mod", (_, b)):
                return 0 if self.positive(plus(polynomial(b), ONE, -1)) else None
            case App("max", args):
                forms = tuple(map(polynomial, args))
                return next((n for n in (1, 0) if any(self.positive(plus(p, constant(n), -1)) for p in forms)), None)
            case App("floordiv" | "ceildiv", (a, b)) if self.full(a, b):
                return 1
            case App("floordiv" | "ceildiv", (a, b)) if any(over(polynomial(a), fact) for fact in self.sizes.facts):
                return 0 if self.positive(polynomial(b)) else None
            case App("floordiv" | "ceildiv" | "min" | "xor", (a, b)):
                return 0 if self.positive(polynomial(a)) and self.positive(polynomial(b)) else None
        return None

    def full(self, a: Term, b: Term) -> bool:
        """Whether a fact says that `a // b` is at least 1."""
        more = plus(polynomial(a), polynomial(b), -1)
        return any(over(more, fact) for fact in self.sizes.facts) and self.positive(plus(polynomial(b), ONE, -1))


def apart(p: Polynomial, q: Polynomial) -> int | None:
    """The number `p − q`, None where it is none.

    >>> n = Var("n")
    >>> apart(polynomial(n + 3), polynomial(n)), apart(polynomial(n), polynomial(n * 2))
    (3, None)
    """
    if len(p) - (() in p) != len(q) - (() in q):
        return None
    for monomial, c in q.items():
        if monomial and p.get(monomial) != c:
            return None
    return p.get((), 0) - q.get((), 0)


def over(p: Polynomial, fact: Polynomial) -> bool:
    """Whether a polynomial is one that is not negative, or that and a number."""
    more = apart(p, fact)
    return more is not None and more >= 0


@lru_cache(maxsize=2048)  # what a machine with long loops asks of: with fewer the same is found again and again
def _known(extents: tuple[tuple[str, Term], ...], given: frozenset[Term]) -> Known:
    facts = sorted(given, key=sorting)
    forms = tuple(form for fact in facts for form in nonnegatives(fact))
    return Known(dict(extents), given, forms, tuple(less for fact in facts for less in subtracted(fact)))


def _sizes(known: Known) -> Sizes:
    ends = tuple(plus(polynomial(e), ONE, -1) for e in known.extents.values())
    zeros = set()
    for guard in known.given:
        match guard:
            case App("eq", (App("mod", _) as remainder, Const(0))) | App("eq", (Const(0), App("mod", _) as remainder)):
                zeros.add(remainder)
    least: dict[Term, int] = {}
    for p in ends + known.forms:
        for atom, value in _least(p):
            if known.constant(atom):
                least[atom] = max(least.get(atom, 0), value)
    facts = tuple(p for p in ends + known.forms if number(p) is None)
    return Sizes(facts, tuple(map(taken_away, facts)), least, frozenset(zeros))


@kept
def nonnegatives(fact: Term) -> tuple[Polynomial, ...]:
    """The polynomials that a comparison of indices, or the complement of one, says are not negative; the fact keeps them, since it is given
    again and again.

    >>> nonnegatives(Var("i") < Var("n")) == (polynomial(Var("n") - Var("i") - 1),)
    True
    """
    match fact:
        case App("not", (App(op, args),)) if op in COMPLEMENT:
            return nonnegatives(App(COMPLEMENT[op], args, BOOL))
        case App("lt" | "le" | "gt" | "ge" | "eq" as op, (a, b)) if a.dtype == INDEX == b.dtype:
            rise = plus(polynomial(b), polynomial(a), -1)
            fall = scaled(rise, -1)
            match op:
                case "lt" | "le":
                    return (plus(rise, ONE, -1) if op == "lt" else rise,)
                case "gt" | "ge":
                    return (plus(fall, ONE, -1) if op == "gt" else fall,)
            return rise, fall
    return ()


@kept
def subtracted(fact: Term) -> tuple[frozenset[Monomial], ...]:
    """What each of these polynomials takes away."""
    return tuple(map(taken_away, nonnegatives(fact)))


def taken_away(form: Polynomial) -> frozenset[Monomial]:
    """The monomials with a negative coefficient."""
    return frozenset(m for m, c in form.items() if c < 0)


def _least(p: Polynomial) -> Iterator[tuple[Term, int]]:
    """Least values that a fact `c·m − d ≥ 0` tells: of one atom exactly, where `d > 0` of the factors of a product 1, if none is negative,
    and of what is divided.

    What variables take away from `c·m` is not negative, and `c·m` is as large without it.
    """
    p = {m: c for m, c in p.items() if c > 0 or not m or not all(isinstance(atom, Var) for atom in m)}
    monomials = [m for m in p if m]
    if len(monomials) != 1 or p[monomials[0]] < 0 or p.get((), 0) > 0:
        return
    (monomial,) = monomials
    if not p.get((), 0):  # a quotient may be negative, a variable never is
        yield from ((atom, 0) for atom in monomial if len(monomial) == 1)
        return
    for atom in monomial if len(monomial) == 1 or all(map(natural, monomial)) else ():
        value = -(p[()] // p[monomial]) if len(monomial) == 1 else 1
        yield atom, value
        match atom:
            case App("floordiv", (Var() as x, Const(int(by)))) if by > 0:
                yield x, value * by
            case App("ceildiv", (Var() as x, Const(int(by)))) if by > 0:
                yield x, (value - 1) * by + 1
            case App("floordiv" | "ceildiv", (Var() as x, Var())):
                yield x, 1


def natural(term: Term) -> bool:
    """Whether an index is seen to be never negative: sizes and axes are not, an integer of the data may be.

    >>> from tinygpu.category.term import Read
    >>> n, k = Var("n"), App("cast", (Read("k", (), "i32"),))
    >>> natural(n // 4 * n), natural(n * k)
    (True, False)
    """
    match term:
        case Const(value):
            return value >= 0
        case App("add" | "mul" | "mod" | "floordiv" | "ceildiv" | "min" | "max", args, "index"):
            return all(map(natural, args))
    return isinstance(term, Var)


@kept
def tests(term: Term) -> frozenset[Term]:
    """The conditions in a term."""
    inside = frozenset[Term]().union(*map(tests, children(term)))
    return inside | {term} if term.dtype == BOOL and not isinstance(term, Const) else inside


def idle(condition: Term, branch: Term) -> bool:
    """Whether a condition decides nothing in a branch: it says nothing of indices, and is not tested there again."""
    parts = conjuncts(condition)
    return not any(map(nonnegatives, parts)) and tests(branch).isdisjoint({*parts, *map(negation, parts)})
