"""Right programs run without a fault, in lockstep and in other orders, and compute what numpy computes; numbers are those of their dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.program.library import TEXTS, disagreements, first_disagreement, program, shipped
from tinygpu.category.number import load, outside_dtype
from tinygpu.simulate import interpret
from tinygpu.simulate.exchange import source_lane
from tinygpu.simulate.fault import SimulationBudget
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.promised import promised
from tinygpu.simulate.simulate import simulate

ORDERS = (None, 1, 2, 3)
SAXPY = "op saxpy(a: f32, x: f32[n], y: f32[n]) -> (z: f32[n]) { z[i] = a * x[i] + y[i] }\nmachine m : saxpy { work grid = (g), block = (t: 256)\n compute i = (g, t, v: 4)\n vector v }"
MATMUL = shipped("matmul", "matmul_tile")
PROGRAMS = {name: program(text) for name, text in TEXTS.items()} | {"saxpy": program(SAXPY), "matmul": MATMUL}
WANTED: dict[str, Callable[..., Any]] = {
    "transpose": lambda x: x.T,
    "matmul": lambda A, B: A @ B,
    "row_max": lambda x: x.max(1),
    "total": lambda x: x.sum(),
    "histogram": lambda x: np.bincount(x, minlength=40),
    "ring_difference": lambda x: x - np.roll(x.reshape(-1, 256), -1, 1).reshape(-1),
    "saxpy": lambda a, x, y: a * x + y,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_computes_what_numpy_computes(name: str) -> None:
    made = PROGRAMS[name]
    (output,) = made.op.outputs
    sizes = {
        s: {"n": 512 if name == "ring_difference" else 301, "m": 40, "M": 45, "N": 37, "K": 35, "R": 9}[s] for s in made.op.sizes
    }
    for order in ORDERS:
        inputs = random_inputs(made.op, sizes, order or 0)
        outcome, again, slow = (simulate(made, sizes, inputs, order=order, vectorise=v) for v in (True, True, False))
        got = load(outcome.outputs[output.name], output.dtype)
        exact = {k: v.astype(np.float64) if v.dtype.kind == "f" else v for k, v in inputs.items()}
        assert outcome.faults == slow.faults == () and np.allclose(got, WANTED[made.op.name](**exact), atol=1e-4)
        assert all(np.array_equal(outcome.outputs[output.name], other.outputs[output.name]) for other in (again, slow))


@pytest.mark.parametrize("name", ["saxpy", "matmul"])
def test_it_does_at_all_sizes_worth_trying(name: str) -> None:
    assert first_disagreement(PROGRAMS[name]) == ""


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "i32", "i8", "u8", "u32", "i64"])
def test_every_dtype_rounds_and_wraps_as_numpys(dtype: str) -> None:
    made = program(SAXPY.replace("f32", dtype))
    inputs = random_inputs(made.op, {"n": 1030}, 3)
    outcome = simulate(made, {"n": 1030}, inputs)
    assert not outcome.faults and outcome.outputs["z"].dtype == outside_dtype(dtype) == inputs["x"].dtype
    assert not disagreements(made, {"n": 1030}, 3)
    assert np.array_equal(outcome.outputs["z"], inputs["a"] * inputs["x"] + inputs["y"])


@pytest.mark.parametrize("dtype", ["f64", "f32", "i32", "u32", "i64"])
def test_atomic_updates_round_and_wrap_as_the_dtype_does(dtype: str) -> None:
    made = program(f"""op total(x: {dtype}[n]) -> (s: {dtype}[]) {{ s[] = sum[i] x[i] }}
machine total_atomic : total {{
  program {{
    launch (grid = (), block = ()) {{ s[] = 0 }}
    launch (grid = (g: ceil(n / 32)), block = (t: 32)) {{ atomic s[] += x[g*32 + t] if g*32 + t < n }}
  }}
}}""")
    inputs = random_inputs(made.op, {"n": 77})
    outcome = simulate(made, {"n": 77}, inputs, order=1)
    total, exact = load(outcome.outputs["s"], dtype, exact=True), load(inputs["x"], dtype, exact=True).sum()
    assert not outcome.faults and (total == exact if dtype[0] in "iu" else abs(total - exact) <= 1e-4)


@pytest.mark.parametrize("op", ["xor", "up", "down", "idx"])
@pytest.mark.parametrize("which", ["3", "t % 5", "t // 7", "33", "31"])
def test_shuffles_go_by_lanes_of_a_warp(op: str, which: str) -> None:
    """Against the definition, with a distance that differs between lanes and one that leaves the warp."""
    made = program(f"""op any_order(x: f32[96]) -> (z: f32[96]) {{ z[i] = x[i] }}
