"""What an access says of the numbers that its place is computed from, since it is inside of its array.

    0 ≤ (r·E + i) < N·E,  0 ≤ i < E  ⇒  0 ≤ r < N        and no extent is 0, so r ≤ r·E ≤ r·E + i < N·E: where that fits, all do

Comes in: the place of an access in a text, and the extents of the array. Goes out: parts of it that fit, or its rows r as indices of axes N, and the
place where these are known. The one idea: every access is compared with one of the program, which is inside as is proved; so of a row nothing is asked that its place has said.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from math import prod

from tinygpu.category.term import Axis, Const, Term, Var, exchange
from tinygpu.record import dataclass
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.width import Width


@dataclass(frozen=True, slots=True)
class Rows:
    """Parts of a place: those that are not negative and at most the place, which fits, so they `fit`; and others as indices of axes, where these
    are known, for what is computed of them."""

    fit: frozenset[Term]
    axes: Mapping[Term, Term]
    here: Here

    def fits(self, term: Term, kind: str, here: Here, shown: Callable[[Term, str, Here], bool]) -> bool:
        """Whether an integer of the place fits, as it is one of those parts, or as is `shown`: of it as one of those axes, or where more is known."""
        if kind in ("ix", "natural") and term in self.fit:
            return True
        seen = bool(self.axes) and shown(exchange(term, self.axes), kind, self.here)
        return seen or shown(term, kind, here) or shown(term, kind, self.here)


def rows_of(node: ast.expr, extents: tuple[Term, ...], here: Here, width: Width, term: Callable[[ast.expr], Term]) -> Rows | None:
    """The rows of a place in an array of those extents, if they are known, by `term`, which reads expressions and asks nothing of them."""
    if not extents:
        return None
    here = reduce(Here.under, (extent >= 1 for extent in extents), here)
    parts = {term(node): Axis("place", prod(extents, start=Const(1)))}
    for count, (row, times, by, digit) in zip(range(len(extents) - 1, 0, -1), _digits(node), strict=False):
        inside = Const(0) if digit is None else term(digit)
        if canonical(term(by)) != canonical(extents[count]) or not width.inside(inside, inside, extents[count], here):
            break
        parts |= {term(times): parts[next(iter(parts))], inside: Axis(f"digit {count}", extents[count])}
        parts[term(row)] = Axis(f"row of {count}", prod(extents[:count], start=Const(1)))
    parts = {part: axis for part, axis in parts.items() if not isinstance(part, Const)}
    if width.limited(prod(extents, start=Const(1))):
        return Rows(frozenset(parts), {}, here)
    return Rows(frozenset(), {part: Var(axis.name) for part, axis in parts.items()}, reduce(Here.inside, parts.values(), here))


def _digits(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, ast.expr, ast.expr | None]]:
    """`r*E + i`, from the last one on: r, r*E, E and i, which is not there where it is 0."""
    while True:
        match _plain(node):
            case ast.BinOp(left, ast.Add(), digit) if isinstance(inner := _plain(left), ast.BinOp) and isinstance(
                inner.op, ast.Mult
            ):
                yield inner.left, left, inner.right, digit
                node = inner.left
            case ast.BinOp(left, ast.Mult(), by):
                yield left, node, by, None
                node = left
            case _:
                return


def _plain(node: ast.expr) -> ast.expr:
    """What stands in `ix(…)`."""
    match node:
        case ast.Call(ast.Name("ix"), [inner], []):
            return _plain(inner)
    return node
