"""Folds that are taken in pieces: cells that start with the unit, take contributions, and are combined with the whole at the end.

    w ⊕ (⊕[p] P[p])   with   P[p] = ⊕ of what P[p] took        is        w ⊕ (⊕ of all that was taken)

Comes in: steps on an array of pieces, loop by loop. Goes out: steps on the whole alone, where each contribution goes to the whole at once.
The one idea: in a commutative monoid it does not matter where a contribution waits, if every piece comes to the whole once. That it does is
counted: the number of pieces is known, so the steps that combine them are run on labels.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tinygpu.category.linear import polynomial, term_of
from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import TRUE, Axis, Const, Read, Term, Var, reads, rebuild, substitute
from tinygpu.obligations.recurrence import flatten
from tinygpu.program.step import Assign, For, If, Step
from tinygpu.record import dataclass, field, replace
from tinygpu.validate.cpu_names import Unread
from tinygpu.schedule.scope import used

CLOSED, OPEN, JOINING = "closed", "open", "joining"


@dataclass(slots=True)
class Pieces:
    """The pieces of a whole cell: `labels` says of each which pieces of the beginning are in it, `joined` which are in the whole."""

    name: str
    whole: str
    size: int
    phase: str = CLOSED
    monoid: str = ""
    unit: Term = TRUE
    labels: list[Counter[int]] = field(default_factory=list)
    joined: Counter[int] = field(default_factory=Counter)

    def start(self, unit: Term) -> None:
        """Every piece is the unit of what is to come."""
        self.phase, self.monoid, self.unit, self.joined = OPEN, "", unit, Counter()
        self.labels = [Counter([number]) for number in range(self.size)]

    def by(self, node: ast.AST, monoid: str) -> None:
        """All that is done to them is done by one monoid, which commutes."""
        if not MONOIDS[monoid].commutative or self.monoid not in ("", monoid):
            raise Unread(node, f"the pieces of {self.whole} may not be combined in another order")
        if MONOIDS[monoid].unit(self.unit.dtype) != self.unit:
            raise Unread(node, f"the pieces of {self.whole} do not start with the unit of {monoid}")
        self.monoid = monoid


class Waiting:
    """All pieces of a launch, by the name of their array."""

    def __init__(self) -> None:
        self.arrays: dict[str, Pieces] = {}

    @property
    def phases(self) -> dict[str, str]:
        return {name: p.phase for name, p in self.arrays.items()}

    def named(self, name: str, cell: str) -> None:
        """The cell behind the name of a whole."""
        for pieces in self.arrays.values():
            if pieces.whole == name and pieces.phase == CLOSED:
                pieces.whole = cell

    def looked(self, node: ast.AST, step: Step) -> None:
        """Nobody looks at a whole while pieces of it wait."""
        terms: list[Term] = [step.guard] if isinstance(step, If) else [*step.index, step.value] if isinstance(step, Assign) else []
        seen = {r.tensor for t in terms for r in reads(t)}
        for pieces in self.arrays.values():
            if pieces.phase == CLOSED:
                continue
            if pieces.whole in seen:
                raise Unread(node, f"{pieces.whole} is read before all pieces of it are combined")
            if isinstance(step, Assign) and step.target == pieces.whole:
                if not step.update:
                    raise Unread(node, f"{pieces.whole} is written before all pieces of it are combined")
                pieces.by(node, step.update)

    def loop(self, node: ast.For, axis_name: str, turns: int, start: Term, inner: tuple[Step, ...]) -> tuple[Step, ...] | None:
        """What a loop over pieces is without them; None where it has none."""
        mine = [s for s in inner if isinstance(s, Assign) and s.target in self.arrays]
        if not mine and not any(r.tensor in self.arrays for s in inner if isinstance(s, Assign) for r in reads(s.value)):
            return None
        if start != Const(0) or not all(isinstance(s, Assign) for s in inner):
            raise Unread(node, "pieces that are not numbered from 0")
        steps = [s for s in inner if isinstance(s, Assign)]
        if all(self._unit(node, s, axis_name, turns) for s in steps):
            for s in steps:
                self.arrays[s.target].start(s.value)
            return ()
        if all(self._among(s) for s in steps):
            for turn in range(turns):
                for s in steps:
                    self._run(node, s, {axis_name: Const(turn)})
            return ()
        return tuple(one for s in steps for one in self._given(node, s, axis_name, turns))

    def _unit(self, node: ast.AST, step: Assign, axis: str, turns: int) -> bool:
        pieces = self.arrays.get(step.target)
        if pieces is None or step.update or turns != pieces.size or step.index != (Var(axis),):
            return False
        units = [m.unit(step.value.dtype) for m in MONOIDS.values()]
        if step.value not in units:
            return False
        if pieces.phase != CLOSED:
            raise Unread(node, f"pieces of {pieces.whole} are lost")
        return True

    def _among(self, step: Assign) -> bool:
        """Whether a step only combines pieces with each other or with their whole."""
        pieces = self.arrays.get(step.target) or next((p for p in self.arrays.values() if p.whole == step.target), None)
        if pieces is None or pieces.phase == CLOSED:
            return False
        leaves = self._leaves(step, pieces)
        return bool(leaves) and all(isinstance(t, Read) and t.tensor == pieces.name for t in leaves)

    def _leaves(self, step: Assign, pieces: Pieces) -> tuple[Term, ...]:
        monoid = step.update or pieces.monoid
        return flatten(MONOIDS[monoid].op, step.value) if monoid else (step.value,)

    def _run(self, node: ast.AST, step: Assign, turn: dict[str, Term]) -> None:
        """One step that combines pieces, on labels."""
        pieces = self.arrays.get(step.target) or next(p for p in self.arrays.values() if p.whole == step.target)
        if step.update:
            pieces.by(node, step.update)
        pieces.phase = JOINING
        new: Counter[int] = Counter()
        for leaf in self._leaves(step, pieces):
            assert isinstance(leaf, Read)
            new.update(pieces.labels[self._place(node, leaf.index, turn, pieces)])
        if step.target == pieces.whole:
            if not step.update:
                raise Unread(node, f"{pieces.whole} loses what it had")
            pieces.joined.update(new)
            self._finish(pieces)
            return
        at = self._place(node, step.index, turn, pieces)
        pieces.labels[at] = pieces.labels[at] + new if step.update else new

    def _finish(self, pieces: Pieces) -> None:
        once = MONOIDS[pieces.monoid].idempotent
        if all(pieces.joined[n] == 1 or (once and pieces.joined[n]) for n in range(pieces.size)):
            pieces.phase = CLOSED

    def _place(self, node: ast.AST, index: tuple[Term, ...], turn: dict[str, Term], pieces: Pieces) -> int:
        found = substitute(index[0], turn)
        if not isinstance(found, Const) or not 0 <= found.value < pieces.size:
            raise Unread(node, f"there are {pieces.size} pieces")
        return int(found.value)

    def _given(self, node: ast.AST, step: Assign, axis: str, turns: int) -> Iterator[Step]:
        """A contribution, or several that were combined, which go to the whole at once."""
        pieces = self.arrays.get(step.target)
        if pieces is None:
            yield step
            return
        own = {pieces.name, pieces.whole}
        if pieces.phase != OPEN or not step.update or step.index != (Var(axis),) or turns > pieces.size:
            raise Unread(node, f"this is not how pieces of {pieces.whole} take something")
        if any(r.tensor in own for r in reads(step.value)):
            raise Unread(node, f"a piece of {pieces.whole} takes what depends on it")
        pieces.by(node, step.update)
        monoid = MONOIDS[step.update]
        values = flatten(monoid.op, step.value) if monoid.idempotent else (step.value,)
        if len(values) > 1 and (one := in_a_row(values, axis, turns)) is not None:
            value, row = one
            yield For(row, (replace(step, target=pieces.whole, index=(), value=value),), step.span)
            return
        for value in values:
            yield replace(step, target=pieces.whole, index=(), value=value)

    def left(self, node: ast.AST, body: tuple[Step, ...]) -> None:
        """At the end no piece is left, and none is used in another way."""
        for name, phase in self.phases.items():
            if phase != CLOSED or any(name in used(step) for step in body):
                raise Unread(node, f"pieces of {self.arrays[name].whole} that never come to it, or are used otherwise")


def in_a_row(values: tuple[Term, ...], axis: str, turns: int) -> tuple[Term, Axis] | None:
    """Values that are one value at `axis`, at `axis + turns`, at `axis + 2·turns`, …: that value, over a further axis.

    >>> from tinygpu.category.term import text
    >>> x, p = lambda i: Read("x", (i,), "f32"), Var("p")
    >>> value, row = in_a_row((x(p * 2), x(p * 2 + 16)), "p", 8)
    >>> text(value), text(row.extent)
    ('x[p row*16 + p*2]', '2')
    """
    row = Axis(f"{axis} row", Const(len(values)), "time")

    def moved(by: Term) -> Term:
        return _tidy(substitute(values[0], {axis: Var(axis) + by}))

    if all(_tidy(value) == moved(Const(number * turns)) for number, value in enumerate(values)):
        return moved(Var(row.name) * turns), row
    return None


def _tidy(term: Term) -> Term:
    """A term with every place that it reads in one form."""
    match term:
        case Read(index=index):
            return replace(term, index=tuple(term_of(polynomial(i)) for i in index))
    return rebuild(term, _tidy)
