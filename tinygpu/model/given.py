"""What a call is given: tensors by name, and numbers; and the called op with these put in.

Comes in: expressions, and what an op declares. Goes out: whether one fits, what a number is in a dtype, and parts of a tree with terms for names. The one idea: a number that is written has the dtype of what
takes it, or it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinygpu.category.dtype import DTYPE
from tinygpu.category.term import BOOL, FLOATS
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import rewritten


def takes(one: tree.TensorDecl, given: tuple[str, int | None] | None) -> bool:
    """Whether an input is of this dtype and number of axes; a number is of any dtype."""
    rank = None if one.shape is None else len(one.shape)
    return given == (one.dtype, rank) or (given == ("", None) and rank is None)


def literal_of(given: tree.Expr, dtype: str) -> float | int | bool | None:
    """The number that is written, if a dtype has it; a float may be rounded to it.

    >>> literal_of(tree.Number("0x10"), "f32"), literal_of(tree.Number("1e3"), "i32"), literal_of(tree.Number("256"), "u8"), literal_of(tree.Name("true"), "bool")
    (16.0, 1000, None, True)
    """
    match given:
        case tree.Name("true" | "false" as word):
            return word == "true" if dtype == BOOL else None
        case tree.Unary("-", tree.Number(text)):
            sign = -1
        case tree.Number(text):
            sign = 1
        case _:
            return None
    value = sign * (int(text, 16) if text.startswith("0x") else float(text) if set(text) & set(".eE") else int(text))
    row = DTYPE[dtype]
    if dtype in FLOATS:
        return float(value) if abs(value) < 2.0 ** min(row.exponent + 1, 1023) else None
    whole = dtype != BOOL and value == int(value) and -(2**row.digits) * (dtype[0] == "i") <= value < 2**row.digits
    return int(value) if whole else None


def with_name(node: Any, names: Mapping[str, str]) -> Any:
    """A node with another name, whatever has one."""
    match node:
        case tree.View(name, tensor):
            return replace(node, name=names.get(name, name), tensor=names.get(tensor, tensor))
        case tree.Name(name) | tree.Cell(name) | tree.Naming(name) | tree.Binder(name) if name in names:
            return replace(node, name=names[name])
    return node


def put(part: Any, terms: Mapping[str, tree.Expr]) -> Any:
    """A part of a tree with what stands for each name; of a cell that is the name of a tensor."""
    names = {name: one.name for name, one in terms.items() if isinstance(one, tree.Name)}
    return rewritten(part, lambda node: terms.get(node.name, node) if isinstance(node, tree.Name) else with_name(node, names))
