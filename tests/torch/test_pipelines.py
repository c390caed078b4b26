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
