"""The functor to sympy: terms as algebraic expressions, for cost formulas and for algebra.

Comes in: terms. Goes out: sympy expressions, where indices are integers and tensors are functions of their indices.
The one idea: division and remainder are floor and Mod, so sympy's own laws apply. sympy is imported at the first use, not before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tinygpu.category.term import FLOATS, INDEX, INTEGERS, App, Const, Fold, Read, Term, Var


def to_sympy(term: Term) -> Any:
    """`term → sympy expression`. Sizes and axes are integer symbols, other variables real ones.

    >>> to_sympy(Var("i") // 4 * 4 + Var("i") % 4)
    Mod(i, 4) + 4*floor(i/4)
    >>> from tinygpu.category.term import BOOL, Axis
    >>> to_sympy(Fold("sum", (Axis("k", Var("K")),), Const(True, BOOL), Read("A", (Var("i"), Var("k")), "f32"), "f32"))
    Sum(A(i, k), (k, 0, K - 1))
    """
    import sympy

    match term:
        case Const(bool(value)):
            return sympy.true if value else sympy.false
        case Const(value):
            if isinstance(value, float) and abs(value) == float("inf"):
                return sympy.oo if value > 0 else -sympy.oo
            return sympy.Integer(value) if isinstance(value, int) else sympy.Rational(str(value))
        case Var(name, dtype):
            return sympy.Symbol(name, integer=True) if dtype in (INDEX, *INTEGERS) else sympy.Symbol(name, real=True)
        case Read(tensor, index, dtype):
            name = sympy.Function(tensor, real=True) if dtype in FLOATS else sympy.Function(tensor, integer=True)
            return name(*map(to_sympy, index)) if index else sympy.Symbol(tensor, real=True)
        case Fold():
            return _fold(term)
        case App("cast", (a,)):
            return to_sympy(a)
        case App(op, args):
            return _operations()[op](*map(to_sympy, args))


def symbol(name: str) -> Any:
    """The symbol that a size or an axis becomes."""
    return to_sympy(Var(name))


def _fold(fold: Fold) -> Any:
    """Sums and products as such, guarded by cases; other folds are functions of what they are folded over."""
    import sympy

    body, guard = to_sympy(fold.body), to_sympy(fold.guard)
    limits = [(symbol(a.name), 0, to_sympy(a.extent) - 1) for a in fold.axes]
    if fold.monoid in ("sum", "prod"):
        unit = 0 if fold.monoid == "sum" else 1
        cases = body if guard == sympy.true else sympy.Piecewise((body, guard), (unit, True))
        return (sympy.Sum if fold.monoid == "sum" else sympy.Product)(cases, *limits)
    return sympy.Function(fold.monoid)(body, guard, *(sympy.Tuple(*limit) for limit in limits))


@lru_cache(maxsize=1)
def _operations() -> dict[str, Callable[..., Any]]:
    """Every operation of terms, in sympy."""
    import sympy

    simple: dict[str, Callable[..., Any]] = {
        "add": sympy.Add, "mul": sympy.Mul, "min": sympy.Min, "max": sympy.Max, "mod": sympy.Mod, "neg": lambda a: -a,
        "sub": lambda a, b: a - b, "div": lambda a, b: a / b, "floordiv": lambda a, b: sympy.floor(a / b), "ceildiv": lambda a, b: sympy.ceiling(a / b),
        "lt": sympy.Lt, "le": sympy.Le, "gt": sympy.Gt, "ge": sympy.Ge, "eq": sympy.Eq, "ne": sympy.Ne,
        "and": sympy.And, "or": sympy.Or, "not": sympy.Not,
        "exp": sympy.exp, "exp2": lambda a: 2**a, "log": sympy.log, "sqrt": sympy.sqrt, "rsqrt": lambda a: 1 / sympy.sqrt(a), "tanh": sympy.tanh,
        "sigmoid": lambda a: 1 / (1 + sympy.exp(-a)), "erf": sympy.erf, "sin": sympy.sin, "cos": sympy.cos, "abs": sympy.Abs, "floor": sympy.floor,
        "select": lambda c, a, b: sympy.Piecewise((a, c), (b, True)),
        "table": lambda i, *entries: sympy.Piecewise(*((e, sympy.Eq(i, k)) for k, e in enumerate(entries[:-1])), (entries[-1], True)),
        "xor": _exclusive_or(sympy),
    }  # fmt: skip
    return simple


def _exclusive_or(sympy: Any) -> Any:
    """Exclusive or on integers: a function that sympy leaves alone until both operands are numbers."""

    def evaluated(cls: Any, a: Any, b: Any) -> Any:
        return sympy.Integer(int(a) ^ int(b)) if a.is_Integer and b.is_Integer else None

    return type("xor", (sympy.Function,), {"eval": classmethod(evaluated), "is_integer": True, "nargs": (2,)})


def equation(left: Term, right: Term) -> str:
    """Two terms as an equation for a reader, in sympy's own writing.

    >>> equation(Var("z"), Var("a") * 2)
    'z = 2*a'
    """
    return f"{to_sympy(left)} = {to_sympy(right)}"
