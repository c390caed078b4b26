"""Data as an op's promises want it: in range, in order, offsets and rows, a permutation and its inverse.

Comes in: an op, sizes, arrays by chance. Goes out: arrays of which what is promised is true, where they are found. The one idea: a promise is a term, so
what one element may be is asked of many numbers at once; what several elements are together has a few shapes, which are tried, and every try is judged
by the promises themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np

from tinygpu.category.inverse import inverses
from tinygpu.category.linear import number, polynomial
from tinygpu.category.number import Array, Value, load, outside_dtype
from tinygpu.category.term import FLOATS, INDEX, INTEGERS, Const, Fold, Read, Term, Var, children, conjuncts, reads, walk
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.op import Op, Tensor

# most promises about integers are that they are not negative, or positive, or also small
LIMITS = ((0, None), (1, None), (0, 8), (0, 7), (0, 6), (0, 5), (0, 4), (0, 3), (0, 2), (0, 1))
TRIED = 1 << 16  # numbers of which it is asked whether an element may be one


def promised(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Any]) -> bool:
    """Whether the inputs are as the op's data preconditions want them."""
    return broken(op, sizes, inputs) is None


def broken(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Any]) -> Term | None:
    """The first promise that is not kept."""
    named = {r.tensor for promise in op.promises for r in reads(promise)}
    arrays = {t.name: load(inputs[t.name], t.dtype, exact=True) for t in op.inputs if t.name in named}
    env = {name: int(sizes[name]) for name in op.sizes}

    def read(node: Read, index: tuple[Value, ...], mask: Array | None) -> Value:
        return arrays[node.tensor][index]

    return next((p for p in op.promises if not bool(evaluate(p, env, read, exact=True))), None)


def as_promised(op: Op, sizes: Mapping[str, int], drawn: dict[str, Array], seed: int, wide: bool = False) -> dict[str, Array]:
    """Arrays by chance, changed until the promises are kept; as they are where no change helps. Integers are small, or `wide`: anything that they may be."""
    kept = partial(_kept, op, sizes)
    drawn = drawn | _permuted(op, drawn, seed)
    if not op.promises or kept(drawn):
        return drawn
    tries = (_any(op, sizes, drawn, seed), _few(op, sizes, drawn, seed))
    return next((one for one in chain(*(tries if wide else reversed(tries))) if kept(one)), drawn)


def longest(op: Op, sizes: Mapping[str, int], drawn: dict[str, Array]) -> dict[str, Array]:
    """The same, with integers that are passed by value as large as promises let them be: what they say the end of is as long as it may be.

    >>> from tinygpu.pipeline import load_text
    >>> text = "op f(x: f32[N], k: i32) -> (y: f32[]) where 0 <= k, k < 4*N { y[] = sum[i < k] x[i | 0] }"
    >>> int(longest(load_text(text).spec.ops[0], {"N": 3}, {"x": np.zeros(3), "k": np.int32(2)})["k"])
    11
    """
    conditions = [c for promise in op.promises for c in _parts(promise)]
    for tensor in (t for t in op.inputs if not t.shape and t.dtype in INTEGERS):
        if mine := [condition for name, condition in conditions if name == tensor.name]:
            old = drawn[tensor.name]
            asked = _asked(tensor, mine, sizes, old, np.random.default_rng(0))
            allowed = asked[_true(tensor, mine, sizes, asked)]
            one = drawn | {tensor.name: np.asarray(allowed.max() if allowed.size else old).astype(old.dtype)}
            drawn = one if _kept(op, sizes, one) else drawn
    return drawn


def _few(op: Op, sizes: Mapping[str, int], drawn: dict[str, Array], seed: int) -> Iterator[dict[str, Array]]:
    """Small integers, beside rows of offsets."""
    for rows in _rows(op, sizes, drawn, seed):
        for least, below in LIMITS:
            yield drawn | {t.name: _limited(drawn[t.name], least, below) for t in op.inputs if t.dtype in INTEGERS} | rows


