"""The smallest counterexample, in the user's names.

Comes in: a program and the claims that were not proved. Goes out: a diagnostic with one replayed case, or None if nothing that was
tried misbehaves. The one idea: the solver suggests sizes, smallest first; what is shown is what the simulator saw.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import variables
from tinygpu.diagnostic import Case, Diagnostic, Label, Span
from tinygpu.obligations.obligation import Claim, Inhabited, Obligation
from tinygpu.program.step import Assign, Program
from tinygpu.proof.confirm import fitting
from tinygpu.proof.kernel import BUDGET, Open
from tinygpu.proof.replay import Misbehaviour, evaluates_false, misbehaviour, read_outside
from tinygpu.proof.rows import between, refuted, rows
from tinygpu.proof.suggestion import smallest, suggested
from tinygpu.proof.words import worded
from tinygpu.record import dataclass, replace
from tinygpu.simulate.fault import (
    Divergent,
    DivisionByZero,
    DoubleStore,
    HoldsViolated,
    NeverStored,
    OutOfBounds,
    Overwritten,
    Race,
    ReadOutput,
    UnderWay,
    Unfenced,
    Uninitialised,
)
from tinygpu.simulate.sizes import admitted, sizes_to_try
from tinygpu.simulate.tolerance import Mismatch

TRIED, MANY = 48, 1000  # assignments of sizes that are tried when the solver has no suggestion, of how many
WORK = 1 << 27  # lane-steps of all runs of one search, each step counted as 1024 more: several seconds, twice what was ever of use
LEAST_WORK = 1 << 22  # of a search with a small budget
LARGE = 600  # what all sizes are in the last one: there an 8-bit counter has run over
KINDS: dict[
    type[Misbehaviour], tuple[str, tuple[str, ...]]
] = {  # what is said where no open claim speaks of it, and of which it may be a case
    OutOfBounds: ("an access is outside its array", ("TG203",)),
    DoubleStore: ("an element is stored twice", ("TG202", "TG302", "TG505")),
    NeverStored: ("an element is never stored", ("TG201",)),
    Uninitialised: ("a cell is read before it is written", ("TG301", "TG305")),
    ReadOutput: ("an output is read", ("TG116", "TG507", "TG305", "TG301")),
    Overwritten: ("an element is read where it may be overwritten", ("TG308",)),
    Race: ("two threads meet without a barrier between", ("TG302", "TG306", "TG305")),
    UnderWay: ("what was begun may be under way where a cell of it is touched", ("TG310",)),
    Unfenced: ("a unit may not see what a thread has done", ("TG312",)),
    Divergent: ("not all threads come to a collective", ("TG303", "TG304")),
    DivisionByZero: ("an integer is divided by zero, or shifted by its width or more", ("TG404", "TG510")),
    HoldsViolated: ("the cell does not hold what is said", ("TG509",)),
    Mismatch: (
        "the value stored is not the equation's",
        ("TG306", "TG305", "TG508", "TG504", "TG505", "TG506", "TG502", "TG503", "TG501", "TG301", "TG510"),
    ),
}
MEETS = {  # what is said of an array where threads meet, and no open claim speaks of it
    "TG302": "is accessed by two threads without a barrier between",
    "TG305": "is read in the launch that writes it",
    "TG306": "is updated in two ways in one launch",
}


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A diagnostic, the sizes, and what the replay saw (None where plain evaluation of a formula is the replay)."""

    diagnostic: Diagnostic
    sizes: dict[str, int]
    seen: Misbehaviour | None


@dataclass(slots=True, eq=False, repr=False)
class Search:
    """What is known of a program before the next search: the lane-steps that are left, and the sizes at which nothing went wrong."""

    work: list[int]
    clean: set[tuple[int, ...]]


