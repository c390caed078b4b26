"""Fragments of a kernel in registers, and instructions as calls.

    acc[w, r*8 + lane // 4, lane % 4 * 2 + u]  ↦  acc[r*2 + u]          instruction barrier; …; instruction barrier  ↦  mma(acc[0], a[0], b[0])

Comes in: a launch of a program. Goes out: the same launch, in which an array that lanes hold is the thread's, and an instruction is one step. The one
idea: each lane touches its own elements only, but for the instructions, which are the hardware's; so an index is the number of a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from math import prod

from tinygpu.category.dtype import BYTES
from tinygpu.category.region import Region
from tinygpu.category.settle import settle
from tinygpu.category.term import Const, Read, Term, rebuild
from tinygpu.model.collective import Fragment, Instruction, Operand
from tinygpu.program.call import ASYNC, Applied, Call, Enter, Fence, Leave, Registers, Sent, Sync, Wait
from tinygpu.program.descriptor import descriptor
from tinygpu.program.instruction import box_copy, in_order, in_tensor_memory, matrix, of_ring, set_registers
from tinygpu.program.space import LOCAL, TENSORS
from tinygpu.program.step import Array, Assign, For, If, Launch, Step, arrays_in, steps
from tinygpu.program.traverse import map_terms, with_body
from tinygpu.record import dataclass, replace
from tinygpu.schedule.roles import roles, sends

Held = Mapping[str, Fragment]


def fragments_of(launch: Launch) -> Held:
    """The arrays of a launch that lanes have in registers."""
    return {a.name: a.held for a in arrays_in(launch.body, "block") if a.held is not None}


def registered(launch: Launch) -> Launch:
    """`launch → launch` with its fragments in registers."""
    if not any(isinstance(s, Sync) and s.applied for s in steps(launch.body)) and not fragments_of(launch):
        return launch
    return replace(launch, body=_Registers(fragments_of(launch)).body(launch.body, Region(launch.axes)))


@dataclass(frozen=True, slots=True)
class Called:
    """What a kernel calls for steps that the runtime has no name for: the arrays of its launch, and those in registers that are under way."""

    launch: Launch
    arrays: Mapping[str, Array]
    flight: tuple[str, ...]

    @classmethod
    def of(cls, launch: Launch) -> Called:
        """Of one launch."""
        arrays = {a.name: a for a in arrays_in(launch.body, "block")}
        begun = [s.applied for s in steps(launch.body) if isinstance(s, Sync) and s.applied and s.applied.instruction.unit]
        return cls(launch, arrays, tuple(dict.fromkeys(n for one in begun for n, _ in one.operands if arrays[n].held)))

    def maker(self, step: Step) -> str:
        """What makes the function; empty where the runtime has one."""
        match step:
            case Registers():
                return set_registers(step)
            case Enter(ring) | Leave(ring):
                return of_ring(step, self.slots(ring), roles(self.launch, ring), self.blocks(ring))
            case Sync(begins=Sent() as sent):
                return box_copy(sent, self.slots(sent.told[0]))
            case Sync(begins=Applied(one) as applied):
                last = self.tensor.extents[-1] if self.tensor else None
                behind = {o.name: self.tile(one, o, n) for o, (n, _) in self.operands(applied) if o.kind == "descriptor"}
                return matrix(one, behind, int(last.value) if isinstance(last, Const) else 0)
        if not isinstance(step, Call):
            return ""
        held = [(name, fragment.count) for name in self.flight if (fragment := self.arrays[name].held)]
        return (in_tensor_memory(step) if self.tensor else "") or in_order(step, held)

    @property
    def tensor(self) -> Array | None:
        """The array in tensor memory, if there is one."""
        return next((a for a in self.arrays.values() if a.space == TENSORS), None)

    def slots(self, ring: str) -> int:
        """Of a ring."""
        (count,) = (int(e.value) for e in self.arrays[ring].extents[1:] if isinstance(e, Const))
        return count

    def blocks(self, ring: str) -> int:
        """Of which the slots of a ring are filled together: those of a cluster, where one sends a box to others."""
        many = any(one.parts > 1 and one.told[0] == ring for one in sends(self.launch.body))
        return prod(int(a.extent.value) for a in self.launch.ranks if isinstance(a.extent, Const)) if many else 1

    def name(self, step: Step) -> str:
        """What it is called."""
        if isinstance(step, Sync) and isinstance(step.begins, Sent):
            return "box_copy"
        if self.tensor and step == Sync():
            return "tensor_barrier"
        return step.applied.instruction.name if isinstance(step, Sync) and step.applied else getattr(step, "called", "")

    def operands(self, one: Applied) -> Iterator[tuple[Operand, tuple[str, tuple[Term, ...]]]]:
        """The operands of an instruction with what they are here."""
        return zip(one.instruction.operands, one.operands, strict=True)

    def tile(self, one: Instruction, operand: Operand, name: str) -> int:
        """The descriptor of an operand."""
        array = self.arrays[name]
        found = descriptor(one, operand, [int(e.value) for e in array.extents if isinstance(e, Const)], array.layout)
        assert isinstance(found, int), "an operand behind a descriptor lies as one says"
        return found

    def units(self, step: Step) -> dict[str, int]:
        """In how many elements a place is counted, of operands that a unit finds by descriptors: 16 bytes, of which their tiles are whole ones."""
        if not isinstance(step, Sync) or not step.applied:
            return {}
        near = (name for operand, (name, _) in self.operands(step.applied) if operand.kind == "descriptor")
        return {name: 16 // BYTES[self.arrays[name].dtype] for name in near}

    def elements(self, step: Step) -> list[tuple[str, tuple[Term, ...]]]:
        """The elements that it is called with, of a fragment the first one that the lane has."""
        fragments = {name: array.held for name, array in self.arrays.items() if array.held is not None}
        match step:
            case Enter(ring, _, turn) | Leave(ring, _, turn):
                return [(ring, (Const(0), turn))]
            case Sync(begins=Sent(near, told=(ring, turn))):
                return [near, (ring, (Const(0), turn))]
        if isinstance(step, Sync) and step.applied:
            return list(called_with(step.applied, fragments))
        if self.tensor and isinstance(step, Call) and in_tensor_memory(step):
            return [(self.tensor.name, tuple(Const(0) for _ in self.tensor.extents))]
        if not isinstance(step, Wait | Fence) or not self.maker(step) or step == Fence(ASYNC):
            return []
        firsts = ((name, fragments[name]) for name in self.flight)
        return [(name, (*held.groups, *(Const(0) for _ in held.extents))) for name, held in firsts]


def called_with(one: Applied, fragments: Held) -> Iterator[tuple[str, tuple[Term, ...]]]:
    """The element of each operand that an instruction is called with: the first of a tile, or of the row that the lane names."""
    for operand, (name, place) in zip(one.instruction.operands, one.operands, strict=True):
        row = operand.row(one.lane) if operand.kind == "rows" else ()
        ahead = len(place) - len(row)  # of an array of several tiles these say which
        yield name, (*place[:ahead], *(start + inside for start, inside in zip(place[ahead:], row, strict=True)))


@dataclass(frozen=True, slots=True)
class _Registers:
    fragments: Held

    def body(self, body: tuple[Step, ...], region: Region) -> tuple[Step, ...]:
        return tuple(self.steps(iter(body), region))

    def steps(self, rest: Iterator[Step], region: Region) -> Iterator[Step]:
        """Steps in order; those of an instruction are gone."""
        for step in rest:
            match step:
                case Array(name, held=Fragment() as fragment):
                    yield Array(name, step.dtype, (Const(fragment.count),), LOCAL, span=step.span)
                case Sync(begins=Applied() as one):
                    yield replace(step, begins=replace(one, operands=tuple(self.operands(one, region))))
                    list(takewhile(lambda inner: not isinstance(inner, Sync), rest))
                case For(axis, inner):
                    yield with_body(self.terms(step, region), self.body(inner, region.inside(axis)))
                case If(guard, inner):
                    yield with_body(self.terms(step, region), self.body(inner, region.under(guard)))
                case _:
                    yield self.terms(step, region)

    def operands(self, one: Applied, region: Region) -> Iterator[tuple[str, tuple[Term, ...]]]:
        """What an instruction is called with, fragments by cells."""
        for name, place in called_with(one, self.fragments):
            cell = (self.place(name, place, region),) if name in self.fragments else None
            yield name, cell or tuple(self.settled(i, region) for i in place)

    def terms(self, step: Step, region: Region) -> Step:
        """A step of a lane's own elements."""

        def cell(t: Term) -> Term:
            t = rebuild(t, cell)
            return (
                replace(t, index=(self.place(t.tensor, t.index, region),))
                if isinstance(t, Read) and t.tensor in self.fragments
                else t
            )

        step = map_terms(step, cell)
        if isinstance(step, Assign) and step.target in self.fragments:
            return replace(step, index=(self.place(step.target, step.index, region),))
        return step

    def place(self, name: str, index: tuple[Term, ...], region: Region) -> Term:
        """The cell that an element is."""
        return self.settled(self.fragments[name].cell(index), region)

    def settled(self, term: Term, region: Region) -> Term:
        """What the box knows of a number, and then what is known of that."""
        return settle(settle(term, region.extents), region.extents)
