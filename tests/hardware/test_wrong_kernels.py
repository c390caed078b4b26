"""The shipped kernels that use instructions, with one thing changed: each is refused or refuted.

Comes in: machines of `specs/`, and changes of their text. Goes out: verdicts. The one idea: what somebody gets wrong in such a kernel is one word of it.
"""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import Refutation

STORED, GROUPS, ANY = "half_output stored[T=f16, MI=2]", "dequantised grouped_mma[MI=1]", "dequantised any_group_mma[MI=1]"
FLASH, SPLIT = "attention flash_mma[F=f16, E=32, N=1]", "decode_groups split_mma[F=f16, E=32, C=4]"
WRONG = {  # by what is wrong: the spec with its machine, a text, what stands there instead, and the code that is said
    "no barrier before the wide stores": (STORED, "    barrier\n    let tC", "    let tC", "TG302"),
    "halves of a fragment exchanged": (STORED, "c[mi*16, nt*16])", "c[mi*16, 16 - nt*16])", "TG50"),
    "rows stored transposed": (STORED, "stmatrix_x4(", "stmatrix_x4_trans(", "TG50"),
    "stored where another warp's tile is": (STORED, "sC[wy*16*MI + mi*16, wx*16*MI", "sC[wx*16*MI + mi*16, wy*16*MI", "TG50"),
    "a wait too late": (STORED, "wait 1", "wait 2", "TG310"),
    "the slot that is filled": (STORED, "sA[ko % 3, wy", "sA[(ko + 2) % 3, wy", "TG310"),
    "columns for rows": (STORED, "ldmatrix_x4_trans(b", "ldmatrix_x4(b", "TG50"),
    "a row short": (STORED, "copy tC[i < 32*MI,", "copy tC[i < 32*MI - 1,", "TG201"),
    "the scale of the next group": (GROUPS, "sa[first + i, g | 0]", "sa[first + i, g + 1 | 0]", "TG50"),
    "the scale of another warp's row": (GROUPS, "sa[first + i, g", "sa[by*32*MI + i, g", "TG50"),
    "a group that is not all of it": (GROUPS, "for kk < 4 {", "for kk < 3 {", "TG50"),
    "a group goes on": (GROUPS, "      for i, j in s { s[i, j] = 0 }\n", "", "TG301"),
    "no barrier before the next group": (GROUPS, "      barrier\n      for i, j in acc", "      for i, j in acc", "TG302"),
    "every group the first": (ANY, "32*L*g + kk*32 + k | 0]\n        barrier", "kk*32 + k | 0]\n        barrier", "TG50"),
    "scales of one operand": (ANY, "sb[g, left + j | 0] * f32", "sa[first + i, g | 0] * f32", "TG50"),
    "weights of other keys": (FLASH, "p[0, kj*16]", "p[0, 48 - kj*16]", "TG509"),
    "a maximum of two lanes": (FLASH, "for far in (1, 2) { top", "for far in (1, 1) { top", "TG509"),
    "the last split is forgotten": (SPLIT, "for z < ceil(T / (64*C)) {", "for z < T // (64*C) {", "TG505"),
    "the next split's keys": (SPLIT, "copy sV[j, d] = V[b, h, from + j", "copy sV[j, d] = V[b, h, from + 64 + j", "TG509"),
    "rows outside are ones": (FLASH, "Q[b, h, first + i, e | 0]", "Q[b, h, first + i, e | 1]", "TG509"),
    "a split of nothing": (SPLIT, "z: ceil(T / (64*C)), br", "z: ceil(T / (64*C)) + 1, br", "TG509"),
    "what was there is not scaled": (
        FLASH,
        "{ o[i, d] *= old[i // 8] }",
        "{ o[i, d] *= 1 }",
        "TG509",
    ),  # from the second tile of keys on
    "a split is not scaled": (SPLIT, "weight[b, h, z, i] * new[]", "weight[b, h, z, i]", "TG509"),  # from the second split on
}


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refused_or_refuted(name: str) -> None:
    machine, right, wrong, code = WRONG[name]
    stem, title = machine.split(" ", 1)
    text = (ROOT / f"specs/{stem}.tgpu").read_text(encoding="utf-8")
    assert right in text
    try:
        verdict = pipeline.check(pipeline.load_text(text.replace(right, wrong)).spec.machine(title))
    except TinygpuError as error:
        assert code in {d.code for d in error.diagnostics}
        return
    assert isinstance(verdict, Refutation), verdict
    assert verdict.diagnostic.code.startswith(code), verdict.diagnostic.title
