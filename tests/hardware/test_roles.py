"""Roles of warps and the rings between them, in programs: proved for all sizes, and with one thing changed refuted, or refused where a form is missing; their text
does what the manual says.

Comes in: `roles.tgpu` of `specs/` beside this file, and changes of its text. Goes out: verdicts; the simulator's faults; outputs; machine code. The one idea:
each rule about slots, sections, boxes and what is under way between roles has a program that breaks that one alone.
"""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from benchmarks.machine_code import disassembler, gate
from tests.emit.interpreter import run
from tests.emit.test_cuda_prelude import needs_cuda
from tests.hardware.asked import is_refuted, no_other_text_is_taken
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof
from tinygpu.program.call import Enter, Registers
from tinygpu.program.step import For, If, steps
from tinygpu.recheck import Disagreement
from tinygpu.recheck.run import rerun
from tinygpu.record import replace
from tinygpu.schedule.roles import apart, cut
from tinygpu.simulate.inputs import random_inputs
from tinygpu.validate.roles import roles
from tinygpu.validate.typed import Differs

FILE = Path(__file__).parent / "specs/roles.tgpu"
TEXT = FILE.read_text()
OP = TEXT[TEXT.index("op mm") : TEXT.index("# One warp has")]
TOTAL = TEXT[TEXT.index("op total") : TEXT.index("machine ahead")]
BOXES = TEXT[TEXT.index("machine boxes") : TEXT.index("# A group of")]
LATER = TEXT[TEXT.index("machine later") : TEXT.index("# A warpgroup copies")]
LANES = TEXT[TEXT.index("machine lanes") : TEXT.index("# No product")]
AHEAD = TEXT[TEXT.index("machine ahead") :]
LOOP = "    for ko < ceil(K / 64) {\n"


def slots(text: str, before: int, after: int) -> str:
    """With another number of slots."""
    return text.replace(f"[{before},", f"[{after},").replace(f"% {before}", f"% {after}").replace(f": {before}\n", f": {after}\n")


