"""Flat numbers: those of blocks and threads as digits of axes, and places in memory as multiples of a width.

    block = (… (a₁·E₂ + a₂)·E₃ + …)  ⇒  block % Eₙ = aₙ,  block // Eₙ = (… a₁ …)        0 ≤ aₖ < Eₖ

Comes in: a launch and the arrays of its program. Goes out: what a division of a flat number gives, and whether an access is aligned.
The one idea: mixed radix is one-to-one by form, so no solver is asked about it; only that an extent of the text is the program's.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from math import gcd, prod

from tinygpu.category.decide import holds
from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import elements
from tinygpu.category.region import Region
from tinygpu.category.term import INDEX, App, Axis, Const, Term, Var, equal, text
from tinygpu.program.step import Array, Launch
from tinygpu.record import dataclass, field
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, Pointer, Value


@dataclass(frozen=True, slots=True)
class Rest:
    """What is left of a flat number: the number of these axes, slowest first, as digits."""

    axes: tuple[Axis, ...]

    @property
    def term(self) -> Term:
        """The number as a term: the axis where it is one."""
        return Var(self.axes[0].name) if len(self.axes) == 1 else Var(f"number of {', '.join(a.name for a in self.axes)}")


@dataclass(slots=True)
class Flat:
    """Of one launch. `aligned` are the bytes that a global array starts at a multiple of, where the wide kernel is taken."""

    arrays: Mapping[str, Array]
    aligned: Mapping[str, int]
    rests: dict[Term, Rest] = field(default_factory=dict)
    here: Here = field(default_factory=Here)

    @property
    def shared(self) -> frozenset[str]:
        """The arrays of a block."""
        return frozenset(a.name for a in self.arrays.values() if a.owner == "block")

    def registers(self, launch: Launch, here: Here) -> dict[str, Value]:
        """What `cuda.blockIdx.x` and `cuda.threadIdx.x` are."""
        self.here = here
        found: dict[str, Value] = {}
        for register, axes in (("blockIdx", launch.grid), ("threadIdx", launch.block)):
            rest = Rest(axes) if axes else None
            while rest is not None:
                self.rests[rest.term] = rest
                found.setdefault(register, Value(rest.term, "u32"))
                rest = Rest(rest.axes[:-1]) if len(rest.axes) > 1 else None
            found.setdefault(register, Value(Const(0), "u32"))
        return found

    def digit(self, node: ast.AST, op: str, number: Term, by: Term) -> Term | None:
        """What the division of a flat number gives: its last digit, or the number of the others. None for any other number. What all lanes of a warp have is
        `uniform`: the number of the axes outside of whole warps."""
        rest = self.rests.get(number)
        if op == "uniform":
            inner = [r.axes[len(rest.axes) :] for r in self.rests.values() if r.axes[: len(rest.axes)] == rest.axes] if rest else []
            lanes = [prod(int(a.extent.value) for a in axes if isinstance(a.extent, Const)) for axes in inner]
            return number if max(lanes, default=1) % int(by.value if isinstance(by, Const) else 1) == 0 else None
        if rest is None or len(rest.axes) < 2 or op == "ceildiv":
            return None
        last = rest.axes[-1]
        if not self.here.same(by, last.extent):
            raise Differs(node, f"divides {number_of(rest)} by {text(by)}", f"its last factor is {last.name}: {text(last.extent)}")
        return Var(last.name) if op == "mod" else Rest(rest.axes[:-1]).term

    def elements(self, name: str) -> Term:
        """How many elements an array has."""
        array = self.arrays[name]
        if array.owner == "block":
            return Const(elements(array.extents, array.layout))
        return prod(array.extents, start=Const(1))

    def unaligned(self, pointer: Pointer, start: Term, count: int, here: Here) -> str:
        """Why a wide access may not be aligned; empty if it is."""
        item = BYTES[self.arrays[pointer.array].dtype]
        size = gcd(count * item, 16)
        if not pointer.shared:
            if Var("wide", "bool") not in here.guards:
                return f"moves {size} bytes of {pointer.array} at once where nobody has looked at its alignment"
            if self.aligned.get(pointer.array, 1) % size:
                return f"moves {size} bytes of {pointer.array} at once, which starts at a multiple of {self.aligned.get(pointer.array, 1)}"
        return (
            ""
            if _multiple(start, size // item, here.box)
            else f"starts at {text(start)}, which may be no multiple of {size // item}"
        )


def number_of(rest: Rest) -> str:
    """A flat number in words."""
    return f"the number of {', '.join(a.name for a in rest.axes)}"


def _multiple(term: Term, by: int, box: Region) -> bool:
    """Whether a number divides a term, also bit by bit where it is a power of two."""
    match term:
        case App("xor", (a, b)) if by & (by - 1) == 0:
            return _multiple(a, by, box) and _multiple(b, by, box)
        case App("mul", (a, b), "index") if _multiple(a, by, box) or _multiple(b, by, box):
            return True
        case App("mod", (a, Const(int(value))), "index") if value % by == 0 and _multiple(a, by, box):
            return True
        case Const(int(value)):
            return value % by == 0
        case App("add" | "sub", (a, b), "index") if _multiple(a, by, box) and _multiple(b, by, box):
            return True
    return by == 1 or (term.dtype == INDEX and holds(canonical(equal(term % by, 0)), box) is True)
