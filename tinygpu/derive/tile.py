"""Tiles in a derivation: reads of a tile at its local index, the barriers around copies, and which tails a fill takes care of.

Comes in: values in which reads bear the names of stages. Goes out: values over shared arrays; loops that begin with their copies.
The one idea: a tile holds the tensor where that has an element and a fill elsewhere, so a guard that says no more than the fill
does may go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tinygpu.category.decide import holds
from tinygpu.category.evaluate import number
from tinygpu.category.monoid import as_monoid
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
    conjuncts,
    memoised,
    reads,
    rebuild,
    variables,
    walk,
)
from tinygpu.diagnostic import Span
from tinygpu.model.problems import refused
from tinygpu.model.tile import BLOCK, Stage
from tinygpu.program.call import Sync
from tinygpu.program.step import Assign, For, If, Step, steps
from tinygpu.program.traverse import reads_of, terms
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Tile:
    """A stage with its shared array: `array[local] = tensor[stage.outside(local)]` inside `shape`, `fill` elsewhere."""

    array: str
    stage: Stage
    shape: tuple[Term, ...]
    fill: Const
    span: Span

    def bounds(self, index: Sequence[Term]) -> tuple[Term, ...]:
        """What has to hold of an index of the tensor so that there is an element."""
        return tuple(guard for i, n in zip(index, self.shape, strict=True) for guard in (i >= 0, i < n))

    def outside(self, place: Sequence[Term]) -> tuple[Term, ...]:
        """The index of the tensor at a place of the array."""
        local = dict(zip(self.stage.order, place, strict=True))
        return self.stage.outside([local[axis] for axis in range(len(self.shape))])

    def inside(self, index: Sequence[Term]) -> tuple[Term, ...]:
        """The place in the array of an index of the tensor."""
        return tuple(self.stage.sides[axis].inside(index[axis]) for axis in self.stage.order)

    def read(self, read: Read, box: Region) -> Read:
        """The read of the tensor as one of the array."""
        return Read(self.array, tuple(simplify(i, box) for i in self.inside(read.index)), read.dtype, read.span)


Tiles = Mapping[str, Tile]  # by the name of the stage, and by that of the array


@memoised
def localized(term: Term, tiles: Tiles, box: Region) -> Term:
    """The term with reads of stages as reads of their arrays; a padded read whose pad is the fill of its tile needs no question."""
    if not tiles:
        return term
    match term:
        case App("select", (asked, Read(name) as read, Const() as pad)) if name in tiles and pad == tiles[name].fill:
            if says_the_same(asked, tiles[name].bounds(read.index), box):
                return tiles[name].read(read, Region(box.axes))
        case Read(name) if name in tiles:
            return tiles[name].read(term, Region(box.axes))
    return rebuild(term, lambda inner: localized(inner, tiles, box))


def says_the_same(asked: Term, bounds: Iterable[Term], box: Region) -> bool:
    """Whether a condition holds on the box just where the bounds do."""
    plain = Region(box.axes)
    wanted = [simplify(b, plain) for b in bounds]
    parts = [simplify(p, plain) for p in conjuncts(asked)]
    return all(p in wanted for p in parts) and all(b in parts or holds(b, box) is True for b in wanted)


def fills(value: Term, tiles: Tiles) -> bool:
    """Whether a tile is filled while the value is computed: then its threads go on together."""
    return any(read.tensor in tiles and tiles[read.tensor].stage.at != BLOCK for read in reads(value))


def needed(fold: Fold, body: Term, tiles: Tiles, axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    """The parts of a fold's guard that must be asked at each contribution: not those outside of which the fills make the body the unit."""
    parts = conjuncts(fold.guard)
    unit = as_monoid(fold.monoid).unit(fold.dtype)
    if not tiles or not isinstance(unit, Const):
        return parts
    return tuple(part for part in parts if not vanishes(body, part, unit, tiles, axes))


