"""Rings and boxes as a kernel has them: each role in a loop of its own, and a box at once where the launcher has seen to what that asks.

    for k < n { if load { fill tiles at k { … } };  if use { use tiles at k { … } } }
        ↦   if load { for k < n { fill tiles at k { … } } };   if use { for k < n { use tiles at k { … } } }

    copy s[…] = A[…] by tensor_copy   ↦   if wide { the unit copies };   if not wide { the lanes copy;  fence async }

Comes in: a launch. Goes out: the same launch, as its kernel says it. The one idea: a thread is of one role, so what it does in a loop is the part of the loop that
is under its own conditions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tinygpu.category.term import Const, conjunction, negation
from tinygpu.program.call import ASYNC, FILL, TENSOR, USE, Boxed, Call, Enter, Fence, Reserve, Sent, Sync
from tinygpu.program.cluster import calls
from tinygpu.program.ring import Section, of_threads, sections, threads_under
from tinygpu.program.space import RING, TENSORS
from tinygpu.program.step import Array, Assign, For, If, Launch, Program, Step, arrays_in, steps
from tinygpu.program.tensor_memory import columns
from tinygpu.program.traverse import map_steps, with_body
from tinygpu.record import replace
from tinygpu.schedule.budget import traded
from tinygpu.schedule.wide import LAUNCHED

Map: TypeAlias = tuple[
    str, tuple[int, ...], int
]  # a tensor, the extents of a box of it, the bytes of the pattern of its rows, or 0
BEGIN = "begin"  # what is done with a ring before its first turn


def parted(program: Program) -> Program:
    """`program → program` whose launches are as kernels have them."""
    return replace(program, launches=tuple(apart(launch, program.arch) for launch in program.launches))


def apart(launch: Launch, arch: str = "") -> Launch:
    """`launch → launch` with its roles apart, its boxes at once, and its tensor memory reserved; the same one where it has none of these."""
    if not sections(launch.body):
        return reserving(launch)
    body = begun(at_once(launch, cut(launch, arch).body))
    together = any(one.parts > 1 for one in sends(body))
    launch = reserving(replace(launch, body=body))
    return (
        replace(launch, body=(*launch.body, Sync("cluster", launch.span))) if together else launch
    )  # nobody sends to a block that is gone


def sends(body: tuple[Step, ...]) -> Iterator[Sent]:
    """What the unit is asked for."""
    return (s.begins for s in steps(body) if isinstance(s, Sync) and isinstance(s.begins, Sent))


def cut(launch: Launch, arch: str) -> Launch:
    """`launch → launch` with its roles apart."""
    every = sections(launch.body)
    mine = [[s for s in every if s.begin[0] == n] for n in range(len(launch.body))]
    body = tuple(made for step, some in zip(launch.body, mine, strict=True) for made in split(launch, step, some))
    return replace(launch, body=traded(launch, body, arch))


def split(launch: Launch, step: Step, mine: list[Section]) -> Iterator[Step]:
    """A loop of rings, once for each role, without what is under the conditions of others; as it is, where a thread has two roles."""
    roles = {s.guards: s.threads(launch) for s in mine}
    if len(roles) < 2 or not isinstance(step, For) or sum(map(len, roles.values())) > len(frozenset().union(*roles.values())):
        yield step
        return
    for guards, threads in roles.items():
        inner: tuple[Step, ...] = (replace(step, body=tuple(done_by(launch, step.body, threads))),)
        for guard in reversed(guards):
            inner = (If(guard, inner, step.span),)
        yield from inner
    others = conjunction(*(negation(conjunction(*guards)) for guards in roles))
    rest = tuple(done_by(launch, step.body, threads_under(launch, others)))
    if threads_under(launch, others) and any(isinstance(s, Assign | Call) for s in steps(rest)):
        yield If(others, (replace(step, body=rest),), step.span)


def done_by(launch: Launch, body: tuple[Step, ...], threads: frozenset[int]) -> Iterator[Step]:
    """What these threads do of a body: nothing of what is under conditions that none of them passes, and without those that all of them pass."""
    for step in body:
        if not isinstance(step, If):
            yield step
        elif not of_threads(launch, step.guard):  # as where a loop ends
            if inner := tuple(done_by(launch, step.body, threads)):
                yield replace(step, body=inner)
        elif (some := threads & threads_under(launch, step.guard)) not in (frozenset(), threads):
            yield step
        elif some:
            yield from done_by(launch, step.body, threads)


def begun(body: tuple[Step, ...]) -> tuple[Step, ...]:
    """With a call behind each ring that makes it ready."""
    return map_steps(
        body, lambda s: (s, Enter(s.name, BEGIN, Const(0), s.span)) if isinstance(s, Array) and s.space == RING else (s,)
    )


def reserving(launch: Launch) -> Launch:
    """With a call behind an array in tensor memory that takes its columns, and one at the end that gives them back."""
    found = [a for a in arrays_in(launch.body, "block") if a.space == TENSORS]
    if not found:
        return launch
    (array,) = found
    taken, given = (Reserve(array.name, columns(array.extents), way, array.span) for way in (BEGIN, "end"))
    body = map_steps(launch.body, lambda s: (s, taken) if s == array else (s,))
    return replace(launch, body=(*body, given))


def at_once(launch: Launch, body: tuple[Step, ...]) -> tuple[Step, ...]:
    """Copies of boxes in a body of that launch, by the unit or by lanes."""
    layouts = {a.name: a.layout for a in arrays_in(launch.body, "block")}
    filling = {s.enter.ring: s for s in sections(launch.body) if s.enter.way == FILL}
    found: list[Step] = []
    told: Enter | None = None
    rest = iter(body)
    for step in rest:
        match step:
            case Enter():
                told = step
                found.append(step)
            case Sync(begins=Boxed() as one) if told:
                every = calls(launch, filling[told.ring], one, layouts[one.target])
                found.append(If(LAUNCHED, tuple(replace(step, begins=each) for each in every), step.span))
                lanes = tuple(iter(lambda: next(rest), replace(step, begins=None)))
                plain = map_steps(
                    lanes, lambda s: (replace(s, pending="") if isinstance(s, Assign) and s.pending == TENSOR else s,)
                )
                found.append(If(negation(LAUNCHED), (*plain, Fence(ASYNC, step.span)), step.span))
            case _:
                found.append(with_body(step, at_once(launch, step.body)) if isinstance(step, For | If) else step)
    return tuple(found)


def map_of(one: Sent) -> Map:
    """How a tensor is cut for a copy."""
    return one.tensor, one.extents, one.pattern


def maps(program: Program) -> tuple[Map, ...]:
    """How tensors are cut for the boxes of a program, each once: its kernels get a map for each.

    >>> from tinygpu.model.op import Op
    >>> maps(Program("m", Op("o", (), (), (), (), ()), ()))
    ()
    """
    return tuple(dict.fromkeys(map_of(one) for launch in program.launches for one in sends(apart(launch).body)))


def parameter(one: Map) -> str:
    """What a kernel's parameter for it is called.

    >>> parameter(("A", (128, 64), 128))
    'A in boxes of 128 by 64'
    """
    return f"{one[0]} in boxes of {' by '.join(map(str, one[1]))}"


def roles(launch: Launch, ring: str) -> tuple[int, int]:
    """How many warps fill a ring, and how many use it; `launch` as it was read, or as its kernel has it."""
    warps = {s.enter.way: s.warps(launch) for s in sections(launch.body) if s.enter.ring == ring}
    return warps[FILL], warps[USE]
