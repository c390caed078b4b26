"""What a program folds as it is written: how many values it combines, at least, and how long that takes where all lanes of all cores do so at their peak.

    #{points of box : conditions} ≥ Σ |cell|  over the cells of a grid on the box in whose worst corner each condition holds          seconds ≥ values / peak

Comes in: a program, sizes, a CPU. Goes out: seconds. The one idea: a prefix that is folded anew for each element takes a quadratic number of steps, and no compiler makes a linear one of it, though somebody could;
so this is no bound of an op, and is believed only of what is many times slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

import numpy as np

from tinygpu.category.term import TRUE, App, Axis, Const, Term, Var, conjunction, conjuncts, reads, variables
from tinygpu.cost.bound import lanes_a_second, turns_of
from tinygpu.cost.parts import Unclear, extents_of, sum_of
from tinygpu.hardware.processor import Processor
from tinygpu.program.lanes import instances
from tinygpu.program.step import Assign, For, If, Program, Step

CELLS = 1 << 12  # of a grid
UP, DOWN = ("lt", "le"), ("gt", "ge")


def seconds_of_folds(program: Program, sizes: Mapping[str, int], cpu: Processor) -> float:
    """The seconds that updates of what is read take as they are written, one launch after another, at the CPU's peak: with registers of which there is least to do."""
    return min(sum(_seconds(one, sizes, cpu)) for one in instances(program))


def _seconds(program: Program, sizes: Mapping[str, int], cpu: Processor) -> Iterator[float]:
    """Of each update."""
    for number, launch in enumerate(program.launches):
        around = (*launch.turns, *launch.grid, *launch.block)
        for dtype, axes, guard in _updates(launch.body, around, TRUE):
            yield points(axes, guard, sizes) / lanes_a_second(cpu, dtype, turns_of(program, number, sizes))


def _updates(body: tuple[Step, ...], axes: tuple[Axis, ...], guard: Term) -> Iterator[tuple[str, tuple[Axis, ...], Term]]:
    """Each update of what is read, with the loops and the condition around it."""
    for step in body:
        match step:
            case For(axis, inner) if step.start == Const(0):
                yield from _updates(inner, (*axes, axis), guard)
            case If(condition, inner):
                yield from _updates(inner, axes, conjunction(guard, condition))
            case Assign() if step.update and any(True for _ in reads(step.value)):
                yield step.value.dtype, axes, conjunction(guard, step.guard)


def points(axes: tuple[Axis, ...], guard: Term, sizes: Mapping[str, int]) -> int:
    """At how many points a condition holds, at least; 0 where that is not seen.

    >>> i, k = Axis("i", Var("n")), Axis("k", Var("n"))
    >>> points((i, k), TRUE, {"n": 6400}) == 6400**2, points((i, k), Var("k") <= Var("i"), {"n": 6400}) / 6400**2
    (True, 0.4921875)
    """
    try:
        extents, more = extents_of(axes, sizes)
    except Unclear:
        return 0
    conditions = [c for c in conjuncts(conjunction(guard, *more)) if c != TRUE]
    near = sorted({n for c in conditions for n in variables(c)} & extents.keys())
    across = int(CELLS ** (1 / max(1, len(near))))
    low, high = {}, {}
    for place, name in enumerate(near):
        ends = np.unique(np.linspace(0, extents[name], min(extents[name], across) + 1).astype(np.int64))
        shape = [-1 if n == place else 1 for n in range(len(near))]
        low[name], high[name] = ends[:-1].reshape(shape), ends[1:].reshape(shape)
    inside = np.ones([1] * len(near), bool)
    for condition in conditions:
        held = _everywhere(condition, low, high, sizes)
        if held is None:
            return 0
        inside = inside & held
    cells = prod((high[n] - low[n]).astype(object) for n in near)
    far = prod(extent for name, extent in extents.items() if name not in near)
    return int(far * np.sum(np.where(inside, cells, 0)))


def _everywhere(
    condition: Term, low: Mapping[str, np.ndarray], high: Mapping[str, np.ndarray], sizes: Mapping[str, int]
) -> np.ndarray | None:
    """In which cells a comparison of linear terms holds at every point; None of another condition."""
    if not isinstance(condition, App) or condition.op not in (*UP, *DOWN) or any(True for _ in reads(condition)):
        return None
    left, right = condition.args if condition.op in UP else reversed(condition.args)
    try:
        pieces, worst = sum_of(App("sub", (left, right)), low.keys(), sizes)
    except (KeyError, ValueError):
        return None
    whole = np.asarray(worst)
    for piece, by in pieces:
        if not isinstance(piece, Var):
            return None
        whole = whole + by * (high[piece.name] - 1 if by > 0 else low[piece.name])
    return whole < 0 if condition.op in ("lt", "gt") else whole <= 0
