"""Clusters: blocks that send each other what they have in common. Their text does what the manual says, the boxes of a slot add up to it, and what blocks do not have in
common is not sent.

Comes in: `clusters.tgpu` of `specs/` beside this file, and changes of its text. Goes out: verdicts, outputs, calls of the unit, machine code. The one idea: the
program of a block is what it is without a cluster; so what has to be seen is that the parts which neighbours send make up each block's box, and who waits for whom.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.machine_code import disassembler, gate
from tests.emit.interpreter import run
from tests.emit.test_cuda_prelude import needs_cuda
from tests.hardware.asked import no_other_text_is_taken
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.category.layout import Layout
from tinygpu.category.term import Const, Term
from tinygpu.cost.measure import measure
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof, Refutation
from tinygpu.program import cluster
from tinygpu.program.call import Boxed, Sent, Sync
from tinygpu.program.step import Launch, arrays_in, steps
from tinygpu.proof.axioms import axioms
from tinygpu.schedule.roles import apart
from tinygpu.simulate.inputs import random_inputs
from tinygpu.validate.boxes import boxes
from tinygpu.validate.typed import Differs

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


@pytest.mark.parametrize("order", [*(pytest.param(n, marks=pytest.mark.sampled) for n in ("forwards", "backwards")), "mixed"])
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
    every = [dict(zip((a.name for a in launch.ranks), map(int, rank), strict=True)) for rank in ranks]
    around = {"by": 1, "bx": 2, "ko": 3}
    come: list[dict[str, dict[tuple[int, ...], tuple[int, ...]]]] = [{} for _ in every]
    bytes_ = [0] * len(every)
    for here, rank in enumerate(every):
        for call in calls(launch):
            near, origin = ([int(evaluate(t, around | rank)) for t in place] for place in (call.near[1], call.origin))
            first = int(evaluate(call.first[0], rank)) if call.first else here
            wanting = [n for n in range(len(every)) if (call.mask or 1) << first >> n & 1]
            assert here in wanting and len(wanting) == call.parts
            for at in np.ndindex(*call.extents):
                place = (near[0], *(p + int(x) for p, x in zip(near[1:], at, strict=True)))
                for n in wanting:
                    written = come[n].setdefault(call.near[0], {})
                    assert place not in written
                    written[place] = tuple(o + int(x) for o, x in zip(origin, at, strict=True))
            bytes_[here] += call.bytes
    copies = [s.begins for s in steps(launch.body) if isinstance(s, Sync) and isinstance(s.begins, Boxed)]
    for rank, found, expected in zip(every, come, bytes_, strict=True):
        for copy in copies:
            _, rows, row = shapes[copy.target]
            assert len(found[copy.target]) == rows * row
            for at, element in found[copy.target].items():
                names = dict(zip((a.name for a in copy.box), at[1:], strict=True))
                assert at[0] == evaluate(copy.index[0], around)
                assert element == tuple(evaluate(i, around | rank | names) for i in copy.value.args[1].index)  # type: ignore[union-attr]
        assert expected == sum(2 * len(places) for places in found.values())


def test_what_blocks_have_in_common_is_sent_to_all_that_want_it() -> None:
    (launch,) = pipeline.program(machine(COLUMNS)).launches
    assert [(c.tensor, c.parts, c.mask) for c in calls(launch)] == [("A", 1, 0), ("B", 2, 0b11)]
    (launch,) = pipeline.program(pipeline.load(FILE).spec.machine("both")).launches
    assert {(c.tensor, c.parts, c.mask) for c in calls(launch)} == {("A", 2, 0b11), ("B", 2, 0b101)}


ALONE = {
    "no cluster": COLUMNS.replace("bx: ceil(N / 64)), cluster = (c: 2)", "bx: ceil(N / 64), c: 2)"),
    "another cluster": COLUMNS.replace("by: ceil(M / 128), bx: ceil(N / 64)), cluster = (c: 2)", "by: ceil(M / 128), c: 2), cluster = (bx: 2)").replace("C[by", "C[bx*0 + by"),
    "a box of its own": COLUMNS.replace("B[ko*64 + k, bx*64 + j | 0]", "B[ko*64 + k, bx*64 + c*64 + j | 0]"),
    "other turns": COLUMNS.replace("for ko < ceil(K / 64) {", "for ko < ceil(K / 64) + c {"),
    "turns that end elsewhere": COLUMNS.replace("      if g == 1 and w", "      if ko < ceil(K / 64) - c { if g == 1 and w").replace("        }\n      }\n      if g < 1 {\n        use", "        }\n      } }\n      if ko < ceil(K / 64) - c { if g < 1 {\n        use").replace("          wait mma 0\n        }\n      }", "          wait mma 0\n        }\n      } }"),
    "a slot of its own": COLUMNS.replace("sB[ko % 2, kk*16, 0]", "sB[(ko + c) % 2, kk*16, 0]").replace("copy sB[ko % 2,", "copy sB[(ko + c) % 2,"),
    "used before": COLUMNS.replace("    if g < 1 { for", "    sB[0, g*32 + w*8, lane] = 1\n    fence async\n    barrier\n    if g < 1 { for"),
    "read before": COLUMNS.replace("    if g < 1 { for i, j in acc { acc[i, j] = 0 } }", "    local seen: f16[]\n    sB[0, g*32 + w*8, lane] = 1\n    if sB[0, g*32 + w*8, lane] > 0 { seen[] = 1 }\n    fence async\n    barrier\n    if g < 1 { for i, j in acc { acc[i, j] = 0 } }"),
    "an odd number of rows": COLUMNS.replace("cluster = (c: 2)", "cluster = (c: 3)"),
    "parts in the middle of a pattern": COLUMNS.replace("cluster = (c: 2)", "cluster = (c: 16)"),
}  # fmt: skip


@pytest.mark.parametrize("name", ALONE)
def test_what_they_do_not_have_in_common_is_copied_by_each(name: str) -> None:
    """Whatever else is wrong with such a program."""
    assert ALONE[name] != COLUMNS
    (launch,) = pipeline.program(machine(ALONE[name])).launches
    found = calls(launch)
    assert [(c.tensor, c.parts) for c in found] == [("A", 1 + (name == "another cluster")), ("B", 1)], found
    assert all((c.parts > 1) == (c.mask > 0) for c in found)


def test_other_places_are_refuted() -> None:
    """The order of blocks is that of any grid, so nothing is new of it."""
    verdict = pipeline.check(machine(COLUMNS.replace("A[by*128 + c*64 + i, ko*64", "A[by*128 + i, ko*64")))
    assert isinstance(verdict, Refutation) and verdict.diagnostic.code.startswith("TG50"), verdict


MISPRINTED = {
    "a part for itself": ("tensor_copy(2, 2, 8192, 3)", "tensor_copy(2, 2, 8192, 1)"),
    "the bytes of the part": ("tensor_copy(2, 2, 8192, 3)", "tensor_copy(2, 2, 4096, 3)"),
    "no part": ("tensor_copy(2, 2, 8192, 3)", "tensor_copy(2, 2, 8192)"),
    "the part of the neighbour": ("ix(ko*64) + ix(c*32)", "ix(ko*64) + ix(32 - c*32)"),
    "for others": ("B_in_boxes_of_32_by_64, 0,", "B_in_boxes_of_32_by_64, 1,"),
    "empty when the own warps are done": ("ring('begin', 2, 1, 4, 2)", "ring('begin', 2, 1, 4)"),
    "only the own block is told": ("ring('used', 2, 0, 2)", "ring('used', 2, 0)"),
    "waits as for its own": ("ring('fill', 2, 2)", "ring('fill', 2)"),
    "a block may be gone": ("        cluster_barrier()", "        pass"),
    "no cluster": ('"clusters": (2,),', ""),
    "a larger cluster": ('"clusters": (2,),', '"clusters": (4,),'),
}  # fmt: skip


def test_no_other_text_is_taken() -> None:
    no_other_text_is_taken(machine(COLUMNS), MISPRINTED)


def test_who_shares_a_box_out_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the calls for a box somebody else counts what comes to each block."""
    (launch,) = pipeline.program(machine(COLUMNS)).launches
    node = ast.parse("0")
    boxes(launch, "sm_90a", node)
    right = cluster.sent

    def of_the_first_block(one: Boxed, layout: Layout, told: tuple[str, Term], parts: int, part: Term) -> Iterator[Sent]:
        return right(one, layout, told, parts, Const(0))

    monkeypatch.setattr(cluster, "sent", of_the_first_block)
    with pytest.raises(Differs):
        boxes(launch, "sm_90a", node)
    monkeypatch.setattr(cluster, "sent", right)
    monkeypatch.setattr(cluster, "mask", lambda launch, same: 0b01)
    with pytest.raises(Differs):
        boxes(launch, "sm_90a", node)


