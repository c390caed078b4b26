"""Copies in programs: who copies what, by clauses and by rule, and that they are the steps that one would write.

Comes in: programs with `copy`. Goes out: their steps beside those that are written out. The one idea: a copy stands for steps, so nothing behind
it is asked here; what is wrong about one is in `tests/wrong`.
"""

from __future__ import annotations

import pytest

from tests.program.library import machines
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.derive.derive import derive
from tinygpu.program.read import reread
from tinygpu.program.step import For, Program, Step, steps
from tinygpu.program.traverse import map_steps, map_terms

OP = "op o(x: f32[R, N]) -> (y: f32[R, N]) { y[r, j] = x[r, j] }\n"


def program(body: str) -> Program:
    (one,) = machines(f"{OP}machine m : o {{\nwork grid = (g: R), block = (ty: 16, tx: 16)\nprogram {{\n{body}\n}}\n}}").values()
    return derive(one)


def plain(program: Program) -> tuple[Step, ...]:
    """The steps of the one launch, their terms simplified."""
    (launch,) = program.launches
    everywhere = Region((*launch.axes, *(s.axis for s in steps(launch.body) if isinstance(s, For))))
    return map_steps(launch.body, lambda step: (map_terms(step, lambda term: simplify(term, everywhere)),))


def same(copy: str, by_hand: str) -> None:
    """Both are the same steps, and the text of the program gives it back."""
    made = program(copy)
    assert plain(made) == plain(program(by_hand))
    assert reread(made).launches == made.launches


def test_neighbours_copy_neighbours_sixteen_bytes_at_once() -> None:
    same(
        "shared s: f32[16, 64]\ncopy s[r, c] = x[g + r, c] if g + r < R",
        "shared s: f32[16, 64]\nfor lane < 4 in vector { s[ty, tx*4 + lane] = x[g + ty, tx*4 + lane] if g + ty < R }",
    )


def test_no_thread_is_idle_where_fewer_bytes_leave_none() -> None:
    same(
        "shared s: f32[16, 32]\ncopy s[r, c] = x[g + r, c | 0]",
        "shared s: f32[16, 32]\nfor lane < 2 in vector { s[ty, tx*2 + lane] = x[g + ty, tx*2 + lane | 0] }",
    )


def test_a_tile_that_lies_turned_is_stored_down_its_columns() -> None:
    """Two neighbours copy 32 bytes of a row, and the next two those of the row below."""
    same(
        "shared s: f32[16, 64] pad 4\ncopy s[c, r] = x[g + r, c | 0]",
        "shared s: f32[16, 64] pad 4\nfor lane < 4 in vector {"
        " s[ty // 8 * 8 + tx % 2 * 4 + lane, ty % 8 * 8 + tx // 2] = x[g + ty % 8 * 8 + tx // 2, ty // 8 * 8 + tx % 2 * 4 + lane | 0] }",
    )


def test_clauses_are_those_of_a_stage() -> None:
    same(
        "shared s: f32[32, 16]\ncopy s[r, c] = x[g + r, c | 0] {\nwork block = (q: 16, h: 4)\ncompute r = (u: 2, q), c = (h, v: 4)\nregister u\nvector v\n}",
        "shared s: f32[32, 16]\nfor u < 2 in register { for v < 4 in vector {"
        " s[u*16 + ty*4 + tx // 4, tx % 4 * 4 + v] = x[g + u*16 + ty*4 + tx // 4, tx % 4 * 4 + v | 0] if ty*16 + tx < 64 } }",
    )


def test_a_range_may_be_written_and_stands_for_what_it_says() -> None:
    same(
        "shared s: f32[300]\ncopy s[a < 200] = 1",
        "shared s: f32[300]\ns[ty*16 + tx] = 1 if ty*16 + tx < 200",
    )


def test_a_tile_by_name_carries_its_bounds() -> None:
    same(
        "shared s: f32[16, 64]\nlet t[r, c] = x[g + r, c | 0]\ncopy s[r, c] = t[r, c]",
        "shared s: f32[16, 64]\nlet t[r, c] = x[g + r, c | 0]\nfor lane < 4 in vector { s[ty, tx*4 + lane] = t[ty, tx*4 + lane] }",
    )


def test_what_is_stored_may_be_a_tile_by_name() -> None:
    same(
        "shared s: f32[16, 64]\nlet t[r, c] = y[g + r, c | 0]\ncopy t[r, c] = s[r, c]",
        "shared s: f32[16, 64]\nlet t[r, c] = y[g + r, c | 0]\nfor lane < 4 in vector { t[ty, tx*4 + lane] = s[ty, tx*4 + lane] }",
    )


def test_its_loops_take_names_that_are_free() -> None:
    (loop,) = (
        s
        for s in steps(program("shared lane: f32[16, 64]\ncopy lane[r, c] = x[g + r, c | 0]").launches[0].body)
        if isinstance(s, For)
    )
    assert loop.axis.name == "lane2"


@pytest.mark.parametrize(("extent", "loops"), [("f32[64]", 0), ("f32[4096]", 2), ("u8[256]", 0), ("u8[1024]", 1)])
def test_what_is_more_than_the_threads_is_copied_in_turns(extent: str, loops: int) -> None:
    value = "0" if extent[0] == "u" else "x[g, a | 0]"
    made = program(f"shared s: {extent}\ncopy s[a] = {value}")
    assert sum(isinstance(s, For) for s in steps(made.launches[0].body)) == loops


def test_what_waits_in_registers_is_stored_where_it_belongs() -> None:
    same(
        "shared s: f32[2, 16, 64]\nfor q < R { copy s[q % 2, r, c] = x[q, c | 0] if r < 8 by w\nbarrier\nstore w }",
        "shared s: f32[2, 16, 64]\nfor q < R { local w: f32[4]\nfor lane < 4 in vector { w[lane] = x[q, tx*4 + lane | 0] if ty < 8 }\nbarrier\n"
        "for lane < 4 in vector { s[q % 2, ty, tx*4 + lane] = w[lane] if ty < 8 } }",
    )


def test_registers_of_copies_have_their_own_loops() -> None:
    """Where the second half stands, a loop of the text may have the name that the first half's would have."""
    body = "shared s: f32[16, 64]\ncopy s[r, c] = x[g + r, c | 0] by w\nfor lane < 2 { barrier\nstore w }"
    names = [s.axis.name for s in steps(program(body).launches[0].body) if isinstance(s, For)]
    assert names.count("lane") == 1 and len(set(names)) == 2
