"""Folds across workers: the shapes that programs get, their values against the equations, and what is refused with which words."""

from __future__ import annotations

import re

import pytest

from tests.program.library import agrees, edges, here, machines, reread
from tinygpu.category.term import TRUE, App, Var, variables, walk
from tinygpu.cost.measure import measure
from tinygpu.derive.derive import derive
from tinygpu.derive.sequential import sequential
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.render import render
from tinygpu.program.step import Array, Assign, For, If, Step, Sync, steps

HARD = here("hard_folds")
ROWS = "op rows(x: f32[R, N]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }\n"
TOTAL = "op total(x: f32[n]) -> (s: f32[]) { s[] = sum[i] x[i] }\n"


def text_of(source: str) -> str:
    (machine,) = machines(source).values()
    return render(derive(machine))


def distances(text: str) -> list[int]:
    return [int(d) for d in re.findall(r"shuffle_xor\(.*?, (\d+)\)", text)]


def row_machine(block: str, j: str, clause: str = "") -> str:
    return text_of(ROWS + f"machine m : rows {{ work grid = (r), block = ({block})\n compute j = {j}\n time c\n {clause} }}")


def test_a_row_a_warp_is_one_butterfly() -> None:
    source = ROWS + "machine m : rows { work grid = (g), block = (w: 4, lane: 32)\n compute r = (g, w), j = (c, lane)\n time c }"
    assert text_of(source) == (
        "program {\n  local acc: f32[]\n  acc[] = 0\n"
        "  for c < ceil(N / 32) { acc[] += x[g*4 + w, c*32 + lane] if g*4 + w < R and c*32 + lane < N }\n"
        "  acc[] += shuffle_xor(acc[], 16)\n  acc[] += shuffle_xor(acc[], 8)\n  acc[] += shuffle_xor(acc[], 4)\n"
        "  acc[] += shuffle_xor(acc[], 2)\n  acc[] += shuffle_xor(acc[], 1)\n"
        "  s[g*4 + w] = acc[] if g*4 + w < R and lane == 0\n}\n"
    )


def test_a_row_a_block_goes_through_shared_memory() -> None:
    text = row_machine("t: 256", "(c, t)")
    assert distances(text) == [16, 8, 4, 2, 1]
    for line in (
        "shared acc_parts: f32[8]",
        "acc_parts[t // 32] = acc[] if t % 32 == 0",
        "for t2 < 8 in register { acc[] += acc_parts[t2] }",
    ):
        assert line in text
    assert text.count("barrier") == 1


@pytest.mark.parametrize(
    ("block", "j", "found", "array"),
    [
        ("t: 16", "(c, t)", [8, 4, 2, 1], ""),
        ("a: 4, b: 8", "(c, a, b)", [16, 8, 4, 2, 1], ""),
        ("a: 64, b: 2", "(c, a, b)", [16, 8, 4, 2, 1], "acc_parts: f32[4]"),
        ("t: 96", "(c, t)", [16, 8, 4, 2, 1], "acc_parts: f32[3]"),
        ("t: 24", "(c, t)", [], "acc_parts: f32[24]"),
        ("t: 1", "(c, t)", [], ""),
        ("a: 3, b: 32", "(c, a, b)", [16, 8, 4, 2, 1], "acc_parts: f32[3]"),
    ],
)
def test_a_factor_is_split_into_lanes_and_warps(block: str, j: str, found: list[int], array: str) -> None:
    text = row_machine(block, j)
    assert distances(text) == found
    assert (array in text) if array else ("shared" not in text)


def test_the_threads_of_a_row_may_lie_apart() -> None:
    source = ROWS + "machine m : rows { work grid = (g), block = (t: 16, w: 4)\n compute r = (g, w), j = (c, t)\n time c }"
    text = text_of(source)
    assert distances(text) == [16, 8, 4]
    assert "shared acc_parts: f32[2, 4]" in text and "acc_parts[t // 8, w] = acc[] if t % 8 == 0" in text


def test_the_user_says_how() -> None:
    assert distances(row_machine("t: 32", "(c, t)", "reduce s over t by shared")) == []
    assert distances(row_machine("t: 32", "(c, t)", "reduce s over t by shuffle")) == [16, 8, 4, 2, 1]
    with pytest.raises(TinygpuError) as caught:
        row_machine("t: 64", "(c, t)", "reduce s over t by shuffle")
    assert [d.code for d in caught.value.diagnostics] == ["TG535"]


