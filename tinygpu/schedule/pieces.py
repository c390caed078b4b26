"""A long fold taken in pieces side by side, so that it is no chain and a compiler makes vectors of it.

    for j < E: m ⊕= f(j)   ↦   p[c] = 1 for c < P;  p[c] ⊕= f(b·P + c) for b < E // P, c < P;  m ⊕= f(…) for the rest;  m ⊕= p[c] for c < P

Comes in: a body. Goes out: the same with the long loops that only fold with commutative monoids cut so. The one idea: such a fold may be
taken in any order; that it is taken whole is proved of the program that comes out, as of any other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tinygpu.category.monoid import Carrier, as_monoid, neutral
from tinygpu.category.term import FLOATS, TRUE, App, Axis, Const, Read, Term, Var, ceildiv, conjunction, negation, reads, substitute
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Step
from tinygpu.record import dataclass, replace
from tinygpu.schedule.nest import LONG, SIDE_BY_SIDE, Body, Shapes, is_long, pace, perfect, substituted
from tinygpu.schedule.polynomial import limit, positive

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
    cells: Mapping[str, Array]
    fresh: Callable[[str], str]

    def cut(self, body: Body) -> Body:
        """`body → body`, each loop that folds and does nothing else in pieces."""
        return tuple(new for step in body for new in self._step(step))

    def _step(self, step: Step) -> Body:
        loops, inner = perfect(step)
        match inner:
            case For(axis, body) if is_long(axis) and (cut := self._worth(axis, body)):
                return self._pieces(step, loops, axis, body, cut)  # type: ignore[arg-type]
        match step:
            case For(_, body) | If(_, body):
                return (replace(step, body=self.cut(body)),)
        return (step,)

    def _worth(self, axis: Axis, body: Body) -> Cut | None:
        """How to cut a loop; None for one that does anything but fold, into single cells, elements that lie side by side."""
        folds = [s for s in body if isinstance(s, Assign) and s.update and not s.index and s.target in self.cells]
        targets = {s.target for s in folds}
        if not folds or len(folds) != len(body) or len(targets) != len(folds):
            return None
        read = dict.fromkeys(r for s in folds for r in reads(s.value) if r.index)
        paces = [pace(r, axis.name, self.shapes) for r in read if r.tensor in self.shapes]
        if any(r.tensor in targets for s in folds for t in (s.value, s.guard) for r in reads(t)):
            return None
        if (
            any(r.tensor in self.cells for r in read)
            or SIDE_BY_SIDE not in paces
            or any(p not in ({}, SIDE_BY_SIDE) for p in paces)
        ):
            return None
        if all(s.update in ("max", "min") and s.value.dtype in FLOATS for s in folds):
            return EXTREME
        return VALUE if all(isinstance(s.update, Carrier) and s.update.commutative for s in folds) else None

    def _pieces(self, step: Step, loops: Sequence[Axis], axis: Axis, folds: tuple[Assign, ...], cut: Cut) -> Body:
        few = cut.pieces
        piece = Axis(self.fresh("piece"), Const(few), "time")
        at, last = Var(piece.name), replace(piece, extent=Const(LAST))
        parts = {s.target: self.fresh(f"{s.target}_parts") for s in folds}
        rest = {s.target: self.fresh(f"{s.target}_rest") for s in folds}
        each = {s.target: self.fresh(f"{s.target}_column") for s in folds}
        units = [neutral(s.update, s.value.dtype) for s in folds if s.update]
        body: list[Step] = [For(piece, tuple(Assign(parts[s.target], (at,), u) for s, u in zip(folds, units, strict=True)))]
        end = None if loops else _end(axis, folds)
        if end is None:
            body += self._guarded(loops, axis, folds, piece, parts, cut)
        else:
            body += self._whole(axis, folds, end, piece, parts, cut)
        turn = Axis(self.fresh("turn"), Const(few // LAST), "time")
        for s, unit in zip(folds, units, strict=True):
            part = Read(parts[s.target], (Var(turn.name) * LAST + at,), s.value.dtype)
            column = Read(each[s.target], (), s.value.dtype)
            down = For(turn, (Assign(column.tensor, (), part, s.update),))
            body.append(For(last, (Assign(column.tensor, (), unit), down, Assign(rest[s.target], (at,), column))))
        body += [For(last, (replace(s, value=Read(rest[s.target], (at,), s.value.dtype), guard=TRUE),)) for s in folds]
        sizes = ((names, count) for names, count in ((parts, few), (rest, LAST)))
        arrays = tuple(Array(names[s.target], self.cells[s.target].dtype, (Const(n),), LOCAL) for names, n in sizes for s in folds)
        arrays += tuple(Array(each[s.target], self.cells[s.target].dtype, (), LOCAL) for s in folds)
        least = cut.worth or (0 if end in (None, axis.extent) else few)  # an end that is none of the sizes may be below 0
        if not least:
            return (*arrays, *body)
        worth = (axis.extent if end is None else end) >= least
        return (*arrays, If(worth, tuple(body)), If(negation(worth), (step,)))

    def _guarded(
        self, loops: Sequence[Axis], axis: Axis, folds: tuple[Assign, ...], piece: Axis, parts: Mapping[str, str], cut: Cut
    ) -> tuple[Step, ...]:
        """All of the elements, each into its piece where its condition holds."""
        few = int(piece.extent.value)  # type: ignore[union-attr]

        def nest(turns: int, tests: Callable[[Assign], Term]) -> Step:
            block = Axis(self.fresh("block"), ceildiv(axis.extent, few * turns), "time")
            at = Var(block.name) * (few * turns) + Var(piece.name)
            inner = (
                replace(
                    self._folded(s, axis, parts[s.target], Var(piece.name), at, turns, few),
                    guard=substitute(tests(s), {axis.name: at}),
                )
                for s in folds
            )
            return For(block, (For(piece, tuple(inner)),))

        body: tuple[Step, ...] = (nest(1, lambda fold: conjunction(Var(axis.name) < axis.extent, fold.guard)),)
        many = few * cut.turns
        if isinstance(axis.extent, Const) and axis.extent.value % many == 0 and _end(axis, folds, near=False) is not None:
            inside = substitute(folds[0].guard, {axis.name: axis.extent - 1})  # of the last element, and so of all
            body = (If(inside, (nest(cut.turns, lambda _: TRUE),)), If(negation(inside), body))
        for around in reversed(loops):
            body = (For(around, body),)
        return body

    def _whole(
        self, axis: Axis, folds: tuple[Assign, ...], end: Term, piece: Axis, parts: Mapping[str, str], cut: Cut
    ) -> list[Step]:
        """As many elements as fill all pieces, a few of them at a time, and then the others into the cell itself. How many turns a loop has
        is a matter of the sizes: where the end is none, conditions say it."""
        body: list[Step] = []
        done: Term = Const(0)
        whole = end == axis.extent
        for turns in dict.fromkeys((cut.turns, 1)):
            many = cut.pieces * turns
            most = (end - done) // many if whole else axis.extent // many if done == Const(0) else Const(cut.turns)
            block = Axis(self.fresh("block"), most, "time")
            k = done + Var(block.name) * many
            values = (
                replace(self._folded(s, axis, parts[s.target], Var(piece.name), k + Var(piece.name), turns, cut.pieces), guard=TRUE)
                for s in folds
            )
            inner: Step = For(piece, tuple(values))
            body.append(For(block, (inner if whole else If(k + many <= end, (inner,)),)))
            done = end // many * many
        tail = tuple(substituted(replace(s, guard=TRUE), {axis.name: done + Var(axis.name)}) for s in folds)
        if whole:
            return [*body, For(replace(axis, extent=end - done), tail)]
        return [*body, For(replace(axis, extent=Const(cut.pieces)), (If(done + Var(axis.name) < end, tail),))]

    def _folded(self, fold: Assign, axis: Axis, parts: str, piece: Term, at: Term, turns: int, few: int) -> Assign:
        """`parts[piece] ⊕= f(at) ⊕ f(at + P) ⊕ …`"""
        values = [substitute(fold.value, {axis.name: at + few * t}) for t in range(turns)]
        return replace(fold, target=parts, index=(piece,), value=_tree(fold.update, values))


def _end(axis: Axis, folds: Sequence[Assign], near: bool = True) -> Term | None:
    """Where a loop ends: its extent, or before it, where all folds are under one condition that says so, near
    to that of the next point; None where conditions say more."""
    (guard, *others) = {s.guard for s in folds}
    if others or guard == TRUE:
        return None if others else axis.extent
    p = positive(guard)
    sign, top = limit(p, axis.name) or (0, axis.extent)
    if p is None or sign >= 0 or any(reads(guard)) or (near and any(abs(c) > LONG for m, c in p.items() if m)):
        return None
    return App("min", (axis.extent, top))


def _tree(update: str, values: Sequence[Term]) -> Term:
    """All values combined, two and two."""
    while len(values) > 1:
        values = [as_monoid(update).combine(a, b) for a, b in zip(values[::2], values[1::2], strict=True)]
    return values[0]
