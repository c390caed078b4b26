"""Steps and statements: how each kind of step is written, and how it is read.

Comes in: a step, or the tree of a statement and the reader that has come to it. Goes out: the other, or None after a message.
The one idea: reading and writing stand side by side, so that a text gives the step back that it was printed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

from tinygpu.category.bounds import natural
from tinygpu.category.layout import PLAIN, Layout, fault
from tinygpu.category.term import TRUE, Axis, Const, Term
from tinygpu.diagnostic import Label
from tinygpu.model.bulk import wider
from tinygpu.model.op import Tensor
from tinygpu.model.problems import UNKNOWN, WRONG, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.value import condition, index
from tinygpu.program.expression import Scalars, cell, constant, expression
from tinygpu.program.read_cell import assign, folding, holds
from tinygpu.program.space import SPACES
from tinygpu.program.step import Array, Assign, For, Ghost, If, Step, Sync
from tinygpu.syntax import tree

if TYPE_CHECKING:
    from tinygpu.program.read import Reader


def to_statement(step: Step, scalars: Scalars = frozenset()) -> tree.Statement:
    """`step → statement`."""
    match step:
        case Array():
            return to_array(step)
        case Sync():
            return tree.Sync(step.word)
        case Assign(target, index, value, update, guard):
            condition = None if guard == TRUE else expression(guard, scalars)
            return tree.Assign(cell(target, index, scalars), expression(value, scalars), update, condition, step.atomic)
        case For(axis, body):
            inner = tuple(to_statement(s, scalars) for s in body)
            return tree.For(axis.name, expression(axis.extent), inner, axis.sort)
        case If(guard, body):
            return tree.If(expression(guard, scalars), tuple(to_statement(s, scalars) for s in body))
        case Ghost(target, index, value):
            return tree.Holds(cell(target, index, scalars), expression(value, scalars))
    assert_never(step)


def to_array(declared: Array) -> tree.Array:
    """`local v: f32[8]`, `shared s: f32[32, 32] pad 1`, `workspace part: f32[g]`.

    >>> from tinygpu.program.space import SHARED
    >>> to_array(Array("s", "f32", (Const(32), Const(32)), SHARED, Layout(pad=1))).place
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


def line(step: Step, scalars: Scalars = frozenset()) -> str:
    """A step as its text begins, without what is inside of it.

    >>> line(Sync("warp")), line(For(Axis("k", Const(3), "time"), (Sync(),)))
    ('warp barrier', 'for k < 3')
    """
    from tinygpu.syntax.format import format_statements

    return " ".join(format_statements((to_statement(step, scalars),)).partition("{")[0].split())


def read_step(reader: Reader, statement: tree.Statement, axes: tuple[Axis, ...]) -> Step | None:
    """`statement → step`, None after a message."""
    match statement:
        case tree.Array():
            return read_array(reader, statement, axes)
        case tree.Assign():
            return assign(statement, reader.scope(axes), reader.cells)
        case tree.Holds():
            return holds(statement, reader.scope(axes), reader.cells)
        case tree.For():
            return _loop(reader, statement, axes)
        case tree.If(guard, inner, span=span):
            scope = reader.scope(axes)
            return If(folding(condition(guard, scope), guard, scope), reader.inner(inner, axes), span)
        case tree.Sync("barrier" | "warp barrier" as kind, span=span):
            return Sync("warp" if kind == "warp barrier" else "block", span)
        case tree.Sync(kind, span=span):
            title, fix = f"{kind} is not in this version yet", "leave it out: copies are finished where they stand"
            reader.problems.add("TG109", title, span, "asynchronous copies come in a later version", help=fix)
        case tree.LaunchStatement(span=span):
            reader.problems.add(
                "TG157",
                "a launch stands inside a launch",
                span,
                "one launch inside another",
                help="write them one after the other",
            )
    return None


