"""Instructions that move rows of shared memory: which one brings an operand in, and which rows a lane names.

    f[i, k] = s[i, k], rows of 16 bytes     serves a: f16[16, 16], whose lanes have the same elements of it

Comes in: an operand, how many of its tiles lie side by side, and which of its indices is the first one in memory. Goes out: the instruction that moves
most at once, if there is one. The one idea: equality of digits, by form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import prod

from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Const, Read, Term, Var
from tinygpu.model.collective import Instruction, Operand
from tinygpu.model.instruction import library, shipped
from tinygpu.program.call import Call, Sync
from tinygpu.program.tiles import form, has
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes


def moved_by(
    operand: Operand, extents: Sequence[int], first: int, arch: str, own: Iterable[Instruction] = ()
) -> Instruction | None:
    """The instruction that fills most of a fragment at once, from an array whose first axis is that index of the operand, and the second the other.

    >>> (mma,) = [one for one in shipped("mma_m16n8k16") if one.operand("a").dtype == "f16" and one.operand("c").dtype == "f32"]
    >>> a, b = mma.operand("a"), mma.operand("b")
    >>> [(found := moved_by(*one, "sm_80")) and found.name for one in ((a, (32, 16), 0), (b, (16, 64), 0), (b, (16, 8), 1), (b, (16, 12), 0))]
    ['ldmatrix_x4', 'ldmatrix_x4_trans', 'ldmatrix_x2', None]
    """
    found = [one for one in (*own, *movers()) if serves(one, operand, extents, first) and any(has(arch, a) for a in one.archs)]
    return max(found, key=lambda one: prod(one.operand("f").shape), default=None)


def touched(step: Call, point: Region) -> Iterator[tuple[str, tuple[Term, ...], Region, bool]]:
    """The rows that a lane names at a point, whoever has their elements: of each the array, an element, its region, whose last axis goes along the row
    and whose last guard says which lanes name one, and whether it is stored. The hardware reads and stores them for that lane."""
    one = step.applied if isinstance(step, Sync) else None
    for operand, (name, place) in zip(one.instruction.operands, one.operands, strict=True) if one else ():
        if one and operand.kind == "rows":
            (axis, digit), *_ = [(n, d) for n, digits in enumerate(operand.places) for d in digits if d not in operand.cells]
            along, row = Axis(f"{digit.name} of a row", Const(digit.extent), "register"), operand.row(one.lane)
            inside = tuple(i + Var(along.name) if n == axis else i for n, i in enumerate(row))
            ahead = len(place) - len(row)
            element = (*place[:ahead], *(start + i for start, i in zip(place[ahead:], inside, strict=True)))
            lanes = one.lane < prod(d.extent for d in operand.cells)
            yield name, element, point.inside(along).under(lanes), operand.name == one.instruction.op.equations[0].target


def serves(one: Instruction, operand: Operand, extents: Sequence[int], first: int) -> bool:
    """Whether an instruction fills whole tiles of a fragment, as its lanes have them."""
    (equation,) = one.op.equations
    target, value = one.operand(equation.target), equation.value
    if (
        target.kind != "fragment"
        or not isinstance(value, Read)
        or target.dtype != operand.dtype
        or one.update
        or len(target.shape) != 2
    ):
        return False
    order = [i.name for i in value.index if isinstance(i, Var)]
    whole = all(e % t == 0 == t % b for e, t, b in zip(extents, target.shape, operand.shape, strict=True))
    return whole and order[:1] == [equation.axes[first].name] and form(target) == form(operand, target.shape)


@cache
def movers() -> tuple[Instruction, ...]:
    """The shipped instructions of which an operand is rows of memory."""
    every = library().items()
    names = [n for n, declared in every if any(isinstance(p, tree.Placed) and p.kind == "rows" for p in nodes(declared[0][0]))]
    return tuple(one for name in names for one in shipped(name) if not one.unit)
