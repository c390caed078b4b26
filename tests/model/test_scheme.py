"""Bilinear schemes: tables of whole numbers become an op and a theorem.

Comes in: tables. Goes out: theorems that are proved, or messages. The one idea: a table is right for numbers and for blocks alike, or it is none.
"""

from __future__ import annotations

import random
from itertools import product

import pytest

from tinygpu.algebra.theorem import Proved
from tinygpu.algebra.verdict import judged
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.scheme import _wrong
from tinygpu.pipeline import load_text
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse

Row = tuple[list[int], list[int], list[int]]
STRASSEN: list[Row] = [
    ([1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1]),
    ([0, 0, 1, 1], [1, 0, 0, 0], [0, 0, 1, -1]),
    ([1, 0, 0, 0], [0, 1, 0, -1], [0, 1, 0, 1]),
    ([0, 0, 0, 1], [-1, 0, 1, 0], [1, 0, 1, 0]),
    ([1, 1, 0, 0], [0, 0, 0, 1], [-1, 1, 0, 0]),
    ([-1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]),
    ([0, 1, 0, -1], [0, 0, 1, 1], [1, 0, 0, 0]),
]


def classical(m: int, p: int, n: int) -> list[Row]:
    """A product for each pair of blocks."""

    def one(place: int, size: int) -> list[int]:
        return [int(place == at) for at in range(size)]

    return [
        (one(i * p + k, m * p), one(k * n + j, p * n), one(i * n + j, m * n)) for i, k, j in product(range(m), range(p), range(n))
    ]


def spec(rows: list[Row], m: int, p: int, n: int) -> str:
    extent = {1: ""} | {by: f"{by}*" for by in (2, 3)}
    lines = "\n".join("  " + " | ".join(", ".join(map(str, part)) for part in row) for row in rows)
    return f"""op full(A: f32[{extent[m]}M, {extent[p]}K], B: f32[{extent[p]}K, {extent[n]}N]) -> (C: f32[{extent[m]}M, {extent[n]}N]) {{
  C[i, j] = sum[p] A[i, p] * B[p, j]
}}

scheme fast : full by {m}, {p}, {n} {{
{lines}
}}
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("rows", "cuts"),
    [
        (STRASSEN, (2, 2, 2)),
        (classical(2, 2, 2), (2, 2, 2)),
        (classical(1, 2, 3), (1, 2, 3)),
        (classical(1, 1, 1), (1, 1, 1)),
        (classical(3, 1, 2), (3, 1, 2)),
    ],
)
def test_a_scheme_is_a_theorem_of_blocks_of_any_size(rows: list[Row], cuts: tuple[int, int, int]) -> None:
    (theorem,) = load_text(spec(rows, *cuts)).spec.theorems
    assert theorem.said == "full == fast" and isinstance(judged(theorem), Proved)
    assert [e.target for e in theorem.right.equations][-1] == "C" and len(theorem.right.equations) == 3 * len(rows) + 1


def test_another_basis_of_a_scheme_is_a_scheme() -> None:
    """Rows and columns exchanged alike on both sides: A·P, P⁻¹·B."""
    turned = [([a[1], a[0], a[3], a[2]], [b[2], b[3], b[0], b[1]], c) for a, b, c in STRASSEN]
    (theorem,) = load_text(spec(turned, 2, 2, 2)).spec.theorems
    assert isinstance(judged(theorem), Proved)


@pytest.mark.parametrize("seed", range(30))
def test_a_table_that_is_changed_is_none(seed: int) -> None:
    chance = random.Random(seed)
    rows = [tuple(list(part) for part in row) for row in STRASSEN]
    part = chance.choice(chance.choice(rows))
    at = chance.randrange(4)
    part[at] += chance.choice((-1, 1))
    with pytest.raises(TinygpuError) as error:
        load_text(spec(rows, 2, 2, 2))  # type: ignore[arg-type]
    assert {d.code for d in error.value.diagnostics} == {"TG564"}


def test_what_is_told_is_the_first_pair_of_blocks() -> None:
    assert _wrong([tuple(map(tuple, t)) for t in zip(*STRASSEN[:-1], strict=True)], 2, 2, 2)["pair"] == "A[0, 1]·B[1, 0]"


def test_a_scheme_is_written_in_the_style() -> None:
    text = spec(STRASSEN, 2, 2, 2)
    assert format_file(parse(text)) == text and parse(format_file(parse(text))) == parse(text)
