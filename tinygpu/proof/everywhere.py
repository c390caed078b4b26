"""Whether a family is proved of its machines: of each, that it has the family's program, or is proved by itself.

    family proved  ∧  ∀ numbers: the machine there has its program with these numbers, or a proof of its own          ⟼          proved for all numbers

Comes in: a skeleton. Goes out: its verdict. The one idea: a program with names is found at a few points, so that machines at all others have it is looked at, machine by machine; where there are too many, what is
proved is the program, and nobody says more.
"""

from __future__ import annotations

from itertools import islice, product
from math import prod

from tinygpu.category.deadline import doing
from tinygpu.diagnostic import Diagnostic, Label, TinygpuError
from tinygpu.model.free import Skeleton, holds_at
from tinygpu.program.numbers import at_point
from tinygpu.proof.check import Refutation, Unknown, check
from tinygpu.proof.family import EFFORT, LIMITS, derived, judged, there
from tinygpu.proof.kernel import Family, Proof, prove
from tinygpu.record import replace

MOST = 512  # machines that are looked at


def proved_everywhere(skeleton: Skeleton, budget: int = EFFORT) -> Family | Refutation | Unknown:
    """`skeleton → Family` of all of its machines, or the smallest that is wrong, or why it is not known."""
    found = judged(skeleton, budget)
    if not isinstance(found, Family):
        return found
    doing("whether each machine has the family's program", (Label(skeleton.span, "this one"),))
    ends = [range(one.low, MOST + 1 + one.low if one.high is None else one.high + 1) for one in skeleton.numbers]
    fitting = (p for p in islice(product(*ends), MOST * MOST) if holds_at(skeleton.where, skeleton.numbers, p))
    some = [*islice(fitting, MOST + 1)]
    endless = any(one.high is None for one in skeleton.numbers)
    for point in some[:MOST]:
        if (other := _other(skeleton, found, point)) is not None:
            return other
    whole = len(some) <= MOST and not endless and prod(map(len, ends)) <= MOST * MOST
    return found if whole else Unknown(found.program, (_unseen(skeleton, min(len(some), MOST)),))


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
    help = f"give {names} ranges with at most {MOST} machines, or the numbers: tinygpu check FILE {skeleton.name} " + " ".join(
        f"{name}=…" for name in skeleton.names
    )
    return Diagnostic("TG168", title, (Label(skeleton.span, label),), "unknown", helps=(help,))
