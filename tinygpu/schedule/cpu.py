"""What a CPU runs for a program: a program of items, each of which one core runs alone, for the same op.

    program → programs        best first; each is proved before it is used, and the last one is the program itself

Comes in: a program of any machine. Goes out: programs whose launches have items for a grid and no threads.
The one idea: threads that do not cooperate are points of a nest, so the loops may be ordered and cut as the memory likes it; what is made so
is a program like every other, so it is shown, proved, and printed one line a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from tinygpu.category.term import conjunction, variables
from tinygpu.category.text import claimed
from tinygpu.hardware.arch import CPU
from tinygpu.model.op import Op
from tinygpu.model.solved import solve
from tinygpu.program.arrays import arrays, names_of
from tinygpu.program.lanes import LANES
from tinygpu.program.step import Assign, Fact, Launch, Program, arrays_in, steps
from tinygpu.program.traverse import map_steps, meets, written
from tinygpu.record import replace
from tinygpu.schedule.ahead import without_hints
from tinygpu.schedule.bound import bound, contributed, ended
from tinygpu.schedule.lift import lift, without_copies
from tinygpu.schedule.merge import in_rows, merge, merge_loops, renamed, split
from tinygpu.schedule.nest import Nest, Shapes, names_in, where
from tinygpu.schedule.points import Points, inside
from tinygpu.schedule.scope import declared
from tinygpu.schedule.tile import tile_of
from tinygpu.schedule.tiled import Tiled
from tinygpu.schedule.turn import sides_of, turn_of, turned
from tinygpu.schedule.unmasked import unmasked


def on_cpu(program: Program) -> Iterator[Program]:
    """Programs that do the same on a CPU, best first."""
    fresh = supply(program)
    launches = tuple(laid_out(program, launch, fresh) for launch in program.launches)
    if launches != program.launches:
        yield replace(program, launches=launches, arch=CPU)
    yield program


def as_it_is(program: Program) -> str:
    """The message of a program that a CPU runs and of which some launch is laid out for none; nothing of the others."""
    together = any(launch.block and cooperates(launch) for launch in program.launches)
    return "TG825.blocks" if together else "" if program.arch == CPU else "TG825.order"


def tiled(program: Program) -> bool:
    """Whether all launches are tiles: products, of which the machine's own order would only be in the way."""
    grids = (laid_out(program, launch).grid for launch in program.launches)
    return all(any(LANES.name in variables(axis.extent) for axis in grid) for grid in grids)


def laid_out(program: Program, launch: Launch, fresh: Callable[[str], str] | None = None) -> Launch:
    """One launch; in its own order where its threads or the parts of its core cooperate. Cells get names that are `fresh` in the program."""
    if cooperates(launch):
        return launch if launch.block else replace(launch, body=unmasked(launch.body))
    if not program.op.states:  # what a state is in each turn is the induction; else the proof needs no help
        launch = replace(launch, body=map_steps(launch.body, lambda step: () if isinstance(step, Fact) else (step,)))
    fresh, (ahead, leaving, launch) = fresh or supply(program), without_hints(launch)
    shapes = {name: a.extents for name, a in arrays(program).items() if a.owner == "grid"}
    nest = ended(nest_of(program.op, launch, shapes, program.arch == CPU), program.where)
    if tile := tile_of(nest, shapes, program.op, launch if program.arch == CPU else None):
        made = Tiled(tile, fresh).launch()
    elif turn := turn_of(nest, shapes):
        made = turned(nest, turn, fresh, sides_of(turn, program.op, launch if program.arch == CPU else None))
    else:
        left = {space.name for space in program.workspaces}
        long = {name: shape for name, shape in shapes.items() if name not in left}
        made = Points(shapes, long, solve(program.op)[1], ahead, leaving, fresh).launch(nest)
    return replace(made, body=unmasked(declared(made.body, fresh)), span=launch.span, turns=launch.turns)


def supply(program: Program) -> Callable[[str], str]:
    """Names that nothing in a program has yet."""
    return partial(claimed, taken=names_of(program))


def cooperates(launch: Launch) -> bool:
    """Whether the threads of a launch know of each other: through shared memory, shuffles or updates that may meet."""
    return bool(arrays_in(launch.body, "block")) or any(
        meets(step) or (isinstance(step, Assign) and step.atomic) for step in steps(launch.body)
    )


def nest_of(op: Op, launch: Launch, shapes: Shapes, core: bool = False) -> Nest:
    """The launch in normal form: own loops lifted, factors merged, guards made bounds; axes bear the names of the op's indices. The cells
    of a core are in one row."""
    outputs = frozenset(written(launch.body)) & shapes.keys()
    taken = frozenset(op.sizes) | set(shapes) | names_in(launch)
    lifted, body = lift(launch.body, outputs)
    body = contributed(without_copies(body, frozenset(shapes) - outputs))
    axes, body = merge((*launch.grid, *launch.block, *lifted), in_rows(body) if core else body, taken)
    body = merge_loops(body, taken | {a.name for a in axes})
    nest = split(bound(axes, body, outputs), taken | {a.name for a in axes})
    body = where(conjunction(*nest.guards), nest.body)
    nest = bound(*merge(nest.axes, body, taken | {a.name for a in nest.axes}), outputs)
    return renamed(op, inside(nest, shapes), frozenset(op.sizes) | set(shapes))
