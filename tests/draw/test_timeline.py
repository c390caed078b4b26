"""The order of a pipeline: what is drawn is what a thread does in a run, and nothing is read before it is there.

Comes in: shipped machines with rings, copies that land later, and roles. Goes out: events, slots. The one idea: a wait that is left out leaves a tile on its way where it is read, and the picture shows it.
"""

from __future__ import annotations

import pytest

from tests.draw.watched import watched
from tests.program import library
from tinygpu.derive.unpack import unpack
from tinygpu.pictures import draw
from tinygpu.pictures.arranged import GAP, Placed, Timeline, arranged
from tinygpu.pictures.events import Event, events, slots
from tinygpu.pictures.sizes import picture_sizes
from tinygpu.pictures.timeline import several_turns
from tinygpu.pipeline import load_text, program
from tinygpu.program.read import read
from tinygpu.program.render import render
from tinygpu.program.step import Program

PIPELINES = [
    ("matmul_ring", "matmul_ring"),
    ("matmul_ring", "matmul_ring_three"),
    ("matmul_ring", "matmul_pipelined"),
    ("matmul_shared", "matmul_64x64"),
    ("tensor_cores", "half_ring"),
    ("tensor_cores", "half_wgmma"),
    ("tensor_cores", "half_roles"),
    ("tensor_cores", "half_clusters"),
]


def memory(made: Program) -> frozenset[str]:
    return frozenset(t.name for t in made.op.tensors)


def line_of(made: Program) -> Timeline:
    sizes = several_turns(made, picture_sizes(made, {}), {})
    return arranged(made.launches[0], memory(made), sizes)


@pytest.mark.parametrize(("spec", "name"), PIPELINES)
def test_nothing_is_read_before_it_is_there_or_after_it_is_gone(spec: str, name: str) -> None:
    line = line_of(unpack(program(library.machine(spec, name))))
    assert line.held
    used = 0
    for tiles in line.held.values():
        for held, after in zip(tiles, [*tiles[1:], None], strict=True):
            for start, stop in held.reads:
                used += 1
                assert 0 <= held.there <= start
                assert after is None or 0 <= stop <= after.begun
    assert used > len(line.held)


@pytest.mark.parametrize(
    ("spec", "name"), [("matmul_ring", "matmul_ring"), ("matmul_ring", "matmul_pipelined"), ("matmul_ring", "matmul_prefetch")]
)
def test_a_thread_fills_and_reads_the_slots_that_a_run_shows(spec: str, name: str) -> None:
    made = unpack(program(library.machine(spec, name)))
    sizes = {"M": 3, "N": 5, "K": 40}
    launch, held = made.launches[0], slots(made.launches[0])
    each = {a.name: a for a in (s for s in launch.body if getattr(s, "name", "") in held)}
    ran = list[tuple[str, str, int]]()
    for touch in watched(made, sizes, set(held)):
        if (touch.block, touch.thread) == (0, 0):
            slot = touch.element // (len_of(each[touch.array]) // held[touch.array])
            row = ("fill" if touch.stores else "use", touch.array, slot)
            ran += [row] if row not in ran[-4:] else []
    told = [
        (kind, *spot)
        for event in events(launch, memory(made), sizes, 0)[0]
        for kind, spots in (("use", event.uses), ("fill", event.fills))
        for spot in spots
    ]
    assert told == ran


def len_of(array) -> int:
    from tinygpu.category.layout import PLAIN, elements

    return elements(array.extents, PLAIN)


def test_a_wait_that_is_left_out_is_seen() -> None:
    machine = library.machine("matmul_ring", "matmul_pipelined")
    text = render(program(machine)).replace("    wait 1\n", "")
    head = "op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }\n"
    work = "machine m : matmul on sm_80 {\n work grid = (by: ceil(M / 64), bx: ceil(N / 64)), block = (ty: 16, tx: 16)\n"
    made = unpack(read(load_text(head + work + text + "\n}").m))
    line = line_of(made)
    assert any(held.there < 0 and held.reads for tiles in line.held.values() for held in tiles)


def test_roles_wait_for_each_other() -> None:
    line = line_of(unpack(program(library.machine("tensor_cores", "half_roles"))))
    fills, uses = line.placed
    assert line.names == ["fills tiles", "uses tiles"]
    full = {p.event.number: p for p in fills if p.event.kind == "leave"}
    for one in (p for p in uses if p.event.kind == "enter"):
        assert full[one.event.number].end <= one.start
    freed = {p.event.number - p.event.behind: p for p in uses if p.event.kind == "leave"}
    late = [p for p in fills if p.event.kind == "enter" and p.event.number >= 4]
    assert late and all(freed[p.event.number - 4].end <= p.start for p in late)


def test_roles_meet_at_a_barrier_and_fill_a_tile_once() -> None:
    line = line_of(unpack(program(library.machine("attention", "flash_wgmma"))))
    starts = [[p.start for p in row if p.event.kind == "barrier"] for row in line.placed]
    assert starts[0] == starts[1] and len(starts[0]) == 1
    assert starts[0][0] >= max(p.end for row in line.placed for p in row if p.event.kind == "store")
    assert [held.tile for held in line.held["sQ", 0]] == [0]


def test_who_comes_first_to_a_barrier_waits() -> None:
    barrier = Event("barrier", ())
    late = Timeline(["a", "b"], placed=[[Placed(Event("load", ()), 0.0, 50.0)], []])
    assert late.begins(barrier, 1, [[barrier], [barrier]]) == 50.0 + GAP
    assert late.begins(barrier, 1, [[Event("load", ())], [barrier]]) is None


def test_the_picture_says_that_it_is_an_order() -> None:
    said = draw(library.machine("matmul_ring", "matmul_pipelined"), "timeline").svg
    assert "an order, and no time" in said and "wait 1" in said and "A_tile[2]" in said and "ko = 3" in said


def test_a_long_loop_is_cut_and_that_is_said() -> None:
    made = draw(library.machine("matmul_ring", "matmul_pipelined"), "timeline", K=1600)
    assert "drawn: 8 of 100 turns of ko" in made.svg and made.width < 4000
