"""Operations on values, by the kind of work that they are.

Comes in: a node of a value. Goes out: its kind, or None for what costs nothing here (indices, what goes into a fused sum).
The one idea: `a*b + c` is one instruction and two floating-point operations, so the product is counted with its sum.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.term import BOOL, COMPARISONS, FLOATS, FUNCTIONS, INDEX, App, Term, walk

FLOPS: Mapping[str, int] = {"fma": 2, "add": 1, "mul": 1, "divide": 1, "special": 1}  # the others are no floating-point operations
KINDS = ("fma", "add", "mul", "divide", "special", "compare", "convert", "integer")
COMPARING = ("min", "max", "select", "abs", "floor", "neg")


def kind_of(node: App, fused: bool = False) -> str | None:
    """The kind of one node; `fused`: it is a product, and its sum has counted it.

    >>> from tinygpu.category.term import Const
    >>> x = Const(2.0, "f32")
    >>> product = App("mul", (x, x), "f32")
    >>> kind_of(product), kind_of(App("add", (product, x), "f32")), kind_of(product, True), kind_of(App("exp", (x,), "f32"))
    ('mul', 'fma', None, 'special')
    """
    if fused and node.op == "mul":
        return None
    if node.dtype == BOOL:
        values = node.op in COMPARISONS and node.args[0].dtype not in (INDEX, BOOL)
        return "compare" if values else None
    if node.dtype == INDEX:
        return None
    if node.op == "cast":
        return "convert" if node.args[0].dtype not in (INDEX, node.dtype) else None
    if node.op == "select" and not any(isinstance(t, App) and kind_of(t) for t in walk(node.args[0])):
        return None  # a choice by indices is a guard of what is chosen
    if node.dtype not in FLOATS:
        return "integer"
    match node.op:
        case "add" | "sub":
            return "fma" if any(isinstance(a, App) and a.op == "mul" for a in node.args) else "add"
        case "mul":
            return "mul"
        case "div":
            return "divide"
        case op if op in COMPARING:
            return "compare"
        case op if op in FUNCTIONS:
            return "special"
    return "integer"


def update_kind(update: str, value: Term) -> str | None:
    """The kind of `target ⊕= value`: a sum of a product is one fused operation.

    >>> from tinygpu.category.term import Const
    >>> x = Const(2.0, "f32")
    >>> update_kind("sum", App("mul", (x, x), "f32")), update_kind("max", x), update_kind("sum", Const(1, "i32"))
    ('fma', 'compare', 'integer')
    """
    if value.dtype == BOOL:
        return None
    if value.dtype not in FLOATS:
        return "integer"
    if update == "sum":
        return "fma" if isinstance(value, App) and value.op == "mul" else "add"
    return {"prod": "mul"}.get(update, "compare")
