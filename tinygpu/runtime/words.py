"""Conditions and numbers in the words of the language, as Python.

Comes in: `ceil(n / 256)*256 - 1`, `n % 4 == 0`, `all` of what a promise says at one point. Goes out: trees and texts of Python.
The one idea: but for `ceil`, `true` and `false` the words are Python's, and every name of a user's has `n_` before it.
"""

from __future__ import annotations

import ast
import re

_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|\()")
_MEANT = {"true": "True", "false": "False", "inf": "inf"} | {word: word for word in ("and", "or", "not", "if", "else")}


def _tree(said: str) -> ast.expr:
    """A text as Python's tree; `ceil(a / b)` is still a call."""
    return ast.parse(_WORD.sub(lambda word: _MEANT.get(word[0], f"n_{word[0]}"), said), mode="eval").body


class _Rounded(ast.NodeTransformer):
    """`ceil(a / b)` as `-(-a // b)`; an integer of some dtype as the number that it is."""

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


def _python(said: str) -> str:
    """A number or a condition over sizes as Python.

    >>> _python("ceil((n + 1) / 4)*4"), _python("n // k % 2 == 0 and true")
    ('-(-(n_n + 1) // 4) * 4', 'n_n // n_k % 2 == 0 and True')
    """
    return ast.unparse(_Rounded().visit(_tree(said)))


class _Sure(ast.NodeTransformer):
    """A condition over scalars as Python's numbers have it, `fits` being what has to be in a dtype's range for that. Raises ValueError where
    a width, a division or a number that is none could make it another one."""

    def __init__(self, dtypes: dict[str, str]):
        self.dtypes, self.fits = dtypes, []  # type: ignore[var-annotated]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        dtype = self.dtypes.get(node.id[2:])
        word = "" if dtype in (None, "bool") else "float" if "f" in str(dtype) else "int"
        return ast.parse(f"{word}({'v' if dtype else 'n'}_{node.id[2:]})", mode="eval").body

    def visit_Call(self, node: ast.Call) -> ast.expr:
        inner: ast.expr = self.visit(node.args[0])
        match node.func:
            case ast.Name("index"):
                return inner
            case ast.Name(dtype) if re.fullmatch(r"[iu]\d+", dtype):
                low, high = (
                    (0, 2 ** int(dtype[1:])) if dtype[0] == "u" else (-(2 ** (int(dtype[1:]) - 1)), 2 ** (int(dtype[1:]) - 1))
                )
                self.fits.append(f"{low} <= {ast.unparse(inner)} < {high}")
                return inner
        raise ValueError("not as plain as that")

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        inside = {
            id(m) for n in ast.walk(node) if isinstance(n, ast.Call) and ast.unparse(n.func) == "index" for m in ast.walk(n.args[0])
        }
        plain = (n for n in ast.walk(node) if id(n) not in inside)
        typed = any(
            (isinstance(n, ast.Name) and n.id[2:] in self.dtypes) or (isinstance(n, ast.Call) and ast.unparse(n.func) != "index")
            for n in plain
        )
        if typed or not isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            raise ValueError("not as plain as that")
        return self.generic_visit(node)  # type: ignore[return-value]

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        raise ValueError("not as plain as that")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if not isinstance(node.operand, ast.Constant):
            raise ValueError("not as plain as that")
        return node


def _surely(said: str, dtypes: dict[str, str]) -> str:
    """What is quick to look at, and says that a condition over scalars holds; `False` where nothing does.

    >>> _surely("0 <= k and k < i32(n)", {"k": "i32"}), _surely("i32(n) * k > 0", {"k": "i32"})
    ('-2147483648 <= n_n < 2147483648 and (0 <= int(v_k) and int(v_k) < n_n)', 'False')
    """
    sure = _Sure(dtypes)
    try:
        held = ast.unparse(sure.visit(_tree(said)))
    except ValueError:
        return "False"
    return " and ".join([*sure.fits, f"({held})"])


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