FIRST, SECOND = BOXES.index("      if g == 2"), BOXES.index("      if g < 2 {\n        use")
THIRD = BOXES.index("    }\n    if g < 2 {\n      for i")
RIGHT = {
    "two slots": slots(BOXES, 4, 2),
    "one slot": slots(BOXES, 4, 1),
    "two slots, of which one is given back later": slots(LATER, 4, 2),
    "each thread stores what it copies": LANES.replace("copy async", "copy").replace("          commit\n          wait 0\n", ""),
    "the last warp fills": BOXES.replace("w == 0", "w == 3"),
    "the slot of the turn before": BOXES.replace("[ko % 4", "[(ko + 3) % 4"),
    "the tiles are used again behind a barrier": BOXES.replace(
        "    if g < 2 {\n      for i",
        "    barrier\n    sA[0, 0, 0] = 0 if g == 0 and w == 0 and lane == 0\n    if g < 2 {\n      for i",
    ),
}
WRONG = {  # what is changed, and the code that is said
    "a ring longer than its arrays": (BOXES.replace("tiles: 4", "tiles: 5"), "TG310"),
    "an array shorter than the ring": (BOXES.replace("sA: f16[4", "sA: f16[3").replace("sA[ko % 4", "sA[ko % 3"), "TG310"),
    "another slot is used": (BOXES.replace("sB[ko % 4, kk", "sB[(ko + 1) % 4, kk"), "TG302"),
    "another slot is filled": (BOXES.replace("copy sA[ko % 4", "copy sA[(ko + 1) % 4"), "TG302"),
    "a slot for two turns": (BOXES.replace("sA[ko % 4", "sA[ko // 2 % 4"), "TG3"),
    "products are left under way": (BOXES.replace("wait mma 0", "wait mma 1"), "TG310"),
    "more are left than slots are kept": (LATER.replace("          wait mma 1\n", "          wait mma 2\n          wait mma 1\n").replace("wait mma 1\n        }", "wait mma 2\n          fence mma\n        }").replace("          wait mma 2\n          wait mma 2", "          wait mma 2"), "TG310"),
    "nothing waits in use": (LATER.replace("          wait mma 1\n", ""), "TG310"),
    "no group ends": (BOXES.replace("          commit mma\n", ""), "TG310"),
    "sums read before they have landed": (LATER.replace("      wait mma 0\n", ""), "TG310"),
    "no fence of registers": (BOXES.replace("          fence mma\n", ""), "TG312"),
    "the tile of the next turn": (BOXES.replace("A[by*128 + i, ko*64 + k", "A[by*128 + i, ko*64 + 64 + k"), "TG50"),
    "half of the tiles are used": (BOXES.replace("if g < 2 {\n        use", "if g == 0 {\n        use"), "TG50"),
    "read behind the loop without a barrier": (
        BOXES.replace("acc[i, j] if by", "acc[i, j] + f32(sA[0, 0, 0]) - f32(sA[0, 0, 0]) if by"),
        "TG302",
    ),
    "written behind the loop without a barrier": (
        BOXES.replace("    if g < 2 {\n      for i", "    sA[0, 0, 0] = 0 if g == 0 and w == 0 and lane == 0\n    if g < 2 {\n      for i"),
        "TG302",
    ),
    "written before the loop without a fence": (
        BOXES.replace(LOOP, "    sA[0, 0, 0] = 0 if g == 0 and w == 0 and lane == 0\n    barrier\n" + LOOP),
        "TG312",
    ),
    "copies have not landed": (LANES.replace("          wait 0\n", "          wait 1\n"), "TG310"),
    "copies are not waited for": (LANES.replace("          wait 0\n", ""), "TG310"),
    "the fence before the copies have landed": (
        LANES.replace("          wait 0\n          fence async\n", "          fence async\n          wait 0\n"),
        "TG312",
    ),
    "no fence of what was copied": (LANES.replace("          fence async\n", ""), "TG312"),
    "no fence of what was stored": (RIGHT["each thread stores what it copies"].replace("          fence async\n", ""), "TG312"),
    "a slot too few": (TOTAL + AHEAD.replace("t % 2", "0"), "TG302"),
    "the slot of the turn behind": (TOTAL + AHEAD.replace("rows[t % 2, lane, v] }", "rows[(t + 1) % 2, lane, v] }"), "TG3"),
    "a fill that the last turn has not": (TOTAL + AHEAD.replace("rows[t % 2, lane, v] = x", "rows[(t + 1) % 2, lane, v] = x"), "TG3"),
}  # fmt: skip
REFUSED = {  # what is changed, and the message
    "used before it is filled": (BOXES[:FIRST] + BOXES[SECOND:THIRD] + BOXES[FIRST:SECOND] + BOXES[THIRD:], "TG185.both"),
    "nobody uses it": (BOXES[:SECOND] + BOXES[THIRD:], "TG185.both"),
    "filled twice": (BOXES[:SECOND] + BOXES[FIRST:SECOND].replace("w == 0", "w == 1") + BOXES[SECOND:], "TG185.both"),
    "one warp has both roles": (BOXES.replace("g == 2 and w == 0", "g == 1 and w == 0"), "TG185.roles"),
    "half of a warp": (BOXES.replace("w == 0", "w == 0 and lane < 16"), "TG185"),
    "lanes of all warps": (LANES.replace("g == 1 {", "g == 1 and lane < 31 {"), "TG185.warps"),
    "all lanes but one": (LANES.replace("g == 1 {", "g == 1 and lane != 5 {"), "TG185.warps"),
    "nobody fills": (BOXES.replace("g == 2 and w == 0", "g == 3 and w == 0"), "TG185.warps"),
    "the role changes": (LANES.replace("if g == 1 {", "if (g + ko) % 2 == 1 {"), "TG185.role"),
    "other turns": (BOXES.replace("use tiles at ko", "use tiles at kk"), "TG185.turn"),
    "turns in turns": (BOXES.replace(LOOP, "    for t < 2 {\n" + LOOP).replace("    if g < 2 {\n      for i", "    }\n    if g < 2 {\n      for i"), "TG185.loop"),
    "a barrier of the block": (BOXES.replace(LOOP, LOOP + "      barrier\n"), "TG185.barrier"),
    "more slots are kept than there are": (slots(LATER, 4, 1), "TG185.behind"),
    "no ring": (BOXES.replace("    ring tiles: 4\n", ""), "TG185.name"),
    "two rings of one name": (BOXES.replace("    ring tiles: 4\n", "    ring tiles: 4\n    ring tiles: 4\n"), "TG102.array"),
    "a ring without slots": (BOXES.replace("tiles: 4", "tiles: 0"), "TG185.slots"),
    "a ring of sizes": (BOXES.replace("tiles: 4", "tiles: K"), "TG1"),
    "a box outside of a ring": (BOXES.replace("        fill tiles at ko {\n", "").replace("| 0] by tensor_copy\n        }\n", "| 0] by tensor_copy\n"), "TG185"),
    "a box under a condition": (BOXES.replace("          copy sA", "          if by == 0 { copy sA").replace("ko*64 + k | 0] by tensor_copy", "ko*64 + k | 0] by tensor_copy }"), "TG185.fill"),
    "boxes of several warps": (BOXES.replace("if g == 2 and w == 0", "if g == 2"), "TG185.copy"),
    "rows that are exchanged otherwise": (BOXES.replace("sB: f16[4, 64, 64] swizzle(3, 3, 3)", "sB: f16[4, 64, 64] swizzle(2, 3, 3)"), "TG18"),
    "a pad": (BOXES.replace("sB: f16[4, 64, 64] swizzle(3, 3, 3)", "sB: f16[4, 64, 64] pad 8"), "TG18"),
    "a misspelt unit": (BOXES.replace("by tensor_copy", "by tensor_copie"), "TG185.by"),
    "half of a slot": (BOXES.replace("sA[ko % 4, i, k] = A", "sA[ko % 4, i < 64, k] = A"), "TG185.copy"),
    "1 beyond the ends": (BOXES.replace("ko*64 + k | 0] by", "ko*64 + k | 1] by"), "TG185.copy"),
    "0 elsewhere": (BOXES.replace("A[by*128 + i, ko*64 + k | 0] by", "A[by*128 + i, ko*64 + k] if by*128 + i < M - 1 and ko*64 + k < K else 0 by"), "TG185.copy"),
    "columns for rows": (BOXES.replace("copy sB[ko % 4, k, j] = B[ko*64 + k, bx*64 + j | 0]", "copy sB[ko % 4, k, j] = B[ko*64 + j, bx*64 + k | 0]"), "TG185.copy"),
    "every second row": (BOXES.replace("A[by*128 + i, ko*64 + k | 0] by", "A[by*128 + 2*i, ko*64 + k | 0] by"), "TG185.copy"),
    "a slot chosen by the place": (BOXES.replace("copy sA[ko % 4, i, k]", "copy sA[(ko + i) % 4, i, k]"), "TG185.copy"),
    "something is computed": (BOXES.replace("= A[by*128 + i, ko*64 + k | 0] by", "= A[by*128 + i, ko*64 + k | 0] * 2 by"), "TG185.copy"),
    "combined with what is there": (BOXES.replace("copy sA[ko % 4, i, k] =", "copy sA[ko % 4, i, k] +="), "TG185.copy"),
    "a box too large": (BOXES.replace("128", "512").replace("g*64", "g*256"), "TG1"),
}  # fmt: skip


