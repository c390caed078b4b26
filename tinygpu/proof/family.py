"""The verdict on a machine with free numbers: a `Family`, a `Refutation` at the smallest point that was found, or `Unknown` with what would close it.

    proved     for all numbers that satisfy its `where`, but for what each point is asked          refuted     the machine of a point is

Comes in: a skeleton. Goes out: one of the three. The one idea: a family is refuted only by one of its machines, derived and refuted as any other; so a guess of its form that is wrong,
or too much for the solver, is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice

from tinygpu.category.deadline import Expired, doing
from tinygpu.category.term import Term, text, variables
from tinygpu.derive.derive import derive
from tinygpu.derive.general import APART, general
from tinygpu.diagnostic import Diagnostic, Label, TinygpuError
from tinygpu.model.family import machine_at
from tinygpu.model.free import RISING, Skeleton, generic, holds_at
from tinygpu.model.nogood import Nogood
from tinygpu.program.numbers import at_point
from tinygpu.program.step import Program
from tinygpu.proof.check import NOBODY, Refutation, Unknown, check, consequence, late
from tinygpu.proof.constraints import copies, limit
from tinygpu.proof.kernel import Family, Open, Proof, prove, prove_family
from tinygpu.proof.words import in_words, worded
from tinygpu.record import dataclass, replace

EFFORT = 4_000_000  # solver steps for a claim about all numbers
CLOCK = 10.0  # seconds for one
LOOKED_AT = 6  # small points, where a family is not proved
LARGEST = 1024  # of a number whose range has no end
LIMITS = "limits", "width", "alignment", "storage"  # of the hardware, which each point is asked
VISITED = 200_000  # points that are looked at for those where all holds


@dataclass(frozen=True, slots=True)
class Points:
    """The points of a skeleton."""

    skeleton: Skeleton

    def program(self, numbers: Mapping[str, int]) -> Program:
        """Of the machine at one."""
        return derived(self.skeleton, tuple(numbers[name] for name in self.skeleton.names))

    def points(self, limit: int, without: Iterable[Nogood] = ()) -> Iterator[dict[str, int]]:
        """At most so many, those with the smallest sum first; a nogood that is added to the list while they are asked for counts from then on. A number without a
        largest one goes to 1024."""
        numbers, where = self.skeleton.numbers, self.skeleton.where
        tops = [one.low + LARGEST if one.high is None else one.high for one in numbers]
        found = islice(_rising(tuple(one.low for one in numbers), tops), VISITED)
        fitting = (self.skeleton.named(p) for p in found if holds_at(where, numbers, p))
        return islice((p for p in fitting if not any(one.excludes(p) for one in without)), limit)

    def broken(self, program: Program, open: Open) -> Diagnostic:
        """What a point breaks, and what the family may ask so that none does."""
        claim, bound = open.claim, limit(program, open.claim.code)
        helps = [f"ask it of the family: where {text(bound)}"] if bound is not None else []
        helps += [claim.help] if getattr(claim, "help", "") else []  # type: ignore[union-attr]
        word = "refuted" if open.model is not None else "unknown"
        found = Diagnostic(
            claim.code, claim.title, claim.labels, word, notes=(open.reason,) if open.reason else (), helps=tuple(helps)
        )
        return worded(found, claim, program)


def _rising(least: tuple[int, ...], tops: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Points by the sum of what they are above the least one.

    >>> [*_rising((1, 1), (2, 3))]
    [(1, 1), (1, 2), (2, 1), (1, 3), (2, 2), (2, 3)]
    """
    for more in range(sum(top - low for low, top in zip(least, tops, strict=True)) + 1):
        yield from _parts(least, tops, more)


def _parts(least: tuple[int, ...], tops: Sequence[int], more: int) -> Iterator[tuple[int, ...]]:
    if not least:
        yield from [()] if more == 0 else []
        return
    rest = sum(top - low for low, top in zip(least[1:], tops[1:], strict=True))
    for here in range(max(0, more - rest), min(more, tops[0] - least[0]) + 1):
        yield from ((least[0] + here, *others) for others in _parts(least[1:], tops[1:], more - here))


def judged(skeleton: Skeleton, budget: int = EFFORT) -> Family | Refutation | Unknown:
    """`skeleton → Family, Refutation or Unknown`. Raises TinygpuError where a machine of it has no program."""
    doing("what the machines of a family have in common", (Label(skeleton.span, "this one"),))
    programs = [derived(skeleton, point) for point in skeleton.points]
    try:
        program, other = program_of(skeleton, programs)
        found = prove_family(program, skeleton.names, Points(skeleton), budget, CLOCK, 1)
        return found if isinstance(found, Family) else _not_proved(skeleton, program, found, other, budget)
    except Expired as end:
        return Unknown(programs[0], (worded(late(end), NOBODY, programs[0]),))
    except TinygpuError as error:
        return Unknown(programs[0], tuple(replace(d, verdict="unknown") for d in error.diagnostics))


def program_of(skeleton: Skeleton, programs: Sequence[Program]) -> tuple[Program, TinygpuError | None]:
    """The program with names for the numbers: of all points; or of those that rise, with what is different at the last one. Raises TG168 where these are not
    one program."""
    named = [skeleton.named(point) for point in skeleton.points]
    try:
        return general(programs, named, skeleton.title, skeleton.where), None
    except TinygpuError as error:
        if len(programs) <= RISING:
            raise
        return general(programs[:RISING], named[:RISING], skeleton.title, skeleton.where), error