def _any(op: Op, sizes: Mapping[str, int], drawn: dict[str, Array], seed: int) -> Iterator[dict[str, Array]]:
    """Elements that may be by themselves, permutations, beside rows of offsets, in order."""
    chance = np.random.default_rng([seed, 4])
    single = drawn | _single(op, sizes, drawn, chance) | _permuted(op, drawn, seed)
    yield from (single | rows for rows in _rows(op, sizes, drawn, seed))
    yield from _ordered(op, single)


def _kept(op: Op, sizes: Mapping[str, int], inputs: Mapping[str, Any]) -> bool:
    """Whether promises are kept; what reads outside keeps none."""
    try:
        return promised(op, sizes, inputs)
    except IndexError:
        return False


# ── what one element may be ────────────────────────────────────────────────────────────────────────────────────────


def _single(op: Op, sizes: Mapping[str, int], drawn: Mapping[str, Array], chance: np.random.Generator) -> dict[str, Array]:
    """Arrays of elements each of which is as it has to be by itself."""
    conditions = [c for promise in op.promises for c in _parts(promise)]
    found: dict[str, Array] = {}
    for tensor in op.inputs:
        mine = [condition for name, condition in conditions if name == tensor.name]
        if mine and tensor.dtype in (*FLOATS, *INTEGERS):
            asked = _asked(tensor, mine, sizes, drawn[tensor.name], chance)
            allowed = asked[_true(tensor, mine, sizes, asked)]
            if allowed.size:
                found[tensor.name] = _among(tensor, mine, sizes, allowed, drawn[tensor.name], chance)
    return found


def _parts(promise: Term) -> Iterator[tuple[str, Term]]:
    """The conditions of a promise on one element, whichever it is, with its tensor: no index stands in them but in what is read."""
    for part in conjuncts(promise):
        axes = {Var(axis.name) for axis in part.axes} if isinstance(part, Fold) and part.monoid == "all" else set()
        for condition in conjuncts(part.body) if isinstance(part, Fold) and axes else (part,):
            read = set(reads(condition))
            if len(read) == 1 and not any(isinstance(t, Fold) for t in walk(condition)):
                (one,) = read
                if len({*one.index} & axes) == len(one.index) and not {a.name for a in axes if isinstance(a, Var)} & _bare(
                    condition
                ):
                    yield one.tensor, condition


def _bare(term: Term) -> set[str]:
    """The variables of a term that stand in no index."""
    if isinstance(term, Read):
        return set()
    return {term.name} if isinstance(term, Var) else set[str]().union(*map(_bare, children(term)))


def _asked(tensor: Tensor, conditions: list[Term], sizes: Mapping[str, int], drawn: Array, chance: np.random.Generator) -> Array:
    """Numbers that such an element might be: around 0, around the numbers of the text, up to the largest extent."""
    if tensor.dtype in FLOATS:
        ends = ((-2, 2), (0, 1), (0.5, 2), (-1, 0), (-100, 100))
        return np.concatenate([chance.uniform(float(low), float(high), 4096) for low, high in ends])
    limits, top = np.iinfo(outside_dtype(tensor.dtype)), 8 + max(int(np.max(drawn, initial=0)), *sizes.values(), 0)
    written = (int(t.value) for c in conditions for t in walk(c) if isinstance(t, Const) and t.dtype in (*INTEGERS, INDEX))
    near = {n + d for n in written for d in (-1, 0, 1)}
    numbers = {*range(-8, min(TRIED, top * top if top < 256 else top)), *near}
    return np.asarray(sorted(n for n in numbers if limits.min <= n <= limits.max), outside_dtype(tensor.dtype))


def _true(tensor: Tensor, conditions: list[Term], sizes: Mapping[str, int], numbers: Array) -> Array:
    """Which of the numbers such an element may be."""
    held, found = load(numbers, tensor.dtype, exact=True), np.ones(numbers.shape, np.bool_)
    for condition in conditions:
        env: dict[str, Value] = {**dict.fromkeys((v.name for v in walk(condition) if isinstance(v, Var)), 0), **sizes}
        found &= np.asarray(evaluate(condition, env, lambda *_: held, exact=True), np.bool_)
    return found


