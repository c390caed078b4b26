"""Places, and what is to be shown at them: every step of the checker that needs a reason leaves a claim behind.

Comes in: a place (axes around it, facts known at it) and a goal. Goes out: whether it holds, with the claim written down.
The one idea: the execution asks one solver while it goes its way; what it relied on is then put to both, like every other claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tinygpu.diagnostic import Span
from tinygpu.record import dataclass, field
from tinygpu.replay import laws, smt, solve
from tinygpu.replay.ir import (
    BOOL,
    FALSE,
    TRUE,
    Axis,
    Claim,
    Fold,
    Names,
    Op,
    Open,
    Read,
    Stated,
    Term,
    Unsupported,
    Var,
    both,
    conjuncts,
    free,
    put,
    rebuild,
    select,
    walk,
    within,
)
from tinygpu.replay.linear import Ranges
from tinygpu.replay.monoids import IDEMPOTENT
from tinygpu.replay.program import Machine
from tinygpu.replay.symbols import plain

STEER = 1_500_000  # z3's steps for a question that only decides where to go
STEER_CVC5 = 100_000  # and cvc5's


@dataclass(frozen=True, slots=True)
class Place:
    """Where something happens: `0 ≤ axis < extent` for all axes, and the facts."""

    axes: tuple[Axis, ...]
    facts: tuple[Term, ...] = ()

    def under(self, *facts: Term) -> Place:
        more = tuple(p for f in facts for p in conjuncts(f) if p not in self.facts)
        return Place(self.axes, self.facts + more) if more else self

    def inside(self, *axes: Axis) -> Place:
        return Place(self.axes + axes, self.facts) if axes else self


class Stuck(Exception):
    """Something that this checker cannot state; the message says what."""


@dataclass(slots=True)
class Judge:
    """What was claimed so far. `kind`, `code` and `sentence` are of the property at hand."""

    machine: Machine
    names: Names = field(default_factory=Names)
    claims: dict[Stated, None] = field(default_factory=dict)
    ranges: dict[tuple[Axis, ...], Ranges] = field(default_factory=dict)
    kind: str = ""
    code: str = ""
    sentence: str = ""
    known: dict[tuple[Place, Term, int], Claim | None] = field(default_factory=dict)
    compared: int = 0  # values that were asked whether they are equal

    def ordered(self, monoid: str) -> bool:
        """Whether a monoid has to keep the order of its operands."""
        return monoid in self.machine.monoids and laws.ordered(self.machine.monoids[monoid])

    def idempotent(self, monoid: str) -> bool:
        """Whether a term may come more than once."""
        return monoid in IDEMPOTENT or (monoid in self.machine.monoids and not laws.counts(self.machine.monoids[monoid]))

    def any_order(self, monoid: str) -> None:
        """Whoever comes first updates first: nothing for a monoid that keeps an order."""
        if self.ordered(monoid):
            raise Stuck(f"{monoid} does not commute, and is combined in any order")

    def about(self, kind: str, code: str, sentence: str, span: Span | None = None) -> None:
        """What the claims from here on are about."""
        where = f", line {span.line}" if span is not None and span.line else ""
        self.kind, self.code, self.sentence = kind, code, sentence + where

    def simplify(self, place: Place, term: Term) -> Term:
        """The term in normal form, what the place says of its conditions put in."""
        if place.axes not in self.ranges:
            self.ranges[place.axes] = Ranges.of(place.axes, self.machine.op.sizes)
        ranges = self.ranges[place.axes]
        return ranges.simplify(knowing(ranges.simplify(term), frozenset(place.facts)))

    def claim(self, place: Place, goal: Term) -> Claim:
        """`place ⊢ goal`, with the promises of the data it speaks of, and without folds: each is a symbol of what is free in it."""
        facts = [plain(f) for f in place.facts]
        goal = plain(goal)
        used = self.relevant(place.axes, [*facts, goal])
        if free(goal) and not free(goal) & {a.name for a in place.axes}:
            used = place.axes  # of sizes alone: all that is known of them is that nobody is here where an axis is empty
        facts += self.promised([*facts, goal])
        return Claim(self.kind, self.code, self.sentence, used, tuple(dict.fromkeys((*self.machine.facts, *facts))), goal)

    @staticmethod
    def relevant(axes: tuple[Axis, ...], terms: list[Term]) -> tuple[Axis, ...]:
        """The axes that the terms speak of."""
        wanted = set().union(*map(free, terms)) if terms else set()
        return tuple(a for a in axes if a.name in wanted)

    def promised(self, terms: list[Term]) -> Iterator[Term]:
        """`all[t] P(idx[t])` of the op for every read of `idx` in the terms."""
        reads = dict.fromkeys(t for term in terms for t in walk(term) if isinstance(t, Read))
        for promise in self.machine.op.promises:
            for part in conjuncts(promise):
                if not isinstance(part, Fold) or part.monoid != "all":
                    continue
                for pattern in dict.fromkeys(t for t in walk(part.body) if isinstance(t, Read)):
                    for read in reads:
                        if read.array == pattern.array and all(
                            isinstance(v, Var) and v.name in {b.name for b in part.binders} for v in pattern.index
                        ):
                            env = {v.name: i for v, i in zip(pattern.index, read.index, strict=True) if isinstance(v, Var)}
                            if set(env) == {b.name for b in part.binders}:
                                inside = both(part.guard, *(within(Var(b.name), b.extent) for b in part.binders))
                                yield Op("or", (Op("not", (put(inside, env),), BOOL), put(part.body, env)), BOOL)

    def state(self, place: Place, goal: Term) -> None:
        """Writes a claim down, whether it holds or not: as it was stated, or in normal form where only that is simple enough."""
        for part in conjuncts(goal):
            if part not in place.facts:
                self.best((place, part), (place, self.simplify(place, part)))

    def best(self, *ways: tuple[Place, Term]) -> None:
        """Writes down the first of several claims, each of which is enough, that both solvers prove; else the first one."""
        claims = [self.claim(place, goal) for place, goal in ways]
        for claim in claims:
            if claim.goal == TRUE or self.easy(claim):
                break
        else:
            claim = claims[0]
        if claim.goal != TRUE:
            self.claims[claim] = None

    @staticmethod
    def easy(claim: Claim) -> bool:
        """Whether both solvers prove a claim in a few steps."""
        text = solve.numbered(smt.text(claim))
        return solve.ask_z3(text, STEER) == "unsat" and solve.ask_cvc5(text, STEER_CVC5) in ("unsat", solve.MISSING)

    def open(self, reason: str) -> None:
        """Writes down what could not be stated."""
        self.claims[Open(self.kind, self.code, reason)] = None

    def attempt(self, work: Callable[[], None]) -> None:
        """Does what can be done; what this checker does not know is open."""
        try:
            work()
        except (Stuck, Unsupported) as problem:
            self.open(str(problem))
        except RecursionError:
            self.open("a term that is too deep")

    def decide(self, place: Place, goal: Term, steps: int = STEER) -> bool:
        """Whether the goal holds at the place; if so the claim is written down."""
        goal = self.simplify(place, goal)
        if goal == FALSE and not place.facts:
            return False
        return all(self._holds(place, part, steps) for part in conjuncts(goal))

    def _holds(self, place: Place, goal: Term, steps: int) -> bool:
        if goal in place.facts:
            return True
        if (place, goal, steps) not in self.known:
            claim = self.claim(place, goal)
            said = solve.ask_z3(solve.numbered(smt.text(claim)), steps)
            self.known[place, goal, steps] = claim if said == "unsat" else None
        found = self.known[place, goal, steps]
        if found is not None:
            self.claims[found] = None
        return found is not None

    def impossible(self, place: Place, steps: int = STEER) -> bool:
        """Whether nothing happens at the place."""
        return self.decide(place, FALSE, steps)

    def mark(self) -> int:
        return len(self.claims)

    def back(self, mark: int) -> None:
        """Forgets the claims since a mark: an attempt failed."""
        for claim in list(self.claims)[mark:]:
            del self.claims[claim]


def knowing(term: Term, facts: frozenset[Term], mapping: Mapping[Term, bool] | None = None) -> Term:
    """Conditions of choices that are among the facts, or the opposite of one, are decided."""
    if not facts:
        return term
    match term:
        case Op("select", (condition, then, otherwise)):
            parts = tuple(p for p in conjuncts(knowing(condition, facts)) if p not in facts)
            rest = both(*parts)
            if any(Op("not", (p,), BOOL) in facts or flip(p) in facts for p in parts):
                return knowing(otherwise, facts)
            return select(rest, knowing(then, facts), knowing(otherwise, facts))
        case Fold():
            return term
    return rebuild(term, lambda t: knowing(t, facts))


def flip(term: Term) -> Term:
    """The opposite of a comparison of indices."""
    from tinygpu.replay.polynomials import opposite

    return opposite(term)
