"""Which launchers of a module give the gradients of which: what `gradient of A is B, …` says of ops, said of launchers.

    gradients = {"softmax": ("softmax_grad",)}

Comes in: gradients that are proved, and the launchers of a module. Goes out: a table. The one idea: a launcher that is asked for its gradient is never far from those that give it, so a module pairs what it has:
the first ones that take the dtypes of its tensors, and run where it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tinygpu.hardware.arch import CPU
from tinygpu.model.adjoint import CHANGE
from tinygpu.model.choice import Choice
from tinygpu.model.gradient import Gradient
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.model.pipeline import Pipeline

Launchers: TypeAlias = Mapping[str, Machine | Choice | Pipeline]
NAME = "gradients"  # of the table
STATED = "Gradients, proved for all sizes over the reals, off a set of measure 0:"


def paired(gradients: Sequence[Gradient], launchers: Launchers) -> dict[str, tuple[str, ...]]:
    """Of each launcher that has a gradient here the launchers that give it."""
    found: dict[str, tuple[str, ...]] = {}
    for gradient in gradients:
        for name, one in launchers.items():
            if one.op.meant.family == gradient.op.family:
                by = [next((n for n, other in launchers.items() if _gives(other, b, one)), None) for b in gradient.by]
                found |= {name: tuple(n for n in by if n is not None)} if None not in by else {}
    return found


def _gives(other: Machine | Choice | Pipeline, by: Op, one: Machine | Choice | Pipeline) -> bool:
    """Whether it is of that op, of the dtypes of what it is the gradient of, and runs there."""
    dtypes = {name: t.dtype for t in one.op.tensors for name in (t.name, CHANGE + t.name)}
    fits = other.op.meant.family == by.family and all(dtypes.get(t.name) == t.dtype for t in other.op.tensors)
    return fits and (on_cpu(one) or not on_cpu(other))


def on_cpu(one: Machine | Choice | Pipeline) -> bool:
    """Whether it runs on nothing else."""
    return any(m.arch == CPU for m in ((one,) if isinstance(one, Machine) else one.machines))


def said_of(pairs: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The text of the table; nothing where it is empty.

    >>> said_of({"softmax": ("softmax_grad",)})
    ['gradients = {  # which launchers give the gradients of which, proved for all sizes', '    "softmax": ("softmax_grad",),', '}']
    """
    rows = (f"    {name!r}: {by!r},".replace("'", '"') for name, by in pairs.items())
    return [f"{NAME} = {{  # which launchers give the gradients of which, proved for all sizes", *rows, "}"] if pairs else []
