"""Derivation: hard machines compute their equations, also one thread doing what many do, and what is refused is so with these words.

Comes in: the machines of `tests/program/hard.tgpu` and `hard_folds.tgpu`, and wrong ones. Goes out: programs, run by the simulator. The one idea: the
programs of shipped machines stand in their certificates, so here is what no shipped machine has.
"""

from __future__ import annotations

import re

import pytest

from tests.program.library import agrees, edges, here, machines, program, reread, works_alone
from tinygpu.category.term import Var
from tinygpu.cost.measure import measure
from tinygpu.derive.derive import derive
from tinygpu.derive.sequential import sequential
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.render import render
from tinygpu.program.step import For, If

HARD = here("hard") | here("hard_folds")
FOLDS = sorted(here("hard_folds"))
ROWS = "op rows(x: f32[R, N]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }\n"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("title", sorted(HARD))
def test_hard_machines_compute_their_equations(title: str) -> None:
    made = derive(HARD[title])
    assert reread(made, HARD[title]) == made
    assert all(step.span.line > 0 for step in made.steps), "every step points at the text"
    for seed, sizes in enumerate(edges(made, 6 if title in FOLDS else 12)):
        assert not agrees(made, sizes, seed)


@pytest.mark.parametrize("title", FOLDS)
def test_one_thread_does_what_many_do(title: str) -> None:
    machine = sequential(HARD[title])
    made = derive(machine)
    assert works_alone(made)
    assert reread(made, machine) == made
    for seed, sizes in enumerate(edges(made, 4)):
        assert not agrees(made, sizes, seed)


@pytest.mark.parametrize("title", FOLDS)
def test_parts_meet_no_bank_twice(title: str) -> None:
    """They lie as the threads do that leave them: 32 neighbours in at most 32 neighbouring places."""
    made = derive(HARD[title])
    found = [line.tally for line in measure(made, dict.fromkeys(made.op.sizes, 64)).lines if "_parts" in line.array]
    assert all(tally is not None and tally.worst is not None and tally.worst <= 1 for tally in found)


def test_a_machine_whose_threads_work_alone_is_its_own_sequential_view() -> None:
    (machine,) = machines(ROWS + "machine m : rows { work grid = (g), block = (t: 32)\n compute r = (g, t)\n time j }").values()
    assert sequential(machine) is machine


def test_equations_over_the_same_rows_share_their_guard_and_their_loop() -> None:
    assert len([s for s in derive(HARD["softmax_thread"]).steps if isinstance(s, If)]) == 1
    loops = [s for s in derive(HARD["several_thread"]).steps if isinstance(s, For)]
    assert [s.axis.name for s in loops] == ["j", "k"], "three folds over j, one loop"


def test_an_intermediate_bears_its_name_and_a_value_without_a_fold_is_gone() -> None:
    made = derive(HARD["layernorm_thread"])
    assert {"mu", "va"} <= set(made.locals) and "d" not in made.locals
    assert [w.name for w in derive(HARD["placed_left"]).workspaces] == ["m", "s"]  # what a later launch reads is left in memory
    assert render(derive(HARD["placed_kept"])).count("x[") == 1  # what is kept is read once


def test_only_one_replica_stores() -> None:
    guards = [s.guard for s in derive(HARD["shared_loop_first"]).steps if isinstance(s, If)]
    assert [sorted(v.name for v in g.args[0].args if isinstance(v, Var)) for g in guards] == [["g"]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("block", "j", "found", "array"),
    [
        ("t: 16", "(c, t)", [8, 4, 2, 1], ""),
        ("a: 4, b: 8", "(c, a, b)", [16, 8, 4, 2, 1], ""),
        ("a: 64, b: 2", "(c, a, b)", [16, 8, 4, 2, 1], "acc_parts: f32[4]"),
        ("t: 96", "(c, t)", [16, 8, 4, 2, 1], "acc_parts: f32[3]"),
        ("t: 24", "(c, t)", [], "acc_parts: f32[24]"),
        ("t: 1", "(c, t)", [], ""),
        ("t: 32", "(c, t)\n time c\n reduce s over t by shared", [], "acc_parts: f32[32]"),
    ],
)
def test_a_factor_is_split_into_lanes_and_warps(block: str, j: str, found: list[int], array: str) -> None:
    time = "" if "time" in j else "\n time c"
    text = render(program(ROWS + f"machine m : rows {{ work grid = (r), block = ({block})\n compute j = {j}{time} }}"))
    assert [int(d) for d in re.findall(r"shuffle_xor\(.*?, (\d+)\)", text)] == found
    assert (array in text) if array else ("shared" not in text)


REFUSED = {  # beside those of tests/wrong
    "an intermediate of another turn": (
        "op s(x: f32[R, N], z: f32[K]) -> (y: f32[R], w: f32[], v: f32[R]) where R >= 1 {\n"
        " m[r] = sum[j] x[r, j]\n y[r] = m[r]\n w[] = sum[k] z[k]\n v[r] = 2 * m[r]\n}\n"
        "machine m : s { work grid = (g: 2), block = (t: 32)\n compute r = (a, g, t)\n time a, j, k }",
        "TG530",
        "next to each other",
    ),
    "a factor of the output and of the fold": (
        ROWS + "machine m : rows { work grid = (g: ceil(R / 4)), block = ()\n compute r = g*4 + u, j = c*4 + u\n time c: ceil(N / 4)\n register u: 4 }",
        "TG131",
        "separate factors",
    ),
    "a scan whose factors lie in two orders": (
        "op sums(x: f32[R, N]) -> (y: f32[R, N]) { y[r, i] = scan_sum[k <= i] x[r, k] }\n"
        "machine m : sums { work grid = (r), block = (a: 4, e: 8)\n compute i = (c, e, a)\n time c }",
        "TG538",
        "in one order everywhere",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    source, code, words = REFUSED[name]
    with pytest.raises(TinygpuError) as caught:
        program(source)
    (found,) = caught.value.diagnostics
    assert found.code == code and any(words in h for h in found.helps) and found.span.line > 0
