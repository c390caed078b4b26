"""A small run: the simulator in plain Python, every lane of the grid in lockstep, for sizes at which loading numpy would take longer.

Comes in: a program, sizes, inputs as lists. Goes out: the outputs as lists, and the faults that `simulate` finds, in the same order.
The one idea: the lanes of a step are a list of points, and what is the same for all of them is one number; whatever is too large here, or
not the same to the last bit, is `Beyond`, and numpy runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TypeAlias

from tinygpu.category.listed import REAL, Beyond, Listed, Number, combining, mapped, rounded
from tinygpu.category.points import Points, constants
from tinygpu.category.term import FLOATS, Term, reads, variables
from tinygpu.category.to_lists import box_of, evaluate, held
from tinygpu.program.access import accesses, by_data
from tinygpu.program.fault import EACH, Fault, Faults, HoldsViolated, NeverStored
from tinygpu.program.nest import Nest, find_nest
from tinygpu.program.small_cells import BLOCK, LANE, TURN, Cells, Shadow
from tinygpu.program.small_run import STEP, WORK, Event, Run, whole
from tinygpu.program.step import Assign, Barrier, For, Holds, If, Launch, Local, Program, Shared, Step, steps
from tinygpu.program.unpack import unpack
from tinygpu.record import dataclass

LANES, CELLS = 1 << 12, 1 << 16
CAP = 20

Lists: TypeAlias = Mapping[str, list[Number]]


@dataclass(frozen=True, slots=True)
class Small:
    """What a small run left: outputs as flat lists, the faults, and the lane-steps it took. With `rough` the digits are not numpy's."""

    outputs: dict[str, list[Number]]
    faults: tuple[Fault, ...]
    taken: int
    rough: bool


def simulate(program: Program, sizes: Mapping[str, int], inputs: Lists, cap: int = CAP, work: int = WORK) -> Small:
    """`program × sizes × inputs → outputs and faults`, in lockstep. Raises Beyond for what is not for a small run.

    An input that is not read need not be given. `work` is how many points it may take.
    """
    program = unpack(program)
    one, faults, left, loose = constants(sizes), Faults(cap), [work, 0], False
    arrays = {
        t.name: Cells(t.name, t.dtype, "input", _shape(t.shape, one), list(inputs.get(t.name, ()))) for t in program.op.inputs
    }
    for name, dtype, shape, space in (
        *((t.name, t.dtype, t.shape, "output") for t in program.op.outputs),
        *((w.name, w.dtype, w.extents, "workspace") for w in program.workspaces),
    ):
        arrays[name] = _cells(name, dtype, space, _shape(shape, one), 1)
    decided = by_data(program)
    for number, launch in enumerate(program.launches):
        loose |= _launch(number, launch, sizes, arrays, faults, left, decided)
    outputs = {}
    for tensor in program.op.outputs:
        cells = arrays[tensor.name]
        outputs[tensor.name] = [cells.unwritten if v is None else v for v in cells.values]
        never = [a for a, v in enumerate(cells.values) if v is None]
        faults.found += [NeverStored(tensor.name, cells.index(a)) for a in never[: max(0, cap - len(faults.found))]]
    return Small(outputs, tuple(faults.found), left[1], loose)


def _shape(shape: tuple[Term, ...], one: Points) -> tuple[int, ...]:
    return tuple(max(0, evaluate(extent, one)) for extent in shape)


def _cells(name: str, dtype: str, space: str, extents: tuple[int, ...], pieces: int) -> Cells:
    rounded(0, dtype)  # of a dtype that is beyond us
    if prod(extents) * pieces > CELLS:
        raise Beyond(f"{name} is large")
    return Cells(name, dtype, space, extents, [None] * (prod(extents) * pieces))


