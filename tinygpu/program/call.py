"""Steps that are one call in a kernel: threads meet, what was begun ends in groups and is waited for, and what was written is shown to units of their own.

    barrier     commit, wait n        commit mma, wait mma n        fence async        fence mma        commit tcgen05, wait tcgen05 n

    fill tiles at ko { … }            use tiles at ko { … }

Comes in: nothing. Goes out: the steps. The one idea: none of them changes a value; each says something of the order in which things happen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TypeAlias

from tinygpu.category.term import Axis, Term
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.collective import Instruction
from tinygpu.model.tile import TENSOR as TENSOR
from tinygpu.record import dataclass, field, replace

# what lands later, by the unit that does it: copies to shared memory, which a thread begins; products, which a warpgroup begins; those in tensor memory, which a warp begins
UNITS: Mapping[str, str] = {"copy": "copies", "mma": "products", "tcgen05": "tensor"}
COPY, ASYNC, FIFTH = "copy", "async", "tcgen05"
PREFETCH, STREAM = "prefetch", "stream"
FILL, USE = "fill", "use"  # what a role does with the slots of a ring


class Call:
    """What a kernel does for a step of this kind is one call of `called`, with the elements that the step speaks of, in order. It evaluates its
    terms and changes no array, so a core of a CPU, on which the threads of a block take turns, does nothing for it."""

    __slots__ = ()

    @property
    def together(self) -> str:
        """Of whom all come here, or none: of a `block`, a `warp`, …; empty where each thread is alone."""
        return "warp" if isinstance(self, Enter | Leave) or getattr(self, "unit", COPY) in UNITS.keys() - {COPY} else ""

    @property
    def noun(self) -> str:
        """What it is, in a sentence."""
        return type(self).__name__.lower()


# where threads wait for each other, and how
SCOPES: Mapping[str, str] = {
    "block": "cuda.syncthreads",
    "warp": "cuda.syncwarp",
    "instruction": "cuda.syncwarp",
    "cluster": "cluster_barrier",
}


@dataclass(frozen=True, slots=True)
class Applied:
    """An instruction of the hardware: its operands, each by its array and first element, and the number of the lane at hand."""

    instruction: Instruction
    operands: tuple[tuple[str, tuple[Term, ...]], ...]
    lane: Term

    def mapped(self, change: Callable[[Term], Term]) -> Applied:
        """With other terms for the places."""
        return replace(self, operands=tuple((name, tuple(map(change, place))) for name, place in self.operands))


@dataclass(frozen=True, slots=True)
class Boxed:
    """A copy of a box by a unit of its own: `target[index] = value` at each point of these axes, which the index ends in."""

    target: str
    index: tuple[Term, ...]
    value: Term
    box: tuple[Axis, ...]

    def mapped(self, change: Callable[[Term], Term]) -> Boxed:
        """With other terms for the places."""
        return replace(self, index=tuple(map(change, self.index)), value=change(self.value))


@dataclass(frozen=True, slots=True)
class Sent:
    """A copy of a box, as one call of the unit: from where on in the block's memory and in the tensor, how large, and the turn of the ring that is told. Where blocks of
    a cluster want the same box, each has one of its `parts` sent to all of them: to those of `mask`, counted from number `first` of the cluster on."""

    near: tuple[str, tuple[Term, ...]]
    tensor: str
    origin: tuple[Term, ...]
    extents: tuple[int, ...]
    pattern: int
    size: int
    told: tuple[str, Term]
    parts: int = 1
    mask: int = 0
    first: tuple[Term, ...] = ()

    def mapped(self, change: Callable[[Term], Term]) -> Sent:
        """With other terms for the places."""
        (name, place), (ring, turn) = self.near, self.told
        near, origin, first = (name, tuple(map(change, place))), tuple(map(change, self.origin)), tuple(map(change, self.first))
        return replace(self, near=near, origin=origin, told=(ring, change(turn)), first=first)

    @property
    def bytes(self) -> int:
        """That land in the memory of a block, of all parts."""
        return prod(self.extents) * self.size * self.parts


@dataclass(frozen=True, slots=True)
class Sync(Call):
    """Nobody of the scope goes on before all have come; what was written before is seen by all after. An `instruction` is run by a warp, and what
    is so ordered are elements of fragments only. What lies between the one that `begins` an instruction, or a copy of a box, and the next one is what its lanes do."""

    scope: str = "block"
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    begins: Applied | Boxed | Sent | None = field(default=None, repr=False)

    @property
    def applied(self) -> Applied | None:
        """The instruction that begins here."""
        return self.begins if isinstance(self.begins, Applied) else None

    @property
    def called(self) -> str:
        """What waits."""
        return SCOPES[self.scope]

    @property
    def together(self) -> str:
        """Of whom all come here."""
        return (
            self.begins.instruction.level
            if isinstance(self.begins, Applied)
            else "block"
            if self.scope in ("block", "cluster")
            else "warp"
        )

    @property
    def noun(self) -> str:
        """What it is, in a sentence."""
        return "barrier"

    @property
    def word(self) -> str:
        """How a text writes it.

        >>> Sync().word, Sync("warp").word
        ('barrier', 'warp barrier')
        """
        return "barrier" if self.scope == "block" else f"{self.scope} barrier"


@dataclass(frozen=True, slots=True)
class Commit(Call):
    """What the thread has begun on a unit since the last one is a group."""

    unit: str = COPY
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What ends a group."""
        return f"{UNITS[self.unit]}_commit"


