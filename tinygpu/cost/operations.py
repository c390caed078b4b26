"""Operations: the nodes of a value that are computed, each with when, and what kind of instruction each is.

Comes in: a value, and where it stands. Goes out: its nodes with their guards, and kinds. The one idea: a choice evaluates one side and `and` stops early, so
every operand has a guard of its own; and `a*b + c` is one instruction and two floating-point operations, so a product is counted with its sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.operation import OPERATION
from tinygpu.category.region import Region, operands
from tinygpu.category.term import BOOL, COMPARISONS, FLOATS, INDEX, App, Term, conjuncts, walk

FLOPS: Mapping[str, int] = {"tensor": 2, "fma": 2, "add": 1, "mul": 1, "divide": 1, "special": 1}  # of floats; the others are none
KINDS = ("tensor", "fma", "add", "mul", "divide", "special", "compare", "convert", "integer")


def flops_of(kind: str, dtype: str) -> int:
    """How many floating-point operations one of a kind is; of `tensor` the dtype says what is summed.

    >>> flops_of("tensor", "f16→f32"), flops_of("tensor", "i8→i32"), flops_of("fma", "f32"), flops_of("compare", "f32")
    (2, 0, 2, 0)
    """
    return FLOPS.get(kind, 0) if dtype.split("→")[-1] in FLOATS else 0


def either(a: Term, b: Term) -> Term:
    """`a or b`; the weaker of them, where one is a part of the other.

    >>> from tinygpu.category.term import TRUE, Var, conjunction
    >>> i, n = Var("i"), Var("n")
    >>> either(i < n, conjunction(i < n, i >= 2)) == (i < n), either(TRUE, i < n) == TRUE
    (True, True)
    """
    left, right = set(conjuncts(a)), set(conjuncts(b))
    return a if left <= right else b if right <= left else App("or", (a, b), BOOL)


def evaluated(value: Term, here: Region, fused: bool = False) -> Iterator[tuple[Term, Region, bool]]:
    """Every node of a value that is evaluated, where it is, and whether a product goes into the sum around it.

    >>> from tinygpu.category.term import Const, Read, Var, select, text
    >>> i, n = Var("i"), Var("n")
    >>> one = select(i < n, Read("x", (i,), "f32"), Const(0.0, "f32"))
    >>> [(text(node), *map(text, there.guard)) for node, there, _ in evaluated(one, Region()) if isinstance(node, Read)]
    [('x[i]', 'i < n')]
    """
    yield value, here, fused
    takes = isinstance(value, App) and value.op in ("add", "sub") and value.dtype != INDEX
    for inside, there in operands(value, here):
        goes = takes and isinstance(inside, App) and inside.op == "mul"
        yield from evaluated(inside, there, goes)
        takes = takes and not goes


def kind_of(node: Term, fused: bool = False) -> str | None:
    """The kind of one operation of a value, None for what costs nothing here; `fused`: it is a product, and its sum has counted it.

    >>> from tinygpu.category.term import Const
    >>> x = Const(2.0, "f32")
    >>> product = App("mul", (x, x), "f32")
    >>> kind_of(product), kind_of(App("add", (product, x), "f32")), kind_of(product, True), kind_of(App("exp", (x,), "f32"))
    ('mul', 'fma', None, 'special')
    """
    match node:
        case App(op, args, dtype) if dtype != INDEX and not (fused and op == "mul"):
            of = args[0].dtype
            if dtype == BOOL:
                return "compare" if op in COMPARISONS and of not in (INDEX, BOOL) else None
            if op == "cast":
                return "convert" if of not in (INDEX, dtype) else None
            if op == "select" and not any(map(kind_of, walk(args[0]))):
                return None  # a choice by indices is a guard of what is chosen
            if dtype not in FLOATS:
                return "integer"
            product = any(isinstance(a, App) and a.op == "mul" for a in args)
            return "fma" if op in ("add", "sub") and product else OPERATION[op].work or "integer"
    return None
