"""Arrays in tensor memory in programs: products there are proved for all sizes, wrong ones are refuted, and kernels of them are assembled.

Comes in: the programs of `specs/fifth` beside this file, and changes of their text. Goes out: verdicts, the simulator's faults, texts read back, machine code. The one idea: each
rule about tensor memory has a program that breaks that one alone. Nothing of it has run on hardware.
"""

from __future__ import annotations

import re
import tomllib
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
from tinygpu.recheck import Disagreement
from tinygpu.recheck.run import rerun
from tinygpu.run.gate import assembled
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

MESSAGES = tomllib.loads((Path(__file__).parents[2] / "grammar/messages.toml").read_text())
TEXT = (Path(__file__).parent / "specs/fifth/products.tgpu").read_text().replace("T in {f16, bf16}", "T in {f16}")
OP = TEXT[: TEXT.index("# A tile after")]
TURN = TEXT[TEXT.index("machine in_turn") : TEXT.index("# One warp")]
ROLES = TEXT[TEXT.index("machine roles") : TEXT.index("# A tile of 128")]
TILES = TURN.replace("bx: ceil(N / 16)", "bx: ceil(N / 32)").replace("sB: T[32, 16] swizzle(1", "sB: T[32, 32] swizzle(2").replace(
    "tensor acc: f32[64, 16]", "tensor acc: f32[2, 64, 16]"
).replace("f: f32[64, 16]", "f: f32[64, 32]").replace("n < 2 in", "n < 4 in").replace("acc[0, n*8]", "acc[n // 2, 0, n % 2*8]").replace(
    "for kk < 2 in register { async tcgen05_m64n16k16_n(acc[0, 0], sA[0, kk*16], sB[kk*16, 0]) }",
    "for t < 2 in register { for kk < 2 in register { async tcgen05_m64n16k16(acc[t, 0, 0], sA[0, kk*16], sB[t*16, kk*16]) } }",
).replace("bx*16", "bx*32").replace("copy sB[k, j]", "copy sB[j, k]")  # fmt: skip
RIGHT = {
    "two tiles": TILES,
    "roles, none under way": ROLES.replace("wait tcgen05 1", "wait tcgen05 0"),
    "one warp waits for its own": TURN.replace("        wait tcgen05 0\n      }\n", "      }\n      wait tcgen05 0\n"),
    "the second warp multiplies": TURN.replace("w == 0", "w == 1"),
}
WRONG = {  # what is changed, and the code that is said
    "no wait": (TURN.replace("        wait tcgen05 0\n", ""), "TG310"),
    "no commit": (TURN.replace("        commit tcgen05\n", ""), "TG310"),
    "waits for copies": (TURN.replace("wait tcgen05 0", "wait 0"), "TG310"),
    "a group too many": (TURN.replace("wait tcgen05 0", "wait tcgen05 1"), "TG310"),
    "told before it has landed": (TURN.replace("        wait tcgen05 0\n      }\n      barrier\n", "      }\n      barrier\n      wait tcgen05 0\n"), "TG310"),
    "nobody is told": (TURN.replace("        wait tcgen05 0\n      }\n      barrier\n", "        wait tcgen05 0\n      }\n"), "TG3"),
    "another warp waits": (TURN.replace("        wait tcgen05 0\n      }\n", "      }\n      if w == 1 { wait tcgen05 0 }\n"), "TG310"),
    "loaded before the last group has landed": (ROLES.replace("    wait tcgen05 0\n", ""), "TG310"),
    "the last group is left under way": (ROLES.replace("    wait tcgen05 0\n", "    wait tcgen05 1\n"), "TG310"),
    "loaded before the others know": (ROLES.replace("    wait tcgen05 0\n    barrier\n", "    barrier\n    wait tcgen05 0\n"), "TG310"),
    "no proxy fence": (TURN.replace("      fence async\n", ""), "TG312"),
    "the proxy fence behind the barrier": (TURN.replace("      fence async\n      barrier\n", "      barrier\n      fence async\n"), "TG312"),
    "no barrier before the products": (ROLES.replace("    barrier\n    for ko", "    for ko"), "TG30"),
    "a barrier of the warp is none": (ROLES.replace("    barrier\n    for ko", "    warp barrier\n    for ko"), "TG30"),
    "every warp multiplies": (TURN.replace("if w == 0", "if w >= 0"), "TG3"),
    "two warps take turns": (TURN.replace("if w == 0", "if w == ko % 2").replace("        wait tcgen05 0\n", ""), "TG310"),
    "not all lanes come": (TURN.replace("w == 0", "w == 0 and lane < 16"), "TG303"),
    "not all warps load": (TURN.replace("n < 2 in register { tcgen05_ld", "n < 2 in register { if w < 2 { tcgen05_ld").replace("acc[0, n*8]) }\n    for i, j in f { C", "acc[0, n*8]) } }\n    for i, j in f { C"), "TG303"),
    "nothing is stored first": (TURN.replace("    for n < 2 in register { tcgen05_st_16x256b_x1(acc[0, n*8], f[0, n*8]) }\n", ""), "TG301"),
    "half of it is stored first": (TURN.replace("n < 2 in register { tcgen05_st", "n < 1 in register { tcgen05_st"), "TG301"),
    "a slot too few": (ROLES.replace("[4,", "[3,").replace("% 4", "% 3"), "TG3"),
    "a tile twice": (TURN.replace("sB[kk*16, 0]", "sB[0, 0]"), "TG50"),
    "half of the sum": (TURN.replace("kk < 2 in", "kk < 1 in"), "TG50"),
    "the wrong columns": (TURN.replace("tcgen05_ld_16x256b_x1(f[0, n*8], acc[0, n*8])", "tcgen05_ld_16x256b_x1(f[0, n*8], acc[0, 8 - n*8])"), "TG50"),
    "the wrong tile": (TILES.replace("tcgen05_ld_16x256b_x1(f[0, n*8], acc[n // 2, ", "tcgen05_ld_16x256b_x1(f[0, n*8], acc[1 - n // 2, "), "TG50"),
    "behind the last tile": (TILES.replace("acc[t, 0, 0]", "acc[t + 1, 0, 0]"), "TG203"),
}  # fmt: skip


