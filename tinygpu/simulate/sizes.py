"""Which sizes to try a program at: nothing, one, primes, and just around every boundary of its tiles; and how long a run would take.

Comes in: a program. Goes out: size assignments that its preconditions allow, small ones first, the same every time; lane-steps.
The one idea: a program can change its mind about a size only where an extent of it does, so that is where mistakes lie.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from tinygpu.category.evaluate import evaluate as number
from tinygpu.category.number import Array, Value
from tinygpu.category.region import Region
from tinygpu.category.term import App, Axis, Const, Term, Var, conjuncts, variables, walk
from tinygpu.category.to_numpy import evaluate
from tinygpu.program.step import Assign, For, Program
from tinygpu.program.traverse import walk_steps

SMALL = (0, 1, 2, 3, 5, 7, 13)
COMBINATIONS = 200_000


def sizes_to_try(program: Program, limit: int = 60, volume: int = 1 << 22, more: Iterable[int] = ()) -> list[dict[str, int]]:
    """At most `limit` assignments of the op's sizes, each size taking each of its candidates, and of `more`, at least once where
    that is allowed; with more, each is once alone 0.

    `volume` bounds the product of the sizes of one assignment; it gives way if nothing else is left. The result is empty only
    if no candidates satisfy the `where` conditions.
    """
    guards = tuple(part for guard in (*program.op.where, *program.where) for part in conjuncts(guard))
    names = program.op.sizes
    if not names:
        return [{}]
    told = dict(solving(guards, names))
    free = tuple(name for name in names if name not in told)
    columns = combinations([tuple(sorted({*candidates(program, name, guards), *more})) for name in free])
    env: dict[str, Value] = dict(zip(free, columns, strict=True))
    for name, term in told.items():
        env[name] = np.broadcast_to(evaluate(term, env), columns.shape[1:])
    rows = np.stack([np.asarray(env[name], np.int64) for name in names], axis=1)
    allowed = np.all(rows >= 0, axis=1)
    for guard in guards:
        allowed &= np.asarray(evaluate(guard, env, mask=allowed), np.bool_)
    rows = rows[allowed]
    bulk = np.prod(np.maximum(rows, 1).astype(np.float64), axis=1)
    if (bulk <= volume).any():
        rows, bulk = rows[bulk <= volume], bulk[bulk <= volume]
    chosen = [tuple(map(int, row)) for row in rows[np.argsort(bulk, kind="stable")]]
    return [dict(zip(names, row, strict=True)) for row in _spread(chosen, limit, _empty(chosen) if more else [])]


def admitted(program: Program, sizes: Mapping[str, int]) -> bool:
    """Whether sizes satisfy the preconditions."""
    try:
        return all(number(guard, sizes) for guard in (*program.op.where, *program.where))
    except ZeroDivisionError:
        return False


def _empty(rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """For each size the first row where it alone is 0: what is folded over nothing, and stored."""
    found = {tuple(n for n, v in enumerate(row) if v == 0): row for row in reversed(rows)}
    return [found[place,] for place in range(len(rows[0] if rows else ())) if (place,) in found]


def candidates(program: Program, name: str, guards: tuple[Term, ...]) -> tuple[int, ...]:
    """The values of one size that are worth trying, in order."""
    found = set(SMALL)
    axes = [axis for launch in program.launches for axis in launch.axes]
    axes += [step.axis for step in program.steps if isinstance(step, For)]
    marks = {c for axis in axes if name in variables(axis.extent) for c in boundaries(axis.extent)}
    found |= {near for mark in marks for near in (mark - 1, mark, mark + 1, 2 * mark, 2 * mark + 1)}
    for node in (node for guard in guards if name in variables(guard) for node in walk(guard)):
        match node:
            case App("mod", (_, Const(int(step)))):
                found |= {step * n for n in (1, 2, 3, 5)} | {mark // step * step for mark in marks}
                found |= {-(-mark // step) * step + step for mark in marks}
            case Const(int(bound)) if bound not in (True, False):
                found |= {bound - 1, bound, bound + 1}
    return tuple(sorted(c for c in found if c >= 0))


def boundaries(extent: Term) -> frozenset[int]:
    """The tile extents in a term: constant divisors, and the products of nested ones.

    >>> sorted(boundaries((Var("n") // 4 + 3) // 64))
    [4, 64, 256]
    """
    found: set[int] = set()
    for node in walk(extent):
        match node:
            case App("floordiv" | "ceildiv" | "mod", (inner, Const(int(divisor)))) if divisor > 1:
                found |= {divisor} | {divisor * mark for mark in boundaries(inner)}
    return frozenset(found)


def solving(guards: tuple[Term, ...], names: tuple[str, ...]) -> Iterator[tuple[str, Term]]:
    """Sizes that an equation among the conditions gives by others, as in `P == M - 2`."""
    taken: set[str] = set()
    for guard in guards:
        match guard:
            case App("eq", (Var(name), term)) | App("eq", (term, Var(name))):
                needed = variables(term)
                if name in names and needed and needed <= set(names) - {name} and not needed & taken and name not in taken:
                    taken |= {name} | needed
                    yield name, term


def combinations(columns: list[tuple[int, ...]], chosen: int = COMBINATIONS // 10) -> Array:
    """All combinations as an array of one row for each column, or chance's choice of so many (of a fixed seed) if they are too many."""
    if not columns:
        return np.zeros((0, 1), np.int64)
    if int(np.prod([len(c) for c in columns], dtype=np.float64)) <= max(chosen, COMBINATIONS):
        return np.array(list(itertools.product(*columns)), np.int64).T
    chance = random.Random(0)
    return np.array([[chance.choice(c) for c in columns] for _ in range(chosen)], np.int64).T


def _spread(rows: list[tuple[int, ...]], limit: int, first: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """At most `limit` of the rows, in their order: those that come first, then those that bring a new value of some size, then a choice of the others."""
    shuffled = rows[:1] + first + random.Random(0).sample(rows, len(rows))
    seen: set[tuple[int, int]] = set()
    new: list[tuple[int, ...]] = []
    for row in shuffled:
        if not seen.issuperset(enumerate(row)):
            new.append(row)
            seen.update(enumerate(row))
    chosen = set(itertools.islice(dict.fromkeys(new + shuffled), limit))
    return [row for row in dict.fromkeys(rows) if row in chosen]


def _turns(axis: Axis, sizes: Mapping[str, int]) -> int:
    """How many there are; of an extent that has no value none, which a run says."""
    try:
        return max(0, int(evaluate(axis.extent, sizes)))
    except ZeroDivisionError:
        return 0


def lane_steps(program: Program, sizes: Mapping[str, int]) -> int:
    """The lane-steps of the assignment that is made most often, whether or not its guard holds; a loop whose extent is no number at these sizes
    counts once."""
    every = (
        math.prod(_turns(a, sizes) for a in here.axes if variables(a.extent) <= sizes.keys())
        for launch in program.launches
        for step, here, _ in walk_steps(launch.body, Region(launch.axes))
        if isinstance(step, Assign)
    )
    return max(every, default=0)
