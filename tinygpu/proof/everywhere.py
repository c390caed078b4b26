"""Whether a family is proved of its machines: of each, that it has the family's program, or is proved by itself.

    family proved  ∧  ∀ numbers: the machine there has its program with these numbers, or a proof of its own          ⟼          proved for all numbers

Comes in: a skeleton. Goes out: its verdict. The one idea: a program with names is found at a few points, so that machines at all others have it is looked at, machine by machine; where there are too many, what is
proved is the program, and nobody says more. What is asked of the numbers may leave few of a range without an end.
"""

from __future__ import annotations

from itertools import islice, product
from math import prod

from z3 import unsat

from tinygpu.category.deadline import doing
from tinygpu.category.term import Var
from tinygpu.diagnostic import Diagnostic, Label, TinygpuError
from tinygpu.model.free import Free, Skeleton, holds_at
from tinygpu.program.numbers import at_point
from tinygpu.proof.check import Refutation, Unknown, check
from tinygpu.proof.family import EFFORT, LIMITS, Points, derived, judged, there
from tinygpu.proof.kernel import Family, Proof, ask, prove
from tinygpu.record import replace

MOST = 512  # machines that are looked at
SHORT = 2.0  # seconds for whether a number has a largest one


def proved_everywhere(skeleton: Skeleton, budget: int = EFFORT) -> Family | Refutation | Unknown:
    """`skeleton → Family` of all of its machines, or the smallest that is wrong, or why it is not known."""
    family = judged(skeleton, budget)
    if not isinstance(family, Family):
        return family
    doing("whether each machine has the family's program", (Label(skeleton.span, "this one"),))
    ends = [range(one.low, largest(skeleton, one) + 1) for one in skeleton.numbers]
    fitting = (p for p in islice(product(*ends), MOST * MOST) if holds_at(skeleton.where, skeleton.numbers, p))
    some = [*islice(fitting, MOST + 1)]
    endless = any(end[-1] > one.low + MOST and one.high is None for one, end in zip(skeleton.numbers, ends, strict=True))
    whole = len(some) <= MOST and not endless and prod(map(len, ends)) <= MOST * MOST
    first = some if whole else [tuple(point.values()) for point in Points(skeleton).points(MOST)]
    other = next((found for point in first if (found := _other(skeleton, family, point)) is not None), None)
    return other or (family if whole else Unknown(family.program, (_unseen(skeleton, len(first)),)))


def largest(skeleton: Skeleton, one: Free) -> int:
    """A number that none of its range is above; without a largest one: of those of which the solver shows that what is asked allows no larger one, up to `MOST` above the
    least one the first power of two, or else one above them."""
    if one.high is not None:
        return one.high
    tops = [one.low + 2**bits for bits in range(MOST.bit_length())]
    shown = (top for top in tops if ask(skeleton.where, Var(one.name) <= top, EFFORT, SHORT)[0] == unsat)
    return next(shown, one.low + MOST + 1)


def _other(skeleton: Skeleton, family: Family, point: tuple[int, ...]) -> Refutation | Unknown | None:
    """What is wrong with the machine of a point; nothing where it has the family's program, where it is proved, or where only what each point is asked fails."""
    numbers = skeleton.named(point)
    try:
        program = derived(skeleton, point)
    except TinygpuError as error:
        return Unknown(family.program, tuple(replace(d, verdict="unknown") for d in error.diagnostics))
    if program == replace(at_point(family.program, numbers), name=program.name):
        return None
    left = prove(program, enough=MOST)
    if isinstance(left, Proof) or all(o.claim.kind in LIMITS for o in left):
        return None
    verdict = check(program)
    match verdict:
        case Refutation(_, diagnostic):
            return replace(verdict, diagnostic=replace(diagnostic, notes=(*diagnostic.notes, there(numbers))))
        case Unknown(_, diagnostics):
            return replace(verdict, diagnostics=tuple(replace(d, notes=(*d.notes, there(numbers))) for d in diagnostics))
    return None


def _unseen(skeleton: Skeleton, seen: int) -> Diagnostic:
    names = ", ".join(skeleton.names)
    title = f"the program of {skeleton.title} is proved for all {names}; that all of its machines have it is not"
    label = f"{seen} of them were looked at"
    help = (
        f"give {names} ranges, or a `where`, with at most {MOST} machines, or the numbers: tinygpu check FILE {skeleton.name} "
        + " ".join(f"{name}=…" for name in skeleton.names)
    )
    return Diagnostic("TG168", title, (Label(skeleton.span, label),), "unknown", helps=(help,))
