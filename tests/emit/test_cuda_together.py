"""CUDA kernels whose threads cooperate: the text's meaning, and what the compiler and the assembler make of it.

Comes in: programs by hand and as text. Goes out: outputs of the text run by Python, in every order of threads; machine code.
The one idea: a program without races means the same whoever comes first, and so does its text.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.emit.interpreter import ORDERS, run
from tests.emit.test_cuda import ARCHITECTURES, needs_cuda, seen
from tests.emit.together_programs import PROGRAMS
from tests.program.cooperation_texts import TEXTS
from tinygpu.category.evaluate import evaluate
from tinygpu.hardware.gate import gate, missing
from tinygpu.hardware.machine_code import Report, disassembler, share
from tinygpu.pipeline import load_text, program
from tinygpu.program.inputs import random_inputs
from tinygpu.program.reference import reference
from tinygpu.program.simulate import simulate
from tinygpu.program.step import Program
from tinygpu.program.tolerance import compare, tolerance
from tinygpu.program.wide import wide_accesses

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
    return {**PROGRAMS, **texts()}


def cases() -> list[tuple[str, dict[str, int]]]:
    return [
        (name, sizes)
        for name, made in every().items()
        for sizes in SIZES_OF.get(name.removeprefix("text "), SIZES.get(made.op.sizes, []))
    ]


def arrays_for(made: Program, sizes: dict[str, int]) -> dict[str, Any]:
    """Inputs; where an input is an address, it is in range."""
    inputs = dict(random_inputs(made.op, sizes, seed=1))
    if made.op.name == "histogram":
        chance = np.random.default_rng(1)
        inputs["x"] = chance.integers(0, sizes.get("m", 64), sizes["n"]).astype(np.int32)
    return inputs


@pytest.mark.parametrize(("name", "sizes"), cases(), ids=str)
def test_text_computes_the_equation_in_every_order(name: str, sizes: dict[str, int]) -> None:
    made = every()[name]
    inputs = arrays_for(made, sizes)
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
    inputs = arrays_for(made, sizes)
    same = simulate(made, sizes, inputs).outputs
    for output, values in run(made, sizes, inputs, order="mixed", wide=False).items():
        np.testing.assert_array_equal(np.asarray(values, np.float64), np.asarray(same[output], np.float64))


@cache
def gated(name: str, arch: Any) -> tuple[Report, ...]:
    needs_cuda()
    return gate([every()[name]], arch)


@pytest.mark.parametrize("arch", ARCHITECTURES, ids=str)
@pytest.mark.parametrize("name", sorted(every()))
def test_every_launch_keeps_to_registers_and_its_wide_accesses(name: str, arch: Any) -> None:
    reports = gated(name, arch)
    assert len(reports) == len(every()[name].launches)
    assert [r.refused() for r in reports] == [()] * len(reports)
    if disassembler():
        assert missing(reports, every()[name]) == ()


@pytest.mark.parametrize("arch", ARCHITECTURES, ids=str)
@pytest.mark.parametrize("name", ["matmul_shared", "matmul_whole"])
def test_the_tiled_product_is_mostly_arithmetic(name: str, arch: Any) -> None:
    report = seen(gated(name, arch)[0])
    hot = report.hot_loop()
    names = [i.name for i in hot]
    assert names.count("FFMA") == 64 and share(hot) >= 0.75
    assert names.count("LDS.128") == 4 and not any(n.startswith("LDS") and n != "LDS.128" for n in names)
    assert report.count("LDG.E.128") == 2 and report.count("STS.128") == 1 and report.count("BAR") == 2
    assert report.stack_bytes == 0 and report.registers <= 128


def test_shuffles_and_updates_are_single_instructions() -> None:
    first, last = map(seen, gated("total_two", (9, 0, "a")))
    assert first.count("SHFL.BFLY") == 5 and last.count("SHFL.DOWN") == 5
    _, counts, _ = map(seen, gated("histogram", (9, 0, "a")))
    assert counts.count("ATOMS") == 1 and counts.count("RED") == 1
