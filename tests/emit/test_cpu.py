"""Every construct of a program on the CPU against the simulator, and the form that the text takes where speed depends on it."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.emit.cpu_harness import kernel, laid, laid_kernels, program, run
from tests.emit.hand_programs import PROGRAMS
from tinygpu.category.term import TRUE, App, Axis, Const, Read, Var, ceildiv
from tinygpu.emit.cpu import cpu_name, cpu_source
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, Launch, Program
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

LINE = (0, 1, 2, 3, 7, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025)


def agree(built: Program, sizes: dict[str, int], inputs: dict[str, Any] | None = None) -> dict[str, Any]:
    """The outputs, after the simulator has given the same without a fault: integers and 16 bits exactly, other floats nearly."""
    inputs = random_inputs(built.op, sizes) if inputs is None else inputs
    outcome = simulate(built, sizes, inputs)
    assert not outcome.faults, outcome.faults
    got = run(built, sizes, inputs)
    for tensor in built.op.outputs:
        mine, want = got[tensor.name].astype(np.float64), np.asarray(outcome.outputs[tensor.name]).astype(np.float64)
        slack = {"f32": 2e-5, "f64": 1e-12}.get(tensor.dtype, 0.0)
        assert np.allclose(mine, want, rtol=slack, atol=slack, equal_nan=True), f"{tensor.name} at {sizes}"
    return got


def by_hand(op: str, launch: str, body: str) -> Program:
    return program(f"{op}\nmachine by_hand : made {{\n  work {launch}\n  program {{\n{body}\n  }}\n}}\n")


FLAT = "grid = (g: ceil(n / 256)), block = (t: 256)"
VALUES = {
    "arithmetic": ("x: f32[n], y: f32[n]", "f32", "(x[i] - y[i]) * 2 - (x[i] - (y[i] - 3)) / (x[i]*x[i] + 1)"),
    "minimum and maximum": ("x: f32[n], y: f32[n]", "f32", "max(min(x[i], y[i]), -abs(y[i]))"),
    "functions": ("x: f32[n]", "f32", "exp(x[i]) + exp2(x[i]) + tanh(x[i]) + sigmoid(x[i]) + erf(x[i]) + sin(x[i]) + cos(x[i]) + floor(x[i])"),
    "positive functions": ("x: f32[n]", "f32", "log(abs(x[i]) + 1) + sqrt(abs(x[i])) + rsqrt(abs(x[i]) + 1)"),
    "f64 functions": ("x: f64[n]", "f64", "exp(x[i]) + tanh(x[i]) + sigmoid(x[i]) + erf(x[i]) + sin(x[i]) + floor(x[i]) + rsqrt(x[i]*x[i] + 1)"),
    "half": ("x: f16[n], y: f16[n]", "f16", "x[i] * y[i] + x[i] / (abs(y[i]) + 1)"),
    "bfloat": ("x: bf16[n], y: bf16[n]", "bf16", "max(x[i] * y[i], x[i]) - y[i]"),
    "half function": ("x: f16[n]", "f16", "sqrt(abs(x[i]))"),
    "widening": ("x: f16[n], y: bf16[n]", "f32", "f32(x[i]) * f32(y[i])"),
    "narrowing": ("x: f64[n]", "f16", "f16(x[i])"),
    "bfloat from half": ("x: f16[n]", "bf16", "bf16(x[i])"),
    "wrap": ("x: i32[n], y: i32[n]", "i32", "x[i] * 1000000007 + y[i] * 2147483 - x[i]"),
    "unsigned": ("x: u32[n], y: u32[n]", "u32", "x[i] - y[i] * 3 + (x[i] ^ y[i])"),
    "bytes": ("x: u8[n], y: u8[n]", "u8", "x[i] * 37 + y[i] // 3 - y[i] % 3"),
    "signed bytes": ("x: i8[n], y: i8[n]", "i8", "x[i] * 29 - abs(y[i]) + max(x[i], y[i])"),
    "wide integers": ("x: i64[n], y: i64[n]", "i64", "x[i] * 3037000500 - y[i] + abs(x[i]) // 3"),
    "integer from float": ("x: f32[n]", "i8", "i8(x[i] * 100)"),
    "integer from integer": ("x: i32[n]", "u8", "u8(x[i] * 100)"),
    "float from integer": ("x: i32[n]", "f32", "f32(x[i]) * 0.5"),
    "index": ("x: f32[n]", "f32", "x[i] * f32(i) + f32(i % 7 // 2)"),
    "conditional": ("x: f32[n]", "f32", "x[i - 1] if i > 0 and not (i % 5 == 2 or i == n - 1) else (x[i + 1] if i + 1 < n else -x[i])"),
    "data conditional": ("x: f32[n], y: f32[n]", "f32", "x[i] if x[i] > y[i] or y[i] < 0 else y[i] * 2"),
    "condition stored": ("x: f32[n], y: f32[n]", "bool", "x[i] > y[i] or x[i] == 0"),
    "scalar arguments": ("a: f32, k: i32, h: f16, x: f32[n]", "f32", "a * x[i] + f32(k) * f32(h)"),
    "infinity": ("x: f32[n]", "f32", "max(x[i], -inf)"),
    "fill": ("x: f32[n]", "f32", "x[i - 3 | 0] + x[i + 2 | 1]"),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values(name: str) -> None:
    inputs, dtype, value = VALUES[name]
    built = program(
        f"op made({inputs}) -> (z: {dtype}[n]) {{\n  z[i] = {value}\n}}\n"
        "machine plain : made {\n  work grid = (g), block = (t: 64)\n  compute i = (g, t, v: 4)\n  vector v\n}\n"
    )
    for n in LINE:
        agree(built, {"n": n})


def test_extreme_floats_are_cast_as_the_simulator_casts() -> None:
    x = np.array([1e30, -1e30, np.inf, -np.inf, 127.9, 128.0, -128.9, -129.0, 0.5, -0.5], np.float32)
    built = program(
        "op made(x: f32[n]) -> (z: i8[n]) {\n  z[i] = i8(x[i])\n}\n"
        "machine plain : made {\n  work grid = (g), block = (t: 64)\n  compute i = (g, t)\n}\n"
    )
    assert agree(built, {"n": len(x)}, {"x": x})["z"].tolist() == [127, -128, 127, -128, 127, 127, -128, -128, 0, 0]


def test_a_scalar_of_16_bits_is_rounded() -> None:
    built = program(
        "op made(a: bf16, x: f32[n]) -> (z: f32[n]) {\n  z[i] = x[i] * f32(a)\n}\n"
        "machine plain : made {\n  work grid = (g), block = (t: 64)\n  compute i = (g, t)\n}\n"
    )
    got = run(built, {"n": 2}, {"a": 1.0 + 2.0**-9, "x": np.ones(2, np.float32)})["z"]
    assert got.tolist() == [1.0, 1.0]


FOLDS = {
    ("sum", "f32"): "sum[k] x[i, k]", ("prod", "f64"): "prod[k] x[i, k]", ("max", "f32"): "max[k] x[i, k]", ("min", "f64"): "min[k] x[i, k]",
    ("max", "f16"): "max[k] x[i, k]", ("sum", "i32"): "sum[k] x[i, k]", ("prod", "u8"): "prod[k] x[i, k]", ("min", "i8"): "min[k] x[i, k]",
    ("any", "f32"): "any[k] (x[i, k] > 1.9)", ("all", "f32"): "all[k] (x[i, k] > -1.9)",
}  # fmt: skip


@pytest.mark.parametrize("axes", ["rows", "columns"])
@pytest.mark.parametrize(("monoid", "dtype"), FOLDS)
def test_folds_along_rows_and_columns(monoid: str, dtype: str, axes: str) -> None:
    fold = FOLDS[monoid, dtype]
    shape = "R, K" if axes == "rows" else "K, R"
    value = fold if axes == "rows" else fold.replace("x[i, k]", "x[k, i]")
    result = "bool" if monoid in ("any", "all") else dtype
    where = " where K >= 1" if monoid == "min" and dtype == "i8" else ""
    built = program(
        f"op made(x: {dtype}[{shape}]) -> (y: {result}[R]){where} {{\n  y[i] = {value}\n}}\n"
        "machine plain : made {\n  work grid = (g), block = (t: 32)\n  compute i = (g, t)\n  time k\n}\n"
    )
    for rows, k in ((0, 3), (5, 0), (1, 1), (3, 127), (33, 128), (65, 129), (64, 300), (130, 5)):
        if k or not where:
            agree(built, {"R": rows, "K": k})


PRODUCT = """
op made(A: {t}[M, K], B: {t}[{b}]) -> (C: {t}[M, N]) {{
  C[i, j] = {fold}
}}
machine tile : made {{
  work     grid = (by, bx), block = (ty: 4, tx: 8)
  compute  i = (by, ty, ri: 4), j = (bx, tx, rj: 4)
  time     k
  register ri, rj
}}
"""
PRODUCTS = {
    "f32": ("f32", "K, N", "sum[k] A[i, k] * B[k, j]"),
    "f64": ("f64", "K, N", "sum[k] A[i, k] * B[k, j]"),
    "transposed": ("f32", "N, K", "sum[k] A[i, k] * B[j, k]"),
    "distance": ("f32", "K, N", "sum[k] (A[i, k] - B[k, j]) * (A[i, k] - B[k, j])"),
    "negated": ("f32", "K, N", "sum[k] -(A[i, k] * B[k, j]) / 3"),
    "tropical": ("f32", "K, N", "min[k] (A[i, k] + B[k, j])"),
    "bottleneck": ("f32", "K, N", "max[k] min(A[i, k], B[k, j])"),
    "of functions": ("f32", "K, N", "sum[k] exp(A[i, k]) * B[k, j]"),
    "i32": ("i32", "K, N", "sum[k] A[i, k] * B[k, j]"),
}
EDGES = (
    (0, 3, 2),
    (3, 0, 2),
    (3, 2, 0),
    (1, 1, 1),
    (5, 31, 3),
    (6, 32, 7),
    (7, 33, 5),
    (12, 64, 2),
    (251, 9, 4),
    (253, 40, 3),
    (13, 17, 513),
)


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_at_the_edges_of_tiles(name: str) -> None:
    dtype, b, fold = PRODUCTS[name]
    built = program(PRODUCT.format(t=dtype, b=b, fold=fold))
    assert ("lanes_load" in cpu_source(laid(built))) == (name != "i32")
    for m, n, k in EDGES:
        sizes = {"M": m, "N": n, "K": k}
        agree(built, sizes)


def test_what_follows_the_loop_of_a_tile() -> None:
    built = program(
        "op made(a: f32, A: f32[M, K], B: f32[K, N], b: f32[N]) -> (C: f32[M, N], D: f16[M, N]) {\n"
        "  s[i, j] = sum[k] A[i, k] * B[k, j]\n  C[i, j] = a * s[i, j] + b[j]\n  D[i, j] = f16(max(a * s[i, j] + b[j], 0))\n}\n"
        "machine tile : made {\n  work grid = (by, bx), block = (ty: 8, tx: 8)\n  compute i = (by, ty), j = (bx, tx)\n  time k\n}\n"
    )
    assert "lanes_load" in cpu_source(laid(built))
    for m, n, k in EDGES[:8]:
        sizes = {"M": m, "N": n, "K": k}
        inputs = random_inputs(built.op, sizes)
        got = run(built, sizes, inputs)
        want = 1.0 * inputs["a"] * (inputs["A"].astype(np.float64) @ inputs["B"].astype(np.float64)) + inputs["b"]
        assert np.allclose(got["C"], want, rtol=1e-4, atol=1e-4) and np.array_equal(
            got["D"], np.maximum(got["C"], 0).astype(np.float16)
        )


BODIES = {
    "cells apart": "local c: f32[4]\nfor u < 4 in register { c[u] = x[g*1024 + u*256 + t] if g*1024 + u*256 + t < n else 0 }\n"
    "for u < 4 in register { z[g*1024 + u*256 + t] = c[u] * 2 if g*1024 + u*256 + t < n }",
    "cells that meet": "local c: f32[4]\nlocal s: f32[]\nfor u < 4 in register { c[u] = x[g*1024 + u*256 + t] if g*1024 + u*256 + t < n else 0 }\n"
    "s[] = 0\nfor u < 4 in register { s[] += c[u] }\n"
    "for u < 4 in register { z[g*1024 + u*256 + t] = s[] + c[3 - u] if g*1024 + u*256 + t < n }",
    "a cell of an iteration": "local s: f32[]\nfor u < 4 in register { if g*1024 + u*256 + t < n { s[] = x[g*1024 + u*256 + t]\n"
    "s[] *= 3\nz[g*1024 + u*256 + t] = s[] } }",
    "a cell carried on": "local s: f32[]\ns[] = 1\nfor u < 4 { s[] += x[g*1024 + u*256 + t] if g*1024 + u*256 + t < n\n"
    "z[g*1024 + u*256 + t] = s[] if g*1024 + u*256 + t < n }",
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_bodies_made_by_hand(name: str) -> None:
    launch = "grid = (g: ceil(n / 1024)), block = (t: 256)"
    built = by_hand("op made(x: f32[n]) -> (z: f32[n]) { z[i] = x[i] }", launch, BODIES[name])
    for n in (0, 1, 255, 256, 257, 1023, 1024, 1025, 2500):
        agree(built, {"n": n})


def test_guards_that_end_loops() -> None:
    """A causal sum: the loop ends where its guard does, for each point of its own."""
    built = program(
        "op made(x: f32[R, N]) -> (y: f32[R, N]) {\n  y[i, j] = sum[k <= j] x[i, k]\n}\n"
        "machine plain : made {\n  work grid = (i, g), block = (t: 64)\n  compute j = (g, t)\n  time k\n}\n"
    )
    for rows, n in ((0, 4), (3, 0), (2, 1), (3, 63), (2, 65)):
        agree(built, {"R": rows, "N": n})


def test_gather_reads_where_the_index_says() -> None:
    built = program(
        "op made(t: i32[n], W: f32[V, D]) -> (y: f32[n, D]) where V >= 1 {\n  y[i, d] = W[t[i], d]\n}\n"
        "machine plain : made {\n  work grid = (i, g), block = (u: 32)\n  compute d = (g, u)\n}\n"
    )
    for n, v, d in ((0, 1, 1), (5, 3, 33), (7, 100, 8)):
        agree(built, {"n": n, "V": v, "D": d})


def _two_launches() -> Program:
    n, i = Var("n"), Var("g") * 64 + Var("t")
    x, y, z = (Tensor(name, "f32", (n,), role) for name, role in (("x", "input"), ("y", "output"), ("z", "output")))
    twice = App("mul", (Const(2.0, "f32"), Read("x", (i,), "f32")), "f32")
    turned = App("add", (Read("y", (n - 1 - i,), "f32"), Const(1.0, "f32")), "f32")
    axes = ((Axis("g", ceildiv(n, 64), "grid"),), (Axis("t", Const(64), "block"),))
    launches = tuple(Launch(*axes, (Assign(out, (i,), value, guard=i < n),)) for out, value in (("y", twice), ("z", turned)))
    data = (Axis("i", n),)
    equations = (Equation("y", data, Read("x", (Var("i"),), "f32")), Equation("z", data, Read("x", (Var("i"),), "f32")))
    return Program("two", Op("two", ("n",), (x,), (y, z), (), equations), launches)


def test_launches_run_one_after_the_other() -> None:
    built = _two_launches()
    for n in (0, 1, 65, 9000):
        x = np.arange(n, dtype=np.float32)
        got = run(built, {"n": n}, {"x": x})
        assert np.array_equal(got["y"], 2 * x) and np.array_equal(got["z"], 2 * x[::-1] + 1)


def test_a_thread_that_reads_and_updates_what_it_stored() -> None:
    n, i, u = Var("n"), Var("g") * 32 + Var("t"), Var("u")
    x, y = Tensor("x", "f32", (n, Const(3)), "input"), Tensor("y", "f32", (n,), "output")
    body = (
        Assign("y", (i,), Const(1.0, "f32"), guard=i < n),
        For(Axis("u", Const(3), "time"), (Assign("y", (i,), Read("x", (i, u), "f32"), "sum", i < n),)),
        Assign("y", (i,), App("mul", (Read("y", (i,), "f32"), Const(2.0, "f32")), "f32"), guard=i < n),
    )
    op = Op("made", ("n",), (x,), (y,), (), (Equation("y", (Axis("i", n),), Read("x", (Var("i"), Const(0)), "f32")),))
    built = Program("kept", op, (Launch((Axis("g", ceildiv(n, 32), "grid"),), (Axis("t", Const(32), "block"),), body),))
    for size in (0, 1, 33, 100):
        values = np.random.default_rng(1).random((size, 3), dtype=np.float32)
        assert np.allclose(run(built, {"n": size}, {"x": values})["y"], 2 * (1 + values.sum(1)))


def test_the_last_store_to_an_element_is_the_one_that_stays() -> None:
    n, i, u = Var("n"), Var("g") * 32 + Var("t"), Var("u")
    x, y = Tensor("x", "f32", (n, Const(3)), "input"), Tensor("y", "f32", (n,), "output")
    op = Op("made", ("n",), (x,), (y,), (), (Equation("y", (Axis("i", n),), Read("x", (Var("i"), Const(2)), "f32")),))
    for sort in ("time", "register"):
        body = (For(Axis("u", Const(3), sort), (Assign("y", (i,), Read("x", (i, u), "f32"), guard=i < n),)),)
        built = Program("last", op, (Launch((Axis("g", ceildiv(n, 32), "grid"),), (Axis("t", Const(32), "block"),), body),))
        values = np.random.default_rng(3).random((70, 3), dtype=np.float32)
        assert np.array_equal(run(built, {"n": 70}, {"x": values})["y"], values[:, 2])


def test_neighbours_in_pairs_are_one_loop_over_pairs() -> None:
    built = program(
        "op made(x: f32[n*2], c: f32[n]) -> (y: f32[n*2]) {\n  y[i] = c[i // 2] * (x[i + 1] if i % 2 == 0 else -x[i - 1])\n}\n"
        "machine a : made {\n  work grid = (g), block = (t: 64)\n  compute i = (g, t, v: 4)\n  vector v\n}\n"
    )
    assert "in range(2):" in lines(built) and "quotient" not in lines(built)
    for n in (0, 1, 2, 3, 127, 128, 129):
        agree(built, {"n": n})


def test_a_table_and_an_array_read_at_an_index_of_the_data() -> None:
    n, i = Var("n"), Var("g") * 32 + Var("t")
    x, y = Tensor("x", "i32", (n,), "input"), Tensor("y", "i32", (n,), "output")
    where = App("cast", (Read("x", (i,), "i32"),))
    cells = Array("c", "i32", (Const(4),), LOCAL)
    place = App("table", (where, Const(3), Const(1), Const(2), Const(0)))
    fill = For(Axis("u", Const(4), "register"), (Assign("c", (Var("u"),), App("cast", (Var("u") * 10,), "i32")),))
    body = (cells, fill, Assign("y", (i,), Read("c", (place,), "i32"), guard=i < n))
    op = Op("made", ("n",), (x,), (y,), (), (Equation("y", (Axis("i", n),), Read("x", (Var("i"),), "i32")),))
    built = Program("table", op, (Launch((Axis("g", ceildiv(n, 32), "grid"),), (Axis("t", Const(32), "block"),), body),))
    values = np.random.default_rng(2).integers(0, 4, 77).astype(np.int32)
    assert run(built, {"n": 77}, {"x": values})["y"].tolist() == [[30, 10, 20, 0][v] for v in values]


def test_one_point_and_no_axes() -> None:
    built = by_hand("op made(x: f32[3]) -> (z: f32[]) { z[] = x[0] }", "block = (t: 1)", "z[] = x[2] + x[0]")
    assert run(built, {}, {"x": np.array([1, 2, 4], np.float32)})["z"] == 5


def test_the_parallel_driver_gives_what_one_thread_gives() -> None:
    names: dict[str, Any] = {}
    built = PROGRAMS["matmul_tile"]
    exec(cpu_source(laid(built)), names)
    for sizes in ({"M": 70, "N": 300, "K": 19}, {"M": 0, "N": 3, "K": 1}, {"M": 3, "N": 2, "K": 0}):
        sizes = {name: sizes[name] for name in built.op.sizes}
        inputs = random_inputs(built.op, sizes)
        both = [run(built, sizes, inputs, entry)["C"] for entry in (names[cpu_name(built)], kernel(built))]
        assert np.array_equal(both[0], both[1])


def lines(built: Program) -> str:
    return laid_kernels(built).text


def test_a_vector_kernel_is_one_loop_over_the_index() -> None:
    """`(g*256 + t)*4 + v < n` leaves nothing but `i`, bounded by n; so does a grid-stride loop."""
    op = "op made(x: f32[n], y: f32[n]) -> (z: f32[n]) {\n  z[i] = x[i] + y[i]\n}\n"
    vector = program(op + "machine a : made {\n  work grid = (g), block = (t: 256)\n  compute i = (g, t, v: 4)\n  vector v\n}\n")
    stride = program(
        op
        + "machine a : made {\n  work grid = (g: 264), block = (t: 256)\n  compute i = (c, g, t, v: 4)\n  time c\n  vector v\n}\n"
    )
    loop = "for i_in in range(min(8192, n - i_chunk * 8192)):\n            i = i_chunk * 8192 + i_in\n            z[at(i)] = x[at(i)] + y[at(i)]"
    assert loop in lines(vector)
    assert lines(vector) == lines(stride)


def test_register_tiles_and_one_element_a_thread_are_one_kernel() -> None:
    tile = program(PRODUCT.format(t="f32", b="K, N", fold="sum[k] A[i, k] * B[k, j]"))
    one = program(
        "op made(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {\n  C[i, j] = sum[k] A[i, k] * B[k, j]\n}\n"
        "machine tile : made {\n  work grid = (by, bx), block = (ty: 16, tx: 16)\n  compute i = (by, ty), j = (bx, tx)\n  time k\n}\n"
    )
    assert lines(tile) == lines(one)


def test_a_flattened_range_is_taken_apart() -> None:
    built = program(
        "op made(x: f32[A, B, C]) -> (y: f32[A, B, C]) {\n  y[i, j, k] = x[i, j, k] * 2\n}\n"
        "machine flat : made {\n  work grid = (g), block = (t: 128)\n  compute (i, j, k) = (g, t)\n}\n"
    )
    assert "i < A, j < B, k_chunk < ceil(C / 8192)" in lines(built)
    for sizes in ((0, 2, 3), (2, 3, 0), (3, 5, 7), (1, 64, 33)):
        agree(built, dict(zip("ABC", sizes, strict=True)))


def test_borders_are_cut_off() -> None:
    built = program(
        "op made(x: f32[n]) -> (y: f32[n]) {\n  y[i] = x[i - 1 | 0] + x[i + 1 | 0]\n}\n"
        "machine a : made {\n  work grid = (g), block = (t: 256)\n  compute i = (g, t)\n}\n"
    )
    inner = lines(built).partition("range(max(0, 1 - i_chunk * 8192), min(8192, n - i_chunk * 8192 - 1))")[2].splitlines()[4]
    assert "if" not in inner and "x[at(x0)] + x[at(x0_2)]" in inner


def test_sums_are_reassociated_only_where_a_point_has_a_long_one() -> None:
    elementwise = "op made(x: f32[n]) -> (y: f32[n]) {\n  y[i] = x[i] * 2 + 1\n}\n"
    rows = "op made(x: f32[n, m]) -> (y: f32[n]) {\n  y[i] = sum[j] x[i, j]\n}\n"
    machine = "machine a : made {{\n  work grid = (g), block = (t: 64)\n  compute i = (g, t)\n  {}\n}}\n"
    assert "reassoc" not in lines(program(elementwise + machine.format("")))
    assert "reassoc" in lines(program(rows + machine.format("time j")))
    assert "reassoc" not in lines(program(rows.replace("sum", "max") + machine.format("time j")))


def test_the_text_imports_nothing_of_ours_and_is_the_same_every_time() -> None:
    source = cpu_source(laid(PROGRAMS["matmul_tile"]))
    modules = {
        n.module if isinstance(n, ast.ImportFrom) else n.names[0].name
        for n in ast.walk(ast.parse(source))
        if isinstance(n, ast.Import | ast.ImportFrom)
    }
    assert {m.split(".")[0] for m in modules if m} <= {"math", "numpy", "numba", "llvmlite"}
    assert source == cpu_source(laid(PROGRAMS["matmul_tile"]))


def test_names_of_the_spec_hide_nothing() -> None:
    op = "op made(at: f32[start, lane], part: f32[lane]) -> (np: f32[start, lane]) {\n  np[first, item] = at[first, item] + part[item]\n}\n"
    built = program(op + "machine a : made {\n  work grid = (first, g), block = (rest: 32)\n  compute item = (g, rest)\n}\n")
    agree(built, {"start": 5, "lane": 67})


def test_a_name_that_is_a_functions_suffix() -> None:
    built = _two_launches()
    assert "def two_0_work" in lines(built) and "def two_1_work" in lines(built)
    assert cpu_name(replace(built, name="two[n=4]")) == "two_n_4_cpu"
    assert TRUE.value is True
