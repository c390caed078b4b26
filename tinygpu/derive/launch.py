"""A launch of a machine, as what every thread does in it.

Comes in: a launch. Goes out: its steps. The one idea: an equation becomes a nest, the loops of
its output outside, its folds inside, its store last, and each part of the guard stands where the loops around it know its factors. A tensor
that is kept is an equation too: it is read once into the thread's own cells, one for each point of register and vector factors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tinygpu.category.decide import holds
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    Axis,
    Read,
    Term,
    conjunction,
    conjuncts,
    exchange,
    lift,
    outermost_folds,
    reads,
    select,
    substitute,
    variables,
    walk,
)
from tinygpu.derive.equations import check_scans, plans
from tinygpu.derive.factors import factors, halved
from tinygpu.derive.fold import Place, folded
from tinygpu.derive.nest import Build, cells, guarded, loops, own, point
from tinygpu.derive.online import side_by_side, turned
from tinygpu.derive.operand import fill
from tinygpu.derive.plan import Plan
from tinygpu.derive.ring import ringed
from tinygpu.derive.scan import begun, scanned
from tinygpu.derive.stage import copy, declare, read_at_all
from tinygpu.derive.state import Turn, earlier, induced
from tinygpu.derive.tile import check_tiles, placed
from tinygpu.model import machine as model
from tinygpu.model.problems import refused
from tinygpu.model.tile import BLOCK
from tinygpu.program.call import Prefetch, Stream, Sync
from tinygpu.program.step import Assign, Launch, Step
from tinygpu.program.traverse import map_steps
from tinygpu.record import dataclass, replace
from tinygpu.syntax.tree import Keep


def launched(build: Build, machine: model.Machine, launch: model.Launch) -> Launch:
    """`launch → launch` of steps: the locals first, then the equations in order."""
    launch, todo = begin(build, machine, launch)
    body = placed(build.tiles, build.copies, BLOCK, sequence(build, todo, Around()), turns=False)
    read_at_all(build, body)
    check_tiles(build.tiles, body, frozenset(build.sizes).union(a.name for a in launch.grid + launch.block))
    body = in_order_alone(body) if build.core else ringed(build, body) if build.block else body
    body = (*fetched(build, launch, todo), *body)
    return Launch(launch.grid, launch.block, (*build.locals, *body), launch.span, cluster=launch.cluster)


def begin(build: Build, machine: model.Machine, launch: model.Launch) -> tuple[model.Launch, tuple[Plan, ...]]:
    """`launch → launch, plans`: the launch over the factors that its threads have in the program, and its equations in order."""
    build.block, build.time, build.locals, build.alive = launch.block, launch.time, [], {}
    check_scans(build, launch)
    launch = halved(build, launch)
    build.block, build.axes = launch.block, tuple({a.name: a for a in factors(launch)}.values())
    declare(build, machine.op, launch)
    todo = kept(build, side_by_side(build, machine.op, launch, plans(build, machine.op, launch)), launch.keeps)
    copy(build, machine.op, launch)
    build.earlier = earlier(build, todo)
    return launch, todo


def in_order_alone(body: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps of one thread: what it does is in order without barriers."""
    return map_steps(body, lambda step: () if isinstance(step, Sync) else (step,))


