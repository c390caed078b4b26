"""Copies that land later, as kernels make them: which vector loops are one.

    for v < 4 in vector { async s[t*4 + v] = x[t*4 + v] if t*4 + v < n else 0 }       16 bytes at once, where all lanes are inside

Comes in: a vector loop, and its wide accesses. Goes out: the copy that it is, or nothing. The one idea: the hardware copies what one access reads and another
one stores, 4 bytes or more; all else passes registers.
"""

from __future__ import annotations

from tinygpu.category.term import TRUE, App, Const, Read, conjuncts, variables
from tinygpu.derive.wide import Wide
from tinygpu.program.pending import source
from tinygpu.program.step import Assign, For
from tinygpu.record import dataclass

LEAST = 4  # bytes that a copy moves at once


@dataclass(frozen=True, slots=True)
class Copied:
    """The step of a loop that is a copy, the element that it copies, and its accesses."""

    step: Assign
    element: Read
    near: Wide
    far: Wide

    @property
    def at_once(self) -> bool:
        """Whether in a wide kernel all lanes are inside of their tensor, or none: they differ only in whether they are in its row, which is made of whole
        groups of lanes."""
        match self.step.value, self.far.access:
            case App("select", (guard, _, Const(0 | 0.0))), Read(index=(*_, last)) if self.step.guard == TRUE:
                lanes = [part for part in conjuncts(guard) if self.far.axis.name in variables(part)]
                return all(part == (last < self.far.array.extents[-1]) for part in lanes)
        return isinstance(self.step.value, Read) and self.step.guard == TRUE


def copied(loop: For, found: tuple[Wide, ...]) -> Copied | None:
    """The copy that a vector loop is, of which these are the wide accesses."""
    match loop.body:
        case (Assign(pending="copy") as step,) if (element := source(step.value)) and {w.access for w in found} == {step, element}:
            near, far = (next(w for w in found if w.stores is which) for which in (True, False))
            return Copied(step, element, near, far) if far.bytes >= LEAST else None
    return None
