"""The CUDA kernels' text computes the equation: run by Python, thread by thread, against the brute-force reference.

Comes in: the hand-made programs. Goes out: every variant (wide or not, 32 or 64 bits) at sizes around every edge.
The one idea: what numba compiles is the text, so the text itself is what is run here, and a GPU is not needed to see it wrong.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.emit.hand_programs import ALONE, PROGRAMS
from tests.emit.interpreter import run
from tinygpu.category.evaluate import evaluate
from tinygpu.derive.wide import wide_accesses
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.tolerance import compare, tolerance

EDGES = {
    ("n",): [{"n": n} for n in (0, 1, 3, 4, 5, 37, 64)],
    ("M", "N"): [{"M": m, "N": n} for m, n in ((0, 0), (1, 1), (2, 4), (3, 131), (2, 128))],
    ("M", "K", "N"): [
        {"M": m, "K": k, "N": n} for m, k, n in ((1, 0, 1), (1, 1, 1), (9, 3, 12), (8, 2, 8), (65, 2, 4), (3, 2, 68))
    ],
}


def cases() -> list[tuple[str, dict[str, int]]]:
    return [(name, sizes) for name, program in ALONE.items() for sizes in EDGES[program.op.sizes]]


@pytest.mark.parametrize(
    ("name", "sizes"), cases(), ids=lambda value: value if isinstance(value, str) else "-".join(map(str, value.values()))
)
@pytest.mark.parametrize("bits", [32, 64])
def test_text_computes_the_equation(name: str, sizes: dict[str, int], bits: int) -> None:
    program = PROGRAMS[name]
    inputs = random_inputs(program.op, sizes, seed=1)
    want = reference(program.op, sizes, inputs)
    rtol, atol = tolerance(program.op, sizes)
    same = simulate(program, sizes, inputs).outputs
    variants = [False] + [True] * all(evaluate(w.asks, sizes) for w in wide_accesses(program))
    for wide in variants:
        got = run(program, sizes, inputs, bits, wide)
        assert not compare(program.op, got, want, rtol=rtol, atol=atol)
        for output, values in got.items():  # the same operations in the same order, so the same bits
            np.testing.assert_array_equal(np.asarray(values, np.float64), np.asarray(same[output], np.float64))
