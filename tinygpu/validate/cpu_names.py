"""What the names of a CPU kernel stand for while it is followed.

Comes in: parameters and assignments. Goes out: index terms, cells, arrays of cells, tensors, each behind its Python name.
The one idea: a name of an index is its term, so that a kernel's own names are gone once it is read; every other name is a cell of the
program, from the first time on that it is written.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.category.term import Axis, Const, Term, Var
from tinygpu.model.op import Tensor
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Digits:
    """A natural number below the product of the extents, as its digits in mixed radix, highest first: a bijection."""

    axes: tuple[Axis, ...]

    def term(self) -> Term:
        """The number."""
        out: Term = Const(0)
        for axis in self.axes:
            out = out * axis.extent + Var(axis.name)
        return out


@dataclass(frozen=True, slots=True)
class Cell:
    """One number that is kept: a cell of the program."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Array:
    """An array of cells of the program; `each`: every thread of the block has its own."""

    name: str
    dtype: str
    each: bool


@dataclass(frozen=True, slots=True)
class Held:
    """A vector register: the cells of an array from `first` on, one a lane."""

    array: str
    first: Term
    dtype: str


@dataclass(frozen=True, slots=True)
class Mask:
    """What a condition of the program was for a thread."""

    term: Var


@dataclass(frozen=True, slots=True)
class Global:
    """An array that was handed in, flat."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Number:
    """A value that stands for what it was made of: a scalar argument."""

    term: Term


Meaning: TypeAlias = Term | Digits | Cell | Array | Held | Mask | Global | Number
