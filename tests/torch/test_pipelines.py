"""Pipelines as operators of torch: one call in a graph, whatever it calls.

Comes in: a pipeline, built. Goes out: its operator, eager and compiled, against torch. The one idea: an operator is made of a table, and a pipeline has one as machines have.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import tinygpu
from tests.emit.test_pipeline import SPEC
from tinygpu import pipeline
from tinygpu.whole import insisted

torch = pytest.importorskip("torch", reason="torch is not installed: make torch")

from tinygpu.torch import register  # noqa: E402


@cache
def mixer() -> Any:
    return register(
        tinygpu.build(insisted(tinygpu.check(pipeline.load_text(SPEC, "mixer.tgpu").mixer))), namespace="tinygpu_pipelines"
    )


def right(x: Any, V: Any, W: Any, b: Any, a: float) -> tuple[Any, Any]:
    e = (x + 1) @ V @ W + b + a
    return e + x, e.sum(dim=1)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (7, 33, 5), (0, 4, 2)])
def test_a_pipeline_is_one_operator(sizes: tuple[int, int, int]) -> None:
    T, D, H = sizes
    given = [torch.randint(-4, 5, shape).float() for shape in ((T, D), (D, H), (H, D), (D,))]
    for found, wanted in zip(mixer()(*given, 2.0), right(*given, 2.0), strict=True):
        assert torch.equal(found, wanted)
    torch.library.opcheck(mixer(), (*given, 2.0))


def test_it_is_compiled_into_one_graph() -> None:
    given = [torch.randint(-4, 5, shape).float() for shape in ((6, 9), (9, 3), (3, 9), (9,))]
    op = mixer()
    compiled = torch.compile(lambda *given: op(*given, 2.0)[0] * 2, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*given), right(*given, 2.0)[0] * 2)


LATER = """
op add_rows(x: f32[V, D], idx: i32[T], v: f32[T, D]) -> (y: f32[V, D] inplace x) where all[t] (0 <= idx[t] and idx[t] < V) {
  y[i, d] = x[i, d] + (sum[t] (v[t, d] if idx[t] == i else 0))
}
op twice(x: f32[V, D]) -> (y: f32[V, D]) { y[i, d] = x[i, d] + x[i, d] }
machine adds : add_rows {
  work grid = (t: T, g: ceil(D / 64)), block = (l: 64)
  program {
    if g*64 + l < D { atomic y[idx[t], g*64 + l] += v[t, g*64 + l] }
  }
}
machine twices : twice {
  work    grid = (i, g), block = (t: 32)
  compute d = (g, t)
}
pipeline changed(x: f32[V, D], idx: i32[T], v: f32[T, D]) -> (y: f32[V, D]) where all[t] (0 <= idx[t] and idx[t] < V) {
  h = twice(x)
  y = add_rows(h, idx, v)
}
"""


def test_a_tensor_begins_as_a_value_between_calls() -> None:
    call = tinygpu.build(insisted(tinygpu.check(pipeline.load_text(LATER, "changed.tgpu").changed)))
    found = call(torch.ones(3, 2), torch.tensor([2, 0], dtype=torch.int32), torch.ones(2, 2))
    assert found.tolist() == [[3, 3], [2, 2], [3, 3]]