def test_a_shared_array_is_written_again_after_a_barrier() -> None:
    source = ROWS + "machine m : rows { work grid = (g: 4), block = (t: 64)\n compute r = (a, g), j = (c, t)\n time a, c }"
    assert text_of(source).count("barrier") == 2


def around(body: tuple[Step, ...], above: tuple[Step, ...] = ()) -> list[tuple[Step, tuple[Step, ...]]]:
    """Every step with the steps around it."""
    found: list[tuple[Step, tuple[Step, ...]]] = []
    for step in body:
        found.append((step, above))
        if isinstance(step, For | If):
            found += around(step.body, (*above, step))
    return found


@pytest.mark.parametrize("title", sorted(HARD))
def test_what_all_threads_do_is_done_by_all(title: str) -> None:
    for launch in derive(HARD[title]).launches:
        block = {a.name for a in launch.block}
        for step, above in around(launch.body):
            shuffles = isinstance(step, Assign) and any(isinstance(t, App) and t.op == "shuffle_xor" for t in walk(step.value))
            if isinstance(step, Sync) or shuffles:
                assert all(not variables(one.guard) & block for one in above if isinstance(one, If))
                assert not isinstance(step, Assign) or step.guard == TRUE


@pytest.mark.parametrize("title", sorted(HARD))
def test_hard_folds_compute_their_equations(title: str) -> None:
    program = derive(HARD[title])
    assert reread(program, HARD[title]) == program
    for seed, sizes in enumerate(edges(program, 6)):
        assert not agrees(program, sizes, seed)


@pytest.mark.parametrize("title", sorted(HARD))
def test_one_thread_does_what_many_do(title: str) -> None:
    machine = sequential(HARD[title])
    program = derive(machine)
    every = [step for launch in program.launches for step in steps(launch.body)]
    assert not any(
        isinstance(s, Sync) or (isinstance(s, Array) and s.owner == "block") or (isinstance(s, Assign) and s.atomic) for s in every
    )
    assert reread(program, machine) == program
    for seed, sizes in enumerate(edges(program, 4)):
        assert not agrees(program, sizes, seed)


@pytest.mark.parametrize("title", sorted(HARD))
def test_parts_meet_no_bank_twice(title: str) -> None:
    """They lie as the threads do that leave them: 32 neighbours in at most 32 neighbouring places."""
    program = derive(HARD[title])
    found = [line.tally for line in measure(program, dict.fromkeys(program.op.sizes, 64)).lines if "_parts" in line.array]
    assert all(tally is not None and tally.worst is not None and tally.worst <= 1 for tally in found)


def test_a_machine_whose_threads_work_alone_is_its_own_sequential_view() -> None:
    (machine,) = machines(ROWS + "machine m : rows { work grid = (g), block = (t: 32)\n compute r = (g, t)\n time j }").values()
    assert sequential(machine) is machine


def test_atomic_updates_start_from_the_unit() -> None:
    source = TOTAL + "machine m : total { work grid = (g), block = (t: 32)\n compute i = (g, t)\n reduce s over g by atomic }"
    start, main = derive(next(iter(machines(source).values()))).launches
    assert (start.grid, start.block) == ((), ()) and [s.value.value for s in start.body if isinstance(s, Assign)] == [0.0]  # type: ignore[union-attr]
    assert [(s.target, s.update) for s in main.body if isinstance(s, Assign) and s.atomic] == [("s", "sum")]


def test_a_further_launch_goes_on_with_the_parts() -> None:
    source = TOTAL + (
        "machine m : total {\n launch a { work grid = (g), block = (t: 32)\n compute i = (g, t) }\n"
        " launch b { work block = (t: 32)\n compute g = (c, t)\n time c }\n}"
    )
    (machine,) = machines(source).values()
    program = derive(machine)
    (part,) = program.workspaces
    assert part.name == "s_part" and part.extents == tuple(a.extent for a in program.launches[0].grid)
    stores = [s for s in steps(program.launches[0].body) if isinstance(s, Assign) and s.target == "s_part"]
    assert [s.index for s in stores] == [(Var("g"),)]


def test_what_a_later_launch_reads_is_left_in_memory() -> None:
    assert [w.name for w in derive(HARD["placed_left"]).workspaces] == ["m", "s"]
    assert [w.name for w in derive(HARD["placed_again"]).workspaces] == ["s"]


def test_a_tensor_that_is_kept_is_read_once() -> None:
    text = render(derive(HARD["placed_kept"]))
    assert text.count("x[") == 1 and "local x_cell: f32[3, 2]" in text
