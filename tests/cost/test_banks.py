"""Bank conflicts of shared accesses, counted.

Comes in: transpositions in three layouts, the tiles of a matrix product, and every shipped machine, which has no conflict.
Goes out: turns of the worst warp. The one idea: a layout changes these numbers and nothing else.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.emit.hand_programs import PROGRAMS, transpose
from tests.program.cooperation_texts import TEXTS
from tinygpu.cost.banks import conflicts, turns
from tinygpu.derive.unpack import unpack
from tinygpu.pipeline import load, load_text, program
from tinygpu.program.layout import Layout
from tinygpu.program.step import Assign, Shared, steps

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


def test_what_depends_on_data_has_no_number() -> None:
    assert [(c.array, c.ways) for c in conflicts(PROGRAMS["histogram"], {"n": 256})] == [("near", 1), ("near", None), ("near", 1)]


COPY = """
op copy(x: f32[n]) -> (y: f32[n]) where n % 1024 == 0 { y[i] = x[i] }

machine copied : copy {
  work grid = (g: n // 1024), block = (t: 256)
  program {
    shared s: f32[16, 64] pad 4
    BODY
    barrier
    for u < 4 in register { y[g*1024 + u*256 + t] = s[u*4 + t // 64, t % 64] }
  }
}
"""


def stores(body: str, **sizes: int) -> list[tuple[int, int | None]]:
    made = program(load_text(COPY.replace("BODY", body), "copy").machines[0])
    return [(c.bytes, c.ways) for c in conflicts(made, sizes) if c.stores and c.array == "s"]


def test_a_condition_of_the_whole_loop_leaves_the_access_wide() -> None:
    """The emitter takes such a condition out of the loop; so does the count. Lane by lane it would be 4 turns."""
    text = "for v < 4 in vector { s[t // 16, t % 16 * 4 + v] = x[g*1024 + t*4 + v] if t < 128 }"
    assert stores(text) == [(16, 1)]
    assert stores(text.replace("in vector", "in register")) == [(4, 4)]


def test_an_access_that_is_not_always_wide_counts_twice() -> None:
    """Where some lanes are outside the kernel goes element by element."""
    assert stores("for v < 4 in vector { s[t // 16, t % 16 * 4 + v] = x[g*1024 + t*4 + v] if t*4 + v < 999 }") == [(16, 1), (4, 4)]


def test_the_borders_of_a_grid_hide_nothing() -> None:
    """In the first block half of the lanes do not take part; in the others all do, and that is what is counted."""
    assert stores("s[t % 16, 0] = x[g*1024 + t] if g*16 + t % 16 >= 12") == [(4, 2)]


def test_every_turn_of_a_long_loop_is_seen() -> None:
    """A conflict that comes after a thousand turns: there half of the lanes lie 32 words from the others."""
    assert stores("for k < 2000 { s[0, t % 32] = x[g*1024 + t] if t % 32 < 16 }") == [(4, 1)]
    assert stores("for k < 2000 { s[t % 32 // 16 * (k // 1999) * 8, t % 32 % 16] = x[g*1024 + t] }") == [(4, 2)]


@given(st.lists(st.integers(0, 255), min_size=32, max_size=32), st.sampled_from([2, 4]))
def test_merging_neighbours_brings_no_conflict(pieces: list[int], lanes: int) -> None:
    """The compiler may make one access of those to `lanes` neighbours. Where none of them has a conflict, that has none."""
    narrow = [turns([piece * lanes + lane for piece in pieces], 4) for lane in range(lanes)]
    merged = turns([piece * lanes for piece in pieces], 4 * lanes, lanes)
    assert merged <= max(narrow)


@given(st.lists(st.one_of(st.none(), st.integers(0, 4095)), min_size=32, max_size=32))
def test_fewer_lanes_take_no_more_turns(starts: list[int | None]) -> None:
    """So a guard that is not decided may be left out: what is counted then is an upper bound."""
    assert turns([start if lane % 2 else None for lane, start in enumerate(starts)], 4) <= turns(starts, 4)


KNOWN_ONLY_TO_THE_DATA = {
    "histogram_shared": {"count"}
}  # atomic updates of the bin that an element of x names: x may name one bin 32 times


@pytest.mark.sampled
@pytest.mark.parametrize("spec", sorted(path.stem for path in (ROOT / "specs").glob("*.tgpu")))
def test_no_shipped_machine_has_a_conflict(spec: str) -> None:
    """Every access of every machine is one turn, at every point of its loops. Sizes are given for the loops that have no number."""
    for machine in load(ROOT / "specs" / f"{spec}.tgpu").machines:
        made = unpack(program(machine))
        shared = {s.name for launch in made.launches for s in steps(launch.body) if isinstance(s, Shared)}
        found = conflicts(made, dict.fromkeys(made.op.sizes, 256))
        assert {c.array for c in found} == shared
        for one in found:
            if one.ways is None:
                assert one.stores and one.array in KNOWN_ONLY_TO_THE_DATA.get(made.name, ()), f"{made.name}: {one}"
                assert isinstance(one.access, Assign) and one.access.atomic
            else:
                assert one.ways == 1, (
                    f"{made.name}: {one.array} in {one.ways} turns, {'stored' if one.stores else 'read'} at {one.access.index}"
                )
