"""Loops that are written out: a store that one turn does not reach is left out of that turn, where another turn reaches it.

    for t < 2 { if t == 1 { w[i] = x[i] } }   ↦   if 1 == 1 { w[i] = x[i] }

Comes in: what each turn of a loop has become. Goes out: all turns, one after the other. The one idea: stores that come from one place of the text are
one store, so it is needless only where no turn reaches it; then it stays, and is told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from tinygpu.category.region import Region
from tinygpu.category.term import FALSE, Axis, Var, substitute
from tinygpu.diagnostic import Span
from tinygpu.program.step import Assign, For, If, Launch, Step, body_of
from tinygpu.program.traverse import Body, Path, map_every, walk_steps, with_body, written
from tinygpu.record import replace

T = TypeVar("T", Step, Launch)
Stores = dict[Path, tuple[Span, bool]]  # where they stand, from where in the text, and whether they are reached


def steps_reached(turns: Sequence[Body], around: Region, memory: Collection[str]) -> Body:
    """The steps of a loop in a launch; `memory` is what its stores are to."""

    def put(step: Step, at: int, lost: set[Path]) -> Body:
        return _without((step,), {path for path in lost if path[0] == at}, (), at)

    return tuple(_kept(turns, lambda turn: _stores(turn, around, memory), put))


def launches_reached(turns: Sequence[tuple[Launch, ...]], memory: Collection[str]) -> Iterator[Launch]:
    """The launches of a loop around them; one of which nothing is left that stores is none."""

    def stores(turn: Sequence[Launch]) -> Stores:
        every = [_stores(one.body, Region(one.grid + one.block), memory) for one in turn]
        return {(at, *path): found for at, one in enumerate(every) for path, found in one.items()}

    def put(one: Launch, at: int, lost: set[Path]) -> tuple[Launch, ...]:
        body = _without(one.body, {path[1:] for path in lost if path[0] == at})
        return (one,) if body == one.body else (replace(one, body=body),) if written(body) & {*memory} else ()

    return _kept(turns, stores, put)


def in_loop(launch: Launch, depth: int, name: str, axis: Axis) -> Launch:
    """A launch whose loop at a depth has another name than in the text."""
    if name == axis.name:
        return launch
    new = {name: Var(axis.name)}
    turns = (*launch.turns[:depth], axis, *launch.turns[depth + 1 :])
    return replace(launch, turns=turns, body=map_every(launch.body, lambda t: substitute(t, new)))


def _kept(
    turns: Sequence[tuple[T, ...]], stores: Callable[[tuple[T, ...]], Stores], put: Callable[[T, int, set[Path]], tuple[T, ...]]
) -> Iterator[T]:
    found = [stores(turn) for turn in turns]
    alive = {span for one in found for span, reached in one.values() if reached}
    for turn, one in zip(turns, found, strict=True):
        lost = {path for path, (span, reached) in one.items() if not reached and span in alive}
        for at, part in enumerate(turn):
            yield from put(part, at, lost)


def _stores(body: Body, around: Region, memory: Collection[str]) -> Stores:
    every = (
        (step, here, path) for step, here, path in walk_steps(body, around) if isinstance(step, Assign) and step.target in memory
    )
    return {path: (step.span, _some(here.under(step.guard))) for step, here, path in every}


def _some(here: Region) -> bool:
    """Whether a region may have a point: no guard is false by the others.

    >>> from tinygpu.category.term import Axis, Const, Var
    >>> lane = Region((Axis("l", Const(64)),))
    >>> _some(lane.under(Var("l") < 0)), _some(lane.under(Var("l") < Var("n")))
    (False, True)
    """
    others = ((g, Region(here.axes, tuple(o for o in here.guard if o is not g))) for g in here.guard)
    return all(there.settled(g) != FALSE for g, there in others)


def _without(body: Body, lost: Collection[Path], here: Path = (), first: int = 0) -> Body:
    """A body without some stores, and without the loops and guards in which they were alone."""
    kept: list[Step] = []
    for at, step in enumerate(body, first):
        path = (*here, at)
        if path in lost:
            continue
        inside = _without(body_of(step), lost, path)
        if inside or not isinstance(step, For | If) or not step.body:
            kept.append(step if inside == body_of(step) else with_body(step, inside))
    return tuple(kept)
