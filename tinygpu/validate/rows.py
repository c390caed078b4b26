"""What an access says of the numbers that its place is computed from, since it is inside of its array.

    0 ≤ (r·E + i) < N·E,  0 ≤ i < E  ⇒  0 ≤ r < N        and no extent is 0

Comes in: the place of an access in a text, and the extents of the array. Goes out: its rows r as indices of axes N, and the place where these are
known. The one idea: every access is compared with one of the program, which is inside as is proved; so of a row nothing is asked that its place has said.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import reduce
from math import prod

from tinygpu.category.term import Axis, Const, Term, Var
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.width import Width

Rows = tuple[dict[Term, Term], Here]


def rows_of(node: ast.expr, extents: tuple[Term, ...], here: Here, width: Width, term: Callable[[ast.expr], Term]) -> Rows:
    """The rows of a place, by `term`, which reads expressions and asks nothing of them."""
    here = reduce(Here.under, (extent >= 1 for extent in extents), here)
    rows = dict[Term, Term]()
    for count, (row, by, digit) in zip(range(len(extents) - 1, 0, -1), _digits(node), strict=False):
        inside = Const(0) if digit is None else term(digit)
        if canonical(term(by)) != canonical(extents[count]) or not width.inside(inside, inside, extents[count], here):
            break
        axis = Axis(f"row of {count}", prod(extents[:count], start=Const(1)))
        rows[term(row)], here = Var(axis.name), here.inside(axis)
    return rows, here


def _digits(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, ast.expr | None]]:
    """`r*E + i`, from the last one on: r, E and i, which is not there where it is 0."""
    while True:
        match _plain(node):
            case ast.BinOp(left, ast.Add(), digit) if isinstance(inner := _plain(left), ast.BinOp) and isinstance(
                inner.op, ast.Mult
            ):
                yield inner.left, inner.right, digit
                node = inner.left
            case ast.BinOp(left, ast.Mult(), by):
                yield left, by, None
                node = left
            case _:
                return


def _plain(node: ast.expr) -> ast.expr:
    """What stands in `ix(…)`."""
    match node:
        case ast.Call(ast.Name("ix"), [inner], []):
            return _plain(inner)
    return node
