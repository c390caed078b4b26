"""What a machine's proof takes for granted about hardware and functions, each with the page that says so.

Comes in: a program. Goes out: the names of the assumptions it makes. The one idea: the meaning of a barrier, a shuffle or an atomic update
in the symbolic execution is an axiom, and an axiom that is listed can be compared with its source.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.monoid import Carrier
from tinygpu.category.term import FUNCTIONS, SHUFFLES, App, Fold, Term, walk
from tinygpu.program.step import Assign, Barrier, Program, Shared
from tinygpu.record import dataclass

PTX, GUIDE = "PTX ISA", "CUDA C++ Programming Guide"


@dataclass(frozen=True, slots=True)
class Axiom:
    """A sentence that is believed, and where it stands."""

    sentence: str
    source: str


AXIOMS: Mapping[str, Axiom] = {
    "launches in order": Axiom(
        "a kernel of a stream begins when the one before has ended, and sees all that it wrote",
        f'{GUIDE}, "Streams"; {PTX}, "Memory Consistency Model"',
    ),
    "barrier": Axiom(
        "nobody of the block passes before all have come; what was written before is seen by all of the block after",
        f'{PTX}, "bar, barrier"; {PTX}, "Memory Consistency Model"',
    ),
    "warp barrier": Axiom("the same for the 32 lanes of a warp, if all of them are named in the mask", f'{PTX}, "bar.warp.sync"'),
    "shuffle": Axiom(
        "every lane of the mask gets the value of the lane that is named, as it is at that step; a lane out of range gives the own value",
        f'{PTX}, "shfl.sync"',
    ),
    "atomic update": Axiom(
        "an update is indivisible; updates of one element come one after the other, in any order", f'{PTX}, "red"'
    ),
    "shared memory": Axiom(
        "a block's shared memory is its own, and has its declared size and alignment", f'{PTX}, "State Spaces: .shared"'
    ),
    "wide access": Axiom("an access of 8 or 16 bytes that is aligned is the accesses of its elements", f'{PTX}, "ld"; {PTX}, "st"'),
    "lanes": Axiom("32 consecutive threads of a block, row by row, are the lanes of a warp", f'{GUIDE}, "SIMT Architecture"'),
    "powers": Axiom(
        "exp(u − v) = exp(u) / exp(v), exp > 0, exp(−∞) = 0; the same of exp2", "real analysis; obligations/extended.py"
    ),
    "limits of functions": Axiom(
        "the values at −∞ and +∞ of the functions in a monoid's laws", "real analysis; obligations/extended.py, LIMITS"
    ),
}


def axioms(program: Program) -> tuple[str, ...]:
    """The names of the assumptions that a program makes, in the order of the table."""
    found = {"launches in order"} if len(program.launches) > 1 else set()
    for step in program.steps:
        match step:
            case Barrier(scope):
                found.add("barrier" if scope == "block" else "warp barrier")
            case Shared():
                found.add("shared memory")
            case Assign(value=value):
                found |= {"atomic update"} if step.atomic else set()
                found |= _of_value(value)
    if found & {"shuffle", "warp barrier"}:
        found.add("lanes")
    if wide(program):
        found.add("wide access")
    return tuple(name for name in AXIOMS if name in found | _of_laws(program))


def wide(program: Program) -> bool:
    """Whether a loop permits wide accesses."""
    return any(getattr(getattr(s, "axis", None), "sort", "") == "vector" for s in program.steps)


def _of_value(value: Term) -> set[str]:
    return {"shuffle"} if any(isinstance(t, App) and t.op in SHUFFLES for t in walk(value)) else set()


def _of_laws(program: Program) -> set[str]:
    """What the laws of the monoids with components need."""
    folds = {t.monoid for e in program.op.equations for t in walk(e.value) if isinstance(t, Fold)}
    found: set[str] = set()
    for carrier in (name for name in folds if isinstance(name, Carrier)):
        operations = {t.op for part in carrier.combination for t in walk(part) if isinstance(t, App)}
        found |= {"powers"} if operations & {"exp", "exp2"} else set()
        found |= {"limits of functions"} if operations & {*FUNCTIONS} else set()
    return found
