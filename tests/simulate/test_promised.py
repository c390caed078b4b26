"""Sizes and data that an op takes, where nobody says them.

Comes in: ops with preconditions and promises. Goes out: sizes that satisfy them, and data of which they are true. The one idea: what is found is judged by
the conditions themselves, so a table of them is the whole test.
"""

from __future__ import annotations

import re

import pytest

from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.model.op import Op
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.promised import broken, promised
from tinygpu.simulate.usual import usual_sizes

PROMISES = {
    "between": ("u: f32[N]", "all[i] (u[i] > 0 and u[i] < 1)"),
    "apart from 0": ("u: f32[N]", "all[i] (u[i] > 1 or u[i] < -1)"),
    "lengths": ("len: i32[N]", "all[b] (0 < len[b] and len[b] + 1 < 3*N)"),
    "or another number": ("t: i32[N]", "all[r] (t[r] == -100 or 0 <= t[r] and t[r] < N)"),
    "a scalar": ("k: i32", "k >= 20, k < 28"),
    "increasing": ("u: f32[N + 1]", "all[i < N] (u[i] <= u[i + 1])"),
    "decreasing": ("u: i32[N + 1]", "all[i < N] (u[i] >= u[i + 1])"),
    "all different": ("p: i32[N]", "all[i, j < N] (i == j or p[i] != p[j])"),
    "offsets apart": ("off: i32[S + 1], z: f32[N]", "all[s < S] (off[s] < off[s + 1])"),
    "all rows": ("off: i32[S + 1], z: f32[N]", "off[0] == 0, off[S] == N, all[s < S] (off[s] <= off[s + 1])"),
    "the row of each": (
        "off: i32[S + 1], g: i32[N]",
        "all[z] (0 <= g[z] and g[z] < S), all[z] (off[g[z]] <= z and z < off[g[z] + 1])",
    ),
    "a permutation and its inverse": (
        "p: i32[N], q: i32[N]",
        "all[i] (0 <= p[i] and p[i] < N), all[i] (0 <= q[i] and q[i] < N), all[i] (p[q[i]] == i), all[i] (q[p[i]] == i)",
    ),
}
SIZES = {
    "a multiple of a number": ("x: f32[K], w: f32[K8, N]", "K == 8*K8, N % 3 == 0", {"K8": 3}),
    "a product": ("x: f32[K // S], w: f32[K8, N8], y: f32[G, N]", "K == 8*K8, N == 8*N8, S >= 1, K == S*G", {}),
    "groups": ("x: f32[B, F // G, N]", "G >= 1, F >= G, F % G == 0", {}),
    "a window": ("x: f32[C, H], w: f32[C, K], y: f32[(H + 2*P - K) // S + 1]", "K >= 1, S >= 1, K <= H + 2*P", {}),
}


def op(inputs: str, where: str) -> Op:
    """An op that copies its inputs, with these preconditions."""
    outputs, equations = [], []
    for name, dtype, shape in re.findall(r"(\w+): (\w+)(?:\[([^]]*)\])?", inputs):
        index = ", ".join(f"i{n}" for n in range(shape.count(",") + 1))
        outputs.append(f"{name}_out: {dtype}[{shape or 1}]")
        equations.append(f"  {name}_out[{index}] = {name}" + (f"[{index}]" if shape else ""))
    text = f"op f({inputs}) -> ({', '.join(outputs)}) where {where} {{\n" + "\n".join(equations) + "\n}"
    return pipeline.load_text(text).spec.ops[0]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("inputs", "where"), PROMISES.values(), ids=PROMISES)
def test_data_keep_what_is_promised(inputs: str, where: str, wide: bool) -> None:
    made = op(inputs, where)
    for n in (1, 9, 61):
        sizes = {"N": n, "S": min(n, 7)}
        found = random_inputs(made, sizes, n, wide)
        assert promised(made, sizes, found), broken(made, sizes, found)


def test_wide_data_are_anything_that_they_may_be() -> None:
    made = op(*PROMISES["lengths"])
    found = random_inputs(made, {"N": 61}, wide=True)["len"]
    assert found.max() > 100 and found.min() > 0 and len({*found.tolist()}) > 30


def test_what_cannot_be_kept_is_named() -> None:
    made = op("u: f32[N]", "all[i] (u[i] > 1000000)")
    found = random_inputs(made, {"N": 9})
    assert not promised(made, {"N": 9}, found)


@pytest.mark.parametrize(("inputs", "where", "given"), SIZES.values(), ids=SIZES)
def test_sizes_satisfy_what_is_asked(inputs: str, where: str, given: dict[str, int]) -> None:
    made = op(inputs, where)
    for usual in (8, 61, 512):
        sizes = usual_sizes(made, given, usual, 1 << 20, odd=True)
        assert sizes is not None and sizes.items() >= given.items()
        assert all(evaluate(guard, sizes) for guard in made.where)
        assert min(sizes.values()) >= 1


def test_sizes_that_nothing_satisfies_are_none() -> None:
    assert usual_sizes(op(*SIZES["a window"][:2]), {"S": 0}, 8, 1 << 20) is None


def test_sizes_are_as_large_as_is_bearable() -> None:
    made = op("x: f32[H, W]", "H >= 1")
    assert usual_sizes(made, {}, 2048, 1 << 30, odd=True) == {"H": 2047, "W": 2045}
    assert usual_sizes(made, {}, 2048, 1 << 30, odd=True, bearable=lambda z: z["W"] < 200) == {"H": 127, "W": 125}
    assert usual_sizes(made, {}, 2048, 4000, odd=True) == {"H": 63, "W": 61}
