"""The work function of threads that cooperate: one core runs a whole block, its threads as loops between the barriers.

Comes in: a launch without shuffles. Goes out: the lines that run blocks `first` to `last`, one after the other.
The one idea: a program without races means the same whoever comes first, so between two barriers each thread may run alone; what a
thread keeps over a barrier is an array over the threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tinygpu.category.term import BOOL, SHUFFLES, TRUE, App, Axis, Read, Term, conjunction, variables, walk
from tinygpu.emit.cpu_exchange import flat_thread, threads_of
from tinygpu.emit.cpu_lift import sites, tensor_reads
from tinygpu.emit.cpu_merge import Nest
from tinygpu.emit.cpu_nest import decode, lengths
from tinygpu.emit.cpu_steps import cell_arrays, extent_text, fold_arrays, indent, is_long, step_lines
from tinygpu.emit.cpu_text import Writer, mangle
from tinygpu.program.step import Assign, Barrier, For, Holds, If, Launch, Local, Shared, Step, steps


@dataclass(frozen=True, slots=True)
class Region:
    """Steps that each thread runs alone, if the guard holds for it."""

    body: tuple[Step, ...]
    guard: Term


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop that all threads go through together."""

    axis: Axis
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What all threads of the block do, or none."""

    guard: Term
    parts: tuple[Part, ...]


Part: TypeAlias = Region | Repeat | Choice


def cooperates(launch: Launch) -> bool:
    """Whether the threads of a launch know of each other: through shared memory, shuffles or updates that may meet."""
    if any(isinstance(s, Shared | Barrier) or (isinstance(s, Assign) and s.atomic) for s in steps(launch.body)):
        return True
    return any(isinstance(t, App) and t.op in SHUFFLES for site in sites(launch.body) for t in walk(site.step.value))


class Cutter:
    """Cuts a body at its barriers. `own` are the names of what differs from thread to thread; masks are the locals made on the way."""

    def __init__(self, block: tuple[Axis, ...], body: tuple[Step, ...], taken: frozenset[str]) -> None:
        self.own = {a.name for a in block} | {s.name for s in steps(body) if isinstance(s, Local)}
        self.taken = set(taken)
        self.masks: list[Local] = []

    def parts(self, body: tuple[Step, ...], guard: Term = TRUE) -> tuple[Part, ...]:
        """Regions as long as they can be, with loops and conditions around barriers outside of them."""
        out: list[Part] = []
        alone: list[Step] = []

        def close() -> None:
            if any(isinstance(s, Assign | For | If) for s in alone):
                out.append(Region(tuple(alone), guard))
            alone.clear()

        for step in body:
            if isinstance(step, Shared | Holds):
                continue
            if not any(isinstance(s, Barrier) for s in steps((step,))):
                alone.append(step)
                continue
            if isinstance(step, If) and self._differs(step.guard):
                mask = self._mask(step.guard, guard, alone)
                close()
                out += self.parts(step.body, mask)
                continue
            close()
            match step:
                case For(axis, inner):
                    out.append(Repeat(axis, self.parts(inner, guard)))
                case If(condition, inner):
                    out.append(Choice(condition, self.parts(inner, guard)))
        close()
        return tuple(out)

    def _differs(self, guard: Term) -> bool:
        return bool(variables(guard) & self.own) or any(isinstance(t, Read) and t.tensor in self.own for t in walk(guard))

    def _mask(self, condition: Term, guard: Term, alone: list[Step]) -> Term:
        """The guard of the regions inside: the condition itself, or what it was at the start, where it reads cells that may change."""
        whole = conjunction(guard, condition)
        if not any(isinstance(t, Read) for t in walk(condition)):
            return whole
        name = f"mask_{len(self.masks)}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        self.own.add(name)
        mask = Local(name, BOOL, ())
        self.masks.append(mask)
        alone.append(mask)
        alone.append(Assign(name, (), whole))
        return Read(name, (), BOOL)


def _regions(parts: tuple[Part, ...], repeated: bool = False) -> Iterator[tuple[Region, bool]]:
    for part in parts:
        match part:
            case Region():
                yield part, repeated
            case Repeat(_, inner):
                yield from _regions(inner, True)
            case Choice(_, inner):
                yield from _regions(inner, repeated)


def kept(parts: tuple[Part, ...], names: frozenset[str]) -> frozenset[str]:
    """The locals that outlive a region: used in more than one, or carried from one pass of a loop to the next."""
    uses: dict[str, list[tuple[Region, bool]]] = {name: [] for name in names}
    for region, repeated in _regions(parts):
        used = {t.tensor for t in walk(region.guard) if isinstance(t, Read)}
        for site in sites(region.body):
            used |= {site.step.target} | {read.tensor for read in tensor_reads(site)}
        for name in used & names:
            uses[name].append((region, repeated))
    out = set()
    for name, places in uses.items():
        declared = [any(isinstance(s, Local) and s.name == name for s in steps(region.body)) for region, _ in places]
        if len(places) > 1 or any(repeated and not here for (_, repeated), here in zip(places, declared, strict=True)):
            out.add(name)
    return frozenset(out)


def block_lines(launch: Launch, writer: Writer, taken: frozenset[str]) -> list[str]:
    """The body of `work(first, last, …)`: for each block its digits, then its regions; sets `writer.locals`."""
    cutter = Cutter(launch.block, launch.body, taken)
    parts = cutter.parts(launch.body)
    own = {s.name: s for s in (*steps(launch.body), *cutter.masks) if isinstance(s, Local)}
    shared = [s for s in steps(launch.body) if isinstance(s, Shared)]
    writer.locals = {**own, **{s.name: Local(s.name, s.dtype, s.extents) for s in shared}}
    lasting = kept(parts, frozenset(own))
    count = threads_of(launch.block)
    writer.strip, writer.part, writer.parts = set(lasting), "thread", count
    lines = cell_arrays(shared) + cell_arrays([own[name] for name in sorted(lasting)], count)
    lines += cell_arrays([local for local in own.values() if local.name not in lasting])
    lines += fold_arrays(tuple(s for region, _ in _regions(parts) for s in region.body), writer)
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
    """The loops over the threads, the fastest axis innermost, around the steps of one."""
    lines = step_lines(region.body, writer)
    if region.guard != TRUE:
        lines = [f"if {writer.guard(region.guard)}:", *indent(lines)]
    if numbered:
        lines = [f"thread = {writer.index(flat_thread(block))}", *lines]
    for axis in reversed(block):
        lines = [f"for {mangle(axis.name)} in range({writer.index(axis.extent)}):", *indent(lines)]
    return lines


def block_count(launch: Launch, writer: Writer) -> str:
    """How many blocks a launch has."""
    return " * ".join(f"({t})" if " " in t else t for t in (extent_text(writer, a) for a in launch.grid)) or "1"


def block_steps(launch: Launch, writer: Writer) -> str:
    """About how many steps all threads take together."""
    loops = max(([loop.axis for loop in site.loops if is_long(loop.axis)] for site in sites(launch.body)), key=len, default=[])
    return " * ".join([block_count(launch, writer), str(threads_of(launch.block)), *lengths(loops, writer)])
