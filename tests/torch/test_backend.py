"""The backend: every row of its table at odd sizes, a transformer block forward and backward, and what is left, with the reason.

Comes in: functions of torch. Goes out: what torch computes by itself, and the lines of TGPU_EXPLAIN. The one idea: a graph in which nothing was taken computes the same too, so a test asks for both, the
numbers and the line.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: make torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from tinygpu.torch import compile_backend, shipped  # noqa: E402

SIZES = (1, 7, 129, 1000)
ROOT = Path(__file__).resolve().parents[2]
TAKEN: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "linear_gelu": (lambda x, w, b: F.gelu(F.linear(x, w, b)), lambda n: (torch.randn(2, n, 33), torch.randn(n, 33), torch.randn(n))),
    "linear_gelu_tanh": (lambda x, w, b: F.gelu(F.linear(x, w, b), approximate="tanh"), lambda n: (torch.randn(n, 7), torch.randn(9, 7), torch.randn(9))),
    "linear_silu": (lambda x, w, b: F.silu(F.linear(x, w, b)), lambda n: (torch.randn(n, 7), torch.randn(9, 7), torch.randn(9))),
    "linear_relu": (lambda x, w, b: F.linear(x, w, b).relu(), lambda n: (torch.randn(n, 7), torch.randn(9, 7), torch.randn(9))),
    "linear": (F.linear, lambda n: (torch.randn(3, n, 7), torch.randn(n, 7), torch.randn(n))),
    "linear ": (F.linear, lambda n: (torch.randn(5, n), torch.randn(n, n))),
    "matmul": (torch.matmul, lambda n: (torch.randn(n, 7), torch.randn(7, n))),
    "rms_norm": (lambda x, w: F.rms_norm(x, w.shape, w, 1e-6), lambda n: (torch.randn(2, 3, n), torch.randn(n))),
    "rms_norm ": (lambda x, w: w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)), lambda n: (torch.randn(7, n), torch.randn(n))),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, w.shape, w, b), lambda n: (torch.randn(7, n), torch.randn(n), torch.randn(n))),
    "softmax": (lambda x: x.softmax(-1), lambda n: (torch.randn(3, 2, n),)),
    "softmax ": (lambda x: torch.softmax(x, 0), lambda n: (torch.randn(n),)),
    "attention": (lambda *x: F.scaled_dot_product_attention(*(one.transpose(1, 2) for one in x)), lambda n: tuple(torch.randn(2, length, 3, 8) for length in (n, 33, 33))),
    "attention ": (lambda x: F.scaled_dot_product_attention(*x.permute(2, 0, 3, 1, 4), is_causal=True, scale=0.3), lambda n: (torch.randn(2, n, 3, 2, 16),)),
    "silu_mul": (lambda x, y: y * F.silu(x), lambda n: (torch.randn(n, 3), torch.randn(n, 3))),
    "gelu": (F.gelu, lambda n: (torch.randn(n, 3),)),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), lambda n: (torch.randn(n, 3),)),
    "silu": (F.silu, lambda n: (torch.randn(n),)),
}  # fmt: skip
LEFT: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "softmax at _softmax: left, because it goes over axis 0, and not over the last one alone": (lambda x: x.softmax(0), ((3, 5),)),
    "softmax at _softmax: left, because x is float64, and the machine is for float32": (lambda x: x.double().softmax(1), ((3, 5),)),
    "softmax at _softmax: left, because x does not lie in rows": (lambda x: x.t().softmax(1), ((3, 5),)),
    "gelu at gelu: left, because x is empty": (F.gelu, ((0, 5),)),
    "layer_norm at getitem: left, because weight is not there": (lambda x: F.layer_norm(x, (5,)), ((3, 5),)),
    "layer_norm at getitem: left, because it goes over 2 axes": (lambda x, w: F.layer_norm(x, (3, 5), w, w), ((3, 5), (3, 5))),
    "silu_mul at mul: left, because shapes (3, 5) and (5,) are made one": (lambda x, y: F.silu(x) * y, ((3, 5), (5,))),
    "linear_relu at relu: left, because addmm, which is inside of it, is wanted elsewhere too": (
        lambda x, w, b: (lambda y: (y.relu(), y))(F.linear(x, w, b)),
        ((3, 5), (7, 5), (7,)),
    ),
    "linear at addmm: left, because what is added has shape (3, 7)": (
        lambda b, x, w: torch.addmm(b, x, w.t()),
        ((3, 7), (3, 5), (7, 5)),
    ),
    "attention at getitem: left, because getitem does not lie as it would be made": (
        F.scaled_dot_product_attention,
        ((2, 3, 7, 8),) * 3,
    ),
    "left to eager, because no pattern of the table is of it: cumsum, sin 2": (
        lambda x: x.sin().sin().cumsum(0),
        ((3,),),
    ),
}


class Block(nn.Module):
    """A transformer block."""

    def __init__(self, width: int = 24, heads: int = 3):
        super().__init__()
        self.heads, self.before, self.after = heads, nn.LayerNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, width)
        x = x + self.out(seen)
        return x + self.down(F.gelu(self.up(self.after(x))))


@pytest.fixture(autouse=True)
def explained(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TGPU_EXPLAIN", "1")
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def ours(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return torch.compile(function, backend=compile_backend, fullgraph=True, **options)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", TAKEN)
def test_a_row_is_taken_and_computes_the_same(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    function, given = TAKEN[name]
    compiled = ours(function)
    with torch.no_grad():
        for n in SIZES:
            inputs = given(n)
            torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=1e-4, atol=1e-4)
    said = capsys.readouterr().err
    assert f"  {name.strip()} at " in said and "left" not in said, said


@pytest.mark.parametrize("line", LEFT)
def test_what_is_left_is_said_with_the_reason(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    function, shapes = LEFT[line]
    inputs = [torch.randn(shape) for shape in shapes]
    with torch.no_grad():
        torch.testing.assert_close(ours(function)(*inputs), function(*inputs))
    assert line in capsys.readouterr().err


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_block_is_that_of_torch(dynamic: bool, capsys: pytest.CaptureFixture[str]) -> None:
    block = Block()
    compiled = ours(block, dynamic=dynamic)
    with torch.no_grad():
        for shape in ((2, 7, 24), (3, 129, 24)):
            x = torch.randn(shape)
            torch.testing.assert_close(compiled(x), block(x), rtol=1e-4, atol=1e-5)
    said = capsys.readouterr().err
    for row in ("layer_norm", "attention", "rms_norm", "linear_gelu", "linear"):
        assert f"  {row} at " in said


def test_a_block_learns_as_it_does_in_torch() -> None:
    block = Block()
    x = torch.randn(2, 7, 24, requires_grad=True)
    found = []
    for call in (block, ours(block)):
        given = x.detach().requires_grad_()
        block.zero_grad()
        call(given).square().sum().backward()
        found.append([given.grad, *(p.grad.clone() for p in block.parameters())])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_what_writes_in_place_stays() -> None:
    def function(x: Any) -> Any:
        x.add_(1)
        return x.softmax(-1)

    x, y = torch.zeros(3, 5), torch.ones(3, 5)
    with torch.no_grad():
        torch.testing.assert_close(ours(function)(x), y.softmax(-1))
    torch.testing.assert_close(x, y)


def test_the_rest_may_be_compiled() -> None:
    def function(x: Any) -> Any:
        return (2 * x.sin()).softmax(-1).cos()

    x = torch.randn(7, 129)
    with torch.no_grad():
        torch.testing.assert_close(ours(function, options={"rest": "inductor"})(x), function(x))


@pytest.mark.parametrize(
    ("options", "said"), [({"rest": "triton"}, "cannot be left to 'triton'"), ({"mode": "fast"}, "no option mode")]
)
def test_an_option_that_there_is_not(options: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match=f"TG944 compile_backend: .*{said}; options are"):
        ours(F.silu, options=options)(torch.randn(3))


def test_nothing_is_said_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TGPU_EXPLAIN", "0")
    ours(F.silu)(torch.randn(3))
    assert "tinygpu" not in capsys.readouterr().err


def test_what_is_proved_is_not_proved_again_by_another_process(tmp_path: Path) -> None:
    code = (
        "import sys; from tinygpu.torch.shipped import launcher; import numpy;"
        "assert launcher('layers', 'swish_v4')(numpy.zeros(3, 'f')).sum() == 0; print('z3' in sys.modules)"
    )
    env = {**os.environ, "TINYGPU_CACHE": str(tmp_path), "PYTHONPATH": str(ROOT)}
    said = []
    for damaged in (False, False, True):
        if damaged:
            (held,) = (tmp_path / "shipped").iterdir()
            held.write_bytes(held.read_bytes()[:-1])
        said.append(
            subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout.strip()
        )
    assert said == ["True", "False", "True"]


def test_a_machine_that_there_is_not() -> None:
    with pytest.raises(KeyError, match="has no machine, choice or pipeline 'none'"):
        shipped.launcher("layers", "none")
