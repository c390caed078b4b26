"""Classes: the different warps of a block, and what everything else adds to them, each with how often it comes.

Comes in: an address and a guard in parts. Goes out: rows `(address, comparison, comparison, …)` with counts.
The one idea: parts over different axes are independent, so their sums are convolutions and no grid is ever walked through; what is left
of a comparison beyond what the lanes of a warp can tell apart is one class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tinygpu.category.term import Term, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.parts import POINTS, WARP, Numbers, Parts, Unclear, enumerated, nobody
from tinygpu.record import dataclass

T = TypeVar("T")
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
    return Classes(warps, there, times, *_clip(rows + start, counts * idle, parts, range(len(parts.atoms))))


def _groups(used: list[frozenset[T]], block: set[T]) -> list[frozenset[T]]:
    """Axes, together where one part speaks of them; the threads' own are always together. Comparisons, where one group does."""
    found: list[frozenset[T]] = [frozenset(block)] if block else []
    for axes in used:
        if axes:
            touched = [g for g in found if g & axes]
            found = [g for g in found if not g & axes] + [axes.union(*touched)]
    return found


def _column(terms: list[Term], inside: frozenset[str], values: Mapping[str, Numbers], shape: tuple[int, ...]) -> Numbers:
    mine = (np.asarray(evaluate(term, values, on_zero=nobody), np.int64) for term in terms if variables(term) & inside)
    return sum(mine, np.zeros(shape, np.int64))


def _enumerated(parts: Parts, columns: list[list[Term]], group: frozenset[str]) -> tuple[Numbers, Numbers]:
    """The rows of a group of axes, and how often each comes."""
    box = {n: extent for n, extent in parts.axes.items() if n in group}
    many = prod(box.values())
    if many > POINTS:
        raise Unclear
    values = enumerated(box)
    held = np.stack([_column(column, group, values, (many,)) for column in columns], -1)
    held[:, 0] %= parts.modulus
    return gathered(held, np.ones(many, np.int64))


def gathered(rows: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """Equal rows once, with their counts added: found by a hash, and then compared.

    >>> [each.tolist() for each in gathered(np.array([[1, 2], [3, 4], [1, 2]]), np.array([1, 1, 5]))]
    [[[1, 2], [3, 4]], [6, 1]]
    """
    key = np.zeros(len(rows), np.int64)
    for column in np.ascontiguousarray(rows.T):
        key = key * HASH + column
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    if not (rows[first][which] == rows).all():  # two rows of one hash
        _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    total = np.zeros(len(first), np.int64)
    np.add.at(total, which, counts)
    return rows[first], total


def _joined(groups: list[tuple[Numbers, Numbers]], parts: Parts) -> tuple[Numbers, Numbers]:
    """The sums of the rows of independent groups; those of one comparison first, so that it is soon down to what lanes can tell."""
    total = np.zeros((1, len(parts.atoms) + 1), np.int64), np.ones(1, np.int64)
    ordered = sorted(groups, key=lambda g: len(g[1]))
    spoken = [frozenset(np.flatnonzero(rows[:, 1:].any(0)).tolist()) for rows, _ in ordered]  # comparisons with a part of it
    for atoms in (frozenset[int](), *_groups(spoken, set())):
        mine = [g for g, s in zip(ordered, spoken, strict=True) if s & atoms or not (s or atoms)]
        if mine:
            one = reduce(lambda a, b: _added(a, b, parts), mine)
            total = _added(total, _clip(*one, parts, sorted(atoms), shift=True), parts)
    return total


def _added(a: tuple[Numbers, Numbers], b: tuple[Numbers, Numbers], parts: Parts) -> tuple[Numbers, Numbers]:
    if len(a[1]) * len(b[1]) > POINTS:
        raise Unclear
    rows = (a[0][:, None, :] + b[0][None, :, :]).reshape(-1, a[0].shape[1])
    rows[:, 0] %= parts.modulus
    return gathered(rows, (a[1][:, None] * b[1][None, :]).reshape(-1))


def _clip(rows: Numbers, counts: Numbers, parts: Parts, which: Sequence[int], shift: bool = False) -> tuple[Numbers, Numbers]:
    """The rows where the parts of `which` comparisons are no more than lanes can tell: below and above that the sign is settled. `shift`: the
    constants are not in the rows yet."""
    rows = rows.copy()
    for n in which:
        atom = parts.atoms[n]
        constant = atom.constant if shift else 0
        rows[:, n + 1] = np.clip(rows[:, n + 1], -atom.high - 1 - constant, -atom.low + 1 - constant)
    return gathered(rows, counts)


def _warps(parts: Parts, columns: list[list[Term]], near: frozenset[str]) -> tuple[Numbers, NDArray[np.bool_], Numbers]:
    """The different warps: of every lane the threads' part of the address (up to whole sectors) and of each comparison."""
    block = {a.name: parts.axes[a.name] for a in parts.launch.block}
    outer = {n: extent for n, extent in parts.axes.items() if n in near - block.keys()}
    threads, turns = prod(block.values()), prod(outer.values())
    if threads * turns > POINTS:
        raise Unclear
    values = enumerated(block, 1, threads) | enumerated(outer, turns, 1)
    width, number_of = len(columns), -(-threads // WARP)
    held = np.zeros((turns, number_of * WARP, width), np.int64)
    for n, column in enumerate(columns):
        held[:, :threads, n] = _column(column, near, values, (turns, threads))
    there = np.zeros((turns, number_of * WARP), bool)
    there[:, :threads] = True
    warps, lanes = held.reshape(-1, WARP, width), there.reshape(-1, WARP)
    base = np.where(lanes, warps[:, :, 0], np.iinfo(np.int64).max).min(1) // parts.modulus * parts.modulus
    warps = warps - np.where(np.arange(width) == 0, base[:, None, None], 0)
    rows, times = gathered(np.concatenate([warps.reshape(len(warps), WARP * width), lanes], 1), np.ones(len(warps), np.int64))
    return rows[:, : WARP * width].reshape(-1, WARP, width), rows[:, WARP * width :] != 0, times