def fetched(build: Build, launch: model.Launch, todo: Sequence[Plan]) -> Iterator[Step]:
    """`stream y`, and `prefetch x[r, 0]`: before it does anything, a point asks for what it reads first of each tensor, if that is there."""
    yield from (Stream(name, launch.span) for name in launch.streams)
    work = {a.name for a in launch.grid}.union(build.sizes)
    for name in launch.prefetches:
        read = next((r for plan in todo for r in reads(plan.value) if r.tensor == name), None)
        if read is not None:
            first = {v: lift(0) for v in variables(read) - work}
            element = replace(read, index=tuple(simplify(substitute(i, first)) for i in read.index))
            yield from guarded(
                conjuncts(bounds(build, element, Region(launch.grid, build.where))), (Prefetch(element, launch.span),), launch.span
            )


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a step: the loops, which turn of the derivation opened them, and the parts of guards asked already."""

    opened: tuple[Axis, ...] = ()
    path: tuple[int, ...] = ()
    given: frozenset[Term] = frozenset()


def sequence(build: Build, todo: Iterable[Plan], around: Around) -> tuple[Step, ...]:
    """Plans in order. Neighbours that have the same next loop share it, and neighbours that ask the same guard share one `if`."""
    items: list[tuple[tuple[Term, ...], tuple[Step, ...]]] = []
    for (axis, _), run in groupby(
        todo, lambda p: next(((a, p.goes_on(a)) for a in p.time if a not in around.opened), (None, False))
    ):
        if axis is None:
            items.extend(together(build, batch, around) for batch in batches(run, around))
        else:
            items.append(shared(build, axis, tuple(run), around))
    steps: list[Step] = []
    for parts, same in groupby(items, lambda item: item[0]):
        inner = tuple(step for _, body in same for step in body)
        steps.extend(guarded(parts, inner, inner[0].span))
    return tuple(steps)


def shared(build: Build, axis: Axis, run: tuple[Plan, ...], around: Around) -> tuple[tuple[Term, ...], tuple[Step, ...]]:
    """One loop of the output around several plans, and the parts of their guards that they all ask before it."""
    parts = tuple(p for p in known(run[0], around) if all(p in known(plan, around) for plan in run))
    build.turns += 1
    inside = Around((*around.opened, axis), (*around.path, build.turns), around.given.union(parts))
    body = placed(build.tiles, build.copies, axis.name, sequence(build, run, inside), turns=True)
    carried = [p for p in run if p.scan and p.scan.factors("time")[:1] == (axis,)]
    first = tuple(step for p in carried if p.scan for step in begun(p.scan, p.cells))
    return parts, (*build.begins.pop(axis.name, ()), *first, *loops((axis,), body, run[0].span))


def known(plan: Plan, around: Around) -> tuple[Term, ...]:
    """The parts of a plan's guard that can be asked here: they need no factor of a loop that is not open, and are not asked yet.

    Where threads work together, an `if` is taken by all of them or by none.
    """
    later = ({a.name for a in plan.cells + plan.time} - {a.name for a in around.opened}) | plan.apart
    parts = plan.parts if plan.kept else plan.parts + plan.absent
    return tuple(p for p in parts if p not in around.given and not variables(p) & later)


def batches(run: Iterable[Plan], around: Around) -> Iterator[tuple[Plan, ...]]:
    """Neighbours whose folds may share a loop: the same cells and guards, and none reads what another one keeps."""
    batch: list[Plan] = []
    for plan in run:
        read = {t.tensor for t in walk(plan.value) if isinstance(t, Read)}
        alike = (
            batch
            and not plan.online
            and all(
                not p.online
                and outermost_folds(p.value)
                and asks(p, around) == asks(plan, around)
                and (p.cells, p.ways) == (plan.cells, plan.ways)
                for p in (*batch, plan)
            )
        )
        if batch and (not alike or read & {p.kept for p in batch}):
            yield tuple(batch)
            batch = []
        batch.append(plan)
    if batch:
        yield tuple(batch)


def asks(plan: Plan, around: Around) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The parts of a plan's guard that stand around its steps, and those that stand in them. A plan without folds asks at its store."""
    before = known(plan, around) if outermost_folds(plan.value) or plan.scan or plan.induced else ()
    return before, tuple(p for p in plan.parts if p not in around.given.union(before))


