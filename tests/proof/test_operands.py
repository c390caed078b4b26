"""The inputs that a wrong element should have been made of.

Comes in: equations and wrong elements of them. Goes out: names and values of the elements of inputs that are read. The one idea: an element
that no branch and no guard takes is not among them, and where there are many none is shown.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.obligations.texts import COPY, program
from tinygpu.proof.check import Refutation, check
from tinygpu.proof.confirm import FEW, operands
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.tolerance import Mismatch

CASES = {
    "from the end": ("op o(x: f32[R]) -> (s: f32[R]) { s[r] = x[R - 1 - r] }", (0,), ["x[6]"]),
    "two axes": ("op o(x: f32[4, R]) -> (s: f32[R]) { s[r] = x[1, r] * x[3, r] }", (2,), ["x[1, 2]", "x[3, 2]"]),
    "a number": ("op o(a: f32, x: f32[R]) -> (s: f32[R]) { s[r] = a * x[r] }", (1,), ["a", "x[1]"]),
    "one branch": ("op o(x: f32[R], y: f32[R]) -> (s: f32[R]) { s[r] = x[r] if r < 3 else y[r] }", (3,), ["y[3]"]),
    "a guarded fold": ("op o(x: f32[R]) -> (s: f32[R]) { s[r] = sum[k <= r] x[k] }", (1,), ["x[0]", "x[1]"]),
    "the last of few": ("op o(x: f32[R]) -> (s: f32[R]) { s[r] = sum[k <= r] x[k] }", (FEW - 1,), [f"x[{i}]" for i in range(FEW)]),
    "many": ("op o(x: f32[R]) -> (s: f32[R]) { s[r] = sum[k <= r] x[k] }", (FEW,), []),
    "an intermediate": (
        "op o(x: f32[2, R]) -> (s: f32[R]) { m[r] = max[k] x[k, r]\n s[r] = 2 * m[r] }",
        (1,),
        ["x[0, 1]", "x[1, 1]"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_the_equation_reads(name: str) -> None:
    text, index, wanted = CASES[name]
    op, sizes = program(text, "s[ROW] = 0", guard=False).op, {"R": 7}
    inputs = {
        name: np.arange(100, 100 + values.size, dtype=np.float32).reshape(values.shape)
        for name, values in random_inputs(op, sizes).items()
    }
    found = operands(op, {s: sizes[s] for s in op.sizes}, inputs, Mismatch("s", index, 0.0, 0.0))
    assert [one for one, _ in found] == wanted
    assert all(value >= 100 for _, value in found)


def test_they_stand_in_the_case_and_make_the_value() -> None:
    verdict = check(program(COPY, "s[ROW] = 2 * x[ROW]"))
    assert isinstance(verdict, Refutation) and verdict.diagnostic.case is not None
    said = dict(verdict.diagnostic.case.rows)
    value = said["inputs"][0].removeprefix("x[0] = ")
    assert value == said["equation"][0] and said["stored"][0] == "2.41505"
