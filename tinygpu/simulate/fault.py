"""What can go wrong when a program runs: the closed union of faults that the simulator reports.

Comes in: where it happened (step, lane, loop variables) and which element. Goes out: frozen values, and each as a sentence.
The one idea: a fault names one lane at one iteration and one element, so that a reader can follow it by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tinygpu.diagnostic import Span
from tinygpu.program.call import COPY
from tinygpu.program.step import Step
from tinygpu.record import dataclass, field

if TYPE_CHECKING:  # who shows a fault need not load numpy
    from tinygpu.category.number import Array

Point: TypeAlias = tuple[tuple[str, int], ...]

EACH = 3  # faults of one kind that one step may report about one array, so that the first mistake does not hide the second

OWNERS = {"thread": "this thread", "block": "any thread of the block", "grid": "an earlier launch"}


class SimulationBudget(Exception):
    """The run would take more lane-steps than its budget allows."""


@dataclass(frozen=True, slots=True)
class At:
    """The step and its span, the launch's number, the lane as `(factor, value)` pairs, and the loop variables, outermost first."""

    span: Span
    launch: int
    lane: Point
    loops: Point
    step: Step | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """
        >>> from tinygpu.diagnostic import NOWHERE
        >>> str(At(NOWHERE, 0, (("g", 1), ("t", 3)), (("k", 2),)))
        'g=1 t=3 at k=2'
        """
        lane = " ".join(f"{name}={value}" for name, value in self.lane) or "the only thread"
        loops = " ".join(f"{name}={value}" for name, value in self.loops)
        return f"{lane} at {loops}" if loops else lane


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """An access outside `array`: `index[axis]` is not in `[0, extent)`."""

    at: At
    array: str
    index: tuple[int, ...]
    axis: int
    extent: int


@dataclass(frozen=True, slots=True)
class Uninitialised:
    """A read of a cell that its `owner` has not written: a `thread` since it was declared, a `block`, or of the `grid` an earlier launch."""

    at: At
    array: str
    index: tuple[int, ...]
    owner: str = "thread"


@dataclass(frozen=True, slots=True)
class DoubleStore:
    """One output element stored twice, by two lanes or by two iterations, whatever the values; `first` was the earlier one."""

    at: At
    array: str
    index: tuple[int, ...]
    first: At


@dataclass(frozen=True, slots=True)
class NeverStored:
    """An output element that nothing stored."""

    array: str
    index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """A read of an output (an update in place is one)."""

    at: At
    array: str
    index: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Overwritten:
    """An element of an input in whose memory an output may lie, which `at` reads and another thread, or an earlier step, stores; or the other way round."""

    at: At
    array: str
    index: tuple[int, ...]
    stores: bool


@dataclass(frozen=True, slots=True)
class Race:
    """Two threads meet at one element, one of them writing, and nothing orders them. `first` came first in this run.

    `kind` says what they did: `write-write`, `read-write`, `write-read`; `atomic` which of the two was an atomic update. The scope is
    `block` at a shared array, and `launch` at one in global memory.
    """

    at: At
    array: str
    index: tuple[int, ...]
    first: At
    kind: str
    scope: str = "block"
    atomic: tuple[bool, bool] = (False, False)

    @property
    def verbs(self) -> tuple[str, str]:
        """What the first and the second thread do: `reads`, `writes` or `updates`."""
        plain = self.kind.split("-")
        first, second = ("updates" if a else f"{k}s" for k, a in zip(plain, self.atomic, strict=True))
        return first, second


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A cell to which `first` has begun a copy that may not have landed, and that `at` reads or writes; or where `at` begins a copy over what the same
    thread has touched before, at `first`, with no barrier between. `what` is `reads`, `writes` or `copies over`."""

    at: At
    array: str
    index: tuple[int, ...]
    first: At
    what: str
    unit: str = COPY


@dataclass(frozen=True, slots=True)
class Unfenced:
    """A cell that `first` has touched, and that `at` makes a unit read or write that may not see it: no fence is between, or the threads have not told each
    other of it."""

    at: At
    array: str
    index: tuple[int, ...]
    first: At
    unit: str


@dataclass(frozen=True, slots=True)
class Divergent:
    """A collective (`barrier`, `warp barrier`, or the name of a shuffle) that `at` reaches and `missing` of the same scope does not.

    Where a shuffle means a lane that the warp does not have, nobody is missing.
    """

    at: At
    collective: str
    scope: str
    missing: At | None


@dataclass(frozen=True, slots=True)
class DivisionByZero:
    """An integer division or remainder by zero, or of signed integers one of which is negative; or a `shift` by what no integer is shifted by.
    `term` is its text."""

    at: At
    term: str
    shift: bool = False


@dataclass(frozen=True, slots=True)
class HoldsViolated:
    """A ghost fact that does not hold: the cell is `got` where the fact says `want`."""

    at: At
    array: str
    index: tuple[int, ...]
    got: float
    want: float


Fault: TypeAlias = (
    OutOfBounds
    | Uninitialised
    | DoubleStore
    | NeverStored
    | ReadOutput
    | Overwritten
    | Race
    | UnderWay
    | Unfenced
    | Divergent
    | DivisionByZero
    | HoldsViolated
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run left in the outputs, and the faults on the way, first ones first. Floats that nothing stored are NaN."""

    outputs: dict[str, Array]
    faults: tuple[Fault, ...]


