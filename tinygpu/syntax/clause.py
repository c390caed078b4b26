"""Clauses of a machine in the syntax tree: what they are made of, how a rule of the grammar makes one, and how one is printed.

Comes in: what the parser or a Python program builds. Goes out: frozen nodes with spans, and rows for `arrange`. Clauses that are a word
and a list have their lists in one column, and `compute` with more than two indices has a line for each.
The one idea: the column is the longest such word of the same braces, so a block is read as a table.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.diagnostic import Span, TinygpuError
from tinygpu.record import replace
from tinygpu.syntax.arrange import INDENT, WIDTH, Comments, Row, block
from tinygpu.syntax.expression import BREAK, EXCLUSIVE, Cell, Expr, Name, Sized, show, show_all
from tinygpu.syntax.node import Node
from tinygpu.syntax.step import Level, Place, Statement, layout_words, level_text, step_rows


class Work(Node, work="*levels"):
    """`work grid = (g), block = (t: 256)`."""

    levels: tuple[Level, ...]


class Binding(Node, binding="*indices value", merged="*indices value"):
    """`i = (g, t, v: 4)`, `(i, j) = (g, t)`, `i = g*256 + t`."""

    indices: tuple[str, ...]
    value: Expr


class Compute(Node, compute="equation *bindings"):
    """`compute i = (g, t), j = (c, v: 4)`; `equation` names the one it is for, or is None."""

    bindings: tuple[Binding, ...]
    equation: str | None = None


class Own(Node, own="sort *factors"):
    """`time c, k`, `register u: 4`, `vector v`: the thread's own factors."""

    sort: str
    factors: tuple[Name | Sized, ...]


class Param(Node, param="name value", param_choice="name choices"):
    """`param BM = 128`, `param BM in {64, 128}`; also a declaration of a file."""

    name: str
    value: Expr | None = None
    choices: tuple[Expr, ...] = ()


class Where(Node, where="conditions"):
    """`where N % 4 == 0, N >= 1`."""

    conditions: tuple[Expr, ...]


class Equations(Node, equations="*names"):
    """`equations m, s`: which equations a launch evaluates."""

    names: tuple[str, ...]


class LaunchClause(Node, launch="name clauses"):
    """`launch partial { work … compute … }`."""

    name: str
    clauses: tuple[Clause, ...]


class ForEquation(Node, for_equation="equation clauses"):
    """`for s { compute … }`: overrides for one equation."""

    equation: str
    clauses: tuple[Clause, ...]


class Layout(Node, layout="order place", layout_place="place"):
    """`layout (k, i) pad 4`."""

    order: tuple[str, ...] = ()
    place: Place | None = None


class Stage(Node, stage="access at space ring asynchronous by clauses"):
    """`stage A[i, k] at ko in shared { … }`."""

    access: Cell
    at: str
    space: str
    clauses: tuple[Clause, ...] = ()
    ring: Expr | None = None
    asynchronous: bool = False
    by: str | None = None


class Reduce(Node, reduce="equation *factors by"):
    """`reduce s over w by shared`."""

    equation: str
    factors: tuple[str, ...]
    by: str


class Keep(Node, keep="tensor space"):
    """`keep x in register`."""

    tensor: str
    space: str


class ProgramClause(Node, program="body"):
    """`program { … }`."""

    body: tuple[Statement, ...]


Listed: TypeAlias = Work | Compute | Own | Layout | Where | Equations | Param | Binding  # a word and a list
Clause: TypeAlias = Listed | LaunchClause | ForEquation | Stage | Reduce | Keep | ProgramClause


def clauses(span: Span, *parts: Clause) -> tuple[Clause, ...]:
    """What stands in braces. Bindings on the lines below a `compute` belong to it."""
    joined: list[Clause] = []
    for part in parts:
        match part, joined:
            case Binding(), [*_, Compute() as last]:
                joined[-1] = replace(last, bindings=(*last.bindings, part), span=last.span.to(part.span))
            case Binding((name, *_)), _:
                title = f"`{name} = …` stands without a clause"
                wanted = f"write `compute {name} = …` for an index, or `work {name} = (…)` for a level, joined by commas to the line above"
                raise TinygpuError.of("TG008", title, part.span, "which clause is this?", wanted)
            case _:
                joined.append(part)
    return tuple(joined)


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────


