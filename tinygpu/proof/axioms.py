"""What a machine's proof takes for granted of hardware and functions, each with the page that says so.

Comes in: a program. Goes out: the names of the assumptions it makes. The one idea: the meaning of a barrier, a shuffle or an atomic update in the symbolic
execution is an axiom, and an axiom that is listed can be compared with its source.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.monoid import Carrier
from tinygpu.category.term import FUNCTIONS, App, Fold, shuffled, walk
from tinygpu.model.instruction import shipped
from tinygpu.program.call import COPY, FIFTH, TENSOR, Enter, Fence, Sync
from tinygpu.program.space import TENSORS
from tinygpu.program.step import Array, Assign, Program
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
    "instruction barrier": Axiom(
        "an instruction is run by the lanes of a warp together, and does what its declaration says to their registers and to rows of shared memory; the "
        "order and the rounding of its sums are the hardware's",
        f'{PTX}, "Warp Level Matrix Instructions"',
    ),
    "declared instruction": Axiom(
        "an instruction that a spec declares itself does what it says there; what is shipped is compared with the manual, that is not",
        "the spec",
    ),
    "shuffle": Axiom(
        "every lane of the mask gets the value of the lane that is named, as it is at that step; a lane out of range gives the own value",
        f'{PTX}, "shfl.sync"',
    ),
    "atomic update": Axiom(
        "an update is indivisible; updates of one element come one after the other, in any order", f'{PTX}, "red"'
    ),
    "asynchronous copy": Axiom(
        "a copy reads what is there while nobody writes it, and has landed for its thread after a wait that leaves fewer groups under way than were ended"
        " since; then a barrier tells the others",
        f'{PTX}, "cp.async"; {PTX}, "cp.async.wait_group"',
    ),
    "asynchronous product": Axiom(
        "a product that a warpgroup begins is over before a wait of the warp passes that leaves fewer groups under way than were ended since; products of one "
        "shape on one accumulator are done in order, behind what was done with registers before a fence for them",
        f'{PTX}, "wgmma.mma_async"; {PTX}, "wgmma.wait_group"; {PTX}, "wgmma.fence"',
    ),
    "product in tensor memory": Axiom(
        "a product that a thread begins is over when an mbarrier has had the arrival of a commit behind it; products of one thread, of one shape on one accumulator, are done in order. "
        "Kernels of it were assembled, and never run",
        f'{PTX}, "tcgen05.mma"; {PTX}, "tcgen05.commit"; {PTX}, "Memory consistency model for 5th generation of TensorCore operations"',
    ),
    "tensor memory": Axiom(
        "a block's columns are its own until it gives them back; a load or a store by a warpgroup is over behind its wait, and a barrier between the two fences of tensor memory "
        "tells it to all threads. Kernels of it were assembled, and never run",
        f'{PTX}, "tcgen05.alloc"; {PTX}, "tcgen05.ld"; {PTX}, "tcgen05.wait"; {PTX}, "tcgen05.fence"',
    ),
    "proxy fence": Axiom(
        "what a thread wrote to shared memory before a fence, and has told, is read by descriptors, whose layouts are swizzles of 32, 64 and 128 bytes",
        f'{PTX}, "fence.proxy.async"; {PTX}, "Asynchronous Warpgroup Level Matrix Shared Memory Layout"',
    ),
    "ring": Axiom(
        "a wait for a phase of an mbarrier passes when it is complete, after so many arrivals as it expects and the bytes of its boxes, and what the arriving "
        "threads did before is done; that parities tell the rounds of a slot apart is proved",
        f'{PTX}, "mbarrier.try_wait"; {PTX}, "mbarrier.arrive"; tests/proof/test_ring_protocol.py',
    ),
    "tensor copy": Axiom(
        "a copy of a box writes every element of it, 0 beyond the ends of its tensor, in the pattern of its rows, and then counts its bytes at an mbarrier; "
        "what units read and write in turn needs no fence between",
        f'{PTX}, "cp.async.bulk.tensor"; {PTX}, "Tensor swizzling modes"',
    ),
    "cluster": Axiom(
        "blocks of a cluster run at one time and number themselves by its factors; a part of a box is written at one place of the memory of each block that is named, and "
        "counted at its mbarrier there; that slots which blocks fill together are given back by all of them in time is proved",
        f'{GUIDE}, "Thread Block Clusters"; {PTX}, "cp.async.bulk.tensor"; {PTX}, "mapa"; tests/proof/test_cluster_protocol.py',
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


PENDING = {COPY: "asynchronous copy", TENSOR: "tensor copy"}  # of what a step begins


def axioms(program: Program) -> tuple[str, ...]:
    """The names of the assumptions that a program makes, in the order of the table."""
    found = {"launches in order"} if len(program.launches) > 1 else set()
    found |= {"cluster"} if any(launch.cluster for launch in program.launches) else set()
    for step in program.steps:
        match step:
            case Sync():
                found |= {step.word}
                if step.applied and (unit := step.applied.instruction.unit):
                    found.add("product in tensor memory" if unit == FIFTH else "asynchronous product")
            case Enter():
                found.add("ring")
            case Fence("async"):
                found.add("proxy fence")
            case Array(owner="block", held=None):
                found |= {"shared memory", "tensor memory"} if step.space == TENSORS else {"shared memory"}
            case Assign(value=value):
                found |= {"atomic update"} if step.atomic else set()
                found |= {PENDING[step.pending]} if step.pending in PENDING else set()
                found |= {"shuffle"} if shuffled(value) else set()
    if found & {"shuffle", "warp barrier", "instruction barrier"}:
        found.add("lanes")
    if own_instructions(program):
        found.add("declared instruction")
    if wide(program):
        found.add("wide access")
    return tuple(name for name in AXIOMS if name in found | _of_laws(program))


def own_instructions(program: Program) -> tuple[str, ...]:
    """The instructions that a spec declares itself, also by the name of one that is shipped: nobody but the spec says what they do."""
    used = (step.applied.instruction for step in program.steps if isinstance(step, Sync) and step.applied)
    return tuple(dict.fromkeys(one.name for one in used if one not in shipped(one.name)))


def wide(program: Program) -> bool:
    """Whether a loop permits wide accesses."""
    return any(getattr(getattr(s, "axis", None), "sort", "") == "vector" for s in program.steps)


def _of_laws(program: Program) -> set[str]:
    """What the laws of the monoids with components need."""
    folds = {t.monoid for e in program.op.equations for t in walk(e.value) if isinstance(t, Fold)}
    found: set[str] = set()
    for carrier in (name for name in folds if isinstance(name, Carrier)):
        operations = {t.op for part in carrier.combination for t in walk(part) if isinstance(t, App)}
        found |= {"powers"} if operations & {"exp", "exp2"} else set()
        found |= {"limits of functions"} if operations & {*FUNCTIONS} else set()
    return found
