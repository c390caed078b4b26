"""Launchers as operators of torch: schemas, fake twins, gradients, and what is refused by name.

Comes in: the module of `ops.tgpu`, whose ops show one thing each. Goes out: torch's own checks of operators, and comparisons with torch. The one idea: what torch
asks of an operator it can test by itself, with `opcheck` and `gradcheck`, so nothing of that is believed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.program.library import unproved
from tinygpu import pipeline, runtime
from tinygpu.emit.module import emit
from tinygpu.run.load import load

torch = pytest.importorskip("torch", reason="torch is not installed: make torch")

from tinygpu.torch import register  # noqa: E402

SPEC = Path(__file__).with_name("ops.tgpu")
SIZES = (1, 7, 129, 1000)
SCHEMAS = {
    "soft": "rows_soft(Tensor x) -> Tensor",
    "scaled": "pairs_scaled(Tensor x, Tensor w, float s) -> Tensor",
    "apart": "halves(Tensor x) -> (Tensor, Tensor)",
    "spread": "grown(Tensor x, *, SymInt k) -> Tensor",
    "step": "each_step(Tensor(a!) w, Tensor d, float lr) -> Tensor",
    "short": "each_short(Tensor x, Tensor m) -> Tensor",
}


@pytest.fixture(scope="module")
def text() -> str:
    return emit("ops.tgpu", unproved(pipeline.load(SPEC).machines))


@pytest.fixture(scope="module")
def module(text: str) -> ModuleType:
    return load(text, "ops")


@pytest.fixture(scope="module")
def ops(module: ModuleType) -> SimpleNamespace:
    return SimpleNamespace(**register(module, "tests"))


def soft(module: ModuleType) -> Any:
    return register(module.soft, "tests", "soft_with_gradient", backward=module.soft_grad)


def scaled(module: ModuleType) -> Any:
    return register(module.scaled, "tests", "scaled_with_gradients", backward=(module.scaled_dx, module.scaled_dw))


def f64(*shape: int, grad: bool = False) -> Any:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=grad)


CALLS: dict[str, Any] = {
    "soft": lambda: ((f64(7, 129),), {}),
    "scaled": lambda: ((f64(3, 5), f64(5), 0.5), {}),
    "apart": lambda: ((torch.randn(9),), {}),
    "spread": lambda: ((torch.randn(9),), {"k": 3}),
    "add": lambda: ((torch.randn(9, 2)[:, 0], torch.randn(9)), {}),
    "step": lambda: ((torch.randn(9), torch.randn(9), 0.5), {}),
    "short": lambda: ((torch.randn(9).bfloat16(), torch.arange(9, dtype=torch.int32)), {}),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_is_the_contract(ops: SimpleNamespace, name: str) -> None:
    assert str(getattr(ops, name)._schema) == f"tests::{SCHEMAS[name]}"


@pytest.mark.parametrize("name", CALLS)
def test_torch_finds_nothing_wrong_with_an_operator(ops: SimpleNamespace, name: str) -> None:
    arguments, keywords = CALLS[name]()
    torch.library.opcheck(getattr(ops, name), arguments, keywords)


@pytest.mark.parametrize("n", SIZES)
def test_what_it_computes_is_what_torch_computes(ops: SimpleNamespace, n: int) -> None:
    x, flat, d = f64(n, 7), torch.randn(2 * n + 1), torch.randn(n)
    torch.testing.assert_close(ops.soft(x), torch.softmax(x, 1))
    torch.testing.assert_close(ops.apart(flat), (flat[1::2], flat[::2]))
    torch.testing.assert_close(ops.spread(d, k=3), d.expand(3, n))
    half = torch.randn(n).bfloat16()
    times = torch.arange(n, dtype=torch.int32) % 7
    torch.testing.assert_close(ops.short(half, times), half * times)


def test_what_is_in_place_is_written_where_it_lies(ops: SimpleNamespace) -> None:
    w, d = torch.randn(129), torch.randn(129)
    before, place, version = w.clone(), w.data_ptr(), w._version
    old = ops.step(w, d, 0.5)
    torch.testing.assert_close((old, w), (before, before - 0.5 * d))
    assert w.data_ptr() == place and w._version > version


def test_autograd_is_told_of_what_is_overwritten(ops: SimpleNamespace) -> None:
    w = torch.randn(9)
    y = (torch.randn(9, requires_grad=True) * w).sum()
    ops.step(w, torch.randn(9), 0.5)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_nothing_is_copied(ops: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column of a matrix, read as it lies; the same where the op does not say that it may be strided is refused."""
    matrix = torch.randn(129, 2)
    torch.testing.assert_close(ops.add(matrix[:, 0], torch.ones(129)), matrix[:, 0] + 1)
    with pytest.raises(ValueError, match=r"TG805 each_add: y must be .*C-contiguous; its strides are not. Pass y.contiguous\(\)"):
        ops.add(torch.ones(129), matrix[:, 0])


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_graph_is_whole(ops: SimpleNamespace, dynamic: bool) -> None:
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("aot_eager")

    def wanted(x: Any, soft: Any) -> Any:
        return soft(2 * x).sum(0) + 1

    compiled = torch.compile(lambda x: wanted(x, ops.soft), backend=counter, fullgraph=True, dynamic=dynamic)
    for n in (129, 7, 12):
        x = f64(n, 2 * n)
        torch.testing.assert_close(compiled(x), wanted(x, lambda y: torch.softmax(y, 1)))
    assert counter.frame_count == 1 or not dynamic


