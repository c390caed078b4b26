"""What of a machine an instruction computes: its equation is found in the op's, tensor by tensor, and its indices in the factors.

    c[i, j] += sum[k] f32(a[i, k]) * f32(b[k, j])     in     C[i, j] = relu(sum[k] f32(A[i, k]) * f32(B[k, j]) + bias[j])     a: A[i, k], b: B[k, j]

Comes in: a machine with a `use`. Goes out: which read is which operand, what is around, and everything as terms over the elements of fragments; or
what is wrong. The one idea: a match of terms; an index of a fragment is the digits of a register factor and of the instruction's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import prod

from tinygpu.category.owner import Arrow
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var, outermost_folds, reads, substitute, text, variables
from tinygpu.derive.stage import unpadded
from tinygpu.diagnostic import Span
from tinygpu.model.collective import Instruction, Operand
from tinygpu.model.machine import Launch, Machine, Phase
from tinygpu.model.op import Op, put_in
from tinygpu.model.problems import Problems
from tinygpu.model.tile import BLOCK, Stage
from tinygpu.model.use import Use, extents
from tinygpu.program.tiles import has
from tinygpu.record import dataclass
from tinygpu.syntax.target import ARCHITECTURES

SUMS = ("add", "mul")


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


# ── the match ──────────────────────────────────────────────────────────────────────────────────────────────────────


def matched(machine: Machine, problems: Problems) -> Matched | None:
    """`machine → what its instruction computes`; None after a message."""
    use, launch = machine.use, machine.launches[0]
    assert use is not None
    say, made = problems.say, {p.equation.target: p for p in launch.phases}
    outputs = [p for p in launch.phases if p.equation.target in {t.name for t in machine.op.outputs}]
    folding = [p for p in launch.phases if outermost_folds(p.equation.value)]
    if len(machine.launches) > 1 or len(outputs) != 1 or len(folding) != 1:
        say("TG184.one", use.span)
        return None
    (out,), (phase,) = outputs, folding
    value = put_in(out.equation.value, {t: p.equation for t, p in made.items() if p is not out})
    own, folds = outermost_folds(phase.equation.value), outermost_folds(value)
    pairs = [pair for one in use.instructions for pair in operands(one, own[0], machine.op)] if len(own) == len(folds) == 1 else []
    if not pairs:
        computes = dict.fromkeys(text(one.op.equations[0].value) for one in use.instructions)
        say("TG184.equation", use.span, phase.span, name=use.instructions[0].name, computes=list(computes))
        return None
    instruction, read = next((pair for pair in pairs if not strange(*pair, use, phase)), pairs[0])
    arch = machine.arch or ARCHITECTURES[1]
    if not any(has(arch, needed) for needed in instruction.archs):
        say("TG182.arch", use.span, name=instruction.name, arch=arch, known=instruction.archs)
        return None
    if instruction.unit:
        say("TG182.later", use.span, name=instruction.name)
        return None
    if substitute(own[0].body, phase.owner.by_axis) != substitute(
        folds[0].body, out.owner.by_axis | folded_at(phase, own[0], folds[0])
    ):
        say("TG184.elsewhere", use.span, out.span, name=out.equation.target)
        return None
    registers = along(instruction, use, phase, read, problems)
    loops = loops_of(launch, phase, own[0], problems) if registers is not None else None
    stages = staged(launch, phase, read, problems) if loops is not None else None
    if registers is None or loops is None or stages is None:
        return None
    return Matched(machine, use, instruction, read, folds[0], value, phase.owner, out, stages, registers, *loops)


def operands(one: Instruction, fold: Fold, op: Op) -> Iterator[tuple[Instruction, dict[str, Term]]]:
    """The instruction with the read that each of its operands may be, where a fold is what it computes."""
    (equation,) = one.op.equations
    pattern = equation.value
    if not (isinstance(pattern, Fold) and pattern.monoid == one.update == fold.monoid and pattern.dtype == fold.dtype):
        return
    if fold.guard == TRUE and one.operand(equation.target).dtype == fold.dtype:
        yield from ((one, found) for found in same(pattern.body, unpadded(fold.body, op), {}))


def same(pattern: Term, term: Term, known: dict[str, Term]) -> Iterator[dict[str, Term]]:
    """How a term is the pattern, with reads of tensors for its operands; sums and products commute."""
    match pattern, term:
        case Read(operand, _, dtype), Read() | App("cast", (Read(),)):
            if term.dtype == dtype and known.get(operand, term) == term:
                yield {**known, operand: term}
        case App(op, ours, dtype), App(other, theirs) if (op, dtype, len(ours)) == (other, term.dtype, len(theirs)):
            for order in (theirs, theirs[::-1]) if op in SUMS else (theirs,):
                found = [known]
                for mine, its in zip(ours, order, strict=True):
                    found = [more for one in found for more in same(mine, its, one)]
                yield from found
        case _ if pattern == term:
            yield known


def folded_at(phase: Phase, own: Fold, other: Fold) -> dict[str, Term]:
    """The index that is folded, under the name that it has in another equation, as a term over factors."""
    return {b.name: phase.owner.by_axis[a.name] for a, b in zip(own.axes, other.axes, strict=False)}


def element_of(term: Term) -> Read:
    """The element that is read, or of which a number of another dtype is made."""
    return term.args[0] if isinstance(term, App) else term  # type: ignore[return-value]


def factors_of(element: Term, phase: Phase) -> frozenset[str]:
    """The factors on which a read depends; of a place that data tell, those of the element that does."""
    box, index = phase.owner.domain, (substitute(i, phase.owner.by_axis) for i in element_of(element).index)
    return frozenset().union(*(variables(simplify(i, box) if reads(i) else i) for i in index))


def strange(one: Instruction, read: Mapping[str, Term], use: Use, phase: Phase) -> list[tuple[str, str, str]]:
    """The operands that depend on a factor for another index, or not on one for their own."""
    names = indices(one)
    every = ((o, f, f in factors_of(e, phase), x in names[o]) for o, e in read.items() for x, f in use.factors)
    return [(o, "does not depend" if its else "depends", f) for o, f, there, its in every if there != its]


def along(
    one: Instruction, use: Use, phase: Phase, read: Mapping[str, Term], problems: Problems
) -> dict[str, tuple[Axis, ...]] | None:
    """The register factors along each index of the instruction; None after a message."""
    factors, names = dict(use.factors), indices(one)
    target = names[one.op.equations[0].target]
    mine = [a for a in phase.owner.domain.axes if a.sort in ("register", "vector") and a.name not in factors.values()]
    found: dict[str, tuple[Axis, ...]] = dict.fromkeys(factors, ())
    for operand, word, factor in strange(one, read, use, phase):
        tensor, span = element_of(read[operand]).tensor, element_of(read[operand]).span
        problems.say("TG184.operand", use.span, span, operand=operand, tensor=tensor, word=word, factor=factor)
        return None
    for operand, element in read.items():
        depends = factors_of(element, phase)
        (x, *more) = [x for x in names[operand] if x in target] or [""]
        own = tuple(a for a in mine if a.name in depends)
        if more or (own and not x):
            problems.say("TG184.registers", use.span, names=[a.name for a in own])
            return None
        found[x] = tuple(dict.fromkeys((*found.get(x, ()), *own)))
    every = [a.name for axes in found.values() for a in axes]
    if len(set(every)) < len(every) or {a.name for a in mine} - {*every}:
        wrong = [n for n in every if every.count(n) > 1] + [a.name for a in mine if a.name not in every]
        problems.say("TG184.registers", use.span, names=list(dict.fromkeys(wrong)))
        return None
    return found


def loops_of(launch: Launch, phase: Phase, fold: Fold, problems: Problems) -> tuple[tuple[Axis, ...], tuple[Axis, ...]] | None:
    """The loops around the fold, and those of it; None after a message."""
    domain = {a.name: a for a in phase.owner.domain.axes}
    folded = frozenset().union(*(variables(phase.owner.by_axis[a.name]) for a in fold.axes))
    every = [domain[n] for n in launch.time if n in domain]
    outer, inner = [a for a in every if a.name not in folded], [a for a in every if a.name in folded]
    carried = [a for a in phase.owner.domain.axes if a.sort in ("grid", "block") and a.name in folded]
    if every != [*outer, *inner] or carried:
        problems.say("TG184.time", phase.span, names=[a.name for a in (*carried, *inner)])
        return None
    return tuple(outer), tuple(inner)


def staged(launch: Launch, phase: Phase, read: Mapping[str, Term], problems: Problems) -> dict[str, Stage] | None:
    """The tiles in shared memory, by operand; None after a message."""
    found: dict[str, Stage] = {}
    folded = {BLOCK, *(a.name for a in phase.owner.domain.axes)}
    for stage in launch.stages:
        mine = [operand for operand, element in read.items() if stage.finds(element_of(element))]
        if not mine or stage.at not in folded:
            problems.say("TG184.stage", stage.span, tensor=stage.tensor)
            return None
        found |= dict.fromkeys(mine, stage)
        if any(other.at == stage.at and other.ring != stage.ring for other in found.values()):
            problems.say("TG546.ring", stage.span, at=stage.at)
            return None
    return found
