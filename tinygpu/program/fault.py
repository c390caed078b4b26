"""What can go wrong when a program runs: the closed union of faults that the simulator reports.

Comes in: where it happened (step, lane, loop variables) and which element. Goes out: frozen values, and each as a sentence.
The one idea: a fault names one lane at one iteration and one element, so that a reader can follow it by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tinygpu.category.number import Array
from tinygpu.diagnostic import Span

Point: TypeAlias = tuple[tuple[str, int], ...]


class SimulationBudget(Exception):
    """The run would take more lane-steps than its budget allows."""


@dataclass(frozen=True, slots=True)
class At:
    """The step's span, the launch's number, the lane as `(factor, value)` pairs, and the loop variables, outermost first."""

    span: Span
    launch: int
    lane: Point
    loops: Point

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
    """A read of a local cell that this lane has not written since it was declared."""

    at: At
    array: str
    index: tuple[int, ...]


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
class DivisionByZero:
    """An integer division or remainder by zero, or of signed integers one of which is negative; `term` is its text."""

    at: At
    term: str


@dataclass(frozen=True, slots=True)
class HoldsViolated:
    """A ghost fact that does not hold: the cell is `got` where the fact says `want`."""

    at: At
    array: str
    index: tuple[int, ...]
    got: float
    want: float


Fault: TypeAlias = OutOfBounds | Uninitialised | DoubleStore | NeverStored | ReadOutput | DivisionByZero | HoldsViolated


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run left in the outputs, and the faults on the way, first ones first. Floats that nothing stored are NaN."""

    outputs: dict[str, Array]
    faults: tuple[Fault, ...]


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
        case Uninitialised(at, array, index):
            return f"{at}: {element(array, index)} is read before this thread has written it"
        case DoubleStore(at, array, index, first):
            return f"{at}: {element(array, index)} is stored again, after {first}"
        case ReadOutput(at, array, index):
            return f"{at}: {element(array, index)} is an output and is read"
        case DivisionByZero(at, term):
            return f"{at}: division by zero or of a negative number in {term}"
        case HoldsViolated(at, array, index, got, want):
            return f"{at}: {element(array, index)} is {got!r}, not {want!r} as the program says"


def element(array: str, index: tuple[int, ...]) -> str:
    """`C[1, 2]`."""
    return f"{array}[{', '.join(map(str, index))}]"
