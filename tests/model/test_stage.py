"""Stages as the model has them: extents and origins of tiles, who copies what, layouts.

Comes in: machines as text. Goes out: their stages, compared by enumeration. The one idea: a copy is right if its threads hit each
cell of the tile once, and a tile is right if it holds every element that the block reads.
"""

from __future__ import annotations

from itertools import product

import pytest

from tests.program.library import machines
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Const, Var, text
from tinygpu.model.stage_copy import default_copy
from tinygpu.model.tile import Side, Stage

MATMUL = """
op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {{
  C[i, j] = sum[k] A[i, k] * B[k, j]
}}

machine m : matmul {{
  work     grid = (by, bx), block = (ty: 4, tx: 8)
  compute  i = {i}, j = (bx, tx), k = (ko, ki: 8)
  time     ko, ki
  register ri
  stage {stage}
}}
"""
STENCIL = """
op stencil(x: f32[M, N]) -> (y: f32[M, N]) {{
  y[i, j] = {value}
}}

machine m : stencil {{
  work    grid = (bi, bj), block = (ti: 4, tj: 8)
  compute i = (bi, ti), j = (bj, tj)
  stage x[p, q] at block in shared
}}
"""


def stages(source: str) -> tuple[Stage, ...]:
    return machines(source)["m"].launches[0].stages


def cells(stage: Stage) -> list[tuple[int, ...]]:
    """The cells that a copy writes, in the order of its threads and turns."""
    axes = stage.owner.domain.axes
    written = []
    for point in product(*(range(a.extent.value) for a in axes)):
        env = dict(zip((a.name for a in axes), point, strict=True))
        if all(evaluate(guard, env) for guard in stage.owner.domain.guard):
            written.append(tuple(evaluate(t, env) for t in stage.owner.terms))
    return written


def stencil(value: str) -> str:
    """A machine that stages `x` for a value, with its folds in registers."""
    folds = ", ".join(f for f in ("r", "s") if f"{f} <" in value)
    return STENCIL.format(value=value).replace("  stage", f"  register {folds}\n  stage" if folds else "  stage")


TILES = {  # where each side of the tile begins, and how far it goes
    MATMUL.format(i="(by, ty, ri: 2)", stage="A[i, k] at ki in shared"): [("i", 8, "by*8"), ("k", 1, "ko*8 + ki")],
    MATMUL.format(i="(by, ri: 2, ty)", stage="A[a, b] at ko in shared"): [("a", 8, "by*8"), ("b", 8, "ko*8")],
    stencil("x[i - 1, j | 0] + x[i + 1, j | 0]"): [("p", 6, "bi*4 - 1"), ("q", 8, "bj*8")],
    stencil("x[i, j + 3 | 0]"): [("p", 4, "bi*4"), ("q", 8, "bj*8 + 3")],
    stencil("sum[r < 3, s < 5] x[i + r - 1, j + s - 2 | 0]"): [("p", 6, "bi*4 - 1"), ("q", 12, "bj*8 - 2")],
    stencil("sum[r < 3] x[2*i + r, j - r | 0]"): [("p", 9, "bi*8"), ("q", 10, "bj*8 - 2")],
    stencil("x[4*i, j | 0]"): [("p", 4, "bi*16"), ("q", 8, "bj*8")],
}


@pytest.mark.parametrize(("source", "sides"), TILES.items(), ids=range(len(TILES)))
def test_what_a_tile_holds(source: str, sides: list[tuple[str, int, str]]) -> None:
    (one,) = stages(source)
    assert [(side.name, side.extent, text(side.origin)) for side in one.sides] == sides


def test_a_factor_of_the_grid_between_those_of_the_tile() -> None:
    source = """
      op copy(x: f32[256]) -> (y: f32[256]) {
        y[i] = x[i]
      }

      machine m : copy {
        work     grid = (g: 4), block = (t: 8)
        compute  i = (r: 8, g, t)
        register r
        stage x[i] at block in shared
      }
    """
    (one,) = stages(source)
    (side,) = one.sides
    assert side.extent == 64
    held = [[evaluate(side.outside(Const(local)), {"g": g}) for local in range(64)] for g in range(4)]
    assert held == [[r * 32 + g * 8 + t for r in range(8) for t in range(8)] for g in range(4)]
    for r, t in product(range(8), range(8)):
        assert evaluate(side.inside(Var("r") * 32 + Var("g") * 8 + Var("t")), {"r": r, "t": t, "g": 3}) == r * 8 + t


@pytest.mark.parametrize("threads", [1, 3, 256])
@pytest.mark.parametrize("extents", [(16, 8), (3, 5), (6, 6, 8), (7,)])
def test_the_default_copy_hits_each_cell_once(extents: tuple[int, ...], threads: int) -> None:
    sides = tuple(Side(f"a{n}", extent, Const(0)) for n, extent in enumerate(extents))
    block, owner = default_copy(sides, threads)
    one = Stage("x", ("",) * len(sides), "block", "stage 0", sides, tuple(range(len(sides))), block, owner)
    assert sorted(cells(one)) == list(product(*map(range, extents)))


def test_a_stage_at_a_loop_of_one_turn_stands_at_the_next_loop() -> None:
    source = MATMUL.format(i="(by, ty, ri: 2)", stage="A[i, k] at ki in shared").replace("ki: 8", "ki: 1")
    assert [one.at for one in stages(source)] == ["ko"]
