"""CUDA kernels of the hand-made programs: the text, and what the compiler and the assembler make of it without a GPU.

Comes in: programs by hand. Goes out: PTX and machine code for sm_80 and sm_90a.
The one idea: registers hold the cells, wide instructions move the vectors, and nothing falls into local memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.emit.hand_programs import ALONE, PROGRAMS, at, elementwise, f32, i, n, plus, tensor, times
from tests.emit.interpreter import run
from tinygpu.category.term import App, Const, Term, Var, ceildiv, select, text
from tinygpu.derive.wide import wide_accesses
from tinygpu.emit.cuda import block_threads, cuda_source, cuda_uses, kernel_parameters
from tinygpu.emit.cuda_text import Scope, literal
from tinygpu.hardware.gate import gate, missing
from tinygpu.hardware.machine_code import Report, disassembler, read_disassembly, share
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

ARCHITECTURES = [(8, 0), (9, 0, "a")]


def needs_cuda() -> None:
    """Skips, and says what is missing."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'tinygpu[cuda]'")
    pytest.importorskip("cuda.core", reason="cuda-core is not installed: pip install 'tinygpu[cuda]'")


def gated(name: str, arch: Any, bits: int = 32, wide: bool = True) -> Report:
    """The report of one program's kernel."""
    needs_cuda()
    (report,) = gate([PROGRAMS[name]], arch, bits, wide)
    return report


def seen(report: Report) -> Report:
    """The report, if there was a disassembler."""
    if not disassembler():
        pytest.skip("nvdisasm is not installed: pip install 'tinygpu[dev]'")
    return report


@pytest.mark.parametrize("arch", ARCHITECTURES, ids=str)
@pytest.mark.parametrize(("bits", "wide"), [(32, True), (64, False)])
def test_kernels_keep_to_registers(bits: int, wide: bool, arch: Any) -> None:
    needs_cuda()
    for report, program in zip(gate(list(ALONE.values()), arch, bits, wide), ALONE.values(), strict=True):
        assert report.refused() == (), program.name
        assert 0 < report.registers <= 168, program.name
        if wide and disassembler():
            assert missing([report], program) == (), program.name


@pytest.mark.parametrize(("name", "loads", "stores"), [("saxpy_v4", 2, 1), ("cast_f16", 2, 1), ("scale_bf16", 1, 1), ("bytes_u8", 1, 1),
                                                       ("stencil", 1, 1), ("matmul_tile", 2, 16), ("row_sum", 0, 0), ("conv", 0, 1)])  # fmt: skip
def test_every_promised_access_is_128_bits_wide(name: str, loads: int, stores: int) -> None:
    report = seen(gated(name, (9, 0, "a")))
    assert (report.wide(False, 16), report.wide(True, 16)) == (loads, stores)
    narrow = seen(gated(name, (9, 0, "a"), wide=False))
    assert narrow.wide(False, 16) == narrow.wide(True, 16) == 0


def test_the_register_tile_is_mostly_arithmetic() -> None:
    report = seen(gated("matmul_tile", (9, 0, "a")))
    hot = report.hot_loop()
    assert sum(instruction.name == "FFMA" for instruction in hot) == 64
    assert share(hot) > 0.4  # 0.43, of which the scalar path of the loads is not taken


def test_a_dynamic_index_is_refused() -> None:
    """The gate itself is seen failing: cells addressed by a run-time index fall into local memory."""
    program = PROGRAMS["matmul_tile"]
    needs_cuda()
    from tinygpu.program.step import Assign, For

    (launch,) = program.launches
    last = launch.body[-1]
    assert isinstance(last, For) and isinstance(last.body[0], For) and isinstance(last.body[0].body[0], Assign)
    store = last.body[0].body[0]
    moved = replace(store, value=at("acc", "f32", (Var("ri") + Var("M")) % 8, Var("rj")))
    broken = replace(last, body=(replace(last.body[0], body=(moved,)),))
    (report,) = gate([replace(program, launches=(replace(launch, body=(*launch.body[:-1], broken)),))], (8, 0))
    assert any("local memory" in reason or "stack" in reason for reason in report.refused())


def test_parameters_and_blocks() -> None:
    program = PROGRAMS["matmul_tile"]
    assert [p.name for p in kernel_parameters(program)] == ["A", "B", "C", "M", "K", "N"]
    assert [(p.name, p.kind, p.dtype) for p in kernel_parameters(PROGRAMS["scale_bf16"])] == [
        ("x", "pointer", "u16"),
        ("z", "pointer", "u16"),
        ("a", "scalar", "u16"),
        ("n", "size", "ix"),
    ]
    (launch,) = program.launches
    assert text(launch.blocks) == "ceil(M / 64)*ceil(N / 64)"
    assert block_threads(launch) == 64
    assert {"load8", "streaming_store8", "ix", "f32"} <= cuda_uses(program)