def _among(
    tensor: Tensor, conditions: list[Term], sizes: Mapping[str, int], allowed: Array, drawn: Array, chance: np.random.Generator
) -> Array:
    """Elements that may be: integers any of those that are allowed, floats anywhere between those of them near 0."""
    values = chance.choice(allowed, drawn.shape)
    if tensor.dtype in FLOATS:
        near = np.sort(allowed[np.argsort(np.abs(allowed), kind="stable")][: len(allowed) // 2 + 1])
        between = np.asarray(chance.uniform(near[0], near[-1], drawn.shape))
        values = np.where(_true(tensor, conditions, sizes, between), between, values)
    return np.asarray(load(np.asarray(values), tensor.dtype)).astype(drawn.dtype)


# ── what several elements are together ─────────────────────────────────────────────────────────────────────────────


def _rows(op: Op, sizes: Mapping[str, int], drawn: Mapping[str, Array], seed: int) -> Iterator[dict[str, Array]]:
    """Offsets as promises want them, which end at some size, and of what is an index into them the row of each place; first none of these."""
    names, chance = offsets(op), np.random.default_rng([seed, 3])
    yield {}
    for last, apart in product(dict.fromkeys((*(int(sizes[s]) for s in op.sizes), 0)) if names else (), (True, False)):
        found = {t.name: _rising(drawn[t.name], last, apart, chance) for t in op.inputs if t.name in names}
        for name, inner in names.items():
            for tensor in inner & drawn.keys():
                place = np.arange(drawn[tensor].size).reshape(drawn[tensor].shape)
                row = np.searchsorted(found[name], place, "right") - 1
                found[tensor] = np.asarray(row).astype(drawn[tensor].dtype)
        yield found


def _limited(values: Array, least: int, below: int | None) -> Array:
    """Integers in `[least, below)`."""
    natural = np.maximum(np.abs(values), least)
    return np.asarray(natural if below is None else natural % below).astype(values.dtype)


def _rising(values: Array, last: int, apart: bool, chance: np.random.Generator) -> Array:
    """Offsets from 0 up to `last`; no two are one where they are to be `apart` and there is room."""
    count = max(len(values) - 2, 0)
    apart = apart and count < last
    between = chance.choice(np.arange(1, last), count, replace=False) if apart else chance.integers(0, last + 1, count)
    return np.asarray([0, *sorted(between), last][: len(values)]).astype(values.dtype)


def offsets(op: Op) -> dict[str, set[str]]:
    """The rows of integers of which a promise compares neighbours, with the inputs by which they are addressed there."""
    found: dict[str, set[Term]] = {}
    for read in (r for promise in op.promises for r in reads(promise) if len(r.index) == 1 and r.dtype in INTEGERS):
        found.setdefault(read.tensor, set()).add(read.index[0])
    pairs = {name: any(number(polynomial(a - b)) == 1 for a in places for b in places) for name, places in found.items()}
    return {name: {r.tensor for place in found[name] for r in reads(place)} for name, is_one in pairs.items() if is_one}


def _permuted(op: Op, drawn: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Permutations of what lies along a last axis, for arrays that a promise has undo one another."""
    chance, found = np.random.default_rng([seed, 4]), dict[str, Array]()
    for pair in dict.fromkeys(frozenset(pair) for promise in op.promises for pair in inverses(promise)):
        one, other = (sorted(pair) * 2)[:2]
        if not found.keys() & pair and drawn[one].shape == drawn[other].shape != ():
            order = np.argsort(chance.random(drawn[one].shape), axis=-1)
            back = np.argsort(order, axis=-1)
            found |= {name: values.astype(drawn[name].dtype) for name, values in ((one, order), (other, back))}
    return found


def _ordered(op: Op, drawn: dict[str, Array]) -> Iterator[dict[str, Array]]:
    """Of what promises speak each tensor in order, from the smallest or from the largest, all different, or all the same."""
    named = {r.tensor for promise in op.promises for r in reads(promise)}
    mine = {t.name: drawn[t.name] for t in op.inputs if t.name in named and t.shape}
    yield drawn | {name: np.sort(a, -1) for name, a in mine.items()}
    yield drawn | {name: np.sort(a, -1)[..., ::-1].copy() for name, a in mine.items()}
    yield drawn | {name: np.arange(a.size).reshape(a.shape).astype(a.dtype) for name, a in mine.items()}
    yield drawn | {name: np.full_like(a, a.flat[0]) for name, a in mine.items() if a.size}
