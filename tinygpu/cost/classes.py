"""Classes: the different warps of a block, and what everything else adds to them, each with how often it comes.

Comes in: an address and a guard in parts. Goes out: rows `(address, comparison, comparison, …)` with counts.
The one idea: parts over different axes are independent, so their sums are convolutions and no grid is ever walked through; what is left
of a comparison beyond what the lanes of a warp can tell apart is one class.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from tinygpu.category.term import Term, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.parts import POINTS, WARP, Numbers, Parts, Unclear, enumerated, nobody
from tinygpu.record import dataclass

HASH = 0x9E3779B97F4A7C15 - (1 << 64)  # odd, so that nothing is lost of what is multiplied


@dataclass(slots=True)
class Classes:
    """`warps[w, lane]` and `rows[c]` are `(address, atom, atom, …)`; `there`: the lanes that the block has; `times`, `counts`: how often."""

    warps: Numbers
    there: NDArray[np.bool_]
    times: Numbers
    rows: Numbers
    counts: Numbers


def classes(parts: Parts) -> Classes:
    """The different warps, and the classes of the rest. Raises Unclear where that is too much."""
    block = {a.name for a in parts.launch.block}
    columns = [parts.address, *(a.parts for a in parts.atoms)]
    groups = _groups([variables(t) & parts.axes.keys() for column in columns for t in column], block)
    near = next((g for g in groups if g & block), frozenset(block)) | block
    warps, there, times = _warps(parts, columns, near)
    for n, atom in enumerate(parts.atoms):
        seen = warps[..., n + 1][there]
        atom.low, atom.high = int(seen.min(initial=0)), int(seen.max(initial=0))
    far = [g for g in groups if not g & block]
    used = near.union(*far)
    idle = prod(e for n, e in parts.axes.items() if n not in used)
    rows, counts = _joined([_enumerated(parts, columns, g) for g in far], parts)
    start = np.array([[parts.constant % parts.modulus, *(a.constant for a in parts.atoms)]], np.int64)
    return Classes(warps, there, times, *_clip(rows + start, counts * idle, parts))


def _groups(used: list[frozenset[str]], block: set[str]) -> list[frozenset[str]]:
    """The axes, together where one part speaks of them; the threads' own are always together."""
    found: list[frozenset[str]] = [frozenset(block)] if block else []
    for axes in used:
        if axes:
            touched = [g for g in found if g & axes]
            found = [g for g in found if not g & axes] + [axes.union(*touched)]
    return found


def _column(terms: list[Term], inside: frozenset[str], values: Mapping[str, Numbers], shape: tuple[int, ...]) -> Numbers:
    total = np.zeros(shape, np.int64)
    for term in terms:
        if variables(term) & inside:
            total = total + np.asarray(evaluate(term, values, on_zero=nobody), np.int64)
    return total


def _enumerated(parts: Parts, columns: list[list[Term]], group: frozenset[str]) -> tuple[Numbers, Numbers]:
    """The rows of a group of axes, and how often each comes."""
    box = {n: extent for n, extent in parts.axes.items() if n in group}
    many = prod(box.values())
    if many > POINTS:
        raise Unclear
    values = enumerated(box)
    held = np.stack([_column(column, group, values, (many,)) for column in columns], -1)
    held[:, 0] %= parts.modulus
    first, counts = gathered(held, np.ones(many, np.int64))
    return held[first], counts


