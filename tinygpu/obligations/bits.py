"""Where an equation tells bits of an index apart, it is looked at one value of the index at a time.

    ∀ i < 32:  v(i) = c(i)      ⊢      v(0) = c(0),  …,  v(31) = c(31)

Comes in: two values at a point. Goes out: the same two at the points of a few axes, which are numbers there. The one idea: what a bit of an index that
is a number decides is decided, so a butterfly of lanes is a sum with signs, and no solver asks which bits there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from tinygpu.category.operation import BITWISE
from tinygpu.category.region import Region
from tinygpu.category.term import INTEGERS, App, Const, Term, substitute, variables, walk
from tinygpu.record import replace

MOST = 32  # points


def each(value: Term, claim: Term, point: Region) -> Iterator[tuple[Term, Term, Region]]:
    """Both values at each point of the axes whose bits the claim tells apart, if these are few; else as they are.

    >>> from tinygpu.category.term import Axis, Var, text
    >>> i, n = Var("i"), Var("n")
    >>> bits = App("bitand", (App("cast", (i,), "u32"), App("cast", (n,), "u32")), "u32")
    >>> here = Region((Axis("i", Const(2)), Axis("j", n)), (i < n,))
    >>> [(text(a), text(b), [a.name for a in p.axes], *map(text, p.guard)) for a, b, p in each(App("cast", (i,), "u32"), bits, here)]
    [('u32(0)', 'u32(0) & u32(n)', ['j'], '0 < n'), ('u32(1)', 'u32(1) & u32(n)', ['j'], '1 < n')]
    """
    told = {name for t in walk(claim) if isinstance(t, App) and t.op in BITWISE and t.dtype in INTEGERS for name in variables(t)}
    axes = [a for a in point.axes if a.name in told and isinstance(a.extent, Const)]
    if not axes or prod(int(a.extent.value) for a in axes if isinstance(a.extent, Const)) > MOST:
        yield value, claim, point
        return
    rest = [a for a in point.axes if a not in axes]
    for numbers in product(*(range(int(a.extent.value)) for a in axes if isinstance(a.extent, Const))):
        put: dict[str, Term] = {a.name: Const(n) for a, n in zip(axes, numbers, strict=True)}
        others = tuple(replace(a, extent=substitute(a.extent, put)) for a in rest)
        there = Region(others, tuple(substitute(g, put) for g in point.guard))
        yield there.settled(substitute(value, put)), there.settled(substitute(claim, put)), there
