"""Lanes: what an index term's form says of a vector axis: its slope, its first element, what divides it, its worst lane.

Comes in: index terms and guards. Goes out: terms without the axis, numbers, or None where the form does not show it.
The one idea: nothing here is believed. Where a form shows nothing an access stays narrow; where it shows something the prover is asked.
"""

from __future__ import annotations

from math import gcd

from tinygpu.category.dtype import BYTES
from tinygpu.category.linear import number, polynomial, stride
from tinygpu.category.term import BOOL, COMPARISONS, INDEX, App, Axis, Const, Term, conjunction, reads, substitute, variables

WIDEST_BYTES = 16


def divisible(term: Term, by: int) -> Term:
    """The guard `term % by == 0`, decided where it is a number."""
    rest = term % by
    return Const(rest.value == 0, BOOL) if isinstance(rest, Const) else App("eq", (rest, Const(0)), BOOL)


def lanes_of(count: int, dtype: str) -> int:
    """How many of `count` neighbours one access moves: as many as fit 16 bytes and divide the count evenly, by powers of two.

    >>> lanes_of(4, "f32"), lanes_of(8, "f32"), lanes_of(8, "f16"), lanes_of(6, "f32"), lanes_of(3, "f32"), lanes_of(16, "u8")
    (4, 4, 8, 2, 1, 16)
    """
    return gcd(count * BYTES[dtype], WIDEST_BYTES) // BYTES[dtype]


def first_of(index: tuple[Term, ...], axis: str) -> tuple[Term, ...] | None:
    """The element of lane 0, if there is a last coordinate, it is `first + axis`, and the others are free of the axis.

    >>> from tinygpu.category.term import Var, text
    >>> g, v = Var("g"), Var("v")
    >>> [text(f) for f in first_of((g, g * 4 + v), "v")], first_of((v, g), "v"), first_of((g * 4 + v * 2,), "v")
    (['g', 'g*4'], None, None)
    """
    if not index or slope(index[-1], axis) != 1 or any(axis in variables(t) for t in index[:-1]):
        return None
    return (*index[:-1], substitute(index[-1], {axis: Const(0)}))


def slope(term: Term, axis: str) -> int | None:
    """How much the term grows from lane to lane, where that is one number; None if it is not seen.

    >>> from tinygpu.category.term import Var
    >>> g, v = Var("g"), Var("v")
    >>> slope((g * 4 + v) * 3 - v, "v"), slope(g * v, "v"), slope(v // 2, "v")
    (2, None, None)
    """
    pace, _ = stride(polynomial(term), axis)
    return None if pace is None else number(pace)


def all_lanes(guard: Term, axis: Axis) -> Term | None:
    """The guard at its worst lane: a term without the axis that holds exactly where every lane's does; None if that is not seen.

    >>> from tinygpu.category.term import Var, text
    >>> i, v, n = Var("g") * 4 + Var("v"), Axis("v", Const(4), "vector"), Var("n")
    >>> text(all_lanes(i < n, v)), text(all_lanes(i >= 1, v)), all_lanes(App("eq", (i % 2, Const(0)), "bool"), v)
    ('g*4 + 3 < n', 'g*4 >= 1', None)
    """
    if reads(guard):
        return None
    if axis.name not in variables(guard):
        return guard
    match guard:
        case App(op, (left, right)) if op in COMPARISONS and left.dtype == INDEX == right.dtype:
            rise = slope(App("sub", (right, left)), axis.name)
            if rise is None or op in ("eq", "ne"):
                return None
            grows = rise if op in ("lt", "le") else -rise
            worst = Const(0) if grows > 0 else axis.extent - 1
            return substitute(guard, {axis.name: worst})
    return None


def all_lanes_of(path: tuple[Term, ...] | None, axis: Axis) -> Term | None:
    """`all_lanes` of each condition of a path together; None if one is not seen."""
    every = None if path is None else [all_lanes(c, axis) for c in path]
    return None if every is None or None in every else conjunction(*(c for c in every if c is not None))