def vanishes(body: Term, part: Term, unit: Const, tiles: Tiles, axes: tuple[Axis, ...]) -> bool:
    """Whether the body is the unit wherever the part does not hold, since all that it reads is then a fill."""

    @memoised
    def filled(term: Term) -> Term:
        if isinstance(term, Read) and term.tensor in tiles:
            tile = tiles[term.tensor]
            return tile.fill if holds(part, Region(axes, tuple(tile.bounds(tile.outside(term.index))))) is True else term
        return rebuild(term, filled)

    value = filled(body)
    if any(isinstance(t, Var | Read | Fold) or (isinstance(t, App) and t.op in ("div", "floordiv", "mod")) for t in walk(value)):
        return False
    return number(value, {}) == unit.value


def placed(tiles: Tiles, copies: Mapping[str, tuple[Step, ...]], at: str, body: tuple[Step, ...], turns: bool) -> tuple[Step, ...]:
    """The body with the copies of the tiles that it reads before it, a barrier between, and one after it if there is another turn."""
    here = [array for array in copies if tiles[array].stage.at == at and touches(body, {array})]
    for array in reversed(list(copies)):  # what those copies read of other tiles has to be there too
        if tiles[array].stage.at == at and array not in here and any(touches(copies[other], {array}) for other in here):
            here.append(array)
    if not here:
        return body
    before: list[Step] = []
    fresh: set[str] = set()
    for array in (a for a in copies if a in here):
        if any(not own(copies[array], copies[other], other) for other in fresh):
            before.append(Sync(span=tiles[array].span))
            fresh = set()
        before.extend(copies[array])
        fresh.add(array)
    barrier = Sync(span=tiles[here[0]].span)
    after = (barrier,) if turns and read_last(body, set(here)) else ()
    return (*before, barrier, *body, *after)


def own(body: Sequence[Step], copy: Sequence[Step], array: str) -> bool:
    """Whether a body reads of an array what the thread at hand has put there itself, by a copy in the same place of each thread's time."""
    stored = {s.index for s in steps(tuple(copy)) if isinstance(s, Assign) and s.target == array}
    read = {r.index for s in steps(tuple(body)) for r in reads_of(s) if r.tensor == array}
    loops = {s.axis.name for s in steps((*copy, *body)) if isinstance(s, For)}
    return not read or (read == stored and len(read) == 1 and not any(variables(i) & loops for index in read for i in index))


def read_last(body: Sequence[Step], arrays: set[str]) -> bool:
    """Whether one of the arrays may be read after the last barrier of a body."""
    for step in reversed(body):
        if isinstance(step, Sync) and step.scope == "block":
            return False
        if isinstance(step, For):
            if read_last(step.body, arrays):
                return True
            turns = isinstance(step.axis.extent, Const) and step.axis.extent.value >= 1
            if turns and any(isinstance(s, Sync) and s.scope == "block" for s in step.body):
                return False
        elif touches((step,), arrays):
            return True
    return False


def touches(body: Iterable[Step], arrays: set[str]) -> bool:
    """Whether a body reads one of the arrays."""
    return any(read.tensor in arrays for step in steps(tuple(body)) for read in reads_of(step))


def check_tiles(tiles: Tiles, body: Iterable[Step], names: frozenset[str], there: frozenset[str] = frozenset()) -> frozenset[str]:
    """The tiles that are there after a body: all that is read of one stands behind its copy, in the same turn. Raises TG546."""
    for step in body:
        match step:
            case Assign(target):
                for read in (r for r in reads_of(step) if r.tensor in tiles and r.tensor not in there):
                    tile = tiles[read.tensor]
                    raise refused("TG546.outside", read.span, tile.span, name=tile.stage.tensor, at=tile.stage.at)
                if target in tiles:
                    strange = sorted(frozenset().union(*map(variables, terms(step))) - names)
                    if strange:
                        tile = tiles[target]
                        raise refused("TG546.depends", tile.span, name=tile.stage.tensor, loop=strange[0], at=tile.stage.at)
                    there |= {target}
            case For(axis, inner):
                staged = {t.array for t in tiles.values() if t.stage.at == axis.name}
                there |= check_tiles(tiles, inner, names | {axis.name}, there) - staged
            case If(_, inner):
                there |= check_tiles(tiles, inner, names, there)
    return there
