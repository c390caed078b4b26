"""Fragments and instructions in programs: right ones are proved for all sizes and run, and with one thing changed they are refused or refuted.

Comes in: the programs of `specs/` beside this file, and changes of their text. Goes out: verdicts, outputs compared. The one idea: a proof of such a program
is worth what its wrong twins say.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Whole
from tests.hardware.right import proofs
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.obligations import wellformed
from tinygpu.pipeline import Proof, Refutation
from tinygpu.program.call import Sync
from tinygpu.program.step import Step
from tinygpu.program.traverse import map_steps
from tinygpu.proof.certificate import program_text
from tinygpu.proof.replay import misbehaviour, replay
from tinygpu.record import replace

SPECS = Path(__file__).parent / "specs"
LIBRARY = Path(__file__).parents[2] / "grammar/std/instructions.tgpu"
STEMS = sorted(path.stem for path in SPECS.glob("*.tgpu"))
# what is changed, by spec: text, what stands there instead, and the code that is said
WRONG = {
    "no barrier before the tiles are read": ("tiled", "      barrier\n      for kk", "      for kk", "TG302"),
    "no barrier before they are written again": (
        "tiled",
        "      }\n      barrier\n    }\n    for i",
        "      }\n    }\n    for i",
        "TG302",
    ),
    "another warp's rows": ("tiled", "sA[wy*32 + mi*16, kk*16]", "sA[wx*32 + mi*16, kk*16]", "TG50"),
    "always the first half of k": ("tiled", "sB[kk*16, wx*32 + nj*8]", "sB[0, wx*32 + nj*8]", "TG50"),
    "a tile in the middle of one": ("tiled", "acc[mi*16, nj*8], a", "acc[mi*8, nj*8], a", "TG182"),
    "rows of the other tile": ("tiled", "a[mi*16, 0], b[0, nj*8]", "a[16 - mi*16, 0], b[0, nj*8]", "TG50"),
    "columns of another tile": ("tiled", "a[mi*16, 0], b[0, nj*8]", "a[mi*16, 0], b[0, 24 - nj*8]", "TG50"),
    "rows that are not at 16 bytes": ("tiled", "sA: f16[64, 32] pad 8", "sA: f16[64, 32] pad 4", "TG182"),
    "a swizzle inside of rows": ("tiled", "sA: f16[64, 32] pad 8", "sA: f16[64, 32] swizzle(2, 2, 3)", "TG182"),
    "a cell of another lane": ("tiled", "= acc[i, j] if", "= acc[i, j // 8 * 8 + (j + 2) % 8] if", "TG182"),
    "stored transposed": (
        "tiled",
        "C[by*64 + wy*32 + i, bx*64 + wx*32 + j] = acc",
        "C[by*64 + wy*32 + j, bx*64 + wx*32 + i] = acc",
        "TG203",
    ),
    "no guard of k": ("tiled", " and ko*32 + lane % 4 * 8 + v < K else 0", " else 0", "TG20"),
    "half a warp": (
        "tiled",
        "{ mma_m16n8k16(acc[mi*16, nj*8], a[mi*16, 0], b[0, nj*8]) }",
        "{ if lane < 16 { mma_m16n8k16(acc[mi*16, nj*8], a[mi*16, 0], b[0, nj*8]) } }",
        "TG303",
    ),
    "sums of nothing": ("tiled", "    for i, j in acc { acc[i, j] = 0 }\n", "", "TG30"),
    "a column too few": ("tiled", "for nj < 4 in register { ldmatrix", "for nj < 3 in register { ldmatrix", "TG30"),
    "not transposed": (
        "tiled",
        "ldmatrix_x2_trans(b[0, nj*8], sB[kk*16, wx*32 + nj*8])",
        "ldmatrix_x2(b[0, nj*8], sB[wx*32 + nj*8, kk*16])",
        "TG20",
    ),
    "of a row too few": ("one_warp", "by*16 + i < M and bx*8 + j < N", "by*16 + i + 1 < M and bx*8 + j < N", "TG20"),
    "a tile of k too few": ("one_warp", "ko < ceil(K / 16)", "ko < K // 16", "TG50"),
    "of no operand": ("one_warp", "of mma_m16n8k16.b", "of mma_m16n8k16.a", "TG182"),
    "not relu": ("reuse", "max(s[i, j], 0)", "min(s[i, j], 0)", "TG50"),
    "sums go on": ("reuse", "      for i, j in s { s[i, j] = 0 }\n", "", "TG30"),
    "the second half twice": (
        "reuse",
        "mma_m16n8k16(o[0, nj*8], p[0, 0], v[0, nj*8])",
        "mma_m16n8k16(o[0, nj*8], p[0, 0], v[0, 8])",
        "TG50",
    ),
    "two lanes of four": ("row_max", "for d in (1, 2)", "for d in (1, 1)", "TG50"),
    "the scale of another warp's row": ("int8", "sa[by*32 + w*16 + i]", "sa[by*32 + i]", "TG50"),
    "the scale of another column": ("int8", "sb[bx*16 + j]", "sb[bx*16]", "TG50"),
    "the first half of the tile twice": ("int8", "sB[0, kk*32]", "sB[0, 0]", "TG50"),
    "rows of 80 bytes that are at 72": ("int8", "pad 16", "pad 8", "TG182"),
    "a half of k for all": ("doubles", "b[s*4, 0])", "b[4 - s*4, 0])", "TG50"),
    "without the last rows": ("doubles", "ko < ceil(K / 8)", "ko < K // 8", "TG50"),
    "columns for rows": ("stored", "ldmatrix_x4_trans(b", "ldmatrix_x4(b", "TG50"),
    "stored as columns": ("stored", "stmatrix_x4(sC", "stmatrix_x4_trans(sC", "TG50"),
    "the tiles of b the other way round": ("stored", "b[0, n*8])", "b[0, 8 - n*8])", "TG50"),
    "no barrier after rows are stored": ("stored", "half[0, 0])\n    barrier\n", "half[0, 0])\n", "TG302"),
    "no barrier before rows are read": ("stored", "else 0\n      barrier\n      ldmatrix", "else 0\n      ldmatrix", "TG302"),
    "rows are overwritten while others read": ("stored", "{\n      barrier\n      copy", "{\n      copy", "TG302"),
    "the tiles of tf32 the other way round": ("tf32", "b[0, n*8])", "b[0, 8 - n*8])", "TG50"),
    "the last columns of tf32 are not there": ("tf32", "ko < ceil(K / 8)", "ko < K // 8", "TG50"),
    "what is outside is no 0": (
        "tf32",
        "k | 0], tB[k, j] = B[ko*8 + k, bx*16 + j | 0]",
        "k | 1], tB[k, j] = B[ko*8 + k, bx*16 + j | 1]",
        "TG50",
    ),
    "tf32 where there is none": ("tf32", "on sm_80", "on sm_75", "TG182"),
    "8 bits where there are none": ("float8", "on sm_89", "on sm_80", "TG182"),
    "the scale of another row of 8 bits": ("float8", "sa[by*32 + w*16 + i]", "sa[by*32 + i]", "TG50"),
    "the first half of 8 bits twice": ("float8", "sB[0, kk*32]", "sB[0, 0]", "TG50"),
    "rows of 8 bits that are at 72": ("float8", "pad 16", "pad 8", "TG182"),
    "no barrier before 8 bits are read": ("float8", "else 0\n      barrier", "else 0", "TG302"),
    "the lower halves twice": ("int4", "a[i, k] = high(tA[i, k])", "a[i, k] = low(tA[i, k])", "TG50"),
    "the upper sums twice": ("int4", "f32(p[i, j]) * s", "f32(q[i, j]) * s", "TG50"),
    "an operand of twice the columns": ("int4", "of mma_m8n8k32.a", "of mma_m16n8k64.a", "TG182"),
    "a lane names rows that others wrote": ("own_rows", "    warp barrier\n", "", "TG302"),
    "beyond the row": ("row_max", " if jo*16 + j < N }", " }", "TG50"),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("stem", STEMS)
def test_right_ones_are_proved_for_all_sizes_and_run(stem: str, whole: Whole) -> None:
    """At sizes at which no tile is whole: in lockstep on data of which one place stands out, and with the threads in another order on any; or in
    several orders on several data."""
    for proof in proofs(stem):
        sizes = dict(zip(proof.program.op.sizes, (33, 21, 17, 9), strict=False))
        if whole(stem):
            assert misbehaviour(proof.program, sizes) is None
        else:
            assert replay(proof.program, sizes, 0, ends=True) is replay(proof.program, sizes, 1) is None


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refused_or_refuted(name: str) -> None:
    stem, right, wrong, code = WRONG[name]
    text = (SPECS / f"{stem}.tgpu").read_text()
    assert right in text
    try:
        machine = pipeline.load_text(text.replace(right, wrong)).machines[0]
        verdict = pipeline.check(machine)
    except TinygpuError as error:
        assert {d.code for d in error.diagnostics} == {"TG182"} == {code}
        return
    assert isinstance(verdict, Refutation), verdict
    assert verdict.diagnostic.code.startswith(code), verdict.diagnostic.title


@pytest.mark.parametrize("stem", STEMS)
def test_they_read_back_from_their_own_text(stem: str) -> None:
    for machine in pipeline.load(SPECS / f"{stem}.tgpu").machines:
        program = pipeline.program(machine)
        (again,) = pipeline.load_text(program_text(program)).machines
        assert pipeline.program(again).launches == program.launches
        assert program_text(pipeline.program(again)) == program_text(program)


def test_an_element_by_its_place_is_one_that_the_lane_has() -> None:
    (machine, *_) = pipeline.load(SPECS / "one_warp.tgpu").machines
    text = program_text(pipeline.program(machine))
    place = "acc[r3*8 + lane // 4, lane % 4 * 2 + u4]"
    assert place in text
    again = pipeline.load_text(text.replace(place, place.replace("u4", "(1 - u4)"))).machines[0]  # the other one of two
    assert pipeline.program(again).launches
    for right, wrong in (("lane // 4", "lane % 8"), ("r3*8", "r3*8 + 4"), ("* 2 + u4", "+ 4 * u4")):
        with pytest.raises(TinygpuError) as said:
            pipeline.program(pipeline.load_text(text.replace(place, place.replace(right, wrong))).machines[0])
        assert {d.code for d in said.value.diagnostics} == {"TG182"}


def test_an_instruction_of_the_file_itself_is_part_of_the_text() -> None:
    own = LIBRARY.read_text(encoding="utf-8")
    start = own.index("instruction mma_m16n8k16[")
    declared = own[start : own.index("\n}", start) + 3].replace("mma_m16n8k16", "own_mma")
    text = declared + (SPECS / "one_warp.tgpu").read_text(encoding="utf-8").replace("mma_m16n8k16", "own_mma")
    for machine in pipeline.load_text(text).machines:
        proof = pipeline.check(machine)
        assert isinstance(proof, Proof), proof.diagnostics[0].title
        (again,) = pipeline.load_text(program_text(proof.program)).machines
        assert pipeline.program(again).launches == proof.program.launches


def test_a_note_that_is_not_true_of_its_steps_is_no_text() -> None:
    (machine, *_) = pipeline.load(SPECS / "one_warp.tgpu").machines
    program = pipeline.program(machine)

    def other(step: Step) -> tuple[Step, ...]:
        if isinstance(step, Sync) and step.begins:
            c, a, b = step.begins.operands
            return (replace(step, begins=replace(step.begins, operands=(c, (a[0], tuple(i + 16 for i in a[1])), b))),)
        return (step,)

    (launch,) = program.launches
    assert {c.code for c in wellformed(replace(program, launches=(replace(launch, body=map_steps(launch.body, other)),)))} == {
        "TG513"
    }
    assert not [*wellformed(program)]


def test_a_wrong_one_is_wrong_in_its_own_text_too() -> None:
    text = (SPECS / "own_rows.tgpu").read_text(encoding="utf-8").replace("    warp barrier\n", "")
    (again,) = pipeline.load_text(program_text(pipeline.program(pipeline.load_text(text).m))).machines
    verdict = pipeline.check(again)
    assert isinstance(verdict, Refutation) and verdict.diagnostic.code == "TG302"
