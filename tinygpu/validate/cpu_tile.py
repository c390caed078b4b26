"""Groups of rows whose accumulators are in vector registers: read as updates of the cells that they are loaded from and stored to.

    v = load(P);  … v = v ⊕ x …;  store(P, v)     is     … P[lane] ⊕= x[lane] …     where nobody else touches P in between

Comes in: the body of such a loop. Goes out: the loop inside it with its updates, one for each register. Where they are one update written
out for rows and vectors, they become loops again, which is compared register by register.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tinygpu.category.affine import linear
from tinygpu.category.linear import polynomial
from tinygpu.category.monoid import SCALARS
from tinygpu.category.term import INDEX, App, Axis, Const, Read, Term, Var, children, equal, reads, rebuild, substitute
from tinygpu.diagnostic import Span
from tinygpu.obligations.obligation import Point
from tinygpu.program.step import Assign, For, Step
from tinygpu.record import dataclass
from tinygpu.validate.cpu_loop import proved
from tinygpu.validate.cpu_names import Cells, Unread, Vector

UPDATES = {m.op: m.name for m in SCALARS.values()}
__all__ = ["Register", "Rows", "Update", "Vector", "is_group", "steps", "stored"]
Place = tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Register:
    """A vector that stands for the cells that it was loaded from: `place` is that of its lane `lane`."""

    cells: Cells
    place: Place


@dataclass(frozen=True, slots=True)
class Update:
    """`register ⊕= term`, lane by lane."""

    register: Register
    monoid: str
    term: Term


@dataclass(frozen=True, slots=True)
class Rows:
    """The registers of a group of rows by name, the axis of their lanes, and the name of the axis over the rows."""

    registers: dict[str, Register]
    lane: Axis
    row: str


def is_group(body: Sequence[ast.stmt]) -> bool:
    """Whether the body of a loop loads registers."""
    return any(_called(s, "lanes_load") for s in body)


def _called(node: ast.stmt, name: str) -> ast.Call | None:
    value = node.value if isinstance(node, ast.Assign | ast.Expr) else None
    return value if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == name else None


def stored(nodes: Sequence[ast.stmt], registers: dict[str, Register], place_of: object) -> None:
    """Every register goes back to where it came from, and nothing else is done. Raises Unread."""
    assert callable(place_of)
    left = dict(registers)
    for node in nodes:
        match _called(node, "lanes_store"):
            case ast.Call(_, [ast.Name(array), ast.Call(ast.Name("at"), [number]), ast.Name(name)], []) if name in left:
                if place_of(node, array, number) != left.pop(name):
                    raise Unread(node, f"{name} is not stored where it was loaded from")
            case _:
                raise Unread(node, "a statement that no group of rows ends with")
    if left:
        raise Unread(nodes[-1] if nodes else None, f"{', '.join(left)} is never stored")
    if len({(r.cells.name, r.place) for r in registers.values()}) < len(registers):
        raise Unread(nodes[-1], "two registers for one place")


def steps(node: ast.stmt, updates: Sequence[Update], lane: Axis, rows: str, point: Point, span: Span) -> Iterator[Step]:
    """The updates of one turn as loops over rows and lanes. Raises Unread."""
    arrays = {u.register.cells.name for u in updates}
    if any(r.tensor in arrays for u in updates for r in reads(u.term)):
        raise Unread(node, "what is loaded into registers is read while they are at work")
    for array in sorted(arrays):
        yield rolled(node, [u for u in updates if u.register.cells.name == array], lane, rows, point, span)


def rolled(node: ast.stmt, updates: list[Update], lane: Axis, row: str, point: Point, span: Span) -> Step:
    """`cells[first + r, c] ⊕= term(r, c)` for every row r and column c, from the updates with r and c written out."""
    grid = {_offset(u.register, updates[0].register): u for u in updates}
    count, width = 1 + max(r for r, _ in grid), 1 + max(c for _, c in grid) // _lanes(lane)
    places = [(r, v * _lanes(lane)) for r in range(count) for v in range(width)]
    if sorted(grid) != sorted(places) or len(updates) != len(places) or len({u.monoid for u in updates}) != 1:
        raise Unread(node, "registers that are no rows and columns")
    column = Var(f"{lane.name} of all")
    start = grid[min(1, count - 1), 0]
    template = substitute(start.term, {lane.name: column})
    if count > 2:
        template = _between(node, template, substitute(grid[2, 0].term, {lane.name: column}), Var(row))
    for (r, c), update in grid.items():
        there = substitute(template, {row: Const(r), column.name: Var(lane.name) + c})
        if not _equal(there, update.term, point.inside(lane)):
            raise Unread(node, f"row {r} of the group takes something else than the others")
    first = updates[0].register
    place = (_tidy(first.place[0] + Var(row)), Var(lane.name))
    value = substitute(template, {column.name: Var(lane.name)})
    wide = Axis(lane.name, Const(width * _lanes(lane)), "time")
    step = Assign(first.cells.name, place, value, updates[0].monoid, span=span)
    return For(Axis(row, Const(count), "time"), (For(wide, (step,)),))


def _lanes(lane: Axis) -> int:
    assert isinstance(lane.extent, Const)
    return int(lane.extent.value)


def _offset(register: Register, first: Register) -> tuple[int, int]:
    """How many rows and columns a register is behind the first one, whose column is 0."""
    if len(register.place) != 2:
        raise Unread(None, "registers of an array that is no rows and columns")
    rows, columns = (linear(a - b) for a, b in zip(register.place, first.place, strict=True))
    if rows.parts or columns.parts or rows.constant < 0 or columns.constant < 0:
        raise Unread(None, "registers that are no rows and columns")
    return rows.constant, columns.constant


def _tidy(term: Term) -> Term:
    return linear(term).term()


def _between(node: ast.AST, one: Term, two: Term, row: Var) -> Term:
    """The term that is `one` at row 1 and `two` at row 2: numbers that differ by one are the row."""
    if one == two:
        return one
    match one, two:
        case Const(int(a), "index"), Const(int(b), "index") if b - a == 1:
            return row + (a - 1)
        case App(op, args, dtype), App(other, more, also) if (op, dtype, len(args)) == (other, also, len(more)):
            return App(op, tuple(_between(node, a, b, row) for a, b in zip(args, more, strict=True)), dtype)
        case Read(name, index, dtype), Read(other, more, _) if name == other and len(index) == len(more):
            return Read(name, tuple(_between(node, a, b, row) for a, b in zip(index, more, strict=True)), dtype)
    raise Unread(node, "rows of a group that differ in more than their number")


def _equal(a: Term, b: Term, point: Point) -> bool:
    """Whether two terms are the same but for indices, which are equal wherever the point is."""
    if a == b:
        return True
    if a.dtype == INDEX == b.dtype:
        return polynomial(a) == polynomial(b) or proved(point, equal(a, b))
    inner, other = children(a), children(b)
    if type(a) is not type(b) or len(inner) != len(other) or not inner or a.dtype != b.dtype:
        return False
    whole = iter(inner)
    return rebuild(b, lambda _: next(whole)) == a and all(_equal(x, y, point) for x, y in zip(inner, other, strict=True))
