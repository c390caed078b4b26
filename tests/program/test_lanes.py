"""A layout in vector registers is proved once, for as many lanes as any register has; of one that is wrong nothing is proved.

Comes in: a tile of products, and mistakes in it. Goes out: proofs, and the codes of what is open. The one idea: most mistakes are none for one width
of the two, and are found for the other.
"""

from __future__ import annotations

import pytest

from tests.program.library import shipped
from tinygpu.category.term import Axis, Const, Var, exchange
from tinygpu.program.lanes import LANES, instances, of_any_width
from tinygpu.program.step import Array, For, If
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.proof.kernel import Proof, prove
from tinygpu.record import replace
from tinygpu.schedule.cpu import on_cpu

BOTH = 2 * LANES  # the columns of a tile


@pytest.fixture(scope="module")
def tile():
    return next(on_cpu(shipped("matmul", "matmul_naive")))


def test_one_proof_is_of_every_width(tile):
    proof = prove(tile)
    assert isinstance(proof, Proof) and proof.program is tile
    assert of_any_width(tile).op.sizes == (*tile.op.sizes, LANES.name)
    several = instances(tile)
    assert len(several) == 2 and all(isinstance(prove(one), Proof) and of_any_width(one) is one for one in several)


def cells(extent):
    def each(step):
        return (
            (replace(step, extents=(step.extents[0], extent)),) if isinstance(step, Array) and step.name == "acc_cells" else (step,)
        )

    return each


def lanes(number):
    def each(step):
        return (
            (replace(step, axis=Axis("lane", Const(number), "vector")),)
            if isinstance(step, For) and step.axis.name == "lane"
            else (step,)
        )

    return each


def anywhere(step):
    """Every column of a tile is written, also one beyond the last."""
    return (replace(step, guard=Var("i_tile") * 252 + Var("i_in") < Var("M")),) if isinstance(step, If) else (step,)


def apart(step):
    """A tile begins where one of 16 lanes does."""
    return (map_terms(step, lambda t: exchange(t, {Var("j_tile") * BOTH: Var("j_tile") * 32})),)


MISTAKES = {  # a change of each step, the code of what is open, and how many lanes a register has where it is none
    "cells for one vector": (cells(LANES), "TG203", ()),
    "cells for 8 lanes": (cells(Const(16)), "TG203", (8,)),
    "cells for a size": (cells(Var("N")), "TG513", ()),
    "a loop over 16 lanes": (lanes(16), "TG203", (16,)),
    "a loop over 8 lanes": (lanes(8), "TG505", (8,)),
    "beyond the last column": (anywhere, "TG203", ()),
    "tiles apart": (apart, "TG201", (16,)),
}


@pytest.mark.parametrize(("change", "code", "none"), MISTAKES.values(), ids=MISTAKES)
def test_what_is_wrong_for_one_width_is_not_proved(tile, change, code, none):
    wrong = replace(tile, launches=tuple(replace(launch, body=map_steps(launch.body, change)) for launch in tile.launches))
    found = prove(wrong)
    assert not isinstance(found, Proof) and code in {one.claim.code for one in found}
    right = [width for width, one in zip((16, 8), instances(wrong), strict=True) if isinstance(prove(one), Proof)]
    assert tuple(right) == none
