"""The clauses of a machine as rows. Comes in: clauses of `tree`; goes out: rows for `arrange`.

Clauses that are a word and a list have their lists in one column; `compute` with more than two indices has a line for each.
The one idea: the column is the longest such word of the same braces, so a block is read as a table.
"""

from __future__ import annotations

from tinygpu.diagnostic import Span
from tinygpu.record import replace
from tinygpu.syntax.arrange import INDENT, WIDTH, Comments, Row, block
from tinygpu.syntax.show import BREAK, show, show_all
from tinygpu.syntax.steps import level_text, order_text, place_text, statement_rows
from tinygpu.syntax.tree import (
    Binding,
    Clause,
    Compute,
    Equations,
    ForEquation,
    Keep,
    LaunchClause,
    Layout,
    Own,
    Param,
    ProgramClause,
    Reduce,
    Stage,
    Where,
    Work,
)

Table = Work | Compute | Own | Layout | Where | Equations | Param | Binding


def clause_rows(clauses: tuple[Clause, ...], indent: int, comments: Comments) -> list[Row]:
    """The clauses of one pair of braces."""
    column = max((len(_word(c)) for c in clauses if isinstance(c, Table)), default=0)
    return [row for clause in clauses for row in _rows(clause, column, indent, comments)]


def _rows(clause: Clause, column: int, indent: int, comments: Comments) -> list[Row]:
    match clause:
        case Keep(tensor, space):
            return [Row(indent, f"keep {tensor} in {space}", clause.span)]
        case Reduce(equation, factors, by):
            return [Row(indent, f"reduce {equation} over {', '.join(factors)} by {by}", clause.span)]
        case ProgramClause(body):
            inner = [row for step in body for row in statement_rows(step, indent + 1, comments)]
            return block("program", inner, clause.span, indent, comments, flat=False)
        case LaunchClause(name, clauses):
            return block(f"launch {name}", clause_rows(clauses, indent + 1, comments), clause.span, indent, comments)
        case ForEquation(equation, clauses):
            return block(f"for {equation}", clause_rows(clauses, indent + 1, comments), clause.span, indent, comments)
        case Stage(clauses=clauses):
            if not clauses and not comments.inside(clause.span):
                return [Row(indent, _stage(clause), clause.span)]
            return block(_stage(clause), clause_rows(clauses, indent + 1, comments), clause.span, indent, comments)
    return _list_rows(clause, column, indent, comments)


def _list_rows(clause: Table, column: int, indent: int, comments: Comments) -> list[Row]:
    """A word and a list: on one line, or a line for each part of `compute` (three and more) and `work`, where it is too long."""
    parts, between = _parts(clause)
    head = f"{_word(clause):<{column}} "
    flat = head + f"{between}{BREAK}".join(text for text, _ in parts)
    split = isinstance(clause, Compute) and (len(parts) > 2 or (len(parts) > 1 and len(INDENT) * indent + len(flat) > WIDTH))
    if split or (isinstance(clause, Work | Compute) and len(parts) > 1 and comments.inside(_before(parts[-1][1], clause.span))):
        lines = [
            (head if first else " " * len(head), *part) for first, part in zip([True] + [False] * len(parts), parts, strict=False)
        ]
        ends = [between if isinstance(clause, Work) else ""] * (len(parts) - 1) + [""]
        return [Row(indent, lead + text + end, span) for (lead, text, span), end in zip(lines, ends, strict=True)]
    return [Row(indent, flat.rstrip(), clause.span)]


def _before(last: Span, whole: Span) -> Span:
    """The part of a clause before its last part: only a comment in there needs lines of their own for the parts."""
    return replace(whole, end=last.start)


def _word(clause: Table) -> str:
    match clause:
        case Own(sort):
            return sort
        case Binding():
            return ""
    return type(clause).__name__.lower()


def _parts(clause: Table) -> tuple[list[tuple[str, Span]], str]:
    """The texts of the list with their places, and what stands between them."""
    match clause:
        case Work(levels):
            return [(level_text(level), level.span) for level in levels], ","
        case Compute(bindings, equation):
            texts = [(_binding(b), b.span) for b in bindings]
            return ([(f"{equation}: {texts[0][0]}", texts[0][1]), *texts[1:]] if equation else texts), ","
        case Binding():
            return [(_binding(clause), clause.span)], ","
        case Own(_, factors):
            return [(f.name if f.extent is None else f"{f.name}: {show(f.extent)}", f.span) for f in factors], ","
        case Layout(order, place):
            return [(f"{order_text(order)}{place_text(place, ' ' if order else '')}", clause.span)], ","
        case Where(conditions):
            return [(show_all(conditions), clause.span)], ","
        case Equations(names):
            return [(", ".join(names), clause.span)], ","
        case Param(name, value, choices):
            return [(f"{name} = {show(value)}" if value is not None else f"{name} in {{{show_all(choices)}}}", clause.span)], ","


def _binding(binding: Binding) -> str:
    merged = ", ".join(binding.indices)
    return f"{merged if len(binding.indices) == 1 else f'({merged})'} ={BREAK}{show(binding.value)}"


def _stage(stage: Stage) -> str:
    ring = "" if stage.ring is None else f" ring {show(stage.ring, 5)}"
    by = f" by {stage.by}" if stage.by else ""
    return f"stage {show(stage.access)} at {stage.at} in {stage.space}{ring}{' async' if stage.asynchronous else ''}{by}"
