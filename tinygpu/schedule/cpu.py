"""What a CPU runs for a program: a program of items, each of which one core runs alone, for the same op.

    program → programs        best first; each is proved before it is used, and the last one is the program itself

Comes in: a program of any machine. Goes out: programs whose launches have items for a grid and no threads.
The one idea: threads that do not cooperate are points of a nest, so the loops may be ordered and cut as the memory likes it; what is made so
is a program like every other, so it is shown, proved, and printed one line a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from tinygpu.category.decide import holds
from tinygpu.category.names import claimed
from tinygpu.category.region import Region
from tinygpu.category.term import SHUFFLES, App, Axis, Const, Term, conjunction, conjuncts, reads, substitute, variables, walk
from tinygpu.hardware.arch import CPU
from tinygpu.model.op import Op
from tinygpu.program.arrays import arrays
from tinygpu.program.step import Array, Assign, For, If, Launch, Program, Step, Sync, arrays_in, steps
from tinygpu.program.traverse import map_steps
from tinygpu.record import replace
from tinygpu.schedule.access import Shapes
from tinygpu.schedule.copies import without_copies
from tinygpu.schedule.lift import lift, sites
from tinygpu.schedule.merge import Nest, bound, merge, merge_loops
from tinygpu.schedule.names import renamed
from tinygpu.schedule.pieces import substituted
from tinygpu.schedule.points import Points, inside
from tinygpu.schedule.rows import in_rows
from tinygpu.schedule.scope import declared
from tinygpu.schedule.split import split
from tinygpu.schedule.tile import tile_of
from tinygpu.schedule.tiled import LANES, WIDTHS, Tiled
from tinygpu.schedule.turn import turn_of, turned


def on_cpu(program: Program) -> Iterator[Program]:
    """Programs that do the same on a CPU, best first."""
    fresh = supply(program)
    launches = tuple(laid_out(program, launch, fresh) for launch in program.launches)
    if launches != program.launches:
        yield replace(program, launches=launches, arch=CPU)
    yield program


def instances(program: Program) -> tuple[Program, ...]:
    """The programs that one stands for: one for each number of lanes that a vector register may have."""
    vectors = {a.name: a for launch in program.launches for a in launch.grid if LANES.name in variables(a.extent)}
    if not vectors:
        return (program,)
    dtype = next(
        s.dtype for launch in program.launches for s in arrays_in(launch.body, "thread") if LANES.name in _names(s.extents)
    )
    return tuple(_instance(program, width) for width in WIDTHS[dtype])


def _names(terms: Iterable[Term]) -> frozenset[str]:
    return frozenset().union(*map(variables, terms))


def _instance(program: Program, width: int) -> Program:
    lanes = {LANES.name: Const(width)}

    def at(axis: Axis) -> Axis:
        return replace(axis, extent=substitute(axis.extent, lanes))

    def each(step: Step) -> Step:
        match step:
            case Array(_, _, extents, owner="thread"):
                return replace(step, extents=tuple(substitute(e, lanes) for e in extents))
            case For(axis, body):
                return replace(step, axis=at(axis), body=tuple(map(each, body)))
            case If(guard, body):
                return replace(step, guard=substitute(guard, lanes), body=tuple(map(each, body)))
        return substituted(step, lanes)

    launches = (replace(one, grid=tuple(map(at, one.grid)), body=tuple(map(each, one.body))) for one in program.launches)
    return replace(program, launches=tuple(launches))


def tiled(program: Program) -> bool:
    """Whether all launches are tiles: products, of which the machine's own order would only be in the way."""
    return all(LANES.name in _names(a.extent for a in laid_out(program, launch).grid) for launch in program.launches)


def laid_out(program: Program, launch: Launch, fresh: Callable[[str], str] | None = None) -> Launch:
    """One launch; itself where its threads cooperate. Cells get names that are `fresh` in the program."""
    if cooperates(launch):
        return launch
    fresh = fresh or supply(program)
    shapes = {name: a.extents for name, a in arrays(program).items() if a.owner == "grid"}
    nest = ended(nest_of(program.op, launch, shapes, program.arch == CPU), program.where)
    if tile := tile_of(nest, shapes, program.op, launch if program.arch == CPU else None):
        made = Tiled(tile, fresh).launch()
    elif turn := turn_of(nest, shapes):
        made = turned(nest, turn, fresh)
    else:
        left = {space.name for space in program.workspaces}
        made = Points(shapes, {name: shape for name, shape in shapes.items() if name not in left}, fresh).launch(nest)
    return replace(made, body=declared(made.body, fresh), span=launch.span)


def supply(program: Program) -> Callable[[str], str]:
    """Names that nothing in a program has yet."""
    taken = {*program.op.sizes, *arrays(program), *(a.name for e in program.op.equations for a in e.axes)}
    for launch in program.launches:
        taken |= {a.name for a in (*launch.grid, *launch.block)} | {s.axis.name for s in steps(launch.body) if isinstance(s, For)}

    return partial(claimed, taken=taken)


def ended(nest: Nest, where: tuple[Term, ...]) -> Nest:
    """The nest with loops to `min(a, b)` that run to the one of both that the preconditions say is the smaller."""
    box = Region((), tuple(c for w in where for c in conjuncts(w) if not reads(c)))

    def each(step: Step) -> tuple[Step, ...]:
        match step:
            case For(Axis(extent=App("min", (a, b)))):
                least = b if holds(b <= a, box) else a if holds(a <= b, box) else step.axis.extent
                return (replace(step, axis=replace(step.axis, extent=least)),)
        return (step,)

    return replace(nest, body=map_steps(nest.body, each))


def cooperates(launch: Launch) -> bool:
    """Whether the threads of a launch know of each other: through shared memory, shuffles or updates that may meet."""
    if arrays_in(launch.body, "block") or any(
        isinstance(s, Sync) or (isinstance(s, Assign) and s.atomic) for s in steps(launch.body)
    ):
        return True
    return any(isinstance(t, App) and t.op in SHUFFLES for site in sites(launch.body) for t in walk(site.step.value))


def stored(launch: Launch) -> frozenset[str]:
    """The global arrays that a launch writes."""
    own = {s.name for s in arrays_in(launch.body)}
    return frozenset(site.step.target for site in sites(launch.body)) - own


def nest_of(op: Op, launch: Launch, shapes: Shapes, core: bool = False) -> Nest:
    """The launch in normal form: own loops lifted, factors merged, guards made bounds; axes bear the names of the op's indices. The cells
    of a core are in one row."""
    outputs = stored(launch)
    taken = frozenset(op.sizes) | set(shapes) | {s.name for s in arrays_in(launch.body, "thread")}
    taken |= {s.axis.name for s in steps(launch.body) if isinstance(s, For)} | {a.name for a in launch.grid + launch.block}
    lifted, body = lift(launch.body, outputs)
    body = without_copies(body, frozenset(shapes) - outputs)
    axes, body = merge((*launch.grid, *launch.block, *lifted), in_rows(body) if core else body, taken)
    body = merge_loops(body, taken | {a.name for a in axes})
    nest = split(bound(axes, body, outputs), taken | {a.name for a in axes})
    body = (If(conjunction(*nest.guards), nest.body),) if nest.guards else nest.body
    nest = bound(*merge(nest.axes, body, taken | {a.name for a in nest.axes}), outputs)
    nest = inside(nest, shapes)
    return renamed(op, nest, frozenset(op.sizes) | set(shapes))
