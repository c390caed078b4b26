"""The trusted kernel: the only place where a `Proof` is made.

Comes in: a program. Goes out: a `Proof` with one theorem for each obligation of `obligations.state`, or the claims that are left open.
The one idea: a claim is a theorem when the negation of its goal is impossible under its hypotheses, in a fresh solver with a
fixed seed and a budget counted in steps, so the answer is the same on every machine and in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import z3

from tinygpu.category.deadline import about
from tinygpu.category.decide import decided
from tinygpu.category.evaluate import evaluate
from tinygpu.category.known import Known
from tinygpu.category.settle import settle
from tinygpu.category.smtlib import script
from tinygpu.category.solver import solved
from tinygpu.category.term import (
    INDEX,
    TRUE,
    App,
    Const,
    Term,
    Var,
    children,
    variables,
)
from tinygpu.category.text import WRITTEN
from tinygpu.obligations import claims_of
from tinygpu.obligations.obligation import Claim, Gap, Obligation
from tinygpu.program.step import Program
from tinygpu.proof.digits import by_digits
from tinygpu.proof.sample import counterpoint
from tinygpu.record import InitVar, dataclass

BUDGET = 20_000_000  # z3's resource units for one claim: a few seconds
ENOUGH = 24  # open claims
GIVEN_UP = 4  # of them those that the budget was not enough for
FACTORS = 8  # of a product that the solver multiplies out as fast as anything
MANY = 3  # with so many it may take minutes to show what a number drawn at random shows
HASTE = 40  # of the budget such a part is for a claim where another one is known to be false
SLOW = 10  # and such a part where values have more parts than are written out
MOOT = (  # where one of these goes wrong, a program computes nothing that the rest could be about
    "TG203",  # an access is outside
    "TG507",  # an output is updated that nobody has written
    "TG302",  # threads race
    "TG310",  # or meet a copy that is under way
    "TG312",  # or a unit that does not see what they did
    "TG303",  # or wait for each other in vain
    "TG201",  # an element is never stored
    "TG301",  # what is read was never written
)
_KEY = object()


@dataclass(frozen=True, slots=True)
class Theorem:
    """A claim that holds; `method` is structure, z3 or model, `effort` the resource units spent, `witness` where a model is."""

    claim: Claim
    method: str
    effort: int = 0
    witness: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Open:
    """A claim that was not proved: `model` makes it false (names to integers), or is None where the solver gave up for `reason`."""

    claim: Claim
    model: dict[str, int] | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """Every obligation of `program` is a theorem. Only `prove` makes one."""

    program: Program
    theorems: tuple[Theorem, ...]
    key: InitVar[object] = None  # not kept, so that no proof lends it to another one

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("a Proof is made by tinygpu.proof.kernel.prove alone")

    def __repr__(self) -> str:
        return f"<Proof of {self.program.name}: {len(self.theorems)} obligations>"


Result: TypeAlias = Proof | tuple[Open, ...]


def prove(program: Program, budget: int = BUDGET, hasty: bool = False, enough: int = ENOUGH) -> Result:
    """`Program → Proof`, or what is open. No obligation is skipped: one open claim is no proof.

    `hasty` ends at the first claim that makes the rest moot, where the solver has a model against it; and where it has one against any
    other, before what goes wrong at the largest sizes alone, and no longer looks far for the rest. So many open claims are `enough`: one, for who
    only asks whether there is a proof.
    """
    theorems: list[Theorem] = []
    left: list[Open] = []

    def wrong() -> bool:
        return hasty and any(o.model is not None for o in left)

    for claim in claims_of(program, wrong):
        with about(getattr(claim, "sentence", claim.title), claim.labels):
            found = discharge(claim, budget // HASTE if wrong() else budget)
        match found:
            case Theorem() as theorem:
                theorems.append(theorem)
            case open:
                left.append(open)
                if len(left) >= enough or (sum(o.model is None for o in left) >= GIVEN_UP and not wrong()):
                    break  # there is no proof, and what went wrong is among these
                if isinstance(claim, Obligation) and claim.kind == "limits":
                    break  # no GPU runs this machine: the rest is moot, and may be very long (a block of 2³¹ threads)
                if hasty and moot(open):
                    break
    return tuple(left) if left else Proof(program, tuple(theorems), _KEY)


def moot(open: Open) -> bool:
    """Whether nothing else matters while this claim does not hold."""
    return open.claim.code in MOOT and open.model is not None


def discharge(claim: Claim, budget: int = BUDGET) -> Theorem | Open:
    """One claim: by structure where intervals decide it, else by the solver."""
    match claim:
        case Gap():
            return Open(claim, None, claim.reason)
        case Obligation(hypotheses=hypotheses, goal=goal):
            if evident(hypotheses, goal):
                return Theorem(claim, "structure")
            verdict, model, effort = ask(hypotheses, goal, budget)
            if verdict == z3.unsat:
                return Theorem(claim, "z3", effort)
        case existence:
            point = inhabited(existence.hypotheses)
            if point is not None:
                return Theorem(claim, "model", 0, tuple(sorted(point.items())))
            verdict, model, effort = ask(existence.hypotheses, None, budget)
            if verdict == z3.sat:
                return Theorem(claim, "model", effort, tuple(model.items()))
            if verdict == z3.unsat:
                return Open(claim, {})
    if verdict == z3.sat:
        return Open(claim, model)
    return Open(claim, None, f"the budget of {budget:,} solver steps was not enough")


def inhabited(hypotheses: tuple[Term, ...]) -> dict[str, int] | None:
    """A point that comes to mind at which the hypotheses hold: every variable with an extent 0, all others one number, or the least that they may be.

    >>> n, m, i = Var("n"), Var("m"), Var("i")
    >>> inhabited((n % 4 < 1, n >= 1, m >= 8, m >= 1, i >= 0, i < n)), inhabited((n < 1, n >= 1))
    ({'i': 0, 'm': 8, 'n': 4}, None)
    """
    least: dict[str, int] = {}
    for name, low in map(_least, hypotheses):
        least[name] = max(low, least.get(name, 0))
    ranged = {h.args[0].name for h in hypotheses if isinstance(h, App) and h.op == "lt" and isinstance(h.args[0], Var)}
    names = sorted({name for h in hypotheses for name in variables(h)})
    for number in (1, 2, 4, 12, 16, 64, 1024, 65536):
        point = {name: 0 if name in ranged else max(number, least.get(name, 0)) for name in names}
        try:
            if all(evaluate(h, point) for h in hypotheses):
                return point
        except (ValueError, ZeroDivisionError):
            return None
    return None


def _least(hypothesis: Term) -> tuple[str, int]:
    """A variable and a number that a hypothesis says it is at least, if it says that of one."""
    match hypothesis:
        case App("ge", (Var(name), Const(int(low)))):
            return name, low
    return "", 0


@lru_cache(maxsize=1024)  # as of what the solver is asked: the machines of a spec have many in common
def evident(hypotheses: tuple[Term, ...], goal: Term) -> bool:
    """Whether the goal follows from the ranges among the hypotheses alone, or they say that one of the hypotheses is false.

    >>> i = Var("i")
    >>> evident((i >= 0, i < 8), i < 9), evident((i < 8,), i < 9), evident((i >= 0,), i < 9)
    (True, False, False)
    >>> evident((i >= 0, i < 8, App("not", (i < 9,), "bool")), i > 9)
    True
    """
    natural, extents, facts = _ranges(hypotheses)
    if natural is None or not all(v in natural for v in variables(goal) if " " not in v):
        return False
    denied = [h for h in hypotheses if isinstance(h, App) and h.op == "not"]
    if any(decided(h.args[0], Known.of(extents, facts - {h})) for h in denied):
        return True
    return settle(goal, extents, facts) == TRUE or by_digits(goal, extents, hypotheses)


@lru_cache(maxsize=256)
def _ranges(hypotheses: tuple[Term, ...]) -> tuple[frozenset[str] | None, Mapping[str, Term], frozenset[Term]]:
    """The variables that are at least 0 (None where another stands in a hypothesis), their extents, and the hypotheses as facts."""
    natural = frozenset(map(_natural, hypotheses))
    named = frozenset[str]().union(*map(variables, hypotheses))
    extents: dict[str, Term] = {}
    for h in hypotheses:
        match h:
            case App("lt", (Var(name, dtype), extent)) if dtype == INDEX and name not in _reached(extent, extents):
                extents[name] = extent  # where two are bounded by each other, the second is a fact alone
    return natural if all(v in natural for v in named if " " not in v) else None, extents, frozenset(hypotheses)


def _reached(term: Term, extents: Mapping[str, Term]) -> set[str]:
    """The variables of a term, and those that their extents speak of."""
    found, left = set[str](), [term]
    while left:
        new = set(variables(left.pop())) - found
        found |= new
        left += [extents[name] for name in new if name in extents]
    return found


def _natural(hypothesis: Term) -> str:
    """The variable that a hypothesis says is at least 0 (or 1), if it says so."""
    match hypothesis:
        case App("le", (Const(int(low)), Var(name))) | App("ge", (Var(name), Const(int(low)))) if low >= 0:
            return name
    return ""


@lru_cache(maxsize=1024)
def ask(hypotheses: tuple[Term, ...], goal: Term | None, budget: int) -> tuple[Any, dict[str, int], int]:
    """`(unsat | sat | unknown, a model of the integers, resource units)` of `hypotheses ∧ ¬goal`.

    Several accesses, and several machines, give one formula: what has one answer is asked once.
    """
    alike = isinstance(goal, App) and goal.op == "eq" and goal.args[0] == goal.args[1]  # nothing is multiplied out for that
    if goal is not None and not alike and _factors(goal) >= MANY and (point := counterpoint(hypotheses, goal)) is not None:
        return z3.sat, point, 0
    steps = budget if alike else affordable(budget, (*hypotheses, *([] if goal is None else [goal])))
    verdict, model, effort = solved(script(hypotheses, goal), steps)
    return verdict, {} if model is None else integers(model), effort


def affordable(budget: int, terms: Sequence[Term]) -> int:
    """Of a budget as much as takes no longer than it does elsewhere: with long products, and with long values, each of the solver's steps
    is longer.

    >>> from functools import reduce
    >>> x = Var("x", "f32")
    >>> [affordable(BUDGET, (reduce(lambda a, b: App("mul", (a, b), "f32"), [x] * n),)) for n in (8, 16, 40)]
    [20000000, 2500000, 160000]
    """
    longest = max(map(_factors, terms), default=0)
    if any(t.parts > WRITTEN for t in terms):
        budget //= SLOW
    return budget if longest <= FACTORS else max(1, budget * FACTORS**3 // longest**3)


@lru_cache(maxsize=65536)
def _factors(term: Term) -> int:
    """How many factors the longest product in a term has, multiplied out; divisors are some too."""
    inside = [_factors(t) for t in children(term)]
    if isinstance(term, App) and term.op in ("mul", "div"):
        return sum(inside)
    return max((*inside, 0 if isinstance(term, Const) else 1))


def integers(model: Any) -> dict[str, int]:
    """The integers of a model of the solver, by name."""
    found = {d.name(): model[d] for d in model.decls() if d.arity() == 0}
    return {name: value.as_long() for name, value in sorted(found.items()) if z3.is_int_value(value)}
