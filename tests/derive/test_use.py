"""Machines that use an instruction: derived as one would write them, step for step, proved and run.

Comes in: the machines of `use.tgpu` and of the library. Goes out: programs compared, verdicts, outputs. The one idea: what is shown of a derivation is a text, and
the text is the program.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.library import loaded
from tinygpu import pipeline
from tinygpu.commands.show import stage_text
from tinygpu.pipeline import Proof
from tinygpu.proof.replay import misbehaviour, replay
from tinygpu.simulate.sizes import sizes_to_try

OP = "op mm(A: f16[M, K], B: f16[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] f32(A[i, k]) * f32(B[k, j]) }\n"
MACHINE = """
machine ring : mm on sm_80 {
  work     grid = (by, bx), block = (wy: 2, wx: 2, lane: 32)
  compute  i = (by, wy, mi: 2, im), j = (bx, wx, nj: 4, jn), k = (ko, kk: 2, ka)
  time     ko, kk
  register mi, nj
  use      mma_m16n8k16(i: im, j: jn, k: ka) by lane
  stage    A[i, k] at ko in shared ring 3 async
  stage    B[k, j] at ko in shared ring 3 async
}
"""
BY_HAND = """
machine ring : mm on sm_80 {
  work grid = (by: ceil(M / 64), bx: ceil(N / 64)), block = (wy: 2, wx: 2, lane: 32)
  program {
    shared sA: f16[3, 64, 32] swizzle(2, 3, 3)
    shared sB: f16[3, 32, 64] swizzle(3, 3, 3)
    fragment acc: f32[32, 32] of mma_m16n8k16.c
    fragment a: f16[32, 16] of mma_m16n8k16.a
    fragment b: f16[16, 32] of mma_m16n8k16.b
    for i, j in acc { acc[i, j] = 0 }
    for p < 2 {
      copy async sA[p, i, k] = A[by*64 + i, p*32 + k | 0]
      copy async sB[p, k, j] = B[p*32 + k, bx*64 + j | 0]
      commit
    }
    for ko < ceil(K / 32) {
      wait 1
      barrier
      copy async sA[(ko + 2) % 3, i, k] = A[by*64 + i, ko*32 + k + 64 | 0]
      copy async sB[(ko + 2) % 3, k, j] = B[ko*32 + k + 64, bx*64 + j | 0]
      commit
      for kk < 2 {
        for it < 2 in register { ldmatrix_x4(a[it*16, 0], sA[ko % 3, wy*32 + it*16, kk*16]) }
        for jt < 2 in register { ldmatrix_x4_trans(b[0, jt*16], sB[ko % 3, kk*16, wx*32 + jt*16]) }
        for mi < 2 in register { for nj < 4 in register { mma_m16n8k16(acc[mi*16, nj*8], a[mi*16, 0], b[0, nj*8]) } }
      }
    }
    for i, j in acc { C[by*64 + wy*32 + i, bx*64 + wx*32 + j] = acc[i, j] if by*64 + wy*32 + i < M and bx*64 + wx*32 + j < N }
  }
}
"""
HALF = "op mm(A: f16[M, K], B: f16[K, N]) -> (C: f16[M, N]) { C[i, j] = f16(sum[k] f32(A[i, k]) * f32(B[k, j])) }\n"
STAGED = MACHINE.replace("}\n", "  stage    C[i, j] at block in shared\n}\n")
STORED = BY_HAND.replace("    shared sA", "    shared sC: f16[64, 64] swizzle(3, 3, 3)\n    shared sA").replace(
    "{ C[by*64 + wy*32 + i, bx*64 + wx*32 + j] = acc[i, j] if by*64 + wy*32 + i < M and bx*64 + wx*32 + j < N }",
    """{ sC[wy*32 + i, wx*32 + j] = f16(acc[i, j]) }
    barrier
    copy C[by*64 + i, bx*64 + j] = sC[i, j] if by*64 + i < M and bx*64 + j < N""",
)
VARIANTS = Path(__file__).parent / "use.tgpu"


@pytest.mark.parametrize(
    "pair", [(OP + MACHINE, OP + BY_HAND), (HALF + STAGED, HALF + STORED)], ids=["ring", "output by way of a tile"]
)
def test_it_is_what_one_would_write(pair: tuple[str, str]) -> None:
    derived, written = (pipeline.program(pipeline.load_text(text).machines[0]) for text in pair)
    assert derived.launches == written.launches


def test_what_is_shown_is_the_program() -> None:
    machine = pipeline.load_text(OP + MACHINE).machines[0]
    work = BY_HAND[: BY_HAND.index("  program {")]
    again = pipeline.load_text(OP + work + stage_text(machine, "program") + "}\n").machines[0]
    assert pipeline.program(again).launches == pipeline.program(machine).launches


@pytest.mark.sampled
@pytest.mark.parametrize("name", [machine.name for machine in pipeline.load(VARIANTS).machines])
def test_variants_are_proved_and_compute_their_equation(name: str) -> None:
    machine = pipeline.load(VARIANTS).spec.machine(name)
    assert isinstance(pipeline.check(machine), Proof)
    sizes = dict(zip(machine.op.sizes, (33, 19, 70, 9), strict=False))
    assert misbehaviour(pipeline.program(machine), sizes, ends=1) is None


SHIPPED = [(stem, m.title) for stem in ("tensor_cores", "half_output") for m in loaded(stem).machines if m.use]


@pytest.mark.sampled
@pytest.mark.parametrize(("stem", "title"), SHIPPED, ids=[title for _, title in SHIPPED])
def test_shipped_ones_compute_their_equation(stem: str, title: str, night: bool) -> None:
    """Of all four transpositions, of batches and groups, of each dtype, at sizes that no tile divides: in lockstep on data of which one place stands
    out, and with the threads in another order on any; or in several orders on several data."""
    machine = loaded(stem).spec.machine(title)
    program = pipeline.program(machine)
    (sizes, *_) = [s for s in sizes_to_try(program) if min(s.values()) >= 1]
    assert replay(program, sizes, 0, ends=True) is replay(program, sizes, 1) is None
    assert not night or misbehaviour(program, sizes, ends=1) is None