def test_in_place_in_a_graph(ops: SimpleNamespace) -> None:
    w, d = torch.randn(129), torch.randn(129)
    before = w.clone()
    compiled = torch.compile(lambda w, d: (ops.step(w, d, 0.5), w + 1), backend="aot_eager", fullgraph=True)
    after = before - 0.5 * d
    torch.testing.assert_close((*compiled(w, d), w), (before, after + 1, after))


# ── gradients ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_gradients_are_those_of_the_numbers(module: ModuleType) -> None:
    x, w = f64(3, 4, grad=True), f64(4, grad=True)
    for op, arguments in ((soft(module), (x,)), (scaled(module), (x, w, 0.3))):
        torch.library.opcheck(op, arguments)
        assert torch.autograd.gradcheck(op, arguments)


def test_a_graph_has_gradients_too(module: ModuleType) -> None:
    op = soft(module)
    x = f64(7, 129, grad=True)
    y = x.detach().requires_grad_()
    torch.compile(lambda x: op(x).sin().sum(), backend="aot_eager", fullgraph=True)(x).backward()
    torch.softmax(y, 1).sin().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


def test_no_gradient_is_left_out_in_silence(module: ModuleType, ops: SimpleNamespace) -> None:
    op = register(module.scaled, "tests", "scaled_with_one", backward=module.scaled_dx)
    x, w = f64(3, 4, grad=True), f64(4, grad=True)
    op(x, w.detach(), 0.5).sum().backward()
    with pytest.raises(
        ValueError, match="TG943 tests::scaled_with_one: w requires a gradient, and no launcher of backward= gives dw"
    ):
        op(x, w, 0.5)
    with pytest.raises(TypeError, match="TG801 pairs_scaled: x requires a gradient"):
        ops.scaled(x, w, 0.5)


def test_a_gradient_fits_by_its_names(module: ModuleType) -> None:
    with pytest.raises(
        ValueError, match="TG943 tests::wrong: pairs_scaled_dx has w, s; it may take dy, x, y and give each of dx once"
    ):
        register(module.soft, "tests", "wrong", backward=module.scaled_dx)
    with pytest.raises(ValueError, match="TG943 tests::twice: pairs_scaled_dx has dx"):
        register(module.scaled, "tests", "twice", backward=(module.scaled_dx, module.scaled_dx))
    with pytest.raises(ValueError, match="TG943 tests::changed: is in place"):
        register(module.step, "tests", "changed", backward=module.scaled_dx)


# ── refused ──────────────────────────────────────────────────────────────────────────────────────────────────────────