machine shuffled : any_order {{
  work block = (a: 3, b: 32)
  program {{
    local v: f32[]
    v[] = x[a*32 + b]
    z[a*32 + b] = shuffle_{op}(v[], {which.replace("t", "(a*32 + b)")})
  }}
}}""")
    inputs, thread = random_inputs(made.op, {}), np.arange(96)
    lane = source_lane(f"shuffle_{op}", thread % 32, eval(which, {"t": thread}))
    for order in (None, 1):
        outcome = simulate(made, {}, inputs, order=order)
        assert outcome.faults == () and np.array_equal(outcome.outputs["z"], inputs["x"][thread // 32 * 32 + lane])


ALONE = "op count(x: i32[8]) -> (z: i32[8]) {{ z[i] = {} }}\nmachine m : count {{ work block = (t: 8)\n program {{ {} }} }}"
SMALL = {  # one thread, loops of another length in each lane, cells by the lane, nests of one point under a guard
    "one thread": "op total(x: f32[n]) -> (z: f32[1]) { z[i] = (sum[k] x[k]) + 0*f32(i) }\nmachine m : total { work grid = ()\n program { local s: f32[]\n s[] = 0\n for k < n { s[] += x[k] }\n z[0] = s[] } }",
    "lanes that loop": ALONE.format("i32(i) + 0*x[i]", "local c: i32[2]\n for f < 2 in register { c[f] = 0 }\n for k < 7 { c[k % 2] += 1 if k < t }\n z[t] = c[0] + c[1]"),
    "cells by the lane": ALONE.format("i32(i)*i32(i) + 1 + 0*x[i]", "local c: i32[4]\n c[t % 4] = i32(t*t)\n c[t % 4] += 1\n z[t] = c[t % 4]"),
    "a prefix": "op prefix(x: f32[n]) -> (z: f32[n]) { z[i] = sum[k <= i] x[k] }\nmachine m : prefix { work grid = (g: ceil(n / 32)), block = (t: 32)\n program { local s: f32[]\n s[] = 0\n for k < n { s[] += x[k] if k <= g*32 + t }\n z[g*32 + t] = s[] if g*32 + t < n } }",
    "a padded read": "op shift(x: f32[n]) -> (z: f32[n]) { z[i] = x[i - 1 | 0] }\nmachine m : shift { work grid = (g: ceil(n / 32)), block = (t: 32)\n program { if g*32 + t < n { z[g*32 + t] = x[g*32 + t - 1] if g*32 + t > 0 else 0 } } }",
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_small_programs(name: str) -> None:
    assert first_disagreement(program(SMALL[name])) == ""


def test_one_cell_for_a_block_large_blocks_and_more_cells_than_run_together() -> None:
    text = """op copy(x: f32[n]) -> (z: f32[n]) {{ z[i] = x[i] }}
machine copy_first : copy where n % {threads} == 0 {{
  work grid = (g: n // {threads}), block = (t: {threads})
  program {{
    shared one: f32[]
    shared many: f32[{cells}]
    one[] = x[g*{threads}] if t < 1
    many[t % {cells}] = x[g*{threads} + t] if t < {cells}
    barrier
    z[g*{threads} + t] = one[] if t < 1 else x[g*{threads} + t]
  }}
}}"""
    for threads, cells in ((4096, 3), (32, 12000), (1, 1)):
        made = program(text.format(threads=threads, cells=cells))
        assert not any(
            disagreements(made, {"n": n}, order=order) for n in (0, max(5, 300 // threads) * threads) for order in (None, 1)
        )


def test_a_gather_stays_in_range() -> None:
    made = program("op gather(w: f32[7], idx: i32[n]) -> (z: f32[n]) where all[i] (0 <= idx[i] and idx[i] < 7) { z[i] = w[idx[i]] }\nmachine m : gather { work grid = (g)\n compute i = (g) }")  # fmt: skip
    inputs = random_inputs(made.op, {"n": 3})
    wrong = {**inputs, "idx": np.array([0, 7, 6], np.int32)}
    assert first_disagreement(made) == "" and promised(made.op, {"n": 3}, inputs) and not promised(made.op, {"n": 3}, wrong)
    assert [type(f).__name__ for f in simulate(made, {"n": 3}, wrong).faults] == ["OutOfBounds"]


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"x has shape \(4,\); at these sizes it is \(5,\)"):
        simulate(PROGRAMS["saxpy"], {"n": 5}, random_inputs(PROGRAMS["saxpy"].op, {"n": 4}))


def test_budget() -> None:
    sizes = {"M": 64, "N": 64, "K": 64}
    for spend in (
        lambda: simulate(MATMUL, sizes, random_inputs(MATMUL.op, sizes), budget=10_000),
        lambda: simulate(
            program(ALONE.format("x[i]", "z[t] = x[t] if g == 0").replace("work ", f"work grid = (g: {1 << 40}), ")),
            {},
            {"x": np.zeros(8, np.int32)},
        ),
        lambda: random_inputs(MATMUL.op, {"M": 1 << 20, "N": 1, "K": 1 << 20}),
    ):
        with pytest.raises(SimulationBudget):
            spend()


def test_what_the_lanes_of_one_warp_do_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """That others would write the same cells, if they were there, is no matter."""
    made = program("""op doubled(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] + x[i] }
machine m : doubled {
  work grid = (g: ceil(n / 256)), block = (w: 4, lane: 32)
  program {
    shared s: f32[256]
    for v < 2 { s[w*64 + lane*2 + v] = 0 }
    barrier
    if w == 0 {
      for k < 2 { for v < 8 { s[lane*8 + v] += x[g*256 + lane*8 + v] if g*256 + lane*8 + v < n else 0 } }
    }
    barrier
    for v < 2 { y[g*256 + w*64 + lane*2 + v] = s[w*64 + lane*2 + v] if g*256 + w*64 + lane*2 + v < n }
  }
}""")
    steps: list[str] = []
    assign = interpret._assign
    monkeypatch.setattr(interpret, "_assign", lambda run, step, *more: steps.append(step.target) or assign(run, step, *more))
    inputs = random_inputs(made.op, {"n": 300})
    for vectorise, turns in ((True, 2), (False, 16)):
        steps.clear()
        outcome = simulate(made, {"n": 300}, inputs, vectorise=vectorise)
        assert not outcome.faults and np.array_equal(outcome.outputs["y"], inputs["x"] + inputs["x"])
        assert steps.count("s") - (1 if vectorise else 2) == turns
