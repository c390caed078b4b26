"""Conversions of numbers in a kernel's text, the functions that choose among numbers, and indices that are made wider.

Comes in: a number with its type in numba, and the type that is wanted. Goes out: the term of the conversion. The one idea: what numba would
convert silently, to a wider type than the proof's, is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from tinygpu.category.dtype import INTEGERS, LONG, MEMORY
from tinygpu.category.term import INDEX, App, Const, Term, Var, apply
from tinygpu.validate.meaning import bits
from tinygpu.validate.typed import FLOATS, SIGNED_INDEX, WORD_INDEX, Atom, Differs, Pointer, Thing, Value, unread


def as_kind(node: ast.AST, value: Value, kind: str) -> Term:
    """A number in that type, converted as numba does it."""
    term = value.term
    if term.dtype == INDEX and kind == "u32" and value.kind in (*SIGNED_INDEX, *WORD_INDEX):
        return Const(term.value, "u32") if isinstance(term, Const) else App("cast", (term,), "u32")
    if value.kind in (kind, f"raw {kind}"):
        return term
    if (kind, value.kind) == ("i64", "raw u64"):
        return wrapped(node, term)
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


def wrapped(node: ast.AST, term: Term) -> Term:
    """`i64(u64(a) + u64(b))` of numbers of i64: their sum, which wraps; also their difference and their product."""
    match term:
        case App(op, (App("cast", (a,)), App("cast", (b,)))) if op in ("add", "sub", "mul") and a.dtype == b.dtype == "i64":
            return App(op, (a, b), "i64")
    raise unread(node, "what is computed of unsigned numbers is made a signed one before it is cast back to them")


def as_index(node: ast.AST, value: Value) -> tuple[Term, bool]:
    """A number as an index, and whether it surely fits the type of indices."""
    if value.term.dtype == INDEX:
        return value.term, value.kind in ("ix", "raw ix")
    if value.kind in INTEGERS:
        return App("cast", (value.term,)), value.kind not in (*LONG, "u32")
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
    if name.endswith("_value") and value.kind == MEMORY[name.removesuffix("_value")]:
        return Value(App(name, (value.term,), "f32"), "f32")
    if not name.endswith("_value") and value.kind in (*FLOATS, *(LONG if "trunc" not in name else ())):
        kind = (
            name.removeprefix("trunc_")
            if "trunc" in name
            else MEMORY[name.removesuffix("_bits")]
            if name.endswith("_bits")
            else "f32"
        )
        term = bits(name.removesuffix("_bits"), value.term) if name.endswith("_bits") else App(name, (value.term,), kind)
        return Value(term, kind)
    raise unread(node, f"{ast.unparse(node)} converts {value.kind}")


def paced(node: ast.expr, memory: Pointer, thing: Callable[[ast.AST], Thing]) -> list[ast.expr]:
    """The indices of an element of a strided array, in `i64(i)*x_stride_0 + i64(j)*x_stride_1`. The sum fits 64 bits: the program's indices are inside,
    and a launcher has seen how far apart elements may lie."""
    parts: list[ast.expr] = []
    while len(parts) + 1 < memory.axes and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts, node = [node.right, *parts], node.left
    found: list[ast.expr] = []
    for axis, part in enumerate([node, *parts]):
        match part:
            case ast.BinOp(ast.Call(kind, [index], []), ast.Mult(), pace) if thing(kind) == Atom("type", "i64"):
                if thing(pace) != Value(Var(f"{memory.array} stride {axis}", "i64"), "i64"):
                    raise Differs(pace, f"{ast.unparse(pace)} is not the stride of axis {axis} of {memory.array}")
                found.append(index)
            case _:
                raise unread(part, f"{ast.unparse(part)} is no index of {memory.array} times a stride")
    if len(found) != memory.axes:
        raise Differs(node, f"{memory.array} has {memory.axes} axes")
    return found