@pytest.mark.parametrize("name", sorted(ALONE))
def test_text_is_short_and_the_same_every_time(name: str) -> None:
    first = cuda_source(PROGRAMS[name])
    assert first == cuda_source(PROGRAMS[name])
    assert len(first.splitlines()) < 70  # loops, not unrolled text
    assert max(map(len, first.splitlines())) <= 160


def test_names_that_python_or_the_prelude_has() -> None:
    inputs = (tensor("lambda", "f32", n), tensor("ix", "f32", n), tensor("load4", "f32", n))
    total = plus(plus(at("lambda", "f32", i), at("ix", "f32", i)), at("load4", "f32", i))
    program = elementwise("range", inputs, tensor("f32", "f32", n, role="output"), total)
    assert "def range_(lambda_, ix_, load4_, f32_, n)" in cuda_source(program)
    sizes = {"n": 5}
    arrays = random_inputs(program.op, sizes)
    np.testing.assert_array_equal(run(program, sizes, arrays)["f32"], simulate(program, sizes, arrays).outputs["f32"])


def test_what_is_not_wide() -> None:
    """Off by one, of three lanes, of a row whose start nobody knows: read one by one."""
    shifted = elementwise("shifted", (tensor("x", "f32", n + 1),), tensor("z", "f32", n, role="output"), at("x", "f32", i + 1))
    assert [w.tensor for w in wide_accesses(shifted)] == ["z"]
    three = elementwise("three", (tensor("x", "f32", n),), tensor("z", "f32", n, role="output"), at("x", "f32", i), lanes=3)
    assert wide_accesses(three) == ()
    halves = elementwise("halves", (tensor("x", "f16", n),), tensor("z", "f16", n, role="output"), at("x", "f16", i))
    assert [(w.lanes, w.bytes) for w in wide_accesses(halves)] == [(4, 8), (4, 8)]


def test_reads_chosen_by_data_are_wide_beside_sure_ones() -> None:
    inputs = (tensor("x", "f32", n), tensor("m", "bool", n), tensor("w", "f32", n + 4))
    chosen = select(at("m", "bool", i), at("x", "f32", i), at("w", "f32", i))
    program = elementwise("chosen", inputs, tensor("z", "f32", n, role="output"), chosen)
    assert [w.tensor for w in wide_accesses(program)] == ["m", "z", "x"]  # w has another shape: nobody says that it is inside


def test_conditions_are_checked_at_the_worst_lane() -> None:
    (load, store, *_) = wide_accesses(PROGRAMS["saxpy_v4"])
    assert text(load.condition) == text(store.condition) == "(g*256 + t)*4 + 3 < n"
    assert text(load.aligned) == "(g*256 + t)*4 % 4 == 0"
    matmul = {w.tensor: w for w in wide_accesses(PROGRAMS["matmul_tile"])}
    assert text(matmul["B"].asks) == "N % 4 == 0" and matmul["B"].bytes == 16 and matmul["B"].count == 8


SCOPE = Scope({"g": "g", "n": "n", "x": "x", "a": "a"}, {"x": (n,)})


def write(term: Term) -> str:
    return SCOPE.text(term)


def test_terms_as_text() -> None:
    x = at("x", "f32", Var("g"))
    assert write(ceildiv(n, 4)) == "ceil(n, 4)"
    assert write(App("table", (Var("g"), Const(5), Const(7), Const(9)))) == "ix(5 if g == 0 else 7 if g == 1 else 9)"
    assert write(App("or", (Var("g") < n, App("and", (Var("g") >= 1, n > 2), "bool")), "bool")) == "g < n or g >= 1 and n > 2"
    assert write(App("sub", (x, plus(x, x)), "f32")) == "x[g] - (x[g] + x[g])"
    assert write(App("neg", (plus(x, x),), "f32")) == "-(x[g] + x[g])"
    assert write(select(Var("g") < n, x, f32(0.0))) == "x[g] if g < n else f32(0.0)"
    assert write(App("sigmoid", (x,), "f32")) == "f32(1.0) / (f32(1.0) + expf(-x[g]))"
    assert write(App("add", (at("x", "i32", Var("g")), Const(1, "i32")), "i32")) == "i32(x[g] + i32(1))"
    assert (
        write(App("mul", (at("x", "f16", Var("g")), Const(0.1, "f16")), "f16")) == "round_f16(f16_value(x[g])*f32(0.0999755859375))"
    )


