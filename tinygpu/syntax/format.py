"""The one style: a tree as text, such that `parse(format_file(tree)) == tree`, comments in place.

Comes in: any node of `tree`, read from a text or made in Python. Goes out: text, lines of at most 100 characters where that can be. The one idea: each node is a list of rows (an indent,
a text, the place in the source it is from), and a comment belongs to the row that its place falls on, so printing the rows knows nothing of comments. Clauses that are a word and a list
have their lists in one column, so a block is read as a table; a block of one step stands on one line if it fits.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, TypeAlias

from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.expression import show
from tinygpu.syntax.node import BREAK, Comment


def format_file(file: tree.File) -> str:
    """`tree.File → text`.

    >>> from tinygpu.syntax.parse import parse
    >>> print(format_file(parse("op f(x:f32[n])->(y:f32[n]){y[i]=2*x[i]} # twice")), end="")
    op f(x: f32[n]) -> (y: f32[n]) {
      y[i] = 2 * x[i]
    }  # twice
    """
    comments = Comments(file.comments)
    return arrange([row for d in file.declarations for row in _declaration_rows(d, comments)], file.comments)


def format_statements(statements: tuple[tree.Statement, ...]) -> str:
    """Steps as lines, without comments."""
    return arrange([row for step in statements for row in _rows(step, 0, Comments())], ())


def format_expr(expr: tree.Expr) -> str:
    """An expression on one line.

    >>> format_expr(tree.Binary("*", tree.Binary("+", tree.Name("a"), tree.Name("b")), tree.Number("4")))
    '(a + b) * 4'
    """
    return show(expr).replace(BREAK, " ")


def _declaration_rows(declaration: tree.Declaration, comments: Comments) -> list[Row]:
    match declaration:
        case tree.Import() | tree.Param() | tree.Def() | tree.Theorem() | tree.Gradient() | tree.Op(parts=(_, *_)):
            return _rows(declaration, 0, comments)
        case tree.Op(equations=lines) | tree.Pipeline(calls=lines):
            rows = _op_rows(declaration, lines, comments)
        case tree.Monoid(parts=parts):
            column = max((len(part.kind) for part in parts), default=0)  # the lists of the parts stand in one
            inner = [Row(1, f"{part.kind:<{column}} {show(part)}", part.span) for part in parts]
            rows = block(show(declaration), inner, declaration.span, 0, comments, flat=False)
        case tree.Lemma(meanings=parts) | tree.Scheme(rows=parts) | tree.Choice(branches=parts):
            rows = block(show(declaration), _sides(parts, comments), declaration.span, 0, comments, flat=False)
        case tree.Machine() | tree.Instruction():
            rows = _rows(declaration, 0, comments)
    rows[0].apart = rows[-1].apart = True
    return rows


def _op_rows(op: tree.Op | tree.Pipeline, lines: tuple[Any, ...], comments: Comments) -> list[Row]:
    """The header on one line, or a line for each tensor; then the equations with their `=` in one column."""
    header = show(op)
    tensors = replace(op.span, end=op.outputs[-1].span.start)  # a comment in there needs a line for each tensor
    if len(header) <= WIDTH and not comments.inside(tensors):
        rows = [Row(0, header, op.span, "open")]
    else:
        rows = [Row(0, f"{show(replace(op, inputs=())).partition('() ->')[0]}(", replace(op.span, end=op.span.start), "open")]
        rows += _tensor_rows(op.inputs)
        rows.append(Row(0, ") -> (", _after(op.inputs, op.span, comments), "turn"))
        rows += _tensor_rows(op.outputs)
        where = f" where {show(op.where)}" if op.where else ""
        rows.append(Row(0, f"){where} {{", _after(op.outputs, op.span, comments), "turn"))
    return [*rows, *_sides(lines, comments), closing(op.span, 0)]


def _sides(lines: tuple[Any, ...], comments: Comments) -> list[Row]:
    """Lines whose `=` stand in one column."""
    sides = [("", "", "") if isinstance(e, tree.Let | tree.Where) else show(e).partition(f" ={BREAK}") for e in lines]
    column, found = max((len(left) for left, _, _ in sides), default=0), zip(lines, sides, strict=True)
    rows = ([Row(1, f"{a:<{column}}{sign}{b}".rstrip(), e.span)] if a else _rows(e, 1, comments) for e, (a, sign, b) in found)
    return [row for each in rows for row in each]


def _tensor_rows(tensors: tuple[tree.TensorDecl, ...]) -> list[Row]:
    commas = [","] * (len(tensors) - 1) + [""]
    return [Row(1, show(t) + comma, t.span) for t, comma in zip(tensors, commas, strict=False)]


def _after(tensors: tuple[tree.TensorDecl, ...], span: Span, comments: Comments) -> Span:
    """The place of the parenthesis after tensors: behind the comment that follows the last one."""
    return comments.line_end(tensors[-1].span if tensors else replace(span, end=span.start, end_line=span.line))


# ── clauses and steps ──────────────────────────────────────────────────────────────────────────────────────────────


def _rows(part: Any, indent: int, comments: Comments, column: int = 0) -> list[Row]:
    """One step, clause or machine, with its block if it has one; the lists of clauses begin at a column."""
    if isinstance(part, tree.Listed):
        return _list_rows(part, column, indent, comments)
    if hasattr(part, "body"):
        inner = [line for step in part.body for line in _rows(step, indent + 1, comments)]
    elif hasattr(part, "clauses") and (part.clauses or not isinstance(part, tree.Stage | tree.Copy) or comments.inside(part.span)):
        column = max((len(_word(c)) for c in part.clauses if isinstance(c, tree.Listed)), default=0)
        inner = [line for clause in part.clauses for line in _rows(clause, indent + 1, comments, column)]
    else:
        return [Row(indent, show(part), part.span)]
    flat = not isinstance(part, tree.LaunchStatement | tree.ProgramClause | tree.Machine | tree.Instruction)
    return block(show(part), inner, part.span, indent, comments, flat)


def _list_rows(clause: tree.Listed, column: int, indent: int, comments: Comments) -> list[Row]:
    """A word and a list: on one line, or a line for each part of `compute` (three and more) and `work`, where it is too long."""
    parts = _parts(clause)
    head = f"{_word(clause):<{column}} "
    flat = head + f",{BREAK}".join(text for text, _ in parts)
    wide = len(parts) > 1 and len(INDENT) * indent + len(flat) > WIDTH
    split = wide if isinstance(clause, tree.Let) else isinstance(clause, tree.Compute) and (len(parts) > 2 or wide)
    apart = len(parts) > 1 and comments.inside(replace(clause.span, end=parts[-1][1].start))  # a comment between parts
    if split or (isinstance(clause, tree.Work | tree.Compute | tree.Let | tree.Arrays) and apart):
        leads, ends = (
            [head, *[" " * len(head)] * (len(parts) - 1)],
            [*["," * (not isinstance(clause, tree.Compute))] * (len(parts) - 1), ""],
        )
        return [Row(indent, lead + text + end, span) for lead, (text, span), end in zip(leads, parts, ends, strict=True)]
    return [Row(indent, flat.rstrip(), clause.span)]


def _word(clause: tree.Listed) -> str:
    match clause:
        case tree.Own(sort):
            return sort
        case tree.Arrays(parts):
            return parts[0].space
        case tree.Binding():
            return ""
    return type(clause).__name__.lower()


def _parts(clause: tree.Listed) -> list[tuple[str, Span]]:
    """The texts of the list, each with its place."""
    match clause:
        case tree.Work(parts) | tree.Compute(parts) | tree.Own(_, parts) | tree.Let(parts):
            first = f"{clause.equation}: " if isinstance(clause, tree.Compute) and clause.equation else ""
            return [(("" if at else first) + show(part), part.span) for at, part in enumerate(parts)]
        case tree.Arrays(parts):
            return [(show(part).partition(" ")[2], part.span) for part in parts]
    return [(show(clause), clause.span)]


WIDTH = 100
INDENT = "  "
Line: TypeAlias = tuple[str, str, int]  # a text, the comment at its end, the lines with which that comment is aligned (−1: none)


@dataclass(slots=True)
class Row:
    """One line to be. `kind`: `item`, `open` (ends in a bracket), `close` (begins with one), `turn` (both), `comment`.

    `apart` asks for a blank line between it and its neighbours; `trailing` is the comment at its end.
    """

    indent: int
    text: str
    span: Span = NOWHERE
    kind: str = "item"
    apart: bool = False
    trailing: str = ""


@dataclass(frozen=True, slots=True)
class Comments:
    """The comments of a file, for the question whether a node must keep its lines apart to hold one."""

    all: tuple[Comment, ...] = ()

    def inside(self, span: Span) -> bool:
        """Is there a comment strictly inside a span?"""
        return any(span.start < c.span.start < span.end for c in self.all)

    def line_end(self, span: Span) -> Span:
        """The place behind a span and the comment that follows it on its line."""
        after = [c.span for c in self.all if c.span.line == span.end_line and c.span.start >= span.end]
        return replace(span, start=after[-1].end if after else span.end, line=span.end_line)


def block(header: str, inner: list[Row], span: Span, indent: int, comments: Comments, flat: bool = True) -> list[Row]:
    """`header { inner }`, on one line if it is one row that fits and holds no comment."""
    kept = comments.inside(span)
    if not inner and not kept:
        return [Row(indent, f"{header} {{ }}", span)]
    if flat and not kept and len(inner) == 1 and inner[0].kind == "item":
        text = f"{header} {{ {inner[0].text} }}"
        if len(INDENT) * indent + len(text) <= WIDTH:
            return [Row(indent, text, span)]
    return [Row(indent, f"{header} {{", span, "open"), *inner, closing(span, indent)]


def closing(span: Span, indent: int) -> Row:
    """The brace that ends a block."""
    return Row(indent, "}", replace(span, start=span.end - 1, line=span.end_line) if span is not NOWHERE else span, "close")


def arrange(rows: list[Row], comments: tuple[Comment, ...]) -> str:
    """The text of a file."""
    placed = _place(rows, comments)
    lines: list[Line] = []
    for before, row in zip([None, *placed], placed, strict=False):
        if before is not None and _blank_between(before, row):
            lines.append(("", "", -1))
        *first, last = wrap(row.text, row.indent)
        lines += [(line, "", -1) for line in first]
        lines.append((last, row.trailing, row.indent if row.kind == "item" and row.trailing else -1))
    return "".join(f"{line}\n" for line in _align(lines))


def _place(rows: list[Row], comments: tuple[Comment, ...]) -> list[Row]:
    """The rows with a row for each comment on a line of its own, and the other comments at the end of their row."""
    starts = [row.span.start for row in rows]
    above: dict[int, list[Comment]] = {}
    for comment in comments:
        at = bisect_right(starts, comment.span.start) - 1  # the last row that starts before the comment
        inside = at >= 0 and rows[at].kind == "item" and comment.span.start < rows[at].span.end
        if at < 0 or comment.own_line:
            above.setdefault(at if inside else at + 1, []).append(comment)
        else:
            if rows[at].trailing:  # two comments on one row: the first one moves above it
                above.setdefault(at, []).append(Comment(rows[at].trailing, span=rows[at].span))
            rows[at].trailing = comment.text
    placed: list[Row] = []
    for number in range(len(rows) + 1):
        placed += (Row(_comment_indent(rows, number), c.text, c.span, "comment") for c in above.get(number, ()))
        placed += rows[number : number + 1]
    return placed


def _comment_indent(rows: list[Row], number: int) -> int:
    return 0 if number == len(rows) else rows[number].indent + (rows[number].kind in ("close", "turn"))


def _blank_between(before: Row, row: Row) -> bool:
    """A blank line stays where it was, but not inside of a brace; it is made between declarations."""
    if before.kind in ("open", "turn") or row.kind in ("close", "turn"):
        return False
    if before.apart or (row.apart and before.kind != "comment"):
        return True
    return before.span is not NOWHERE is not row.span and row.span.line - before.span.end_line > 1


def _align(lines: list[Line]) -> list[str]:
    """Comments at the ends of neighbouring lines of one block stand in one column."""
    done: list[str] = []
    for number, (line, comment, group) in enumerate(lines):
        first = last = number
        while group >= 0 and first and lines[first - 1][2] == group:
            first -= 1
        while group >= 0 and last + 1 < len(lines) and lines[last + 1][2] == group:
            last += 1
        column = max(len(text) for text, _, _ in lines[first : last + 1])
        done.append(f"{line:<{column}}  {comment}" if comment else line)
    return done


def wrap(text: str, indent: int) -> list[str]:
    """A row as lines of at most WIDTH characters where its breaks allow that: outermost breaks first, latest first."""
    lines, margin = [], len(INDENT) * indent
    rest, at = text, margin
    inner: list[int] = []  # columns of the open brackets
    while True:
        cut = _cut(rest, WIDTH - at, len(inner))
        line = rest if cut is None else rest[:cut]
        lines.append(" " * at + line.replace(BREAK, " "))
        if cut is None:
            return lines
        for column, character in enumerate(line, at):
            if character in "([":
                inner.append(column + 1)
            elif character in ")]" and inner:
                inner.pop()
        rest = rest[cut + 1 :]
        at = inner[-1] if inner and inner[-1] <= WIDTH // 2 else margin + 2 * len(INDENT)


def _cut(text: str, room: int, depth: int) -> int | None:
    """Where to break a text so that its first part fits: the outermost break that does, and of those the last."""
    if len(text) <= room:
        return None
    best: tuple[int, int] | None = None
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == BREAK and (at <= room or best is None) and (best is None or depth <= best[0]):
            best = (depth, at)
        if at > room and best is not None:
            break
    return best and best[1]
