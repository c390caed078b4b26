"""The bits of an index: how a launcher chooses them, and what it refuses because 64 are not enough.

    _bits = 32 if t ≤ 2³¹ − 1 … else 64        if _bits == 64 and max(t, …, 0) > 2⁶³ − 1: refused        on a GPU
    if max(t, …, 0) > 2⁶³ − 2³²: refused                                                                 on a CPU, which has no other width

Comes in: statements of a launcher. Goes out: the terms that are compared. The one idea: a term counts only where it is refused as well.
"""

from __future__ import annotations

import ast

from tinygpu.category.term import App, Const, Term, conjuncts
from tinygpu.validate.seen import Reading
from tinygpu.validate.typed import unread

LARGEST = {32: 2**31 - 1, 64: 2**63 - 1}
LARGEST_ON_CPU = 2**63 - 2**32  # so that a loop may count beyond its end, by a strip, a tile or a piece of a thread


def narrowed(reading: Reading, stmt: ast.stmt) -> None:
    """The width of an index: `narrow[32]` are terms that are at most 2³¹ − 1 where it is 32, `narrow[64]` at most 2⁶³ − 1 where it is 64."""
    whole = reading.whole
    match stmt:
        case ast.Assign(value=ast.Constant(value=64 | 32 as bits)):
            reading.narrow = {} if bits == 64 else {32: (), 64: ()}
        case ast.Assign(value=ast.IfExp(test=test, body=ast.Constant(value=32), orelse=ast.Constant(value=64))):
            reading.narrow = {32: _at_most(whole.test(test), LARGEST[32])}
        case ast.If(test=test, body=[ast.Assign(value=ast.Constant(value=32))], orelse=[]) if not reading.narrow:
            reading.narrow = {32: _at_most(whole.test(test), LARGEST[32])}
        case ast.If(
            test=ast.BoolOp(
                op=ast.And(),
                values=[ast.Compare(left=ast.Name(id="_bits"), ops=[ast.Eq()], comparators=[ast.Constant(value=64)]), test],
            )
        ):
            reading.narrow[64] = refused(reading, stmt, test, LARGEST[64])
        case _:
            raise unread(stmt, "the width of indices is chosen by comparisons with the largest index")


def refused(reading: Reading, stmt: ast.If, test: ast.expr, largest: int) -> tuple[Term, ...]:
    """The terms beyond which calls are refused: `if max(t, …, 0) > largest: _too_large(…)`."""
    match test, stmt:
        case (
            ast.Compare(
                left=ast.Call(func=ast.Name(id="max"), args=terms, keywords=[]), ops=[ast.Gt()], comparators=[ast.Constant(most)]
            ),
            ast.If(body=[ast.Expr(value=ast.Call(func=ast.Name(id="_too_large")))], orelse=[]),
        ) if most == largest:
            return tuple(reading.whole.number(t) for t in terms)
    raise unread(stmt, f"what is refused is larger than {largest}")


def _at_most(test: Term, most: int) -> tuple[Term, ...]:
    """The terms that a test compares with a number."""
    return tuple(
        part.args[0]
        for part in conjuncts(test)
        if isinstance(part, App) and part.op == "le" and isinstance(part.args[1], Const) and int(part.args[1].value) <= most
    )
