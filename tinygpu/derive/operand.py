"""Operands: what the cells of a register tile share, read once for each turn of a fold's loop and held in local cells.

Comes in: the body of a fold, the cells of the output, and the parts of guards that hold there. Goes out: loads, and the body over them.
The one idea: a part of the body that does not need every cell is computed where what its own cells know says that it may be, with a
fill elsewhere; `a[ri] = A[i, k] if i < M else 0`.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.term import (
    BOOL,
    FLOATS,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    memoised,
    rebuild,
    select,
    variables,
    walk,
)
from tinygpu.derive.nest import VECTOR, Build, cells, point
from tinygpu.diagnostic import Span
from tinygpu.program.step import Assign, Step
from tinygpu.record import dataclass, field

TOTAL = ("add", "sub", "mul", "neg", "min", "max", "abs", "select", "cast", "not", "and", "or", "lt", "le", "gt", "ge", "eq", "ne")


@dataclass(slots=True)
class Operands:
    """Terms held in local cells for one turn of a loop. `output` are the cells of the output, `mine` those of the fold itself."""

    build: Build
    output: tuple[Axis, ...]
    mine: tuple[Axis, ...]
    known: tuple[Term, ...]
    span: Span
    held: dict[tuple[Term, Term], Read] = field(default_factory=dict)

    @memoised
    def hold(self, term: Term) -> Term:
        """The term with every part that reads memory, but not at every output cell, replaced by a read of local cells."""
        if len(within(term, self.output)) < len(self.output) and self.loads(term) and self.allowed(term) and not self.plain(term):
            return self.cell(term)
        match term:
            case App("select", (condition, then, otherwise)):  # a branch is read only where it is taken
                return select(self.hold(condition), then, otherwise)
            case Fold() | Read() | App("and" | "or"):
                return term
        return rebuild(term, self.hold)

    def plain(self, term: Term) -> bool:
        """Whether a core does best to read an element where it is needed: all lanes of a vector read it, or each its own, and nothing is asked."""
        lanes = any(a.sort == VECTOR for a in self.output)
        return self.build.core and lanes and isinstance(term, Read) and conjunction(*self.kept(term)[0]) == TRUE

    def loads(self, term: Term) -> bool:
        """Whether a term reads memory (a scalar argument is none), and no fold is left in it."""
        memory = {*self.build.tensors, *self.build.tiles}
        found = any(isinstance(t, Read) and t.index and t.tensor in memory for t in walk(term))
        return found and not any(isinstance(t, Fold) for t in walk(term))

    def kept(self, term: Term) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        """The parts of the guard that can be asked without the cells that a term does not need, and the others."""
        inner = {a.name for a in within(term, self.output + self.mine)}
        outside = {a.name for a in self.output + self.mine} - inner
        return tuple(p for p in self.known if not variables(p) & outside), tuple(p for p in self.known if variables(p) & outside)

    def allowed(self, term: Term) -> bool:
        """Whether a term may be computed without the parts that are not asked: they are not about it, or it reads tiles."""
        axes = {a.name for a in self.build.axes}
        return self.staged(term) or not any(variables(p) & variables(term) & axes for p in self.kept(term)[1])

    def staged(self, term: Term) -> bool:
        """Whether a term reads tiles only: they have a value at every local index."""
        found = {t.tensor for t in walk(term) if isinstance(t, Read) and t.index}
        return found <= set(self.build.tiles) and all(not isinstance(t, App) or t.op in TOTAL for t in walk(term))

    def cell(self, term: Term) -> Read:
        """The local cells for a term, declared when they are first asked for."""
        inner = within(term, self.output + self.mine)
        key = (TRUE if self.staged(term) else conjunction(*self.kept(term)[0]), term)
        if key not in self.held:
            names = {origin(self.build, t.tensor) for t in walk(term) if isinstance(t, Read) and t.index}
            base = min(names).lower() if len(names) == 1 else "operand"
            name = self.build.fresh(base if base not in self.build.taken else f"{base}_cell")
            self.build.local(name, term.dtype, inner, self.span)
            self.held[key] = Read(name, point(inner), term.dtype)
        return self.held[key]

    def steps(self) -> tuple[Step, ...]:
        """The steps that fill the cells: the term where its guard holds, a fill elsewhere."""
        done: list[Step] = []
        for (guard, term), read in self.held.items():
            inner = tuple(a for a in self.output + self.mine if Var(a.name) in read.index)
            value = select(guard, term, fill(term.dtype))
            done.extend(cells(self.build, inner, (Assign(read.tensor, read.index, value, span=self.span),), self.span))
        return tuple(done)


def within(term: Term, axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """The axes that a term depends on, in order."""
    free = variables(term)
    return tuple(a for a in axes if a.name in free)


def origin(build: Build, name: str) -> str:
    """The tensor that a tile holds; a tensor itself."""
    return build.tiles[name].stage.tensor if name in build.tiles else name


def fill(dtype: str) -> Const:
    """What stands in a cell outside the tensor: zero, or false."""
    return Const(False, BOOL) if dtype == BOOL else Const(0.0 if dtype in FLOATS else 0, dtype)
