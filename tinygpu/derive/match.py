"""What of a machine an instruction computes: its equation is found in the op's, tensor by tensor, and its indices in the factors.

    c[i, j] += sum[k] f32(a[i, k]) * f32(b[k, j])     in     C[i, j] = relu(sum[k] f32(A[i, k]) * f32(B[k, j]) + bias[j])     a: A[i, k], b: B[k, j]

Comes in: a machine with a `use`. Goes out: which read is which operand, and where all of it is, or what is wrong. The one idea: a match of terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.simplify import simplify
from tinygpu.category.term import TRUE, App, Axis, Fold, Read, Term, outermost_folds, reads, substitute, text, variables
from tinygpu.derive.stage import unpadded
from tinygpu.derive.used import Matched, element_of, indices
from tinygpu.model.collective import Instruction
from tinygpu.model.machine import Launch, Machine, Phase
from tinygpu.model.op import Op, put_in
from tinygpu.model.problems import Problems
from tinygpu.model.tile import BLOCK, Stage
from tinygpu.model.use import Use
from tinygpu.program.tiles import has
from tinygpu.syntax.target import ARCHITECTURES

SUMS = ("add", "mul")


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
    if substitute(own[0].body, phase.owner.by_axis) != substitute(
        folds[0].body, out.owner.by_axis | folded_at(phase, own[0], folds[0])
    ):
        say("TG184.elsewhere", use.span, out.span, name=out.equation.target)
        return None
    registers = along(instruction, use, phase, read, problems)
    loops = loops_of(launch, phase, own[0], problems) if registers is not None else None
    target = instruction.op.equations[0].target
    last = loops[0][-1].name if loops and loops[0] else BLOCK
    stages = staged(launch, phase, read, {out.equation.target: (target, last)}, problems) if loops is not None else None
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


def staged(
    launch: Launch, phase: Phase, read: Mapping[str, Term], stored: Mapping[str, tuple[str, str]], problems: Problems
) -> dict[str, Stage] | None:
    """The tiles in shared memory, by operand; `stored` is the output, with its operand and where its one tile is. None after a message."""
    found: dict[str, Stage] = {}
    folded = {BLOCK, *(a.name for a in phase.owner.domain.axes)}
    for stage in launch.stages:
        target, last = stored.get(stage.tensor, ("", ""))
        mine = [operand for operand, element in read.items() if stage.finds(element_of(element))]
        if (target and (stage.at != last or stage.ring)) or not (mine or target) or stage.at not in folded:
            problems.say("TG184.tile" if target else "TG184.stage", stage.span, tensor=stage.tensor, at=last)
            return None
        if target:
            found[target] = stage
            continue
        found |= dict.fromkeys(mine, stage)
        if stage.ring and not (stage.by or stage.later):
            problems.say("TG546.plain", stage.span, ring=stage.ring)
            return None
        if any(other.at == stage.at and other.ring != stage.ring for other in found.values()):
            problems.say("TG546.ring", stage.span, at=stage.at)
            return None
    return found