@dataclass(frozen=True, slots=True)
class Wait(Call):
    """The thread goes on when at most so many of its groups, the last ones, are under way: all others have landed."""

    count: int
    unit: str = COPY
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What waits."""
        return f"{UNITS[self.unit]}_wait{self.count}"


@dataclass(frozen=True, slots=True)
class Fence(Call):
    """What the thread has done before is done for what is begun later: `async`, what it has written to shared memory, for units that read it by
    themselves; a unit, what it has done with registers, for instructions on that unit."""

    unit: str = ASYNC
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What shows it."""
        return "fence_async" if self.unit == ASYNC else f"{UNITS[self.unit]}_fence"


@dataclass(frozen=True, slots=True)
class Enter(Call):
    """From here on the slot of a turn of a ring is the thread's, to `fill` or to `use`: it waits until that slot was given back, or was filled."""

    ring: str
    way: str
    turn: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What waits."""
        return f"ring_{self.way}"


@dataclass(frozen=True, slots=True)
class Leave(Call):
    """The thread is done with a slot: that of the turn `behind` this one, as what it has begun on units of their own may be under way."""

    ring: str
    way: str
    turn: Term
    behind: int = 0
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What tells the others."""
        return f"ring_{'filled' if self.way == FILL else 'used'}"


@dataclass(frozen=True, slots=True)
class Registers(Call):
    """From here on a thread has so many registers, more (`inc`) or fewer (`dec`) than before: what a kernel does for its roles, and no text says."""

    count: int
    way: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What sets them."""
        return "set_registers"


@dataclass(frozen=True, slots=True)
class Reserve(Call):
    """A block takes columns of tensor memory for an array (`begin`), or gives them back (`end`): what a kernel does around its steps, and no text says."""

    array: str
    columns: int
    way: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What takes them."""
        return f"tensor_{self.way}"


@dataclass(frozen=True, slots=True)
class Prefetch(Call):
    """A hint: what lies around an element of memory, which is there, comes nearer to whoever reads it soon. Nothing waits for it."""

    element: Term
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What asks for it."""
        return PREFETCH


@dataclass(frozen=True, slots=True)
class Stream(Call):
    """A hint: what the thread writes of an array in memory is not read again soon, and need not stay near."""

    tensor: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def called(self) -> str:
        """What a layout makes of it: a loop of stores past the caches."""
        return STREAM


Calls: TypeAlias = Sync | Commit | Wait | Fence | Enter | Leave | Registers | Reserve | Prefetch | Stream
