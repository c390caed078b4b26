"""The chains of level 2: a producer, then what is done with it, each with torch's way to compute the same.

Goes out: `rows()`, what a row is made of. The one idea: a spec says of which steps a chain is made, so a step has one line here, and torch's chain
is the composition of its lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from benchmarks.case import ROOT
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

Given = Mapping[str, Any]
Step = Callable[[Any, Any, Given], Any]  # torch itself, what comes before, inputs and sizes by name
Parts = tuple[str, str, str, str, dict[str, int], Callable[[Any, Given], Any], dict[str, Any]]
FOLDER = ROOT / "specs" / "level2"
STEPS_2D = {"SH": 2, "SW": 1, "PH": 1, "PW": 2, "DH": 1, "DW": 2}
SIZES: Mapping[str, dict[str, int]] = {
    "linear": {"M": 257, "N": 567, "K": 513},
    "conv_2d": {"B": 4, "C": 17, "F": 27, "H": 67, "W": 69, "KH": 3, "KW": 5, **STEPS_2D},
    "conv_3d": {
        "B": 2,
        "C": 5,
        "F": 27,
        "T": 17,
        "H": 19,
        "W": 23,
        "KT": 3,
        "KH": 3,
        "KW": 5,
        "ST": 1,
        "PT": 1,
        "DT": 2,
        **STEPS_2D,
    },
}
MORE: Mapping[str, dict[str, int]] = {"group_norm": {"G": 3}}  # sizes of steps
# chains that are proved, and whose CPU kernel takes many seconds to build
SLOW = frozenset((
    "conv_2d_batch_norm_hardswish_min", "linear_group_norm_relu_scale", "linear_group_norm_swish_scale_swish", "linear_dropout_softmax",
    "linear_add_hardtanh_mish_group_norm",
))  # fmt: skip
NUMBERS: dict[str, float] = {
    "factor": 1.75, "divisor": 1.5, "offset": 0.25, "value": 0.5, "value_2": -0.25, "bound": 0.5, "low": -0.75, "high": 1.25, "slope": 0.1,
    "chance": 0.8, "eps": 1e-5,
}  # fmt: skip


def channels(x: Any, values: Any) -> Any:
    """Values of columns or channels, along the axes of x."""
    return values.view(1, -1, *(1,) * (x.dim() - 2))


def normed(t: Any, x: Any, i: Given) -> Any:
    return t.nn.functional.batch_norm(x, i["mean"], i["variance"], i["weight"], i["bias"], False, 0.0, i["eps"])


def convolved(t: Any, i: Given) -> Any:
    rank = i["x"].dim() - 2
    axes = "THW"[3 - rank :]
    numbers = {
        name: tuple(i[letter + a] for a in axes) for name, letter in {"stride": "S", "padding": "P", "dilation": "D"}.items()
    }
    return getattr(t.nn.functional, f"conv{rank}d")(i["x"], i["w"], i["b"], **numbers)


PRODUCERS: Mapping[str, Callable[[Any, Given], Any]] = {
    "linear": lambda t, i: t.nn.functional.linear(i["x"], i["w"], i["b"]),
    "conv_2d": convolved,
    "conv_3d": convolved,
}
STEPS: Mapping[str, Step] = {
    "relu": lambda t, x, i: t.relu(x),
    "leaky_relu": lambda t, x, i: t.nn.functional.leaky_relu(x, i["slope"]),
    "gelu": lambda t, x, i: t.nn.functional.gelu(x),
    "silu": lambda t, x, i: t.nn.functional.silu(x),
    "mish": lambda t, x, i: t.nn.functional.mish(x),
    "hardswish": lambda t, x, i: t.nn.functional.hardswish(x),
    "clamp": lambda t, x, i: t.clamp(x, i["low"], i["high"]),
    "tanh": lambda t, x, i: t.tanh(x),
    "sigmoid": lambda t, x, i: t.sigmoid(x),
    "add_number": lambda t, x, i: x + i["offset"],
    "subtract": lambda t, x, i: x - i["value"],
    "subtract_again": lambda t, x, i: x - i["value_2"],
    "scale": lambda t, x, i: x * i["factor"],
    "divide": lambda t, x, i: x / i["divisor"],
    "at_most": lambda t, x, i: t.clamp(x, max=i["bound"]),
    "twice": lambda t, x, i: x + x,
    "times_mish": lambda t, x, i: x * t.nn.functional.mish(x),
    "scaled_sigmoid_residual": lambda t, x, i: x + i["factor"] * t.sigmoid(x),
    "softplus_tanh_times": lambda t, x, i: t.tanh(t.nn.functional.softplus(x)) * x,
    "add_columns": lambda t, x, i: x + i["offsets"],
    "subtract_columns": lambda t, x, i: x - i["offsets"],
    "scale_columns": lambda t, x, i: x * i["factors"],
    "residual_times": lambda t, x, i: (x + i["other"]) * i["other"],
    "batch_norm": normed,
    "batch_norm_channels": normed,
    "dropout": lambda t, x, i: t.where(i["kept"], x / i["chance"], 0.0),
    "sum_rows": lambda t, x, i: x.sum(1),
    "mean_rows": lambda t, x, i: x.mean(1),
    "max_rows": lambda t, x, i: x.amax(1),
    "logsumexp_rows": lambda t, x, i: t.logsumexp(x, 1),
    "logsumexp_all": lambda t, x, i: t.logsumexp(x, 0),
    "softmax_rows": lambda t, x, i: t.softmax(x, 1),
    "layer_norm": lambda t, x, i: t.nn.functional.layer_norm(x, x.shape[1:], i["weight"], i["bias"], i["eps"]),
    "group_norm": lambda t, x, i: t.nn.functional.group_norm(x, i["G"], i["weight"], i["bias"], i["eps"]),
    "add_channels": lambda t, x, i: x + channels(x, i["offsets"]),
    "scale_channels": lambda t, x, i: x * channels(x, i["factors"]),
    "min_channels": lambda t, x, i: x.amin(1),
    "logsumexp_channels": lambda t, x, i: t.logsumexp(x, 1),
    "softmax_channels": lambda t, x, i: t.softmax(x, 1),
}


def chain(parts: tuple[str, ...]) -> Callable[[Any, Given], Any]:
    """torch's chain: the producer, then each step."""
    first, *others = parts
    steps = [STEPS[name.removesuffix("_2d").removesuffix("_3d")] for name in others]
    return lambda t, i: reduce(lambda x, step: step(t, x, i), steps, PRODUCERS[first](t, i))


def bits(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    return chance.random(shape) < NUMBERS["chance"]


def positive(chance: np.random.Generator, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    return chance.random(shape, dtype=np.float32) + np.float32(0.5)


def rows() -> Iterator[Parts]:
    """Name, spec, op, machine, sizes, torch's expression, inputs."""
    for path in sorted(FOLDER.glob("*.tgpu")):
        file = parse(path.read_text(encoding="utf-8"))
        for machine in (d for d in file.declarations if isinstance(d, tree.Machine)):
            for op in (d for d in file.declarations if isinstance(d, tree.Op) and d.name in {name.name for name in machine.ops}):
                parts = tuple(part.name for part in op.parts)
                sizes = dict(SIZES[parts[0]])
                for part in parts[1:]:
                    sizes |= MORE.get(part, {})
                drawn = {**NUMBERS, "kept": bits, "variance": positive}
                yield op.name.replace("_", " "), path.stem, op.name, machine.name, sizes, chain(parts), drawn
