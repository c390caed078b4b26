"""Instructions of many lanes, and the elements of fragments: what was proved of them step by step is what the hardware does.

    own       each element of a fragment that a lane touches it has: lane(index) = lane
    means     the steps of an instruction are its equation at each element that the lane has: index = first + element, cell(element) = turn

Comes in: a launch. Goes out: nothing, or the error at the first difference. The one idea: an instruction is called with first elements, and of these,
its equation and its digits the steps are made again, without whoever wrote them out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.term import TRUE, Axis, Const, Fold, Read, Term, Var, conjunction, reads, rebuild, substitute, text
from tinygpu.model.collective import Operand, joined
from tinygpu.program.call import Applied, Sync
from tinygpu.program.space import TENSORS
from tinygpu.program.statement import line
from tinygpu.program.step import Assign, For, If, Launch, Step, arrays_in
from tinygpu.program.traverse import reads_of
from tinygpu.record import dataclass, replace
from tinygpu.schedule.registers import Held, fragments_of
from tinygpu.validate.same import Here
from tinygpu.validate.typed import Differs

Place = tuple[Term, ...]


def collective(launch: Launch, here: Here, node: ast.AST) -> None:
    """That a launch does what a kernel with instructions does. Raises Differs, at the kernel."""
    fragments, there = fragments_of(launch), {a.name for a in arrays_in(launch.body, "block") if a.space == TENSORS}
    if fragments or there:
        _Collective(fragments, frozenset(there), here, node).body(launch.body, Region(launch.axes))


@dataclass(frozen=True, slots=True)
class _Collective:
    fragments: Held
    there: frozenset[str]
    here: Here
    node: ast.AST

    def body(self, body: tuple[Step, ...], region: Region) -> None:
        """Steps in order: those of an instruction, and those of a lane alone."""
        rest = iter(body)
        for step in rest:
            match step:
                case Sync(begins=Applied() as one):
                    inner = tuple(_until(rest))
                    if not (len(inner) == 1 and self.means(one, inner[0], region)):
                        raise Differs(self.node, f"does {one.instruction.name}", f"the program does: {'; '.join(map(line, inner))}")
                case For(axis, inner):
                    self.own(step, region)
                    self.body(inner, region.inside(axis))
                case If(guard, inner):
                    self.own(step, region)
                    self.body(inner, region.under(guard))
                case _:
                    self.own(step, region)

    def at(self, region: Region) -> Here:
        """What is known at a place."""
        return replace(self.here, axes=region.axes).under(conjunction(*(g for g in region.guard if not reads(g))))

    def own(self, step: Step, region: Region) -> None:
        """That a lane has the elements that a step touches."""
        touched = [(r.tensor, r.index) for r in reads_of(step)] + ([(step.target, step.index)] if isinstance(step, Assign) else [])
        for name, index in touched:
            if name in self.there:
                raise Differs(self.node, f"has {name} in tensor memory", "the program touches it without an instruction")
            if name in self.fragments and not self.at(region).holds(self.fragments[name].mine(index)):
                place = ", ".join(map(text, index))
                raise Differs(
                    self.node, f"has {name} in registers", f"the program touches {name}[{place}], which another lane may have"
                )

    def means(self, one: Applied, step: Step, region: Region) -> bool:
        """Whether a step is what each lane does of an instruction."""
        axes: list[Axis] = []
        while isinstance(step, For) and len(step.body) == 1:
            axes.append(step.axis)
            step = step.body[0]
        instruction, here = one.instruction, self.at(region.inside(*axes))
        (equation,) = instruction.op.equations
        fold = equation.value if isinstance(equation.value, Fold) and equation.value.monoid == instruction.update else None
        inner = axes[len(axes) - len(fold.axes) :] if fold else []
        turns = axes[: len(axes) - len(inner)]
        if not isinstance(step, Assign) or (step.update, step.guard, step.atomic, step.pending) != (
            instruction.update,
            TRUE,
            False,
            instruction.unit,
        ):
            return False
        if fold and [a.extent for a in inner] != [a.extent for a in fold.axes]:
            return False
        first = dict(zip((o.name for o in instruction.operands), one.operands, strict=True))
        known: dict[str, Term] = {a.name: Var(b.name) for a, b in zip(fold.axes, inner, strict=True)} if fold else {}
        name, place = first[equation.target]
        own = tuple(i - f for i, f in zip(step.index, place, strict=True))[len(place) - len(equation.axes) :]
        known |= {a.name: i for a, i in zip(equation.axes, own, strict=True)}
        value = fold.body if fold else equation.value

        def put(term: Term) -> Term:
            term = rebuild(term, put)
            return (
                self.element(instruction.operand(term.tensor), first[term.tensor], term.index, term.dtype)
                if isinstance(term, Read)
                else term
            )

        target = self.element(instruction.operand(equation.target), first[equation.target], own, step.value.dtype)
        source = instruction.shares
        names = {r.tensor: r.index for r in reads(value)} | {equation.target: tuple(Var(a.name) for a in equation.axes)}
        element = tuple(substitute(i, known) for i in names[source.name])
        return (
            name == step.target
            and all(here.same(i, j) for i, j in zip(step.index, target.index, strict=True))
            and here.same(step.value, put(substitute(value, known)))
            and self.each(source, element, one.lane, turns, here)
        )

    def element(self, operand: Operand, first: tuple[str, Place], inside: Place, dtype: str) -> Read:
        """An element of an operand: so far behind the first one, in the same group of lanes."""
        name, place = first
        ahead = len(place) - len(inside)
        inside = operand.in_memory(inside)
        return Read(name, (*place[:ahead], *(f + i for f, i in zip(place[ahead:], inside, strict=True))), dtype)

    def each(self, operand: Operand, element: Place, lane: Term, turns: list[Axis], here: Here) -> bool:
        """Whether turns go once through the elements of an operand that a lane has."""
        if [a.extent for a in turns] != [Const(d.extent) for d in operand.cells]:
            return False
        number = joined(operand.cells, {d.name: Var(a.name) for d, a in zip(operand.cells, turns, strict=True)})
        inside = conjunction(*(c for i, n in zip(element, operand.shape, strict=True) for c in (i >= 0, i < n)))
        return here.same(operand.cell(element), number) and here.same(operand.lane(element), lane) and here.holds(inside)


def _until(rest: Iterator[Step]) -> Iterator[Step]:
    """The steps until the next barrier."""
    for step in rest:
        if isinstance(step, Sync):
            return
        yield step