def _launch(
    number: int,
    launch: Launch,
    sizes: Mapping[str, int],
    arrays: dict[str, Cells],
    faults: Faults,
    left: list[int],
    by_data: bool,
) -> bool:
    """All blocks of one launch; gives whether its values are rough."""
    one = constants(sizes)
    grid, block = (_shape(tuple(a.extent for a in axes), one) for axes in (launch.grid, launch.block))
    blocks, threads = prod(grid), prod(block)
    lanes = blocks * threads
    if lanes > LANES:
        raise Beyond(f"{lanes} lanes")
    if any(isinstance(s, Barrier) and s.scope == "warp" for s in steps(launch.body)):
        raise Beyond("a warp barrier")
    kinds = accesses(launch)
    for name, cells in arrays.items():
        cells.begin(kinds.get(name, frozenset()))
    if not lanes:
        return False
    columns: dict[str, Listed] = {**sizes, LANE: list(range(lanes)), TURN: 0}
    columns[BLOCK] = 0 if blocks == 1 else [lane // threads for lane in range(lanes)]
    stride = lanes
    for axis, extent in zip(launch.grid + launch.block, grid + block, strict=True):
        stride //= extent
        columns[axis.name] = 0 if extent == 1 else [lane // stride % extent for lane in range(lanes)]
    own = {}
    for step in steps(launch.body):
        if isinstance(step, Local | Shared):
            pieces, space = (lanes, "local") if isinstance(step, Local) else (blocks, "shared")
            own[step.name] = _cells(step.name, step.dtype, space, _shape(step.extents, one), pieces)
            own[step.name].shadow = Shadow("block") if isinstance(step, Shared) else None
    names, root = tuple(a.name for a in launch.grid + launch.block), Points(lanes, columns)
    start = Event(number, launch.body[0], names, (), (), (), root) if launch.body else None
    if start is not None:
        run = Run(number, threads, lanes, names, root, {**arrays, **own}, faults, left, by_data, start)
        run_steps(run, launch.body, root)
        return run.loose
    return False


def run_steps(run: Run, body: tuple[Step, ...], at: Points) -> None:
    """One step after the other."""
    for step in body:
        match step:
            case Local(name):
                cells = run.cells[name]
                for lane in at[LANE]:
                    cells.values[lane * cells.each : (lane + 1) * cells.each] = [None] * cells.each
            case Assign():
                run.enter(step, 1)
                _assign(run, step, at)
            case For():
                run.enter(step)
                _for(run, step, at)
            case If(guard, inner):
                run.enter(step, 0)
                there = held(guard, at, run)
                if there is not None:
                    run_steps(run, inner, there)
            case Barrier(scope):
                run.enter(step, 1)
                passed = whole(run, "barrier", scope, at)
                for cells in run.cells.values():
                    if cells.shadow is not None and cells.space == "shared":
                        cells.shadow.forget(passed, cells.each, len(passed) * run.threads == run.lanes)
            case Holds():
                if step.value.dtype in FLOATS:
                    raise Beyond("a ghost fact about floats")
                run.enter(step, 1)
                _holds(run, step, at)


def _for(run: Run, step: For, at: Points) -> None:
    if _at_once(run, step, at):
        return
    name, (extents, (most,)) = step.axis.name, box_of((step.axis,), at, run)
    outer = run.loops
    for k in range(most):
        run.left[1] += STEP
        run.spend(0)
        run.loops = (*outer, (name, k))
        now = at.bound(**{name: k})
        if isinstance(extents[0], list):
            picks = [p for p, e in enumerate(extents[0]) if k < e]
            now = now.some(picks, variables(step.axis.extent))
        if now.size:
            run_steps(run, step.body, now)
    run.loops = outer


def _at_once(run: Run, step: For, at: Points) -> bool:
    """Runs a nest of loops around one assignment at once, where `interpret` does."""
    if id(step) not in run.nests:
        run.nests[id(step)] = find_nest(step)
    nest = run.nests[id(step)]
    if nest is None or any(variables(axis.extent) & set(run.factors) for axis in nest.axes):
        return False
    extents, box = box_of(nest.axes, at, run)
    if any(isinstance(e, list) for e in extents):
        return False
    if 0 in box:
        return True
    run.afford(prod(box) * at.size)
    names = tuple(axis.name for axis in nest.axes)
    target = run.cells[nest.assign.target]
    if target.space != "local" and nest.assign.update and not nest.assign.atomic:
        return False
    if target.space == "local" and not _distinct(run, nest, at, names, box, target.extents):
        return False
    run.axes, run.box = names, box
    run.enter(nest.origin, prod(box))
    inside = at.times(names, box, outer=True)
    inside.columns[TURN] = [turn for turn in range(prod(box)) for _ in range(at.size)]
    _assign(run, nest.assign, inside)
    run.axes, run.box = (), ()
    return True


def _distinct(run: Run, nest: Nest, at: Points, names: tuple[str, ...], box: tuple[int, ...], extents: tuple[int, ...]) -> bool:
    """Whether the iterations write different cells that exist, the same ones in every lane."""
    if any(reads(i) or variables(i) & set(run.factors) for i in nest.assign.index):
        return False
    turns = Points(1, {name: at[name] for i in nest.assign.index for name in variables(i) if name not in names}).times(names, box)
    index = [evaluate(i, turns, run) for i in nest.assign.index]
    if any(not all(0 <= v < n for v in (i if isinstance(i, list) else (i,))) for i, n in zip(index, extents, strict=True)):
        return False
    return len(set(zip(*(i if isinstance(i, list) else [i] * turns.size for i in index), strict=True))) == turns.size


def _assign(run: Run, step: Assign, at: Points) -> None:
    there = held(step.guard, at, run)
    if there is None:
        return
    index = [evaluate(i, there, run) for i in step.index]
    value = evaluate(step.value, there, run)
    target, dtype = run.cells[step.target], step.value.dtype
    if step.atomic and target.space != "local":
        target.update(step.update, index, rounded(value, dtype), there, run)
        return
    if step.update:
        seen = frozenset().union(*map(variables, step.index))
        value = mapped(combining(step.update, dtype), target.read(index, there, seen, run), value)
    target.store(index, rounded(value, dtype), there, run)


def _holds(run: Run, step: Holds, at: Points) -> None:
    """A ghost fact about numbers that are not rounded: the cell is what is said of it, where that is defined."""
    run.ghost = True
    index = [evaluate(i, at, run) for i in step.index]
    got, want = run.cells[step.target].read(index, at, frozenset(), run, True), evaluate(step.value, at, run)
    run.ghost = False
    bad = 0
    for p in range(at.size):
        a, b = (v[p] if isinstance(v, list) else v for v in (got, want))
        if (not b.undefined and a.apart(b)) if step.value.dtype == REAL else a != b:
            bad += 1
            if bad <= EACH:
                where = tuple(i[p] if isinstance(i, list) else i for i in index)
                run.report(HoldsViolated(run.at(at, p), step.target, where, *map(float, (a, b))))
