"""The steps of a program as rows. Comes in: statements of `tree`; goes out: rows for `arrange`.

A block of one step stands on one line if it fits: `for ri < 8 in register { acc[ri] = 0 }`.
The one idea: what may hold a block asks `block`, and everything else is one row.
"""

from __future__ import annotations

from tinygpu.syntax.arrange import Comments, Row, block
from tinygpu.syntax.show import BREAK, DISJUNCTION, show, show_all
from tinygpu.syntax.tree import Array, Assign, For, Group, Holds, If, LaunchStatement, Level, Place, Statement, Sync

SIGNS = {"": "=", "sum": "+=", "prod": "*="}


def statement_rows(statement: Statement, indent: int, comments: Comments) -> list[Row]:
    """One step, with its block if it has one."""
    match statement:
        case For() | If() | LaunchStatement():
            inner = [row for step in statement.body for row in statement_rows(step, indent + 1, comments)]
            flat = not isinstance(statement, LaunchStatement)
            return block(_header(statement), inner, statement.span, indent, comments, flat)
    return [Row(indent, _simple(statement), statement.span)]


def _header(statement: For | If | LaunchStatement) -> str:
    match statement:
        case For(name, None, _, _, values):
            return f"for {name} in {show(Group(values))}"
        case For(name, extent, _, sort):
            assert extent is not None
            return f"for {name} < {show(extent, 5)}{'' if sort == 'time' else f' in {sort}'}"
        case If(guard):
            return f"if {show(guard, DISJUNCTION)}"
        case LaunchStatement(levels):
            return f"launch ({f',{BREAK}'.join(map(level_text, levels))})"


def _simple(statement: Array | Assign | Holds | Sync) -> str:
    match statement:
        case Array(space, name, dtype, extents, order, place):
            return f"{space} {name}: {dtype}[{show_all(extents)}]{order_text(order, ' ')}{place_text(place, ' ')}"
        case Assign(target, value, update, guard, atomic):
            head = f"{'atomic ' if atomic else ''}{show(target)} {SIGNS.get(update, f'{update}=')}{BREAK}"
            if guard is None:
                return head + show(value)
            return f"{head}{show(value, DISJUNCTION)} if{BREAK}{show(guard, DISJUNCTION)}"
        case Holds(target, value):
            return f"{show(target)} holds {show(value)}"
        case Sync(kind, count):
            return kind if count is None else f"{kind} {show(count, 5)}"


def level_text(level: Level) -> str:
    """`grid = (by, bx)`."""
    return f"{level.name} = {show(level.factors)}"


def order_text(order: tuple[str, ...], before: str = "") -> str:
    """`(k, i)`, or nothing."""
    return f"{before}({', '.join(order)})" if order else ""


def place_text(place: Place | None, before: str = "") -> str:
    """`pad 4`, `swizzle(3, 3, 3)`, or nothing."""
    match place:
        case None:
            return ""
        case Place("pad", (amount,)):
            return f"{before}pad {show(amount, 5)}"
        case Place(kind, args):
            return before + kind + (f"({show_all(args)})" if args else "")
