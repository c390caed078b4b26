"""Machines whose output goes by way of a tile while a role of its own has the operands copied: derived as one would write them, and with one thing changed refuted.

Comes in: a machine with `stage C[i, j] at block in shared` beside boxes, and changes of the program that is derived. Goes out: verdicts; what kernels compute. The one
idea: what threads that multiply store together is a copy under their condition, shared out among them alone.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emit.interpreter import run
from tinygpu import pipeline
from tinygpu.commands.show import stage_text
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof, Refutation
from tinygpu.recheck import Disagreement
from tinygpu.recheck.run import rerun
from tinygpu.simulate.inputs import random_inputs

OP = "op mm(A: f16[M, K], B: f16[K, N]) -> (C: f16[M, N]) { C[i, j] = f16(sum[k] f32(A[i, k]) * f32(B[k, j])) }\n"
LATE = """machine late : mm on sm_90a {
  work    grid = (by, bx), block = (g: 2, w: 4, lane: 32)
  compute i = (by, g, im)
          j = (bx, jn)
          k = (ko, kk: 2, ka)
  time    ko, kk
  use wgmma_m64n16k16_n(i: im, j: jn, k: ka) by (w, lane)
  stage A[i, k] at ko in shared ring 2 by tensor_copy
  stage B[k, j] at ko in shared ring 2 by tensor_copy
  stage C[i, j] at block in shared
}
"""
WARPS = """machine warps : mm on sm_90 {
  work    grid = (by, bx), block = (w: 2, lane: 32)
  compute i = (by, w, im)
          j = (bx, nj: 8, jn)
          k = (ko, ka)
  time    ko
  register nj
  use mma_m16n8k16(i: im, j: jn, k: ka) by lane
  stage A[i, k] at ko in shared ring 2 by tensor_copy
  stage B[k, j] at ko in shared ring 2 by tensor_copy
  stage C[i, j] at block in shared
}
"""
ALONE = WARPS.replace("nj: 8", "nj: 10")  # rows of 160 bytes, which the unit cuts into five
RIGHT = {"a warpgroup's": LATE, "a warp's": WARPS, "rows in panels": ALONE}
TEXT = OP + LATE[: LATE.index("  work")] + "  work grid = (by: ceil(M / 128), bx: ceil(N / 16)), block = (g: 3, w: 4, lane: 32)\n"
COPY = "  if g < 2 { copy C"


GROUPED = Path("specs/tensor_cores.tgpu").read_text()
GROUPED = GROUPED[GROUPED.index("op grouped_half") : GROUPED.index("machine grouped_mma")]
CHOSEN = """machine chosen : grouped_half on sm_90 {
  work grid = (by: ceil(M / 64), bx: ceil(N / 64)), block = (t: 2, lane: 32)
  program {
    shared sw: f16[2, 16, 64] swizzle(3, 3, 3)
    ring tiles: 2
    local s: f32[64]
    for m < 64 { s[m] = 0 }
    for ko < ceil(K / 16) {
      if t == 1 {
        fill tiles at ko { copy sw[ko % 2, k, n] = w[group[by], ko*16 + k, bx*64 + n | 0] by tensor_copy }
      }
      if t == 0 {
        use tiles at ko {
          for m < 64 in register {
            for k < 16 { s[m] += f32(x[by*64 + m, ko*16 + k | 0]) * f32(sw[ko % 2, k, lane]) }
          }
        }
      }
    }
  }
}
"""
REFUSED = {  # what is changed of a machine, and the message
    "another loop around": (OP + LATE.replace("(by, bx)", "(by)").replace("bx, jn", "bo: 2, bx, jn").replace("time    ko", "time    bo, bx, ko").replace("at block", "at bx"), "the loop over"),
    "two factors beside the lanes": (OP + WARPS.replace("block = (w: 2,", "block = (v: 2, w: 2,").replace("(by, w, im)", "(by, v, w, im)"), "the block has 2 factors"),
    "one operand is copied by lanes": (OP + LATE.replace("B[k, j] at ko in shared ring 2 by tensor_copy", "B[k, j] at ko in shared ring 2 async"), "others are not"),
    "data that no lane reads": (GROUPED + CHOSEN.replace("group[by], ko*16 + k", "group[by], ko*16 + 16 + k"), "data tell where it begins"),
}  # fmt: skip


def machine(text: str) -> Machine:
    return pipeline.load_text(text).machines[0]


PROGRAM = stage_text(machine(OP + LATE), "program")
WRONG = {  # what is changed of the program, and the code that is said
    "the tile is stored before all have come": (PROGRAM.replace("  barrier\n", ""), "TG302"),
    "sums that have not landed": (PROGRAM.replace("    wait mma 0\n", ""), "TG310"),
    "one group stores for itself alone": (PROGRAM.replace(COPY, "  if g < 2 and by == 0 { copy C"), "TG201"),
    "who has copied stores what it has not": (PROGRAM.replace("  if g < 2 {\n    wait", "  if g < 1 {\n    wait"), "TG"),
    "rows of the other group": (PROGRAM.replace("sC[g*64 + i, j] =", "sC[(1 - g)*64 + i, j] ="), "TG"),
    "a tile twice": (PROGRAM.replace("  if g < 2 { copy C", "  if g < 3 and w < 4 { copy C").replace("copy C[", "C[by*128, bx*16] += 1 if g == 0\n    copy C["), "TG"),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_they_are_proved(name: str) -> None:
    assert isinstance(pipeline.check(machine(OP + RIGHT[name])), Proof)


def test_what_is_shown_is_the_program() -> None:
    """Its boxes have loops that no text says, so those of other copies keep their names."""
    assert pipeline.program(machine(TEXT + PROGRAM + "}\n")).launches == pipeline.program(machine(OP + LATE)).launches


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_roles_is_said(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(TinygpuError) as told:
        pipeline.program(machine(text))
    assert any(reason in d.title for d in told.value.diagnostics), told.value.diagnostics


def test_a_box_may_begin_where_data_tell() -> None:
    """Its first element is inside, so lanes would read those data, too."""
    assert pipeline.program(machine(GROUPED + CHOSEN)).launches


@pytest.mark.parametrize("shared", ["if g == 1", "if g < 1 and w < 4", "if g < 7", "if w < 3"])
def test_a_copy_is_shared_out_among_those_whom_its_conditions_name(shared: str) -> None:
    text = PROGRAM.replace(COPY, f"  {shared} {{ copy C")
    assert text != PROGRAM
    assert isinstance(pipeline.check(machine(TEXT + text + "}\n")), Proof)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refuted(name: str) -> None:
    text, code = WRONG[name]
    assert text != PROGRAM
    verdict = pipeline.check(machine(TEXT + text + "}\n"))
    assert isinstance(verdict, Refutation), verdict
    assert verdict.diagnostic.code.startswith(code), verdict.diagnostic
    assert isinstance(rerun(pipeline.program(machine(TEXT + text + "}\n"))), Disagreement)


@pytest.mark.sampled
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("text", [LATE, ALONE], ids=["late", "alone"])
def test_kernels_compute_the_product(text: str, wide: bool) -> None:
    """With products that land last, and boxes that land when nobody can go on without them."""
    program = pipeline.program(machine(OP + text))
    sizes = {"M": 35, "N": 24, "K": 72}
    inputs = random_inputs(program.op, sizes, seed=1)
    wanted = np.asarray(inputs["A"], np.float64) @ np.asarray(inputs["B"], np.float64)
    found = run(program, sizes, inputs, 32, wide=wide, order="mixed")
    np.testing.assert_allclose(np.asarray(found["C"], np.float64), wanted, rtol=1e-2, atol=1e-2)
