"""Counting points: how often a statement is executed by all threads together, as a closed form over the sizes.

    #{ by < ⌈M/64⌉, ty < 8, ri < 8 : by·64 + ty·8 + ri < M }  =  M

Comes in: axes and a guard. Goes out: a closed form, or None where none is seen.
The one idea: the guards of a grid compare digits of a number with a size. The axes of constant extent are enumerated together, which shows that
their part of each comparison takes every value below some P equally often; with that as its lowest digit the rest is a number in mixed radix,
and below a bound there are as many as it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from tinygpu.category.linear import Polynomial, plus, polynomial, scaled, term_of
from tinygpu.category.term import INDEX, App, Axis, Term, Var, conjunction, conjuncts, reads, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.closed import closed, least, natural, nonnegative
from tinygpu.cost.parts import enumerated
from tinygpu.record import dataclass, field

TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
POINTS = 1 << 20  # of the constant axes that are enumerated together


@dataclass(slots=True)
class Digits:
    """`low + Σ strides·axes`, a number in mixed radix, and what it is compared with: `below` are exclusive bounds, `start` inclusive ones."""

    low: Term
    strides: dict[str, Any]
    below: list[Any] = field(default_factory=list)
    start: list[Any] = field(default_factory=list)


def count(axes: tuple[Axis, ...], guard: Term, at_least: Mapping[str, int] | None = None) -> Any:
    """`#{ point of axes : guard }`, or None. `at_least` says how small each size can be (0).

    >>> from tinygpu.category.term import Const
    >>> from tinygpu.cost.closed import shown
    >>> by, t, M = Axis("by", App("ceildiv", (Var("M"), Const(64)))), Axis("t", Const(64)), Var("M")
    >>> forms = count((by, t), Var("by") * 64 + Var("t") < M), count((by, t), Var("t") < 3), count((t,), Var("t") < M)
    >>> print(*map(shown, forms))
    M 3·⌈M/64⌉ min(M, 64)
    """
    at_least, names = at_least or {}, {a.name for a in axes}
    if reads(guard) or any(variables(a.extent) & names for a in axes):
        return None
    extents = {a.name: natural(closed(a.extent), at_least) for a in axes}
    constant = {n: int(e) for n, e in extents.items() if e.is_Integer}
    filters, numbers = [], list[Digits]()
    for condition in conjuncts(guard):
        if variables(condition) <= constant.keys():
            filters.append(condition)
        elif not variables(condition) & names or not _compared(condition, names, constant, numbers):
            return None
    near = sorted({n for t in (*filters, *(d.low for d in numbers)) for n in variables(t)})
    placed = [*near, *(n for d in numbers for n in d.strides)]
    many = prod(constant[n] for n in near)
    if many > POINTS or len(set(placed)) < len(placed):
        return None  # too many, or an axis that two comparisons speak of
    values = enumerated({n: constant[n] for n in near})
    inside = np.broadcast_to(np.asarray(evaluate(conjunction(*filters), values), bool), (many,))
    lows = [np.broadcast_to(np.asarray(evaluate(d.low, values), np.int64), inside.shape)[inside] for d in numbers]
    total = prod(extents[n] for n in extents if n not in placed) * closed(1)
    if not inside.any() or total == 0:
        return closed(0)
    if (uniform := _uniform(lows, int(inside.sum()))) is None:
        return None
    total = total * uniform[0]
    for digits, first, span in zip(numbers, *uniform[1:], strict=True):
        one = _below(digits, first, span, extents, at_least)
        if one is None:
            return None
        total = total * one
    return total.expand()


def _compared(condition: Term, names: set[str], constant: Mapping[str, int], numbers: list[Digits]) -> bool:
    """Files `left op right` under the number that it is about; whether that could be done."""
    if not isinstance(condition, App) or condition.op not in TURNED or condition.args[0].dtype != INDEX:
        return False
    op, (left, right) = condition.op, condition.args
    split = _split(plus(polynomial(left), polynomial(right), -1), names, constant)
    if split is None:
        return False
    low, strides, rest = split
    if not all(nonnegative(s, {}) for s in strides.values()):
        if not all(nonnegative(-s, {}) for s in strides.values()):
            return False
        op, low, strides, rest = TURNED[op], scaled(low, -1), {n: -s for n, s in strides.items()}, -rest
    mine = Digits(term_of(low), strides)
    same = next((d for d in numbers if d.low == mine.low and d.strides == mine.strides), mine)
    numbers += [same] * (same is mine)
    (same.below if op in ("lt", "le") else same.start).append(int(op in ("le", "gt")) - rest)
    return True


def _split(form: Polynomial, names: set[str], constant: Mapping[str, int]) -> tuple[Polynomial, dict[str, Any], Any] | None:
    """`form = low + Σ strides·axes + rest`: low over axes of constant extent, the strides and the rest over the sizes."""
    low, strides, rest = Polynomial(), dict[str, Any](), closed(0)
    for monomial, c in form.items():
        used = {n for atom in monomial for n in variables(atom)}
        own = [atom for atom in monomial if variables(atom) & names]
        by = prod(closed(atom) for atom in monomial if atom not in own) * closed(c)
        match own:
            case [_, *_] if used <= constant.keys():
                low[monomial] = c
            case []:
                rest = rest + by
            case [Var(name)]:
                strides[name] = strides.get(name, 0) + by
            case _:
                return None
    return low, {n: s for n, by in strides.items() if (s := by.expand()) != 0}, rest.expand()


def _uniform(lows: list[np.ndarray], many: int) -> tuple[int, list[int], list[int]] | None:
    """Whether the lows together take every combination of contiguous values equally often: how often, from where, how many."""
    firsts = [int(low.min()) for low in lows]
    spans = [int(low.max()) - first + 1 for low, first in zip(lows, firsts, strict=True)]
    if prod(spans) > POINTS:
        return None
    flat = np.zeros(many, np.int64)
    for low, first, span in zip(lows, firsts, spans, strict=True):
        flat = flat * span + (low - first)
    seen = np.bincount(flat, minlength=prod(spans))
    return (int(seen[0]), firsts, spans) if (seen == seen[0]).all() else None


def _below(digits: Digits, first: int, span: int, extents: Mapping[str, Any], at_least: Mapping[str, int]) -> Any:
    """How many values of `first + [0, span) + Σ strides·axes` are inside the bounds, if the axes are its further digits."""
    whole, left = closed(span), dict(digits.strides)
    while left:
        name = next((n for n, stride in left.items() if stride == whole), None)
        if name is None:
            return None
        del left[name]
        whole = (whole * extents[name]).expand()
    uppers, lowers = set(digits.below), set(digits.start)
    if len(uppers) > 1 or len(lowers) > 1:
        return None
    ends = [natural(least(bound - first, whole, at_least), at_least) for bound in (*uppers, *lowers)]
    top = ends[0] if uppers else whole
    return natural(top - ends[-1], at_least) if lowers else top
