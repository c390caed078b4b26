"""Tiles of fragments, for a program's text: who has which element, and where it is.

    own(acc of c)  =  lane 4: row // 1 % 8, lane 1: column // 2 % 4           form(b, two tiles) = form of the operand of twice its columns

Comes in: an operand of an instruction, and the expressions of a warp and a lane. Goes out: expressions of an element, and what two fragments have to have in
common, so that a lane has the same elements of both, or an instruction takes one for the other. The one idea: equality of digits, by form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tinygpu.category.layout import Layout
from tinygpu.category.term import Axis, Const, Term, Var, lift
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.binders import flat
from tinygpu.model.collective import Digit, Fragment, Instruction, Operand, beside_of
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.program.call import Applied
from tinygpu.program.expression import expression
from tinygpu.record import dataclass, field
from tinygpu.syntax import tree

Exprs: TypeAlias = tuple[tree.Expr, ...]
Own: TypeAlias = dict[int, tuple[int, int, int]]  # by a lane digit: which index, what it is divided by, how many


@dataclass(frozen=True, slots=True)
class Tiles:
    """A fragment in a text: its name, which lanes have which of its elements, and where it is declared."""

    name: str
    held: Fragment
    span: Span

    @property
    def own(self) -> Own:
        """Which lane has an element."""
        found: Own = {}
        for axis, place in enumerate(self.held.operand.places):
            for digit, beside in beside_of(place):
                if digit in self.held.operand.lanes:
                    found[self.held.operand.lanes.index(digit)] = (axis, beside, digit.extent)
        return found

    def cell(self, place: Exprs, span: Span) -> tree.Cell:
        """The element of the warp at hand."""
        return tree.Cell(self.name, (*map(expression, self.held.groups), *place), span=span)


@dataclass(frozen=True, slots=True)
class Begun:
    """An instruction that is written out in the text, the first elements of its operands, and the number of the lane at hand."""

    instruction: Instruction
    operands: tuple[tree.Cell, ...]
    lane: Term


@dataclass(frozen=True, slots=True)
class Written:
    """What is not seen any more where it is written out: of fragments which lanes have their elements, instructions by key, and how a block's arrays lie,
    with their extents."""

    held: dict[str, Fragment] = field(default_factory=dict)
    layouts: dict[str, tuple[tuple[Term, ...], Layout]] = field(default_factory=dict)
    begun: dict[str, Begun] = field(default_factory=dict)

    def applied(self, key: str, scope: Scope) -> Applied:
        """An instruction, as the names of a place say it."""
        one = self.begun[key]
        places = ((cell.name, tuple(index(e, scope) for e in cell.index)) for cell in one.operands)
        return Applied(one.instruction, tuple((scope.tensors[name].name, place) for name, place in places), one.lane)


def lanes_of(block: Sequence[Axis], count: int) -> tuple[list[tuple[Term, int]], Term] | None:
    """Which group of so many threads of a block is at hand, by factors with their extents, and the number of the thread in it; None where the block
    is not made of such groups."""
    inner, lane, groups = 1, lift(0), list[tuple[Term, int]]()
    for axis in reversed(block):
        extent, rest = int(axis.extent.value) if isinstance(axis.extent, Const) else 0, count // inner
        if extent < 1 or (extent % rest and rest % extent):
            return None
        here, own = Var(axis.name), min(extent, rest)
        if extent > own:
            groups.append((here // own if own > 1 else here, extent // own))
        if own > 1:
            lane = (here % own if extent > own else here) * inner + lane
        inner *= own
    return (groups[::-1] or [(lift(0), 1)], lane) if inner == count else None


def has(arch: str, needed: str) -> bool:
    """Whether an architecture has what is there from another one on; one with a letter is for itself.

    >>> has("sm_90", "sm_80"), has("sm_90a", "sm_90a"), has("sm_100", "sm_90a"), has("sm_75", "sm_80")
    (True, True, False, False)
    """
    return arch == needed or (needed[-1].isdigit() and int(arch[3:].rstrip("af")) >= int(needed[3:]))


def form(operand: Operand, box: tuple[int, ...] = ()) -> tuple[tuple[tuple[bool, int, int, int], ...], ...]:
    """Where the elements of a fragment lie: of each index its digits, each the lane's or the register's, with what it counts there, and its extent;
    of several tiles next to each other, in rows, that make a larger `box`."""
    places, cells = operand.places, operand.cells
    if box and box != operand.shape:
        more = tuple(Digit(f"tile {axis}", whole // own) for axis, (whole, own) in enumerate(zip(box, operand.shape, strict=True)))
        places = tuple((tile, *place) if tile.extent > 1 else place for tile, place in zip(more, places, strict=True))
        cells = (*(tile for tile in more if tile.extent > 1), *cells)
    counts = {d.name: (True, beside) for d, beside in beside_of(operand.lanes)} | {
        d.name: (False, beside) for d, beside in beside_of(cells)
    }
    return tuple(tuple((*counts[d.name], beside, d.extent) for d, beside in beside_of(place)) for place in places)


# ── expressions ────────────────────────────────────────────────────────────────────────────────────────────────────


def number(value: int, span: Span = NOWHERE) -> tree.Number:
    return tree.Number(str(value), span=span)


def plus(start: tree.Expr | None, one: tree.Expr) -> tree.Expr:
    """A sum, of which nothing that is 0 is written."""
    return one if start is None or start == number(0) else start if one == number(0) else flat(tree.Binary("+", start, one))


def looped(
    turns: Sequence[tuple[str, int]], body: tuple[tree.Statement, ...], span: Span, beside: str = ""
) -> tuple[tree.Statement, ...]:
    """Unrolled loops around statements; the one of neighbours in memory, `beside`, may be one access."""
    for name, extent in reversed(turns):
        body = (tree.For(name, number(extent, span), body, "vector" if name == beside else "register", span=span),)
    return body
