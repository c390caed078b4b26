"""What a wrong element should have been made of: the elements of the inputs that its equation reads, where they are few.

Comes in: an op, sizes, inputs, and an element. Goes out: `(x[0, 1], value)` for each. The one idea: the equation is evaluated at this one
point, its intermediates put in, on lists that note what is taken from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import SupportsIndex

from tinygpu.category.listed import Beyond
from tinygpu.category.points import constants
from tinygpu.category.to_lists import evaluate
from tinygpu.model.op import Op
from tinygpu.obligations.store import inlined
from tinygpu.program.fault import element, unflat
from tinygpu.program.small_inputs import Equations, shape_of
from tinygpu.program.tolerance import Mismatch

FEW = 6


class Noted(list[float]):
    """A list that knows which of its places were read.

    >>> x = Noted([5.0, 6.0, 7.0])
    >>> x[2], x[0], x[2], list(x.places)
    (7.0, 5.0, 7.0, [2, 0])
    """

    def __init__(self, values: list[float]) -> None:
        super().__init__(values)
        self.places: dict[int, None] = {}

    def __getitem__(self, place: SupportsIndex) -> float:  # type: ignore[override]
        self.places[int(place)] = None
        return super().__getitem__(place)


def is_nothing(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, list[float]], tensor: str, index: tuple[int, ...]) -> bool:
    """Whether the equation has no value there, since an integer in it is divided where something is negative, or by 0."""
    equation = op.equation(tensor)
    point = dict(zip((axis.name for axis in equation.axes), index, strict=True))
    try:
        context = Equations(op, sizes, dict(inputs), exact=False)
        evaluate(inlined(op, equation.value), constants({**sizes, **point}), context)
    except ZeroDivisionError:
        return True
    except (Beyond, IndexError):
        return False
    return False


def operands(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, list[float]], wrong: Mismatch) -> tuple[tuple[str, float], ...]:
    """The elements of the inputs that the element is made of and their values, in the order of the inputs; none where there are many."""
    noted = {name: Noted(values) for name, values in inputs.items()}
    equation = op.equation(wrong.tensor)
    point = dict(zip((axis.name for axis in equation.axes), wrong.index, strict=True))
    try:
        evaluate(inlined(op, equation.value), constants({**sizes, **point}), Equations(op, sizes, dict(noted)))
    except Beyond:
        return ()
    if sum(len(noted[t.name].places) for t in op.inputs) > FEW:
        return ()
    return tuple(
        (element(t.name, unflat(place, shape_of(t, sizes))) if t.shape else t.name, inputs[t.name][place])
        for t in op.inputs
        for place in sorted(noted[t.name].places)
    )
