"""A long fold taken in pieces side by side, so that it is no chain and a compiler makes vectors of it.

    for j < E: m ⊕= f(j)   ↦   p[c] = 1 for c < P;  p[c] ⊕= f(b·P + c) for b < E // P, c < P;  m ⊕= f(…) for the rest;  m ⊕= p[c] for c < P

Comes in: a body. Goes out: the same with the long loops that only fold with commutative monoids cut so. The one idea: such a fold may be
taken in any order; that it is taken whole is proved of the program that comes out, as of any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import FLOATS, TRUE, App, Axis, Const, Read, Term, Var, negation, reads, substitute
from tinygpu.program.step import Assign, For, If, Local, Step
from tinygpu.record import dataclass, replace
from tinygpu.schedule.access import SIDE_BY_SIDE, Shapes, is_long, pace
from tinygpu.schedule.polynomial import coefficient, positive, term, without

LAST = 16  # so many pieces are left before they are taken one by one


@dataclass(frozen=True, slots=True)
class Cut:
    """How many pieces there are, how many elements meet before they meet a piece, and the shortest loop that is worth it."""

    pieces: int
    turns: int
    worth: int


EXTREME = Cut(64, 4, 0)  # a maximum or minimum of floats
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
                return self._pieces(axis, *found)
            case For(_, inner) | If(_, inner):
                return (replace(step, body=self.cut(inner)),)
        return (step,)

    def _folds(self, axis: Axis, body: tuple[Step, ...]) -> tuple[tuple[Assign, ...], Term, Cut] | None:
        """What a loop folds, up to where, and how to cut it; None for one that does anything but fold elements that lie side by side into
        single cells, at every point or at all below an end."""
        folds = [s for s in body if isinstance(s, Assign) and s.update and not s.index and s.target in self.cells]
        targets = {s.target for s in folds}
        end = self._end(axis, folds) if folds and len(folds) == len(body) and len(targets) == len(folds) else None
        if end is None:
            return None
        read = dict.fromkeys(r for s in folds for r in reads(s.value) if r.index)
        paces = [pace(r, axis.name, self.shapes) for r in read if r.tensor in self.shapes]
        if any(r.tensor in targets for s in folds for r in reads(s.value)) or any(r.tensor in self.cells for r in read):
            return None
        if SIDE_BY_SIDE not in paces or any(p not in ({}, SIDE_BY_SIDE) for p in paces):
            return None
        plain = tuple(replace(s, guard=TRUE) for s in folds)
        if all(s.update in ("max", "min") and s.value.dtype in FLOATS for s in folds):
            return plain, end, EXTREME
        return (plain, end, VALUE) if all(MONOIDS[s.update].definition and MONOIDS[s.update].commutative for s in folds) else None

    def _end(self, axis: Axis, folds: Sequence[Assign]) -> Term | None:
        """Where a loop ends: its extent, or before it, where all folds have one condition that says so."""
        (guard, *others) = {s.guard for s in folds}
        if others or guard == TRUE:
            return None if others else axis.extent
        p = positive(guard)
        if p is None or coefficient(p, axis.name) != {(): -1} or any(reads(guard)):
            return None
        return App("min", (axis.extent, term(without(p, axis.name))))

    def _pieces(self, axis: Axis, folds: tuple[Assign, ...], end: Term, cut: Cut) -> tuple[Step, ...]:
        few, whole = cut.pieces, end == axis.extent
        piece = Axis(self.fresh("piece"), Const(few), "time")
        at, last = Var(piece.name), replace(piece, extent=Const(LAST))
        parts = {s.target: self.fresh(f"{s.target}_parts") for s in folds}
        rest = {s.target: self.fresh(f"{s.target}_rest") for s in folds}
        units = [MONOIDS[s.update].unit(s.value.dtype) or Const(0) for s in folds]
        body: list[Step] = [For(piece, tuple(Assign(parts[s.target], (at,), u) for s, u in zip(folds, units, strict=True)))]
        body += [For(last, tuple(Assign(rest[s.target], (at,), u) for s, u in zip(folds, units, strict=True)))]
        done: Term = Const(0)
        for turns in dict.fromkeys((cut.turns, 1)):
            many = few * turns
            block = Axis(self.fresh("block"), (axis.extent if whole else end) // many, "time")
            k = done + Var(block.name) * many + at
            inner: Step = For(piece, tuple(self._folded(s, axis, parts[s.target], at, k, turns, few) for s in folds))
            if whole:
                block = replace(block, extent=(end - done) // many)
            else:  # how many turns a loop has is a matter of the sizes
                block = replace(block, extent=axis.extent // many if done == Const(0) else Const(cut.turns))
                inner = If(done + Var(block.name) * many + many <= end, (inner,))
            body.append(For(block, (inner,)))
            done = end // many * many
        left = replace(axis, extent=end - done) if whole else replace(axis, extent=Const(few))
        tail = tuple(substituted(s, {axis.name: done + Var(axis.name)}) for s in folds)
        body.append(For(left, tail if whole else (If(done + Var(axis.name) < end, tail),)))
        turn = Axis(self.fresh("turn"), Const(few // LAST), "time")
        for s in folds:
            part = Read(parts[s.target], (Var(turn.name) * LAST + at,), s.value.dtype)
            body.append(For(turn, (For(last, (Assign(rest[s.target], (at,), part, s.update),)),)))
        body += [For(last, (replace(s, value=Read(rest[s.target], (at,), s.value.dtype)),)) for s in folds]
        sizes = ((names, count) for names, count in ((parts, few), (rest, LAST)))
        arrays = tuple(Local(names[s.target], self.cells[s.target].dtype, (Const(n),)) for names, n in sizes for s in folds)
        if not cut.worth:
            return (*arrays, *body)
        worth = end >= cut.worth
        alone = For(axis, tuple(replace(s, guard=TRUE if whole else Var(axis.name) < end) for s in folds))
        return (*arrays, If(worth, tuple(body)), If(negation(worth), (alone,)))

    def _folded(self, fold: Assign, axis: Axis, parts: str, piece: Term, at: Term, turns: int, few: int) -> Assign:
        """`parts[piece] ⊕= f(at) ⊕ f(at + P) ⊕ …`"""
        values = [substitute(fold.value, {axis.name: at + few * t}) for t in range(turns)]
        return replace(fold, target=parts, index=(piece,), value=_tree(fold.update, values))


def _tree(update: str, values: Sequence[Term]) -> Term:
    """All values combined, two and two."""
    while len(values) > 1:
        values = [MONOIDS[update].combine(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]


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
