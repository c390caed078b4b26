"""Actions: edits of a state, each with the one that takes it back.

    split(i, p, n)  ⇄  merge(i, p)          number, place, swap: their own kind          stage  ⇄  unstage

Comes in: a state and an action. Goes out: the other state, and the action back; nothing where there is nothing to do. The one idea: an action is a change of the morphism at one place, so whoever
searches may go anywhere and return.
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

from tinygpu.category.text import claimed
from tinygpu.record import dataclass, fields, replace
from tinygpu.syntax import tree
from tinygpu.tune.state import Factor, Nest, Staged, State


@dataclass(frozen=True, slots=True)
class Split:
    """A further digit of an index at a place, behind its slowest one; among the loops, one of its own time stands at `turn`."""

    index: str
    place: int
    factor: Factor
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Merge:
    """A digit less; the index goes as far as before."""

    index: str
    place: int


@dataclass(frozen=True, slots=True)
class Number:
    """Another extent of a digit."""

    index: str
    place: int
    extent: int


@dataclass(frozen=True, slots=True)
class Carry:
    """Another level for a digit."""

    index: str
    place: int
    level: str
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Swap:
    """Two loops change places."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Stage:
    """A tile of what is read, at a loop; among the tiles it stands at `place`."""

    access: tree.Cell
    at: str
    place: int = 0


@dataclass(frozen=True, slots=True)
class Unstage:
    """A tile less."""

    access: tree.Cell


Edit: TypeAlias = Split | Merge | Number | Carry | Swap | Stage | Unstage


@dataclass(frozen=True, slots=True)
class Action:
    """An edit of one launch."""

    nest: int
    edit: Edit

    def __str__(self) -> str:
        """`split i 1 ir 4 register`."""
        said = (_word(getattr(self.edit, one.name)) for one in fields(self.edit))
        return " ".join([type(self.edit).__name__.lower(), *said]) + (f" of launch {self.nest}" if self.nest else "")


def _word(value: Any) -> str:
    match value:
        case Factor(name, level, extent):
            return f"{name} {extent} {level}"
        case tree.Cell(name, index):
            return f"{name}[{', '.join(map(_word, index))}]"
        case tree.Name(name):
            return name
    return str(value)


def done(state: State, action: Action) -> tuple[State, Action] | None:
    """The state after an action, and the action back; None where it cannot be done."""
    found = edited(state.nests[action.nest], action.edit)
    if found is None:
        return None
    nest, back = found
    nests = (*state.nests[: action.nest], nest, *state.nests[action.nest + 1 :])
    return replace(state, nests=nests), Action(action.nest, back)


def edited(nest: Nest, edit: Edit) -> tuple[Nest, Edit] | None:
    """The launch after an edit, and the edit back."""
    match edit:
        case Split(index, place, factor, turn):
            cut = dict(nest.cuts).get(index, ())
            if not 0 < place <= len(cut) or factor.extent is None or factor.name in {f.name for f in nest.factors}:
                return None
            order = _put(nest.order, factor.name, turn) if factor.level == "time" else nest.order
            return _with(nest, index, (*cut[:place], factor, *cut[place:]), order), Merge(index, place)
        case Merge(index, place):
            cut = dict(nest.cuts).get(index, ())
            if not 0 < place < len(cut) or cut[place].extent is None or cut[place].name in {s.at for s in nest.stages}:
                return None
            gone = cut[place]
            turn = nest.order.index(gone.name) if gone.level == "time" else 0
            left = tuple(n for n in nest.order if n != gone.name)
            return _with(nest, index, (*cut[:place], *cut[place + 1 :]), left), Split(index, place, gone, turn)
        case Number(index, place, extent):
            old = _at(nest, index, place)
            if old is None or old.extent in (None, extent):
                return None
            return _changed(nest, index, place, replace(old, extent=extent)), Number(index, place, old.extent or 0)
        case Carry(index, place, level, turn):
            old = _at(nest, index, place)
            if old is None or old.level == level or old.name in {s.at for s in nest.stages}:
                return None
            was = nest.order.index(old.name) if old.level == "time" else 0
            order = tuple(n for n in nest.order if n != old.name)
            order = _put(order, old.name, turn) if level == "time" else order
            return replace(_changed(nest, index, place, replace(old, level=level)), order=order), Carry(
                index, place, old.level, was
            )
        case Swap(first, second):
            if not 0 <= first < second < len(nest.order):
                return None
            names = list(nest.order)
            names[first], names[second] = names[second], names[first]
            return replace(nest, order=tuple(names)), edit
        case Stage(access, at, place):
            if any(s.access == access for s in nest.stages) or at not in nest.order:
                return None
            return replace(nest, stages=(*nest.stages[:place], Staged(access, at), *nest.stages[place:])), Unstage(access)
        case Unstage(access):
            gone_ = next((s for s in nest.stages if s.access == access), None)
            left_ = tuple(s for s in nest.stages if s is not gone_)
            return None if gone_ is None else (replace(nest, stages=left_), Stage(access, gone_.at, nest.stages.index(gone_)))
    assert_never(edit)


def _put(order: tuple[str, ...], name: str, turn: int) -> tuple[str, ...]:
    return (*order[:turn], name, *order[turn:])


def _at(nest: Nest, index: str, place: int) -> Factor | None:
    cut = dict(nest.cuts).get(index, ())
    return cut[place] if 0 <= place < len(cut) else None


def _changed(nest: Nest, index: str, place: int, factor: Factor) -> Nest:
    cut = dict(nest.cuts)[index]
    return _with(nest, index, (*cut[:place], factor, *cut[place + 1 :]), nest.order)


def _with(nest: Nest, index: str, cut: tuple[Factor, ...], order: tuple[str, ...]) -> Nest:
    cuts = tuple((name, cut if name == index else old) for name, old in nest.cuts)
    return replace(nest, cuts=cuts, order=order)


def free_name(nest: Nest, index: str, kind: str, taken: frozenset[str]) -> str:
    """A name for a further digit of an index."""
    return claimed(f"{index}{kind}", {*taken, *(f.name for f in nest.factors)}, "")