def machine(text: str) -> Machine:
    return pipeline.load_text(OP + text).machines[0]


@pytest.mark.parametrize("one", pipeline.load_text(TEXT).machines, ids=lambda one: one.name)
def test_products_in_tensor_memory_are_proved_and_their_kernels_read_back(one: Machine) -> None:
    proof = pipeline.check(one)
    assert isinstance(proof, Proof)
    built = [pipeline.built(proof, one)]
    assert pipeline.validate(pipeline.module("products.tgpu", built), built) == ()


@pytest.mark.parametrize("name", RIGHT)
def test_others_are_proved(name: str) -> None:
    assert RIGHT[name] not in (TURN, ROLES)
    assert isinstance(pipeline.check(machine(RIGHT[name])), Proof)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refuted(name: str) -> None:
    text, code = WRONG[name]
    assert text not in (TURN, ROLES, TILES)
    is_refuted(machine(text), code)


FAR = ("a slot too few", "a tile twice")  # go wrong at sizes of which a run takes a minute


@pytest.mark.sampled
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.night] * (n in FAR)) for n in WRONG])
def test_the_second_checker_sees_it_too(name: str) -> None:
    assert isinstance(rerun(pipeline.program(machine(WRONG[name][0]))), Disagreement)


@pytest.mark.parametrize("order", [pytest.param("forwards", marks=pytest.mark.sampled), "mixed"])
@pytest.mark.parametrize("name", ["in_turn", "roles", "roles by lanes", "two tiles"])
def test_lanes_that_do_what_the_manual_says_do_what_the_program_says(name: str, order: str) -> None:
    """With products that land as late as they may, in columns that do not begin at 0."""
    text = {"in_turn": TURN, "two tiles": TILES}.get(name, ROLES)
    program = pipeline.program(machine(text))
    sizes = {"M": 66, "N": 18, "K": 152}
    inputs = random_inputs(program.op, sizes, seed=2)
    found = run(program, sizes, inputs, 32, wide=name == "roles", order=order)
    wanted = np.asarray(inputs["A"], np.float64) @ np.asarray(inputs["B"], np.float64)
    np.testing.assert_allclose(found["C"], wanted, rtol=1e-2, atol=1e-2)


def of_kind(kind: str) -> str:
    """The program of `kinds.tgpu` with other dtypes."""
    text = (Path(__file__).parent / "specs/fifth/kinds.tgpu").read_text()
    if kind == "i8":
        return text
    text = text.replace("i32[", "f32[").replace("i32(", "f32(")
    if kind != "tf32":
        return text.replace("i8", kind)
    text = text.replace("i8[M", "f32[M").replace("i8[N", "f32[N").replace("i8[", "tf32[").replace("(1, 4, 3)", "(3, 2, 3)")
    text = text.replace("f32(A[i, k])", "f32(tf32(A[i, k]))").replace("f32(B[j, k])", "f32(tf32(B[j, k]))")
    text = re.sub(r"(copy s\w\[\w, k\] =) (.*)", r"\1 tf32(\2)", text)
    return text.replace("kk < 1", "kk < 4").replace("k32(acc", "k8(acc").replace("kk*32", "kk*8")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", ["i8", "e4m3", "e5m2", "tf32"])
