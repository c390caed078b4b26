"""What the names of a CPU kernel stand for while it is read.

Comes in: parameters and assignments. Goes out: index terms, cells, arrays of cells, tensors, each behind its Python name.
The one idea: a name of an index is its term, so that a kernel's own names are gone once it is read; everything else that is written to
is a cell of the program that is read.
"""

from __future__ import annotations

import ast
from typing import TypeAlias

from tinygpu.category.term import Axis, Const, Term, Var
from tinygpu.model.op import Tensor
from tinygpu.record import dataclass


class Unread(Exception):
    """A part of the text that is not understood: then nothing is said of the kernel but that."""

    def __init__(self, node: ast.AST | None, reason: str) -> None:
        super().__init__(reason)
        self.node, self.reason = node, reason


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
    """One number that is kept: a cell of its own."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Cells:
    """An array of cells of a worker; `size` as it is written, `shape` as the cells are numbered."""

    name: str
    dtype: str
    shape: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Component:
    """One component of the value that a cell, or each of an array of cells, holds."""

    cell: Cell | Cells
    place: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Global:
    """An array that was handed in, flat."""

    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Number:
    """A value that stands for what it was made of: a scalar argument."""

    term: Term


@dataclass(frozen=True, slots=True)
class Lost:
    """A name that does not have one meaning here."""

    reason: str


@dataclass(frozen=True, slots=True)
class Vector:
    """A vector of numbers: what its lane holds."""

    term: Term


Meaning: TypeAlias = Term | Digits | Cell | Cells | Component | Global | Number | Vector | Lost