def clause_rows(clauses: tuple[Clause, ...], indent: int, comments: Comments) -> list[Row]:
    """The clauses of one pair of braces."""
    column = max((len(_word(c)) for c in clauses if isinstance(c, Listed)), default=0)
    return [line for clause in clauses for line in _rows(clause, column, indent, comments)]


def _rows(clause: Clause, column: int, indent: int, comments: Comments) -> list[Row]:
    match clause:
        case Keep(tensor, space):
            return [Row(indent, f"keep {tensor} in {space}", clause.span)]
        case Reduce(equation, factors, by):
            return [Row(indent, f"reduce {equation} over {', '.join(factors)} by {by}", clause.span)]
        case ProgramClause(body):
            inner = [line for step in body for line in step_rows(step, indent + 1, comments)]
            return block("program", inner, clause.span, indent, comments, flat=False)
        case LaunchClause(name, inside):
            head = f"launch {name}"
        case ForEquation(equation, inside):
            head = f"for {equation}"
        case Stage(access, at, space, inside, ring, asynchronous, by):
            words = ("" if ring is None else f" ring {show(ring, EXCLUSIVE)}", " async" * asynchronous, f" by {by}" if by else "")
            head = f"stage {show(access)} at {at} in {space}{''.join(words)}"
            if not inside and not comments.inside(clause.span):
                return [Row(indent, head, clause.span)]
        case _:
            return _list_rows(clause, column, indent, comments)
    return block(head, clause_rows(inside, indent + 1, comments), clause.span, indent, comments)


def _list_rows(clause: Listed, column: int, indent: int, comments: Comments) -> list[Row]:
    """A word and a list: on one line, or a line for each part of `compute` (three and more) and `work`, where it is too long."""
    parts = _parts(clause)
    head = f"{_word(clause):<{column}} "
    flat = head + f",{BREAK}".join(text for text, _ in parts)
    split = isinstance(clause, Compute) and (len(parts) > 2 or (len(parts) > 1 and len(INDENT) * indent + len(flat) > WIDTH))
    apart = len(parts) > 1 and comments.inside(replace(clause.span, end=parts[-1][1].start))  # a comment between parts
    if split or (isinstance(clause, Work | Compute) and apart):
        leads, ends = [head, *[" " * len(head)] * (len(parts) - 1)], [*["," * isinstance(clause, Work)] * (len(parts) - 1), ""]
        return [Row(indent, lead + text + end, span) for lead, (text, span), end in zip(leads, parts, ends, strict=True)]
    return [Row(indent, flat.rstrip(), clause.span)]


def _word(clause: Listed) -> str:
    match clause:
        case Own(sort):
            return sort
        case Binding():
            return ""
    return type(clause).__name__.lower()


def _parts(clause: Listed) -> list[tuple[str, Span]]:
    """The texts of the list, each with its place."""
    match clause:
        case Work(levels):
            return [(level_text(level), level.span) for level in levels]
        case Compute(bindings, equation):
            (first, place), *others = ((_binding(b), b.span) for b in bindings)
            return [(f"{equation}: {first}" if equation else first, place), *others]
        case Own(_, factors):
            return [(show(f), f.span) for f in factors]
        case Binding():
            text = _binding(clause)
        case Layout(order, place):
            text = " ".join(layout_words(order, place))
        case Where(conditions):
            text = show_all(conditions)
        case Equations(names):
            text = ", ".join(names)
        case Param(name, value, choices):
            text = f"{name} = {show(value)}" if value is not None else f"{name} in {{{show_all(choices)}}}"
    return [(text, clause.span)]


def _binding(binding: Binding) -> str:
    merged = ", ".join(binding.indices)
    return f"{merged if len(binding.indices) == 1 else f'({merged})'} ={BREAK}{show(binding.value)}"
