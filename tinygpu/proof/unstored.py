"""Elements that a run in floats leaves out: whether they are left out on real numbers too.

Comes in: a program, sizes, the inputs of a run, and what went wrong in it. Goes out: the elements, or None where they may need no store. The one idea:
what has no value need not be stored, and a guard that rounding decides is no guard; where the equation has a value everywhere, or there and no data
decides which steps are done, an element that floats leave out is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinygpu.category import reals
from tinygpu.category.number import Array, load
from tinygpu.category.real import REAL, Beyond, Real
from tinygpu.category.term import FLOATS, total
from tinygpu.obligations.named import inlined
from tinygpu.program.step import Program
from tinygpu.program.traverse import chosen_by_data
from tinygpu.simulate import exact
from tinygpu.simulate.fault import Fault, NeverStored
from tinygpu.simulate.reference import reference
from tinygpu.simulate.tolerance import Mismatch


def unstored(
    program: Program, sizes: dict[str, int], inputs: Mapping[str, Array], found: Mismatch | tuple[Fault, ...]
) -> tuple[Fault, ...] | None:
    """The faults, if all of them are elements that are surely left out, or may be and the first of which surely has a value."""
    if isinstance(found, Mismatch) or not all(isinstance(f, NeverStored) for f in found):
        return None
    if all(total(inlined(program.op, e.value)) for e in program.op.equations):
        return found
    first = next(f for f in found if isinstance(f, NeverStored))
    sure = not any(chosen_by_data(launch.body) for launch in program.launches)
    return found if sure and has_value(program, sizes, inputs, first) else None


def has_value(program: Program, sizes: dict[str, int], inputs: Mapping[str, Array], fault: NeverStored) -> bool:
    """Whether the equation surely has a value at an element, on real numbers."""
    made = exact.retyped(program, REAL)
    one = {fault.array: tuple(np.asarray([i]) for i in fault.index)}
    try:
        with reals.limited(exact.POINTS):
            given = {t.name: load(inputs[t.name], t.dtype, exact=True) for t in program.op.inputs}
            given |= {t.name: reals.held(given[t.name]) for t in program.op.inputs if t.dtype in FLOATS}
            values = reference(made.op, sizes, given, one)[fault.array].flat
            return not any(isinstance(value, Real) and value.undefined for value in values)
    except (Beyond, IndexError, ZeroDivisionError):
        return False
