"""What an equation wants of its inputs, as far as its form says it.

Comes in: an op. Goes out: the inputs that are indices and how far they may go, and those that must be positive. The one idea: it is said
once for all that draw inputs: an index stays inside the axis it addresses, and what is divided by, or goes under a root or a logarithm,
is positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import App, Read, Term, reads, walk
from tinygpu.model.op import Op

# most promises about integers are that they are not negative, or positive, or also small
LIMITS = ((0, None), (1, None), (0, 8), (0, 7), (0, 6), (0, 5), (0, 4), (0, 3), (0, 2), (0, 1))
POSITIVE = ("log", "sqrt", "rsqrt")


def indices(op: Op) -> set[str]:
    """The inputs that address others."""
    return {inner.tensor for term in _terms(op) if isinstance(term, Read) for place in term.index for inner in reads(place)}


def _terms(op: Op) -> Iterator[Term]:
    for equation in op.equations:
        yield from walk(equation.value)


def index_ranges(op: Op, env: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """For each integer input read inside an index: the smallest extent it addresses."""
    least: dict[str, int] = {}
    for read in (term for term in _terms(op) if isinstance(term, Read)):
        for place, extent in zip(read.index, op.tensor(read.tensor).shape, strict=True):
            for inner in reads(place):
                size = int(evaluate(extent, env))
                least[inner.tensor] = min(size, least.get(inner.tensor, size))
    yield from least.items()


def positive(op: Op) -> Iterator[str]:
    """The inputs under a root or a logarithm, or that are divided by."""
    for term in _terms(op):
        match term:
            case App(name, (argument,)) if name in POSITIVE:
                yield from (read.tensor for read in reads(argument))
            case App("div" | "floordiv" | "mod", (_, argument), dtype) if dtype != "index":
                yield from (read.tensor for read in reads(argument))
