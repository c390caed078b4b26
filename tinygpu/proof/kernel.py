"""The trusted kernel: the only place where a `Proof` is made.

Comes in: a program. Goes out: a `Proof` with one theorem for each obligation of `obligations.state`, or the claims that are left open.
The one idea: a claim is a theorem when the negation of its goal is impossible under its hypotheses, in a fresh solver with a
fixed seed and a budget counted in steps, so the answer is the same on every machine and in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

import z3

from tinygpu.category.deadline import about
from tinygpu.category.evaluate import evaluate
from tinygpu.category.smtlib import script
from tinygpu.category.solver import CLOCK, solved
from tinygpu.category.term import App, Const, Term, children, reads, text, variables
from tinygpu.category.text import WRITTEN
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.obligations import claims_of, claims_of_family, claims_of_point
from tinygpu.obligations.obligation import Claim, Gap, Obligation
from tinygpu.program.numbers import at_point
from tinygpu.program.step import Program
from tinygpu.proof.evident import evident as evident
from tinygpu.proof.evident import inhabited as inhabited
from tinygpu.proof.sample import counterpoint
from tinygpu.record import InitVar, Pictured, dataclass, field, replace

BUDGET = 20_000_000  # z3's resource units for one claim: a few seconds
ENOUGH = 24  # open claims
GIVEN_UP = 4  # of them those that the budget was not enough for
FACTORS = 8  # of a product that the solver multiplies out as fast as anything
MANY = 3  # with so many it may take minutes to show what a number drawn at random shows
LONG = 400  # and so with so many parts, as where bits are mixed again and again
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
class Proof(Pictured):
    """Every obligation of `program` is a theorem. Only `prove` makes one, and `Family.at`: then the theorems with `numbers` are of all of them."""

    program: Program
    theorems: tuple[Theorem, ...]
    key: InitVar[object] = None  # not kept, so that no proof lends it to another one
    numbers: tuple[tuple[str, int], ...] = ()

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("a Proof is made by tinygpu.proof.kernel.prove alone")

    def __repr__(self) -> str:
        return f"<Proof of {self.program.name}: {len(self.theorems)} obligations>"


class Source(Protocol):
    """Who made the program of a family: what is said of its points, on which no proof rests."""

    def program(self, numbers: Mapping[str, int]) -> Program: ...
    def points(self, limit: int, without: Iterable[Any]) -> Iterator[dict[str, int]]: ...
    def broken(self, program: Program, open: Open) -> Diagnostic: ...


@dataclass(frozen=True, slots=True)
class Family:
    """The obligations of a `program` whose free `numbers` are sizes of its op are theorems, but for those of a point. Only `prove_family` makes one."""

    program: Program
    numbers: tuple[str, ...]
    theorems: tuple[Theorem, ...]
    source: Source = field(compare=False, repr=False)
    key: InitVar[object] = None

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("a Family is made by tinygpu.proof.kernel.prove_family alone")

    def __repr__(self) -> str:
        return f"<Family of {self.program.name}, all {', '.join(self.numbers)}: {len(self.theorems)} obligations>"

    def at(self, **numbers: int) -> Proof:
        """The proof of the machine with these numbers: of the family's program with the numbers in it; where the machine has another one there (of a loop
        of 1, of wide copies), of that by itself. Raises TinygpuError: TG167 for other names, and where what is asked of the numbers is false, else
        with the code of what this point breaks."""
        found = self.point(numbers)
        if isinstance(found, Proof):
            return found
        raise TinygpuError(*(self.source.broken(self.program, open) for open in found))

    def points(self, limit: int, without: Iterable[Any] = ()) -> Iterator[dict[str, int]]:
        """At most so many points where what is asked of the numbers holds, smallest first, without those that nogoods exclude."""
        return self.source.points(limit, without)

    def point(self, numbers: Mapping[str, int], budget: int = BUDGET) -> Result:
        """The same, or what is open of the claims of a point. Raises TG167."""
        if numbers.keys() != {*self.numbers} or any(type(n) is not int or n < 0 for n in numbers.values()):
            help = f"give a whole number for each of {', '.join(self.numbers)}"
            raise TinygpuError.of(
                "TG167", f"{self.program.name} has no point with {_point(numbers)}", self.program.span, "this one", help
            )
        facts = (f for f in self.program.where if variables(f) <= numbers.keys() and not reads(f))
        for fact in (f for f in facts if not _true(f, numbers)):
            title = f"{self.program.name} has no point with {_point(numbers)}"
            raise TinygpuError.of("TG167", title, self.program.span, f"{text(fact)} does not hold", "give other numbers")
        program = self.source.program(numbers)
        if program != replace(at_point(self.program, numbers), name=program.name):
            return prove(program, budget, enough=1)
        theorems, left = _settled(claims_of_point(program), budget, CLOCK, 1)
        return left or Proof(program, self.theorems + theorems, _KEY, tuple(sorted(numbers.items())))


def _true(fact: Term, numbers: Mapping[str, int]) -> bool:
    try:
        return bool(evaluate(fact, numbers))
    except (ValueError, ZeroDivisionError):  # what has no value does not hold
        return False


def _point(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={number}" for name, number in numbers.items()) or "no numbers"


Result: TypeAlias = Proof | tuple[Open, ...]


def prove_family(
    program: Program, numbers: tuple[str, ...], source: Source, budget: int = BUDGET, clock: float = CLOCK, enough: int = ENOUGH
) -> Family | tuple[Open, ...]:
    """`program with free numbers → Family`, or what is open. The numbers are sizes of its op; what is asked of them is in the program's `where`.

    A theorem with names holds for every number that they may be: so a claim that is proved here is one of each program in which numbers stand for
    the names (the names are sizes, and sizes are integers from 0 on). What rests on what a number is (limits of the hardware, widths, alignment, where shared arrays lie, that there is anything to
    compute) is asked of each of these programs, when it is made.
    """
    if not {*numbers} <= {*program.op.sizes}:
        raise ValueError("the free numbers of a program are sizes of its op")
    theorems, left = _settled(claims_of_family(program, numbers), budget, clock, enough)
    return left or Family(program, numbers, theorems, source, _KEY)


def _settled(claims: Iterable[Claim], budget: int, clock: float, enough: int) -> tuple[tuple[Theorem, ...], tuple[Open, ...]]:
    """Claims that are theorems, and those that are open; no further than so many of them."""
    theorems, left = list[Theorem](), list[Open]()
    for claim in claims:
        with about(getattr(claim, "sentence", claim.title), claim.labels):
            found = discharge(claim, budget, clock)
        (theorems if isinstance(found, Theorem) else left).append(found)  # type: ignore[arg-type]
        if len(left) >= enough:
            break
    return tuple(theorems), tuple(left)


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


def by_itself(proof: Proof) -> Proof:
    """The proof of a program whose obligations are those that are stated of it alone, as who replays it does. Raises TG515 where one that is a point of a family has none."""
    found = prove(proof.program, enough=1) if proof.numbers else proof
    if isinstance(found, Proof):
        return found
    title = f"{proof.program.name} is proved as a point of its family, and not by itself"
    help = "take another point; what is written of a machine is proved again by whoever replays it"
    raise TinygpuError(Diagnostic("TG515", title, found[0].claim.labels, "unknown", notes=(found[0].reason,), helps=(help,)))


def moot(open: Open) -> bool:
    """Whether nothing else matters while this claim does not hold."""
    return open.claim.code in MOOT and open.model is not None


def discharge(claim: Claim, budget: int = BUDGET, clock: float = CLOCK) -> Theorem | Open:
    """One claim: by structure where intervals decide it, else by the solver, in a budget of its steps and so many seconds."""
    match claim:
        case Gap():
            return Open(claim, None, claim.reason)
        case Obligation(hypotheses=hypotheses, goal=goal):
            if evident(hypotheses, goal):
                return Theorem(claim, "structure")
            verdict, model, effort = ask(hypotheses, goal, budget, clock)
            if verdict == z3.unsat:
                return Theorem(claim, "z3", effort)
        case existence:
            point = inhabited(existence.hypotheses)
            if point is not None:
                return Theorem(claim, "model", 0, tuple(sorted(point.items())))
            verdict, model, effort = ask(existence.hypotheses, None, budget, clock)
            if verdict == z3.sat:
                return Theorem(claim, "model", effort, tuple(model.items()))
            if verdict == z3.unsat:
                return Open(claim, {})
    if verdict == z3.sat:
        return Open(claim, model)
    return Open(claim, None, f"the budget of {budget:,} solver steps was not enough")


@lru_cache(maxsize=1024)
def ask(hypotheses: tuple[Term, ...], goal: Term | None, budget: int, clock: float = CLOCK) -> tuple[Any, dict[str, int], int]:
    """`(unsat | sat | unknown, a model of the integers, resource units)` of `hypotheses ∧ ¬goal`.

    Several accesses, and several machines, give one formula: what has one answer is asked once.
    """
    alike = isinstance(goal, App) and goal.op == "eq" and goal.args[0] == goal.args[1]  # nothing is multiplied out for that
    long = goal is not None and (_factors(goal) >= MANY or goal.parts >= LONG)
    if goal is not None and long and not alike and (point := counterpoint(hypotheses, goal)) is not None:
        return z3.sat, point, 0
    steps = budget if alike else affordable(budget, (*hypotheses, *([] if goal is None else [goal])))
    verdict, model, effort = solved(script(hypotheses, goal), steps, clock)
    return verdict, {} if model is None else integers(model), effort


def affordable(budget: int, terms: Sequence[Term]) -> int:
    """Of a budget as much as takes no longer than it does elsewhere: with long products, and with long values, each of the solver's steps
    is longer.

    >>> from functools import reduce
    >>> from tinygpu.category.term import App, Var
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
