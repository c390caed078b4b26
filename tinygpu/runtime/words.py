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
