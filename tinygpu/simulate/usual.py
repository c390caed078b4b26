"""Sizes at which an op is run where nobody says them: as many as somebody waits for, odd, and such that its preconditions hold.

Comes in: an op, more conditions on its sizes, those that are given, a largest one. Goes out: a number for each size, or nothing. The one idea: a size
that is the length of an axis is as large as can be, and one that only shifts, divides or strides is as small as it matters; of many combinations those
are looked at that satisfy the conditions, the best first, under one largest number after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod

import numpy as np

from tinygpu.category.linear import polynomial
from tinygpu.category.number import Array, Value
from tinygpu.category.term import INDEX, App, Const, Term, conjuncts, reads, variables, walk
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.op import Op
from tinygpu.simulate.sizes import combinations, solving

FEW = (3, 2, 5, 1, 4, 8, 0, 7, 16)  # of a size that is no length, best first
MANY = 1 << 15  # combinations that are looked at
TRIES = 4  # of those that satisfy the conditions, for each largest number


def usual_sizes(
    op: Op,
    given: Mapping[str, int],
    usual: int,
    most: int,
    where: Iterable[Term] = (),
    odd: bool = False,
    bearable: Callable[[dict[str, int]], bool] = lambda sizes: True,
) -> dict[str, int] | None:
    """The sizes given, and others up to the usual one, of which no array has more than `most` elements; halved until they are bearable. The smallest
    ones where none are, and None where none were found that satisfy the conditions.

    >>> from tinygpu.pipeline import load_text
    >>> op = load_text("op f(x: f32[M, K], w: f32[G]) -> (y: f32[M]) where K == 8*G { y[i] = sum[k] x[i, k] * w[k // 8] }").spec.ops[0]
    >>> usual_sizes(op, {}, 512, 1 << 20, odd=True), usual_sizes(op, {"K": 24}, 512, 1 << 20), usual_sizes(op, {"K": 7}, 512, 1 << 20)
    ({'M': 255, 'K': 2024, 'G': 253}, {'M': 512, 'K': 24, 'G': 3}, None)
    """
    found: dict[int, list[dict[str, int]]] = {}
    for place in range(TRIES):
        for step in range(usual.bit_length()):
            rows = found.get(step) or found.setdefault(step, _best(op, tuple(where), given, usual >> step, odd))
            sizes = rows[place] if place < len(rows) else None
            if sizes and all(_elements(t.shape, sizes) <= most for t in op.tensors) and bearable(sizes):
                return sizes
    return next((rows[0] for rows in reversed(found.values()) if rows), None)


def _elements(shape: tuple[Term, ...], sizes: Mapping[str, int]) -> int:
    return int(np.prod([max(0, int(evaluate(e, sizes))) for e in shape], dtype=np.float64))


def _best(op: Op, where: tuple[Term, ...], given: Mapping[str, int], usual: int, odd: bool) -> list[dict[str, int]]:
    """A few combinations that satisfy the conditions, the best first."""
    guards = tuple(dict.fromkeys(part for g in (*op.where, *where) if not reads(g) for part in conjuncts(g)))
    told = dict(solving(guards, tuple(s for s in op.sizes if s not in given)))
    free = [s for s in op.sizes if s not in told]
    lengths, steps = _lengths(op), _steps(op, guards, given)
    columns = [
        (given[s],) if s in given else _ladder(usual, at, odd, steps, given) if s in lengths else FEW for at, s in enumerate(free)
    ]
    rows = _rows(columns)
    env: dict[str, Value] = dict(zip(free, rows, strict=True))
    for name, term in told.items():
        env[name] = np.broadcast_to(evaluate(term, env, on_zero=_ignored), rows.shape[1:])
    allowed = np.all([np.asarray(env[s]) >= 0 for s in op.sizes], axis=0) if op.sizes else np.ones(1, np.bool_)
    for guard in guards:
        allowed &= np.asarray(evaluate(guard, env, mask=allowed, on_zero=_ignored), np.bool_)
    env = {name: np.broadcast_to(np.asarray(v), allowed.shape)[allowed] for name, v in env.items()}
    if not allowed.any():
        return []
    order = np.argsort(-_worth(op, env, lengths, usual, odd), kind="stable")
    chosen = dict.fromkeys((*order[: TRIES // 2].tolist(), *order[:: max(1, len(order) // TRIES)][: TRIES - TRIES // 2].tolist()))
    return [{s: int(env[s][at]) for s in op.sizes} for at in chosen]


def _rows(columns: list[tuple[int, ...]]) -> Array:
    """Combinations, a column each: all of the first numbers, and chance's choice of the others."""
    first = next(
        k for k in range(max(map(len, columns), default=1), 0, -1) if k == 1 or prod(min(k, len(c)) for c in columns) <= MANY
    )
    few = combinations([c[:first] for c in columns])
    return few if all(len(c) <= first for c in columns) else np.concatenate([few, combinations(columns, MANY // 4)], axis=1)


def _ignored(term: Term, where: Array) -> None:
    """A division by zero at sizes that the conditions refuse."""


def _lengths(op: Op) -> set[str]:
    """The sizes that are lengths of axes: those by which no extent becomes less, and that stand alone in one."""
    extents = [e for t in (*op.tensors, *op.intermediates) for e in t.shape]
    less: set[str] = set()
    for extent in extents:
        for node in walk(extent):
            match node:
                case App("floordiv" | "ceildiv" | "mod", (_, by)):
                    less |= variables(by)
        less |= {v for atoms, factor in polynomial(extent).items() if factor < 0 for a in atoms for v in variables(a)}
    return {v for e in extents if len(variables(e)) == 1 for v in variables(e)} - less


def _steps(op: Op, guards: tuple[Term, ...], given: Mapping[str, int]) -> tuple[int, ...]:
    """The numbers of which sizes may have to be multiples or parts: those of the conditions and extents."""
    terms = (*guards, *(e for t in op.tensors for e in t.shape))
    found = {int(n.value) for t in terms for n in walk(t) if isinstance(n, Const) and n.dtype == INDEX and 1 < n.value <= 4096}
    return tuple(sorted(found | {3} | {n for n in given.values() if n > 1}))


def _ladder(usual: int, place: int, odd: bool, steps: tuple[int, ...], given: Mapping[str, int]) -> tuple[int, ...]:
    """Numbers for a length, best first."""
    near = max(1, usual - 1 - 2 * (place % (usual // 8 + 1))) if odd else usual
    found = [near, usual]
    for step in steps:
        found += [
            near // step * step,
            (near // step - (near // step + 1) % 2) * step,
            max(1, near // step - (near // step + 1) % 2),
            near // step,
            step,
        ]
        found += [n // step for n in given.values() if n % step == 0] + [n * step for n in given.values()]
    return tuple(dict.fromkeys(n for n in (*found, near // 2, near // 4, 8, 4, 3, 2, 1) if n >= 1))


def _worth(op: Op, env: Mapping[str, Array], lengths: set[str], usual: int, odd: bool) -> Array:
    """How good combinations are: long axes that are odd, few steps, and nothing empty."""
    found = np.zeros(len(next(iter(env.values()))) if env else 1)
    for name, values in env.items():
        if name in lengths:
            log = np.log2(np.maximum(values, 1))
            found += np.minimum(log, 2 * np.log2(usual) - log) + 1.0 * odd * (values % 2)
        else:
            found -= sum(np.where(values == n, 1.0 * at, 0.0) for at, n in enumerate(FEW)) + len(FEW) * ~np.isin(values, FEW)
    for tensor in (*op.tensors, *op.intermediates):
        for extent in tensor.shape:
            long = np.broadcast_to(np.asarray(evaluate(extent, env, on_zero=_ignored)), found.shape)
            found -= 50.0 * (long < 1)
            if tensor in op.outputs:
                found += 0.5 * np.minimum(np.log2(np.maximum(long, 1)), np.log2(usual))
    return found