def machine(text: str) -> Machine:
    return pipeline.load_text(text if "op " in text else OP + text).machines[0]


@pytest.mark.parametrize("name", RIGHT)
def test_rings_are_proved(name: str) -> None:
    assert RIGHT[name] not in (BOXES, LATER, LANES)
    assert isinstance(pipeline.check(machine(RIGHT[name])), Proof)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refuted(name: str) -> None:
    text, code = WRONG[name]
    assert text not in (BOXES, LATER, LANES, TOTAL + AHEAD)
    is_refuted(machine(text), code)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_the_second_checker_sees_it_too(name: str) -> None:
    assert isinstance(rerun(pipeline.program(machine(WRONG[name][0]))), Disagreement)


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_order_is_said(name: str) -> None:
    text, message = REFUSED[name]
    assert text not in (BOXES, LATER, LANES)
    with pytest.raises(TinygpuError) as told:
        pipeline.program(machine(text))
    assert any(d.code.startswith(message.split(".")[0]) for d in told.value.diagnostics), told.value.diagnostics


@pytest.mark.parametrize("order", [*(pytest.param(n, marks=pytest.mark.sampled) for n in ("forwards", "backwards")), "mixed"])
@pytest.mark.parametrize("name", ["boxes", "later"])
def test_boxes_land_as_late_as_they_may(name: str, order: str) -> None:
    """In the order in which they began, when nobody can go on without them; products land last, and slots are filled again meanwhile."""
    program = pipeline.program(pipeline.load(FILE).spec.machine(name))
    sizes = {"M": 131, "N": 70, "K": 330}
    inputs = random_inputs(program.op, sizes, seed=1)
    wanted = np.asarray(inputs["A"], np.float64) @ np.asarray(inputs["B"], np.float64)
    found = run(program, sizes, inputs, 32, wide=True, order=order)
    np.testing.assert_allclose(found["C"], wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["boxes", "lanes", "ahead"])
