"""CUDA kernels whose threads cooperate: the text's meaning, and what the compiler and the assembler make of it.

Comes in: programs by hand and as text. Goes out: outputs of the text run by Python, in every order of threads; machine code.
The one idea: a program without races means the same whoever comes first, and so does its text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.emit.hand_programs import PROGRAMS, TOGETHER, at, i, loop, t, tensor, threads, transpose, v
from tests.emit.interpreter import ORDERS, run
from tests.emit.test_cuda import ARCHITECTURES, needs_cuda, seen
from tests.program.cooperation_texts import TEXTS
from tinygpu.category.evaluate import evaluate
from tinygpu.category.layout import PLAIN, Layout
from tinygpu.category.term import TRUE, App, Axis, Const, Term, Var
from tinygpu.derive.wide import wide_accesses
from tinygpu.emit.cuda import block_threads, cuda_source, kernel_name
from tinygpu.hardware.gate import compile_ptx, gate, gates, loaded, missing
from tinygpu.hardware.machine_code import Report, disassembler, share
from tinygpu.model.op import Equation, Op
from tinygpu.obligations import access
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.obligation import Obligation
from tinygpu.pipeline import load_text, program
from tinygpu.program.space import LOCAL, SHARED
from tinygpu.program.step import Array, Assign, If, Launch, Program, Step, Sync
from tinygpu.proof.kernel import Theorem, discharge
from tinygpu.schedule.contract import dynamic_bytes
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.tolerance import compare, tolerance

SIZES: dict[tuple[str, ...], list[dict[str, int]]] = {
    ("n",): [{"n": 0}, {"n": 1}, {"n": 300}],
    ("M", "N"): [{"M": 1, "N": 1}, {"M": 33, "N": 40}],
    ("R", "N"): [{"R": 1, "N": 1}, {"R": 6, "N": 37}],
    ("n", "m"): [{"n": 0, "m": 1}, {"n": 300, "m": 70}],
    ("M", "K", "N"): [{"M": 1, "K": 0, "N": 1}, {"M": 5, "K": 3, "N": 9}, {"M": 17, "K": 18, "N": 20}],
}
SIZES_OF = {
    "matmul_whole": [{"M": 128, "K": 8, "N": 128}],
    "matmul_shared": [{"M": 1, "K": 0, "N": 1}, {"M": 5, "K": 12, "N": 132}],
    "ring_difference": [{"n": 0}, {"n": 512}],
    "histogram": [{"n": 0}, {"n": 300}],
}


@cache
def texts() -> dict[str, Program]:
    return {f"text {name}": program(load_text(text, name).machines[0]) for name, text in TEXTS.items()}


def every() -> dict[str, Program]:
    return {**TOGETHER, **texts()}


def cases() -> list[tuple[str, dict[str, int]]]:
    return [
        (name, sizes)
        for name, made in every().items()
        for sizes in SIZES_OF.get(name.removeprefix("text "), SIZES.get(made.op.sizes, []))
    ]


@pytest.mark.parametrize(("name", "sizes"), cases(), ids=str)
def test_text_computes_the_equation_in_every_order(name: str, sizes: dict[str, int]) -> None:
    made = every()[name]
    inputs = random_inputs(made.op, sizes, seed=1)
    want = reference(made.op, sizes, inputs)
    rtol, atol = tolerance(made.op, sizes)
    wide = all(evaluate(w.asks, sizes) for w in wide_accesses(made))
    ways = zip((32, 64, 32), (wide, False, wide), ORDERS, strict=True)
    got = [run(made, sizes, inputs, *way[:2], order=way[2]) for way in ([next(ways)] if "total_two" in name else ways)]
    for outputs in got:
        assert not compare(made.op, outputs, want, rtol=rtol, atol=atol)
        for output, values in outputs.items():
            np.testing.assert_array_equal(np.asarray(values), np.asarray(got[0][output]))


@pytest.mark.parametrize("name", sorted(every()))
def test_text_and_simulator_agree_bit_for_bit(name: str) -> None:
    made = every()[name]
    sizes = SIZES_OF.get(name.removeprefix("text "), SIZES.get(made.op.sizes, []))[-1]
    inputs = random_inputs(made.op, sizes, seed=1)
    same = simulate(made, sizes, inputs).outputs
    for output, values in run(made, sizes, inputs, order="mixed", wide=False).items():
        np.testing.assert_array_equal(np.asarray(values, np.float64), np.asarray(same[output], np.float64))


@cache
def gated(name: str) -> dict[Any, tuple[Report, ...]]:
    needs_cuda()
    return gates([every()[name]], ARCHITECTURES)


@pytest.mark.parametrize("name", sorted(every()))
def test_every_launch_keeps_to_registers_and_its_wide_accesses(name: str) -> None:
    for reports in gated(name).values():
        assert len(reports) == len(every()[name].launches)
        assert [r.refused() for r in reports] == [()] * len(reports)
        if disassembler():
            assert missing(reports, every()[name]) == ()


@pytest.mark.parametrize("name", ["matmul_shared", "histogram", "half"])
def test_each_architecture_has_the_text_that_it_has_alone(name: str) -> None:
    """What numba makes is made once for both; the compiler of NVIDIA is asked twice."""
    needs_cuda()
    from numba import cuda

    made = {"half": exchange("bf16", (Assign("v", (), at("x", "bf16", t)), Assign("y", (t,), at("v", "bf16"))))} | every()
    program = made[name]
    space = loaded(program)
    for number, launch in enumerate(program.launches):
        both = compile_ptx(space, program, number, ARCHITECTURES, 32, True)
        for arch, ptx in zip(ARCHITECTURES, both, strict=True):
            kernel, signature = space[kernel_name(program, number)](32, True)
            alone, _ = cuda.compile_ptx(kernel, signature, cc=arch, launch_bounds=block_threads(launch))
            first, second = (re.sub(r"_?\w*B\d+\w*cw51cX\w*", "name", text) for text in (ptx, alone))  # names tell the architecture
            assert first.splitlines() == second.splitlines()
            assert f".target sm_{arch[0]}{arch[1]}" in ptx


@pytest.mark.parametrize("arch", ARCHITECTURES, ids=str)
@pytest.mark.parametrize("name", ["matmul_shared", "matmul_whole"])
def test_the_tiled_product_is_mostly_arithmetic(name: str, arch: Any) -> None:
    report = seen(gated(name)[arch][0])
    hot = report.hot_loop()
    names = [i.name for i in hot]
    turns = names.count("FFMA") // 64  # of k, which the compiler takes at once
    assert turns > 1 and names.count("FFMA") == 64 * turns and share(hot) >= 0.82
    assert names.count("LDS.128") == 4 * turns and not any(n.startswith("LDS") and n != "LDS.128" for n in names)
    assert report.count("LDG.E.128") == 2 and report.count("STS.128") == 1 and report.count("BAR") == 2
    assert report.stack_bytes == 0 and report.registers <= 128


def test_shuffles_and_updates_are_single_instructions() -> None:
    first, last = map(seen, gated("total_two")[9, 0, "a"])
    assert first.count("SHFL.BFLY") == 5 and last.count("SHFL.DOWN") == 5
    _, counts, _ = map(seen, gated("histogram")[9, 0, "a"])
    assert counts.count("ATOMS") == 1 and counts.count("RED") == 1


def large() -> Program:
    """A tile of 64 KB: more than a kernel may have by itself."""
    body = (
        Array("s", "f32", (Const(128), Const(128)), SHARED),
        loop("c", 4, loop("v", 4, Assign("s", (t, Var("c") * 4 + v), at("x", "f32", t * 16 + Var("c") * 4 + v)), sort="vector")),
        Sync(),
        loop("c", 16, Assign("y", (t * 16 + Var("c"),), at("s", "f32", Const(127) - t, Var("c")))),
    )
    x, y = tensor("x", "f32", 2048), tensor("y", "f32", 2048, role="output")
    value = at("x", "f32", (Const(127) - i // 16) * 16 + i % 16)
    op = Op("rows", (), (x,), (y,), (), (Equation("y", (Axis("i", Const(2048)),), value),))
    return Program("rows", op, (Launch((), threads(t=128), body),), arch="sm_80")


def test_memory_that_the_launch_gives() -> None:
    made = large()
    assert dynamic_bytes(made.launches[0]) == 65536
    assert "shared = shared_memory(0)  # the launch gives its 65536 bytes" in cuda_source(made)
    inputs = {"x": np.arange(2048, dtype=np.float32)}
    assert np.array_equal(run(made, {}, inputs)["y"], inputs["x"].reshape(128, 16)[::-1].reshape(-1))
    needs_cuda()
    (report,) = gate([made], (8, 0))
    assert report.refused() == () and report.shared_bytes == 0
    assert not disassembler() or (report.wide(True, 16, shared=True), report.wide(False, 16)) == (4, 4)


def exchange(dtype: str, steps_: tuple[Step, ...], cell: str = "") -> Program:
    """`y` of 64 elements from `x` by two warps."""
    x, y = tensor("x", dtype, 64), tensor("y", dtype, 64, role="output")
    op = Op("exchange", (), (x,), (y,), (), (Equation("y", (Axis("i", Const(64)),), at("x", dtype, i)),))
    return Program("exchange", op, (Launch((), threads(t=64), (Array("v", dtype, (), LOCAL), *steps_)),))


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "i64", "i32", "u32", "i8", "u8", "bool"])
def test_shuffles_of_every_dtype(dtype: str) -> None:
    moved = at("x", dtype, t)
    modes = [
        ("shuffle_xor", Const(5)),
        ("shuffle_up", Const(3)),
        ("shuffle_down", Const(40)),
        ("shuffle_idx", t // 7),
        ("shuffle_up", t % 5),
    ]
    body: list[Step] = [Assign("v", (), moved)]
    for op, by in modes:
        body += [Assign("v", (), App(op, (at("v", dtype), by), dtype))]
    made = exchange(dtype, (*body, Assign("y", (t,), at("v", dtype))))
    inputs = random_inputs(made.op, {}, seed=3)
    got, same = run(made, {}, inputs)["y"], simulate(made, {}, inputs).outputs["y"]
    np.testing.assert_array_equal(np.asarray(got, np.float64), np.asarray(same, np.float64))
    needs_cuda()
    (report,) = gate([made], (8, 0))
    assert report.refused() == () and (
        not disassembler() or report.count("SHFL") == len(modes) * (2 if dtype in ("f64", "i64") else 1)
    )


def test_a_shuffle_that_python_might_leave_out_is_made_beforehand() -> None:
    other = App("shuffle_xor", (at("v", "bool"), Const(1)), "bool")
    made = exchange(
        "bool", (Assign("v", (), at("x", "bool", t)), Assign("v", (), other, "any"), Assign("y", (t,), at("v", "bool")))
    )
    text = cuda_source(made)
    assert "other = u8(shuffle_xor(u8(v != 0), 1) != 0)" in text and "v = u8(v != 0 or other != 0)" in text
    inputs = {"x": np.arange(64) % 3 == 0}
    assert np.array_equal(run(made, {}, inputs)["y"], inputs["x"] | inputs["x"].reshape(32, 2)[:, ::-1].reshape(-1))


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize(
    ("dtype", "update"),
    [(d, "sum") for d in ("f32", "f64", "i32", "u32", "i64")] + [(d, m) for d in ("i32", "u32", "i64") for m in ("max", "min")],
)
def test_updates_that_nothing_interrupts(dtype: str, update: str, space: str) -> None:
    x, y = tensor("x", dtype, 64), tensor("y", dtype, 2, role="output")
    op = Op("folded", (), (x,), (y,), (), (Equation("y", (Axis("i", Const(2)),), at("x", dtype, i)),))
    place = (t % 2,)
    start = If(t < 2, (Assign("s" if space == "shared" else "y", (t,), at("x", dtype, t)),))
    change = Assign("s" if space == "shared" else "y", place, at("x", dtype, t), update, t >= 2, atomic=True)
    if space == "global":
        launches = tuple(Launch((), threads(**{name: 64}), renamed) for name, renamed in (("t", (start,)), ("t", (change,))))
    else:
        copy = If(t < 2, (Assign("y", (t,), at("s", dtype, t)),))
        launches = (Launch((), threads(t=64), (Array("s", dtype, (Const(2),), SHARED), start, Sync(), change, Sync(), copy)),)
    made = Program("folded", op, launches)
    inputs = random_inputs(op, {}, seed=5)
    rows = np.asarray(inputs["x"]).reshape(32, 2)
    want = {"sum": lambda: rows.sum(0, dtype=rows.dtype), "max": lambda: rows.max(0), "min": lambda: rows.min(0)}[update]()
    np.testing.assert_allclose(run(made, {}, inputs)["y"], want, rtol=1e-5, atol=1e-5)
    needs_cuda()
    assert all(r.refused() == () for r in gate([made], (9, 0, "a")))


def test_what_is_wide_in_a_blocks_memory() -> None:
    """A pad that breaks rows, a swizzle of single elements, a barrier in the loop: one by one."""

    def accesses(layout: Layout, *more: Step, first: Term = t % 8 * 4, dtype: str = "f32") -> list[tuple[str, bool, bool]]:
        body = (
            Array("s", dtype, (Const(8), Const(32)), SHARED, layout),
            loop("v", 4, Assign("s", (t // 8, first + v), at("x", dtype, t * 4 + v)), *more, sort="vector"),
        )
        made = exchange(dtype, body)
        return [(w.tensor, w.stores, w.always) for w in wide_accesses(made)]

    assert accesses(PLAIN) == [("x", False, False), ("s", True, True)]
    assert accesses(Layout(pad=4)) == accesses(Layout(swizzle=(2, 2, 3))) == accesses(PLAIN)
    assert (
        accesses(Layout(pad=1))
        == accesses(Layout(swizzle=(3, 1, 3)))
        == accesses(PLAIN, first=t % 8 * 4 + 1)
        == [("x", False, False)]
    )
    assert accesses(Layout(pad=2), dtype="f16") == [("x", False, False)] and len(accesses(Layout(pad=4), dtype="f16")) == 2
    assert accesses(PLAIN, Sync()) == []


def test_the_alignment_of_a_blocks_memory_is_proved() -> None:
    """Every row start is a multiple of 4 elements; one element further nothing is."""
    made = PROGRAMS["matmul_whole"]
    claims = [c for c in access.alignment(made, execute(made)) if isinstance(c, Obligation)]
    assert len([c for c in claims if "sA[" in c.sentence or "sB[" in c.sentence]) == 3
    assert all(isinstance(discharge(c), Theorem) for c in claims)
    odd = transpose(PLAIN, "odd")
    moved = [replace(w, first=(*w.first[:-1], w.first[-1] + 1)) for w in wide_accesses(made) if w.shared]
    assert moved and not any(w.aligned == TRUE for w in moved) and not wide_accesses(odd)


def test_a_condition_of_all_lanes_stands_around_a_vector_loop() -> None:
    """Nothing is asked lane by lane, and what names the first lane is known where the condition is asked."""
    made = exchange("f32", (loop("v", 4, Assign("y", (t * 4 + v,), at("x", "f32", t * 4 + v), guard=t * 4 < 64), sort="vector"),))
    text = cuda_source(made)
    assert text.index("i0 = ix(t*4)") < text.index("< 64:")
    inputs = random_inputs(made.op, {}, seed=1)
    for wide in (True, False):
        np.testing.assert_array_equal(run(made, {}, inputs, wide=wide)["y"], inputs["x"])
