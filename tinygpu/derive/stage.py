"""Stages: the shared arrays of a launch, and the steps by which a block fills them.

Comes in: the stages of a launch. Goes out: a `Tile` for each, and its copy. The one idea: all threads take part in a copy, whatever
they compute later, and a thread that has nothing to copy is guarded at its own store, so that every barrier is reached by all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.category.decide import holds
from tinygpu.category.owner import digits as cut_into
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    equal,
    memoised,
    outermost_folds,
    reads,
    rebuild,
    select,
    substitute,
    variables,
    walk,
)  # fmt: skip
from tinygpu.derive.fold import Place, folded
from tinygpu.derive.nest import Build, cells, loops, own, point
from tinygpu.derive.operand import fill
from tinygpu.derive.plan import taken, whole_vector
from tinygpu.derive.tile import Tile, Tiles, localized, touches
from tinygpu.model.machine import Launch, inlined
from tinygpu.model.op import Op
from tinygpu.model.problems import refused
from tinygpu.model.tile import BLOCK, Stage
from tinygpu.program.space import SHARED
from tinygpu.program.step import Array, Assign, Step
from tinygpu.record import dataclass, replace


def declare(build: Build, op: Op, launch: Launch) -> None:
    """Gives each stage its shared array, and says what stands in it outside the tensor: the pad, where the equations have just one."""
    build.tiles, build.copies = {}, {}
    values = inlined(launch.phases, launch.stages) if launch.stages else {}
    for stage in launch.stages:
        tensor = op.tensor(stage.tensor)
        if tensor in op.outputs:
            raise refused("TG542.output", stage.span, name=tensor.name)
        pads = {pad for value in values.values() for pad in padded(value, stage.name)}
        tile = Tile(
            build.fresh(f"{stage.tensor}_tile"),
            stage,
            tensor.shape,
            pads.pop() if len(pads) == 1 else fill(tensor.dtype),
            stage.span,
        )
        build.tiles[stage.name] = build.tiles[tile.array] = tile
        extents = tuple(Const(stage.sides[axis].extent) for axis in stage.order)
        build.locals.append(Array(tile.array, tensor.dtype, extents, SHARED, stage.layout, stage.span))


def padded(value: Term, name: str) -> set[Const]:
    """The constants that stand for a tensor outside of it."""
    selects = (term.args for term in walk(value) if isinstance(term, App) and term.op == "select")
    return {pad for _, read, pad in selects if isinstance(pad, Const) and isinstance(read, Read) and read.tensor == name}


def unpadded(term: Term, op: Op) -> Term:
    """The term with the elements themselves for those that are 0 outside of their tensor, as tiles hold them."""
    match term:
        case App("select", (inside, Read(name, index) as read, Const(0))):
            bounds = {b for i, n in zip(index, op.tensor(name).shape, strict=True) for b in (i >= 0, i < n)}
            return read if bounds.issuperset(conjuncts(inside)) else term
    return rebuild(term, lambda t: unpadded(t, op))


def copy(build: Build, op: Op, launch: Launch) -> None:
    """The steps that fill each tile."""
    made = frozenset(p.equation.target for p in launch.phases)
    for tile in (build.tiles[stage.name] for stage in launch.stages):
        build.copies[tile.array] = filled(build, op, tile, made)


def read_at_all(build: Build, body: Sequence[Step]) -> None:
    """Leaves out the arrays of tiles that nothing reads: their values were put in where they are needed."""
    build.locals[:] = [one for one in build.locals if one.name not in build.tiles or touches(body, {one.name})]


def filled(build: Build, op: Op, tile: Tile, made: frozenset[str]) -> tuple[Step, ...]:
    """`array[local] = tensor[outside(local)]` by all threads of the block, each its own part. `made` are the values of this launch."""
    stage, owner = tile.stage, tile.stage.owner
    mine, digits, guards = threads(build, stage)
    box = Region(build.axes + mine)
    absent = tuple(equal(digits[a.name], 0) for a in stage.block if a.name not in owner.domain.names)
    parts = (*(substitute(g, digits) for g in owner.domain.guard), *guards, *absent)
    guard = simplify(conjunction(*parts), box)
    local = [simplify(substitute(term, digits), box) for term in owner.terms]
    value, bounds = held(build, op, tile, made)
    here = {axis.name: term for axis, term in zip(points(tile), local, strict=True)}
    value, inside = substitute(value, here), substitute(bounds, here)
    inside = simplify(conjunction(*(whole_vector(simplify(b, box), box.axes, build.where) for b in conjuncts(inside))), box)
    place = Place(own(mine), (*conjuncts(guard), *conjuncts(inside)), stage.span)
    value = simplify(value, box)
    steps, (value,) = folded(build, (value if anywhere(build, value, box) else taken(value),), place, ("",))
    there = tuple(local[axis] for axis in stage.order)
    store = Assign(tile.array, there, select(inside, value, tile.fill), guard=guard, span=stage.span)
    turns = tuple(a for a in mine if a.sort == "time")
    return loops(turns, (*steps, *cells(build, own(mine), (store,), stage.span)), stage.span)


def anywhere(build: Build, value: Term, box: Region) -> bool:
    """Whether a core may fold in all lanes, whatever they choose afterwards: all that it reads is there."""
    every = [(r, Region((*box.axes, *f.axes), (*box.guard, *conjuncts(f.guard)))) for f in outermost_folds(value) for r in reads(f)]
    sides = [(i, n, at) for r, at in every for i, n in zip(r.index, build.tensors.get(r.tensor, r.index), strict=True)]
    return build.core and all(holds(asked, at) is True for i, n, at in sides for asked in (i >= 0, i < n))


def points(tile: Tile) -> tuple[Axis, ...]:
    """The axes of a tile under names that no text has."""
    return tuple(Axis(f"{tile.array}.{side.name}", Const(side.extent)) for side in tile.stage.sides)


def held(build: Build, op: Op, tile: Tile, made: frozenset[str]) -> tuple[Term, Term]:
    """What a point of the tile holds, and where it holds that: the bounds of the tensor, as far as they are not sure."""
    axes = build.axes + points(tile)
    box = Region(axes, build.where)
    index = tile.stage.outside(point(points(tile)))
    bounds = conjunction(*(b for b in tile.bounds(index) if holds(b, box) is not True))
    if tile.stage.tensor not in made:
        return Read(tile.stage.tensor, index, tile.fill.dtype, tile.span), bounds
    earlier = {
        name: one for name, one in build.tiles.items() if one.array in build.copies and one.stage.at in (BLOCK, tile.stage.at)
    }
    value = computed(build, op, Read(tile.stage.tensor, index, tile.fill.dtype, tile.span), made, Held(earlier, Region(axes)))
    return localized(value, earlier, Region(axes, conjuncts(bounds))), bounds


@dataclass(frozen=True, slots=True)
class Held:
    """The tiles that are there, and the box of the points at which they are read."""

    tiles: Tiles
    box: Region

    def named(self, read: Read) -> Read | None:
        """The read bearing the name of a stage that holds it everywhere on the box, if there is one."""
        for name, tile in self.tiles.items():
            if name == tile.stage.name and tile.stage.tensor == read.tensor:
                sides = [tile.stage.sides[axis].extent for axis in tile.stage.order]
                places = zip(tile.inside(read.index), sides, strict=True)
                if all(holds(guard, self.box) is True for i, n in places for guard in (i >= 0, i < n)):
                    return replace(read, tensor=name)
        return None


def threads(build: Build, stage: Stage) -> tuple[tuple[Axis, ...], Mapping[str, Term], tuple[Term, ...]]:
    """The copy's own loops under names that are free, its factors as terms over them and the thread, and who takes part."""
    mine: list[Axis] = []
    digits: dict[str, Term] = {}
    for axis in stage.owner.domain.axes:
        if axis.sort != "block":
            name = loop(build, "copy", axis.name)
            mine.append(replace(axis, name=name))
            digits[axis.name] = Var(name)
    those = cut_into(stage.block, build.block)
    return tuple(mine), {**digits, **those.by_axis}, those.domain.guard


