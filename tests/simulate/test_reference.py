"""The reference is what numpy computes by other means; `compare` and the sizes to try do what they say."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.library import shipped
from tinygpu import pipeline
from tinygpu.category.term import BOOL, App, Const, Var, ceildiv, equal
from tinygpu.model.op import Op
from tinygpu.program.step import Program
from tinygpu.record import replace
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.sizes import boundaries, sizes_to_try
from tinygpu.simulate.tolerance import Mismatch, compare, tolerance

SIZES = {"R": 5, "N": 9}
SAXPY, MATMUL = shipped("saxpy", "saxpy_v4"), shipped("matmul", "matmul_tile")


def op(equations: str, result: str = "f32[R, N]", inputs: str = "x: f32[R, N]") -> Op:
    (found,) = pipeline.load_text(f"op o({inputs}) -> (y: {result}) {{ {equations} }}").spec.ops
    return found


def matmul(dtype: str = "f32") -> Op:
    return op("y[i, j] = sum[k] A[i, k] * B[k, j]", f"{dtype}[M, N]", f"A: {dtype}[M, K], B: {dtype}[K, N]")


def value_of(one: Op) -> tuple[np.ndarray, np.ndarray]:
    inputs = random_inputs(one, SIZES)
    return reference(one, SIZES, inputs)["y"], inputs["x"].astype(np.float64)


SOFTMAX = op("m[i] = max[k] x[i, k]\n s[i] = sum[k] exp(x[i, k] - m[i])\n y[i, j] = exp(x[i, j] - m[i]) / s[i]")


def test_an_equation_that_reads_outside_is_heard_of() -> None:
    (outside,) = pipeline.load_text("op o(x: f32[R, N]) -> (y: f32[R, N]) { y[i, j] = sum[k < 3] x[i, j + k - 1] }").spec.ops
    with pytest.raises(IndexError, match="the equation reads x outside its shape: axis 1 has extent 9"):
        value_of(outside)


def test_nothing() -> None:
    for sizes in ({"R": 0, "N": 4}, {"R": 3, "N": 0}, {"R": 0, "N": 0}):
        inputs = random_inputs(SOFTMAX, sizes)
        assert reference(SOFTMAX, sizes, inputs)["y"].shape == (sizes["R"], sizes["N"])
        assert (reference(op("y[i] = max[k] x[i, k]", "f32[R]"), sizes, inputs)["y"] == -np.inf).all() or sizes["N"]


def test_a_sample_is_compared_as_the_whole_is() -> None:
    sizes, one = {"M": 1024, "K": 1024, "N": 1024}, matmul()
    inputs, chance = random_inputs(one, sizes), np.random.default_rng(0)
    index = tuple(chance.integers(0, 1024, 4096) for _ in range(2))
    got = reference(one, sizes, inputs, sample={"y": index})["y"]
    assert got.dtype == np.float64 and np.allclose(got, (inputs["A"].astype(float) @ inputs["B"].astype(float))[index], rtol=1e-10)
    rtol, atol = tolerance(one, sizes)
    single = inputs["A"] @ inputs["B"]
    assert compare(one, {"y": single}, {"y": got}, sample={"y": index}, rtol=rtol, atol=atol) == []
    single[index[0][7], index[1][7]] += 0.05
    [first, *_] = compare(one, {"y": single}, {"y": got}, sample={"y": index}, rtol=rtol, atol=atol)
    assert first.index == (index[0][7], index[1][7]) and np.isclose(first.got - first.want, 0.05, rtol=1e-2)


@pytest.mark.parametrize(("dtype", "numpy"), [("f64", np.float64), ("f32", np.float32), ("f16", np.float16)])
@pytest.mark.parametrize("length", [1, 100, 1000])
def test_the_tolerance_allows_rounding_in_order_and_little_more(dtype: str, numpy: type, length: int) -> None:
    one, sizes = matmul(dtype), {"M": 40, "K": length, "N": 40}
    inputs = random_inputs(one, sizes)
    plain = np.zeros((40, 40), numpy)
    for k in range(length):
        plain = plain + inputs["A"][:, k : k + 1] * inputs["B"][k]
    (rtol, atol), want = tolerance(one, sizes), reference(one, sizes, inputs)
    assert compare(one, {"y": plain}, want, rtol=rtol, atol=atol) == []
    if length <= 100 or dtype != "f16":  # leaving out one term of the fold is seen, but in f16
        short = reference(one, {**sizes, "K": length - 1}, {"A": inputs["A"][:, :-1], "B": inputs["B"][:-1]})
        assert len(compare(one, short, want, rtol=rtol, atol=atol)) > 5


def test_tolerances_follow_the_dtypes() -> None:
    assert tolerance(op("y[i] = sum[k] x[i, k]", "i32[R]", "x: i32[R, N]"), SIZES) == (0.0, 0.0)
    assert tolerance(matmul("f16"), {"M": 1, "N": 1, "K": 1})[0] > 1000 * tolerance(matmul(), {"M": 1, "N": 1, "K": 1})[0]
    accumulated = op("y[i] = f16(sum[k] f32(x[i, k]))", "f16[R]", "x: f16[R, N]")
    assert tolerance(accumulated, {"R": 1, "N": 10**6})[0] < 0.1  # the fold is in f32, only the ends are f16


def test_compare() -> None:
    one = op("y[i, j] = x[i, j]")
    want = np.arange(6.0).reshape(2, 3)
    got = want.astype(np.float32)
    assert compare(one, {"y": got}, {"y": want}) == []
    got[1, 2] = 7
    assert compare(one, {"y": got}, {"y": want}, rtol=0.1) == [Mismatch("y", (1, 2), 7.0, 5.0)]
    assert compare(one, {"y": got}, {"y": want}, atol=2.0) == []
    assert len(compare(one, {"y": got[:1]}, {"y": want})) == 1
    odd = np.array([[np.nan, np.inf, -np.inf]])
    assert compare(one, {"y": odd.astype(np.float32)}, {"y": odd}) == []
    assert len(compare(one, {"y": odd[:, ::-1]}, {"y": odd}, rtol=1.0, atol=1e9)) == 2


def test_inputs_are_the_same_for_one_seed_and_fit_the_equation() -> None:
    first, again, other = (random_inputs(SAXPY.op, {"n": 50}, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[k], again[k]) for k in first) and not np.array_equal(first["x"], other["x"])
    assert not np.array_equal(first["x"], first["y"]) and abs(first["x"]).max() < 2
    assert np.isfinite(value_of(op("y[i, j] = sqrt(x[i, j])"))[0]).all()
    flags = value_of(op("y[i, j] = x[i, j]", "bool[R, N]", "x: bool[R, N]"))[0]
    assert flags.any() and not flags.all()


def test_sizes_go_around_every_boundary() -> None:
    tried = [s["n"] for s in sizes_to_try(SAXPY)]
    assert tried == sorted(tried) and {0, 1, 7, 1023, 1024, 1025, 2049} <= set(tried)
    assignments = sizes_to_try(MATMUL)
    assert len(assignments) == 60 and sizes_to_try(MATMUL) == assignments and any(min(s.values()) > 5 for s in assignments)
    for name, wanted in (("M", {0, 1, 63, 64, 65, 129}), ("N", {0, 1, 63, 64, 65, 129}), ("K", {0, 1, 2, 13})):
        assert wanted <= {s[name] for s in assignments}
    assert boundaries(ceildiv(ceildiv(Var("N"), 4) + 1, 256)) == {4, 256, 1024}
    assert sizes_to_try(Program("constant", op("y[] = 1 + 2 * 3", "f32[]", ""), ())) == [{}]


def test_sizes_respect_the_conditions() -> None:
    n = Var("n")
    fours = sizes_to_try(replace(SAXPY, where=(equal(n % 4, 0), n > 0)))
    assert fours and all(s["n"] % 4 == 0 and s["n"] for s in fours) and {4, 1024} <= {s["n"] for s in fours}
    related = sizes_to_try(replace(MATMUL, where=(equal(Var("M"), Var("N") + 2), App("ge", (Var("K"), Const(1)), BOOL))))
    assert len(related) == 60 and all(s["M"] == s["N"] + 2 and s["K"] >= 1 for s in related)
    assert sizes_to_try(replace(SAXPY, where=(n < 0,))) == []
