"""CuPy's way, with CUB where it has it: sums, prefix sums, histograms.

Comes in: CuPy, inputs by name and outputs. Goes out: calls without arguments. The one idea: CuPy calls CUB for what a whole array is folded or
scanned to; where it has to wait for the GPU in between, it is timed without a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Form = Callable[[Mapping[str, Any], Sequence[Any]], Callable[[], Any]]


def forms(cupy: Any) -> dict[str, Form]:
    """The calls by the name of a case."""

    def histogram(i: Mapping[str, Any], o: Sequence[Any]) -> Callable[[], Any]:
        count = int(o[0].shape[0])
        return lambda: cupy.histogram(i["x"], bins=count, range=(0, count))

    return {
        "copy": lambda i, o: lambda: cupy.copyto(o[0], i["x"]),
        "sum": lambda i, o: lambda: cupy.sum(i["x"], out=o[0]),
        "scan": lambda i, o: lambda: cupy.cumsum(i["x"], out=o[0]),
        "histogram": histogram,
        "transpose": lambda i, o: lambda: cupy.copyto(o[0], i["x"].T),
        "matmul": lambda i, o: lambda: cupy.matmul(i["A"], i["B"], out=o[0]),
    }
