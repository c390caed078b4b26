"""What a core does at one access: how many elements it loads or stores, and how many at once.

    for k { for r in register { for v < 3 in register { for lane < 16 in simd { c[r, v, lane] += A[r, k]·B[k, v, lane] } } } }
        A: one number for 48 lanes        B: one vector for all r        c: stays in registers, so it is loaded and stored around the loop over k

Comes in: an access of a program that a CPU runs, its peaks. Goes out: the access with the loops in which it comes again, elements, loads and stores. The one idea: lanes of a vector are grouped as
lanes of a warp are: neighbours in the innermost loop are one access where they lie side by side, and what a loop names again at each of its turns is in a register, if those hold what is between.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from tinygpu.category.bounds import natural
from tinygpu.category.dtype import BYTES
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import App, Axis, Const, Term, Var, ceildiv, conjunction, conjuncts, substitute, variables
from tinygpu.cost.counted import Count, Counter
from tinygpu.cost.sites import Access, Where
from tinygpu.cost.warps import Tally
from tinygpu.derive.wide import first_of, slope
from tinygpu.hardware.processor import Processor
from tinygpu.program.arrays import arrays
from tinygpu.program.lanes import WIDTHS, instances, vectors_of
from tinygpu.program.step import Launch, Program, arrays_in
from tinygpu.record import replace

UNROLLED = ("register", "vector")  # loops whose turns are made at once


def at_width(program: Program, cpu: Processor) -> Program:
    """The program for registers as long as a CPU has them, one that says nothing of their length being the same for all."""
    dtype, every = vectors_of(program), instances(program)
    fits = (one for width, one in zip(WIDTHS.get(dtype, (0,)), every, strict=True) if not dtype or width <= cpu.lanes(BYTES[dtype]))
    return next(fits, every[-1])


def in_memory(program: Program, cpu: Processor) -> frozenset[str]:
    """A core's own arrays that its vector registers do not hold."""
    held = {name: [natural(e) for e in a.extents] for name, a in arrays(program).items() if a.owner == "thread"}
    known = {
        name: prod(int(evaluate(e, {})) for e in extents) * BYTES[arrays(program)[name].dtype] for name, extents in held.items()
    }
    return frozenset(name for name, size in known.items() if size > cpu.register_bytes)


def bytes_of_core(program: Program, launch: Launch, cpu: Processor) -> int:
    """The bytes of a core's own arrays in a launch that are in memory."""
    own = in_memory(program, cpu)
    mine = [a for a in arrays_in(launch.body) if a.name in own or a.owner == "block"]
    return sum(prod(int(evaluate(natural(e), {})) for e in a.extents) * BYTES[a.dtype] for a in mine)


def made(access: Access, cpu: Processor, counter: Counter) -> tuple[Access, Count, int, Tally | None]:
    """The access as a core makes it; its elements; how many it moves at once; how often it does, as `requests`."""
    turns = {a.name for a in counter.program.launches[access.where.launch].turns}
    where, exact, dropped = access.where, True, again(access, turns, cpu)
    for axis in dropped:
        where, one = thinned(where, axis, None)
        exact = exact and one
    elements, lanes = _count(counter, where, dropped, exact), together(access, cpu)
    issued = elements
    if lanes > 1:
        grouped, one = thinned(where, where.axes[-1], lanes)
        issued = _count(counter, grouped, dropped, exact and one)
    known = issued.number is not None and elements.number is not None
    tally = Tally(issued.number, elements.number, None, None, None, None, issued.exact) if known else None  # type: ignore[arg-type]
    return replace(access, where=where, lanes=lanes), elements, lanes, tally


def _count(counter: Counter, where: Where, dropped: Collection[Axis], exact: bool) -> Count:
    """How often a core comes to a place around loops that are left out; nowhere, if one of these has no turns."""
    found, unknown = counter.threads(where), [a.extent for a in dropped if not isinstance(a.extent, Const)]
    if any(not variables(e) <= counter.sizes.keys() for e in unknown):
        return Count(None, found.number, False)
    there = all(evaluate(e, counter.sizes) > 0 for e in unknown)
    return Count(None if unknown else found.closed, found.number if there else 0, found.exact and exact)


def together(access: Access, cpu: Processor) -> int:
    """How many neighbours in the innermost loop lie side by side, up to a vector."""
    axis = access.where.axes[-1] if access.where.axes else None
    if axis is None or access.array.strided or access.atomic or first_of(access.index, axis.name) is None:
        return 1
    lanes = cpu.lanes(access.item)
    return min(lanes, int(axis.extent.value)) if isinstance(axis.extent, Const) else lanes


def again(access: Access, turns: Collection[str], cpu: Processor) -> tuple[Axis, ...]:
    """The loops, innermost first, in whose turns the same elements come again while they are in registers."""
    used, between, found = {n for i in access.index for n in variables(i)}, list[Axis](), list[Axis]()
    held = access.item
    for axis in reversed(access.where.axes):
        if axis.name in turns or any(axis.name in variables(a.extent) for a in between):
            break
        if axis.name not in used:
            if axis.sort not in UNROLLED and held > cpu.register_bytes:
                break
            found.append(axis)
            continue
        if axis.sort not in UNROLLED or not isinstance(axis.extent, Const):
            break
        between.append(axis)
        held *= int(axis.extent.value)
    return tuple(found)


def thinned(where: Where, axis: Axis, by: int | None) -> tuple[Where, bool]:
    """A place at every `by`-th turn of a loop, or once for all of them: where one of those comes there; and whether that is exact.

    >>> from tinygpu.category.term import text
    >>> from tinygpu.diagnostic import NOWHERE
    >>> j, n = Axis("j", Var("n")), Var("n")
    >>> found, exact = thinned(Where(0, (j,), Var("j") + 3 < n, 0, NOWHERE), j, 16)
    >>> text(found.axes[0].extent), text(found.guard), exact
    ('ceil(n / 16)', 'j*16 + 3 < n', True)
    """
    first: Term = Const(0) if by is None else Var(axis.name) * by
    last = axis.extent - 1 if by is None else first + (by - 1)
    parts, ways, clear = list[Term](), set[int](), True
    for condition in conjuncts(where.guard):
        way = sense(condition, axis.name)
        if way is None:
            clear = False
            continue
        ways |= {way} - {0}
        parts.append(substitute(condition, {axis.name: last if way > 0 else first}) if way else condition)
    whole = by is None or (isinstance(axis.extent, Const) and axis.extent.value % by == 0)
    kept = () if by is None else (replace(axis, extent=ceildiv(axis.extent, by)),)
    axes = tuple(b for a in where.axes for b in (kept if a is axis else (a,)))
    return replace(where, axes=axes, guard=conjunction(*parts)), clear and (not ways or ways == {-1} or (ways == {1} and whole))


def sense(condition: Term, name: str) -> int | None:
    """Whether a condition becomes weaker where an axis grows (1) or stronger (-1), or has nothing to do with it (0); None where that is not seen.

    >>> i, n = Var("i"), Var("n")
    >>> sense(i * 4 < n, "i"), sense(i >= n, "i"), sense(n < 4, "i"), sense(i % 2 < n, "i")
    (-1, 1, 0, None)
    """
    if name not in variables(condition):
        return 0
    match condition:
        case App("lt" | "le" | "gt" | "ge" as op, (left, right)):
            pace = slope(App("sub", (left, right)), name)
            return None if pace is None else (1 if pace > 0 else -1) * (1 if op in ("gt", "ge") else -1)
    return None
