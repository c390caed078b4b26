"""Rows to text: comments put back where they stood, blank lines kept, long lines broken.

Comes in: rows (an indent, a text, the place in the source it is from) and the comments. Goes out: the lines of a file.
The one idea: a comment belongs to the row that its place falls on, so printing the rows knows nothing of comments.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TypeAlias

from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, replace
from tinygpu.syntax.node import BREAK, Comment

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
        for comment in above.get(number, ()):
            placed.append(Row(_comment_indent(rows, number), comment.text, comment.span, "comment"))
        placed += rows[number : number + 1]
    return placed


def _comment_indent(rows: list[Row], number: int) -> int:
    if number == len(rows):
        return 0
    return rows[number].indent + (rows[number].kind in ("close", "turn"))


def _blank_between(before: Row, row: Row) -> bool:
    """A blank line stays where it was, but not inside of a brace; it is made between declarations."""
    if before.kind in ("open", "turn") or row.kind in ("close", "turn"):
        return False
    if before.apart or (row.apart and before.kind != "comment"):
        return True
    known = before.span is not NOWHERE and row.span is not NOWHERE
    return known and row.span.line - before.span.end_line > 1


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