def together(build: Build, batch: tuple[Plan, ...], around: Around) -> tuple[tuple[Term, ...], tuple[Step, ...]]:
    """Equations whose output loops are all open: their folds, then each value into its local or its output."""
    first = batch[0]
    before, rest = asks(first, around)
    for plan in batch:
        check_alive(build, plan, around)
    place = Place(first.cells, rest, first.span, first.ways, bool(around.opened))
    if first.online:
        build.alive[first.kept] = around.path[: around.opened.index(first.online.loop)]
        return before, turned(build, first, place)
    if first.scan:
        build.alive[first.kept] = around.path
        return before, scanned(build, first.scan, first.cells, place)
    first_steps, values = induced(
        build, tuple(p.value for p in batch), place, Turn(around.opened[-1] if around.opened else None, around.path, before)
    )
    steps, values = folded(build, values, place, tuple(p.kept for p in batch))
    steps = first_steps + steps
    for plan, value in zip(batch, values, strict=True):
        if plan.kept:
            build.alive[plan.kept] = around.path
            steps, value = steps + keep(build, plan, value, rest), Read(plan.kept, point(plan.cells), plan.dtype)
        if plan.stored:
            guard = conjunction(*rest, *(p for p in plan.absent if p not in around.given.union(before)))
            store = Assign(plan.target, plan.index, value, plan.update, guard, plan.span, atomic=bool(plan.update))
            steps += cells(build, plan.cells, (store,), plan.span)
    return before, steps


def keep(build: Build, plan: Plan, value: Term, rest: Sequence[Term]) -> tuple[Step, ...]:
    """The value into the local that later equations read, unless it is the accumulator already."""
    here = point(plan.cells)
    if value == Read(plan.kept, here, plan.dtype):
        return ()
    build.local(plan.kept, plan.dtype, plan.cells, plan.span)
    return cells(build, plan.cells, (Assign(plan.kept, here, value, guard=conjunction(*rest), span=plan.span),), plan.span)


def check_alive(build: Build, plan: Plan, around: Around) -> None:
    """Every kept value is read inside the turn of the loops that computed it. Raises TG530."""
    for term in walk(plan.value):
        if isinstance(term, Read) and term.tensor in build.alive:
            made = build.alive[term.tensor]
            if around.path[: len(made)] != made:
                raise refused("TG530.loop", term.span, plan.span, name=term.tensor)


def kept(build: Build, todo: Sequence[Plan], keeps: Sequence[Keep]) -> tuple[Plan, ...]:
    """The plans, each tensor that is kept read by a plan of its own; its cells are the register and vector factors of the element. Raises TG537
    where it cannot be: a loop of a fold walks along it, or it is read elsewhere too."""
    plans = list(todo)
    for keep in keeps:
        if any(p.kept and p.target == keep.tensor for p in plans):
            continue  # what is computed here has its cells
        found = [tuple(r for r in reads(p.value) if r.tensor == keep.tensor) for p in plans]
        every = tuple(dict.fromkeys(r for several in found for r in several))
        if len(every) != 1:  # the one element that every equation reads, for each point of its factors
            message = "TG537.several" if every else "TG537.nobody"
            raise refused(message, keep.span, *(r.span for r in every[:2]), name=keep.tensor)
        (read,) = every
        readers = [n for n, several in enumerate(found) if several]
        time = plans[readers[0]].time
        axes = tuple(a for a in build.axes if a.name in variables(read))
        outer = {a.name for a in time if all(a in plans[n].time for n in readers)}
        for axis in build.ordered(axes):
            if axis.name not in outer:
                raise refused("TG537.walks", keep.span, axis.span, name=keep.tensor, loop=axis.name)
        cells, name = own(axes), build.fresh(f"{keep.tensor}_cell")
        held = Read(name, point(cells), read.dtype, read.span)
        value = select(bounds(build, read), read, fill(read.dtype))
        plans = [replace(p, value=exchange(p.value, {read: held})) for p in plans]
        around = tuple(a for a in time if a.name in variables(read))
        plans.insert(readers[0], Plan(keep.tensor, read.dtype, (), value, cells, around, (), (), False, name, keep.span))
    return tuple(plans)


def bounds(build: Build, read: Read, box: Region | None = None) -> Term:
    """Where the element is in bounds, as far as that is not known in a region, or where all factors have a point."""
    box = box or Region(build.axes, build.where)
    asked = [p for i, n in zip(read.index, build.tensors[read.tensor], strict=True) for p in (i >= lift(0), i < n)]
    return conjunction(*(p for p in asked if holds(p, box) is not True))
