"""What stands behind the names of a kernel's text: numbers with the types that numba gives them, memory, and what the prelude offers.

Comes in: nothing. Goes out: the closed union of those things, and the error that says that a text does something else than its program.
The one idea: an index term is an integer of mathematics and a machine type beside it; that the one fits the other is to be proved.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeAlias

from tinygpu.category.dtype import INTEGERS, NATIVE
from tinygpu.category.term import Term
from tinygpu.program.instruction import Atom as Atom
from tinygpu.record import dataclass

FLOATS = tuple(name for name in NATIVE if name not in INTEGERS)
SIGNED_INDEX = ("ix", "lit", "raw ix")  # an index, a number of the text, and what arithmetic of these gives before it is cast back
WORD_INDEX = ("u32", "raw u32")  # an index as an unsigned number of 32 bits
OPERATORS: Mapping[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.BitXor: "xor",
    ast.BitAnd: "bitand", ast.BitOr: "bitor", ast.LShift: "shl", ast.RShift: "shr",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A number: its term, and its type in numba. `raw i32` is what `i32 + i32` gives, which has 64 bits until it is cast back."""

    term: Term
    kind: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """Memory, with the elements of an array of the program; `item` is the type of an element. A block's has its first byte; a strided array has so
    many `axes`, and its elements lie at an index for each. An array of the grid says its `extents`."""

    array: str
    item: str
    shared: bool = False
    axes: int = 0
    extents: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Cells:
    """A thread's own array of the text: of the program's that name, or (no name) what a wide access fills or empties."""

    array: str
    item: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Cells that hold `count` elements of memory from `offset` on, which nobody has written since."""

    pointer: Pointer
    offset: Term
    count: int


@dataclass(frozen=True, slots=True)
class Held:
    """A vector register of a CPU: the cells of an array from `first` on, one a lane."""

    pointer: Pointer
    first: Term


@dataclass(frozen=True, slots=True)
class Number:
    """A thread's own variable that is a cell of the program."""

    array: str
    item: str


@dataclass(frozen=True, slots=True)
class Stale:
    """A name whose value is not known any more, and why."""

    why: str


Thing: TypeAlias = Value | Pointer | Cells | Loaded | Held | Number | Atom | Stale


class Differs(Exception):
    """The text does something else than the program, or something that cannot be read: where, what it says, what is wanted.

    `open_` where a bound was not shown, which may hold all the same.
    """

    def __init__(self, node: ast.AST, says: str, wants: str = "", unread: bool = False, open_: bool = False):
        super().__init__(says)
        self.node, self.says, self.wants, self.unread, self.open_ = node, says, wants, unread, open_ or unread


def unread(node: ast.AST, what: str) -> Differs:
    """The error for what is outside of the texts that can be read."""
    return Differs(node, what, unread=True)
