"""Actions: edits of a state, each with the one that takes it back.

    split(i, p, n)  ⇄  merge(i, p)          number, carry, swap, restate: their own kind          say  ⇄  unsay          other launches  ⇄  those before

Comes in: a state and an action. Goes out: the other state, and the action back; nothing where there is nothing to do. The one idea: an action is a change of the morphism at one place, so whoever
searches may go anywhere and return.
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

from tinygpu.category.text import claimed
from tinygpu.record import dataclass, fields, parts, replace
from tinygpu.syntax import tree
from tinygpu.tune.state import BOX, Factor, Nest, Said, State


@dataclass(frozen=True, slots=True)
class Split:
    """A further digit of an index at a place, behind its slowest one; among all factors it stands at `turn`."""

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
    """Two loops change places, or two factors of one level of the work: which threads lie side by side."""

    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Say:
    """A clause more, at a place among them: a tile of what is read, values that are kept, how threads combine."""

    clause: Said
    place: int = 0


@dataclass(frozen=True, slots=True)
class Unsay:
    """A clause less."""

    place: int


@dataclass(frozen=True, slots=True)
class Restate:
    """Another clause in the place of one: a tile with a layout, or of several slots."""

    place: int
    clause: Said


@dataclass(frozen=True, slots=True)
class Launches:
    """Other launches: of the same equations, or of those of the other side of a theorem; at sizes of which something is known."""

    nests: tuple[Nest, ...]
    via: str = ""
    where: tuple[tree.Expr, ...] = ()
    device: str = ""
    body: tuple[tree.Clause, ...] = ()
    beside: tuple[tree.Declaration, ...] = ()


Edit: TypeAlias = Split | Merge | Number | Carry | Swap | Say | Unsay | Restate


@dataclass(frozen=True, slots=True)
class Action:
    """An edit of one launch, and of those that are placed as it is; or other launches."""

    nest: int
    edit: Edit | Launches

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
    if isinstance(action.edit, Launches):
        new = replace(state, **parts(action.edit))
        before = Launches(state.nests, state.via, state.where, state.device, state.body, state.beside)
        return None if new == state else (new, Action(0, before))
    found = edited(state.nests[action.nest], action.edit)
    if found is None:
        return None
    (nest, back), mine = found, state.alike(action.nest)
    nests = tuple(replace(nest, name=old.name) if n in mine else old for n, old in enumerate(state.nests))
    return replace(state, nests=nests), Action(action.nest, back)


def edited(nest: Nest, edit: Edit) -> tuple[Nest, Edit] | None:
    """The launch after an edit, and the edit back."""
    match edit:
        case Split(index, place, factor, turn):
            cut = dict(nest.cuts).get(index, ())
            if not 0 < place <= len(cut) or factor.extent is None or factor.name in {f.name for f in nest.factors}:
                return None
            return _with(nest, index, (*cut[:place], factor, *cut[place:]), _put(nest.order, factor.name, turn)), Merge(
                index, place
            )
        case Merge(index, place):
            gone = _at(nest, index, place)
            if gone is None or place == 0 or gone.extent is None or gone.level == BOX or gone.name in _spoken(nest):
                return None
            cut, (turn, left) = dict(nest.cuts)[index], _without(nest.order, gone.name)
            return _with(nest, index, (*cut[:place], *cut[place + 1 :]), left), Split(index, place, gone, turn)
        case Number(index, place, extent):
            old = _at(nest, index, place)
            if old is None or old.extent in (None, extent):
                return None
            return _changed(nest, index, place, replace(old, extent=extent), nest.order), Number(index, place, old.extent or 0)
        case Carry(index, place, level, turn):
            old = _at(nest, index, place)
            if old is None or BOX in (level, old.level) or old.level == level or old.name in _spoken(nest):
                return None
            was, left = _without(nest.order, old.name)
            order = _put(left, old.name, turn)
            return _changed(nest, index, place, replace(old, level=level), order), Carry(index, place, old.level, was)
        case Swap(first, second):
            levels, names = {f.name: f.level for f in nest.factors}, list(nest.order)
            if not 0 <= first < second < len(names) or levels[names[first]] != levels[names[second]]:
                return None
            names[first], names[second] = names[second], names[first]
            return replace(nest, order=tuple(names)), edit
        case Say() | Unsay() | Restate():
            return _said(nest, edit)
    assert_never(edit)


def _said(nest: Nest, edit: Say | Unsay | Restate) -> tuple[Nest, Edit] | None:
    said, place = nest.said, edit.place
    match edit:
        case Say(clause):
            fits = 0 <= place <= len(said) and clause not in said
            return (replace(nest, said=(*said[:place], clause, *said[place:])), Unsay(place)) if fits else None
        case Unsay():
            fits = 0 <= place < len(said)
            return (replace(nest, said=(*said[:place], *said[place + 1 :])), Say(said[place], place)) if fits else None
        case Restate(_, clause):
            fits = 0 <= place < len(said) and clause not in said
            return (replace(nest, said=(*said[:place], clause, *said[place + 1 :])), Restate(place, said[place])) if fits else None


def _spoken(nest: Nest) -> set[str]:
    """The factors that clauses speak of."""
    out: set[str] = set()
    for clause in nest.said:
        match clause:
            case tree.Stage(at=at):
                out.add(at)
            case tree.Reduce(_, factors):
                out.update(factors)
            case tree.Online(_, factor):
                out.add(factor)
            case tree.Use(_, _, lanes):
                out.update(f.name for f in nest.factors if f.level == BOX)
                out.update(
                    one.name for one in (lanes.items if isinstance(lanes, tree.Group) else (lanes,)) if isinstance(one, tree.Name)
                )
            case tree.ForEquation():
                out.update(f.name for f in nest.factors)
    return out


def _put(order: tuple[str, ...], name: str, turn: int) -> tuple[str, ...]:
    return (*order[:turn], name, *order[turn:])


def _without(order: tuple[str, ...], name: str) -> tuple[int, tuple[str, ...]]:
    """The place of a name, and the order without it."""
    return order.index(name), tuple(n for n in order if n != name)


def _at(nest: Nest, index: str, place: int) -> Factor | None:
    cut = dict(nest.cuts).get(index, ())
    return cut[place] if 0 <= place < len(cut) else None


def _changed(nest: Nest, index: str, place: int, factor: Factor, order: tuple[str, ...]) -> Nest:
    cut = dict(nest.cuts)[index]
    return _with(nest, index, (*cut[:place], factor, *cut[place + 1 :]), order)


def _with(nest: Nest, index: str, cut: tuple[Factor, ...], order: tuple[str, ...]) -> Nest:
    cuts = tuple((name, cut if name == index else old) for name, old in nest.cuts)
    return replace(nest, cuts=cuts, order=order)


def free_name(nest: Nest, index: str, kind: str, taken: frozenset[str]) -> str:
    """A name for a further digit of an index."""
    return claimed(f"{index}{kind}", {*taken, *(f.name for f in nest.factors)}, "")