def test_every_kind_is_proved_and_run_as_the_manual_says(kind: str) -> None:
    (one,) = pipeline.load_text(of_kind(kind)).machines
    assert isinstance(pipeline.check(one), Proof)
    program = pipeline.program(one)
    sizes = {"M": 66, "N": 18, "K": 70}
    inputs = random_inputs(program.op, sizes, seed=1)
    wanted = simulate(program, sizes, inputs)
    assert wanted.faults == ()
    found = run(program, sizes, inputs, 32, wide=False, order="mixed")
    np.testing.assert_allclose(found["C"], wanted.outputs["C"], rtol=1e-2, atol=1e-2)


MISPRINTED = {  # of a kernel: what stands there, and what does something else
    "columns are never given back": ("tensor_end(acc, ix(0))", "pass"),
    "fewer columns": ("tensor('begin', 64)", "tensor('begin', 32)"),
    "a barrier without fences": ("tensor_barrier(acc, ix(0))", "cuda.syncthreads()"),
    "no wait": ("tensor_wait0(acc, ix(0))", "pass"),
    "no group ends": ("tensor_commit(acc, ix(0))", "pass"),
    "a group is left under way": ("tensor('wait', 0)", "tensor('wait', 1)"),
    "another descriptor": ("0x4050010", "0x4050410"),
    "no wait behind a load": ("; tcgen05.wait::ld.sync.aligned", ""),
    "a load of other columns": ("acc, ix(n*8))", "acc, ix(n*4))"),
    "an array of other extents": ("'c:tensor:64:16:warp", "'c:tensor:64:32:warp"),
    "each warp its own lanes": ("'c:tensor:64:16:warp", "'c:tensor:64:16:warpgroup"),
    "another tile": ("sA, ix(", "sA, ix(16 + "),
}  # fmt: skip


def test_no_other_text_is_taken() -> None:
    wide = TURN.replace("acc: f32[64, 16]", "acc: f32[4, 64, 16]").replace("acc[0, ", "acc[0, 0, ")
    (made,) = pipeline.load_text(OP + wide).machines
    assert '(10, 0, "a")' in no_other_text_is_taken(made, MISPRINTED)


COUNTED = {"in_turn": (2, 2), "roles": (2, 2), "large": (4, 8)}  # products in the loop, stores at the beginning


@pytest.mark.sampled(3)
@pytest.mark.parametrize("arch", [(10, 0, "a"), (10, 3, "a")], ids=str)
def test_kernels_are_assembled_and_nothing_leaves_registers(arch: tuple[int, int, str]) -> None:
    needs_cuda()
    machines = pipeline.load_text(TEXT).machines
    for one, report in zip(machines, gate(map(pipeline.program, machines), arch), strict=True):
        assert report.refused() == () and (report.stack_bytes, report.spill_bytes) == (0, 0)
        if not disassembler():
            continue
        products, stores = COUNTED[one.name]
        found = [i.name for i in report.instructions]
        assert found.count("UTCHMMA") % products == 0 < found.count("UTCHMMA")
        assert sum(n.startswith("STTM") for n in found) == stores
        assert any(n.startswith("LDTM") for n in found) and any(n.startswith("UTCBAR") for n in found)
        assert sum(n.startswith("UTCATOMSWS.AND") for n in found) == 1  # columns are given back


def test_kernels_with_boxes_are_assembled_as_a_launcher_does_it() -> None:
    """Whose maps of tensors lie in the parameters of the kernel."""
    needs_cuda()
    (one,) = (m for m in pipeline.load_text(TEXT).machines if m.name == "roles")
    (found,) = assembled(pipeline.program(one), "sm_100a")
    assert (found.stack_bytes, found.spill_bytes) == (0, 0)
    boxes = pipeline.load("specs/tensor_cores.tgpu").spec.machine("half_boxes[T=f16]")
    assert assembled(pipeline.program(boxes), "sm_100")


