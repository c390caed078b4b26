"""Tensor memory of a block, 128 lanes of 512 columns: what an instruction says of an operand that lies there, and of its product.

    tensor c i = (w: 4, l: 32), j = (n: 256) in (w, l), (n)     row i in lane i, column j in column j
    i = (w: 2, v, r: 16), of 64 rows, in (w, v, h: 2, r)        16 rows in each 32 lanes: h is no index's, and 0

Comes in: operands as their lines place them. Goes out: what is wrong with them; and the instruction descriptor, the 32 bits that tell the unit what to multiply. The one
idea: both are read off the declaration, nothing is typed by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tinygpu.category.dtype import DTYPE
from tinygpu.category.term import Fold, Var, reads
from tinygpu.model.collective import ACROSS, ALONG, WORD, Operand
from tinygpu.model.op import Op

SUMS = {"f16": 0, "f32": 1, "i32": 2}
FACTORS = {"f16": 0, "bf16": 1, "tf32": 2, "e4m3": 0, "e5m2": 1, "u8": 0, "i8": 1}  # told apart by the kind of the instruction
Said = tuple[str, dict[str, object]]


def misfits(operand: Operand) -> Iterator[Said]:
    """What is wrong with where an operand lies in tensor memory."""
    if (count := prod(d.extent for d in operand.across)) != ACROSS:
        yield "TG181.across", {"name": operand.name, "count": count, "wanted": ACROSS}
    if (bits := DTYPE[operand.dtype].bits) != WORD or prod(d.extent for d in operand.cells) > ALONG:
        yield "TG181.columns", {"name": operand.name, "bits": bits, "most": ALONG}


def unshared(op: Op, level: str, operands: Sequence[Operand]) -> Iterator[Said]:
    """What is wrong with who does what: a lane's own elements are those of a fragment, or else of the target in tensor memory; and a warp reaches the
    quarter of tensor memory that has its number in the warpgroup."""
    there, held = [o for o in operands if o.kind == "tensor"], any(o.kind == "fragment" for o in operands)
    for operand in there:
        inside = {d for place in operand.places for d in place}
        if held and (level != "warpgroup" or operand.across[:1] != operand.lanes[:1] or operand.lanes[0].extent != ACROSS // 32):
            yield "TG181.reach", {"name": operand.name}
        elif not held and (operand.name != op.equations[0].target or (len(there) > 1) or not {*operand.lanes} <= inside):
            yield "TG181.spread", {"name": operand.name}


def instruction_descriptor(op: Op, operands: Sequence[Operand]) -> int | None:
    """The 32 bits of a product: dtypes of the sum and of both factors, whether each lies along its own index rather than the one that is folded, and the numbers of columns and of rows.
    None where it is no such product.

    >>> from tinygpu.model.instruction import shipped
    >>> [hex(instruction_descriptor(one.op, one.operands)) for one in shipped("tcgen05_m128n256k16")]
    ['0x8400010', '0x8400490']
    """
    (equation,) = op.equations
    both = [o for o in operands if o.kind == "descriptor" and o.dtype in FACTORS]
    target = next((o for o in operands if o.name == equation.target), None)
    if (
        not isinstance(equation.value, Fold)
        or len(both) != 2
        or target is None
        or target.dtype not in SUMS
        or len(target.shape) != 2
    ):
        return None
    folded = {axis.name for axis in equation.value.axes}
    index = {r.tensor: r.index for r in reads(equation.value)}
    turned = [not (isinstance(i := index[o.name][o.beside], Var) and i.name in folded) for o in both]
    rows, columns = target.shape
    a, b = both
    return (
        SUMS[target.dtype] << 4
        | FACTORS[a.dtype] << 7
        | FACTORS[b.dtype] << 10
        | turned[0] << 15
        | turned[1] << 16
        | columns >> 3 << 17
        | rows >> 4 << 24
    )
