"""Loops of a tile as one: what a row reads lies one behind the other along them, so their panel may be as long as there is room.

    c < C, r < K   ↦   c_r < C*K with c = c_r // K, r = c_r % K           where a row reads w[f, c, r]

Comes in: the loops, outermost first, and what a row reads. Goes out: fewer loops, and the digits that the old ones are of the new one. The one idea:
the numbers of a row are read one behind the other, whatever the loops are called, and the digits are found where a panel is laid out, once for many rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinygpu.category.linear import ONE, Polynomial, plus, polynomial, stride, term_of, times
from tinygpu.category.term import Axis, Const, Term, Var, children, exchange, variables
from tinygpu.program.arrays import address
from tinygpu.schedule.nest import Shapes, memory_reads
from tinygpu.schedule.polynomial import term


def one_loop(
    loops: Sequence[Axis], values: Sequence[Term], row: str, lane: str, shapes: Shapes
) -> tuple[tuple[Axis, ...], dict[str, Term]]:
    """The innermost loops as one, as many as lie so; the loops and the digits. Loops of a few turns, which a panel holds whole, stay.

    >>> from tinygpu.category.term import App, Read, text
    >>> f, c, r, q, C, K = map(Var, "fcrqCK")
    >>> value = App("mul", (Read("x", (c, q + r), "f32"), Read("w", (f, c, r), "f32")), "f32")
    >>> shapes = {"w": (Var("F"), C, K), "x": (C, Var("L"))}
    >>> loops, digits = one_loop((Axis("c", C), Axis("r", K)), (value,), "f", "q", shapes)
    >>> [(a.name, text(a.extent)) for a in loops], {name: text(t) for name, t in digits.items()}
    ([('c_r', 'C*K')], {'r': 'c_r % K', 'c': 'c_r // K'})
    """
    names = {a.name for a in loops}
    alone = [part for value in values for part in _spread(value, row, lane)]
    read = memory_reads(alone, shapes)
    elsewhere = [exchange(t, {r: Const(0.0, r.dtype) for r in read}) for t in alone] + [a.extent for a in loops]
    if isinstance(loops[-1].extent, Const) or any(names & variables(t) for t in elsewhere):
        return tuple(loops), {}
    places = [polynomial(address(shapes[r.tensor], r.index)) for r in read]
    *outer, last = loops
    digits, whole = [last], last
    while outer and all(_behind(p, outer[-1], whole) for p in places):
        slow = outer.pop()
        both = Axis(f"{slow.name}_{whole.name}", term(times(polynomial(slow.extent), polynomial(whole.extent))), slow.sort)
        places = [_numbered(p, slow, whole, both.name) for p in places]
        digits, whole = [slow, *digits], both
    own, below = dict[str, Term](), ONE
    for axis in reversed(digits):
        rest = Var(whole.name) if below == ONE else Var(whole.name) // term_of(below)
        own[axis.name], below = rest if axis is digits[0] else rest % axis.extent, times(below, polynomial(axis.extent))
    return (*outer, whole), own if len(digits) > 1 else {}


def _spread(t: Term, row: str, lane: str) -> Iterator[Term]:
    """The largest parts that are one number for all lanes; what no row tells is in a panel."""
    if lane not in variables(t):
        yield t
    elif row in variables(t):
        for child in children(t):
            yield from _spread(child, row, lane)


def _behind(p: Polynomial, slow: Axis, fast: Axis) -> bool:
    """Whether a turn of the slow loop is as far as all turns of the fast one."""
    one, all_of_them = stride(p, fast.name)[0], stride(p, slow.name)[0]
    return one is not None and all_of_them is not None and all_of_them == times(one, polynomial(fast.extent))


def _numbered(p: Polynomial, slow: Axis, fast: Axis, name: str) -> Polynomial:
    pace, rest = stride(p, fast.name)
    return plus(stride(rest, slow.name)[1], times(pace or {}, polynomial(Var(name))))
