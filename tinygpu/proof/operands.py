"""What a wrong element should have been made of: the elements of the inputs that its equation reads, where they are few.

Comes in: an op, sizes, inputs, and an element. Goes out: `(x[0, 1], value)` for each. The one idea: the equation is evaluated at this one
point, its intermediates put in, and who reads for it notes what.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinygpu.category.number import Array, Value, load
from tinygpu.category.term import Read
from tinygpu.category.to_numpy import Mask, evaluate
from tinygpu.model.op import Op
from tinygpu.obligations.store import inlined
from tinygpu.record import dataclass, field
from tinygpu.simulate.fault import element
from tinygpu.simulate.tolerance import Mismatch, fold_length

FEW = 6
MOST = 1 << 20  # points of the folds of one element


@dataclass(frozen=True, slots=True)
class Noted:
    """The inputs, and the places of each that were read."""

    arrays: dict[str, Array]
    places: dict[str, set[tuple[int, ...]]] = field(default_factory=dict)

    def read(self, node: Read, index: tuple[Value, ...], mask: Mask) -> Value:
        """The elements; raises IndexError where the equation reads outside."""
        array = self.arrays[node.tensor]
        shape = np.broadcast_shapes(*map(np.shape, index), () if mask is None else mask.shape)
        where = np.broadcast_to(True if mask is None else mask, shape)
        if not where.any():
            return np.zeros(shape, array.dtype)
        inside = tuple(np.where(where, i, 0) for i in index)
        if any((i < 0).any() for i in inside):
            raise IndexError(node.tensor)
        found = array[inside]
        self.places.setdefault(node.tensor, set()).update(zip(*(i[where].tolist() for i in inside), strict=True) if index else [()])
        return found


def evaluated(
    op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Array], tensor: str, index: tuple[int, ...], exact: bool
) -> Noted:
    """What the equation reads for an element. Raises IndexError and ZeroDivisionError where it has no value."""
    equation = op.equation(tensor)
    value = inlined(op, equation.value)
    env = {**sizes, **dict(zip((axis.name for axis in equation.axes), index, strict=True))}
    noted = Noted({t.name: load(inputs[t.name], t.dtype, exact) for t in op.inputs})
    if fold_length(value, env) > MOST:
        raise IndexError("too many to be looked at")
    evaluate(value, env, noted.read, exact=exact)
    return noted


def is_nothing(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Array], tensor: str, index: tuple[int, ...]) -> bool:
    """Whether the equation has no value there, since an integer in it is divided where something is negative, or by 0."""
    try:
        evaluated(op, sizes, inputs, tensor, index, exact=False)
    except ZeroDivisionError:
        return True
    except IndexError:
        return False
    return False


def operands(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Array], wrong: Mismatch) -> tuple[tuple[str, float], ...]:
    """The elements of the inputs that the element is made of and their values, in the order of the inputs; none where there are many."""
    try:
        noted = evaluated(op, sizes, inputs, wrong.tensor, wrong.index, exact=True)
    except IndexError:
        return ()
    if sum(map(len, noted.places.values())) > FEW:
        return ()
    return tuple(
        (element(t.name, place) if t.shape else t.name, noted.arrays[t.name][place].item())
        for t in op.inputs
        for place in sorted(noted.places.get(t.name, ()))
    )
