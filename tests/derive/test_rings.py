"""Stages whose tiles take turns: derived as one would write them, step for step, and proved; what is no ring is refused.

Comes in: machines with `ring n async` and `ring n`, and the program of one by hand. Goes out: programs compared, verdicts, outputs. The one idea: a derivation is worth what
it equals.
"""

from __future__ import annotations

import pytest

from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import Proof, Refutation
from tinygpu.program.call import Commit, Wait
from tinygpu.proof.replay import misbehaviour

OP = "op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }\n"
RING = """
machine ring : matmul on sm_80 {
  work    grid = (by, bx), block = (ty: 16, tx: 16)
  compute i = (by, ty), j = (bx, tx), k = (ko, ki: 64)
  time    ko, ki
  stage   A[i, k] at ko in shared ring 3 async
  stage   B[k, j] at ko in shared ring 3 async
}
"""
BY_HAND = """
machine ring : matmul on sm_80 {
  work grid = (by: ceil(M / 16), bx: ceil(N / 16)), block = (ty: 16, tx: 16)
  program {
    shared A_tile: f32[3, 16, 64], B_tile: f32[3, 64, 16]
    local acc: f32[]
    acc[] = 0
    for p < 2 {
      for lane < 4 in vector {
        async A_tile[p, ty, tx*4 + lane] = A[by*16 + ty, p*64 + tx*4 + lane] if by*16 + ty < M and p*64 + tx*4 + lane < K else 0
      }
      for lane < 4 in vector {
        async B_tile[p, ty*4 + tx // 4, tx % 4 * 4 + lane] =
          B[p*64 + ty*4 + tx // 4, bx*16 + tx % 4 * 4 + lane] if p*64 + ty*4 + tx // 4 < K and bx*16 + tx % 4 * 4 + lane < N else 0
      }
      commit
    }
    for ko < ceil(K / 64) {
      wait 1
      barrier
      for lane < 4 in vector {
        async A_tile[(ko + 2) % 3, ty, tx*4 + lane] =
          A[by*16 + ty, (ko + 2) * 64 + tx*4 + lane] if by*16 + ty < M and (ko + 2) * 64 + tx*4 + lane < K else 0
      }
      for lane < 4 in vector {
        async B_tile[(ko + 2) % 3, ty*4 + tx // 4, tx % 4 * 4 + lane] =
          B[(ko + 2) * 64 + ty*4 + tx // 4, bx*16 + tx % 4 * 4 + lane] if (ko + 2) * 64 + ty*4 + tx // 4 < K and bx*16 + tx % 4 * 4 + lane < N else 0
      }
      commit
      for ki < 64 { acc[] += A_tile[ko % 3, ty, ki] * B_tile[ko % 3, ki, tx] }
    }
    C[by*16 + ty, bx*16 + tx] = acc[] if by*16 + ty < M and bx*16 + tx < N
  }
}
"""
HELD = BY_HAND.replace("ring : matmul on sm_80", "ring : matmul").replace("async ", "").replace("      commit\n", "").replace("      wait 1\n      barrier\n", "").replace(
    "    for ko < ceil", "    barrier\n    for ko < ceil").replace("local acc: f32[]", "local acc: f32[], A_tile_next: f32[4], B_tile_next: f32[4]")  # fmt: skip
for tile in "AB":  # what the next turns need waits in cells
    at = HELD.index(f"{tile}_tile[(ko + 2) % 3")
    element = HELD[at : HELD.index(" =", at)]
    HELD = HELD.replace(element, f"{tile}_tile_next[lane]").replace("      for ki", "      MORE\n      for ki", tile == "A")
    kept = f"      for lane < 4 in vector {{ {element} = {tile}_tile_next[lane] }}\n"
    HELD = HELD.replace("    }\n    C[by", f"{kept}    }}\n    C[by")
