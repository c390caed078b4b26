"""The second evaluation of a theorem: both sides at small sizes, by the reference of the equations, which knows nothing of laws.

Comes in: a `Theorem`. Goes out: the smallest sizes and inputs at which the two sides differ, and where; nothing where they agree at all that were tried. The one idea: inputs are
small whole numbers, so what differs at all differs by much more than rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, product
from math import prod
from typing import Any

import numpy as np

from tinygpu.category.dtype import EPSILON
from tinygpu.category.evaluate import number
from tinygpu.category.number import Array
from tinygpu.category.term import COMPARISONS, FLOATS, INDEX, App, Const, walk
from tinygpu.diagnostic import Case
from tinygpu.model.op import Op
from tinygpu.model.theorem import Theorem
from tinygpu.record import dataclass
from tinygpu.simulate.bounded import bounded
from tinygpu.simulate.box import box_of
from tinygpu.simulate.effort import effort
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.promised import promised
from tinygpu.simulate.reference import reference

LARGEST = 4  # of every size
MANY = 5
TRIED = 40  # sizes, the smallest first
CHUNK, FEW = 512, 2  # so large a number of the equations, and so many of them, are gone beyond
SEEDS = (0, 2, 3, 4, 5, 1)  # the last one draws other numbers than whole ones
APART = 1e-6  # of what is compared: rounding in f64 is a billion times less, but where much cancels
PLACES = 4  # of those that are apart, which are asked whether much cancels there
F64_OF_F32 = EPSILON["f64"] / EPSILON["f32"]
WORK = 1e7  # elements that an evaluation goes through
SHOWN = 12  # elements of an input


@dataclass(frozen=True, slots=True)
class Difference:
    """Sizes and inputs at which an element of an output has two values."""

    sizes: Mapping[str, int]
    inputs: Mapping[str, Any]
    element: str
    values: tuple[float, float]

    @property
    def case(self) -> Case:
        """As rows of a message."""
        rows = [(name, (str(n),)) for name, n in self.sizes.items()]
        rows += [(name, (_shown(value),)) for name, value in self.inputs.items()]
        return Case((*rows, (self.element, tuple(f"{v:.6g}" for v in self.values))))


def difference(theorem: Theorem) -> Difference | None:
    """Where the two sides differ, the smallest sizes first."""
    for smallest in (1, 0):  # of nothing only where something shows nothing
        for sizes, inputs in cases(theorem, smallest):
            found = _compared(theorem, sizes, inputs)
            if found is not None:
                return found
    return None


def cases(theorem: Theorem, smallest: int = 1) -> Iterator[tuple[dict[str, int], dict[str, Any]]]:
    """Sizes, and inputs there that are as the left side's promises want them: whole numbers where such are."""
    for sizes in tried(theorem, smallest):
        for seed in SEEDS:
            inputs = random_inputs(theorem.left, sizes, seed)
            several = (_whole(theorem.left, inputs, seed), inputs)
            yield from ((sizes, one) for one in islice((i for i in several if promised(theorem.left, sizes, i)), 1))


def tried(theorem: Theorem, smallest: int = 1) -> Iterator[dict[str, int]]:
    """Those of the sizes at which both sides are quickly evaluated: an op may have shapes of numbers, and large ones."""
    for sizes in (*islice(_sizes(theorem, smallest), TRIED), *_beyond(theorem)):
        if all(
            effort(op, sizes, {t.name: prod(box_of(t.shape, sizes)) for t in op.outputs}) <= WORK
            for op in (theorem.left, theorem.right)
        ):
            yield sizes


def _sizes(theorem: Theorem, smallest: int) -> Iterator[dict[str, int]]:
    """Sizes that satisfy the preconditions of both sides, from the smallest one on, which one of them is."""
    names = theorem.left.sizes
    guards = (*theorem.left.where, *theorem.right.where, *theorem.where)
    largest = LARGEST if len(names) <= MANY else smallest + 1  # of many sizes fewer numbers
    every = product(range(smallest, largest + 1), repeat=min(len(names), 2 * MANY))
    some = (c + c[-1:] * (len(names) - len(c)) for c in every if smallest or 0 in c)
    for chosen in sorted(some, key=lambda c: (sum(c), c)):
        sizes = dict(zip(names, chosen, strict=True))
        try:
            if all(number(g, sizes) for g in guards):
                yield sizes
        except ZeroDivisionError:
            continue


