"""Rings: tiles that take turns, so that the copies of the next ones are under way while the threads compute.

    for ko { copy A(ko); barrier; compute; barrier }
        ↦   for p < n - 1 { async copy A(p) to slot p; commit }
            for ko { wait n - 2; barrier; async copy A(ko + n - 1) to slot (ko + n - 1) % n; commit; compute from slot ko % n }
    or, where threads copy by way of registers,
        ↦   for p < n - 1 { copy A(p) to slot p };  barrier
            for ko { load A(ko + n - 1); compute from slot ko % n; store it to slot (ko + n - 1) % n; barrier }

Comes in: the steps of a launch with the copies of its stages. Goes out: those where a stage is a ring turned so, and its array with a slot in front. The one idea: a
program → program step before the proof, so nothing about it is believed: what it gives is proved as any other program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.category.decide import holds
from tinygpu.category.region import Region
from tinygpu.category.term import (
    FLOATS,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    memoised,
    rebuild,
    select,
    substitute,
)
from tinygpu.derive.nest import Build
from tinygpu.derive.tile import Tile
from tinygpu.model.problems import refused
from tinygpu.program.call import COPY, Commit, Sync, Wait
from tinygpu.program.pending import source
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, Step, body_of, steps
from tinygpu.program.traverse import Body, map_steps, map_terms, with_body, written
from tinygpu.record import replace


def ringed(build: Build, body: Body, around: bool = False) -> Body:
    """The body with its rings, which may be `around`ed by a loop. Raises TG546."""
    out: list[Step] = []
    for step in body:
        step = with_body(step, ringed(build, body_of(step), around or isinstance(step, For)))
        found = {t.array: t for t in build.tiles.values() if isinstance(step, For) and t.stage.at == step.axis.name}
        used = {name: tile for name, tile in found.items() if name in written(body_of(step))}
        if isinstance(step, For) and any(t.stage.ring for t in used.values()):
            out += turned(build, step, used, around)
        else:
            out.append(step)
    return tuple(out)


def turned(build: Build, loop: For, tiles: Mapping[str, Tile], around: bool) -> Body:
    """A loop that begins with the copies of these tiles, as a ring. In a loop around it the last turn's copies land before, and all threads have read."""
    tile, axis = next(t for t in tiles.values() if t.stage.ring), loop.axis
    slots, first = tile.stage.ring, next(at for at, step in enumerate(loop.body) if isinstance(step, Sync))
    copies, rest = loop.body[:first], loop.body[first + 1 :]
    if boxed := next((t for t in tiles.values() if t.stage.by), None):
        raise refused("TG546.boxes", boxed.span, by=boxed.stage.by)
    if (
        any((t.stage.ring, t.stage.later) != (slots, tile.stage.later) for t in tiles.values())
        or not written(copies) == tiles.keys()
        or written(rest) & tiles.keys()
    ):
        raise refused("TG546.ring", tile.span, at=axis.name)
    if rest and isinstance(rest[-1], Sync):
        rest = rest[:-1]
    sides = {s.target: len(s.index) for s in steps(copies) if isinstance(s, Assign) and s.target in tiles}
    slotless = {a.name for a in build.locals if len(a.extents) == sides.get(a.name)}  # another loop may have made a ring of it
    build.locals[:] = [replace(a, extents=(Const(slots), *a.extents)) if a.name in slotless else a for a in build.locals]
    later, meet, ends = tile.stage.later, Sync(span=tile.span), Commit(span=tile.span)
    turn, ahead = Axis(build.fresh("p"), Const(slots - 1), "time"), Var(axis.name) + (slots - 1)
    begun = ahead_of(build, copies, axis, Var(turn.name), Var(turn.name), later)
    further = ahead_of(build, copies, axis, ahead, ahead % slots, later)
    if later:
        after = (Wait(0, span=tile.span), meet) if around or slotless != tiles.keys() else ()
        before: Body = (*after, For(turn, (*begun, ends), loop.span))
        here, behind = (Wait(slots - 2, span=tile.span), meet, *further, ends), Body()
    else:
        here, behind = halves(build, further)
        before, behind = (For(turn, begun, loop.span), meet), (*behind, meet)
    slot = Var(axis.name) % slots

    @memoised
    def put(term: Term) -> Term:
        term = rebuild(term, put)
        return replace(term, index=(slot, *term.index)) if isinstance(term, Read) and term.tensor in tiles else term

    return (*before, replace(loop, body=(*here, *map_steps(rest, lambda step: (map_terms(step, put),)), *behind)))


def halves(build: Build, copies: Sequence[Step], axes: tuple[Axis, ...] = ()) -> tuple[Body, Body]:
    """Copies as loads to cells of the thread, and the stores of these."""
    first, second = list[Step](), list[Step]()
    for step in copies:
        match step:
            case For(axis, body):
                axis = replace(axis, sort="register") if axis.sort == "time" else axis
                load, store = halves(build, body, (*axes, axis))
                first.append(replace(step, axis=axis, body=load))
                second.append(replace(step, axis=axis, body=store))
            case Assign(target, _, value, guard=guard):
                name = build.fresh(f"{target}_next")
                build.locals.append(Array(name, value.dtype, tuple(a.extent for a in axes), LOCAL, span=step.span))
                cell = Read(name, tuple(Var(a.name) for a in axes), value.dtype, step.span)
                first.append(Assign(name, cell.index, value, guard=guard, span=step.span))
                second.append(replace(step, value=cell))
            case _:
                raise AssertionError("a copy of a ring is loops and assignments")
    return tuple(first), tuple(second)


def ahead_of(build: Build, copies: Sequence[Step], axis: Axis, turn: Term, slot: Term, later: bool) -> Body:
    """The copies of another turn, to a slot, if there is that turn. Raises TG546 where one is more than a copy."""

    def change(step: Step) -> tuple[Step, ...]:
        if not isinstance(step, Assign):
            return (step,)
        element = source(step.value)
        if element is None or element.tensor not in build.tensors:
            raise refused("TG546.copied", step.span, at=axis.name)
        asked, nought = (
            step.value.args[0] if isinstance(step.value, App) else TRUE,
            Const(0.0 if element.dtype in FLOATS else 0, element.dtype),
        )
        far = map_terms(replace(step, value=element), lambda term: substitute(term, {axis.name: turn}))
        inside = substitute(asked, {axis.name: turn})
        free = Region(tuple(a for a in build.axes if a.name != axis.name), (*build.where, *conjuncts(inside)))
        if holds(turn < axis.extent, free) is not True:
            inside = conjunction(turn < axis.extent, inside)
        value = select(inside, far.value, nought)
        return (replace(far, value=value, index=(slot, *far.index), pending=COPY if later else ""),)

    return map_steps(copies, change)
