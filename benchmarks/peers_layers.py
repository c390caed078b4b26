"""numpy's way to compute a linear layer, and what follows it, in place; attention head by head.

Comes in: inputs by name, and the output. Goes out: the output, filled. The one idea: what follows is one of the peers that there are, of what the layer has left in the output.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]


def linear(i: Inputs, y: Array) -> None:
    np.matmul(i["x"], i["w"].T, out=y)
    np.add(y, i["b"], out=y)


def linear_plain(i: Inputs, y: Array) -> None:
    np.matmul(i["x"], i["w"].T, out=y)


def followed(after: Callable[[Inputs, Array], None]) -> Callable[[Inputs, Array], None]:
    """A layer, and behind it an activation of its elements, called x as the peers of activations have it."""

    def layer(i: Inputs, y: Array) -> None:
        linear(i, y)
        after({"x": y.copy(), "y": 1}, y)

    return layer


def relu(i: Inputs, y: Array) -> None:
    np.maximum(i["x"], 0, out=y)


def by_heads(one: Callable[[Inputs, Array], None]) -> Callable[[Inputs, Array], None]:
    """Attention of every head, by what computes one, whose scores are not scaled."""

    def every(i: Inputs, o: Array) -> None:
        for b, h in np.ndindex(i["q"].shape[:2]):
            one({"q": i["q"][b, h] * i["scale"], "k": i["k"][b, h], "v": i["v"][b, h]}, o[b, :, h])

    return every
