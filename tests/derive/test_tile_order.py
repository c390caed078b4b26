"""The order in which blocks come to tiles is a split of the grid: row by row, in groups of rows, in Morton's order, or in walks.

Comes in: machines that differ in the factors of their grid alone. Goes out: the tiles in the order of the blocks' numbers. The one idea: a block's
number is its digits, so another order of the digits is another order of the tiles, and cover and once stay as they are.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

from tests.program.library import shipped
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.derive.derive import derive
from tinygpu.program.step import Assign, For, Program, steps
from tinygpu.proof.kernel import Proof

SIZES = {"M": 1500, "N": 700, "K": 20}


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
    order = tiles(shipped("matmul_shared", "matmul_grouped"), 128, 128)
    across = -(-SIZES["N"] // 128)
    assert order[: 8 * across] == [(row, column) for column in range(across) for row in range(8)]
    inside = {(row, column) for row, column in order if row * 128 < SIZES["M"]}
    assert len(order) == len(set(order)) and inside == set(product(range(-(-SIZES["M"] // 128)), range(across)))


def test_morton_is_interleaved_digits() -> None:
    (machine,) = pipeline.load(Path(__file__).parent / "morton.tgpu").machines
    assert isinstance(pipeline.check(machine), Proof)
    assert tiles(derive(machine), 64, 64)[:8] == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
