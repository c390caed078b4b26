"""Clusters: blocks that send each other what they have in common. Their text does what the manual says, the boxes of a slot add up to it, and what blocks do not have in
common is not sent.

Comes in: `clusters.tgpu` of `specs/` beside this file, and changes of its text. Goes out: verdicts, outputs, calls of the unit, machine code. The one idea: the
program of a block is what it is without a cluster; so what has to be seen is that the parts which neighbours send make up each block's box, and who waits for whom.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.machine_code import disassembler, gate
from tests.emit.interpreter import run
from tests.emit.test_cuda_prelude import needs_cuda
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof, Refutation
from tinygpu.program.call import Boxed, Sent, Sync
from tinygpu.program.step import Launch, arrays_in, steps
from tinygpu.schedule.roles import apart
from tinygpu.simulate.inputs import random_inputs

FILE = Path(__file__).parent / "specs/clusters.tgpu"
TEXT = FILE.read_text()
COLUMNS = TEXT[TEXT.index("op mm") : TEXT.index("# Four blocks")]


def machine(text: str) -> Machine:
    return pipeline.load_text(text).machines[0]


def calls(launch: Launch) -> list[Sent]:
    return [s.begins for s in steps(apart(launch).body) if isinstance(s, Sync) and isinstance(s.begins, Sent)]


@pytest.mark.parametrize("name", ["columns", "both"])
def test_blocks_of_a_cluster_are_proved_as_any(name: str) -> None:
    assert isinstance(pipeline.check(pipeline.load(FILE).spec.machine(name)), Proof)


@pytest.mark.parametrize("order", ["forwards", "backwards", "mixed"])
@pytest.mark.parametrize("name", ["columns", "both"])
def test_their_text_does_what_the_manual_says(name: str, order: str) -> None:
    """Boxes land when nobody can go on without them, at each block on their own."""
    program = pipeline.program(pipeline.load(FILE).spec.machine(name))
    sizes = {"M": 131, "N": 70, "K": 330}
    inputs = random_inputs(program.op, sizes, seed=1)
    wanted = np.asarray(inputs["A"], np.float64) @ np.asarray(inputs["B"], np.float64)
    found = run(program, sizes, inputs, 32, wide=True, order=order)
    np.testing.assert_allclose(found["C"], wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["columns", "both"])
def test_lanes_copy_where_no_unit_does(name: str) -> None:
    program = pipeline.program(pipeline.load(FILE).spec.machine(name))
    sizes = {"M": 70, "N": 34, "K": 140}
    inputs = random_inputs(program.op, sizes, seed=2)
    wanted = np.asarray(inputs["A"], np.float64) @ np.asarray(inputs["B"], np.float64)
    np.testing.assert_allclose(run(program, sizes, inputs, 64, wide=False, order="mixed")["C"], wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["columns", "both"])
def test_the_parts_that_come_to_a_block_are_its_box(name: str) -> None:
    """Point by point: each place of a slot is written once, with the element that the copy says, and as many bytes come as are expected."""
    program = pipeline.program(pipeline.load(FILE).spec.machine(name))
    (launch,) = program.launches
    shapes = {a.name: [int(evaluate(e, {})) for e in a.extents] for a in arrays_in(launch.body, "block")}
    ranks = np.ndindex(*(int(evaluate(a.extent, {})) for a in launch.ranks))
    cluster = [dict(zip((a.name for a in launch.ranks), map(int, rank), strict=True)) for rank in ranks]
    around = {"by": 1, "bx": 2, "ko": 3}
    come: list[dict[str, dict[tuple[int, ...], tuple[int, ...]]]] = [{} for _ in cluster]
    bytes_ = [0] * len(cluster)
    for here, rank in enumerate(cluster):
        for call in calls(launch):
            near, origin = ([int(evaluate(t, around | rank)) for t in place] for place in (call.near[1], call.origin))
            first = int(evaluate(call.first[0], rank)) if call.first else here
            wanting = [n for n in range(len(cluster)) if (call.mask or 1) << first >> n & 1]
            assert here in wanting and len(wanting) == call.parts
            for at in np.ndindex(*call.extents):
                place = (near[0], *(p + int(x) for p, x in zip(near[1:], at, strict=True)))
                for n in wanting:
                    written = come[n].setdefault(call.near[0], {})
                    assert place not in written
                    written[place] = tuple(o + int(x) for o, x in zip(origin, at, strict=True))
            bytes_[here] += call.bytes
    copies = [s.begins for s in steps(launch.body) if isinstance(s, Sync) and isinstance(s.begins, Boxed)]
    for rank, found, expected in zip(cluster, come, bytes_, strict=True):
        for copy in copies:
            _, rows, row = shapes[copy.target]
            assert len(found[copy.target]) == rows * row
            for at, element in found[copy.target].items():
                names = dict(zip((a.name for a in copy.box), at[1:], strict=True))
                assert at[0] == evaluate(copy.index[0], around)
                assert element == tuple(evaluate(i, around | rank | names) for i in copy.value.args[1].index)  # type: ignore[union-attr]
        assert expected == sum(2 * len(places) for places in found.values())


ALONE = {
    "a factor of the grid": COLUMNS.replace("bx: ceil(N / 64)), cluster = (c: 2)", "bx: ceil(N / 64), c: 2)"),
    "other turns": COLUMNS.replace("for ko < ceil(K / 64) {", "for ko < ceil(K / 64) + c {"),
    "turns that end elsewhere": COLUMNS.replace("      if g == 1 and w", "      if ko < ceil(K / 64) + c - c { if g == 1 and w").replace("    if g < 1 {\n      for i", "    if g < 1 {\n      for  i"),
}  # fmt: skip


def test_what_blocks_have_in_common_is_sent_to_all_that_want_it() -> None:
    (launch,) = pipeline.program(machine(COLUMNS)).launches
    assert [(c.tensor, c.parts, c.mask) for c in calls(launch)] == [("A", 1, 0), ("B", 2, 0b11)]
    (launch,) = pipeline.program(pipeline.load(FILE).spec.machine("both")).launches
    assert {(c.tensor, c.parts, c.mask) for c in calls(launch)} == {("A", 2, 0b11), ("B", 2, 0b101)}