def gathered(rows: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """Which rows are different, one of each, and their counts added: found by a hash, and then compared.

    >>> gathered(np.array([[1, 2], [3, 4], [1, 2]]), np.array([1, 1, 5]))
    (array([0, 1]), array([6, 1]))
    """
    key = np.zeros(len(rows), np.int64)
    for column in np.ascontiguousarray(rows.T):
        key = key * HASH + column
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    if not (rows[first][which] == rows).all():  # two rows of one hash
        _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    total = np.zeros(len(first), np.int64)
    np.add.at(total, which, counts)
    return first, total


def _joined(groups: list[tuple[Numbers, Numbers]], parts: Parts) -> tuple[Numbers, Numbers]:
    """The sums of the rows of independent groups; those of one comparison first, so that it is soon down to what lanes can tell."""
    width = len(parts.atoms) + 1
    rows, counts = np.zeros((1, width), np.int64), np.ones(1, np.int64)
    waiting = sorted(groups, key=lambda g: len(g[1]))
    while waiting:
        together = [waiting.pop(0)]
        touched = _speaks(together[0][0])
        while more := next((g for g in waiting if (_speaks(g[0]) & touched).any()), None):
            waiting = [g for g in waiting if g is not more]
            together.append(more)
            touched = touched | _speaks(more[0])
        one = together[0]
        for other in together[1:]:
            one = _added(one, other, parts)
        rows, counts = _added((rows, counts), _clip(*one, parts, [n for n in range(1, width) if touched[n]], shift=True), parts)
    return rows, counts


def _speaks(rows: Numbers) -> NDArray[np.bool_]:
    """Which comparisons a group has a part in."""
    spoken = (rows != 0).any(0)
    spoken[0] = False
    return np.asarray(spoken)


def _added(a: tuple[Numbers, Numbers], b: tuple[Numbers, Numbers], parts: Parts) -> tuple[Numbers, Numbers]:
    if len(a[1]) * len(b[1]) > POINTS:
        raise Unclear
    rows = (a[0][:, None, :] + b[0][None, :, :]).reshape(-1, a[0].shape[1])
    rows[:, 0] %= parts.modulus
    first, counts = gathered(rows, (a[1][:, None] * b[1][None, :]).reshape(-1))
    return rows[first], counts


def _clip(
    rows: Numbers, counts: Numbers, parts: Parts, which: list[int] | None = None, shift: bool = False
) -> tuple[Numbers, Numbers]:
    """The rows where a comparison's part is no more than lanes can tell: below and above that the sign is settled.

    `shift`: the constants are not in the rows yet.
    """
    rows = rows.copy()
    for n in range(1, rows.shape[1]) if which is None else which:
        atom = parts.atoms[n - 1]
        constant = atom.constant if shift else 0
        rows[:, n] = np.clip(rows[:, n], -atom.high - 1 - constant, -atom.low + 1 - constant)
    first, counts = gathered(rows, counts)
    return rows[first], counts


def _warps(parts: Parts, columns: list[list[Term]], near: frozenset[str]) -> tuple[Numbers, NDArray[np.bool_], Numbers]:
    """The different warps: of every lane the threads' part of the address (up to whole sectors) and of each comparison."""
    block = {a.name: parts.axes[a.name] for a in parts.launch.block}
    outer = {n: extent for n, extent in parts.axes.items() if n in near - block.keys()}
    threads, turns = prod(block.values()), prod(outer.values())
    if threads * turns > POINTS:
        raise Unclear
    values = enumerated(block, 1, threads) | enumerated(outer, turns, 1)
    width = len(columns)
    number_of = -(-threads // WARP)
    held = np.zeros((turns, number_of * WARP, width), np.int64)
    for n, column in enumerate(columns):
        held[:, :threads, n] = _column(column, near, values, (turns, threads))
    there = np.zeros((turns, number_of * WARP), bool)
    there[:, :threads] = True
    warps, lanes = held.reshape(-1, WARP, width), there.reshape(-1, WARP)
    base = np.where(lanes, warps[:, :, 0], np.iinfo(np.int64).max).min(1) // parts.modulus * parts.modulus
    warps = warps - np.where(np.arange(width) == 0, base[:, None, None], 0)
    first, times = gathered(np.concatenate([warps.reshape(len(warps), WARP * width), lanes], 1), np.ones(len(warps), np.int64))
    return warps[first], lanes[first], times