def loop(build: Build, kind: str, factor: str, around: frozenset[str] = frozenset()) -> str:
    """The name of a loop for a factor of a copy, or of a fold in it: one for all copies, and free elsewhere and `around` it."""
    key = f"{kind} {factor}"
    if key not in build.digits:
        build.digits[key] = build.fresh(factor)
    name = build.digits[key]
    return name if name not in around else loop(build, f"inner {kind}", factor, around)


def computed(build: Build, op: Op, read: Read, made: frozenset[str], held: Held) -> Term:
    """The value of an equation at an index, by what is in memory and in other tiles; its folds are loops of the thread."""
    equation = op.equation(read.tensor)
    value = substitute(equation.value, dict(zip((a.name for a in equation.axes), read.index, strict=True)))
    around = frozenset().union(*map(variables, read.index))  # a fold in a fold of another equation has its own loop

    @memoised
    def put(term: Term) -> Term:
        if isinstance(term, Fold):
            names = {a.name: loop(build, "fold", a.name, around) for a in term.axes}
            axes = tuple(Axis(names[a.name], a.extent, "time", a.span) for a in term.axes)
            new: Mapping[str, Term] = {old: Var(name) for old, name in names.items() if old != name}
            guard, body = put(substitute(term.guard, new)), put(substitute(term.body, new))
            return Fold(term.monoid, axes, guard, body, term.dtype, term.span)
        term = rebuild(term, put)
        if not isinstance(term, Read):
            return term
        if (there := held.named(term)) is not None:
            return there
        running = build.running.get(term.tensor)
        return running(term.index) if running else computed(build, op, term, made, held) if term.tensor in made else term

    return put(value)
