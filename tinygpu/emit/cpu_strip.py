"""Nests whose points run long loops, many points side by side: a strip of lanes steps through the loop together.

Comes in: a body, the innermost axis, its bounds. Goes out: lines in which every scalar of a point is a small array over the strip.
The one idea: points are independent, so the long loop may be outermost and the lanes innermost, where memory is contiguous.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.category.term import TRUE, Axis, Read, Term, conjunction, variables, walk
from tinygpu.schedule.lift import sites, tensor_reads
from tinygpu.schedule.polynomial import coefficient, polynomial
from tinygpu.emit.cpu_steps import indent, is_long, step_lines
from tinygpu.emit.cpu_text import REGISTER, Writer, flat, mangle
from tinygpu.program.step import For, If, Local, Step, steps

STRIP = 64
Over: TypeAlias = tuple[Axis, str]  # the axis of a strip, and the text of what it runs over


def strips(body: tuple[Step, ...], lane: Axis, writer: Writer) -> bool:
    """Whether the long loops read along the lane, and all cells are scalars."""
    if any(isinstance(s, Local) and s.extents for s in steps(body)):
        return False
    if any(lane.name in variables(s.axis.extent) for s in steps(body) if isinstance(s, For)):
        return False  # the lanes of a strip step together
    paces = []
    for site in sites(body):
        if any(is_long(loop.axis) for loop in site.loops):
            reads = {r for t in site.terms for r in walk(t) if isinstance(r, Read) and r.tensor in writer.tensors and r.index}
            paces += [coefficient(polynomial(flat(r.index, writer.tensors[r.tensor].shape)), lane.name) for r in reads]
    moving = [pace for pace in paces if pace != {}]
    return bool(moving) and all(pace in ({(): 1}, {(): -1}) for pace in moving)


def strip_arrays(body: tuple[Step, ...], writer: Writer) -> list[str]:
    """An array over the strip for each cell that lives longer than one pass over the strip."""
    cells = kept(body)
    return [
        f"{mangle(s.name)} = np.empty({STRIP}, {REGISTER[s.dtype]})"
        for s in steps(body)
        if isinstance(s, Local) and s.name in cells
    ]


def kept(body: tuple[Step, ...]) -> set[str]:
    """All cells but those that one innermost long loop writes before it reads, and nothing else uses."""
    cells = {s.name for s in steps(body) if isinstance(s, Local)}
    for name in sorted(cells):
        users = [s for s in sites(body) if s.step.target == name or any(r.tensor == name for r in tensor_reads(s))]
        around = {tuple(id(loop) for loop in s.loops if is_long(loop.axis)) for s in users}
        if len(around) != 1 or around == {()}:
            continue
        loop = [loop for loop in users[0].loops if is_long(loop.axis)][-1]
        first = users[0].step
        plain = first.target == name and not first.update and first.guard == TRUE and not users[0].guards
        if plain and not any(isinstance(s, For) and is_long(s.axis) for s in steps(loop.body)):
            cells.discard(name)
    return cells


def strip_lines(
    body: tuple[Step, ...], lane: Axis, guards: list[Term], low: str, high: str, cells: set[str], writer: Writer
) -> list[str]:
    """The points `low <= lane < high` that the guards admit, all of one strip from `start` on; `cells` are arrays over it."""
    saved, writer.part = writer.part, f"{mangle(lane.name)} - start"
    lines = _lines(body, (lane, f"range({low}, {high})"), tuple(guards), cells, writer)
    writer.part = saved
    return lines


def _lines(body: tuple[Step, ...], over: Over, guards: tuple[Term, ...], cells: set[str], writer: Writer) -> list[str]:
    """Long loops around loops over the strip; what runs short stands together in one."""
    lines: list[str] = []
    together: list[Step] = []

    def close() -> None:
        if together:
            lines.extend(_over_strip(tuple(together), over, guards, cells, writer))
            together.clear()

    for step in body:
        if not any(isinstance(s, For) and is_long(s.axis) for s in steps((step,))):
            together.append(step)
            continue
        close()
        match step:
            case For(axis, inner):
                head = f"for {mangle(axis.name)} in range({writer.index(axis.extent)}):"
                lines += [head, *indent(_lines(inner, over, guards, cells, writer))]
            case If(guard, inner):
                lines += _lines(inner, over, (*guards, guard), cells, writer)
    close()
    return lines


def _over_strip(body: tuple[Step, ...], over: Over, guards: tuple[Term, ...], cells: set[str], writer: Writer) -> list[str]:
    """`for lane in range(low, high)` over steps, cells read and written at the lane's place in the strip."""
    saved = writer.strip
    writer.strip = cells
    inner = step_lines(body, writer)
    condition = conjunction(*guards)
    if condition != TRUE:
        inner = [f"if {writer.guard(condition)}:", *indent(inner)]
    writer.strip = saved
    lane, points = over
    return [f"for {mangle(lane.name)} in {points}:", *indent(inner)] if inner else []
