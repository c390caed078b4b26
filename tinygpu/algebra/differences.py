"""The second evaluation of a gradient: central differences of the op itself, at small sizes, by the reference of the equations, which knows nothing of derivatives.

    (L(x + h) − L(x − h)) / 2h → dx        L(x) = Σ dy · A(x)

Comes in: a `Gradient`. Goes out: the smallest sizes and inputs at which an element of a gradient is another number; nothing where all that were tried agree. The one idea: where two steps, one half of the
other, do not agree, the op has a corner there, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from tinygpu.algebra.refute import Difference, tried
from tinygpu.category.number import Array
from tinygpu.category.term import FLOATS, INTEGERS, App, Term, walk
from tinygpu.model.adjoint import CHANGE
from tinygpu.model.gradient import Gradient
from tinygpu.model.op import Op
from tinygpu.model.theorem import Theorem
from tinygpu.record import replace
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.promised import promised
from tinygpu.simulate.reference import reference

SIZES, SEEDS = 12, (2, 3)
STEP = 2.0**-10  # in f64 an error of 10⁻⁷ of the third derivative, gone in the step beyond, and of 10⁻¹³ of rounding
ELEMENTS = 12  # of a gradient, as far from each other as can be
ALIKE, APART = 1e-3, 1e-4  # of two steps; of a gradient that is another one


def corrected(gradient: Gradient) -> Difference | None:
    """Where a gradient is another one, the smallest sizes first."""
    for sizes, inputs in drawn(gradient):
        try:
            with np.errstate(all="ignore"):
                found = reference(exact(gradient.whole), sizes, inputs)
                for name, element, slope in differences(gradient, sizes, inputs):
                    value = float(found[CHANGE + name][element])
                    if not abs(value - slope) <= APART * (1 + abs(slope)):
                        place = ", ".join(map(str, element))
                        return Difference(sizes, inputs, f"{CHANGE}{name}[{place}]", (slope, value))
        except (IndexError, ZeroDivisionError):
            continue
    return None


def drawn(gradient: Gradient) -> Iterator[tuple[dict[str, int], dict[str, Array]]]:
    """Sizes, and inputs in general position: no two numbers are equal. None for an op with steps, of which differences see how it goes from one to the next."""
    if any(map(steps, (t for e in gradient.op.equations for t in walk(e.value)))):
        return
    for sizes in islice(tried(as_sides(gradient)), SIZES):
        for seed in SEEDS:
            op = replace(gradient.op, inputs=gradient.whole.inputs)
            inputs = random_inputs(op, sizes, seed)
            if promised(op, sizes, inputs):
                exactly = {n: value if value.dtype.kind in "biu" else value.astype(np.float64) for n, value in inputs.items()}
                yield sizes, exactly


def steps(term: Term) -> bool:
    """Whether it goes by steps with what it is made of: floats that are whole, or that a cast makes whole."""
    return isinstance(term, App) and (
        term.op in ("floor", "round") or (term.op == "cast" and term.dtype in INTEGERS and term.args[0].dtype in FLOATS)
    )


def as_sides(gradient: Gradient) -> Theorem:
    """The op and its gradients, which are evaluated at the same sizes."""
    return Theorem(gradient.name, gradient.op, gradient.whole)


def exact(op: Op) -> Op:
    """The op on inputs that are not rounded."""
    return replace(op, inputs=tuple(replace(t, dtype="f64") if t.dtype in FLOATS else t for t in op.inputs))


def differences(
    gradient: Gradient, sizes: Mapping[str, int], inputs: Mapping[str, Any]
) -> Iterator[tuple[str, tuple[int, ...], float]]:
    """Of some elements of each input that is wanted by how much L changes with them."""
    op = exact(gradient.op)

    def loss(name: str, element: tuple[int, ...], step: float) -> float:
        moved = inputs[name].copy()
        moved[element] += step
        made = reference(op, sizes, {t.name: inputs[t.name] for t in op.inputs} | {name: moved})
        return float(sum(np.sum(inputs[CHANGE + t.name] * made[t.name]) for t in op.outputs if t.name in gradient.through))

    for name in gradient.wanted:
        size = inputs[name].size
        for at in np.unique(np.linspace(0, size - 1, min(size, ELEMENTS)).astype(int)) if size else ():
            element = tuple(int(i) for i in np.unravel_index(at, inputs[name].shape))
            far, near = ((loss(name, element, h) - loss(name, element, -h)) / (2 * h) for h in (STEP, STEP / 2))
            if np.isfinite(far) and np.isfinite(near) and abs(far - near) <= ALIKE * (1 + abs(near)):
                yield name, element, (4 * near - far) / 3
