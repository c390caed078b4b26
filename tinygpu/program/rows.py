"""Instructions that move rows of shared memory into fragments: which one brings an operand in.

    f[i, k] = s[i, k], rows of 16 bytes     serves a: f16[16, 16], whose lanes have the same elements of it

Comes in: an operand, how many of its tiles lie side by side, and which of its indices is the first one in memory. Goes out: the instruction that moves
most at once, if there is one. The one idea: equality of digits, by form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from math import prod

from tinygpu.category.term import Read, Var
from tinygpu.model.collective import Instruction, Operand
from tinygpu.model.instruction import library, shipped
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
