"""The one style: a tree as text, such that `parse(format_file(tree)) == tree`, comments in place.

Comes in: any node of `tree`, read from a text or made in Python. Goes out: text, lines of at most 100 characters where that can be.
The one idea: each node is a list of rows; `show` prints what is inside a row, `arrange` puts rows and comments together. Clauses that are
a word and a list have their lists in one column, so a block is read as a table; a block of one step stands on one line if it fits.
"""

from __future__ import annotations

from string import Formatter
from typing import Any

from tinygpu.diagnostic import Span
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.arrange import INDENT, WIDTH, Comments, Row, arrange, block, closing
from tinygpu.syntax.expression import BREAK, DISJUNCTION, EXCLUSIVE, show, show_all
from tinygpu.syntax.node import Node

LEVELS = {"DISJUNCTION": DISJUNCTION, "EXCLUSIVE": EXCLUSIVE}  # of expressions, in `shown`


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


# ── clauses and steps ──────────────────────────────────────────────────────────────────────────────────────────────


def step_rows(step: tree.Statement, indent: int, comments: Comments) -> list[Row]:
    """One step, with its block if it has one."""
    body = getattr(step, "body", None)
    if body is None:
        return [Row(indent, _head(step), step.span)]
    inner = [line for one in body for line in step_rows(one, indent + 1, comments)]
    return block(_head(step), inner, step.span, indent, comments, not isinstance(step, tree.LaunchStatement))


def _head(step: tree.Statement) -> str:
    """A step without its block."""
    match step:
        case tree.Array(space, name, dtype, extents, order, place):
            return " ".join((f"{space} {name}: {dtype}[{show_all(extents)}]", *layout_words(order, place)))
        case tree.Assign(target, value, update, guard, atomic):
            head = f"{'atomic ' if atomic else ''}{show(target)} {tree.SIGNS.get(update, f'{update}=')}{BREAK}"
            if guard is None:
                return head + show(value)
            return f"{head}{show(value, DISJUNCTION)} if{BREAK}{show(guard, DISJUNCTION)}"
        case tree.For(name, None, _, _, values):
            return f"for {name} in {show(tree.Group(values))}"
        case tree.For(name, extent, _, sort):
            assert extent is not None
            return f"for {name} < {show(extent, EXCLUSIVE)}{'' if sort == 'time' else f' in {sort}'}"
    return words_of(step)


def words_of(part: Any, level: str | None = "") -> str:
    """A word, an expression of that level, a list, or a node as the head of its class shows it, without what is absent.

    >>> words_of(tree.If(tree.Name("c"), ())), words_of(tree.Sync("barrier")), words_of(tree.Keep("x", "register"))
    ('if c', 'barrier', 'keep x in register')
    """
    if isinstance(part, tuple):
        return f",{BREAK}".join(map(words_of, part))
    if not isinstance(part, Node):
        return part or ""
    if not part.shown:
        return show(part, LEVELS.get(level or "", 0))  # type: ignore[arg-type]
    pieces = Formatter().parse(part.shown)
    return "".join(word + (words_of(getattr(part, field), level) if field else "") for word, field, level, _ in pieces).rstrip()


def layout_words(order: tuple[str, ...], place: tree.Place | None) -> list[str]:
    """`(k, i)` and `pad 4` or `swizzle(3, 3, 3)`, those that there are."""
    words = [f"({', '.join(order)})"] if order else []
    match place:
        case tree.Place("pad", (amount,)):
            words.append(f"pad {show(amount, EXCLUSIVE)}")
        case tree.Place(kind, args):
            words.append(kind + (f"({show_all(args)})" if args else ""))
    return words


def clause_rows(clauses: tuple[tree.Clause, ...], indent: int, comments: Comments) -> list[Row]:
    """The clauses of one pair of braces."""
    column = max((len(_word(c)) for c in clauses if isinstance(c, tree.Listed)), default=0)
    return [line for clause in clauses for line in _rows(clause, column, indent, comments)]


def _rows(clause: tree.Clause, column: int, indent: int, comments: Comments) -> list[Row]:
    match clause:
        case tree.Keep() | tree.Reduce():
            return [Row(indent, words_of(clause), clause.span)]
        case tree.ProgramClause(body):
            inner = [line for step in body for line in step_rows(step, indent + 1, comments)]
            return block("program", inner, clause.span, indent, comments, flat=False)
        case tree.LaunchClause(clauses=inside) | tree.ForEquation(clauses=inside):
            head = words_of(clause)
        case tree.Stage(access, at, space, inside, ring, asynchronous, by):
            words = ("" if ring is None else f" ring {show(ring, EXCLUSIVE)}", " async" * asynchronous, f" by {by}" if by else "")
            head = f"stage {show(access)} at {at} in {space}{''.join(words)}"
            if not inside and not comments.inside(clause.span):
                return [Row(indent, head, clause.span)]
        case _:
            return _list_rows(clause, column, indent, comments)
    return block(head, clause_rows(inside, indent + 1, comments), clause.span, indent, comments)


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
        case tree.Work(levels):
            return [(words_of(level), level.span) for level in levels]
        case tree.Compute(bindings, equation):
            (first, place), *others = ((_binding(b), b.span) for b in bindings)
            return [(f"{equation}: {first}" if equation else first, place), *others]
        case tree.Own(_, factors):
            return [(show(f), f.span) for f in factors]
        case tree.Binding():
            text = _binding(clause)
        case tree.Layout(order, place):
            text = " ".join(layout_words(order, place))
        case tree.Where(conditions):
            text = show_all(conditions)
        case tree.Equations(names):
            text = ", ".join(names)
        case tree.Param(name, value, choices):
            text = f"{name} = {show(value)}" if value is not None else f"{name} in {{{show_all(choices)}}}"
    return [(text, clause.span)]


def _binding(binding: tree.Binding) -> str:
    merged = ", ".join(binding.indices)
    return f"{merged if len(binding.indices) == 1 else f'({merged})'} ={BREAK}{show(binding.value)}"