@pytest.mark.parametrize("name", ["columns", "both"])
def test_the_machine_code_has_what_was_promised(name: str) -> None:
    needs_cuda()
    (report,) = gate([pipeline.program(pipeline.load(FILE).spec.machine(name))], (9, 0, "a"))
    assert report.refused() == () and (report.stack_bytes, report.spill_bytes) == (0, 0)
    if disassembler():
        named = [i.name for i in report.instructions]
        assert any(n.startswith("UTMALDG.2D.MULTICAST") for n in named) and any(n.startswith("UCGABAR") for n in named), named


def test_a_cluster_is_an_assumption() -> None:
    found = axioms(pipeline.program(machine(COLUMNS)))
    assert "cluster" in found and "cluster" not in axioms(pipeline.program(machine(ALONE["no cluster"])))


@pytest.mark.parametrize(("arch", "blocks"), [("sm_80", "none"), ("", "none"), ("sm_90", "8")])
def test_how_large_a_cluster_may_be_is_said(arch: str, blocks: str) -> None:
    text = "op copy(x: f32[n]) -> (z: f32[n]) { z[i] = x[i] }\nmachine m : copy on sm_90 {\n  work grid = (g), cluster = (c: 9), block = (t: 32)\n  compute i = (g, c, t)\n}\n"
    text = text.replace(" on sm_90", f" on {arch}" * bool(arch))
    verdict = pipeline.check(machine(text))
    assert (
        isinstance(verdict, Refutation)
        and verdict.diagnostic.code == "TG407"
        and verdict.diagnostic.title.endswith(f"allows {blocks}")
    )


def test_a_box_that_neighbours_want_is_read_once() -> None:
    """So says what is counted; without a cluster every block reads it."""
    sizes = {"M": 256, "N": 128, "K": 128}
    found = [
        {f.array: f.moved for f in measure(pipeline.program(machine(text)), sizes).flows} for text in (COLUMNS, ALONE["no cluster"])
    ]
    assert found[0]["B"] * 2 == found[1]["B"] and found[0]["A"] == found[1]["A"]
