"""Bank conflicts of shared accesses, counted.

Comes in: transpositions in three layouts, the tiles of a matrix product. Goes out: turns of the worst warp.
The one idea: a layout changes these numbers and nothing else.
"""

from __future__ import annotations

import pytest

from tests.emit.together_programs import PROGRAMS, transpose
from tests.program.cooperation_texts import TEXTS
from tinygpu.pipeline import load_text, program
from tinygpu.program.banks import conflicts, turns
from tinygpu.program.layout import Layout

SIZES = {"M": 64, "N": 64}


def ways(made: object, sizes: dict[str, int]) -> list[tuple[str, bool, int, int]]:
    return [(c.array, c.stores, c.bytes, c.ways) for c in conflicts(made, sizes)]  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "read"), [("transpose_plain", 32), ("transpose_padded", 1), ("transpose_swizzled", 1)])
def test_a_transposition_reads_columns(name: str, read: int) -> None:
    assert ways(PROGRAMS[name], SIZES) == [("s", True, 4, 1), ("s", False, 4, read)]


def test_half_a_swizzle_leaves_half_the_conflict() -> None:
    made = transpose(Layout(swizzle=(3, 0, 5)), "transpose_half")
    assert ways(made, SIZES) == [("s", True, 4, 1), ("s", False, 4, 4)]
    assert ways(transpose(Layout(pad=2), "transpose_two"), SIZES)[1][3] == 2


def test_the_tiles_of_a_matrix_product() -> None:
    """A's tile is stored down its columns, two elements of k and 16 rows at once: the pad puts them 16 banks apart. Wide accesses are
    served by quarters of a warp."""
    found = {(c.array, c.stores): (c.bytes, c.ways) for c in conflicts(PROGRAMS["matmul_whole"], {"M": 128, "K": 8, "N": 128})}
    assert found["sB", True] == (16, 1) and found["sA", False] == (16, 1) and found["sB", False] == (16, 1)
    assert found["sA", True] == (4, 1)


def test_programs_as_text() -> None:
    made = {name: program(load_text(text, name).machines[0]) for name, text in TEXTS.items()}
    assert [c.ways for c in conflicts(made["transpose_padded"], SIZES)] == [1, 1]
    assert {c.ways for c in conflicts(made["ring_difference"], {"n": 256})} == {1}
    assert all(c.ways == 1 for c in conflicts(made["total_block"], {"n": 1000}))


def test_words_are_given_once() -> None:
    """Lanes that want one word are served together; bytes of one word are one word; 8 bytes are served by halves of a warp."""
    assert turns(list(range(32)), 1) == turns(list(range(32)), 2) == turns([5] * 32, 8) == 1
    assert turns(list(range(32)), 8) == 1 and turns([lane * 2 for lane in range(32)], 8) == 2
    assert turns([None] * 32, 4) == 0


def test_what_depends_on_data_is_left_out() -> None:
    assert [c.array for c in conflicts(PROGRAMS["histogram"], {"n": 256})] == ["near", "near"]
