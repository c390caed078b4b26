"""What of a machine an instruction computes: its equation is found in the op's, tensor by tensor, and its indices in the factors.

    c[i, j] += sum[k] f32(a[i, k]) * f32(b[k, j])     in     C[i, j] = relu(sum[k] f32(A[i, k]) * f32(B[k, j]) + bias[j])     a: A[i, k], b: B[k, j]

Comes in: a machine with a `use`. Goes out: which read is which operand, what is around, and everything as terms over the elements of fragments; or
what is wrong. The one idea: a match of terms; an index of a fragment is the digits of a register factor and of the instruction's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod

from tinygpu.category.owner import Arrow
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var, reads, substitute, variables
from tinygpu.diagnostic import Span
from tinygpu.model.collective import Instruction, Operand
from tinygpu.model.machine import Machine, Phase
from tinygpu.model.tile import Stage
from tinygpu.model.use import Use, extents
from tinygpu.record import dataclass
from tinygpu.syntax.target import ARCHITECTURES


@dataclass(frozen=True)
class Matched:
    """`reads` are the operands in the op's equation, an element of a tensor each, or what it is rounded to; and `fold` is what the instruction computes, in the `value` of the output; `owner` says at which
    factors the fold is, `out` where the output is. `registers` are the factors of a thread along each index of the instruction; `folds` are the loops
    of the fold, `outer` those around."""

    machine: Machine
    use: Use
    instruction: Instruction
    reads: Mapping[str, Term]
    fold: Fold
    value: Term
    owner: Arrow
    out: Phase
    stages: Mapping[str, Stage]
    registers: Mapping[str, tuple[Axis, ...]]
    outer: tuple[Axis, ...]
    folds: tuple[Axis, ...]

    @property
    def span(self) -> Span:
        return self.use.span

    @property
    def arch(self) -> str:
        return self.machine.arch or ARCHITECTURES[1]

    @property
    def target(self) -> str:
        """The operand that the instruction changes."""
        return self.instruction.op.equations[0].target

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Those that it reads."""
        return tuple(o for o in self.instruction.operands if o.name != self.target)

    @property
    def boxes(self) -> dict[str, int]:
        """How long each index of the instruction is."""
        return extents(self.instruction)

    @cached_property
    def indices(self) -> dict[str, tuple[str, ...]]:
        """The indices of each operand, by the instruction's names."""
        return indices(self.instruction)

    def tiles(self, x: str) -> int:
        """How many tiles lie along an index."""
        return prod(int(a.extent.value) for a in self.registers[x] if isinstance(a.extent, Const))

    def extents(self, operand: Operand) -> tuple[int, ...]:
        """The extents of the fragment."""
        return tuple(self.tiles(x) * self.boxes[x] for x in self.indices[operand.name])

    def variables(self, operand: str) -> tuple[str, ...]:
        """What stands for the indices of an element of a fragment in the terms of this record."""
        return tuple(f"{x} of {self.instruction.name}" for x in self.indices[operand])

    @cached_property
    def digits(self) -> dict[str, Term]:
        """Each factor of the instruction and of a thread's registers, as a digit of an element's index."""
        found: dict[str, Term] = {}
        for x, factor in self.use.factors:
            element, box, beside = Var(f"{x} of {self.instruction.name}"), self.boxes[x], 1
            found[factor] = element % box if self.registers[x] else element
            for axis in reversed(self.registers[x]):
                extent = int(axis.extent.value) if isinstance(axis.extent, Const) else 1
                above = element // (box * beside)
                beside *= extent
                found[axis.name] = above % extent if axis is not self.registers[x][0] else above
        return found

    @cached_property
    def box(self) -> Region:
        """What is known of all factors, and of the elements' indices."""
        mine = (Axis(f"{x} of {self.instruction.name}", Const(self.tiles(x) * n)) for x, n in self.boxes.items())
        domain = self.owner.domain
        return Region((*domain.axes, *self.out.owner.domain.axes, *mine))

    def at(self, term: Term, owner: Arrow) -> Term:
        """A term over the indices of an equation, at an element."""
        return simplify(substitute(simplify(substitute(term, owner.by_axis), self.box), self.digits), self.box)

    def element(self, operand: str) -> Read:
        """The element of a tensor that an operand's is made of."""
        return element_of(self.reads[operand])

    def index(self, operand: str) -> tuple[Term, ...]:
        """Which element of its tensor an operand's element is."""
        return tuple(self.at(i, self.owner) for i in self.element(operand).index)

    def unsaid(self, operand: str) -> tuple[Term, ...]:
        """What has to hold so that an element counts, but that it is inside of its tensor."""
        shape = self.machine.op.tensor(self.element(operand).tensor).shape
        inside = {simplify(i < n, self.box) for i, n in zip(self.index(operand), shape, strict=True)}
        folded = {a.name for a in self.folds} | {f for x, f in self.use.factors if x not in self.indices[self.target]}
        parts = (simplify(substitute(g, self.digits), self.box) for g in self.owner.domain.guard if variables(g) & folded)
        return tuple(g for g in parts if g not in inside and g != TRUE)

    @property
    def there(self) -> tuple[Term, ...]:
        """Which element of the output an element of the target is."""
        return tuple(self.at(Var(a.name), self.out.owner) for a in self.out.equation.axes)

    @property
    def guards(self) -> tuple[Term, ...]:
        """Where the output has such an element."""
        folded = {a.name for a in self.folds} | {f for x, f in self.use.factors if x not in self.indices[self.target]}
        parts = (g for g in self.out.owner.domain.guard if not variables(g) & folded)
        return tuple(simplify(substitute(g, self.digits), self.box) for g in parts)


def indices(one: Instruction) -> dict[str, tuple[str, ...]]:
    """The indices of each operand of an instruction."""
    (equation,) = one.op.equations
    found = {r.tensor: tuple(i.name for i in r.index if isinstance(i, Var)) for r in reads(equation.value)}
    return found | {equation.target: tuple(a.name for a in equation.axes)}


def element_of(term: Term) -> Read:
    """The element that is read, or of which a number of another dtype is made."""
    return term.args[0] if isinstance(term, App) else term  # type: ignore[return-value]
