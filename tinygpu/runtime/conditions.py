"""Conditions and numbers in the words of the language: as Python, and as truth in three values at many points of data.

    ceil(n / 4)*4             ↦   -(-n_n // 4) * 4
    all[t < n] (r[t] <= r[t + 1])       at each t:  (r[t] <= r[t + 1] and t + 1 < n + 1,  r[t] > r[t + 1] and t + 1 < n + 1)

Comes in: texts of a table. Goes out: texts of Python; of a promise two arrays of truth values, that it holds and that it does not. The one idea: but for
`ceil`, `true` and `false` the words are Python's, and every name of a user's has `n_` before it. Numbers of data go with whether they are there: a
comparison that reads what is not, or divides by what is not positive, neither holds nor does not, so nothing that is not there makes a promise hold.
Integers of a dtype wrap as a kernel's do; an index has no largest.
"""

from __future__ import annotations

import ast
import functools
import operator
import re
from typing import Any

import numpy as np

_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|\()")
_MEANT = {"true": "True", "false": "False", "inf": "inf"} | {word: word for word in ("and", "or", "not", "if", "else")}


def _tree(said: str) -> ast.expr:
    """A text as Python's tree; `ceil(a / b)` is still a call."""
    return ast.parse(_WORD.sub(lambda word: _MEANT.get(word[0], f"n_{word[0]}"), said), mode="eval").body


class _Rounded(ast.NodeTransformer):
    """`ceil(a / b)` as `-(-a // b)`; an integer of some dtype as the number that it is; a shift by no more bits than an integer has."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.LShift | ast.RShift) and not isinstance(node.right, ast.Constant):
            node.right = ast.parse(f"min(max({ast.unparse(node.right)}, 0), 64)", mode="eval").body
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = self.generic_visit(node)
        match called:
            case ast.Call(func=ast.Name(id="ceil"), args=[ast.BinOp(a, ast.Div(), b)]):
                return ast.UnaryOp(ast.USub(), ast.BinOp(ast.UnaryOp(ast.USub(), a), ast.FloorDiv(), b))
            case ast.Call(func=ast.Name(id="min" | "max" | "abs")):
                return called
            case ast.Call(args=[inner]):
                return inner
        raise ValueError(f"no number of a launcher: {ast.unparse(node)}")


class _Everywhere(ast.NodeTransformer):
    """A number that has a value also where something is divided by 0: there nobody divides, as it is under a guard."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and not isinstance(node.right, ast.Constant):
            node.right = ast.BoolOp(ast.Or(), [node.right, ast.Constant(1)])
        return node


def _python(said: str) -> str:
    """A number or a condition over sizes as Python.

    >>> _python("ceil((n + 1) / 4)*4"), _python("n // k % 2 == 0 and true"), _python("1 << j")
    ('-(-(n_n + 1) // 4) * 4', 'n_n // n_k % 2 == 0 and True', '1 << min(max(n_j, 0), 64)')
    """
    return ast.unparse(_Rounded().visit(_tree(said)))


def _limit(said: str) -> str:
    """A number that kernels make of sizes, as Python.

    >>> _limit("(n - 1) // k + n // 4")
    '(n_n - 1) // (n_k or 1) + n_n // 4'
    """
    return ast.unparse(_Everywhere().visit(_Rounded().visit(_tree(said))))


def _plain(node: ast.expr, dtypes: dict[str, str], fits: list[str]) -> tuple[ast.expr, bool]:
    """A condition over scalars, or a number of it, as Python's numbers have it, and whether it is of a dtype; `fits` is what has to be in a
    dtype's range for that. Raises ValueError where a width, a division or a number that is none could make it another one."""

    def same(inner: ast.expr) -> ast.expr:
        return _plain(inner, dtypes, fits)[0]

    match node:
        case ast.Constant() | ast.UnaryOp(ast.USub(), ast.Constant()):
            return node, False
        case ast.Name(name) if name.startswith("n_"):
            dtype = dtypes.get(name[2:])
            word = "" if dtype in (None, "bool") else "float" if "f" in str(dtype) else "int"
            return ast.parse(f"{word}({'v' if dtype else 'n'}_{name[2:]})", mode="eval").body, dtype is not None
        case ast.Call(ast.Name("index"), [inner]):
            return same(inner), False
        case ast.Call(ast.Name(dtype), [inner]) if found := re.fullmatch(r"([iu])(\d+)", dtype):
            number, half = same(inner), 2 ** (int(found[2]) - 1)
            low, high = (0, 2 * half) if found[1] == "u" else (-half, half)
            fits.append(f"{low} <= {ast.unparse(number)} < {high}")
            return number, True
        case ast.BinOp(left, ast.Add() | ast.Sub() | ast.Mult() as op, right):
            (a, typed), (b, too) = _plain(left, dtypes, fits), _plain(right, dtypes, fits)
            if not typed and not too:
                return ast.BinOp(a, op, b), False
        case ast.Compare(left, ops, others):
            return ast.Compare(same(left), ops, list(map(same, others))), False
        case ast.BoolOp(op, values):
            return ast.BoolOp(op, list(map(same, values))), False
    raise ValueError("not as plain as that")


def _surely(said: str, dtypes: dict[str, str]) -> str:
    """What is quick to look at, and says that a condition over scalars holds; `False` where nothing does.

    >>> _surely("0 <= k and k < i32(n)", {"k": "i32"}), _surely("i32(n) * k > 0", {"k": "i32"})
    ('-2147483648 <= n_n < 2147483648 and (0 <= int(v_k) and int(v_k) < n_n)', 'False')
    """
    fits: list[str] = []
    try:
        held = ast.unparse(_plain(_tree(said), dtypes, fits)[0])
    except ValueError:
        return "False"
    return " and ".join([*fits, f"({held})"])


def _divisors(said: str) -> list[str]:
    """The divisors that may be zero, each once.

    >>> _divisors("n // k % 4 == 0")
    ['n_k']
    """
    quotients = (ast.FloorDiv, ast.Mod)
    nodes = [n for n in ast.walk(_Rounded().visit(_tree(said))) if isinstance(n, ast.BinOp) and isinstance(n.op, quotients)]
    return list(dict.fromkeys(ast.unparse(n.right) for n in nodes if not isinstance(n.right, ast.Constant)))


def _minus(said: str) -> bool:
    """Whether a number may come out negative where the sizes do not: it is, or holds, a difference."""
    return any(isinstance(n, ast.Sub | ast.USub) for n in ast.walk(_tree(said)))


_OPERATORS: dict[type, Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.BitXor: operator.xor,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip
_NUMPY = {f"{sign[0]}{bits}": f"{sign}{bits}" for sign in ("int", "uint") for bits in (8, 16, 32, 64)} | {"index": "int64"}
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
                holds, known = _OPERATORS[type(op)](a, b), functools.reduce(np.logical_and, (here, there, a == a, b == b))  # no NaN
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
            case ast.BinOp(left, ast.FloorDiv() | ast.Mod() as op, right):
                return self.quotient(left, op, right)
            case ast.BinOp(left, op, right):
                return self.pair(_OPERATORS[type(op)], left, right)
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
            return self.computed(_OPERATORS[type(op)], a, by, dtype), known, dtype
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