BAD: dict[str, Any] = {
    r"TG802 rows_soft: x must be a float64 array .*its dtype is float32. .*x.to\(torch.float64\)": lambda ops: ops.soft(
        torch.ones(3, 3)
    ),
    r"TG803 rows_soft: .*rank 1 instead of 2": lambda ops: ops.soft(f64(3)),
    r"TG804 pairs_scaled: w has shape \(4,\)": lambda ops: ops.scaled(f64(3, 5), f64(4), 0.5),
    r"TG805 rows_soft: x .*C-contiguous": lambda ops: ops.soft(f64(3, 5).t()),
    r"TG801 rows_soft: x is negated only when torch reads it": lambda ops: ops.soft(torch._neg_view(f64(3, 5))),
    r"TG801 rows_soft: .*Sparse layout": lambda ops: ops.soft(f64(3, 5).to_sparse()),
    r"TG808 rows_soft: proved only where N >= 1": lambda ops: ops.soft(f64(3, 0)),
}


@pytest.mark.parametrize("message", BAD, ids=lambda m: m[:5])
def test_what_is_not_served_is_refused_by_name(ops: SimpleNamespace, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        BAD[message](ops)


@pytest.mark.parametrize("message", [m for m in BAD if m[:5] in ("TG802", "TG803", "TG804")], ids=lambda m: m[:5])
def test_a_graph_is_refused_before_it_runs(ops: SimpleNamespace, message: str) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        BAD[message](ops)


def test_a_device_that_has_no_kernel_is_named(module: ModuleType, ops: SimpleNamespace) -> None:
    assert ops.soft(torch.empty(3, 5, dtype=torch.float64, device="meta")).shape == (3, 5), "a description, which needs none"
    with pytest.raises(TypeError, match=r"TG801 rows_soft: .*Mkldnn layout"):
        ops.soft(torch.randn(3, 5).to_mkldnn())


def test_tensors_on_two_devices_are_refused(ops: SimpleNamespace) -> None:
    """Where one of them has no data torch asks the fake twin, which would make an output that nobody writes."""
    for x, w in ((f64(3, 5), f64(5).to("meta")), (f64(3, 5).to("meta"), f64(5))):
        with pytest.raises(ValueError, match=r"TG809 pairs_scaled: all arrays .*; x is on (cpu|meta) and w is on (meta|cpu)"):
            ops.scaled(x, w, 0.5)


def test_only_launchers_are_operators(module: ModuleType) -> None:
    for one in (print, module.rows_soft_cpu, lambda x: x):
        with pytest.raises(TypeError, match=r"TG941 .*is no launcher"):
            register(one, "tests")
    with pytest.raises(TypeError, match="TG941 3: is no launcher"):
        register(module.soft, "tests", "soft_with_a_number", backward=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="TG941 each_places: has no array among its inputs"):
        register(module.places, "tests")
    with pytest.raises(TypeError, match="TG941 torch: is no module that tinygpu has built"):
        register(torch, "tests")
    with pytest.raises(TypeError, match="TG941 tests::a-b: torch takes no such operator"):
        register(module.soft, "tests", "a-b")


def test_a_name_is_one_operator(module: ModuleType, ops: SimpleNamespace) -> None:
    assert register(module.soft, "tests") is ops.soft is ops.rows_soft is torch.ops.tests.rows_soft.default
    with pytest.raises(ValueError, match="TG942 tests::rows_soft: is another launcher's already"):
        register(module.scaled, "tests", "rows_soft")
    with pytest.raises(ValueError, match=r"TG942 tests::rows_soft: .*other gradients"):
        register(module.soft, "tests", backward=module.soft_grad)
    with pytest.raises(ValueError, match="TG942 aten::add: is an operator of somebody else already"):
        register(module.soft, "aten", "add")


def test_a_module_needs_nothing_of_tinygpu(text: str, tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(text, encoding="utf-8")
    (tmp_path / f"{runtime.NAME}.py").write_text(runtime.text(), encoding="utf-8")
    code = (
        "import sys, torch, ops; op = ops.runtime.torch_op(ops.soft); x = torch.randn(3, 5, dtype=torch.float64);"
        "torch.testing.assert_close(op(x), torch.softmax(x, 1)); assert op is torch.ops.tinygpu.rows_soft.default;"
        "assert not any(name.partition('.')[0] == 'tinygpu' for name in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
