"""A wide access begins at a multiple of its width.

    rows are whole  ⊢  first % lanes = 0

Comes in: a machine. Goes out: a claim for each access of a loop in vector that may be wide: neighbours in the last index, from a place on
that is a multiple of the lanes by its form. The place of a global array's element is its last index, where the launcher asks that rows
are whole; that of a shared array's is its address.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from tinygpu.replay.events import Here, Walk
from tinygpu.replay.ir import INDEX, ZERO, Axis, Claim, Num, Op, Read, Stated, Term, Var, compare, free, put, walk
from tinygpu.replay.program import Launch, Loop, Machine, Step
from tinygpu.replay.space import BYTES, CARVED, strides, unpacked


def stated(machine: Machine) -> Iterator[Stated]:
    """The claims of this property."""
    for launch in machine.launches:
        yield from aligned(machine, launch)


def aligned(machine: Machine, launch: Launch) -> Iterator[Stated]:
    """A claim for each access of a loop in vector that may be wide."""
    shared = {a.name: a for one in launch.arrays if one.space == "shared" for a in unpacked(machine, one)}
    own = {a.name for a in launch.arrays}
    shapes = {t.name: (t.shape, t.dtype) for t in (*machine.op.inputs, *machine.op.outputs)}
    shapes |= {w.name: (w.extents, w.dtype) for w in machine.workspaces}
    for loop, axes in vector(launch.body, (*launch.grid, *launch.block)):
        count = int(loop.axis.extent.value) if isinstance(loop.axis.extent, Num) else 1
        for name, index in touched(launch, loop):
            first = begins(index, loop.axis.name)
            array = shared.get(name)
            if first is None or (name in own and array is None) or (name not in own and shapes[name][1] not in BYTES):
                continue
            size = BYTES[array.dtype if array else shapes[name][1]]
            lanes = gcd(count * size, CARVED) // size
            place, facts = first[-1], machine.facts
            if array:
                place = ZERO
                for part, stride in zip(first, strides(array), strict=True):
                    place = Op("add", (place, Op("mul", (part, Num(stride)), INDEX)), INDEX)
            elif len(index) > 1:  # the launcher takes the wide kernel where rows are whole
                facts = (*facts, divisible(shapes[name][0][-1], lanes))
            if lanes > 1 and multiple(place, machine.facts) % lanes == 0:
                sentence = f"{lanes} elements of {name} that are moved at once begin at a multiple of {lanes}"
                yield Claim("alignment", "TG405", sentence, axes, facts, divisible(place, lanes))


def vector(body: tuple[Step, ...], axes: tuple[Axis, ...]) -> Iterator[tuple[Loop, tuple[Axis, ...]]]:
    """The loops in vector, with what is around them."""
    for step in body:
        if isinstance(step, Loop) and step.sort == "vector":
            yield step, axes
        inner = (*axes, step.axis) if isinstance(step, Loop) else axes
        yield from vector(getattr(step, "body", ()), inner)


def begins(index: tuple[Term, ...], name: str) -> tuple[Term, ...] | None:
    """The element of lane 0, where the last index is `first + lane` and the others are the same for all lanes."""
    if not index or any(name in free(i) for i in index[:-1]) or any(isinstance(t, Read) for i in index for t in walk(i)):
        return None
    if slope(index[-1], name) != 1:
        return None
    return (*index[:-1], put(index[-1], {name: ZERO}))


def slope(term: Term, name: str) -> int | None:
    """How much a term grows from lane to lane; None if that is not one number."""
    match term:
        case _ if name not in free(term):
            return 0
        case Var():
            return 1
        case Op("add" | "sub" as op, (a, b)):
            x, y = slope(a, name), slope(b, name)
            return None if x is None or y is None else x + y if op == "add" else x - y
        case Op("mul", (a, Num(n)) | (Num(n), a)):
            x = slope(a, name)
            return None if x is None else x * int(n)
    return None


def multiple(term: Term, facts: tuple[Term, ...]) -> int:
    """A number that divides a term, by its form or by a precondition on a size: what makes an access wide."""
    match term:
        case Num(value):
            return abs(int(value))
        case Op("add" | "sub", (a, b)):
            return gcd(multiple(a, facts), multiple(b, facts))
        case Op("mul", (a, b)):
            return multiple(a, facts) * multiple(b, facts)
    return max(
        [lanes for lanes in (16, 8, 4, 2) if any(f == divisible(term, n) for f in facts for n in range(lanes, 129, lanes))] or [1]
    )


def divisible(term: Term, by: int) -> Term:
    """`term % by == 0`."""
    return compare("eq", Op("mod", (term, Num(by)), INDEX), ZERO)


def touched(launch: Launch, loop: Loop) -> dict[tuple[str, tuple[Term, ...]], None]:
    """The elements that a loop reads and writes."""
    walked = Walk(launch, frozenset())
    walked.run(loop.body, Here(()))
    return {(e.array, e.index): None for e in walked.events if e.array}
