"""Whether a condition over data surely holds at a point: a comparison that reads what is not there, or divides by what is not positive,
neither holds nor does not.

    all[t < n] (r[t] <= r[t + 1])       at each t:  (r[t] <= r[t + 1] and t + 1 < n + 1,  r[t] > r[t + 1] and t + 1 < n + 1)

Comes in: a condition as Python's tree, arrays of indices, data. Goes out: two arrays of truth values, that it holds and that it does not.
The one idea: numbers go with whether they are there, so `and`, `or`, `not` are those of three values, and nothing that is not there can make
a promise hold. Integers of a dtype wrap as a kernel's do; an index has no largest.
"""

from __future__ import annotations

import ast
import functools
import operator
from typing import Any

import numpy as np

from tinygpu.runtime.words import _tree

_COMPARED: dict[type, Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_COMPUTED: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitXor: operator.xor,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_NUMPY = {"i8": "int8", "i32": "int32", "i64": "int64", "u8": "uint8", "u32": "uint32", "index": "int64"}
_kept = functools.cache(_tree)


class _Point:
    """Points: `names` are binders and sizes, `data` the inputs. A number is its value, whether it is there, and its dtype; that of a number
    of the text is none, as it has that of its neighbour."""

    def __init__(self, names: dict[str, Any], data: dict[str, Any]):
        self.names, self.data = names, data

    def truth(self, node: ast.expr) -> tuple[Any, Any]:
        """That a condition holds, and that it does not."""
        match node:
            case ast.Constant(bool(value)):
                return value, not value
            case ast.UnaryOp(ast.Not(), inner):
                return self.truth(inner)[::-1]
            case ast.BoolOp(word, values):
                both, one = (np.logical_and, np.logical_or) if isinstance(word, ast.And) else (np.logical_or, np.logical_and)
                ways = [self.truth(value) for value in values]
                return functools.reduce(both, (w[0] for w in ways)), functools.reduce(one, (w[1] for w in ways))
            case ast.IfExp(test, then, otherwise):
                (yes, no), (a, b), (c, d) = self.truth(test), self.truth(then), self.truth(otherwise)
                return _either(yes, a, no, c), _either(yes, b, no, d)
            case ast.Compare(left, [op], [right]):
                (a, here, _), (b, there, _) = self.number(left), self.number(right)
                holds, known = _COMPARED[type(op)](a, b), functools.reduce(np.logical_and, (here, there, a == a, b == b))  # no NaN
            case _:
                holds, known, _ = self.number(node)
        return np.logical_and(holds, known), np.logical_and(np.logical_not(holds), known)

    def number(self, node: ast.expr) -> tuple[Any, Any, str | None]:
        """A number, or an element."""
        match node:
            case ast.Constant(value):
                return value, True, None
            case ast.Name(name) if name[2:] in self.data:
                return self.element(name[2:], [])
            case ast.Name(name):
                return (np.inf, True, None) if name == "inf" else (self.names[name], True, "index")
            case ast.Subscript(ast.Name(name), place):
                return self.element(name[2:], place.elts if isinstance(place, ast.Tuple) else [place])
            case ast.UnaryOp(ast.USub(), inner):
                value, here, dtype = self.number(inner)
                return (self.computed(operator.sub, 0, value, dtype) if dtype in _NUMPY else -value), here, dtype
            case ast.IfExp(test, then, otherwise):
                (yes, no), (a, here, first), (b, there, second) = self.truth(test), self.number(then), self.number(otherwise)
                return np.where(yes, a, b), _either(yes, here, no, there), first or second
            case ast.BinOp(left, op, right):
                return (
                    self.quotient(left, op, right)
                    if isinstance(op, ast.FloorDiv | ast.Mod)
                    else self.pair(_COMPUTED[type(op)], left, right)
                )
            case ast.Call(ast.Name("min" | "max" as word), [left, right]):
                return self.pair(np.minimum if word == "min" else np.maximum, left, right)
            case ast.Call(ast.Name("abs"), [inner]):
                value, here, dtype = self.number(inner)
                return np.abs(value), here, dtype
            case ast.Call(ast.Name("ceil"), [ast.BinOp(left, _, right)]):
                return self.quotient(left, None, right)
            case ast.Call(ast.Name(dtype), [inner]):
                value, here, _ = self.number(inner)
                return _cast(value, dtype), here, dtype
        raise ValueError(f"no number: {ast.dump(node)}")

    def element(self, name: str, places: list[ast.expr]) -> tuple[Any, Any, str]:
        """An element of an input, and whether it is there."""
        data, here = self.data[name], True
        index = [self.number(place) for place in places]
        for (value, known, _), extent in zip(index, data.values.shape, strict=True):
            here = functools.reduce(np.logical_and, (here, known, value >= 0, value < extent))
        return data[tuple(value for value, _, _ in index)], here, data.dtype

    def pair(self, op: Any, left: ast.expr, right: ast.expr) -> tuple[Any, Any, str | None]:
        (a, here, first), (b, there, second) = self.number(left), self.number(right)
        return self.computed(op, a, b, first or second), np.logical_and(here, there), first or second

    def quotient(self, left: ast.expr, op: ast.operator | None, right: ast.expr) -> tuple[Any, Any, str | None]:
        """Rounded down, or up, or what remains; of what is not negative, where a dtype has negative numbers, by what is positive."""
        (a, here, first), (b, there, second) = self.number(left), self.number(right)
        dtype, by = first or second, np.maximum(b, 1)
        known = functools.reduce(np.logical_and, (here, there, b > 0, dtype == "index" or a >= 0))
        if op is not None:
            return self.computed(_COMPUTED[type(op)], a, by, dtype), known, dtype
        more = self.computed(operator.mod, a, by, dtype) != 0
        return self.computed(operator.floordiv, a, by, dtype) + more, known, dtype

    def computed(self, op: Any, a: Any, b: Any, dtype: str | None) -> Any:
        """An operation in the width of a dtype; of indices in as many bits as it takes."""
        if dtype not in _NUMPY:
            return op(a, b)
        if dtype != "index":
            return op(_cast(a, dtype), _cast(b, dtype))
        large = (_largest(a) + 1) * (_largest(b) + 1) >= 2**63
        return op(np.asarray(a, object), np.asarray(b, object)) if large else op(np.asarray(a), np.asarray(b))


def _either(yes: Any, a: Any, no: Any, b: Any) -> Any:
    return np.logical_or(np.logical_and(yes, a), np.logical_and(no, b))


def _largest(value: Any) -> int:
    """No number of these is larger, with either sign."""
    array = np.asarray(value)
    return max(abs(int(array.max())), abs(int(array.min()))) if array.size else 0


def _cast(value: Any, dtype: str) -> Any:
    """Integers in another width: they wrap; an index that does not fit 64 bits stays as it is."""
    array = np.asarray(value)
    if array.dtype == object and dtype == "index":
        return array
    return (np.asarray(array % 2**64).astype(np.uint64) if array.dtype == object else array).astype(_NUMPY[dtype])