def read_array(reader: Reader, statement: tree.Array, axes: tuple[Axis, ...]) -> Array | None:
    """`local acc: f32[8, 8]`, `shared s: f32[32, 32] pad 1`; a workspace is kept for the program."""
    name, span, space, scope = statement.name, statement.span, SPACES[statement.space], reader.scope(axes)
    misplaced(statement, reader.depth + len(reader.listed), reader.problems)
    again = name in reader.declared
    if again:
        fix = (
            "declare it before the loop, which stands for its body once for each value"
            if reader.listed
            else f"take another name, such as {name}2"
        )
        first = Label(reader.declared[name], "the first: a name is one of the whole program")
        reader.problems.add("TG102", f"the {space.title} {name} is declared twice", span, "declared again", first, help=fix)
    if wider(len(statement.extents), span, reader.problems):
        return None
    dtype = scope.dtype(statement.dtype, span)
    extents = tuple(reader.extent(e, name, space.sized, axes) for e in statement.extents)
    layout = laid_out(statement, extents, reader.constants())
    if (not again and scope.hides(name, span, f"the {space.title}")) or dtype is None:
        return None
    reader.arrays[name] = Tensor(name, dtype, extents, space.name, span)
    reader.declared.setdefault(name, span)
    if space.owner == "grid":
        reader.workspaces.append(Array(name, dtype, tuple(map(natural, extents)), space, span=span))
        return None
    return Array(name, dtype, extents, space, layout, span)


def _loop(reader: Reader, statement: tree.For, axes: tuple[Axis, ...]) -> For | None:
    """`for k < K { … }`, also `in register` and `in vector`."""
    name, span = statement.name, statement.span
    assert statement.extent is not None
    reader.scope(axes).hides(name, span, "the loop")
    constant = statement.sort in ("register", "vector")
    axis = Axis(name, reader.extent(statement.extent, name, constant, axes), statement.sort, span)
    return For(axis, reader.inner(statement.body, (*axes, axis)), span)


def misplaced(statement: tree.Array, depth: int, problems: Problems) -> None:
    """Says where an array is declared that cannot be there. `depth` is 0 in a program, 1 in a launch, and more in its steps."""
    space, span = SPACES[statement.space], statement.span
    what = f"the {space.title} {statement.name} is declared"
    if depth > space.declared == 0:
        fix = "declare it at the top of the program, and write the launches after it: launch (…) { … }"
        problems.add("TG153", f"{what} in a launch", span, f"a {space.title} outlives its launch", help=fix)
    elif depth > space.declared:
        fix = "declare it before the loops and guards: its cells belong to the block for the whole launch"
        problems.add("TG153", f"{what} inside a step", span, "in a loop or a guard", help=fix)


def laid_out(statement: tree.Array, extents: Sequence[Term], scope: Scope) -> Layout:
    """The layout of an array, plain after a message. `scope` knows numbers and params."""
    place, problems = statement.place, scope.problems
    if statement.order:
        title, fix = "an array is declared with its axes in order", "declare the axes in the order that you want, and index it so"
        problems.add("TG158", title, statement.span, "an order of axes", help=fix)
    if place is None:
        return PLAIN
    if not SPACES[statement.space].laid_out:
        fix = "leave it out: a local is registers, a workspace is laid out as its extents say"
        problems.add("TG158", "only a shared array has a layout", place.span, f"{statement.name} is a {statement.space}", help=fix)
        return PLAIN
    numbers = tuple(index(e, scope) for e in place.args)
    if WRONG in numbers or any(e.dtype == UNKNOWN for e in extents):
        return PLAIN
    match place.kind, tuple(int(n.value) for n in numbers if isinstance(n, Const)):
        case "pad", (amount,):
            layout = Layout(pad=amount)
        case "swizzle", (bits, base, shift):
            layout = Layout(swizzle=(bits, base, shift))
        case _:
            fix = "write swizzle(bits, base, shift), such as swizzle(3, 3, 3)"
            problems.add("TG158", "a swizzle takes three numbers", place.span, f"{len(numbers)} given", help=fix)
            return PLAIN
    reason = fault(extents, layout)
    if reason:
        fix = "make the pad 0 or more" if place.kind == "pad" else "take at least 1 bit, and a shift of at least 1"
        title = f"this layout of {statement.name} is not one to one"
        problems.add("TG158", title, place.span, reason, Label(statement.span, f"{statement.name} is declared here"), help=fix)
        return PLAIN
    return layout
