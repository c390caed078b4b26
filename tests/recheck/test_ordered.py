"""Folds whose order counts: whatever breaks their order goes wrong in a run, and is not proved.

Comes in: the machines of `recurrence` and `scan`, as texts of programs, and changes of them. Goes out: nothing. The one idea: a change of the
order alone leaves the same terms, each once, so a checker that took the fold for a set would prove it.
"""

from __future__ import annotations

import pytest

from tests.program.library import library
from tests.recheck.changes import changed
from tinygpu import pipeline
from tinygpu.program.render import standalone
from tinygpu.program.step import Program
from tinygpu.proof.kernel import Proof, prove
from tinygpu.recheck import Agreement, Disagreement
from tinygpu.recheck.run import rerun

BUDGET = 200_000  # of the prover, for one claim: enough for all claims of the right ones
TEXTS = {
    machine.title: standalone(pipeline.program(machine))
    for stem in ("recurrence", "scan")
    for machine in library(stem)
    if machine.title.startswith(("recurrence", "last_state", "scan_warp_v4", "scan_block_v4"))
}
WRONG = (  # a machine, what is wrong then, and what is put for what, everywhere in the text
    ("last_state_warp", "operands swapped", "acc[] affine= next[] if lane < 28", "acc[] = affine(next[], acc[]) if lane < 28"),
    ("last_state_warp", "lanes backwards", "lane * ceil(N / 32) + c", "(31 - lane) * ceil(N / 32) + c"),
    ("last_state_warp", "lanes take turns", "lane * ceil(N / 32) + c", "c*32 + lane"),
    ("last_state_warp", "up for down", "shuffle_down(acc[], 4)", "shuffle_up(acc[], 4)"),
    ("last_state_warp", "steps of a tree exchanged", "shuffle_down(acc[], 1)", "shuffle_down(acc[], 16)"),
    ("last_state_warp", "elements backwards", "lane * ceil(N / 32) + c", "lane * ceil(N / 32) + (ceil(N / 32) - 1 - c)"),
    ("last_state_block", "warps backwards", "acc[] affine= acc_parts[t_warp2]", "acc[] affine= acc_parts[3 - t_warp2]"),
    ("last_state_block", "warps from the left", "acc[] affine= acc_parts[t_warp2]", "acc[] = affine(acc_parts[t_warp2], acc[])"),
    ("recurrence_warp", "operands swapped", "affine(other[], total[]) if lane >= 4", "affine(total[], other[]) if lane >= 4"),
    ("recurrence_warp", "down for up", "shuffle_up(total[], 2)", "shuffle_down(total[], 2)"),
    ("recurrence_warp", "a carry on the right", "carry[] affine= shuffle_idx(total[], 31)",
     "carry[] = affine(shuffle_idx(total[], 31), carry[])"),
    ("recurrence_warp", "chunks backwards", "c*128", "(ceil(N / 128) - 1 - c)*128"),
    ("recurrence_warp", "the carry missed", "run[] = carry[]", "run[] = affine(1, 0)"),
    ("recurrence_warp", "the carry of another lane", "shuffle_idx(total[], 31)", "shuffle_idx(total[], 30)"),
    ("recurrence_block", "warps backwards", "prefix_parts[part] if part < t_warp", "prefix_parts[7 - part] if 7 - part < t_warp"),
    ("recurrence_block", "a carry backwards", "carry[] affine= prefix_parts[part]", "carry[] affine= prefix_parts[7 - part]"),
    ("recurrence_block", "lanes before warps", "run[] = carry[] for part < 8 in register { run[] affine= prefix_parts[part] if "
     "part < t_warp } other[] = shuffle_up(total[], 1) run[] affine= other[] if t_lane >= 1",
     "run[] = carry[]\n other[] = shuffle_up(total[], 1)\n run[] affine= other[] if t_lane >= 1\n for part < 8 in register "
     "{ run[] affine= prefix_parts[part] if part < t_warp }"),
    ("recurrence_three", "what is before a block missed", "run2[] = h_before[g]", "run2[] = affine(1, 0)"),
    ("scan_warp_v4", "down for up", "shuffle_up(total[], 4)", "shuffle_down(total[], 4)"),
    ("scan_warp_v4", "the carry missed", "run[] = carry[]", "run[] = 0"),
    ("scan_block_v4", "a warp too many", "if part < t_warp", "if part <= t_warp"),
    ("scan_block_v4", "a warp too few", "if part < t_warp", "if part + 1 < t_warp"),
)  # fmt: skip
RIGHT = (  # sums are sets: the same changes are none there
    ("scan_warp_v4", "operands swapped", "other[] + total[] if lane >= 4", "total[] + other[] if lane >= 4"),
    ("scan_block_v4", "warps backwards", "prefix_parts[part] if part < t_warp", "prefix_parts[7 - part] if 7 - part < t_warp"),
)


def program_of(text: str) -> Program:
    return pipeline.program(pipeline.load_text(text).machines[0])


FAR = "recurrence_block"  # goes wrong at sizes of which a run takes a minute
TITLES = [f"{w[0]}: {w[1]}" for w in WRONG]
RUN = [pytest.param(*w, id=f"{w[0]}: {w[1]}", marks=[pytest.mark.sampled] if w[0] == FAR else []) for w in WRONG]


@pytest.mark.parametrize(("name", "why", "old", "new"), RUN)
def test_what_breaks_the_order_goes_wrong(name: str, why: str, old: str, new: str) -> None:
    assert isinstance(rerun(program_of(changed(TEXTS[name], old, new))), Disagreement)


@pytest.mark.parametrize(("name", "why", "old", "new"), WRONG, ids=TITLES)
def test_what_breaks_the_order_is_not_proved(name: str, why: str, old: str, new: str) -> None:
    assert not isinstance(prove(program_of(changed(TEXTS[name], old, new)), BUDGET, hasty=True), Proof)


@pytest.mark.parametrize(("name", "why", "old", "new"), RIGHT, ids=[f"{w[0]}: {w[1]}" for w in RIGHT])
def test_a_sum_has_no_order(name: str, why: str, old: str, new: str) -> None:
    found = rerun(program_of(changed(TEXTS[name], old, new)))
    assert isinstance(found, Agreement) and found.runs
