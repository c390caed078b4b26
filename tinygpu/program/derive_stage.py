"""Stages: the shared arrays of a launch, and the steps by which a block fills them.

Comes in: the stages of a launch. Goes out: a `Tile` for each, and its copy. The one idea: all threads take part in a copy, whatever
they compute later, and a thread that has nothing to copy is guarded at its own store, so that every barrier is reached by all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from tinygpu.category.box import Box
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    App, Axis, Const, Fold, Read, Term, Var, conjunction, conjuncts, equal, lift, rebuild, select, substitute, walk,
)  # fmt: skip
from tinygpu.model.inlined import inlined
from tinygpu.model.machine import Launch
from tinygpu.model.op import Op
from tinygpu.model.tile import Stage
from tinygpu.program.derive_fold import Place, folded
from tinygpu.program.derive_nest import Build, cells, loops, own, point
from tinygpu.program.derive_operand import fill
from tinygpu.program.derive_plan import whole
from tinygpu.program.derive_tile import Tile
from tinygpu.program.layout import Layout
from tinygpu.program.step import Assign, Shared, Step


def declare(build: Build, op: Op, launch: Launch) -> None:
    """Gives each stage its shared array, and says what stands in it outside the tensor: the pad, where the equations have just one."""
    build.tiles, build.copies = {}, {}
    values = inlined(launch.phases, {t.name for t in op.inputs}, launch.stages) if launch.stages else {}
    for stage in launch.stages:
        tensor = op.tensor(stage.tensor)
        pads = {pad for value in values.values() for pad in padded(value, stage.name)}
        tile = Tile(
            build.fresh(f"{stage.tensor}_tile"), stage, tensor.shape, pads.pop() if len(pads) == 1 else fill(tensor.dtype), stage.span
        )
        build.tiles[stage.name] = build.tiles[tile.array] = tile
        extents = tuple(Const(stage.sides[axis].extent) for axis in stage.order)
        build.locals.append(Shared(tile.array, tensor.dtype, extents, Layout(stage.pad, stage.swizzle), stage.span))


def padded(value: Term, name: str) -> set[Const]:
    """The constants that stand for a tensor outside of it."""
    return {
        pad
        for term in walk(value)
        for pad in (term.args[2:] if isinstance(term, App) and term.op == "select" else ())
        if isinstance(pad, Const) and isinstance(term, App) and isinstance(term.args[1], Read) and term.args[1].tensor == name
    }


def copy(build: Build, op: Op, launch: Launch) -> None:
    """The steps that fill each tile."""
    for stage in launch.stages:
        tile = build.tiles[stage.name]
        build.copies[tile.array] = filled(build, op, tile)


def filled(build: Build, op: Op, tile: Tile) -> tuple[Step, ...]:
    """`array[local] = tensor[outside(local)]` by all threads of the block, each its own part."""
    stage, owner = tile.stage, tile.stage.owner
    mine, digits, guards = threads(build, stage)
    box = Box(build.axes + mine)
    used = set(owner.domain.names)
    absent = tuple(equal(digits[a.name], 0) for a in stage.block if a.name not in used)
    parts = (*(substitute(g, digits) for g in conjuncts(owner.domain.guard)), *guards, *absent)
    guard = simplify(conjunction(*parts), box)
    local = tuple(simplify(substitute(term, digits), box) for term in owner.terms)
    index = tuple(simplify(i, box) for i in stage.outside(local))
    bounds = simplify(conjunction(*(whole(b, box.axes, build.where) for b in tile.bounds(index))), box.guarded(guard, *build.where))
    steps: tuple[Step, ...] = ()
    value: Term
    if stage.tensor in {t.name for t in op.inputs}:
        value = Read(stage.tensor, index, tile.fill.dtype, stage.span)
    else:
        value = covered(build, simplify(computed(build, op, stage.tensor, index), box), tile, box.guarded(guard, bounds))
        place = Place(own(mine), (*conjuncts(guard), *conjuncts(bounds)), stage.span)
        steps, (value,) = folded(build, (value,), place, ("",))
    there = tuple(local[axis] for axis in stage.order)
    store = Assign(tile.array, there, select(bounds, value, tile.fill), guard=guard, span=stage.span)
    turns = tuple(a for a in mine if a.sort == "time")
    return loops(turns, (*steps, *cells(build, own(mine), (store,), stage.span)), stage.span)


def threads(build: Build, stage: Stage) -> tuple[tuple[Axis, ...], Mapping[str, Term], tuple[Term, ...]]:
    """The copy's own loops under names that are free, its factors as terms over them and the thread, and who takes part."""
    taken = {a.name for a in build.axes}
    mine: list[Axis] = []
    digits: dict[str, Term] = {}
    for axis in stage.owner.domain.axes:
        if axis.sort != "block":
            name = axis.name if axis.name not in taken else build.digit(axis.name)
            build.taken.add(name)
            mine.append(replace(axis, name=name))
            digits[axis.name] = Var(name)
    if [a.name for a in stage.block] == [a.name for a in build.block]:
        return tuple(mine), {**digits, **{a.name: Var(a.name) for a in stage.block}}, ()
    flat: Term = lift(0)
    for axis in build.block:
        flat = flat * axis.extent + Var(axis.name)
    step = 1
    for axis in reversed(stage.block):
        digit = flat // step
        digits[axis.name] = digit if axis is stage.block[0] else digit % axis.extent
        step *= number(axis)
    few = step < prod(map(number, build.block))
    return tuple(mine), digits, (flat < step,) if few else ()


def number(axis: Axis) -> int:
    """The extent of a factor of a block."""
    assert isinstance(axis.extent, Const), "block factors have constant extents"
    return int(axis.extent.value)


def computed(build: Build, op: Op, target: str, index: Sequence[Term]) -> Term:
    """The value of an equation at an index, by the inputs alone; its folds are loops of the thread."""
    equation = op.equation(target)
    value = substitute(equation.value, dict(zip((a.name for a in equation.axes), index, strict=True)))
    inner = {t.name for t in op.intermediates}

    def put(term: Term) -> Term:
        if isinstance(term, Fold):
            names = {a.name: build.digit(a.name) if a.name in {b.name for b in build.axes} else a.name for a in term.axes}
            build.taken.update(names.values())
            axes = tuple(Axis(names[a.name], a.extent, "time", a.span) for a in term.axes)
            new = {old: Var(name) for old, name in names.items() if old != name}
            return Fold(term.monoid, axes, put(substitute(term.guard, new)), put(substitute(term.body, new)), term.dtype, term.span)
        term = rebuild(term, put)
        return computed(build, op, term.tensor, term.index) if isinstance(term, Read) and term.tensor in inner else term

    return put(value)


def covered(build: Build, value: Term, tile: Tile, box: Box) -> Term:
    """The value with what an earlier tile of the same place holds read from there."""
    return value