def search(budget: int = BUDGET) -> Search:
    """One that has not begun. The budget is the solver's for one claim; the work of all runs together has a bound in proportion."""
    return Search([max(LEAST_WORK, WORK * min(budget, BUDGET) // BUDGET)], set())


def find(
    program: Program, left: tuple[Open, ...], told_only: bool = False, budget: int = BUDGET, known: Search | None = None
) -> Counterexample | None:
    """The smallest counterexample that replays, or None. With `told_only`, only sizes that the solver suggests are run; a search that is
    `known` is taken up where it ended."""
    for open in left:
        direct = _without_running(program, open, budget)
        if direct is not None:
            return direct
    if any(isinstance(o.claim, Obligation) and o.claim.kind == "monoid" for o in left):
        return None  # without its laws a fold has no one value that a run could be compared with
    known = known or search(budget)
    for sizes, ends in trials(program, left, told_only, budget):
        if known.work[0] <= 0:
            return None
        key = tuple(sizes[s] for s in program.op.sizes)
        if key in known.clean or not admitted(program, sizes):
            continue
        seen = misbehaviour(program, sizes, ends, known.work)
        if seen is not None:
            return Counterexample(_diagnose(program, left, sizes, seen, budget), sizes, seen)
        known.clean.add(key)
    return None


def trials(program: Program, left: tuple[Open, ...], told_only: bool, budget: int = BUDGET) -> Iterator[tuple[dict[str, int], int]]:
    """Sizes to run, those first that the solver suggests, and on how many inputs that stand out."""
    told: list[dict[str, int]] = []
    for code in dict.fromkeys(o.claim.code for o in left):  # of several claims of one kind the one that fails first
        some = [sizes for o in left if o.claim.code == code for sizes in suggested(program, o, budget)]
        some.sort(key=lambda sizes: sum(sizes.values()))
        told += some
        yield from ((sizes, 4) for sizes in some)
    if told_only:
        return
    # one wrong element may be right by chance, or made good by what the claim does not count: the same again where there are more of them
    more = [{s: times * n for s, n in sizes.items()} for times in (2, 4) for sizes in told]
    every = sorted(sizes_to_try(program, MANY), key=lambda sizes: 0 in sizes.values())
    some = every[: TRIED // 2] + every[TRIED // 2 :: max(1, len(every) // TRIED)]
    for sizes in some[:TRIED] + more + [dict.fromkeys(program.op.sizes, LARGE)]:
        yield sizes, 4 if sizes in told else 1


def _without_running(program: Program, open: Open, budget: int) -> Counterexample | None:
    """Claims about constants, widths and preconditions: the formula itself, evaluated, is the replay."""
    claim = open.claim
    match claim:
        case Inhabited() if open.model is not None:
            return Counterexample(_of(claim, None, program), {}, None)
        case Obligation(kind="monoid"):
            broken = refuted(claim, program)
            return Counterexample(broken, {}, None) if broken else None
        case Obligation(kind="limits" | "width" | "alignment" | "equation") | Obligation(code="TG304" | "TG532") if (
            open.model is not None
        ):
            model = smallest(program, open, budget) if claim.kind == "equation" else open.model
            sizes = {s: model.get(s, 1) for s in program.op.sizes}
            if evaluates_false(claim, model) or (claim.code == "TG514" and read_outside(program, claim.title, sizes)):
                names = sorted(n for n in variables(claim.goal) if n in model)
                case = Case(tuple((n, (str(model[n]),)) for n in names)) if names else None
                return Counterexample(_of(claim, case, program), {}, None)
    return None


def _diagnose(program: Program, left: tuple[Open, ...], sizes: dict[str, int], seen: Misbehaviour, budget: int) -> Diagnostic:
    """The open claim that the misbehaviour is a case of, with the case."""
    codes = _codes(seen)
    if isinstance(seen, Mismatch) and len({o.claim.code for o in left} & {*codes}) != 1:  # else there is nothing to choose
        codes = fitting(program, sizes, seen, codes)
    claims = [o.claim for code in codes for o in left if o.claim.code == code]
    if isinstance(seen, DoubleStore):  # of several, the one about this step
        claims.sort(key=lambda claim: all(label.span != seen.at.span for label in claim.labels))
    if isinstance(seen, Mismatch):  # of several, the one about this array
        places = [s for s in program.steps if isinstance(s, Assign) and s.target == seen.tensor]
        claims.sort(key=lambda claim: all(label.span != s.span for label in claim.labels for s in places))
    if isinstance(seen, UnderWay | Unfenced):  # of several, the one about these two steps
        claims.sort(key=lambda claim: [label.span for label in claim.labels] != [seen.first.span, seen.at.span])
    case = Case(tuple(rows(program, sizes, seen)))
    if isinstance(seen, Race):
        return _race(program, claims, codes[0], sizes, seen, case)
    if claims:
        return replace(_of(claims[0], case, program), labels=claims[0].labels + meeting(program, seen))
    labels = (Label(seen.at.span, "here"),) if hasattr(seen, "at") else (Label(program.span, ""),)
    from tinygpu.proof.instead import as_long

    help = as_long(program, seen, budget) if isinstance(seen, OutOfBounds) else ""
    return Diagnostic(codes[0], KINDS[type(seen)][0], labels, "refuted", case, helps=(help,) if help else ())


def _codes(seen: Misbehaviour) -> tuple[str, ...]:
    """The claims that it may be a case of."""
    match seen:
        case Race(scope="launch", kind="write-write"):
            return ("TG306",)
        case Race(scope="launch"):
            return ("TG305", "TG202", "TG507")
        case Divergent(missing=None):
            return ("TG304", "TG303")
    return KINDS[type(seen)][1]


def _race(program: Program, claims: list[Claim], code: str, sizes: dict[str, int], seen: Race, case: Case) -> Diagnostic:
    """Of the open claims the one about these two steps; with what is missing between them, and what would mend it."""
    about = [c for c in claims if [label.span for label in c.labels] == [seen.first.span, seen.at.span]] or claims
    past, now = seen.verbs
    labels = tuple(Label(span, f"{who} {verb} here") for span, who, verb in _sides(seen, past, now) if span.line) or (
        Label(program.span, ""),
    )
    about = [c for c in about if code != "TG302" or seen.array in c.title]  # of a claim about another array only the code is right
    base = _of(about[0], case, program) if about else Diagnostic(code, f"{seen.array} {MEETS[code]}", (), "refuted", case)
    from tinygpu.proof.mend import mend

    help, fixes = mend(program, sizes, seen)
    return replace(base, labels=labels, notes=tuple(between(program, seen)), helps=(help,) if help else base.helps, fixes=fixes)


def _sides(seen: Race, past: str, now: str) -> tuple[tuple[Span, str, str], ...]:
    if seen.first.span == seen.at.span:
        return ((seen.at.span, "one thread", past if past == now else f"{past} and another {now}"),)
    return (seen.first.span, "one thread", past), (seen.at.span, "another one", now)


def meeting(program: Program, seen: Misbehaviour) -> tuple[Label, ...]:
    """The factors in which two colliding threads differ, where they are declared."""
    if not isinstance(seen, DoubleStore):
        return ()
    axes = {a.name: a.span for launch in program.launches for a in launch.axes}
    pairs = zip(seen.first.lane, seen.at.lane, strict=False)
    return tuple(Label(axes[n], f"{n} {v} and {n} {w} meet") for (n, v), (m, w) in pairs if v != w and n == m and axes[n].line)


def _of(claim: Claim, case: Case | None, program: Program) -> Diagnostic:
    help = getattr(claim, "help", "")
    found = Diagnostic(claim.code, claim.title, claim.labels, "refuted", case, helps=(help,) if help else ())
    return worded(found, claim, program)
