"""Which tensors an op reads and writes whatever data say, from the first element to the last, and their bytes.

Comes in: an op, sizes. Goes out: names; bytes that no run moves less than. The one idea: an element that is read at its own indices under no condition is read, and of all others nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tinygpu.category.dtype import BYTES
from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.term import Read, Var
from tinygpu.cost.operations import evaluated
from tinygpu.model.op import Equation, Op


def bytes_once(op: Op, sizes: Mapping[str, int]) -> int:
    """The bytes of all outputs, and of all inputs of which the equations read every element whatever data say, each once.

    >>> from tinygpu.pipeline import load_text
    >>> (op,) = load_text("op f(x: f32[n], t: f32[8]) -> (y: f32[n]) { y[i] = x[i] * t[0] }").spec.ops
    >>> bytes_once(op, {"n": 100})
    800
    """
    wanted = whole_tensors(op)
    whole = [t for t in op.tensors if t.name in wanted and t.shape and t.name not in op.continued]
    return sum(prod(max(0, int(evaluate(extent, sizes))) for extent in t.shape) * BYTES[t.dtype] for t in whole)


def whole_tensors(op: Op) -> frozenset[str]:
    """The outputs, and the tensors of which every element is read for them."""
    found = {t.name for t in op.outputs}
    waiting = [e for e in op.equations if e.target in found]
    while waiting:
        more = {name for name in _whole(op, waiting.pop()) if name not in found}
        found |= more
        waiting += [e for e in op.equations if e.target in more]
    return frozenset(found)


def _whole(op: Op, equation: Equation) -> Iterator[str]:
    """The tensors that an equation reads from the first element to the last: at its indices as they are, under no condition."""
    known = {t.name: t.shape for t in (*op.inputs, *op.outputs, *op.intermediates)}
    for node, there, _ in evaluated(equation.value, Region(equation.axes)):
        if isinstance(node, Read) and not there.guard and len({*node.index}) == len(node.index):
            extents = [there.extents.get(i.name) if isinstance(i, Var) else None for i in node.index]
            if [*known.get(node.tensor, ())] == extents:
                yield node.tensor
