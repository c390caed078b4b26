"""A long fold taken in pieces side by side, so that it is no chain and a compiler makes vectors of it.

    for j < E: m ⊕= f(j)   ↦   p[c] = 1 for c < P;  p[c] ⊕= f(b·P + c) for b < E // P, c < P;  m ⊕= f(…) for the rest;  m ⊕= p[c] for c < P

Comes in: a body. Goes out: the same with the long loops that only fold with commutative monoids cut so. The one idea: such a fold may be
taken in any order; that it is taken whole is proved of the program that comes out, as of any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import FLOATS, TRUE, Axis, Const, Read, Term, Var, negation, reads, substitute
from tinygpu.program.step import Assign, For, If, Local, Step
from tinygpu.record import dataclass, replace
from tinygpu.schedule.access import SIDE_BY_SIDE, Shapes, is_long, pace

LAST = 16  # so many pieces are left before they are taken one by one


@dataclass(frozen=True, slots=True)
class Cut:
    """How many pieces there are, how many elements meet before they meet a piece, and the shortest loop that is worth it."""

    pieces: int
    turns: int
    worth: int


EXTREME = Cut(128, 4, 0)  # a maximum or minimum of floats
VALUE = Cut(64, 1, 256)  # a value with components, which costs more to put together


@dataclass(frozen=True, slots=True)
class Pieces:
    """What a body is cut with: the shapes of memory, the cells of the thread, and a supply of names."""

    shapes: Shapes
    cells: Mapping[str, Local]
    fresh: Callable[[str], str]

    def cut(self, body: tuple[Step, ...]) -> tuple[Step, ...]:
        """`body → body`, each loop that folds and does nothing else in pieces."""
        return tuple(new for step in body for new in self._step(step))

    def _step(self, step: Step) -> tuple[Step, ...]:
        match step:
            case For(axis, inner) if is_long(axis) and (found := self._folds(axis, inner)):
                return self._pieces(axis, inner, found)  # type: ignore[arg-type]
            case For(_, inner) | If(_, inner):
                return (replace(step, body=self.cut(inner)),)
        return (step,)

    def _folds(self, axis: Axis, body: tuple[Step, ...]) -> Cut | None:
        """How to cut a loop; None for one that does anything but fold, at every point, elements that lie side by side into single cells."""
        folds = [
            s for s in body if isinstance(s, Assign) and s.update and s.guard == TRUE and not s.index and s.target in self.cells
        ]
        targets = {s.target for s in folds}
        if not folds or len(folds) != len(body) or len(targets) != len(folds):
            return None
        read = dict.fromkeys(r for s in folds for r in reads(s.value) if r.index)
        paces = [pace(r, axis.name, self.shapes) for r in read if r.tensor in self.shapes]
        if any(r.tensor in targets for s in folds for r in reads(s.value)) or any(r.tensor in self.cells for r in read):
            return None
        if SIDE_BY_SIDE not in paces or any(p not in ({}, SIDE_BY_SIDE) for p in paces):
            return None
        if all(s.update in ("max", "min") and s.value.dtype in FLOATS for s in folds):
            return EXTREME
        return VALUE if all(MONOIDS[s.update].definition and MONOIDS[s.update].commutative for s in folds) else None

    def _pieces(self, axis: Axis, folds: tuple[Assign, ...], cut: Cut) -> tuple[Step, ...]:
        few, extent = cut.pieces, axis.extent
        held = {s.target: (self.fresh(f"{s.target}_parts"), self.fresh(f"{s.target}_rest")) for s in folds}
        c = Axis(self.fresh("piece"), Const(few), "time")
        last = replace(c, extent=Const(LAST))
        start, together, end = list[Step](), list[Step](), list[Step]()
        turn = Axis(self.fresh("turn"), Const(few // LAST), "time")
        for s in folds:
            parts, rest = held[s.target]
            unit = MONOIDS[s.update].unit(s.value.dtype)
            assert unit is not None, "such monoids have units"
            start += [For(c, (Assign(parts, (Var(c.name),), unit),)), For(last, (Assign(rest, (Var(c.name),), unit),))]
            part = Read(parts, (Var(turn.name) * LAST + Var(c.name),), s.value.dtype)
            together += [Assign(rest, (Var(c.name),), part, s.update)]
            end += [replace(s, value=Read(rest, (Var(c.name),), s.value.dtype))]
        done, first = list[Step](), Const(0)
        for turns in dict.fromkeys((cut.turns, 1)):
            many, b = few * turns, Axis(self.fresh("block"), extent, "time")
            b = replace(b, extent=(extent - first) // many)
            at = first + Var(b.name) * many + Var(c.name)
            done.append(
                For(b, (For(c, tuple(self._folded(s, axis, held[s.target][0], Var(c.name), at, turns, few) for s in folds)),))
            )
            first = extent // many * many
        rest_axis = replace(axis, extent=extent - first)
        tail = For(rest_axis, tuple(substituted(s, {axis.name: first + Var(axis.name)}) for s in folds))
        body = (*start, *done, tail, For(turn, (For(last, tuple(together)),)), For(last, tuple(end)))
        arrays = tuple(
            Local(n, self.cells[t].dtype, (Const(k),)) for t, names in held.items() for n, k in zip(names, (few, LAST), strict=True)
        )
        if not cut.worth:
            return (*arrays, *body)
        worth = extent >= cut.worth
        return (*arrays, If(worth, body), If(negation(worth), (For(axis, folds),)))

    def _folded(self, fold: Assign, axis: Axis, parts: str, part: Term, at: Term, turns: int, few: int) -> Assign:
        """`parts[part] ⊕= f(at) ⊕ f(at + P) ⊕ …`"""
        values = [substitute(fold.value, {axis.name: at + few * t}) for t in range(turns)]
        while len(values) > 1:
            values = [MONOIDS[fold.update].combine(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
        return replace(fold, target=parts, index=(part,), value=values[0])


def substituted(step: Step, mapping: Mapping[str, Term]) -> Step:
    """A step with other terms for variables."""
    match step:
        case Assign(_, index, value, _, guard):
            own = tuple(substitute(i, mapping) for i in index)
            return replace(step, index=own, value=substitute(value, mapping), guard=substitute(guard, mapping))
        case For(axis, body):
            inner = tuple(substituted(s, mapping) for s in body)
            return replace(step, axis=replace(axis, extent=substitute(axis.extent, mapping)), body=inner)
        case If(guard, body):
            return replace(step, guard=substitute(guard, mapping), body=tuple(substituted(s, mapping) for s in body))
    return step
