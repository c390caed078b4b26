"""CuPy's way, with CUB where it has it: sums, prefix sums, histograms.

Comes in: CuPy, inputs by name and outputs. Goes out: calls without arguments. The one idea: CuPy calls CUB for what a whole array is folded or
scanned to. Its own functions copy before they scan, and count numbers between floats by a search for each, so CUB is called by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Form = Callable[[Mapping[str, Any], Sequence[Any]], Callable[[], Any]]


def forms(cupy: Any) -> dict[str, Form]:
    """The calls by the name of a case."""

    def histogram(i: Mapping[str, Any], o: Sequence[Any]) -> Callable[[], Any]:
        count = int(o[0].shape[0])
        made = cupy.zeros(count, cupy.int64)
        return lambda: cupy.cuda.cub.cub_histogram(i["x"], made, count + 1)  # a whole number: the bins 0, 1, …

    def scan(i: Mapping[str, Any], o: Sequence[Any]) -> Callable[[], Any]:
        cub = cupy.cuda.cub
        return lambda: cub.cub_scan(o[0], cub.CUPY_CUB_CUMSUM)  # in place: what is there does not matter for the time

    return {
        "copy": lambda i, o: lambda: cupy.copyto(o[0], i["x"]),
        "sum": lambda i, o: lambda: cupy.sum(i["x"], out=o[0]),
        "scan": scan,
        "histogram": histogram,
        "transpose": lambda i, o: lambda: cupy.copyto(o[0], i["x"].T),
        "matmul": lambda i, o: lambda: cupy.matmul(i["A"], i["B"], out=o[0]),
    }