def _beyond(theorem: Theorem) -> Iterator[dict[str, int]]:
    """Each size in turn one more than a number of the equations, such as the length of a chunk, and the others 2."""
    guards = (*theorem.left.where, *theorem.right.where, *theorem.where)
    terms = (t for op in (theorem.left, theorem.right) for e in op.equations for t in walk(e.value))
    numbers = {t.value for t in terms if isinstance(t, Const) and t.dtype == INDEX and LARGEST < t.value <= CHUNK}
    for number_ in sorted(numbers)[:FEW]:
        for name in theorem.left.sizes:
            sizes = dict.fromkeys(theorem.left.sizes, 2) | {name: int(number_) + 1}
            if all(number(g, sizes) for g in guards):
                yield sizes


def _whole(op: Op, inputs: dict[str, Any], seed: int) -> dict[str, Any]:
    """Floats as whole numbers, but for one seed."""
    if seed == 1:
        return inputs
    floats = {t.name for t in op.inputs if t.dtype in FLOATS}
    return {
        name: (np.rint(np.asarray(value, np.float32) * 1.5) + 0.0).astype(np.asarray(value).dtype) if name in floats else value
        for name, value in inputs.items()
    }


def _compared(theorem: Theorem, sizes: dict[str, int], inputs: dict[str, Any]) -> Difference | None:
    """The first element that has two values, or one on the left side alone."""
    try:
        with np.errstate(all="ignore"):
            a, b = (_values(op, sizes, inputs) for op in (theorem.left, theorem.right))
    except (IndexError, ZeroDivisionError):
        return None
    for name in a:
        left, right = a[name], b[name]
        known = np.isfinite(left)
        scale = 1 + np.abs(np.where(known, left, 0.0))
        apart = known & ~(np.abs(np.where(known, left, 0.0) - np.where(known, right, 0.0)) <= APART * scale)
        for place in (tuple(map(int, at)) for at in np.argwhere(apart)[:PLACES]):
            values = float(left[place]), float(right[place])
            if not np.isfinite(values[1]) and _beyond_f64(theorem.right, sizes, inputs):
                continue
            if not abs(values[0] - values[1]) <= sum(
                _rounded(op, sizes, inputs, name, place) for op in (theorem.left, theorem.right)
            ):
                return Difference(sizes, inputs, f"{name}[{', '.join(map(str, place))}]", values)
    return None


def _beyond_f64(op: Op, sizes: dict[str, int], inputs: dict[str, Any]) -> bool:
    """Whether a number on the way is too large, or too small, for f64, so that what comes of it says nothing."""
    try:
        with np.errstate(all="ignore", over="raise", under="raise"):
            reference(op, sizes, inputs)
    except FloatingPointError:
        return True
    return False


def _values(op: Op, sizes: dict[str, int], inputs: dict[str, Any]) -> dict[str, Array]:
    """The outputs, not a number where there is no value: also where what has none would decide."""
    found = {name: np.asarray(value, np.float64) for name, value in reference(op, sizes, inputs, undefined=False).items()}
    if not any(
        isinstance(t, App) and t.op in COMPARISONS and t.args[0].dtype in FLOATS for e in op.equations for t in walk(e.value)
    ):
        return found
    other = reference(op, sizes, inputs, undefined=True)
    return {name: np.where(np.equal(value, np.asarray(other[name], np.float64)), value, np.nan) for name, value in found.items()}


def _rounded(op: Op, sizes: dict[str, int], inputs: dict[str, Any], name: str, place: tuple[int, ...]) -> float:
    """How far rounding in f64 may bring an element; 0 where there is no bound."""
    with np.errstate(all="ignore"):
        far = bounded(op, sizes, inputs, {name: tuple(np.array([i]) for i in place)})[1][name]
    return float(np.max(far)) * F64_OF_F32 if np.isfinite(far).all() else 0.0


def _shown(value: Array) -> str:
    found = np.asarray(value)
    text = np.array2string(
        found.astype(np.float64), precision=4, separator=", ", formatter={"float_kind": lambda v: f"{v:g}"}
    ).replace("\n", "")
    return text if found.size <= SHOWN else f"{found.size} numbers, drawn at random"
