"""Gradients that a spec declares: an operator of a module has them without being told, and they are those of the numbers.

Comes in: the module of `trained.tgpu`. Goes out: torch's own checks. The one idea: the pair is proved before the module is written, so what is left to see is that the right launchers are called with the right
tensors, which `gradcheck` sees.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.program.library import unproved
from tinygpu import pipeline
from tinygpu.algebra.verdict import judged
from tinygpu.run.load import load

torch = pytest.importorskip("torch", reason="torch is not installed: make torch")

from tinygpu.torch import register  # noqa: E402


@pytest.fixture(scope="module")
def ops() -> SimpleNamespace:
    spec = pipeline.load(Path(__file__).with_name("trained.tgpu"))
    text = pipeline.module("trained.tgpu", unproved(spec.machines), [judged(one) for one in spec.spec.gradients])
    return SimpleNamespace(**register(load(text, "trained"), "trained"))


def f64(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()


def test_they_are_those_of_the_numbers(ops: SimpleNamespace) -> None:
    places = torch.tensor([2, 0, 2, 4, 2], dtype=torch.int32)
    for op, arguments in ((ops.scaled, (f64(3, 4), f64(4), 0.3)), (ops.rows_of, (f64(6, 3), places))):
        torch.library.opcheck(op, arguments)
        assert torch.autograd.gradcheck(op, arguments)
    assert torch.autograd.gradcheck(lambda x: ops.centred(x)[0], (f64(3, 5),))


def test_what_is_there_for_gradients_has_none(ops: SimpleNamespace) -> None:
    y, mean = ops.centred(f64(3, 5))
    assert y.requires_grad and not mean.requires_grad


def test_a_graph_has_them_too(ops: SimpleNamespace) -> None:
    e, places = f64(7, 33), torch.tensor([1, 1, 6, 3], dtype=torch.int32)
    torch.compile(lambda e: ops.rows_of(e, places).sin().sum(), backend="aot_eager", fullgraph=True)(e).backward()
    other = e.detach().requires_grad_()
    other[places].sin().sum().backward()
    torch.testing.assert_close(e.grad, other.grad)
