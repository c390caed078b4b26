"""The work function of threads that cooperate: one core runs a whole block, its threads as loops between the barriers.

Comes in: a launch without shuffles. Goes out: the lines that run blocks `first` to `last`, one after the other.
The one idea: a program without races means the same whoever comes first, so between two barriers each thread may run alone; what a
thread keeps over a barrier is an array over the threads.
"""

from __future__ import annotations

from tinygpu.category.term import SHUFFLES, TRUE, App, Axis, Term, conjunction, variables, walk
from tinygpu.emit.cpu_cut import Choice, Cutter, Part, Region, Repeat, kept, regions
from tinygpu.emit.cpu_exchange import flat_thread, threads_of
from tinygpu.schedule.lift import sites
from tinygpu.schedule.merge import Nest, assume, common
from tinygpu.emit.cpu_nest import among, decode, lengths, point
from tinygpu.schedule.polynomial import coefficient, plus, positive, term, without
from tinygpu.emit.cpu_steps import cell_arrays, extent_text, fold_arrays, indent, is_long
from tinygpu.emit.cpu_text import Writer, mangle
from tinygpu.program.step import Assign, Barrier, If, Launch, Local, Shared, steps


def cooperates(launch: Launch) -> bool:
    """Whether the threads of a launch know of each other: through shared memory, shuffles or updates that may meet."""
    if any(isinstance(s, Shared | Barrier) or (isinstance(s, Assign) and s.atomic) for s in steps(launch.body)):
        return True
    return any(isinstance(t, App) and t.op in SHUFFLES for site in sites(launch.body) for t in walk(site.step.value))


def block_lines(launch: Launch, writer: Writer, taken: frozenset[str]) -> list[str]:
    """The body of `work(first, last, …)`: for each block its digits, then its regions; sets `writer.locals`."""
    shared = [s for s in steps(launch.body) if isinstance(s, Shared)]
    shapes = {t.name: t.shape for t in writer.tensors.values()} | {s.name: s.extents for s in shared}
    cutter = Cutter(launch.block, launch.body, shapes, taken)
    parts = cutter.parts(launch.body)
    own = {s.name: s for s in (*steps(launch.body), *cutter.masks) if isinstance(s, Local)}
    writer.locals = {**own, **{s.name: Local(s.name, s.dtype, s.extents) for s in shared}}
    lasting = kept(parts, frozenset(own))
    count = threads_of(launch.block)
    writer.strip, writer.part, writer.parts = set(lasting), "thread", count
    lines = cell_arrays(shared) + cell_arrays([own[name] for name in sorted(lasting)], count)
    lines += cell_arrays([local for local in own.values() if local.name not in lasting])
    lines += fold_arrays(tuple(s for region, _ in regions(parts) for s in region.body), writer)
    inside = decode(launch.grid, None, Nest(launch.grid, (), ()), writer) + _part_lines(parts, launch.block, bool(lasting), writer)
    writer.strip, writer.part, writer.parts = set(), "part", 1
    return [*lines, "for item in range(first, last):", *indent(inside)]


def _part_lines(parts: tuple[Part, ...], block: tuple[Axis, ...], numbered: bool, writer: Writer) -> list[str]:
    lines: list[str] = []
    for part in parts:
        match part:
            case Region():
                lines += _region_lines(part, block, numbered, writer)
            case Repeat(axis, inner):
                lines += [f"for {mangle(axis.name)} in range({writer.index(axis.extent)}):"]
                lines += indent(_part_lines(inner, block, numbered, writer) or ["pass"])
            case Choice(guard, inner):
                lines += [f"if {writer.guard(guard)}:", *indent(_part_lines(inner, block, numbered, writer) or ["pass"])]
    return lines


def _region_lines(region: Region, block: tuple[Axis, ...], numbered: bool, writer: Writer) -> list[str]:
    """The loops over the threads, the fastest axis innermost; conditions that all steps have bound it or stand around it."""
    body = (If(region.guard, region.body),) if region.guard != TRUE else region.body
    facts = common(body, frozenset(s.target for s in steps(body) if isinstance(s, Assign)))
    body = assume(body, facts)
    bounds: dict[str, tuple[list[str], list[str]]] = {a.name: ([], []) for a in block}
    early: list[Term] = []
    late: list[Term] = []
    for fact in facts:
        axis = next((a.name for a in reversed(block) if a.name in variables(fact)), "")
        p = positive(fact)
        pace = coefficient(p, axis) if p is not None and axis else None
        if p is not None and pace == {(): -1}:
            bounds[axis][1].append(writer.index(term(without(p, axis))))
        elif p is not None and pace == {(): 1}:
            bounds[axis][0].append(writer.index(term(plus({(): 1}, without(p, axis), -1))))
        else:
            (late if axis else early).append(fact)
    lines = point(body, late, writer)
    if numbered:
        lines = [f"thread = {writer.index(flat_thread(block))}", *lines]
    for axis_ in reversed(block):
        lows, highs = bounds[axis_.name]
        low, high = among("max", ["0", *lows]), among("min", [writer.index(axis_.extent), *highs])
        lines = [f"for {mangle(axis_.name)} in range({f'{low}, {high}' if lows else high}):", *indent(lines)]
    return [f"if {writer.guard(conjunction(*early))}:", *indent(lines)] if early else lines


def block_count(launch: Launch, writer: Writer) -> str:
    """How many blocks a launch has."""
    return " * ".join(f"({t})" if " " in t else t for t in (extent_text(writer, a) for a in launch.grid)) or "1"


def block_steps(launch: Launch, writer: Writer) -> str:
    """About how many steps all threads take together."""
    loops = max(([loop.axis for loop in site.loops if is_long(loop.axis)] for site in sites(launch.body)), key=len, default=[])
    return " * ".join([block_count(launch, writer), str(threads_of(launch.block)), *lengths(loops, writer)])