def test_casts_as_text() -> None:
    def of(dtype: str, target: str) -> str:
        return write(App("cast", (at("x", dtype, Var("g")),), target))

    assert of("f64", "f16") == "round_f16(x[g])"
    assert of("i32", "bf16") == "round_bf16(i64(x[g]))"
    assert of("u8", "bf16") == "f32(x[g])"
    assert of("f32", "i32") == "trunc_i32(x[g])"
    assert of("f32", "u8") == "u8(min(max(trunc_i32(x[g]), 0), 255))"
    assert of("bf16", "f32") == "bf16_value(x[g])"
    assert of("i64", "i8") == "i8(x[g])"
    assert of("bool", "f32") == "f32(x[g] != 0)"
    assert write(App("cast", (Var("g"),), "f32")) == "f32(g)"


def test_a_choice_in_a_cast_that_writes_nothing_keeps_its_parentheses() -> None:
    """A 16-bit float is its f32 in registers, so the cast has no text; a comparison in a comparison would be a chain."""
    m = at("m", "bool", i)
    widened = App("cast", (select(m, at("x", "f16", i), at("y", "f16", i)),), "f32")
    inputs = (tensor("x", "f16", n), tensor("y", "f16", n), tensor("m", "bool", n), tensor("w", "f32", n))
    program = elementwise("halved", inputs, tensor("z", "f32", n, role="output"), times(at("w", "f32", i), widened))
    arrays = random_inputs(program.op, {"n": 37})
    np.testing.assert_array_equal(run(program, {"n": 37}, arrays)["z"], simulate(program, {"n": 37}, arrays).outputs["z"])
    x = App("cast", (at("x", "f32", Var("g")),), "bool")
    assert write(App("eq", (x, Var("g") < n), "bool")) == "(x[g] != 0) == (g < n)"


@pytest.mark.parametrize("dtype", ["u8", "u32", "i32"])
def test_values_divide_and_round_up(dtype: str) -> None:
    value = App("ceildiv", (at("x", dtype, i), Const(3, dtype)), dtype)
    program = elementwise("thirds", (tensor("x", dtype, n),), tensor("z", dtype, n, role="output"), value)
    arrays = {"x": np.arange(40, dtype={"u8": np.uint8, "u32": np.uint32, "i32": np.int32}[dtype])}
    assert run(program, {"n": 40}, arrays)["z"].tolist() == [-(-x // 3) for x in range(40)]


def test_literals_are_rounded_once() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    chance = np.random.default_rng(3)
    numbers = [*(chance.uniform(-1, 1, 500) * 2.0 ** chance.integers(-140, 128, 500)), 65519.9, 65520.0, 3.4e38, 1e-40, 5e-324, 0.0]
    with np.errstate(over="ignore", under="ignore"):
        for number in map(float, numbers):
            assert eval(literal(Const(number, "bf16")), {"f32": float, "inf": float("inf")}) == float(ml_dtypes.bfloat16(number)), (
                number
            )
            assert eval(literal(Const(number, "f16")), {"f32": float, "inf": float("inf")}) == float(np.float16(number)), number
    assert literal(Const(float("inf"), "f16")) == "f32(inf)"


def test_disassembly_is_read() -> None:
    shown = ".text.k:\n.L_x_1:\n        /*0a00*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;\n        /*0a10*/              @P0 BRA `(.L_x_1) ;\n"
    instructions = read_disassembly(shown)["k"]
    report = Report("k", "sm_90", 10, 0, 0, 0, 0, instructions)
    assert report.wide(False, 16) == 1 and report.wide(True, 16) == 0
    assert instructions[1].operands == "0xa00"
    assert replace(report, spill_bytes=8).refused() == ("spills of 8 bytes",)


def test_index_terms_have_the_names_of_the_equation() -> None:
    """`y[i, j]`: the column is j, its first lane j0, and the place where x is read x1."""
    written = cuda_source(PROGRAMS["conv"])
    assert written.count("j0 = ix(ix(ix(h*32) + t)*4)") == 1 and written.count("j = ix(j0 + v)") == 2
    assert written.count("x1 = ix(ix(j + r) - 1)") == 1 and "x[ix(ix(g*N) + x1)] if x1 >= 0 and x1 < N else f32(0.0)" in written
