"""Free numbers of a program: sizes of it that are given before a kernel is made.

    P(T, R)  ⟼  P(16, 8)        by substitution, in every term

Comes in: a program with names for numbers. Goes out: the program with terms in their place; what no program with such may hold. The one idea: a number that is not known is
a size, so what is proved of all sizes is true of each number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tinygpu.category.term import SHUFFLES, TRUE, App, Axis, Const, Term, substitute, variables, walk
from tinygpu.diagnostic import Span
from tinygpu.program.arrays import names_of
from tinygpu.program.call import Sync
from tinygpu.program.step import WARP, Array, Assign, For, Ghost, If, Launch, Program, Step, steps
from tinygpu.program.traverse import map_steps, map_terms, shuffles, terms
from tinygpu.record import replace

BITS = ("xor", "bitand", "bitor", "shl", "shr")


def with_numbers(program: Program, put: Mapping[str, Term]) -> Program:
    """The program with terms for some of its numbers. Its op is the same: it knows of none."""

    def at(term: Term) -> Term:
        return substitute(term, put)

    def axes(every: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(replace(a, extent=at(a.extent)) for a in every)

    def sized(array: Array) -> Array:
        return replace(array, extents=tuple(map(at, array.extents)))

    def each(step: Step) -> tuple[Step, ...]:
        return (sized(step) if isinstance(step, Array) else map_terms(step, at),)

    def launched(launch: Launch) -> Launch:
        grid, block, turns = map(axes, (launch.grid, launch.block, launch.turns))
        return replace(launch, grid=grid, block=block, turns=turns, body=map_steps(launch.body, each))

    where = tuple(fact for fact in map(at, program.where) if fact != TRUE)
    spaces = tuple(map(sized, program.workspaces))
    return replace(program, launches=tuple(map(launched, program.launches)), where=where, workspaces=spaces)


def at_point(program: Program, numbers: Mapping[str, int]) -> Program:
    """The program with its free numbers, which are among its op's sizes, given."""
    op = replace(program.op, sizes=tuple(s for s in program.op.sizes if s not in numbers))
    return replace(with_numbers(program, {name: Const(number) for name, number in numbers.items()}), op=op)


def beyond(program: Program, numbers: tuple[str, ...]) -> Iterator[tuple[str, Span]]:
    """What is not followed where numbers are free, and where it stands: whose meaning rests on what they are, not on what is known of them."""
    names = frozenset(numbers)
    op = program.op
    said = [
        *(e for t in (*op.tensors, *op.intermediates) for e in t.shape),
        *(e.value for e in op.equations),
        *op.where,
        *op.promises,
    ]
    if any(variables(term) & names for term in said):
        yield "its op speaks of them", op.span
    if names & names_of(replace(program, op=replace(op, sizes=tuple(s for s in op.sizes if s not in names)))):
        yield "something else in it has the name of one", program.span
    if op.via is not None:
        yield "it computes the other side of a theorem", program.span
    for launch in program.launches:
        if launch.cluster:
            yield "its blocks stand in clusters", launch.span
        if not _whole_warps(launch, names) and (together := next(filter(_by_lanes, steps(launch.body)), None)):
            yield "lanes act together, and which threads are a warp is not known", together.span
        for step in steps(launch.body):
            if reason := _unfollowed(step, names):
                yield reason, step.span


def _by_lanes(step: Step) -> bool:
    """Whether the lanes of a warp do something together in a step."""
    return shuffles(step) or (isinstance(step, Sync) and step.scope == "warp")


def _whole_warps(launch: Launch, names: frozenset[str]) -> bool:
    """Whether warps are made of whole factors: at most the slowest one is free, and the others are whole warps, if it is."""
    free = [bool(variables(a.extent) & names) for a in launch.block]
    rest = prod(int(a.extent.value) for a in launch.block[1:] if isinstance(a.extent, Const))
    return not any(free) or (not any(free[1:]) and rest % WARP == 0)


def _unfollowed(step: Step, names: frozenset[str]) -> str:
    """Why a step is not followed; empty where it is."""
    match step:
        case Array(held=held, layout=layout, extents=extents):
            if held is not None:
                return "fragments of instructions lie in its registers"
            laid = (layout.swizzle or layout.panels) and any(variables(e) & names for e in extents)
            return "the layout of an array whose sides are free" if laid else ""
        case Assign(pending=pending) if pending:
            return "copies are under way"
        case Sync(scope=scope, begins=begins):
            return "instructions of the hardware" if begins is not None or scope not in ("block", "warp") else ""
        case For(axis=axis):
            wide = axis.sort == "vector" and variables(axis.extent) & names
            return f"the vector {axis.name} has a free length" if wide else _of_terms(step, names)
        case Assign() | If() | Ghost():
            return _of_terms(step, names)
    return f"a {type(step).__name__.lower()} of the hardware"


def _of_terms(step: Step, names: frozenset[str]) -> str:
    """Why what a step evaluates is not followed."""
    for part in (p for term in terms(step, facts=True) for p in walk(term)):
        match part:
            case App(op, args) if op in SHUFFLES and variables(args[1]) & names:
                return "lanes exchange values at free distances"
            case App(op) if op in BITS and variables(part) & names:
                return "bits of a free number"
    return ""
