"""The table of the backend: what graphs of torch are made of, and the shipped machines that compute it.

    pattern  →  spec, machine                       `_softmax(x, dim, False)`  →  softmax_cpu, softmax_cores

Comes in: nothing. Goes out: `ROWS`, the largest pattern first. The one idea: a row says nothing of arrays: the names of a pattern are the inputs of the op, whose launcher knows their
dtypes and ranks; an input of more axes is a matrix of its last one, or a vector of all, as the op has it. A row of a whole chain is a longer pattern and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tinygpu.record import dataclass
from tinygpu.torch.match import Match

Machine: TypeAlias = tuple[str, str]  # a spec, and a machine of it or a choice, by its title
Check: TypeAlias = Callable[[Match], str]  # why a match is none after all; nothing where it is one


def over_last(match: Match) -> str:
    """What is folded over is the last axis alone, where rows lie."""
    axes, rank = match.of("dim"), len(shape_of(match.of("x")))
    chosen = [axes] if isinstance(axes, int) else list(axes)
    return (
        ""
        if [axis % rank for axis in chosen] == [rank - 1]
        else f"it goes over axis {', '.join(map(str, chosen))}, and not over the last one alone"
    )


def over_one(match: Match) -> str:
    """The shape that is normalised is that of the last axis."""
    return "" if len(match.of("shape")) == 1 else f"it goes over {len(match.of('shape'))} axes, and not over the last one alone"


def alike(match: Match) -> str:
    """Two inputs have one shape."""
    x, y = shape_of(match.of("x")), shape_of(match.of("y"))
    return "" if x == y else f"shapes {tuple(x)} and {tuple(y)} are made one"


def as_columns(match: Match) -> str:
    """A weight has one number for each column."""
    x, weight = shape_of(match.of("x")), shape_of(match.of("weight"))
    return "" if tuple(weight) == (x[-1],) else f"the weight has shape {tuple(weight)}"


def as_bias(match: Match) -> str:
    """What is added has one number for each output."""
    added, weights = shape_of(match.of("b")), shape_of(match.of("w"))
    return "" if tuple(added) == (weights[0],) else f"what is added has shape {tuple(added)}"


def few_scores(match: Match) -> str:
    """The scores of all heads, which the machine keeps in memory, take no more of it than 256 MB."""
    (batch, heads, queries, _), keys = shape_of(match.of("q")), shape_of(match.of("k"))[2]
    return "" if batch * heads * queries * keys <= SCORES else "its scores would take more than 256 MB"


def scaling(match: Match) -> Any:
    """What scores are multiplied by: what the graph says, or else 1 / √D."""
    said, width = match.of("scale"), shape_of(match.of("q"))[-1]
    return float(width) ** -0.5 if said is None and isinstance(width, int) else said


def shape_of(node: Any) -> Any:
    """The shape of what a node makes; that of a number for what is no tensor."""
    return getattr(getattr(node, "meta", {}).get("val"), "shape", ())


@dataclass(frozen=True, slots=True)
class Row:
    """A pattern, the machines that compute it by kind of device, and what has to hold beside."""

    name: str
    pattern: str
    machines: dict[str, Machine]
    checks: tuple[Check, ...] = ()
    numbers: tuple[tuple[str, Callable[[Match], Any]], ...] = ()  # inputs that a graph does not say as the op has them
    axes: tuple[int, ...] = ()  # in which order the axes of the op's output are those of the graph, where it is another one

    def values(self, match: Match) -> dict[str, Any]:
        """What the inputs of the op are."""
        return dict(match.values) | {name: number(match) for name, number in self.numbers}


def both(spec: str, machine: str) -> dict[str, Machine]:
    """One machine, whose module has kernels for both."""
    return {"cpu": (spec, machine), "cuda": (spec, machine)}


def layer(op: str) -> dict[str, Machine]:
    """A product with what follows it, which on a GPU is left to torch's own."""
    return {"cpu": ("layers", f"layer_core[op={op}]")}


def attention(op: str, causal: bool) -> Row:
    """Attention of all heads, as torch's kernel for CPUs has it: it makes an output in which a place has its heads side by side."""
    pattern = f"getitem(_scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, {causal}, None, scale), 0)"
    return Row("attention", pattern, {"cpu": ("heads", f"heads_core[op={op}]")}, (few_scores,), (("scale", scaling),), (0, 2, 1, 3))


SCORES = 1 << 26
ROOT = "rsqrt(add(mean(pow(x, 2), dim, True), eps))"  # of the mean square
ROWS = (
    Row("linear_gelu", "gelu(flat(addmm(b, x, t(w))))", layer("linear_gelu"), (as_bias,)),
    Row("linear_gelu_tanh", "gelu(flat(addmm(b, x, t(w))), 'tanh')", layer("linear_gelu_tanh"), (as_bias,)),
    Row("linear_silu", "silu(flat(addmm(b, x, t(w))))", layer("linear_silu"), (as_bias,)),
    Row("linear_relu", "relu(flat(addmm(b, x, t(w))))", layer("linear_relu"), (as_bias,)),
    Row("linear", "addmm(b, x, t(w))", layer("linear"), (as_bias,)),
    Row("linear", "mm(x, t(w))", layer("linear_plain")),
    Row("matmul", "mm(A, B)", {"cpu": ("matmul_cpu", "matmul_core")}),
    Row("rms_norm", f"mul(mul(x, {ROOT}), weight)", {"cpu": ("norm_cpu", "norm_core[op=rmsnorm]"), "cuda": ("norm", "norm_block[op=rmsnorm]")}, (over_last, as_columns)),
    Row("layer_norm", "getitem(native_layer_norm(x, shape, weight, bias, eps), 0)", {"cpu": ("norm_cpu", "norm_core[op=layernorm]"), "cuda": ("norm", "norm_block[op=layernorm]")}, (over_one,)),
    Row("softmax", "_softmax(x, dim, False)", {"cpu": ("softmax_cpu", "softmax_cores"), "cuda": ("softmax", "softmax_rows")}, (over_last,)),
    attention("heads", False),
    attention("heads_causal", True),
    Row("silu_mul", "mul(silu(x), y)", both("silu_mul", "silu_mul_v4"), (alike,)),
    Row("gelu", "gelu(x)", both("gelu", "gelu_v4[op=gelu_erf]")),
    Row("gelu_tanh", "gelu(x, 'tanh')", both("gelu", "gelu_v4[op=gelu_tanh]")),
    Row("silu", "silu(x)", both("layers", "swish_v4")),
)  # fmt: skip
