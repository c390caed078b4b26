"""Terms of a table, read back: numbers and conditions over sizes, in the words of the language.

    ceil(n / 256)*256 - 1  ↦  ⌈n / 256⌉·256 − 1        K % 4 == 0        k, a scalar of the call  ↦  the index that it is

Comes in: a text. Goes out: its term. The one idea: these are Python's operators, but for `ceil`, so Python's reader takes them apart.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping

from tinygpu.category.term import BOOL, App, Const, Term, Var, apply, ceildiv, conjunction, negation, select
from tinygpu.validate.expression import OPERATORS
from tinygpu.validate.typed import Differs, unread

NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?!\w|\()")
WORDS = ("and", "or", "not", "if", "else", "true", "false")


def term(at: ast.AST, said: object, sizes: Collection[str], scalars: Mapping[str, Term]) -> Term:
    """A text as a term. Raises Differs at the table's node."""
    names: dict[str, Term] = {f"n_{size}": Var(size) for size in sizes} | {f"n_{name}": value for name, value in scalars.items()}
    names |= {"n_true": Const(True, BOOL), "n_false": Const(False, BOOL)}
    plain = NAME.sub(lambda word: word[0] if word[0] in WORDS[:5] else f"n_{word[0]}", str(said))
    try:
        return _term(ast.parse(plain, mode="eval").body, names)
    except (SyntaxError, Differs):
        raise unread(at, f"{said!r} is no term over the sizes") from None


def _term(node: ast.expr, names: Mapping[str, Term]) -> Term:
    match node:
        case ast.Constant(value=int(value)):
            return Const(value)
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return Const(0) - _term(inner, names)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return negation(_term(inner, names))
        case ast.BoolOp(op=op, values=values):
            several = [_term(v, names) for v in values]
            return conjunction(*several) if isinstance(op, ast.And) else App("or", tuple(several), BOOL)
        case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in OPERATORS:
            return App(OPERATORS[type(op)], (_term(a, names), _term(b, names)), BOOL)
        case ast.IfExp(test=test, body=a, orelse=b):
            return select(_term(test, names), _term(a, names), _term(b, names))
        case ast.BinOp(left=a, op=op, right=b) if type(op) in OPERATORS:
            return apply(OPERATORS[type(op)], _term(a, names), _term(b, names))
        case ast.Call(func=ast.Name(id="ceil"), args=[ast.BinOp(left=a, op=ast.Div(), right=b)]):
            return ceildiv(_term(a, names), _term(b, names))
        case ast.Call(func=ast.Name(id="min" | "max" as name), args=[a, b]):
            return apply(name, _term(a, names), _term(b, names))
    raise unread(node, "no term")