MOVE = "tcgen05_st_16x256b_x1(acc[0, n*8], f[0, n*8])"
REFUSED = {  # what is changed, and the message
    "an architecture without tensor memory": (TURN.replace("on sm_100a", "on sm_100"), "TG182.arch"),
    "a newer one": (TURN.replace("on sm_100a", "on sm_120a"), "TG182.arch"),
    "integers where there are none": (
        TURN.replace("on sm_100a", "on sm_103a").replace("T[", "i8[").replace("f32[", "i32[").replace("tcgen05_m64n16k16_n", "tcgen05_m64n16k32"),
        "TG182.arch",
    ),
    "an array on sm_90a": ("machine m : mm on sm_90a { work grid = (), block = (lane: 32)\n program { tensor acc: f32[128, 32] } }", "TG182.arch"),
    "rows that are no tile": (TURN.replace("acc: f32[64, 16]", "acc: f32[32, 16]"), "TG182.tensor"),
    "of 16 bits": (TURN.replace("acc: f32[64, 16]", "acc: f16[64, 16]"), "TG182.tensor"),
    "of one index": (TURN.replace("acc: f32[64, 16]", "acc: f32[64]"), "TG182.tensor"),
    "more columns than there are": (TURN.replace("acc: f32[64, 16]", "acc: f32[33, 64, 16]").replace("acc[0, ", "acc[0, 0, "), "TG182.columns"),
    "two arrays": (TURN.replace("    fragment f", "    tensor more: f32[64, 16]\n    fragment f"), "TG182.one"),
    "128 rows for an instruction of 64": (TURN.replace("acc: f32[64, 16]", "acc: f32[128, 16]"), "TG182.operands"),
    "a shared array for tensor memory": (TURN.replace("tensor acc", "shared acc"), "TG182.operands"),
    "tensor memory for a shared array": (TURN.replace("shared sB: T[32, 16] swizzle(1, 3, 3)", "tensor sB: f32[64, 16]"), "TG182.one"),
    "in the middle of a tile": (TURN.replace("_16x256b_x1(acc[0, n*8]", "_16x256b_x1(acc[0, n*4]"), "TG182.tile"),
    "not said to land later": (TURN.replace("async tcgen05", "tcgen05"), "TG182.later"),
    "a load that lands later": (TURN.replace(MOVE, f"async {MOVE}"), "TG182.now"),
    "touched by a thread": (TURN.replace("f[i, j] = 0 }", "f[i, j] = acc[i, j] }"), "TG182.direct"),
    "stored by a thread": (TURN.replace(MOVE, "acc[w, n] = 0"), "TG182.direct"),
    "asked in a condition": (TURN.replace("if w == 0 {", "if acc[0, 0] > 0 {"), "TG182.direct"),
    "copied to": (TURN.replace("for n < 2 in register { tcgen05_st_16x256b_x1(acc[0, n*8], f[0, n*8]) }", "copy acc[i, j] = 0"), "TG182.direct"),
    "threads that are no warps": ("machine m : mm on sm_100a { work grid = (), block = (t: 48)\n program { tensor acc: f32[128, 32] } }", "TG182.threads"),
    "cells of it": (TURN.replace("for i, j in f { f[i, j] = 0 }", "for i, j in acc { f[i, j] = 0 }"), "TG182.cells"),
    "a fragment of its sums": (TURN.replace("of tcgen05_ld_16x256b_x1.f", "of tcgen05_m64n16k16_n.c"), "TG182.operand"),
    "loaded where a slot is used": (ROLES.replace("        commit tcgen05", "        tcgen05_ld_16x256b_x1(f[0, 0], acc[0, 0])\n        commit tcgen05"), "TG182.section"),
    "multiplied where a slot is filled": (
        ROLES.replace("by tensor_copy\n        }", "by tensor_copy\n        async tcgen05_m64n16k16_n(acc[0, 0], sA[0, 0, 0], sB[0, 0, 0])\n        }"),
        "TG182.section",
    ),
    "a fence of it": (TURN.replace("fence async", "fence tcgen05"), "TG183.fence"),
    "groups of nothing": ("machine m : mm on sm_100a { work grid = (), block = (lane: 32)\n program { commit tcgen05 } }", "TG183.none"),
    "where an instruction is used": (
        "machine m : mm on sm_100a {\n work grid = (by, bx), block = (lane: 32)\n compute i = (by, im), j = (bx, jn), k = (ko, ka)\n time ko\n"
        " use tcgen05_m64n16k16_n(i: im, j: jn, k: ka) by lane\n stage A[i, k] at ko in shared\n stage B[k, j] at ko in shared\n}",
        "TG184.tensor",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_tensor_memory_is_not_is_said(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(TinygpuError) as told:
        pipeline.program(machine(text))
    code, _, key = message.partition(".")
    assert any(d.code.startswith(code) and (not key or d.title == filled(message, d.title)) for d in told.value.diagnostics), (
        told.value.diagnostics
    )


def filled(message: str, title: str) -> str:
    """The title if it is that of the message, whatever stands at its names."""
    code, key = message.split(".")
    pattern = re.sub(r"\\\{\w+\\\}", ".*", re.escape(MESSAGES[code][key][0]))
    return title if re.fullmatch(pattern, title) else ""
