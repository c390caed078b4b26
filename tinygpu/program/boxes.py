"""Boxes: copies of a part of a tensor at once, by a unit of its own, which asks where a box begins and no thread where an element lies.

    s[k, i, j] = A[o + i, p + j] if o + i < M and p + j < N else 0        s[k, …] is as large as the box, and lies as the unit leaves it

Comes in: a copy, and the arrays that it is between. Goes out: whether it is one of a box, and the box. The one idea: beyond the ends of a tensor the unit
writes 0, and so does the copy; what is inside of it is proved of the copy, as of any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import Layout
from tinygpu.category.linear import polynomial
from tinygpu.category.term import App, Const, Read, Term, Var, conjuncts, substitute, variables
from tinygpu.program.call import Boxed, Sent
from tinygpu.program.descriptor import PIECE, pattern

FIRST: Term = Const(0)
LARGEST = 256  # of a box, along an axis
MOST_AXES = 5
START = 128  # bytes, at multiples of which a box without a pattern begins


def element(one: Boxed) -> Read:
    """What is copied."""
    value = one.value.args[1] if isinstance(one.value, App) else one.value
    assert isinstance(value, Read), "a copy of a box is of an element"
    return value


def sent(one: Boxed, layout: Layout, told: tuple[str, Term], parts: int = 1, part: Term = FIRST) -> Iterator[Sent]:
    """The calls of the unit: rows that are cut into panels are so many boxes. Of each only a part is sent, where a box has so many that begin
    where a pattern does."""
    read, size, names = element(one), BYTES[element(one).dtype], {a.name: a for a in one.box}
    along = [next((v for v in sorted(variables(i)) if v in names), "") for i in read.index]
    *outer, row = [length_of(names[v].extent) if v else 1 for v in along]
    piece, begin = layout.panels or row, dict.fromkeys(names, FIRST)
    exchanged = piece * size if layout.swizzle else 0
    at = next((n for n, extent in enumerate(outer) if extent > 1), -1)
    if at < 0 or outer[at] % parts or prod(outer) // parts * piece * size % (8 * exchanged or START):
        parts = 1
    if parts > 1:
        outer[at] //= parts
        begin[along[at]] = part * outer[at]
    for ahead in range(0, row, piece):
        begin[one.box[-1].name] = Const(ahead)
        near = one.target, tuple(substitute(i, begin) for i in one.index)
        origin = tuple(substitute(i, begin) for i in read.index)
        yield Sent(near, read.tensor, origin, (*outer, piece), exchanged, size, told, parts)


def length_of(extent: Term) -> int:
    """Of a box, or of an array of the block."""
    assert isinstance(extent, Const), "such extents are numbers"
    return int(extent.value)


def unboxed(one: Boxed, near: tuple[tuple[Term, ...], Layout], shape: tuple[Term, ...]) -> str:
    """Why a copy to an array of these extents and layout, from a tensor of that shape, is none of a box; empty where it is."""
    match one.value:
        case Read() as read:
            inside: Term | None = None
        case App("select", (inside, Read() as read, Const(number))) if number == 0:
            pass
        case _:
            return "it is no element of a tensor, or else 0"
    names, (extents, layout) = [a.name for a in one.box], near
    if len(read.index) > MOST_AXES or any(isinstance(a.extent, Const) and a.extent.value > LARGEST for a in one.box):
        return f"a box has at most {MOST_AXES} axes, and {LARGEST} elements along each"
    ahead = len(one.index) - len(names)
    if [*one.index[ahead:]] != [*map(Var, names)] or [a.extent for a in one.box] != [*extents[ahead:]]:
        return f"{one.target}[…] does not end in the indices of the box, each through its axis"
    if any(variables(i) & {*names} for i in one.index[:ahead]):
        return "which slot it is depends on the indices of the box"
    along = [[n for n in names if n in variables(i)] for i in read.index]
    if [n for some in along for n in some] != names or any(
        len(some) > 1 or not steps_by_one(i, some) for i, some in zip(read.index, along, strict=True)
    ):
        return f"{read.tensor} is not read at a place and the indices of the box, in their order"
    for said in conjuncts(inside) if inside is not None else ():
        if not any(said in (i < e, i >= 0) for i, e in zip(read.index, shape, strict=True)):
            return "it is 0 elsewhere than beyond the ends of the tensor"
    size, rows = BYTES[read.dtype], prod(int(e.value) for e in extents[ahead:-1] if isinstance(e, Const))
    last = extents[-1]
    row = (layout.panels or int(last.value) if isinstance(last, Const) else 1) * size
    if layout.pad or (layout.swizzle and layout.swizzle != pattern(row, size)):
        return "its rows are exchanged, or padded, otherwise than the unit leaves them"
    if not along[-1] or row % PIECE or rows * row % (START if not layout.swizzle else 8 * row):
        return f"its rows are {row} bytes, {rows} of them: a row is a multiple of {PIECE}, and all are one of {START}, of 8 rows where they are exchanged"
    return ""


def steps_by_one(index: Term, along: list[str]) -> bool:
    """Whether an index goes along one of the box step by step."""
    return not along or (
        polynomial(index).get((Var(along[0]),)) == 1 and not variables(substitute(index, {along[0]: Const(0)})) & {*along}
    )
