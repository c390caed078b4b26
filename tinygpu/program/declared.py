"""Declarations of arrays: how each is written, and how it is read.

    shared s: f32[32, 32] pad 1     fragment acc: f32[32, 32] of mma_m16n8k16.c     workspace part: f32[g]

Comes in: an array, or the tree of a declaration and the reader that has come to it. Goes out: the other, or None after a message. The one idea: reading and
writing stand side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinygpu.category.bounds import natural
from tinygpu.category.layout import PLAIN, Layout, fault
from tinygpu.category.term import Axis, Const, Term
from tinygpu.model.bulk import wider
from tinygpu.model.op import Tensor
from tinygpu.model.problems import UNKNOWN, WRONG, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.program.expression import constant, expression
from tinygpu.program.space import FRAGMENT, RING, SHARED, SPACES, TENSORS
from tinygpu.program.step import Array
from tinygpu.program.tensor_memory import declared_there
from tinygpu.syntax import tree

if TYPE_CHECKING:
    from tinygpu.program.read import Reader


def to_array(declared: Array) -> tree.Array | tree.Fragment | tree.Ring:
    """`local v: f32[8]`, `shared s: f32[32, 32] pad 1`, `workspace part: f32[g]`.

    >>> from tinygpu.program.space import SHARED
    >>> to_array(Array("s", "f32", (Const(32), Const(32)), SHARED, Layout(pad=1))).place
    Place(kind='pad', args=(Number(text='1'),), panels=None)
    """
    if held := declared.held:
        own = tuple(map(constant, held.extents))
        return tree.Fragment(declared.name, declared.dtype, own, held.instruction, held.operand.name)
    extents = tuple(map(expression, declared.extents))
    if declared.space == RING:
        return tree.Ring(declared.name, extents[1])
    place = placed(declared.layout) if declared.space.laid_out else None
    return tree.Array(declared.space.name, declared.name, declared.dtype, extents, (), place)


def placed(layout: Layout) -> tree.Place | None:
    """A layout as it is written. Raises ValueError for one with a pad and a swizzle, which no text has."""
    match layout:
        case Layout(pad, None, 0):
            return None if layout == PLAIN else tree.Place("pad", (constant(pad),))
        case Layout(0, swizzle, panels) if swizzle is not None:
            return tree.Place("swizzle", tuple(map(constant, swizzle)), constant(panels) if panels else None)
    raise ValueError("a layout has a pad or a swizzle, not both")


def read_array(reader: Reader, statement: tree.Array, axes: tuple[Axis, ...]) -> Array | None:
    """`local acc: f32[8, 8]`, `shared s: f32[32, 32] pad 1`; a workspace is kept for the program."""
    name, span, space, scope = statement.name, statement.span, SPACES[statement.space], reader.scope(axes)
    misplaced(statement, reader.depth + len(reader.listed) - reader.around, reader.problems)
    again = name in reader.declared and name not in reader.earlier
    if again:
        message = "TG102.unrolled" if reader.listed else "TG102.array"
        reader.problems.say(message, span, reader.declared[name], title=space.title, name=name)
    if wider(len(statement.extents), span, reader.problems):
        return None
    dtype = scope.dtype(statement.dtype, span)
    extents = tuple(reader.extent(e, name, space.sized, axes) for e in statement.extents)
    layout = laid_out(statement, extents, reader.constants())
    if not again:
        scope.hides(name, span, f"the {space.title}")  # and what is said of it from here on is said of this one
    if dtype is None:
        return None
    if space == TENSORS:
        declared_there(reader, statement, dtype, extents)
    own = name if again else reader.named(name)
    reader.arrays[name] = Tensor(own, dtype, extents, space.name, span)
    reader.declared[name] = reader.declared[name] if again else span
    if space.owner == "grid":
        reader.workspaces.append(Array(own, dtype, tuple(map(natural, extents)), space, span=span))
        return None
    if space == SHARED:
        reader.written.layouts[own] = extents, layout
    held = reader.written.held.get(name) if statement.space == FRAGMENT.name else None  # another launch may have one of this name
    return Array(own, dtype, extents, space, layout, span, held=held)


def misplaced(statement: tree.Array, depth: int, problems: Problems) -> None:
    """Says where an array is declared that cannot be there. `depth` is 0 in a program, 1 in a launch, and more in its steps."""
    space = SPACES[statement.space]
    if depth > space.declared:
        message = "TG153.step" if space.declared else "TG153.launch"
        problems.say(message, statement.span, title=space.title, name=statement.name)


def laid_out(statement: tree.Array, extents: Sequence[Term], scope: Scope) -> Layout:
    """The layout of an array, plain after a message. `scope` knows numbers and params."""
    place, problems = statement.place, scope.problems
    if statement.order:
        problems.say("TG158.order", statement.span)
    if place is None:
        return PLAIN
    if not SPACES[statement.space].laid_out:
        problems.say("TG158.space", place.span, name=statement.name, space=statement.space)
        return PLAIN
    numbers = tuple(index(e, scope) for e in (*place.args, *((place.panels,) if place.panels else ())))
    if WRONG in numbers or any(e.dtype == UNKNOWN for e in extents):
        return PLAIN
    match place.kind, tuple(int(n.value) for n in numbers if isinstance(n, Const)):
        case "pad", (amount,):
            layout = Layout(pad=amount)
        case "swizzle", (bits, base, shift):
            layout = Layout(swizzle=(bits, base, shift))
        case "swizzle", (bits, base, shift, piece) if place.panels:
            layout = Layout(swizzle=(bits, base, shift), panels=piece)
        case _:
            problems.say("TG158.swizzle", place.span, given=len(numbers))
            return PLAIN
    reason = fault(extents, layout)
    if reason:
        fix = "make the pad 0 or more" if place.kind == "pad" else "take at least 1 bit, and a shift of at least 1"
        problems.say("TG158.array", place.span, statement.span, name=statement.name, reason=reason, fix=fix)
        return PLAIN
    return layout