def derived(skeleton: Skeleton, point: Sequence[int]) -> Program:
    """The program of a machine of it. Raises TinygpuError, which says at which point, where there is none."""
    numbers = skeleton.named(point)
    try:
        machine = machine_at(skeleton, numbers)
        return replace(derive(machine), machine=machine)
    except TinygpuError as error:
        raise TinygpuError(*(replace(d, notes=(*d.notes, there(numbers))) for d in error.diagnostics)) from None


def there(numbers: Mapping[str, int]) -> str:
    """Which machine of a family something is said of."""
    return f"this is its machine with {', '.join(f'{name}={number}' for name, number in numbers.items())}"


def _not_proved(
    skeleton: Skeleton, program: Program, left: tuple[Open, ...], other: TinygpuError | None, budget: int
) -> Refutation | Unknown:
    """A refutation of the smallest machine that is wrong, or what is open; with a constraint under which it is proved, if one is found."""
    doing("whether one of its machines is wrong", left[0].claim.labels)
    wrong = _refuted(skeleton, left)
    help = "" if any(o.claim.kind == "family" for o in left) else _closed(skeleton, program, budget)
    if wrong is not None:
        said = wrong.diagnostic
        numbers = {name: number for name, number in wrong.program.machine.constants if name in skeleton.names}  # type: ignore[union-attr]
        notes, helps = (*said.notes, there(numbers)), (help, *said.helps) if help else said.helps
        return replace(wrong, diagnostic=replace(said, notes=notes, helps=helps))
    found = other or next((e for p in _told(skeleton, left) if (e := _another(skeleton, program, p)) is not None), None)
    apart = tuple(replace(d, verdict="unknown") for d in found.diagnostics) if found else ()
    open_ = [o for o in left if not consequence(o)] or left
    first, *more = dict.fromkeys((*apart, *(_unknown(program, o, skeleton) for o in open_)))
    return Unknown(program, (replace(first, helps=(help, *first.helps)) if help else first, *more), left)


def _unknown(program: Program, open: Open, skeleton: Skeleton) -> Diagnostic:
    claim = open.claim
    sentence = in_words(getattr(claim, "sentence", claim.title), claim, program)
    title = claim.title if claim.kind == "family" else f"not proved for all {', '.join(skeleton.names)}: {sentence}"
    weak = "the solver has numbers at which it is false, and none of the machines that were looked at is wrong"
    helps = (
        "a machine with numbers is proved by itself: tinygpu check FILE MACHINE " + " ".join(f"{n}=…" for n in skeleton.names),
    )
    found = Diagnostic(claim.code, title, claim.labels, "unknown", notes=(open.reason or weak,), helps=helps)
    return worded(found, claim, program)


def _told(skeleton: Skeleton, left: Sequence[Open]) -> list[tuple[int, ...]]:
    """The points at which the solver says that a claim is false."""
    named = [tuple(o.model.get(n, 0) for n in skeleton.names) for o in left if o.model]
    return sorted({p for p in named if holds_at(skeleton.where, skeleton.numbers, p)}, key=lambda p: (sum(p), p))


def _another(skeleton: Skeleton, program: Program, point: tuple[int, ...]) -> TinygpuError | None:
    """What is said where the machine of a point has another program than the family with these numbers in it."""
    with suppress(TinygpuError):
        own, numbers = derived(skeleton, point), skeleton.named(point)
        if own == replace(at_point(program, numbers), name=own.name):
            return None
    there = ", ".join(f"{name}={number}" for name, number in skeleton.named(point).items())
    title = f"the program of {', '.join(skeleton.names)} is another one at other numbers"
    label = f"with {there} it is none of those that were looked at"
    return TinygpuError.of("TG168", title, skeleton.span, label, APART)


def _refuted(skeleton: Skeleton, left: Sequence[Open]) -> Refutation | None:
    """The smallest machine that is refuted: of the first points, and of those that the solver named. What a point is asked refutes no family."""
    small = [tuple(p.values()) for p in Points(skeleton).points(LOOKED_AT)]
    for point in dict.fromkeys((*small, *_told(skeleton, left))):
        try:
            program = derived(skeleton, point)
            found = prove(program, EFFORT, hasty=True, enough=1)
            if isinstance(found, Proof) or found[0].model is None or found[0].claim.kind in LIMITS:
                continue
            verdict = check(program)
        except TinygpuError:
            continue  # there is no machine at this point
        if isinstance(verdict, Refutation):
            return verdict
    return None


def _closed(skeleton: Skeleton, program: Program, budget: int) -> str:
    """A constraint with which it is proved: that copies cover what is copied; tried."""
    doing("under which constraint it would be right", (Label(skeleton.span, "this one"),))
    more = tuple(dict.fromkeys(c for c in copies(program) if variables(c) <= {*skeleton.names}))
    return f"with `where {', '.join(map(text, more))}` it is proved" if more and _proved_with(skeleton, more, budget) else ""


def _proved_with(skeleton: Skeleton, more: tuple[Term, ...], budget: int) -> bool:
    """Whether a family is proved where more is asked of its numbers."""
    where = (*skeleton.where, *more)
    points = generic(skeleton.numbers, where)
    if len(points) < 2:
        return False
    narrow = replace(skeleton, where=where, points=points)
    try:
        program, _ = program_of(narrow, [derived(narrow, point) for point in points])
        return isinstance(prove_family(program, narrow.names, Points(narrow), budget, CLOCK, 1), Family)
    except TinygpuError:
        return False