@dataclass(slots=True)
class Faults:
    """The faults found so far: `cap` at most, and EACH of a kind for one step and array."""

    cap: int
    found: list[Fault] = field(default_factory=list)
    count: dict[tuple[type[Fault], str, Span], int] = field(default_factory=dict)

    def add(self, fault: Fault, span: Span) -> None:
        """Notes the fault, if there is room."""
        key = (type(fault), getattr(fault, "array", ""), span)
        if self.room(*key):
            self.count[key] = self.count.get(key, 0) + 1
            self.found.append(fault)

    def room(self, kind: type[Fault], array: str, span: Span) -> bool:
        """Whether one more of a kind would be noted: who makes faults of what is not need not."""
        return len(self.found) < self.cap and self.count.get((kind, array, span), 0) < EACH


def sentence(fault: Fault) -> str:
    """The fault in words.

    >>> sentence(NeverStored("z", (3,)))
    'z[3] is never stored'
    """
    match fault:
        case NeverStored(array, index):
            return f"{element(array, index)} is never stored"
        case OutOfBounds(at, array, index, axis, extent):
            return f"{at}: {element(array, index)} is outside: axis {axis} has extent {extent}"
        case Uninitialised(at, array, index, owner):
            return f"{at}: {element(array, index)} is read before {OWNERS[owner]} has written it"
        case DoubleStore(at, array, index, first):
            return f"{at}: {element(array, index)} is stored again, after {first}"
        case ReadOutput(at, array, index):
            return f"{at}: {element(array, index)} is an output and is read"
        case Overwritten(at, array, index, True):
            return f"{at}: {element(array, index)} is stored, where another thread reads what was there"
        case Overwritten(at, array, index):
            return f"{at}: {element(array, index)} is read, where something else may be stored already"
        case Race(at, array, index, first):
            past, now = fault.verbs
            return f"{at}: {now} {element(array, index)}, which {first} {past}, with nothing between them"
        case UnderWay(at, array, index, first, "copies over" as what):
            return f"{at}: {what} {element(array, index)}, which it has touched before, with no barrier between"
        case UnderWay(at, array, index, first, what, unit):
            begun = "to which the copy" if unit == COPY else "with which the product"
            return f"{at}: {what} {element(array, index)}, {begun} that {first} has begun may be under way"
        case Unfenced(at, array, index, first):
            return f"{at}: a unit has {element(array, index)}, which {first} has touched, with no fence between that it knows of"
        case Divergent(at, collective, scope, None):
            return f"{at}: the {collective} means a lane that its {scope} does not have"
        case Divergent(at, collective, scope, missing):
            return f"{at}: comes to a {collective} to which {missing} of the same {scope} does not come"
        case DivisionByZero(at, term, True):
            return f"{at}: a shift by less than 0, or by the width or more, in {term}"
        case DivisionByZero(at, term):
            return f"{at}: division by zero or of a negative number in {term}"
        case HoldsViolated(at, array, index, got, want):
            return f"{at}: {element(array, index)} is {got!r}, not {want!r} as the program says"


def element(array: str, index: tuple[int, ...]) -> str:
    """`C[1, 2]`."""
    return f"{array}[{', '.join(map(str, index))}]"
