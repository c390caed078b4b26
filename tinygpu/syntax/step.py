"""Steps of a program in the syntax tree: what they are made of, how a rule of the grammar makes one, and how one is printed.

Comes in: what the parser or a Python program builds. Goes out: frozen nodes with spans, and rows for `arrange`: a block of one step
stands on one line if it fits, `for ri < 8 in register { acc[ri] = 0 }`.
The one idea: a kind of step is a class, a row for each of its rules, and a line of text, and all three stand here.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.diagnostic import Span
from tinygpu.syntax.arrange import Comments, Row, block
from tinygpu.syntax.expression import BREAK, DISJUNCTION, EXCLUSIVE, Cell, Expr, Group, show, show_all
from tinygpu.syntax.node import Node

SIGNS = {"": "=", "sum": "+=", "prod": "*="}  # of updates; the others are the name of their monoid and `=`


class Level(Node, level="name factors"):
    """`grid = (by, bx)`, `block = (t: 256)`."""

    name: str
    factors: Group


class Place(Node, pad="*args kind=pad", swizzle="args kind=swizzle"):
    """`pad 1`, `swizzle(3, 3, 3)`."""

    kind: str
    args: tuple[Expr, ...]


class Array(Node, array="space name dtype extents order place"):
    """`local acc: f32[8, 8]`, `shared s: f32[32, 32] pad 1`."""

    space: str
    name: str
    dtype: str
    extents: tuple[Expr, ...]
    order: tuple[str, ...] = ()
    place: Place | None = None


class Assign(Node, assign="atomic target update value", assign_guarded="atomic target update value guard"):
    """`C[i, j] = e`, `acc[] += e if g`; `update` is empty for `=`, else the monoid (`sum` for `+=`, `prod` for `*=`, `max`, …)."""

    target: Cell
    value: Expr
    update: str = ""
    guard: Expr | None = None
    atomic: bool = False


class For(Node, for_extent="name extent sort body"):
    """`for k < K { … }`, `for v < 4 in vector { … }`; `values` for `for d in (16, 8, 4) { … }`, then extent is None."""

    name: str
    extent: Expr | None
    body: tuple[Statement, ...]
    sort: str = "time"
    values: tuple[Expr, ...] = ()


class If(Node, if_="guard body"):
    """`if guard { … }`."""

    guard: Expr
    body: tuple[Statement, ...]


class Holds(Node, holds="target value"):
    """`acc[] holds e`: a ghost fact."""

    target: Cell
    value: Expr


class Sync(Node, wait="count kind=wait"):
    """`barrier`, `warp barrier`, `commit`, `wait 1`."""

    kind: str
    count: Expr | None = None


class LaunchStatement(Node, launch_statement="*levels body"):
    """`launch (grid = (g: 4), block = (t: 256)) { … }`."""

    levels: tuple[Level, ...]
    body: tuple[Statement, ...]


Statement: TypeAlias = Array | Assign | For | If | Holds | Sync | LaunchStatement


def update(span: Span, word: str, equals: str | None = None) -> str:
    """`=`, `+=`, `max=`: the name of the monoid."""
    return next((name for name, sign in SIGNS.items() if sign == word), word)


def for_values(span: Span, name: str, values: Group, body: tuple[Statement, ...]) -> For:
    """`for d in (16, 8, 4) { … }`."""
    return For(name, None, body, "time", values.items, span=span)


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────


def step_rows(step: Statement, indent: int, comments: Comments) -> list[Row]:
    """One step, with its block if it has one."""
    match step:
        case For(body=body) | If(body=body) | LaunchStatement(body=body):
            inner = [line for one in body for line in step_rows(one, indent + 1, comments)]
            return block(_head(step), inner, step.span, indent, comments, not isinstance(step, LaunchStatement))
    return [Row(indent, _head(step), step.span)]


def _head(step: Statement) -> str:
    """A step without its block."""
    match step:
        case Array(space, name, dtype, extents, order, place):
            return " ".join((f"{space} {name}: {dtype}[{show_all(extents)}]", *layout_words(order, place)))
        case Assign(target, value, update, guard, atomic):
            head = f"{'atomic ' if atomic else ''}{show(target)} {SIGNS.get(update, f'{update}=')}{BREAK}"
            if guard is None:
                return head + show(value)
            return f"{head}{show(value, DISJUNCTION)} if{BREAK}{show(guard, DISJUNCTION)}"
        case Holds(target, value):
            return f"{show(target)} holds {show(value)}"
        case For(name, None, _, _, values):
            return f"for {name} in {show(Group(values))}"
        case For(name, extent, _, sort):
            assert extent is not None
            return f"for {name} < {show(extent, EXCLUSIVE)}{'' if sort == 'time' else f' in {sort}'}"
        case If(guard):
            return f"if {show(guard, DISJUNCTION)}"
        case Sync(kind, count):
            return kind if count is None else f"{kind} {show(count, EXCLUSIVE)}"
        case LaunchStatement(levels):
            return f"launch ({f',{BREAK}'.join(map(level_text, levels))})"


def level_text(level: Level) -> str:
    """`grid = (by, bx)`."""
    return f"{level.name} = {show(level.factors)}"


def layout_words(order: tuple[str, ...], place: Place | None) -> list[str]:
    """`(k, i)` and `pad 4` or `swizzle(3, 3, 3)`, those that there are."""
    words = [f"({', '.join(order)})"] if order else []
    match place:
        case Place("pad", (amount,)):
            words.append(f"pad {show(amount, EXCLUSIVE)}")
        case Place(kind, args):
            words.append(kind + (f"({show_all(args)})" if args else ""))
    return words
