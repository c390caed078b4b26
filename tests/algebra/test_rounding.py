"""Bounds of rounding hold, and they are of the size of what is seen.

Comes in: ops, and numbers at random. Goes out: nothing, or an error that is larger than its bound. The one idea: what is computed in halves is off by what it says in units of halves.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.program.library import loaded
from tinygpu.algebra.rounding import operations, rounding
from tinygpu.category.evaluate import evaluate
from tinygpu.pipeline import load_text
from tinygpu.simulate.reference import reference

OPS = {op.name: op for name in ("theorems", "strassen") for op in loaded(name).spec.ops}
U = 2.0**-24


@pytest.mark.parametrize(
    "name", ["strassen", "product_halves", "blocks_strassen", "conv", "conv_winograd", "conv_winograd_4_3", "chain_right"]
)
@pytest.mark.parametrize("seed", range(4))
def test_no_error_is_above_its_bound(name: str, seed: int) -> None:
    op, chance = OPS[name], np.random.default_rng(seed)
    sizes = {s: int(chance.integers(1, 9)) for s in op.sizes}
    inputs = {t.name: chance.uniform(-1, 1, [int(evaluate(e, sizes)) for e in t.shape]).astype(np.float32) for t in op.inputs}
    exact = reference(op, sizes, {n: x.astype(np.float64) for n, x in inputs.items()})
    single = _in_single(op, sizes, inputs)
    most = {f"|{n}|": float(np.abs(x).max()) for n, x in inputs.items()}
    for output, formula in rounding(op).items():
        bound = eval(re.sub(r"\|(\w+)\|", r"M_\1", formula), {}, {**sizes, **{f"M_{k.strip('|')}": v for k, v in most.items()}})
        error = np.abs(np.asarray(exact[output], np.float64) - np.asarray(single[output], np.float64)).max()
        assert error <= bound * U * 1.01
        assert error == 0 or bound * U < 1e4 * error


def _in_single(op: object, sizes: dict[str, int], inputs: dict[str, object]) -> dict[str, object]:
    """By the kernels of a thread for each element, in f32."""
    from tinygpu.derive.sequential import pointwise
    from tinygpu.model.machine import Machine
    from tinygpu.pipeline import program
    from tinygpu.simulate.simulate import simulate

    made = program(pointwise(Machine("m", op, ())))  # type: ignore[arg-type]
    return dict(simulate(made, sizes, inputs).outputs)  # type: ignore[arg-type]


def test_operations_are_those_that_are_saved() -> None:
    assert operations(OPS["product[f32]"] if "product[f32]" in OPS else loaded("strassen").spec.op("product")) == "16*k*m*n"
    assert operations(OPS["strassen"]).endswith("14*k*m*n")


def test_of_functions_there_is_no_bound_and_of_data_that_divide_none() -> None:
    text = (
        "op f(x: f32[n], s: f32) -> (a: f32[n], b: f32[n], c: f32[n]) { a[i] = exp(x[i])\n b[i] = x[i] / s\n c[i] = 2 * x[i] + 1 }"
    )
    assert rounding(load_text(text).spec.ops[0]) == {"c": "1 + 2*|x|"}
