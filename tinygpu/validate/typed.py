"""What stands behind the names of a kernel's text: numbers with the types that numba gives them, memory, and what the prelude offers.

Comes in: numbers with their types. Goes out: the closed union of those things, numbers in other types, and the error that says that a text does
something else than its program. The one idea: an index term is an integer of mathematics and a machine type beside it; that the one fits the other
is to be proved, and what numba would convert silently, to a wider type than the proof's, is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TypeAlias

from tinygpu.category.dtype import INTEGERS, NATIVE
from tinygpu.category.term import INDEX, App, Const, Term, apply
from tinygpu.record import dataclass
from tinygpu.validate.meaning import bits

FLOATS = tuple(name for name in NATIVE if name not in INTEGERS)
SIGNED_INDEX = ("ix", "lit", "raw ix")  # an index, a number of the text, and what arithmetic of these gives before it is cast back
WORD_INDEX = ("u32", "raw u32")  # an index as an unsigned number of 32 bits
OPERATORS: Mapping[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.BitXor: "xor",
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """A number: its term, and its type in numba. `raw i32` is what `i32 + i32` gives, which has 64 bits until it is cast back; `u64` is a
    number of i64 taken as an unsigned one, which its term does not show."""

    term: Term
    kind: str


@dataclass(frozen=True, slots=True)
class Pointer:
    """Memory, with the elements of an array of the program; `item` is the type of an element. A block's has its first byte."""

    array: str
    item: str
    shared: bool = False


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
class Atom:
    """What the prelude gives a name: `type`, `function`, `conversion`, `shuffle`, `load`, `store`, `atomic`, `shared`, `cuda`, `inf`, …"""

    what: str
    name: str = ""
    number: int = 0
    shared: bool = False


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


# ── conversions ────────────────────────────────────────────────────────────────────────────────────────────────────


def as_kind(node: ast.AST, value: Value, kind: str) -> Term:
    """A number in that type, converted as numba does it."""
    term = value.term
    if term.dtype == INDEX and kind == "u32" and value.kind in (*SIGNED_INDEX, *WORD_INDEX):
        return Const(term.value, "u32") if isinstance(term, Const) else App("cast", (term,), "u32")
    if value.kind in (kind, f"raw {kind}") or (kind, value.kind) == ("i64", "u64"):
        return term
    if value.kind == "float lit" and kind in FLOATS:
        assert isinstance(term, Const)
        return Const(term.value, kind)
    if isinstance(term, Const) and value.kind == "lit" and kind in (*FLOATS, *INTEGERS, "u16"):
        return Const(float(term.value) if kind in FLOATS else term.value, kind)
    if value.kind in (*SIGNED_INDEX, *INTEGERS, "bool") and kind in (*FLOATS, *INTEGERS) and not value.kind.startswith("raw"):
        return App("cast", (term,), kind)
    if value.kind in FLOATS and kind in FLOATS:
        return App("cast", (term,), kind)
    raise unread(node, f"a value of {value.kind} stands where one of {kind} is needed")


def as_index(node: ast.AST, value: Value) -> tuple[Term, bool]:
    """A number as an index, and whether it surely fits the type of indices."""
    if value.term.dtype == INDEX:
        return value.term, value.kind in ("ix", "raw ix")
    if value.kind in INTEGERS:
        return App("cast", (value.term,)), value.kind not in ("i64", "u32")
    raise unread(node, f"{value.kind} is made an index")


def beside(a: Value, b: Value) -> Value:
    """A number `u32(…)` beside a value of u32 is one itself; beside an index it is an index."""
    if a.kind == "u32" and a.term.dtype == INDEX and b.kind == "u32" and b.term.dtype == "u32":
        return Value(Const(a.term.value, "u32") if isinstance(a.term, Const) else App("cast", (a.term,), "u32"), "u32")
    return a


def extreme(node: ast.Call, op: str, values: list[Value]) -> Value:
    """`min`, `max` or `abs` of numbers of one type, or of indices."""
    if op == "abs" and len(values) == 1 and values[0].kind in INTEGERS:
        return Value(App("abs", (values[0].term,), values[0].kind), f"raw {values[0].kind}")
    if op == "abs" and len(values) == 1 and values[0].kind in FLOATS:
        return Value(App("abs", (values[0].term,), values[0].kind), values[0].kind)
    if op != "abs" and len(values) == 2:
        a, b = values
        if a.kind in SIGNED_INDEX and b.kind in SIGNED_INDEX:
            return Value(apply(op, a.term, b.term), "raw ix")
        if b.kind == "lit" and a.kind in INTEGERS:
            b = Value(Const(b.term.value, a.kind), a.kind)  # type: ignore[union-attr]
        if a.kind == b.kind and a.kind in (*INTEGERS, *FLOATS):
            return Value(App(op, (a.term, b.term), a.kind), a.kind)
    raise unread(node, f"{ast.unparse(node)} is no expression of a kernel")


def converted(node: ast.Call, name: str, value: Value) -> Value:
    """A conversion of the prelude, of what it is there for."""
    if name.endswith("_value") and value.kind == "u16":
        return Value(App(name, (value.term,), "f32"), "f32")
    if not name.endswith("_value") and value.kind in (*FLOATS, *(("i64",) if "trunc" not in name else ())):
        kind = name.removeprefix("trunc_") if "trunc" in name else "u16" if name.endswith("_bits") else "f32"
        term = bits(name.removesuffix("_bits"), value.term) if name.endswith("_bits") else App(name, (value.term,), kind)
        return Value(term, kind)
    raise unread(node, f"{ast.unparse(node)} converts {value.kind}")
