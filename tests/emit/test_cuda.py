"""CUDA kernels: what their text computes, run by Python thread by thread, and what the compiler and the assembler make of it without a GPU.

Comes in: programs by hand, alone and of threads that work together; `cuda/NAME.tgpu`, with what their comments say. Goes out: every variant (wide
or not, 32 or 64 bits, threads in every order) against the simulator, bit for bit; PTX and machine code for sm_80 and sm_90a. The one idea: what
numba compiles is the text, so the text itself is what is run here; and nothing may fall into local memory.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.machine_code import Report, compile_ptx, disassembler, gate, gates, missing, share
from tests.comments import has_pieces, matches, sizes_of
from tests.emit.hand_programs import PROGRAMS, transpose
from tests.emit.interpreter import ORDERS, run
from tests.emit.test_cuda_prelude import needs_cuda
from tests.program.library import TEXTS
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.category.layout import Layout
from tinygpu.category.term import Const, Read, Var, text
from tinygpu.derive.wide import wide_accesses
from tinygpu.emit.cuda import block_threads, cuda_source, kernel_name
from tinygpu.emit.cuda_text import literal
from tinygpu.program.step import Assign, For, Program
from tinygpu.record import replace
from tinygpu.run.gate import loaded
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.tolerance import compare, tolerance

ARCHITECTURES: list[Any] = [(8, 0), (9, 0, "a")]
FILES = sorted((Path(__file__).parent / "cuda").glob("*.tgpu"))
SIZES: dict[tuple[str, ...], list[tuple[int, ...]]] = {
    ("n",): [(n,) for n in (0, 1, 3, 5, 37, 300)],
    ("M", "N"): [(0, 0), (1, 1), (2, 4), (3, 131), (33, 40)],
    ("R", "N"): [(1, 1), (6, 37)],
    ("n", "m"): [(0, 1), (300, 70)],
    ("M", "K", "N"): [(1, 0, 1), (9, 3, 12), (17, 18, 20), (65, 2, 4)],
}
SIZES_OF = {"text ring_difference": [(0,), (512,)], "text total_two": [(0,), (300,)]}
PIECES = {
    "matmul_tile": ("def matmul_tile(A, B, C, M, K, N)",),
    "saxpy_v4": ("ix(i0 + 3) < n",),  # conditions are asked of the last lane
    # index terms have the names of the equation: in `y[i, j]` the column is j, its first lane j0, and the place where x is read x1
    "conv": ("j0 = ix(ix(ix(h*32) + t)*4)", "j = ix(j0 + v)", "x1 = ix(ix(j + r) - 1)", "if x1 >= 0 and x1 < N else f32(0.0)"),
}


def of(path: Path) -> list[Program]:
    """The programs of a file."""
    return [pipeline.program(machine) for machine in pipeline.load(path).machines]


TOGETHER = {f"text {name}": pipeline.program(pipeline.load_text(spec, name).machines[0]) for name, spec in TEXTS.items()}
EVERY = PROGRAMS | TOGETHER


def agrees(made: Program, sizes: dict[str, int]) -> None:
    """The text in three variants computes the equation, with the bits of the simulator."""
    inputs = random_inputs(made.op, sizes, seed=1)
    want, same = reference(made.op, sizes, inputs), simulate(made, sizes, inputs).outputs
    rtol, atol = tolerance(made.op, sizes)
    wide = all(evaluate(w.asks, sizes) for w in wide_accesses(made))
    for bits, is_wide, order in zip((32, 64, 32), (wide, False, wide), ORDERS, strict=True):
        got = run(made, sizes, inputs, bits, is_wide, order=order)
        assert not compare(made.op, got, want, rtol=rtol, atol=atol)
        for name, values in got.items():  # the same operations in the same order, so the same bits
            np.testing.assert_array_equal(np.asarray(values, np.float64), np.asarray(same[name], np.float64))


@pytest.mark.parametrize("name", TOGETHER)
def test_the_text_computes_the_equation_in_every_order(name: str) -> None:
    made = TOGETHER[name]
    for row in SIZES_OF.get(name, SIZES[made.op.sizes]):
        agrees(made, dict(zip(made.op.sizes, row, strict=True)))


@pytest.mark.parametrize("name", EVERY)
def test_loops_are_not_unrolled_text(name: str) -> None:
    lines = cuda_source(EVERY[name]).splitlines()
    assert len(lines) < 150 and max(map(len, lines)) <= 160 and all(piece in "\n".join(lines) for piece in PIECES.get(name, ()))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_does_what_its_comments_say(path: Path) -> None:
    for made in of(path):
        has_pieces(path, cuda_source(made))
        for names in matches(path, re.compile(r"# wide: ?(.*)")):
            assert [w.tensor for w in wide_accesses(made)] == names[0].split()
        for sizes in sizes_of(path):
            inputs = random_inputs(made.op, sizes, seed=1)
            same = simulate(made, sizes, inputs).outputs
            for wide in {False, all(evaluate(w.asks, sizes) for w in wide_accesses(made))}:
                for name, values in run(made, sizes, inputs, 32, wide).items():
                    np.testing.assert_array_equal(np.asarray(values, np.float64), np.asarray(same[name], np.float64))


@cache
def gated(name: str) -> dict[Any, tuple[Report, ...]]:
    needs_cuda()
    return gates([EVERY[name]], ARCHITECTURES)


def seen(report: Report) -> Report:
    """The report, if there was a disassembler."""
    if not disassembler():
        pytest.skip("nvdisasm is not installed: pip install 'tinygpu[dev]'")
    return report


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TOGETHER)
def test_every_launch_keeps_to_registers_and_its_wide_accesses(name: str) -> None:
    for reports in gated(name).values():
        assert len(reports) == len(EVERY[name].launches) and all(0 < r.registers <= 168 and r.refused() == () for r in reports)
        assert not disassembler() or missing(reports, EVERY[name]) == ()


def test_so_do_kernels_of_64_bits_and_those_of_the_files() -> None:
    needs_cuda()
    many = [made for path in FILES for made in of(path)]
    for reports in (
        gate([PROGRAMS[name] for name in ("saxpy_v4", "conv", "matmul_shared", "histogram")], (9, 0, "a"), 64, False),
        gate(many, (8, 0)),
    ):
        assert all(report.refused() == () for report in reports)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "loads", "stores"), [("saxpy_v4", 2, 1), ("cast_f16", 2, 1), ("scale_bf16", 1, 1), ("bytes_u8", 1, 1),
                                                       ("stencil", 1, 1), ("matmul_tile", 2, 16), ("row_sum", 0, 0), ("conv", 0, 1)])  # fmt: skip
def test_every_promised_access_is_128_bits_wide(name: str, loads: int, stores: int) -> None:
    (report,) = gated(name)[9, 0, "a"]
    assert (seen(report).wide(False, 16), report.wide(True, 16)) == (loads, stores)


@pytest.mark.parametrize(("name", "part"), [("matmul_tile", 0.4), ("matmul_shared", 0.82), ("matmul_whole", 0.82)])
def test_a_product_is_mostly_arithmetic(name: str, part: float) -> None:
    for (report,) in gated(name).values():
        hot = seen(report).hot_loop()
        names = [i.name for i in hot]
        turns = names.count("FFMA") // 64  # of k, which the compiler takes at once
        assert turns >= 1 and names.count("FFMA") == 64 * turns and share(hot) >= part
        if name != "matmul_tile":
            assert names.count("LDS.128") == 4 * turns > 4 and not any(n.startswith("LDS") and n != "LDS.128" for n in names)
            assert report.count("LDG.E.128") == 2 and report.count("STS.128") == 1 and report.count("BAR") == 2
            assert report.stack_bytes == 0 and report.registers <= 128


def test_shuffles_and_updates_are_single_instructions() -> None:
    first, last = map(seen, gated("total_two")[9, 0, "a"])
    assert first.count("SHFL.BFLY") == 5 and last.count("SHFL.DOWN") == 5
    _, counts, _ = map(seen, gated("histogram")[9, 0, "a"])
    assert counts.count("ATOMS") == 1 and counts.count("RED") == 1


def test_memory_that_the_launch_gives() -> None:
    (made,) = of(Path(__file__).parent / "cuda" / "large.tgpu")
    needs_cuda()
    (report,) = gate([made], (8, 0))
    assert report.refused() == () and report.shared_bytes == 0
    assert (seen(report).wide(True, 16, shared=True), report.wide(False, 16)) == (4, 4)


def test_a_dynamic_index_is_refused() -> None:
    """The gate itself is seen failing: cells addressed by a run-time index fall into local memory."""
    needs_cuda()
    program = PROGRAMS["matmul_tile"]
    (launch,) = program.launches
    last = launch.body[-1]
    assert isinstance(last, For) and isinstance(last.body[0], For) and isinstance(last.body[0].body[0], Assign)
    moved = replace(last.body[0].body[0], value=Read("acc", ((Var("ri") + Var("M")) % 8, Var("rj")), "f32"))
    broken = replace(last, body=(replace(last.body[0], body=(moved,)),))
    (report,) = gate([replace(program, launches=(replace(launch, body=(*launch.body[:-1], broken)),))], (8, 0))
    assert any("local memory" in reason or "stack" in reason for reason in report.refused())


def test_each_architecture_has_the_text_that_it_has_alone() -> None:
    """What numba makes is made once for both; the compiler of NVIDIA is asked twice."""
    needs_cuda()
    from numba import cuda

    made = PROGRAMS["histogram"]
    space = loaded(made)
    for number, launch in enumerate(made.launches):
        both = compile_ptx(space, made, number, ARCHITECTURES, 32, True)
        for arch, ptx in zip(ARCHITECTURES, both, strict=True):
            kernel, signature = space[kernel_name(made, number)](32, True)
            alone, _ = cuda.compile_ptx(kernel, signature, cc=arch, launch_bounds=block_threads(launch))
            first, second = (re.sub(r"_?\w*B\d+\w*cw51cX\w*", "name", one) for one in (ptx, alone))  # names tell the architecture
            assert first.splitlines() == second.splitlines() and f".target sm_{arch[0]}{arch[1]}" in ptx


def test_conditions_and_alignment_of_wide_accesses() -> None:
    load, store, *_ = wide_accesses(PROGRAMS["saxpy_v4"])
    assert (
        text(load.condition) == text(store.condition) == "(g*256 + t)*4 + 3 < n" and text(load.aligned) == "(g*256 + t)*4 % 4 == 0"
    )
    matmul = {w.tensor: w for w in wide_accesses(PROGRAMS["matmul_tile"])}
    assert text(matmul["B"].asks) == "N % 4 == 0" and matmul["B"].bytes == 16 and matmul["B"].count == 8
    assert not wide_accesses(transpose(Layout(), "plain"))


def test_literals_are_rounded_once() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    chance = np.random.default_rng(3)
    numbers = [*(chance.uniform(-1, 1, 500) * 2.0 ** chance.integers(-140, 128, 500)), 65519.9, 65520.0, 3.4e38, 1e-40, 5e-324, 0.0]
    with np.errstate(over="ignore", under="ignore"):
        for number in map(float, numbers):
            for dtype, near in (("bf16", ml_dtypes.bfloat16), ("f16", np.float16)):
                assert eval(literal(Const(number, dtype)), {"f32": float, "inf": float("inf")}) == float(near(number)), number
    assert literal(Const(float("inf"), "f16")) == "f32(inf)"