def test_lanes_copy_where_no_unit_does(name: str) -> None:
    program = pipeline.program(pipeline.load(FILE).spec.machine(name))
    sizes = {"n": 150} if name == "ahead" else {"M": 70, "N": 34, "K": 270}
    inputs = random_inputs(program.op, sizes, seed=2)
    found = run(program, sizes, inputs, 64, wide=False, order="mixed")
    if name == "ahead":
        np.testing.assert_allclose(found["s"], np.asarray(inputs["x"]).sum(1), rtol=1e-5, atol=1e-5)
    else:
        wanted = np.asarray(inputs["A"], np.float64) @ np.asarray(inputs["B"], np.float64)
        np.testing.assert_allclose(found["C"], wanted, rtol=1e-3, atol=1e-3)


def test_each_role_has_a_loop_of_its_own() -> None:
    """And threads of none have one where the loop does more."""
    launch = apart(pipeline.program(pipeline.load(FILE).spec.machine("boxes")).launches[0])
    loops = [s for s in launch.body if isinstance(s, If) and isinstance(s.body[0], For)]
    assert [{s.way for s in steps(one.body) if isinstance(s, Enter)} for one in loops[:2]] == [{"fill"}, {"use"}]
    both = AHEAD.replace(
        "    for t < ceil(n / 32) {\n", "    local b: f32[]\n    b[] = 0\n    for t < ceil(n / 32) {\n      b[] += 1\n"
    )
    launch = apart(pipeline.program(machine(TOTAL + both.replace("w: 2", "w: 3"))).launches[0])
    assert len([s for s in launch.body if isinstance(s, If)]) == 3


USED = """
machine used : mm on sm_90a {
  work    grid = (by, bx), block = (g: 2, w: 4, lane: 32)
  compute i = (by, g, im), j = (bx, jn), k = (ko, kk: 2, ka)
  time    ko, kk
  use wgmma_m64n128k16_n(i: im, j: jn, k: ka) by (w, lane)
  stage A[i, k] at ko in shared ring 4 by tensor_copy
  stage B[k, j] at ko in shared ring 4 by tensor_copy
}
"""


def test_what_is_derived_is_what_one_writes() -> None:
    derived = pipeline.program(machine(USED))
    assert derived.launches == pipeline.program(machine(LATER)).launches
    alone = machine(USED.replace("block = (g: 2, w", "block = (w").replace("(by, g, im)", "(by, im)"))
    assert isinstance(pipeline.check(alone), Proof) and len(pipeline.program(alone).launches[0].block) == 3


LARGE = (
    USED.replace("n128", "n192").replace("(by, g, im)", "(by, g, mi: 2, im)").replace("    ko, kk\n", "    ko, kk\n  register mi\n")
)


@pytest.mark.sampled(3)
def test_warpgroups_trade_registers_where_fragments_need_more_than_each_has() -> None:
    """And no two roles meet behind, so that a compiler gives each what it has."""
    made = machine(LARGE)
    proof = pipeline.check(made)
    assert isinstance(proof, Proof)
    (program,) = (pipeline.program(made),)
    launch = apart(program.launches[0], program.arch)
    use, load = (s for s in launch.body if isinstance(s, If))
    assert (use.body[0], load.body[0]) == (Registers(232, "inc"), Registers(40, "dec"))
    assert not any(isinstance(s, Registers) for s in steps(apart(program.launches[0], "sm_90").body))
    built = [pipeline.built(proof, made)]
    text = pipeline.module("large.tgpu", built)
    assert pipeline.validate(text, built) == ()
    for old, new in (
        ("registers(232, 'inc')", "registers(240, 'inc')"),
        ("set_registers()", "pass"),
        ("        else:\n            set_", "        if w < 4:\n            set_"),
    ):
        assert old in text and pipeline.validate(text.replace(old, new, 1), built), old
    needs_cuda()
    for wide in (True, False):
        (report,) = gate([program], (9, 0, "a"), wide)
        assert (report.registers, report.stack_bytes, report.spill_bytes) == (168, 0, 0)


@pytest.mark.sampled
def test_roles_that_trade_do_what_the_program_says() -> None:
    program = pipeline.program(machine(LARGE))
    sizes = {"M": 131, "N": 70, "K": 170}
    inputs = random_inputs(program.op, sizes, seed=1)
    found = run(program, sizes, inputs, 32, wide=True, order="mixed")
    wanted = np.asarray(inputs["A"], np.float64) @ np.asarray(inputs["B"], np.float64)
    np.testing.assert_allclose(found["C"], wanted, rtol=1e-3, atol=1e-3)


