"""The one style: a tree as text, such that `parse(format_file(tree)) == tree`, comments in place.

Comes in: any node of `tree`, read from a text or made in Python. Goes out: text, lines of at most 100 characters where that can be.
The one idea: each node is a list of rows; `show` prints what is inside a row, `arrange` puts rows and comments together. Clauses that are
a word and a list have their lists in one column, so a block is read as a table; a block of one step stands on one line if it fits.
"""

from __future__ import annotations

from tinygpu.diagnostic import Span
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.arrange import INDENT, WIDTH, Comments, Row, arrange, block, closing
from tinygpu.syntax.expression import show
from tinygpu.syntax.node import BREAK


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
    return arrange([row for step in statements for row in step_rows(step, 0, Comments())], ())


def format_expr(expr: tree.Expr) -> str:
    """An expression on one line.

    >>> format_expr(tree.Binary("*", tree.Binary("+", tree.Name("a"), tree.Name("b")), tree.Number("4")))
    '(a + b) * 4'
    """
    return show(expr).replace(BREAK, " ")


def _declaration_rows(declaration: tree.Declaration, comments: Comments) -> list[Row]:
    match declaration:
        case tree.Import():
            return [Row(0, show(declaration), declaration.span)]
        case tree.Param():
            return clause_rows((declaration,), 0, comments)
        case tree.Op():
            rows = _op_rows(declaration, comments)
        case tree.Monoid(parts=parts):
            column = max((len(part.kind) for part in parts), default=0)  # the lists of the parts stand in one
            inner = [Row(1, f"{part.kind:<{column}} {show(part)}", part.span) for part in parts]
            rows = block(show(declaration), inner, declaration.span, 0, comments, flat=False)
        case tree.Machine(clauses=clauses):
            rows = block(show(declaration), clause_rows(clauses, 1, comments), declaration.span, 0, comments, flat=False)
    rows[0].apart = rows[-1].apart = True
    return rows


def _op_rows(op: tree.Op, comments: Comments) -> list[Row]:
    """The header on one line, or a line for each tensor; then the equations with their `=` in one column."""
    header = show(op)
    tensors = replace(op.span, end=op.outputs[-1].span.start)  # a comment in there needs a line for each tensor
    if len(header) <= WIDTH and not comments.inside(tensors):
        rows = [Row(0, header, op.span, "open")]
    else:
        rows = [Row(0, f"{header.partition('(')[0]}(", replace(op.span, end=op.span.start), "open")]
        rows += _tensor_rows(op.inputs)
        rows.append(Row(0, ") -> (", _after(op.inputs, op.span, comments), "turn"))
        rows += _tensor_rows(op.outputs)
        where = f" where {show(op.where)}" if op.where else ""
        rows.append(Row(0, f"){where} {{", _after(op.outputs, op.span, comments), "turn"))
    sides = [show(e).partition(f" ={BREAK}") for e in op.equations]
    column = max((len(left) for left, _, _ in sides), default=0)
    rows += [Row(1, f"{left:<{column}}{sign}{right}", e.span) for e, (left, sign, right) in zip(op.equations, sides, strict=True)]
    return [*rows, closing(op.span, 0)]


def _tensor_rows(tensors: tuple[tree.TensorDecl, ...]) -> list[Row]:
    commas = [","] * (len(tensors) - 1) + [""]
    return [Row(1, show(t) + comma, t.span) for t, comma in zip(tensors, commas, strict=False)]


def _after(tensors: tuple[tree.TensorDecl, ...], span: Span, comments: Comments) -> Span:
    """The place of the parenthesis after tensors: behind the comment that follows the last one."""
    return comments.line_end(tensors[-1].span if tensors else replace(span, end=span.start, end_line=span.line))


# ── clauses and steps ──────────────────────────────────────────────────────────────────────────────────────────────


def step_rows(step: tree.Statement, indent: int, comments: Comments) -> list[Row]:
    """One step, with its block if it has one."""
    body = getattr(step, "body", None)
    if body is None:
        return [Row(indent, show(step), step.span)]
    inner = [line for one in body for line in step_rows(one, indent + 1, comments)]
    return block(show(step), inner, step.span, indent, comments, not isinstance(step, tree.LaunchStatement))


def clause_rows(clauses: tuple[tree.Clause, ...], indent: int, comments: Comments) -> list[Row]:
    """The clauses of one pair of braces."""
    column = max((len(_word(c)) for c in clauses if isinstance(c, tree.Listed)), default=0)
    return [line for clause in clauses for line in _rows(clause, column, indent, comments)]


def _rows(clause: tree.Clause, column: int, indent: int, comments: Comments) -> list[Row]:
    match clause:
        case tree.ProgramClause(body):
            inner = [line for step in body for line in step_rows(step, indent + 1, comments)]
            return block(show(clause), inner, clause.span, indent, comments, flat=False)
        case tree.LaunchClause() | tree.ForEquation() | tree.Stage():
            if isinstance(clause, tree.Stage) and not clause.clauses and not comments.inside(clause.span):
                return [Row(indent, show(clause), clause.span)]
            return block(show(clause), clause_rows(clause.clauses, indent + 1, comments), clause.span, indent, comments)
        case tree.Keep() | tree.Reduce():
            return [Row(indent, show(clause), clause.span)]
    return _list_rows(clause, column, indent, comments)


def _list_rows(clause: tree.Listed, column: int, indent: int, comments: Comments) -> list[Row]:
    """A word and a list: on one line, or a line for each part of `compute` (three and more) and `work`, where it is too long."""
    parts = _parts(clause)
    head = f"{_word(clause):<{column}} "
    flat = head + f",{BREAK}".join(text for text, _ in parts)
    split = isinstance(clause, tree.Compute) and (len(parts) > 2 or (len(parts) > 1 and len(INDENT) * indent + len(flat) > WIDTH))
    apart = len(parts) > 1 and comments.inside(replace(clause.span, end=parts[-1][1].start))  # a comment between parts
    if split or (isinstance(clause, tree.Work | tree.Compute) and apart):
        leads, ends = [head, *[" " * len(head)] * (len(parts) - 1)], [*["," * isinstance(clause, tree.Work)] * (len(parts) - 1), ""]
        return [Row(indent, lead + text + end, span) for lead, (text, span), end in zip(leads, parts, ends, strict=True)]
    return [Row(indent, flat.rstrip(), clause.span)]


def _word(clause: tree.Listed) -> str:
    match clause:
        case tree.Own(sort):
            return sort
        case tree.Binding():
            return ""
    return type(clause).__name__.lower()


def _parts(clause: tree.Listed) -> list[tuple[str, Span]]:
    """The texts of the list, each with its place."""
    match clause:
        case tree.Work(parts) | tree.Compute(parts) | tree.Own(_, parts):
            first = f"{clause.equation}: " if isinstance(clause, tree.Compute) and clause.equation else ""
            return [(("" if at else first) + show(part), part.span) for at, part in enumerate(parts)]
    return [(show(clause), clause.span)]
