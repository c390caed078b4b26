"""Cells of a core in one row: `e[c, v]` of 256 × 16 cells is `e[c*16 + v]` of 4096.

Comes in: a body in which arrays of cells are left. Goes out: the same with each of them numbered from 0. The one idea: loops that are digits
of one index merge where everything stands at that index, and cells lie in memory as they are numbered anyway.
"""

from __future__ import annotations

from math import prod

from tinygpu.category.term import Const, Read, Term, rebuild
from tinygpu.program.address import address
from tinygpu.program.step import Array, Assign, For, If, Step, arrays_in
from tinygpu.record import replace
from tinygpu.schedule.merge import change_terms


def in_rows(body: tuple[Step, ...]) -> tuple[Step, ...]:
    """`body → body` in which every array of cells has one axis.

    >>> from tinygpu.category.term import Var, text
    >>> from tinygpu.program.space import LOCAL
    >>> e = Array("e", "f32", (Const(256), Const(16)), LOCAL)
    >>> cells, write = in_rows((e, Assign("e", (Var("c"), Var("v")), Const(0.0, "f32"))))
    >>> [text(n) for n in cells.extents], [text(i) for i in write.index]
    (['4096'], ['c*16 + v'])
    """
    shapes = {s.name: s.extents for s in arrays_in(body, "thread") if len(s.extents) > 1}
    if not shapes:
        return body

    def change(t: Term) -> Term:
        t = rebuild(t, change)
        return replace(t, index=(address(shapes[t.tensor], t.index),)) if isinstance(t, Read) and t.tensor in shapes else t

    def each(step: Step) -> Step:
        match step:
            case Array(name, _, extents, owner="thread") if name in shapes:
                return replace(step, extents=(Const(prod(int(e.value) for e in extents if isinstance(e, Const))),))
            case Assign(target, index) if target in shapes:
                return replace(step, index=(address(shapes[target], index),))
            case For(_, inner) | If(_, inner):
                return replace(step, body=tuple(map(each, inner)))
        return step

    return tuple(map(each, change_terms(body, change)))
