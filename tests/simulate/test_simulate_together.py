"""Programs whose threads work together compute what numpy computes, in lockstep and in orders that are not, without a fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.program.cooperation_texts import HISTOGRAM, TEXTS, TOTAL
from tinygpu import pipeline
from tinygpu.category.number import load
from tinygpu.program.step import Program
from tinygpu.simulate.exchange import source_lane
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

ORDERS = (None, 1, 2, 3)
DIFFERENCE = "op difference(x: f32[n]) -> (z: f32[n]) where n % 128 == 0 { z[i] = x[i] - x[i // 64 * 64 + (i + 1) % 64] }\n"

MORE = {
    "two buffers in turn": f"""{TOTAL}
machine total_buffers : total {{
  work block = (t: 64)
  program {{
    shared r: f32[2, 64]
    local a: f32[]
    a[] = 0
    for c < ceil(n / 64) {{
      r[c % 2, 63 - t] = x[c*64 + t] if c*64 + t < n else 0
      barrier
      a[] += r[c % 2, t]
    }}
    barrier
    r[0, t] = a[]
    for d in (32, 16, 8, 4, 2, 1) {{
      barrier
      r[0, t] += r[0, t + d] if t < d
    }}
    s[] = r[0, 0] if t < 1
  }}
}}
""",
    "neighbours of a warp": f"""{DIFFERENCE}
machine difference_warps : difference {{
  work grid = (b: n // 128), block = (w: 2, lane: 64)
  program {{
    shared s: f32[2, 64]
    s[w, lane] = x[(b*2 + w)*64 + lane]
    barrier
    z[(b*2 + w)*64 + lane] = s[w, lane] - s[w, (lane + 1) % 64]
  }}
}}
""",
    "warp barriers": f"""{TOTAL}
machine total_warps : total {{
  work block = (t: 64)
  program {{
    shared p: f32[2, 32]
    local a: f32[]
    a[] = 0
    for c < ceil(n / 64) {{ a[] += x[c*64 + t] if c*64 + t < n }}
    p[t // 32, t % 32] = a[]
    warp barrier
    for d in (16, 8, 4, 2, 1) {{
      p[t // 32, t % 32] += p[t // 32, t % 32 + d] if t % 32 < d
      warp barrier
    }}
    barrier
    s[] = p[0, 0] + p[1, 0] if t < 1
  }}
}}
""",
    "counters of a block": f"""{HISTOGRAM}
machine histogram_shared : histogram where m <= 40 {{
  program {{
    launch (grid = (), block = (t: 64)) {{ h[t] = 0 if t < m }}
    launch (grid = (g: ceil(n / 96)), block = (t: 96)) {{
      shared c: i32[40]
      c[t] = 0 if t < 40
      barrier
      atomic c[x[g*96 + t]] += 1 if g*96 + t < n
      barrier
      atomic h[t] += c[t] if t < m
    }}
  }}
}}
""",
}


def program(text: str) -> Program:
    return pipeline.program(pipeline.load_text(text).machines[0])


def wanted(name: str, x: dict[str, Any]) -> Any:
    first = {k: np.asarray(v, np.float64 if v.dtype.kind == "f" else v.dtype) for k, v in x.items()}
    ops: dict[str, Callable[[], Any]] = {
        "transpose": lambda: first["x"].T,
        "matmul": lambda: first["A"] @ first["B"],
        "row_max": lambda: first["x"].max(1),
        "total": lambda: first["x"].sum(),
        "histogram": lambda: np.bincount(first["x"], minlength=40),
        "ring_difference": lambda: first["x"] - np.roll(first["x"].reshape(-1, 256), -1, 1).reshape(-1),
        "difference": lambda: first["x"] - np.roll(first["x"].reshape(-1, 64), -1, 1).reshape(-1),
    }
    return ops[name]()


@pytest.mark.parametrize("name", [*TEXTS, *MORE])
def test_it_computes_what_numpy_computes(name: str) -> None:
    made = program({**TEXTS, **MORE}[name])
    n = 512 if "difference" in made.op.name else 301
    sizes = {s: {"n": n, "m": 40, "M": 45, "N": 37, "K": 35, "R": 9}[s] for s in made.op.sizes}
    for order in ORDERS:
        inputs = random_inputs(made.op, sizes, order or 0)
        outcome = simulate(made, sizes, inputs, order=order)
        assert outcome.faults == ()
        (output,) = made.op.outputs
        assert np.allclose(load(outcome.outputs[output.name], output.dtype), wanted(made.op.name, inputs), atol=1e-4)


@pytest.mark.parametrize("op", ["xor", "up", "down", "idx"])
@pytest.mark.parametrize("which", ["3", "t % 5", "t // 7", "33", "31"])
def test_shuffles_go_by_lanes_of_a_warp(op: str, which: str) -> None:
    """Against the definition, with a distance that differs between lanes and one that leaves the warp."""
    text = f"""op any_order(x: f32[96]) -> (z: f32[96]) {{ z[i] = x[i] }}
machine shuffled : any_order {{
  work block = (a: 3, b: 32)
  program {{
    local v: f32[]
    v[] = x[a*32 + b]
    z[a*32 + b] = shuffle_{op}(v[], {which.replace("t", "(a*32 + b)")})
  }}
}}
"""
    made = program(text)
    inputs = random_inputs(made.op, {})
    thread = np.arange(96)
    lane = source_lane(f"shuffle_{op}", thread % 32, eval(which, {"t": thread}))
    for order in (None, 1):
        outcome = simulate(made, {}, inputs, order=order)
        assert outcome.faults == () and np.array_equal(outcome.outputs["z"], inputs["x"][thread // 32 * 32 + lane])


def test_vectorised_nests_change_nothing_where_threads_work_together() -> None:
    for name in ("transpose_padded", "matmul_tiled", "histogram_atomic", "row_max_warp"):
        made = program(TEXTS[name])
        sizes = dict.fromkeys(made.op.sizes, 40)
        inputs = random_inputs(made.op, sizes)
        fast, slow = (simulate(made, sizes, inputs, vectorise=v) for v in (True, False))
        assert not fast.faults and all(np.array_equal(fast.outputs[k], slow.outputs[k]) for k in fast.outputs)


@pytest.mark.parametrize("dtype", ["f64", "f32", "i32", "u32", "i64"])
def test_atomic_updates_round_and_wrap_as_the_dtype_does(dtype: str) -> None:
    text = f"""op total(x: {dtype}[n]) -> (s: {dtype}[]) {{ s[] = sum[i] x[i] }}
machine total_atomic : total {{
  program {{
    launch (grid = (), block = ()) {{ s[] = 0 }}
    launch (grid = (g: ceil(n / 32)), block = (t: 32)) {{ atomic s[] += x[g*32 + t] if g*32 + t < n }}
  }}
}}
"""
    made = program(text)
    inputs = random_inputs(made.op, {"n": 77})
    outcome = simulate(made, {"n": 77}, inputs, order=1)
    total = load(outcome.outputs["s"], dtype, exact=True)
    exact = load(inputs["x"], dtype, exact=True).sum()
    assert not outcome.faults
    assert total == exact if dtype[0] in "iu" else abs(total - exact) <= 1e-4
