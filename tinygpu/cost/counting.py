"""Counting points: how often a statement is executed by all threads together, as a closed form over the sizes.

    #{ by < ⌈M/64⌉, ty < 8, ri < 8 : by·64 + ty·8 + ri < M }  =  M

Comes in: axes and a guard. Goes out: a closed form, or None where none is seen. The one idea: the guards of a grid compare digits of a
number with a size. The axes of constant extent are enumerated together, which shows that their part of each comparison takes every value
below some P equally often; with that as its lowest digit the rest is a number in mixed radix, and below a bound there are as many as it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from tinygpu.category.term import INDEX, App, Axis, Const, Term, Var, conjuncts, reads, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.closed import ONE, Closed, closed, least, natural
from tinygpu.record import dataclass

TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
POINTS = 1 << 20  # of the constant axes that are enumerated together


@dataclass(slots=True)
class Form:
    """`low + Σ strides·axes`, a number in mixed radix, and what it is compared with: `below` are exclusive bounds, `from_` inclusive ones."""

    low: Term
    strides: dict[str, Closed]
    below: list[Closed]
    from_: list[Closed]


def count(axes: tuple[Axis, ...], guard: Term, at_least: Mapping[str, int] | None = None) -> Closed | None:
    """`#{ point of axes : guard }`, or None. `at_least` says how small each size can be (0).

    >>> by, t, M = Axis("by", App("ceildiv", (Var("M"), Const(64)))), Axis("t", Const(64)), Var("M")
    >>> print(count((by, t), Var("by") * 64 + Var("t") < M), count((by, t), Var("t") < 3), count((t,), Var("t") < M))
    M 3·⌈M/64⌉ min(M, 64)
    """
    known = at_least or {}
    names = {a.name for a in axes}
    if any(variables(a.extent) & names for a in axes):
        return None
    extents = {a.name: natural(closed(a.extent), known) for a in axes}
    constant = {n: c for n, e in extents.items() if (c := e.constant) is not None}
    if 0 in constant.values():
        return Closed()
    filters: list[Term] = []
    forms: list[Form] = []
    for condition in conjuncts(guard):
        used = variables(condition)
        if reads(condition):
            return None
        if used <= constant.keys():
            filters.append(condition)
        elif not used & names or not _compared(condition, names, constant, forms):
            return None
    near = sorted({n for t in (*filters, *(f.low for f in forms)) for n in variables(t)})
    far = [n for n in extents if n not in near and not any(n in f.strides for f in forms)]
    digits_of = [*near, *(n for f in forms for n in f.strides)]
    if prod(constant[n] for n in near) > POINTS or len(set(digits_of)) < len(digits_of):
        return None  # too many, or an axis that two comparisons speak of
    total = ONE
    for n in far:
        total = total * extents[n]
    values = dict(
        zip(near, np.indices([constant[n] for n in near]).reshape(len(near), prod(constant[n] for n in near)), strict=True)
    )
    inside = np.ones(prod(constant[n] for n in near), bool)
    for condition in filters:
        inside &= np.asarray(evaluate(condition, values), bool)
    lows = [np.broadcast_to(np.asarray(evaluate(f.low, values), np.int64), inside.shape)[inside] for f in forms]
    if not inside.any():
        return Closed()
    digits = _uniform(lows)
    if digits is None:
        return None
    times, starts, spans = digits
    total = total * (times if forms else int(inside.sum()))
    for form, start, span in zip(forms, starts, spans, strict=True):
        one = _below(form, start, span, extents, known)
        if one is None:
            return None
        total = total * one
    return total


def _compared(condition: Term, names: set[str], constant: Mapping[str, int], forms: list[Form]) -> bool:
    """Files `left op right` under the form that it is about; whether that could be done."""
    if not isinstance(condition, App) or condition.op not in TURNED or condition.args[0].dtype != INDEX:
        return False
    op, (left, right) = condition.op, condition.args
    split = _linear(App("sub", (left, right)), names, constant)
    if split is None:
        return False
    low, strides, rest = split
    signs = {c > 0 for s in strides.values() for _, c in s.parts}
    if signs == {False}:
        low, strides, rest = App("neg", (low,)), {n: s * -1 for n, s in strides.items()}, rest * -1
        op = TURNED[op]
    elif len(signs) > 1:
        return False
    low = _plain(low)
    form = next((f for f in forms if f.low == low and f.strides == strides), None)
    if form is None:
        form = Form(low, strides, [], [])
        forms.append(form)
    bound = rest * -1
    match op:
        case "lt":
            form.below.append(bound)
        case "le":
            form.below.append(bound + ONE)
        case "gt":
            form.from_.append(bound + ONE)
        case _:
            form.from_.append(bound)
    return True


def _plain(low: Term) -> Term:
    match low:
        case App("neg", (App("neg", (inner,)),)):
            return inner
        case App("neg", (Const(0),)):
            return Const(0)
    return low


def _linear(term: Term, names: set[str], constant: Mapping[str, int]) -> tuple[Term, dict[str, Closed], Closed] | None:
    """`term = low + Σ strides·axes + rest`: low over axes of constant extent, the strides and the rest over the sizes."""
    used = variables(term)
    if not used & names:
        return Const(0), {}, closed(term)
    if used <= constant.keys():
        return term, {}, Closed()
    match term:
        case Var(name):
            return Const(0), {name: ONE}, Closed()
        case App("add" | "sub" as op, (a, b)):
            left, right = _linear(a, names, constant), _linear(b, names, constant)
            if left is None or right is None:
                return None
            sign = 1 if op == "add" else -1
            strides = dict(left[1])
            for name, stride in right[1].items():
                strides[name] = strides.get(name, Closed()) + stride * sign
            low = left[0] + right[0] if sign > 0 else left[0] - right[0]
            return low, {n: s for n, s in strides.items() if s.parts}, left[2] + right[2] * sign
        case App("mul", (a, b)):
            outer, inner = (a, b) if not variables(a) & names else (b, a)
            if variables(outer) & names:
                return None
            if (split := _linear(inner, names, constant)) is None:
                return None
            by = closed(outer)
            if split[0] == Const(0):
                return Const(0), {n: s * by for n, s in split[1].items()}, split[2] * by
            if by.constant is not None:
                return split[0] * by.constant, {n: s * by for n, s in split[1].items()}, split[2] * by
            if isinstance(split[0], Var) and not split[1]:  # a stride that is no number
                return Const(0), {split[0].name: by}, split[2] * by
    return None


def _uniform(lows: list[np.ndarray]) -> tuple[int, list[int], list[int]] | None:
    """Whether the lows together take every combination of contiguous values equally often: how often, from where, how many."""
    if not lows:
        return 1, [], []
    starts = [int(low.min()) for low in lows]
    spans = [int(low.max()) - start + 1 for low, start in zip(lows, starts, strict=True)]
    if prod(spans) > POINTS:
        return None
    flat = np.zeros(len(lows[0]), np.int64)
    for low, start, span in zip(lows, starts, spans, strict=True):
        flat = flat * span + (low - start)
    seen = np.bincount(flat, minlength=prod(spans))
    return (int(seen[0]), starts, spans) if (seen == seen[0]).all() else None


def _below(form: Form, start: int, span: int, extents: Mapping[str, Closed], known: Mapping[str, int]) -> Closed | None:
    """How many values of `start + [0, span) + Σ strides·axes` are inside the bounds, if the axes are its further digits."""
    whole, left = closed(span), dict(form.strides)
    while left:
        name = next((n for n, stride in left.items() if stride == whole), None)
        if name is None:
            return None
        del left[name]
        whole = whole * extents[name]
    begin = closed(start)
    uppers = list(dict.fromkeys(bound - begin for bound in form.below))
    lowers = list(dict.fromkeys(bound - begin for bound in form.from_))
    if len(uppers) > 1 or len(lowers) > 1:
        return None
    top = whole if not uppers else _clamped(uppers[0], whole, known)
    if not lowers or (lowers[0].constant is not None and lowers[0].constant <= 0):
        return top
    return natural(top - _clamped(lowers[0], whole, known), known)


def _clamped(bound: Closed, whole: Closed, known: Mapping[str, int]) -> Closed:
    """`min(max(bound, 0), whole)`; where the whole is the bound rounded up, or more than that, it is the bound."""
    match whole.parts:
        case (((App("ceildiv", (size, Const(int(by)))),), times),) if times % by == 0:
            less = (closed(size) - bound).constant
            if less is not None and less >= 0:
                return natural(bound, known)
    return least(natural(bound, known), whole)
