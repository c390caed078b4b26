"""The one style: a tree as text, such that `parse(format_file(tree)) == tree`, comments in place.

Comes in: any node of `tree`, read from a text or made in Python. Goes out: text, lines of at most 100 characters where that can be.
The one idea: each node is a list of rows; `show` prints what is inside a row, `arrange` puts rows and comments together.
"""

from __future__ import annotations

from tinygpu.diagnostic import Span
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.arrange import WIDTH, Comments, Row, arrange, block, closing
from tinygpu.syntax.clause import clause_rows
from tinygpu.syntax.expression import BREAK, show, show_all
from tinygpu.syntax.step import step_rows


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
        case tree.Import(path):
            return [Row(0, f'import "{path}"', declaration.span)]
        case tree.Param():
            return clause_rows((declaration,), 0, comments)
        case tree.Op():
            rows = _op_rows(declaration, comments)
        case tree.Monoid(name, components, parts, where):
            column = max((len(part.kind) for part in parts), default=0)  # the lists of the parts stand in one
            lefts = ["" if part.names is None else f"{show(part.names)} ={BREAK}" for part in parts]
            inner = [Row(1, f"{p.kind:<{column}} {left}{show(p.value)}", p.span) for p, left in zip(parts, lefts, strict=True)]
            rows = block(f"monoid {name}({_tensors(components)}){_where(where)}", inner, declaration.span, 0, comments, flat=False)
        case tree.Machine(name, ops, clauses, arch, where):
            head = f"machine {name} : {', '.join(op.name for op in ops)}{f' on {arch}' if arch else ''}{_where(where)}"
            rows = block(head, clause_rows(clauses, 1, comments), declaration.span, 0, comments, flat=False)
    rows[0].apart = rows[-1].apart = True
    return rows


def _op_rows(op: tree.Op, comments: Comments) -> list[Row]:
    """The header on one line, or a line for each tensor; then the equations with their `=` in one column."""
    name = f"op {op.name}" + (f"[{op.family.variable} in {{{', '.join(op.family.dtypes)}}}]" if op.family else "")
    header = f"{name}({_tensors(op.inputs)}) -> ({_tensors(op.outputs)}){_where(op.where)} {{"
    tensors = replace(op.span, end=op.outputs[-1].span.start)  # a comment in there needs a line for each tensor
    if len(header) <= WIDTH and not comments.inside(tensors):
        rows = [Row(0, header, op.span, "open")]
    else:
        rows = [Row(0, f"{name}(", replace(op.span, end=op.span.start), "open")]
        rows += _tensor_rows(op.inputs)
        rows.append(Row(0, ") -> (", _after(op.inputs, op.span, comments), "turn"))
        rows += _tensor_rows(op.outputs)
        rows.append(Row(0, f"){_where(op.where)} {{", _after(op.outputs, op.span, comments), "turn"))
    targets = [show(e.targets[0]) if len(e.targets) == 1 else f"({show_all(e.targets)})" for e in op.equations]
    column = max(map(len, targets), default=0)
    rows += [Row(1, f"{target:<{column}} ={BREAK}{show(e.value)}", e.span) for e, target in zip(op.equations, targets, strict=True)]
    return [*rows, closing(op.span, 0)]


def _tensor_rows(tensors: tuple[tree.TensorDecl, ...]) -> list[Row]:
    commas = [","] * (len(tensors) - 1) + [""]
    return [Row(1, _tensor(t) + comma, t.span) for t, comma in zip(tensors, commas, strict=False)]


def _after(tensors: tuple[tree.TensorDecl, ...], span: Span, comments: Comments) -> Span:
    """The place of the parenthesis after tensors: behind the comment that follows the last one."""
    return comments.line_end(tensors[-1].span if tensors else replace(span, end=span.start, end_line=span.line))


def _tensors(tensors: tuple[tree.TensorDecl, ...]) -> str:
    return f",{BREAK}".join(map(_tensor, tensors))


def _tensor(tensor: tree.TensorDecl) -> str:
    return f"{tensor.name}: {tensor.dtype}" + ("" if tensor.shape is None else f"[{show_all(tensor.shape)}]")


def _where(conditions: tuple[tree.Expr, ...]) -> str:
    return f" where {show_all(conditions)}" if conditions else ""
