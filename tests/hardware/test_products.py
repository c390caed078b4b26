"""Products of a warpgroup, which land later, in programs: rings of them are proved for all sizes, and with one thing changed they are refuted; their text does
what the manual says.

Comes in: `products.tgpu` of `specs/` beside this file, and changes of its text. Goes out: verdicts; the simulator's faults; outputs; machine code. The one idea:
each rule about what is under way, and about what a unit sees, has a program that breaks that one alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.machine_code import disassembler, gate, loops
from tests.emit.interpreter import run
from tests.emit.test_cuda_prelude import needs_cuda
from tests.hardware.asked import is_refuted, no_other_text_is_taken
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof
from tinygpu.recheck import Disagreement
from tinygpu.recheck.run import rerun
from tinygpu.simulate.fault import UnderWay, Unfenced
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

TEXT = (Path(__file__).parent / "specs/products.tgpu").read_text()
OP = TEXT[: TEXT.index("# Rows of A")]
TURN = TEXT[TEXT.index("machine in_turn") : TEXT.index("# Two warpgroups")]
RING = TEXT[TEXT.index("machine ring") : TEXT.index("# A stays")]
HELD = TEXT[TEXT.index("machine held") : TEXT.index("# Rows of B")]
FEWER = RING.replace("[4,", "[3,").replace("% 4", "% 3")
AHEAD = RING.replace("p < 2", "p < 3").replace("wait 1\n", "wait 2\n").replace("(ko + 2)", "(ko + 3)")
CHAIN = """
op mm(A: f16[64, 16], B: f16[16, 16], D: f16[64, 16]) -> (C: f16[64, 16]) {
  s[i, k] = A[i, k] + D[i, k]
  C[i, j] = sum[k] s[i, k] * B[k, j]
}
machine chain : mm on sm_90a {
  work grid = (), block = (w: 4, lane: 32)
  program {
    shared sB: f16[16, 16] swizzle(1, 3, 3)
    shared sI: f16[16, 16] swizzle(1, 3, 3)
    fragment a: f16[64, 16] of wgmma_m64n16k16_rn.a
    fragment p: f16[64, 16] of wgmma_m64n16k16_rn.c
    fragment acc: f16[64, 16] of wgmma_m64n16k16_rn.c
    copy sB[k, j] = B[k, j]
    copy sI[k, j] = 1 if k == j else 0
    for i, k in a { a[i, k] = A[i, k] }
    for i, k in p { p[i, k] = D[i, k] }
    for i, j in acc { acc[i, j] = 0 }
    fence async
    barrier
    fence mma
    async wgmma_m64n16k16_rn(p[0, 0], a[0, 0], sI[0, 0])
    commit mma
    wait mma 0
    fence mma
    async wgmma_m64n16k16_rn(acc[0, 0], p[0, 0], sB[0, 0])
    commit mma
    wait mma 0
    for i, j in acc { C[i, j] = acc[i, j] }
  }
}
"""
RIGHT = {
    "a group under way": RING,
    "three slots, none under way": FEWER.replace("wait mma 1", "wait mma 0"),
    "three tiles ahead, none under way": AHEAD.replace("wait mma 1", "wait mma 0"),
    "more fences only help": RING.replace("      wait 1\n", "      fence async\n      fence mma\n      wait 1\n"),
}
WRONG = {  # what is changed, and the code that is said
    "no proxy fence": (TURN.replace("      fence async\n", ""), "TG312"),
    "the proxy fence behind the barrier": (TURN.replace("      fence async\n      barrier\n", "      barrier\n      fence async\n"), "TG312"),
    "the proxy fence before the copies": (
        TURN.replace("      fence async\n", "").replace("      copy sA", "      fence async\n      copy sA"),
        "TG312",
    ),
    "the proxy fence before the copies have landed": (
        RING.replace("      wait 1\n      fence async\n", "      fence async\n      wait 1\n"),
        "TG312",
    ),
    "some of the threads make the proxy fence": (TURN.replace("      fence async\n", "      if w > 0 { fence async }\n"), "TG312"),
    "no fence of registers": (TURN.replace("      fence mma\n", ""), "TG312"),
    "registers are written behind the fence": (
        HELD.replace("      fence mma\n", "").replace("      fence async\n", "      fence async\n      fence mma\n").replace(
            "      async", "      for i, k in a { a[i, k] = a[i, k] }\n      async"
        ),
        "TG312",
    ),
    "no barrier before the products": (TURN.replace("      fence async\n      barrier\n", "      fence async\n"), "TG3"),
    "no commit": (TURN.replace("      commit mma\n", ""), "TG310"),
    "no wait": (TURN.replace("      wait mma 0\n", ""), "TG310"),
    "waits for copies": (TURN.replace("wait mma 0", "wait 0"), "TG310"),
    "a group too many": (TURN.replace("wait mma 0", "wait mma 1"), "TG310"),
    "told before it has landed": (TURN.replace("      wait mma 0\n      barrier\n", "      barrier\n      wait mma 0\n"), "TG310"),
    "nobody is told": (TURN.replace("      wait mma 0\n      barrier\n", "      wait mma 0\n"), "TG3"),
    "sums read before they have landed": (RING.replace("    wait mma 0\n", ""), "TG310"),
    "the last group is left under way": (RING.replace("    wait mma 0\n", "    wait mma 1\n"), "TG310"),
    "a slot too few": (FEWER, "TG310"),
    "a tile too far ahead": (AHEAD, "TG310"),
    "no group ends": (RING.replace("      commit mma\n", ""), "TG310"),
    "nothing waits in the loop": (RING.replace("      wait mma 1\n", ""), "TG310"),
    "copies are waited for too late": (RING.replace("      wait 1\n", "      wait 2\n"), "TG310"),
    "registers are filled again too early": (HELD.replace("      wait mma 0\n      barrier\n", "").replace("    for i, j in acc {\n", "    wait mma 0\n    for i, j in acc {\n"), "TG310"),
    "what a product leaves is an operand of the next": (CHAIN.replace("    commit mma\n    wait mma 0\n    fence mma\n", ""), "TG310"),
    "of the other warpgroup": (RING.replace("g*64, kk*16]", "64 - g*64, kk*16]"), "TG50"),
    "a tile twice": (TURN.replace("sB[kk*16, 0]", "sB[0, 0]"), "TG50"),
    "half of the sum": (TURN.replace("kk < 4 in", "kk < 3 in"), "TG50"),
    "not all warps come": (TURN.replace("        async", "        if w < 2 { async").replace("kk*16, 0])", "kk*16, 0]) }"), "TG303"),
    "not all warps wait": (TURN.replace("      wait mma 0\n", "      if lane < 8 { wait mma 0 }\n"), "TG3"),
    "behind the end of the tile": (TURN.replace("sB[kk*16, 0]", "sB[kk*16 + 16, 0]"), "TG203"),
}  # fmt: skip


def machine(text: str) -> Machine:
    return pipeline.load_text(text if "op " in text else OP + text).machines[0]


@pytest.mark.parametrize("name", RIGHT)
def test_products_under_way_are_proved(name: str) -> None:
    assert isinstance(pipeline.check(machine(RIGHT[name])), Proof)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refuted(name: str) -> None:
    text, code = WRONG[name]
    assert text not in (TURN, RING, HELD)
    is_refuted(machine(text), code)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_the_second_checker_sees_it_too(name: str) -> None:
    text, code = WRONG[name]
    found = rerun(pipeline.program(machine(text)))
    assert isinstance(found, Disagreement)
    assert {"TG310": UnderWay, "TG312": Unfenced}.get(code, object) in type(found.seen).__mro__


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["in_turn", "ring"])
@pytest.mark.parametrize("late", [True, False])
def test_more_turns_do_what_the_program_says(name: str, late: bool) -> None:
    """With products that land as late as they may, and tiles that are copied over meanwhile."""
    program = pipeline.program(pipeline.load_text(TEXT).spec.machine(name))
    sizes = {"M": 5, "N": 34, "K": 137 if late else 64}
    inputs = random_inputs(program.op, sizes, seed=3)
    wanted = simulate(program, sizes, inputs)
    assert wanted.faults == ()
    found = run(program, sizes, inputs, 32, wide=False, order="mixed" if late else "backwards")
    np.testing.assert_allclose(found["C"], wanted.outputs["C"], rtol=1e-4, atol=1e-4)


def test_the_machine_code_has_nothing_between_its_products_but_descriptors() -> None:
    needs_cuda()
    for name, products, copies in (("in_turn", 4, 0), ("ring", 2, 3)):
        (report,) = gate([pipeline.program(pipeline.load_text(TEXT).spec.machine(name))], (9, 0, "a"))
        assert report.refused() == () and (report.stack_bytes, report.spill_bytes) == (0, 0)
        if not disassembler():
            continue
        body = max((*loops(report.instructions), report.instructions), key=lambda found: sum("GMMA" in i.name for i in found))
        assert sum(i.name.startswith("HGMMA") for i in body) == products
        assert sum(i.name.startswith("WARPGROUP.ARRIVE") for i in body) == 1
        assert sum(i.name.startswith("WARPGROUP.DEPBAR") for i in body) == 1
        assert sum("LDGSTS" in i.name for i in body) == copies
        if name == "ring":  # where the assembler puts what copies need between
            continue
        places = [at for at, i in enumerate(body) if "HGMMA" in i.name]
        between = {i.name.split(".")[0] for i in body[places[0] : places[-1]]} - {"HGMMA"}
        assert between <= {"UIADD3", "UMOV", "ULEA"}, between  # ULEA adds what it shifts


USED = """
machine used : mm on sm_90a {
  work    grid = (by, bx), block = (g: 2, w: 4, lane: 32)
  compute i = (by, g, im), j = (bx, jn), k = (ko, kk: 2, ka)
  time    ko, kk
  use wgmma_m64n64k16_n(i: im, j: jn, k: ka) by (w, lane)
  stage A[i, k] at ko in shared ring 4 async
  stage B[k, j] at ko in shared ring 4 async
}
"""


def test_what_is_derived_is_what_one_writes() -> None:
    """But for the copies of a turn, which are begun before its products."""
    copies = RING[RING.index("      copy async sA[(ko") : RING.index("    }\n    wait mma 0")]
    written = RING.replace(copies, "").replace("      fence mma\n", f"{copies}      fence mma\n")
    written = written.replace("(ko + 2)*32 + k", "ko*32 + k + 64").replace("panels 32 swizzle(2", "swizzle(3")
    derived = pipeline.program(machine(USED))
    assert derived.launches == pipeline.program(machine(written)).launches
    assert isinstance(pipeline.check(machine(USED)), Proof)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["nt_wgmma", "tn_wgmma", "tt_wgmma"])
def test_tiles_that_lie_each_way_are_found(name: str) -> None:
    """By descriptors, decoded as the manual says, from products that land as late as they may."""
    program = pipeline.program(pipeline.load("specs/tensor_cores.tgpu").spec.machine(name))
    sizes = {"M": 70, "N": 9, "K": 70}
    inputs = random_inputs(program.op, sizes, seed=1)
    a, b = (np.asarray(inputs[x], np.float64) for x in "AB")
    found = run(program, sizes, inputs, 32, wide=False, order="mixed")
    wanted = (a if name == "nt_wgmma" else a.T) @ (b if name == "tn_wgmma" else b.T)
    np.testing.assert_allclose(found["C"], wanted, rtol=1e-2, atol=1e-2)


MISPRINTED = {  # of a kernel: what stands there, and what does something else
    "a pattern that begins in the middle": ("shared(u16, 1024)", "shared(u16, 32)"),
    "any GPU of that number": ('(9, 0, "a")', "(9, 0)"),
    "no fence of registers": ("products_fence(acc, ix(0))", "pass"),
    "registers that a wait does not hold": ("sync.aligned 0;', 'acc:rw:16')", "sync.aligned 0;', '')"),
    "a group that is left": ("wait_group.sync.aligned 0;", "wait_group.sync.aligned 1;"),
    "another tile": ("sA, ix(", "sA, ix(16 + "),
}  # fmt: skip


def test_no_other_text_is_taken() -> None:
    made = machine(TURN.replace("    shared sA", "    shared extra: f32[8]\n    shared sA"))
    no_other_text_is_taken(made, MISPRINTED)


REFUSED = {  # what is changed, and the message
    "it is not said to land later": (TURN.replace("async wgmma", "wgmma"), "TG182.later"),
    "another architecture": (TURN.replace("sm_90a", "sm_90"), "TG182.arch"),
    "a newer architecture": (TURN.replace("sm_90a", "sm_100"), "TG182.arch"),
    "rows that no pattern has": (TURN.replace("sA: f16[64, 64] swizzle(3, 3, 3)", "sA: f16[64, 64]"), "TG182.descriptor"),
    "rows that are too long": (TURN.replace("sA: f16[64, 64]", "sA: f16[64, 128]"), "TG182.descriptor"),
    "a pattern of other rows": (TURN.replace("sB: f16[64, 32] swizzle(2, 3, 3)", "sB: f16[64, 32] swizzle(1, 3, 3)"), "TG182.descriptor"),
    "half of a panel": (TURN.replace("sB: f16[64, 32] swizzle(2, 3, 3)", "sB: f16[64, 64] swizzle(3, 3, 3)"), "TG182.descriptor"),
    "in the middle of eight rows": (RING.replace("g*64, kk*16]", "g*68, kk*16]"), "TG182.tile"),
    "in the middle of a row's tile": (TURN.replace("sA[0, kk*16]", "sA[0, kk*16 + 8]"), "TG182.tile"),
    "a unit that there is none of": (TURN.replace("commit mma", "commit mme"), "TG183.unit"),
    "threads that are no warpgroup": (TURN.replace("w: 4,", "w: 2,"), "TG182.threads"),
    "a panel that is no part of a row": (RING.replace("panels 32", "panels 48"), "TG158.array"),
    "an operand that nobody stages": (USED.replace("  stage B[k, j] at ko in shared ring 4 async\n", ""), "TG184.unstaged"),
    "a tile that no pattern has": (USED.replace("B[k, j] at ko in shared ring 4 async", "B[k, j] at ko in shared ring 4 async { layout pad 8 }"), "TG184.descriptor"),
    "a tile of the other order": (USED.replace("k16_n(", "k16("), "TG184.beside"),
    "how a tile is copied": (USED.replace("B[k, j] at ko in shared ring 4 async", "B[k, j] at ko in shared ring 4 async {\n  vector v\n}"), "TG184.copy"),
    "a name that a tensor has": (USED.replace("w: 4, lane: 32", "A: 4, lane: 32").replace("by (w,", "by (A,"), "TG103.hides"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_hardware_has_not_is_said(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(TinygpuError) as told:
        pipeline.program(machine(text))
    assert message.split(".")[0] in {d.code for d in told.value.diagnostics}
