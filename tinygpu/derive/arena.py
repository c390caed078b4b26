"""Where what stands between the calls of a pipeline lies: in one array of bytes, in which places are used again.

    slot k lies at Σ_{i<k} ⌈size i / 256⌉·256        size k = the most bytes of those that lie there, one after the other

Comes in: a pipeline. Goes out: its `Arena`. The one idea: who is live at a time has a slot of its own; sizes are terms, so that no two of these ever meet is
proved for all of them, and a launcher computes where they begin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from tinygpu.category.dtype import BYTES
from tinygpu.category.linear import as_written, polynomial
from tinygpu.category.term import App, Const, Term, ceildiv, lift, substitute, text
from tinygpu.derive.derive import derive
from tinygpu.derive.unpack import unpack
from tinygpu.model.choice import Choice
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Call, Pipeline
from tinygpu.record import dataclass, replace

LINE = 256  # bytes: what any unit of the hardware wants an array to begin at


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array that lives from the call of number `first` until that of number `last`, both included. `owner` is the number of the call whose own workspace it is, −1 for a
    value between calls; where that is a choice, `case` is the one in which it lives."""

    name: str
    dtype: str
    shape: tuple[Term, ...]
    first: int
    last: int
    owner: int = -1
    case: int = 0
    slot: int = 0

    @property
    def bytes(self) -> Term:
        """How long it is."""
        elements = reduce(lambda a, b: a * b, self.shape, lift(BYTES[self.dtype]))
        return as_written(polynomial(elements))

    def meets(self, other: Buffer) -> bool:
        """Whether both are live at some call."""
        return self.first <= other.last and other.first <= self.last and not self.instead(other)

    def instead(self, other: Buffer) -> bool:
        """Whether they are of two cases of one call, of which one is taken."""
        return self.owner == other.owner and self.case != other.case


@dataclass(frozen=True, slots=True)
class Arena:
    """The buffers, and where each slot begins, and how many bytes there are."""

    buffers: tuple[Buffer, ...]
    offsets: tuple[Term, ...]
    bytes: Term

    @property
    def lines(self) -> tuple[str, ...]:
        """For people, the first one to live first: `h: f32[T, H] at ceil(4*D*T / 256)*256, calls 2 to 3`."""
        said = []
        for one in self.buffers:
            calls = f"call {one.first + 1}" if one.first == one.last else f"calls {one.first + 1} to {one.last + 1}"
            said.append(f"{one.name}: {one.dtype}[{', '.join(map(text, one.shape))}] at {text(self.at(one))}, {calls}")
        return (*said, f"bytes in all: {text(self.bytes)}")

    def at(self, buffer: Buffer) -> Term:
        """Where a buffer begins."""
        return self.offsets[buffer.slot]


def arena_of(pipeline: Pipeline) -> Arena:
    """`pipeline → arena`. Raises TinygpuError where a machine that it calls has no program."""
    slots = list[list[Buffer]]()
    placed = list[Buffer]()
    for buffer in sorted(buffers(pipeline), key=lambda b: b.first):
        free = [k for k, there in enumerate(slots) if not any(b.meets(buffer) for b in there)]
        same = [k for k in free if any(b.bytes == buffer.bytes for b in slots[k])]
        slot = (same or free or [len(slots)])[0]
        slots += [[]] if slot == len(slots) else []
        placed.append(replace(buffer, slot=slot))
        slots[slot].append(placed[-1])
    offsets, end = list[Term](), lift(0)
    for there in slots:
        offsets.append(end)
        end = end + ceildiv(most(tuple(dict.fromkeys(b.bytes for b in there))), Const(LINE)) * LINE
    return Arena(tuple(placed), tuple(offsets), end)


def most(terms: tuple[Term, ...]) -> Term:
    """The largest of them."""
    return reduce(lambda a, b: App("max", (a, b)), sorted(terms, key=text))


def buffers(pipeline: Pipeline) -> Iterator[Buffer]:
    """The values between calls, and the workspaces of those that are called."""
    outputs = {t.name for t in pipeline.op.outputs}
    for number, call in enumerate(pipeline.calls):
        for name in (n for n in call.made if n not in outputs):
            one, read = pipeline.op.tensor(name), [k for k, later in enumerate(pipeline.calls) if name in later.given]
            yield Buffer(name, one.dtype, one.shape, number, max([number, *read]))
        yield from workspaces(call, number)


def workspaces(call: Call, number: int) -> Iterator[Buffer]:
    """What a call leaves between its own launches: of a machine its workspaces, of a choice those of each case, of a pipeline its arena."""
    sizes = dict(call.sizes)
    match call.to:
        case Machine() as machine:
            yield from _spaces(machine, sizes, number)
        case Choice(branches=branches):
            for case, branch in enumerate(branches):
                for one in _spaces(branch.machine, sizes, number):
                    yield replace(one, name=f"{case}.{one.name}", case=case)
        case Pipeline() as pipeline:
            inner = arena_of(pipeline)
            if inner.buffers:
                yield Buffer("arena", "u8", (substitute(inner.bytes, sizes),), number, number, number)


def _spaces(machine: Machine, sizes: Mapping[str, Term], number: int) -> Iterator[Buffer]:
    for space in unpack(derive(machine)).workspaces:
        shape = tuple(substitute(extent, sizes) for extent in space.extents)
        yield Buffer(space.name, space.dtype, shape, number, number, number)


def live(arena: Arena) -> Iterator[tuple[Buffer, Buffer]]:
    """Each two buffers that are live at one time, the one whose slot comes first before the other."""
    ordered = sorted(arena.buffers, key=lambda b: b.slot)
    for at, one in enumerate(ordered):
        yield from ((one, other) for other in ordered[at + 1 :] if one.meets(other))
