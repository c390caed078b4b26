"""The reference is what numpy computes by other means; `compare` and the sizes to try do what they say."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tests.simulate.samples import add, matmul, matmul_op, mul, saxpy, saxpy_op
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var, ceildiv, equal, select
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.program.step import Program
from tinygpu.record import replace
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.sizes import boundaries, sizes_to_try
from tinygpu.simulate.tolerance import Mismatch, compare, tolerance

R, N, I, J, K = (Var(name) for name in ("R", "N", "i", "j", "k"))


def total(body: Term, extent: Term = N, monoid: str = "sum", guard: Term = TRUE, dtype: str = "f32", axis: str = "k") -> Fold:
    return Fold(monoid, (Axis(axis, extent),), guard, body, dtype)


def op_of(value: Term, shape: tuple[Term, ...], *inputs: Tensor, sizes: tuple[str, ...] = ("R", "N")) -> Op:
    axes = tuple(Axis(name, extent) for name, extent in zip(("i", "j"), shape, strict=False))
    return Op("sample", sizes, inputs, (Tensor("y", value.dtype, shape, "output"),), (), (Equation("y", axes, value),))


X = Tensor("x", "f32", (R, N), "input")
SIZES = {"R": 5, "N": 9}


def value_of(op: Op, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    inputs = random_inputs(op, SIZES, seed)
    return reference(op, SIZES, inputs)["y"], inputs["x"].astype(np.float64)


def softmax() -> Op:
    exponential = App("exp", (App("sub", (Read("x", (I, J), "f32"), Read("m", (I,), "f32")), "f32"),), "f32")
    folded = App("exp", (App("sub", (Read("x", (I, K), "f32"), Read("m", (I,), "f32")), "f32"),), "f32")
    return Op(
        "softmax",
        ("R", "N"),
        (X,),
        (Tensor("y", "f32", (R, N), "output"),),
        (Tensor("m", "f32", (R,), "intermediate"), Tensor("s", "f32", (R,), "intermediate")),
        (
            Equation("m", (Axis("i", R),), total(Read("x", (I, K), "f32"), monoid="max")),
            Equation("s", (Axis("i", R),), total(folded)),
            Equation("y", (Axis("i", R), Axis("j", N)), App("div", (exponential, Read("s", (I,), "f32")), "f32")),
        ),
    )


def test_matmul_is_in_float64() -> None:
    sizes = {"M": 17, "K": 13, "N": 19}
    inputs = random_inputs(matmul_op(), sizes)
    got = reference(matmul_op(), sizes, inputs)["C"]
    assert got.dtype == np.float64 and np.allclose(
        got, inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64), rtol=1e-13, atol=1e-13
    )


@pytest.mark.parametrize("points", [1, 7, 1 << 18])
def test_softmax_through_its_intermediates(points: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinygpu.simulate.reference.POINTS", points)
    got, x = value_of(softmax())
    e = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(got, e / e.sum(1, keepdims=True), rtol=1e-14)
    index = (np.array([[0], [4]]), np.array([8, 0, 3]))
    sampled = reference(softmax(), SIZES, random_inputs(softmax(), SIZES), sample={"y": index})["y"]
    assert np.allclose(sampled, got[index], rtol=1e-14)


def test_guarded_folds_windows_and_conditions() -> None:
    causal = op_of(total(Read("x", (I, K), "f32"), guard=App("le", (K, J), BOOL)), (R, N), X)
    got, x = value_of(causal)
    assert np.allclose(got, np.cumsum(x, axis=1))
    place = J + K - 1
    inside = App("and", (App("ge", (place, Const(0)), BOOL), place < N), BOOL)
    window = op_of(total(select(inside, Read("x", (I, place), "f32"), Const(0.0, "f32")), Const(3)), (R, N), X)
    got, x = value_of(window)
    padded = np.pad(x, ((0, 0), (1, 1)))
    assert np.allclose(got, padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:])
    with pytest.raises(IndexError, match="the equation reads x outside: axis 1 has extent 9"):
        value_of(op_of(total(Read("x", (I, place), "f32"), Const(3)), (R, N), X))


def test_scalar_outputs_truth_values_and_integers() -> None:
    everything = Fold("sum", (Axis("a", R), Axis("b", N)), TRUE, Read("x", (Var("a"), Var("b")), "f32"), "f32")
    got, x = value_of(op_of(everything, (), X))
    assert got.shape == () and np.isclose(got, x.sum())
    got, x = value_of(
        op_of(total(App("gt", (Read("x", (I, K), "f32"), Const(1.8, "f32")), BOOL), monoid="any", dtype=BOOL), (R,), X)
    )
    assert got.dtype == np.bool_ and np.array_equal(got, (x > 1.8).any(1))
    whole = Tensor("x", "u8", (R, N), "input")
    product = total(App("mul", (Read("x", (I, K), "u8"), Const(100, "u8")), "u8"), dtype="u8")
    got, x = value_of(op_of(product, (R,), whole))
    assert got.dtype == np.uint8 and np.array_equal(got, (x.sum(1) * 100 % 256).astype(np.uint8))


def test_nothing() -> None:
    for sizes in ({"R": 0, "N": 4}, {"R": 3, "N": 0}, {"R": 0, "N": 0}):
        inputs = random_inputs(softmax(), sizes)
        assert reference(softmax(), sizes, inputs)["y"].shape == (sizes["R"], sizes["N"])
        rows = op_of(total(Read("x", (I, K), "f32"), monoid="max"), (R,), X)
        assert (reference(rows, sizes, inputs)["y"] == -np.inf).all() or sizes["N"]


def test_a_sample_of_a_large_product_is_quick() -> None:
    sizes = {"M": 1024, "K": 1024, "N": 1024}
    inputs, chance = random_inputs(matmul_op(), sizes), np.random.default_rng(0)
    index = tuple(chance.integers(0, 1024, 4096) for _ in range(2))
    start = time.perf_counter()
    got = reference(matmul_op(), sizes, inputs, sample={"C": index})["C"]
    assert time.perf_counter() - start < 2
    product = inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64)
    assert np.allclose(got, product[index], rtol=1e-10, atol=1e-10)
    rtol, atol = tolerance(matmul_op(), sizes)
    single = inputs["A"] @ inputs["B"]
    assert compare(matmul_op(), {"C": single}, {"C": got}, sample={"C": index}, rtol=rtol, atol=atol) == []
    single[index[0][7], index[1][7]] += 0.05
    [first, *_] = compare(matmul_op(), {"C": single}, {"C": got}, sample={"C": index}, rtol=rtol, atol=atol)
    assert first.index == (index[0][7], index[1][7]) and np.isclose(first.got - first.want, 0.05, rtol=1e-2)


@pytest.mark.parametrize(("dtype", "numpy"), [("f64", np.float64), ("f32", np.float32), ("f16", np.float16)])
@pytest.mark.parametrize("length", [1, 10, 100, 1000])
def test_the_tolerance_allows_rounding_in_order_and_little_more(dtype: str, numpy: type, length: int) -> None:
    op, sizes = matmul_op(dtype), {"M": 40, "K": length, "N": 40}
    for seed in range(3):
        inputs = random_inputs(op, sizes, seed)
        plain = np.zeros((40, 40), numpy)
        for k in range(length):
            plain = plain + inputs["A"][:, k : k + 1] * inputs["B"][k]
        rtol, atol = tolerance(op, sizes)
        want = reference(op, sizes, inputs)
        assert compare(op, {"C": plain}, want, rtol=rtol, atol=atol) == []
        # leaving out one term of the fold, or one bit in f16's case, is seen
        if length <= 100 or dtype != "f16":
            short = reference(op, {**sizes, "K": length - 1}, {"A": inputs["A"][:, :-1], "B": inputs["B"][:-1]})
            assert len(compare(op, short, want, rtol=rtol, atol=atol)) > 5


def test_tolerances_follow_the_dtypes() -> None:
    integers = op_of(total(Read("x", (I, K), "i32"), dtype="i32"), (R,), Tensor("x", "i32", (R, N), "input"))
    assert tolerance(integers, SIZES) == (0.0, 0.0)
    narrow, wide = (tolerance(saxpy_op(dtype), {"n": 3})[0] for dtype in ("f16", "f32"))
    assert narrow > 1000 * wide
    half = App("cast", (total(App("cast", (Read("x", (I, K), "f16"),), "f32")),), "f16")
    accumulated = op_of(half, (R,), Tensor("x", "f16", (R, N), "input"))
    assert tolerance(accumulated, {"R": 1, "N": 10**6})[0] < 0.1  # the fold is in f32, only the ends are f16


def test_compare() -> None:
    op = op_of(Read("x", (I, J), "f32"), (R, N), X)
    want = np.arange(6.0).reshape(2, 3)
    got = want.astype(np.float32)
    assert compare(op, {"y": got}, {"y": want}) == []
    got[1, 2] = 7
    assert compare(op, {"y": got}, {"y": want}, rtol=0.1) == [Mismatch("y", (1, 2), 7.0, 5.0)]
    assert compare(op, {"y": got}, {"y": want}, atol=2.0) == []
    assert len(compare(op, {"y": got[:1]}, {"y": want})) == 1
    odd = np.array([[np.nan, np.inf, -np.inf]])
    assert compare(op, {"y": odd.astype(np.float32)}, {"y": odd}) == []
    assert len(compare(op, {"y": odd[:, ::-1]}, {"y": odd}, rtol=1.0, atol=1e9)) == 2


def test_inputs_are_the_same_for_one_seed_and_fit_the_equation() -> None:
    first, again, other = (random_inputs(saxpy_op(), {"n": 50}, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[k], again[k]) for k in first) and not np.array_equal(first["x"], other["x"])
    assert not np.array_equal(first["x"], first["y"]) and abs(first["x"]).max() < 2
    root = op_of(App("sqrt", (Read("x", (I, J), "f32"),), "f32"), (R, N), X)
    assert np.isfinite(value_of(root)[0]).all()
    flags = op_of(Read("x", (I, J), BOOL), (R, N), Tensor("x", BOOL, (R, N), "input"))
    assert value_of(flags)[0].any() and not value_of(flags)[0].all()


def test_sizes_go_around_every_boundary() -> None:
    tried = [s["n"] for s in sizes_to_try(saxpy())]
    assert tried == sorted(tried) and {0, 1, 7, 1023, 1024, 1025, 2049} <= set(tried)
    assignments = sizes_to_try(matmul())
    assert len(assignments) == 60 and sizes_to_try(matmul()) == assignments
    for name, wanted in (("M", {0, 1, 31, 32, 33, 65}), ("N", {0, 1, 31, 32, 33, 65}), ("K", {0, 1, 2, 13})):
        assert wanted <= {s[name] for s in assignments}
    assert any(min(s.values()) > 5 for s in assignments)
    assert boundaries(ceildiv(ceildiv(N, 4) + 1, 256)) == {4, 256, 1024}


def test_sizes_respect_the_conditions() -> None:
    n = Var("n")
    fours = sizes_to_try(replace(saxpy(), where=(equal(n % 4, 0), n > 0)))
    assert fours and all(s["n"] % 4 == 0 and s["n"] for s in fours) and {4, 1024} <= {s["n"] for s in fours}
    related = sizes_to_try(replace(matmul(), where=(equal(Var("M"), Var("N") + 2), App("ge", (Var("K"), Const(1)), BOOL))))
    assert len(related) == 60 and all(s["M"] == s["N"] + 2 and s["K"] >= 1 for s in related)
    assert sizes_to_try(replace(saxpy(), where=(n < 0,))) == []


def test_an_op_without_sizes() -> None:
    op = op_of(add(Const(1.0, "f32"), mul(Const(2.0, "f32"), Const(3.0, "f32"))), (), sizes=())
    assert sizes_to_try(Program("constant", op, ())) == [{}]
    assert reference(op, {}, {})["y"] == 7
