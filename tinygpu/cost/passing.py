"""Copies that pass registers: which of those that a text calls `async` a kernel reads and stores as any other, and why.

Comes in: a launch of a program without carriers. Goes out: its copies that the hardware does not make, each with the first reason. The one idea: what the hardware
copies is what `derive/copies.py` says, so a reason is the first of its conditions that fails, asked of the functions that decide it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.dtype import BYTES
from tinygpu.category.region import Region
from tinygpu.category.term import App, Read, Term, conjuncts, reads, text
from tinygpu.derive.copies import LEAST, copied
from tinygpu.derive.wide import WIDEST_BYTES, all_lanes, first_of, hoisted, lanes_of, neighbours_stay, turns, wide_in
from tinygpu.program.arrays import arrays
from tinygpu.program.call import COPY
from tinygpu.program.pending import source
from tinygpu.program.step import Array, Assign, For, Program
from tinygpu.program.traverse import walk_steps
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Passing:
    """A copy that passes registers: what it reads and stores, the row of TG614 that says why, and its words."""

    step: Assign
    element: Read
    row: str
    words: Mapping[str, object]


def passing(program: Program, number: int) -> Iterator[Passing]:
    """The copies of a launch that its kernel makes as loads and stores."""
    launch, known = program.launches[number], arrays(program)
    loops: list[tuple[tuple[int, ...], For, Region]] = []
    for step, here, path in walk_steps(launch.body, Region(launch.axes)):
        if isinstance(step, For) and step.axis.sort == "vector":
            loops.append((path, step, here))
        if isinstance(step, Assign) and step.pending == COPY and (element := source(step.value)):
            around = next(((loop, there) for at, loop, there in reversed(loops) if path[: len(at)] == at), None)
            if around is None:
                lanes = WIDEST_BYTES // BYTES[known[step.target].dtype]
                yield Passing(step, element, "TG614.alone", {"into": step.target, "name": element.tensor, "lanes": lanes})
                continue
            loop, there = around
            _, inner = hoisted(loop, there.names | set(program.op.sizes))
            if copied(inner, wide_in(program, number, inner, there.axes)) is None:
                yield Passing(step, element, *_reason(inner, step, element, known))


def _reason(loop: For, step: Assign, element: Read, known: Mapping[str, Array]) -> tuple[str, Mapping[str, object]]:
    """Why a vector loop is no copy, without the conditions that no lane changes."""
    near, far, axis, count = known[step.target], known[element.tensor], loop.axis, turns(loop.axis)
    lanes, names = lanes_of(count or 1, near.dtype), {"into": near.name, "name": far.name, "axis": loop.axis.name}
    if not (len(loop.body) == 1 and isinstance(loop.body[0], Assign)):
        return "TG614.more", names
    if first_of(step.index, axis.name) is None or first_of(element.index, axis.name) is None:
        return "TG614.across", names
    asked = _conditions(loop.body[0])
    if data := next((r for term in (*element.index, *asked) for r in reads(term)), None):
        return "TG614.data", {**names, "data": text(data)}
    if lanes * BYTES[near.dtype] < LEAST:
        return "TG614.small", {**names, "bytes": lanes * BYTES[near.dtype], "least": LEAST // BYTES[near.dtype]}
    if unclear := next((c for c in asked if all_lanes(c, axis) is None), None):
        return "TG614.guard", {**names, "lanes": count, "condition": text(unclear)}
    if not neighbours_stay(near, count):
        return "TG614.layout", {**names, "lanes": count}
    return "TG614.aligned", {**names, "lanes": lanes}


def _conditions(step: Assign) -> tuple[Term, ...]:
    """What is asked before an element is copied."""
    chosen = step.value.args[:1] if isinstance(step.value, App) and step.value.op == "select" else ()
    return tuple(c for term in (step.guard, *chosen) for c in conjuncts(term))
