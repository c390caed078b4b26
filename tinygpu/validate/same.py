"""Whether two terms of the machine are equal at every point of a place: what the text says, and what the program says.

    hypotheses ⊢ t = p        index terms as integers, guards as truth values; values operation by operation, with + and × commuting

Comes in: two terms, and what is known where they stand. Goes out: whether they are equal, seen or proved.
The one idea: values are compared by their form, so that floats are the same to the last bit; only what is inside of them, an index or a
guard, is a question to the solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import takewhile
from math import gcd

import z3

from tinygpu.category.bounds import range_of
from tinygpu.category.decide import holds as decide
from tinygpu.category.known import Known
from tinygpu.category.linear import as_written, plus, polynomial, replace_atoms, term_of
from tinygpu.category.region import Region, ranges
from tinygpu.category.settle import settle, shared
from tinygpu.category.term import (
    BOOL,
    FALSE,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    equal,
    exchange,
    memoised,
    negation,
    reads,
    rebuild,
    variables,
    walk,
)
from tinygpu.obligations.facts import instances
from tinygpu.obligations.truncated import truncated, truncates
from tinygpu.proof.kernel import ask
from tinygpu.record import dataclass, replace
from tinygpu.validate.swizzle import swizzle_of

BUDGET = 4_000_000  # z3's resource units for one question: what is true of kernels takes a hundredth of it
COMMUTE = ("add", "mul")


@lru_cache(maxsize=1 << 16)
def canonical(term: Term) -> Term:
    """The term with its index terms as polynomials in one order, and divisions that round up as ones that round down.

    >>> i, n = Var("i"), Var("n")
    >>> canonical(4 * i + 8 - i) == canonical((i + 4) + (i + 4) + i), canonical(App("ceildiv", (n, Const(4)))) == canonical((n + 3) // 4)
    (True, True)
    """
    match term:
        case App("ceildiv", (a, b), "index"):
            return canonical((a + b - 1) // b)
        case App("and", args):
            return conjunction(*map(canonical, args))
        case App("ne", (App("cast", (inner,)), Const(0))) if inner.dtype == BOOL:
            return canonical(inner)
        case App("add" | "sub" | "mul" | "neg", _, "index"):
            form = polynomial(term)
            inside = {atom: canonical(atom) for m in form for atom in m}
            same = all(atom is new for atom, new in inside.items())
            return term_of(form if same else replace_atoms(form, lambda atom: polynomial(inside[atom])))
    return rebuild(term, canonical)


@dataclass(frozen=True, slots=True)
class Here:
    """What is known at a place: the axes around it, the guards it is under, and what the launcher has seen to."""

    axes: tuple[Axis, ...] = ()
    guards: tuple[Term, ...] = ()
    given: tuple[Term, ...] = ()
    promises: tuple[Term, ...] = ()

    def under(self, guard: Term) -> Here:
        """The same place where a guard holds too."""
        more = tuple(c for c in map(canonical, conjuncts(guard)) if c not in self.guards)
        return replace(self, guards=self.guards + more)

    def inside(self, axis: Axis) -> Here:
        """The same place inside a loop."""
        return replace(self, axes=(*(a for a in self.axes if a.name != axis.name), axis))

    @property
    def facts(self) -> tuple[Term, ...]:
        """All of it as guards."""
        return ranges(self.axes) + self.guards + self.given

    @property
    def box(self) -> Region:
        """The facts that are about axes and sizes alone."""
        return boxed(self.axes, (*self.guards, *self.given))

    @property
    def known(self) -> Known:
        """What is known there of indices."""
        return known_at(self.axes, (*self.guards, *self.given))

    def about(self, *terms: Term) -> tuple[Term, ...]:
        """The facts that serve for terms, with what is promised of the data that they read."""
        read = tuple(dict.fromkeys(r for t in terms for r in reads(t)))
        said = [fact for promise in self.promises for fact in instances(promise, read)] if read else []
        said += [fact for t in terms for part in walk(t) if truncates(part) for fact in truncated(part)]
        return relevant((*self.facts, *said), terms)

    def holds(self, goal: Term) -> bool:
        """Whether a guard is seen, or proved, to hold here."""
        goal = canonical(goal)
        if goal == TRUE or goal in self.guards:
            return True
        extents = {a.name: a.extent for a in self.axes}
        seen = settle(goal, extents, frozenset((*self.guards, *self.given)))
        if isinstance(seen, Const):
            return seen == TRUE or self.impossible()
        return all(decide(part, self.box) or self._proved(part) for part in conjuncts(seen))

    def _proved(self, goal: Term) -> bool:
        return ask(self.about(goal), goal, BUDGET)[0] == z3.unsat

    def impossible(self) -> bool:
        """Whether nothing ever comes here."""
        return FALSE in self.guards or ask(self.facts, FALSE, BUDGET)[0] == z3.unsat

    @memoised
    def same(self, t: Term, p: Term) -> bool:
        """Whether two terms are equal here."""
        t, p = canonical(t), canonical(p)
        if t == p:
            return True
        if t.dtype != p.dtype:
            return False
        if t.dtype == INDEX:
            return self._same_index(t, p)
        if t.dtype == BOOL:
            return self._same_guard(t, p)
        return self._same_value(t, p) or (
            (sides := (self._settled(t), self._settled(p))) != (t, p) and self._same_value(*sides)
        )  # an access that is left out where a border is far is left out of all that it stands in

    def _settled(self, term: Term) -> Term:
        """The term without the conditions that are decided here."""
        return canonical(settle(term, {a.name: a.extent for a in self.axes}, frozenset((*self.guards, *self.given))))

    def _same_index(self, t: Term, p: Term) -> bool:
        if not all(any(self._same_read(r, q) for q in reads(p)) for r in reads(t)):
            return False
        if any(isinstance(part, App) and part.op == "xor" for part in walk(t)):
            match swizzle_of(t), swizzle_of(p):
                case (a, how), (b, as_theirs) if how == as_theirs and self.same(a, b):
                    return True
            t, p = (canonical(self._swizzled(side)) for side in (t, p))
            if t != p:
                t, p = self._matched(t, p)
        return t == p or self.holds(equal(t, p))

    def _matched(self, t: Term, p: Term) -> tuple[Term, Term]:
        """Two terms in which what is exchanged bit by bit has a name, where it is of equal numbers."""
        ours, theirs = ([part for part in walk(side) if isinstance(part, App) and part.op == "xor"] for side in (t, p))
        pairs = [(a, b) for a in ours for b in theirs if a != b and all(map(self.same, a.args, b.args))]
        return exchange(t, dict(pairs)), p

    @memoised
    def _swizzled(self, term: Term) -> Term:
        """`(a + d) ^ m` as `(a ^ m) + d`, where a and m are multiples of a power of two and d is less: bits that do not meet."""
        match rebuild(term, self._swizzled):
            case App("xor", (x, mask)):
                extents = {a.name: a.extent for a in self.axes}
                mask = settle(mask, extents, frozenset(self.guards))
                factor = gcd(*polynomial(mask).values())
                power = factor & -factor
                form = polynomial(x)
                low = as_written(shared(form, power)[1]) if power else x
                if power and self.holds(conjunction(low >= 0, low < power)):
                    return (canonical(as_written(plus(form, polynomial(low), -1))) ^ canonical(mask)) + low
                if power > 1:
                    return (canonical(x // power * power) ^ canonical(mask)) + x % power
                return canonical(x) ^ canonical(mask)
            case same:
                return same

    def _same_read(self, r: Read, q: Read) -> bool:
        return r.tensor == q.tensor and len(r.index) == len(q.index) and all(map(self.same, r.index, q.index))

    def _same_guard(self, t: Term, p: Term) -> bool:
        """Guards by their parts; where these differ, each has to imply the other. What reads memory reads it in the same place."""
        match t, p:
            case App("and" | "or" as op, left), App(op2, right) if op == op2 and len(left) == len(right):
                if all(map(self.same, left, right)):
                    return True
            case App("not", (a,)), App("not", (b,)):
                return self.same(a, b)
            case App(op, (a, b)), App(op2, (c, d)) if op == op2 and a.dtype == c.dtype and op not in ("and", "or"):
                if self.same(a, c) and self.same(b, d):
                    return True
        if reads(t) or reads(p) or not all(_arithmetic(x) for x in (t, p)):
            return False
        return self.under(t).holds(p) and self.under(p).holds(t)

    def _same_value(self, t: Term, p: Term) -> bool:
        match t, p:
            case Read(), Read():
                return self._same_read(t, p)
            case App("select", (c, a, b)), App("select", (d, x, y)) if self.same(c, d):
                return self.under(c).same(a, x) and self.under(negation(c)).same(b, y)
            case (App("select", (c, a, b)), _) if not reads(c):
                return self._either(c, a, p, b, p)
            case (_, App("select", (c, a, b))) if not reads(c):
                return self._either(c, t, a, t, b)
            case App(op, args), App(op2, others) if op == op2 and len(args) == len(others):
                if all(map(self.same, args, others)):
                    return True
                return op in COMMUTE and len(args) == 2 and all(map(self.same, args, reversed(others)))
        return False

    def _either(self, c: Term, a: Term, x: Term, b: Term, y: Term) -> bool:
        """`a = x` where the guard holds, `b = y` where it does not; what no point comes to is equal to anything."""
        return all(
            side.same(left, right) or side.impossible()
            for side, left, right in ((self.under(c), a, x), (self.under(negation(c)), b, y))
        )


def parted(guard: Term, wanted: Term) -> tuple[Term, Term, Term, Term]:
    """A condition and the program's by what they ask of indices, which may be asked elsewhere too, and what of data: of the condition what it asks first, and the rest;
    of the program's both."""
    first = [*takewhile(lambda c: not reads(c), conjuncts(guard))]
    indices = conjunction(*(c for c in conjuncts(wanted) if not reads(c)))
    return (
        conjunction(*first),
        conjunction(*conjuncts(guard)[len(first) :]),
        indices,
        conjunction(*filter(reads, conjuncts(wanted))),
    )


def _arithmetic(term: Term) -> bool:
    """Whether a guard is about index terms alone, of which the solver knows everything."""
    return all(part.dtype in (INDEX, BOOL) for part in walk(term))


@lru_cache(maxsize=1 << 12)
def known_at(axes: tuple[Axis, ...], guards: tuple[Term, ...]) -> Known:
    """What axes and guards say of indices."""
    return Known.at(boxed(axes, guards))


@lru_cache(maxsize=1 << 12)
def boxed(axes: tuple[Axis, ...], guards: tuple[Term, ...]) -> Region:
    """Axes and guards that are about no data. Where `0 ≤ x < E` the extent E is at least 1: said here, as bounds of products need it."""
    plain_ = tuple(g for g in guards if not reads(g))
    known = Known.at(Region(axes, plain_))
    more = []
    for guard in plain_:
        match guard:
            case App("lt", (x, extent)) if isinstance(x, App | Var) and x.dtype == INDEX and variables(extent):
                low = range_of(polynomial(x), known)[0]
                if App("ge", (x, Const(0)), BOOL) in plain_ or (low is not None and known.positive(low)):
                    more.append(App("ge", (extent, Const(1)), BOOL))
                    more += [App("ge", (v, Const(1)), BOOL) for v in walk(extent) if isinstance(v, Var) and _product(extent)]
    return Region(axes, (*plain_, *more))


def _product(term: Term) -> bool:
    """Whether a term is a product of names and numbers, so that none of them is 0 where the term is not."""
    return all(isinstance(t, Const | Var) or (isinstance(t, App) and t.op == "mul") for t in walk(term))


def relevant(known: tuple[Term, ...], terms: tuple[Term, ...]) -> tuple[Term, ...]:
    """The facts that share a variable with the terms, or with one that does: the others are no help, and cost."""
    return tuple(_connected(known, frozenset().union(*map(variables, terms))))


def _connected(known: tuple[Term, ...], names: frozenset[str]) -> Iterator[Term]:
    reached, changed = set(names), True
    while changed:
        changed = False
        for fact in known:
            mine = variables(fact)
            if mine & reached and not mine <= reached:
                reached |= mine
                changed = True
    return (fact for fact in known if not variables(fact) or variables(fact) & reached)
