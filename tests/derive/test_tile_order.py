"""The order in which blocks come to tiles is a split of the grid: row by row, in groups of rows, in Morton's order, or in walks.

Comes in: machines that differ in the factors of their grid alone. Goes out: proofs, and the tiles in the order of the blocks' numbers.
The one idea: a block's number is its digits, so another order of the digits is another order of the tiles, and cover and once stay as they
are; where the split covers more than there is, a block without a tile does nothing, all of its threads together.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.program.library import machines
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import text
from tinygpu.derive.derive import derive
from tinygpu.program.render import render
from tinygpu.program.step import Assign, For, If, Program, Step, steps
from tinygpu.proof.kernel import Proof

SPECS = Path(__file__).parents[2] / "specs"
SIZES = {"M": 1500, "N": 700, "K": 20}
OP = """
op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {
  C[i, j] = sum[k] A[i, k] * B[k, j]
}

"""
MORTON = (
    OP
    + """machine matmul_morton : matmul {
  work     grid = (gy, gx, y1: 2, x1: 2, y0: 2, x0: 2), block = (ty: 16, tx: 16)
  compute  i = (gy, y1, y0, ty, ri: 4)
           j = (gx, x1, x0, tx, rj: 4)
           k = (ko, ki: 16)
  time     ko, ki
  register ri
  vector   rj
  stage A[i, k] at ko in shared { layout (k, i) pad 4 }
  stage B[k, j] at ko in shared
}
"""
)


def from_spec(name: str, title: str) -> Program:
    return derive(machines((SPECS / f"{name}.tgpu").read_text(encoding="utf-8"))[title])


def tiles(program: Program, rows: int, columns: int) -> list[tuple[int, int]]:
    """The tile of each block, in the order of the blocks' numbers: row and column of the first element that its first thread stores."""
    launch = program.launches[0]
    store = next(s for s in steps(launch.body) if isinstance(s, Assign) and s.target == "C")
    inside = {a.name: 0 for a in launch.block} | {s.axis.name: 0 for s in steps(launch.body) if isinstance(s, For)}
    found = []
    for digits in product(*(range(int(evaluate(a.extent, SIZES))) for a in launch.grid)):
        point = SIZES | inside | dict(zip((a.name for a in launch.grid), digits, strict=True))
        row, column = (int(evaluate(t, point)) for t in store.index)
        found.append((row // rows, column // columns))
    return found


def test_rows_of_tiles_go_along_in_groups() -> None:
    order = tiles(from_spec("matmul_shared", "matmul_grouped"), 128, 128)
    across = -(-SIZES["N"] // 128)
    assert order[: 8 * across] == [(row, column) for column in range(across) for row in range(8)]
    inside = {(row, column) for row, column in order if row * 128 < SIZES["M"]}
    assert len(order) == len(set(order)) and inside == set(product(range(-(-SIZES["M"] // 128)), range(across)))


def test_morton_is_interleaved_digits() -> None:
    (machine,) = pipeline.load_text(MORTON).machines
    assert isinstance(pipeline.check(machine), Proof)
    assert tiles(derive(machine), 64, 64)[:8] == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]


@pytest.mark.parametrize(("spec", "name"), [("matmul_shared", "matmul_128x128"), ("matmul_shared", "batched_64x64")])
def test_a_block_that_has_always_something_to_do_asks_nothing(spec: str, name: str) -> None:
    assert not [s for s in from_spec(spec, name).launches[0].body if isinstance(s, If)]


def conditions(body: tuple[Step, ...]) -> list[str]:
    """The conditions around a loop over k, from the outermost."""
    for step in body:
        if isinstance(step, If | For) and any(isinstance(s, For) and s.axis.name == "ko" for s in steps((step,))):
            own = [text(step.guard)] if isinstance(step, If) else []
            return own + conditions(step.body)
    return []


@pytest.mark.parametrize(("name", "asked"), [("matmul_grouped", ["gy*1024 + by*128 < M"]),
                                             ("matmul_persistent", ["cy*768 + gy*64 < M", "cx*704 + gx*64 < N"])])  # fmt: skip
def test_a_block_without_a_tile_does_nothing(name: str, asked: list[str]) -> None:
    assert conditions(from_spec("matmul_shared", name).launches[0].body) == asked


def test_a_walk_is_a_loop_of_each_block() -> None:
    program = from_spec("matmul_shared", "matmul_persistent")
    assert evaluate(program.launches[0].blocks, {}) == 132
    assert [s.axis.name for s in steps(program.launches[0].body) if isinstance(s, For)][:2] == ["cy", "cx"]
    assert "for cx < ceil(N / 704)" in render(program)


@pytest.mark.parametrize(("condition", "instead"), [("gy*1024 + by*128 < M", "gy*1024 + by*128 + 128 < M"), ("by: 8", "by: 4")])
def test_a_block_that_leaves_out_a_tile_is_not_proved(condition: str, instead: str) -> None:
    (machine,) = (m for m in pipeline.load(SPECS / "matmul_shared.tgpu").machines if m.name == "matmul_grouped")
    source = (
        f"{OP}machine wrong : matmul {{\n  work grid = (gy: ceil(M / 1024), bx: ceil(N / 128), by: 8), block = (ty: 16, tx: 16)\n"
    )
    source += "  program {" + render(pipeline.program(machine)).partition("program {")[2] + "\n}\n"
    (same,), (wrong,) = (pipeline.load_text(text).machines for text in (source, source.replace(condition, instead, 1)))
    assert isinstance(pipeline.check(same), Proof)
    assert not isinstance(pipeline.check(wrong), Proof)
