"""The functor to sympy: terms as its expressions, where algebra over sizes is done.

Comes in: terms. Goes out: sympy's expressions. The one idea: sympy is a domain of numbers like any other, so an operation is a row of the one
table; sizes and axes are natural numbers, and its own laws of floors and ceilings hold. It is imported at the first use, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tinygpu.category.operation import domain
from tinygpu.category.term import INDEX, INTEGERS, TRUE, App, Const, Fold, Read, Term, Var


def to_sympy(term: Term) -> Any:
    """`term → expression`. Tensors are functions of their indices, and sums and products over ranges are sympy's own.

    >>> to_sympy(Var("i") // 4 * 4 + Var("i") % 4), to_sympy(App("ceildiv", (Var("n") + 64, Const(64))))
    (Mod(i, 4) + 4*floor(i/4), ceiling(n/64) + 1)
    >>> from tinygpu.category.term import Axis
    >>> to_sympy(Fold("sum", (Axis("k", Var("K")),), TRUE, Read("A", (Var("i"), Var("k")), "f32"), "f32"))
    Sum(A(i, k), (k, 0, K - 1))
    """
    import sympy

    match term:
        case Const(value):
            return sympy.Rational(str(value)) if isinstance(value, float) and abs(value) < float("inf") else sympy.sympify(value)
        case Var(name, dtype):
            return sympy.Symbol(name, integer=True, nonnegative=True) if dtype == INDEX else sympy.Symbol(name, **_kind(dtype))
        case Read(tensor, index, dtype):
            return sympy.Function(tensor, **_kind(dtype))(*map(to_sympy, index)) if index else sympy.Symbol(tensor, **_kind(dtype))
        case Fold(monoid, axes, guard, body):
            limits = [(to_sympy(Var(a.name)), 0, to_sympy(a.extent) - 1) for a in axes]
            value = to_sympy(body)
            if monoid not in ("sum", "prod"):
                return sympy.Function(str(monoid))(value, to_sympy(guard), *(sympy.Tuple(*limit) for limit in limits))
            chosen = value if guard == TRUE else sympy.Piecewise((value, to_sympy(guard)), (int(monoid == "prod"), True))
            return (sympy.Sum if monoid == "sum" else sympy.Product)(chosen, *limits)
        case App("cast", (inner,)):
            return to_sympy(inner)
        case App(op, args):
            return symbolic()[op](*map(to_sympy, args))


def _kind(dtype: str) -> Mapping[str, bool]:
    return {"integer" if dtype in INTEGERS else "real": True}


@cache
def symbolic() -> Mapping[str, Callable[..., Any]]:
    """Every operation in sympy; exclusive or is left alone until both operands are numbers."""
    import sympy

    class xor(sympy.Function):  # type: ignore[misc]
        is_integer = True

        @classmethod
        def eval(cls, a: Any, b: Any) -> Any:
            return sympy.Integer(int(a) ^ int(b)) if a.is_Integer and b.is_Integer else None

    logic = {"and": sympy.And, "or": sympy.Or, "not": sympy.Not, "eq": sympy.Eq, "ne": sympy.Ne, "min": sympy.Min, "max": sympy.Max}
    return domain(
        sympy,
        **logic,
        xor=xor,
        ceildiv=lambda a, b: sympy.ceiling(a / b),
        select=lambda c, a, b: sympy.Piecewise((a, c), (b, True)),
        table=lambda i, *entries: sympy.Piecewise(*((e, sympy.Eq(i, k)) for k, e in enumerate(entries[:-1])), (entries[-1], True)),
    )
