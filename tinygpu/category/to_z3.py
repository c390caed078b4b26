"""The functor to z3: boxes become bounded integers and a guard, index terms integer terms, values real or integer terms.

Comes in: terms. Goes out: expressions of one fresh context, and the side facts that make symbolic division and products
linear: `e = q·n + r, 0 ≤ r < n` names the digits of `e // n` and `e % n`, and products with a common factor are monotone.
Tensors and `exp` and friends are uninterpreted, floats are reals, integers wrap to their width; a narrowing cast is uninterpreted,
and so is a widening cast of a value that its narrower type may have rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

from tinygpu.category.dtype import BITS, RANGE, SIGNED
from tinygpu.category.nearest import nearest
from tinygpu.category.rounding import WIDER, unrounded, whole
from tinygpu.category.solver import fresh
from tinygpu.category.term import BOOL, DTYPES, FLOATS, INDEX, INTEGERS, App, Axis, Const, Fold, Read, Term, Var, variables

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


class Z3:
    """One translation: `Z3().term(t)` is an expression of a fresh context, `side` the facts that its digits and products bring.

    >>> z = Z3()
    >>> z.term(Var("i") + 1)
    i + 1
    >>> _ = z.term(Var("i") // Var("n")); len(z.facts())
    1
    """

    def __init__(self) -> None:
        self.context = fresh()
        self.memo: dict[Term, Any] = {}
        self.digits: dict[tuple[Term, Term], tuple[Any, Any, Any, Any]] = {}
        self.products: list[tuple[Any, Any, Any]] = []
        self.folds: dict[Fold, int] = {}
        self.numbers: dict[Any, str] = {}  # what a machine's integer type holds, by its z3 expression

    def term(self, term: Term) -> Any:
        """`Term → z3 expression`, shared subterms once."""
        if term not in self.memo:
            self.memo[term] = self._term(term)
        return self.memo[term]

    def facts(self) -> list[Any]:
        """Side facts, all of them theorems: digits of divisions by terms, monotonicity of products, ranges of integer types."""
        ctx = self.context
        out = []
        for number, dtype in self.numbers.items():
            low, high = RANGE[dtype]
            out.append(z3.And(number >= low, number < high + 1, ctx))
        for a, n, q, r in self.digits.values():
            self.product(q, n)
            out.append(z3.Implies(n > 0, z3.And(a == q * n + r, r >= 0, r < n, ctx), ctx))
        for i, (x, y, xy) in enumerate(self.products):
            for u, v, uv in self.products[:i]:
                for p, c, q, d in ((x, y, u, v), (x, y, v, u), (y, x, u, v), (y, x, v, u)):
                    if z3.eq(c, d) and not z3.eq(p, q):
                        out.append(z3.Implies(z3.And(c >= 0, p <= q, ctx), xy <= uv, ctx))
                        out.append(z3.Implies(z3.And(c >= 0, p >= q, ctx), xy >= uv, ctx))
                        out.append(z3.Implies(z3.And(c >= 0, p + 1 <= q, ctx), xy + c <= uv, ctx))
                        out.append(z3.Implies(z3.And(c >= 0, p >= q + 1, ctx), xy >= uv + c, ctx))
        return out

    def product(self, x: Any, y: Any) -> Any:
        """`x·y`, remembered for the monotonicity facts unless one factor is a number."""
        if not z3.is_int_value(x) and not z3.is_int_value(y) and not any(z3.eq(x, a) and z3.eq(y, b) for a, b, _ in self.products):
            self.products.append((x, y, x * y))
        return x * y

    def sort(self, dtype: str) -> Any:
        """The sort of a dtype: integers for index and integer types, reals for floats, an opaque one for a carrier."""
        if dtype == BOOL:
            return z3.BoolSort(self.context)
        if dtype not in DTYPES and dtype != INDEX:
            return z3.DeclareSort(dtype, self.context)
        return z3.RealSort(self.context) if dtype in FLOATS else z3.IntSort(self.context)

    def _term(self, term: Term) -> Any:
        match term:
            case Const(value, dtype):
                return self._constant(value, dtype)
            case Var(name, dtype):
                return self._held(z3.Const(name, self.sort(dtype)), dtype)
            case Read(tensor, index, dtype):
                return self._uninterpreted(tensor, tuple(map(self.term, index)), dtype)
            case Fold(_, _, _, _, dtype):
                # a fold that nothing matched is some function of its free variables
                free = sorted(variables(term))
                number = self.folds.setdefault(term, len(self.folds))
                return self._uninterpreted(f"fold {number}", tuple(self.term(Var(v)) for v in free), dtype)
            case App(op, args, dtype):
                return self._apply(op, args, dtype)

    def _constant(self, value: int | float | bool, dtype: str) -> Any:
        if dtype == BOOL:
            return z3.BoolVal(bool(value), self.context)
        if dtype in FLOATS:
            number = nearest(value, dtype)
            if number is None:
                infinity = z3.Const("infinity", self.sort(dtype))
                return infinity if value > 0 else -infinity
            return z3.RealVal(str(number), self.context)
        return z3.simplify(self._wrap(z3.IntVal(int(value), self.context), dtype))

    def _uninterpreted(self, name: str, args: tuple[Any, ...], dtype: str) -> Any:
        if not args:
            return self._held(z3.Const(f"{name}[]", self.sort(dtype)), dtype)
        function = z3.Function(f"{name}[{len(args)}]", *(a.sort() for a in args), self.sort(dtype))
        return self._held(function(*args), dtype)

    def _held(self, value: Any, dtype: str) -> Any:
        """A value of a machine's type, remembered for the facts about its range."""
        if dtype in BITS:
            self.numbers[value] = dtype
        return value

    def _apply(self, op: str, args: tuple[Term, ...], dtype: str) -> Any:
        ctx = self.context
        a = tuple(map(self.term, args))
        match op:
            case "and":
                return z3.And(*a, ctx)
            case "or":
                return z3.Or(*a, ctx)
            case "not":
                return z3.Not(a[0], ctx)
            case "select":
                return z3.If(a[0], a[1], a[2], ctx)
            case "cast":
                return self._cast(a[0], args[0], dtype)
            case "table":
                out = a[-1]
                for position, entry in reversed(list(enumerate(a[1:-1]))):
                    out = z3.If(a[0] == position, entry, out, ctx)
                return out
            case _ if op in COMPARE:
                return COMPARE[op](a[0], a[1])
        return self._wrap(self._arithmetic(op, args, a, dtype), dtype)

    def _arithmetic(self, op: str, args: tuple[Term, ...], a: tuple[Any, ...], dtype: str) -> Any:
        integer = dtype == INDEX or dtype in INTEGERS
        match op:
            case "add":
                return sum(a[1:], start=a[0])
            case "sub":
                return a[0] - a[1]
            case "neg":
                return -a[0]
            case "mul" if integer:
                return self.product(a[0], a[1])
            case "mul":
                return a[0] * a[1]
            case "div":
                return a[0] / a[1]
            case "min":
                return z3.If(a[0] <= a[1], a[0], a[1], self.context)
            case "max":
                return z3.If(a[0] >= a[1], a[0], a[1], self.context)
            case "abs":
                return z3.If(a[0] >= 0, a[0], -a[0], self.context)
            case "floordiv" if integer:
                return self._digits(args[0], args[1])[0]
            case "mod" if integer:
                return self._digits(args[0], args[1])[1]
            case "ceildiv":
                return self._digits(App("add", (args[0], App("sub", (args[1], Const(1))))), args[1])[0]
            case "xor" if integer:
                return self._xor(*a)
        return self._uninterpreted(f"{op} {dtype}", a, dtype)

    def _digits(self, a: Term, n: Term) -> tuple[Any, Any]:
        numerator, divisor = self.term(a), z3.simplify(self.term(n))
        if z3.is_int_value(divisor):
            return numerator / divisor, numerator % divisor
        if (a, n) not in self.digits:
            number = len(self.digits)
            q, r = (z3.Int(f"{name} {number}", self.context) for name in ("quotient", "remainder"))
            self.digits[a, n] = (numerator, divisor, q, r)
        _, _, q, r = self.digits[a, n]
        return q, r

    def _xor(self, a: Any, b: Any) -> Any:
        inside = z3.And(a >= 0, a < 65536, b >= 0, b < 65536, self.context)
        bits = z3.BV2Int(z3.Int2BV(a, 16) ^ z3.Int2BV(b, 16))
        return z3.If(inside, bits, self._uninterpreted("xor of", (a, b), INDEX), self.context)

    def _wrap(self, value: Any, dtype: str) -> Any:
        if dtype not in BITS:
            return value
        size = 1 << BITS[dtype]
        return (value + size // 2) % size - size // 2 if dtype in SIGNED else value % size

    def _cast(self, value: Any, inner: Term, target: str) -> Any:
        source = inner.dtype
        if source == target:
            return value
        if (source, target) in WIDER:
            return value if unrounded(inner) else self._uninterpreted(f"rounded {source}", (value,), target)
        if source == BOOL:
            zero, one = (self._constant(v, target) for v in (0, 1))
            return z3.If(value, one, zero, self.context)
        if target == BOOL:
            return value != 0
        if target in FLOATS:
            real = value if source in FLOATS else z3.ToReal(value)
            if source not in FLOATS and (target in ("f32", "f64") or whole(source, target)):
                return real
            return self._uninterpreted(f"round {target}", (real,), target)
        if source in FLOATS:
            return self._uninterpreted(f"truncate {target}", (value,), target)
        return self._wrap(value, target)


def box_facts(axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    """`0 ≤ a < n` for every axis of a box.

    >>> from tinygpu.category.term import text
    >>> [text(f) for f in box_facts((Axis("i", Var("n")),))]
    ['0 <= i', 'i < n']
    """
    return tuple(
        fact for a in axes for fact in (App("le", (Const(0), Var(a.name)), BOOL), App("lt", (Var(a.name), a.extent), BOOL))
    )
