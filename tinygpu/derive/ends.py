"""Folds whose range is told by data: where it begins and ends is read once, before the loop, and what a turn does stands under both.

    sum[z in off[r] .. off[r + 1]] …   ↦   begin[] = off[r];  end[] = off[r + 1];  for z < Z { if begin[] <= z and z < end[] { … } }

Comes in: a fold over factors, and where it stands. Goes out: the fold over cells that hold its ends, the steps that read them, and the conditions that
stand around all that a turn does. The one idea: kernels begin and end a loop where it does something, so the program has only to say so.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.dtype import contains
from tinygpu.category.linear import number, polynomial, stride
from tinygpu.category.term import (
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    conjunction,
    conjuncts,
    exchange,
    outside,
    reads,
    select,
    substitute,
    variables,
)
from tinygpu.derive.nest import TIME, Build, cells, own, point
from tinygpu.derive.operand import fill, within
from tinygpu.program.step import Assign, Step
from tinygpu.record import replace


def told(build: Build, fold: Fold, around: tuple[Axis, ...], rest: Sequence[Term], steps: list[Step]) -> Fold:
    """The fold over cells that hold where it begins and ends, as far as data tell that: read once, before its loop, by further `steps`. `around` are
    the cells of the output, `rest` what is asked there."""
    mine, before, axes = {a.name for a in fold.axes}, [*rest], {a.name for a in build.axes}
    held: dict[Term, Term] = {}
    for part in conjuncts(fold.guard):
        if not variables(part) & mine:
            before.append(part)
        elif isinstance(part, App) and part.op in ("lt", "le"):
            for side, word in zip(part.args, ("begin", "end"), strict=True):
                for read in (r for r in outside(side) if isinstance(r, Read) and r.tensor in build.tensors and r.index):
                    inner = within(read, around)
                    asked = [p for p in before if not variables(p) & {a.name for a in around if a not in inner}]
                    alone = all(p in asked or not variables(p) & variables(read) & axes for p in before)
                    if read not in held and not variables(read) & mine and alone and contains("i32", read.dtype):
                        cell = build.fresh(word)
                        build.ends.add(cell)
                        build.local(cell, read.dtype, inner, fold.span)
                        value = select(conjunction(*asked), read, fill(read.dtype))
                        steps += cells(build, inner, (Assign(cell, point(inner), value, span=fold.span),), fold.span)
                        held[read] = Read(cell, point(inner), read.dtype)
    return replace(fold, guard=exchange(fold.guard, held)) if held else fold


def ends(build: Build, fold: Fold) -> tuple[Term, ...]:
    """The parts of a guard that say where a loop of the fold begins and ends, for a whole turn: of vectors the first or the last lane. None where
    no data say so."""
    found = [part for part in conjuncts(fold.guard) if isinstance(part, App) and part.op in ("lt", "le")]
    data = [part for part in found if reads(part) and all(r.tensor in build.ends and not r.index for r in reads(part))]
    plain = [part for part in found if not reads(part) and any(_alone(part, a.name) for a in fold.axes if a.sort == TIME)]
    turn = [turned(part, own(fold.axes)) for part in found if part in (*data, *plain)] if data else []
    return tuple(part for part in turn if part is not None)


def _alone(part: App, name: str) -> bool:
    """Whether an axis stands alone in a comparison, neither multiplied nor divided."""
    return number(stride(polynomial(part.args[0] - part.args[1]), name)[0] or {}) in (1, -1)


def turned(part: App, lanes: tuple[Axis, ...]) -> Term | None:
    """Where `a < b` or `a <= b` may hold for one of the lanes; None where that is not seen.

    >>> from tinygpu.category.term import Var, text
    >>> part, v = Read("end", (), "i32"), Axis("v", Const(4), "vector")
    >>> inside = Var("c") * 4 + Var("v") < App("cast", (part,))
    >>> text(turned(inside, (v,)))
    'c*4 < end'
    """
    least, most = part.args
    for lane in lanes:
        pace, _ = stride(polynomial(most - least), lane.name)
        by = 0 if pace == {} else number(pace) if pace else None
        if by is None:
            return None
        part = substitute(part, {lane.name: lane.extent - 1 if by > 0 else Const(0)})  # type: ignore[assignment]
    return part