NOT_DERIVED = {  # what is changed, and the message
    "two factors of groups": (USED.replace("(g: 2, w", "(g: 2, h: 1, w").replace("(bx, jn)", "(bx, h, jn)"), "TG184.roles"),
    "one operand is copied by lanes": (USED.replace("at ko in shared ring 4 by tensor_copy\n}", "at ko in shared ring 4 async\n}"), "TG1"),
    "rings of two lengths": (USED.replace("ring 4 by tensor_copy\n}", "ring 3 by tensor_copy\n}"), "TG546.ring"),
    "no ring": (USED.replace(" ring 4 by", " by"), "TG546.boxes"),
    "another unit": (USED.replace("tensor_copy", "tensor_core"), "TG546.boxes"),
    "operands by a word": (USED.replace("ring 4 by tensor_copy", "by ldmatrix"), "TG546.operand"),
    "both ways": (USED.replace("ring 4 by", "ring 4 async by"), "TG546.boxes"),
    "no instruction": ("""
machine plain : mm on sm_90 {
  work    grid = (by, bx), block = (t: 64)
  compute i = (by, t), j = (bx, jn: 8), k = (ko, kk: 8)
  time    ko, kk
  register jn
  stage A[i, k] at ko in shared ring 2 by tensor_copy
}
""", "TG546.boxes"),
    "columns that lie in rows": (USED.replace("stage A[i, k] at ko in shared ring 4 by tensor_copy", "stage A[i, k] at ko in shared ring 4 by tensor_copy { layout (k, i) }"), "TG18"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_DERIVED)
def test_what_no_role_copies_is_said(name: str) -> None:
    text, message = NOT_DERIVED[name]
    assert text != USED
    with pytest.raises(TinygpuError) as told:
        pipeline.program(machine(text))
    assert any(d.code.startswith(message.split(".")[0]) for d in told.value.diagnostics), told.value.diagnostics


def test_who_cuts_roles_apart_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads a kernel looks at what each thread does before and after."""
    program = pipeline.program(machine(LARGE))
    (launch,) = program.launches
    roles(launch, program.arch, ast.Pass())
    whole = cut(launch, program.arch)
    last = whole.body[-1]
    assert isinstance(last, If)
    for body in (whole.body[:-1], (*whole.body[:-1], replace(last, body=last.body[1].body)), (*whole.body, *last.body)):  # type: ignore[union-attr]
        monkeypatch.setattr("tinygpu.validate.roles.cut", lambda launch, arch, body=body: replace(launch, body=body))
        with pytest.raises(Differs):
            roles(launch, program.arch, ast.Pass())


MISPRINTED = {  # of a kernel: what stands there, and what does something else
    "fewer warps use it": ("ring('begin', 4, 1, 8)", "ring('begin', 4, 1, 7)"),
    "fewer slots": ("ring('fill', 4)", "ring('fill', 2)"),
    "a slot is given back early": ("ring('used', 4, 0)", "ring('used', 4, 1)"),
    "a turn behind": ("ring_use(tiles, ko)", "ring_use(tiles, ix(ko + 1))"),
    "a number of which lanes have several": ("lane = mod(thread, 32)", "lane = uniform(mod(thread, 32))"),
    "nobody waits": ("ring_fill(tiles, ko)", "pass"),
    "another role": ("if g == 2 and w == 0:", "if g == 2 and w == 1:"),
    "fewer bytes": ("tensor_copy(2, 4, 16384)", "tensor_copy(2, 4, 8192)"),
    "another box": ("tiles, ko, A_in_boxes_of_128_by_64, ix(by*128), ix(ko*64))", "tiles, ko, A_in_boxes_of_128_by_64, ix(by*128), ix(ko*32))"),
    "another tensor": ("tiles, ko, A_in_boxes_of_128_by_64, ix(by", "tiles, ko, B_in_boxes_of_64_by_64, ix(by"),
    "another slot": ("box_copy(sA, ix(", "box_copy(sA, ix(8192 + "),
    "no fence of what lanes copied": ("fence_async()", "pass"),
    "the box where nobody has looked": ("                if wide:\n                    box_copy(", "                if True:\n                    box_copy("),
}  # fmt: skip


def test_no_other_text_is_taken() -> None:
    no_other_text_is_taken(machine(BOXES), MISPRINTED)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["boxes", "later", "lanes"])
def test_the_machine_code_has_what_was_promised(name: str) -> None:
    needs_cuda()
    (report,) = gate([pipeline.program(pipeline.load(FILE).spec.machine(name))], (9, 0, "a"))
    assert report.refused() == () and (report.stack_bytes, report.spill_bytes) == (0, 0)
    if disassembler():
        named = [i.name.split(".")[0] for i in report.instructions]
        assert named.count("HGMMA") == {"later": 2}.get(name, 4)
        assert bool(named.count("UTMALDG")) == (name != "lanes") and bool(named.count("LDGSTS")) == (name == "lanes")
        assert named.count("SYNCS") >= 4 + 2 * 4
