"""Programs as text: what `show --program` prints, and what a person may copy, change and have proved again.

Comes in: a program. Goes out: the statements of the syntax tree, and through the formatter their text.
The one idea: the text is the program, so `read` of what is printed here gives an equal program back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tinygpu.category.layout import PLAIN, Layout
from tinygpu.category.monoid import WORDS, component
from tinygpu.category.term import COMPARISONS, INDEX, SYMBOL, TRUE, App, Axis, Const, Fold, Read, Term, Var
from tinygpu.program.step import Array, Assign, For, Ghost, If, Launch, Program, Step, Sync
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.target import CPU, of_cpu

OPERATORS: Mapping[str, str] = {op: symbol.strip() for op, (symbol, _) in SYMBOL.items()}
EXACT = 2**53  # integers up to here are floats without loss, and are written without a point
Scalars = frozenset[str]  # the arguments of rank 0, which are read by their bare name


def render(program: Program) -> str:
    """`program → text`: the `program { … }` clause. It parses, and reads back to an equal program."""
    from tinygpu.syntax.format import format_statements

    body = format_statements(to_statements(program)).rstrip("\n").split("\n")
    return "\n".join(["program {", *(f"  {line}" if line else "" for line in body), "}", ""])


def render_machine(program: Program) -> str:
    """`program → text`: a whole explicit machine, with its work object, for the op of the program."""
    from tinygpu.syntax.format import format_file

    return format_file(tree.File((to_machine(program),)))


def to_machine(program: Program) -> tree.Machine:
    """`program → machine NAME : OP { work … program { … } }`: an explicit machine with the same program."""
    name = plain_name(program.name)
    where = tuple(expression(guard) for guard in program.where if guard not in program.op.where)
    work = () if several(program) else (tree.Work(levels(program.launches[0])),)
    work = of_cpu(work) if program.arch == CPU else work
    return tree.Machine(
        name, (tree.Name(program.op.name.partition("[")[0]),), (*work, to_tree(program)), program.arch or None, where
    )


def plain_name(title: str) -> str:
    """The title of a machine as a name.

    >>> plain_name("cast_v8[op=narrow, T=f16]"), plain_name("_cast_")
    ('cast_v8_op_narrow__T_f16', '_cast_')
    """
    return "".join(c if c.isalnum() else "_" for c in title.removesuffix("]"))


def to_tree(program: Program) -> tree.ProgramClause:
    """`program → program { … }`."""
    return tree.ProgramClause(to_statements(program))


def to_statements(program: Program) -> tuple[tree.Statement, ...]:
    """`program → statements`, without spans. One launch is its body; several are `launch` statements with their work objects, after
    the workspaces between them."""
    statements = _statements(program)
    return of_cpu(statements) if program.arch == CPU else statements


def _statements(program: Program) -> tuple[tree.Statement, ...]:
    scalars = frozenset(t.name for t in program.op.inputs if not t.shape)
    bodies = [tuple(statement(step, scalars) for step in launch.body) for launch in program.launches]
    if not several(program):
        return bodies[0]
    launches = (tree.LaunchStatement(levels(one), body) for one, body in zip(program.launches, bodies, strict=True))
    return (*map(array, program.workspaces), *launches)


def several(program: Program) -> bool:
    """Whether the launches of a program are written as statements."""
    return len(program.launches) != 1 or bool(program.workspaces) or recut(program)


def recut(program: Program) -> bool:
    """Whether the threads of the one launch have other factors than in the machine that it was derived from."""
    names = [[a.name for a in one.block] for one in program.launches]
    meant = [[a.name for a in one.block] for one in program.machine.launches] if program.machine else names
    return len(names) == len(meant) == 1 and names != meant


def levels(launch: Launch) -> tuple[tree.Level, ...]:
    """`launch → grid = (…), block = (…)`."""
    return (tree.Level("grid", group(launch.grid)), tree.Level("block", group(launch.block)))


def group(axes: tuple[Axis, ...]) -> tree.Group:
    """`(by: ceil(M / 64), bx: 4)`, the factors of one level with their extents."""
    return tree.Group(tuple(tree.Sized(axis.name, expression(axis.extent)) for axis in axes))


def statement(step: Step, scalars: Scalars = frozenset()) -> tree.Statement:
    """`step → statement`."""
    match step:
        case Array():
            return array(step)
        case Sync(scope):
            return tree.Sync("barrier" if scope == "block" else f"{scope} barrier")
        case Assign(target, index, value, update, guard):
            condition = None if guard == TRUE else expression(guard, scalars)
            return tree.Assign(cell(target, index, scalars), expression(value, scalars), update, condition, step.atomic)
        case For(axis, body):
            inner = tuple(statement(s, scalars) for s in body)
            return tree.For(axis.name, expression(axis.extent), inner, axis.sort)
        case If(guard, body):
            return tree.If(expression(guard, scalars), tuple(statement(s, scalars) for s in body))
        case Ghost(target, index, value):
            return tree.Holds(cell(target, index, scalars), expression(value, scalars))
    assert_never(step)


def array(declared: Array) -> tree.Array:
    """`local v: f32[8]`, `shared s: f32[32, 32] pad 1`, `workspace part: f32[g]`.

    >>> from tinygpu.program.space import SHARED
    >>> array(Array("s", "f32", (Const(32), Const(32)), SHARED, Layout(pad=1))).place
    Place(kind='pad', args=(Number(text='1'),))
    """
    place = placed(declared.layout) if declared.space.laid_out else None
    return tree.Array(declared.space.name, declared.name, declared.dtype, tuple(map(expression, declared.extents)), (), place)


def placed(layout: Layout) -> tree.Place | None:
    """A layout as it is written. Raises ValueError for one with a pad and a swizzle, which no text has."""
    match layout:
        case Layout(pad, None):
            return None if layout == PLAIN else tree.Place("pad", (constant(pad),))
        case Layout(0, swizzle) if swizzle is not None:
            return tree.Place("swizzle", tuple(map(constant, swizzle)))
    raise ValueError("a layout has a pad or a swizzle, not both")


def cell(name: str, index: tuple[Term, ...], scalars: Scalars) -> tree.Cell:
    """`name[index]`."""
    return tree.Cell(name, tuple(expression(i, scalars, inside=True) for i in index))


def expression(term: Term, scalars: Scalars = frozenset(), inside: bool = False) -> tree.Expr:
    """`term → expression`, without parentheses: the formatter puts them where they are needed. `inside` brackets an integer is an index without a word.

    >>> expression(Read("a", (), "f32"), frozenset("a")), expression(Const(-1.0, "f32"))
    (Name(name='a'), Unary(op='-', operand=Number(text='1')))
    """
    match term:
        case Const(value):
            return constant(value)
        case Var(name):
            return tree.Name(name)
        case Read(tensor, ()) if tensor in scalars:
            return tree.Name(tensor)
        case Read(tensor, index):
            return cell(tensor, index, scalars)
        case App("neg", (Const(_, dtype) as inner,)):  # `-2` is a literal, this is an operation
            return tree.Unary("-", tree.Call(dtype, (expression(inner),)))
        case App("part", (value, Const(int(place)))):
            return tree.Field(expression(value, scalars), component(value.dtype, place))
        case App("cast", (inner,), "index"):
            number = expression(inner, scalars, inside=True)
            return number if inside else tree.Call(INDEX, (number,))
        case App(op, args, dtype):
            return application(op, tuple(expression(a, scalars, inside) for a in args), dtype)
        case Fold(monoid, axes, guard, body, dtype):
            return replace(folded(monoid, axes, guard, expression(body, scalars), scalars), named=monoid not in WORDS)
    assert_never(term)


def folded(monoid: str, axes: tuple[Axis, ...], guard: Term, body: tree.Expr, scalars: Scalars) -> tree.FoldExpr:
    """`sum[k < K] body`; a guard of the last binder, `k < e` or `k <= e`, stands as its bound when the body gives the range."""
    bounds = {axis.name: ("<", expression(axis.extent, scalars)) for axis in axes}
    match guard:
        case Const(True):
            pass
        case App(("lt" | "le") as op, (Var(name), bound)) if name in bounds:
            bounds[name] = ("<" if op == "lt" else "<=", expression(bound, scalars))
        case _:
            raise ValueError("this guard of a fold cannot be written as a bound")
    return tree.FoldExpr(monoid, tuple(tree.Binder(name, *bound) for name, bound in bounds.items()), body)


def application(op: str, args: tuple[tree.Expr, ...], dtype: str) -> tree.Expr:
    """`op(args)` as it is written: an operator, a conditional, a cast or a call."""
    match op, args:
        case "select", (condition, then, otherwise):
            return tree.IfElse(then, condition, otherwise)
        case (("cast" | "pack"), _):
            return tree.Call(dtype, args)
        case "ceildiv", (a, b):
            return tree.Call("ceil", (tree.Binary("/", a, b),))
        case (("neg" | "not"), (a,)):
            return tree.Unary(OPERATORS[op], a)
        case _ if op in OPERATORS and (op not in COMPARISONS or len(args) == 2):
            result = args[0]
            for arg in args[1:]:
                result = tree.Binary(OPERATORS[op], result, arg)
            return result
    return tree.Call(op, args)


def constant(value: int | float | bool) -> tree.Expr:
    """A literal: `true`, `inf`, `3`, `0.5`, and what is negative with its sign before it.

    >>> constant(True), constant(-0.0), constant(1e300)
    (Name(name='true'), Unary(op='-', operand=Number(text='0.0')), Number(text='1e+300'))
    """
    if isinstance(value, bool):
        return tree.Name("true" if value else "false")
    if value < 0:
        return tree.Unary("-", constant(-value))
    if value == 0 and str(value) == "-0.0":
        return tree.Unary("-", tree.Number("0.0"))
    if value == float("inf"):
        return tree.Name("inf")
    whole = isinstance(value, int) or (value.is_integer() and value < EXACT)
    return tree.Number(str(int(value)) if whole else repr(value))