HELD = HELD.replace("      MORE\n", "").replace("    }\n    C[by", "      barrier\n    }\n    C[by")
PLAIN = RING.replace(" async", "").replace(" on sm_80", "")
MAX = "op largest(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = max[k] (A[i, k] + B[k, j]) }\n"
RIGHT = {
    "a ring of two": OP + RING.replace("ring 3", "ring 2"),
    "a ring of four": OP + RING.replace("ring 3", "ring 4"),
    "one operand": OP + RING.replace("  stage   A[i, k] at ko in shared ring 3 async\n", ""),
    "a tile that is turned": OP + RING.replace("A[i, k] at ko in shared ring 3 async", "A[i, k] at ko in shared ring 3 async { layout (k, i) pad 4 }"),
    "a fold that is no sum": MAX + RING.replace(": matmul", ": largest"),
    "a loop around": OP + RING.replace("(by, bx)", "(by)").replace("j = (bx, tx)", "j = (jo, tx)").replace("time    ko", "time    jo, ko"),
    "by way of registers": OP + PLAIN,
    "by way of registers, two": OP + PLAIN.replace("ring 3", "ring 2"),
    "by way of registers, a loop around": OP + PLAIN.replace("(by, bx)", "(by)").replace("j = (bx, tx)", "j = (jo, tx)").replace("time    ko", "time    jo, ko"),
    "by way of registers, several loops": OP + PLAIN.replace("ring 3", "ring 2").replace("ring 2", "ring 2 { layout (k, i) pad 4 }", 1).replace("i = (by, ty)", "i = (by, ty, v: 8)").replace("ki: 64", "ki: 16").replace("  time    ko, ki", "  time    ko, ki\n  register v"),
    "rows without a tail": OP.replace(" {", " where K % 64 == 0 {", 1) + RING,
}  # fmt: skip
WRONG = {
    "one tile": OP + RING.replace("ring 3", "ring 1"),
    "two lengths": OP + RING.replace("ring 3", "ring 2", 1),
    "beside a plain tile": OP + RING.replace("ring 3 async", "", 1),
    "one of them by way of registers": OP + RING.replace("ring 3 async", "ring 3", 1),
    "a ring of what is computed": OP.replace("C[i, j] = sum[k] A[i, k]", "D[i, k] = 2 * A[i, k]\n C[i, j] = sum[k] D[i, k]") + RING.replace("stage   A", "stage   D"),
}  # fmt: skip


@pytest.mark.sampled(3)
def test_it_is_what_one_would_write() -> None:
    for ring, by_hand in ((RING, BY_HAND), (PLAIN, HELD)):
        derived, written = (pipeline.program(pipeline.load_text(OP + text).machines[0]) for text in (ring, by_hand))
        assert derived.launches == written.launches
        assert isinstance(pipeline.check(pipeline.load_text(OP + ring).machines[0]), Proof)
        assert misbehaviour(derived, {"M": 17, "K": 193, "N": 5}) is None


def test_a_barrier_less_is_refuted() -> None:
    for old, new in (("      barrier\n    }\n    C[by", "    }\n    C[by"), ("    barrier\n    for ko", "    for ko")):
        assert HELD.count(old) == 1
        verdict = pipeline.check(pipeline.load_text(OP + HELD.replace(old, new)).machines[0])
        assert isinstance(verdict, Refutation) and verdict.diagnostic.code == "TG302"


@pytest.mark.sampled
@pytest.mark.parametrize("name", RIGHT)
def test_a_ring_is_proved_and_computes_the_equation(name: str) -> None:
    machine = pipeline.load_text(RIGHT[name]).machines[0]
    assert isinstance(pipeline.check(machine), Proof)
    program = pipeline.program(machine)
    assert any(isinstance(s, Commit | Wait) for s in program.steps) == ("registers" not in name)
    sizes = {"M": 17, "K": 128 if "tail" in name else 130, "N": 5}
    assert misbehaviour(program, sizes, ends=1) is None


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_ring_is_refused(name: str) -> None:
    with pytest.raises(TinygpuError) as caught:
        pipeline.program(pipeline.load_text(WRONG[name]).machines[0])
    assert caught.value.diagnostics[0].code == "TG546"


def test_a_ring_that_several_loops_turn_has_its_slots_once() -> None:
    text = """op softmax(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {
  m[r]    = max[j] x[r, j]
  s[r]    = sum[j] exp(x[r, j] - m[r])
  y[r, j] = exp(x[r, j] - m[r]) / s[r]
}

machine rows : softmax on sm_80 {
  work    grid = (rb), block = (rt: 128)
  compute r = (rb, rt)
  time    j
  stage x[r, j] at j in shared ring 3 async
}
"""
    for spec in (text, text.replace("ring 3 async", "ring 2")):
        (machine,) = pipeline.load_text(spec).machines
        assert isinstance(pipeline.check(machine), Proof)
