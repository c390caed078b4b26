"""Sizes and data at which a program is run: small, and nasty.

Comes in: a program, a seed. Goes out: sizes that its preconditions admit, and inputs that its promises admit. The one idea: what goes wrong goes
wrong at 0, 1, 2 and around the numbers that the text has; with equal values, zeros, both signs, and the ends of a dtype.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.meaning.equations import Cells, Equations, OpFault, Plain, admitted, shape_of
from tests.meaning.values import WIDTH, ends, wrap
from tests.meaning.values import number as real
from tinygpu.category.node import BOOL, INDEX, App, Const, Term
from tinygpu.category.node import FLOATS as TYPES
from tinygpu.category.term import walk
from tinygpu.program.step import Assign, For, If, Program, steps

FLOATS = tuple(Fraction(number) for number in ("0", "1", "-1", "2", "-2", "300", "1/2", "-3/2"))
SMALL, LATER, DRAWN, EDGE, ELEMENTS, TRIES = (0, 1, 2, 3, 4, 5), 7, 6, 40, 600, 24
FAR, FEW, NUMBERS = 300, 3, 4
SAFE = ((Fraction(1),), (Fraction(2), Fraction(3), Fraction("1/2")))


def inside(program: Program, tiles: bool = False) -> Iterator[Term]:
    """Every node of the program's terms and of the equations; or of those alone that say where tiles begin and end."""
    for launch in program.launches:
        every = [a.extent for a in launch.axes] if tiles else []
        for step in steps(launch.body):
            match step:
                case Assign(_, index, value, _, guard):
                    every += [*index, guard] if tiles else [*index, value, guard]
                case For(axis) if tiles:
                    every.append(axis.extent)
                case If(guard):
                    every.append(guard)
        yield from (node for term in every for node in walk(term))
    if not tiles:
        yield from (node for equation in program.op.equations for node in walk(equation.value))


def special(program: Program) -> tuple[Fraction, ...]:
    """What decides where sums are compared with a number: the finite numbers of the text, and their differences."""
    found = {
        Fraction(n.value) for n in inside(program) if isinstance(n, Const) and type(n.value) is float and math.isfinite(n.value)
    }
    written = sorted(found)[:NUMBERS]
    return tuple(dict.fromkeys((*(a - b for a in written for b in written if a > b > 0), *written)))


def widths(program: Program) -> tuple[int, ...]:
    """What a byte does not hold, if a size or an index becomes a byte."""
    found = {n.dtype for n in inside(program) if isinstance(n, App) and n.op == "cast" and n.args[0].dtype == INDEX}
    return tuple(wide for dtype, wide in (("i8", 128), ("u8", 256)) if dtype in found)


def rows_of(program: Program, chance: random.Random) -> Iterator[tuple[int, ...]]:
    """Sizes: all alike, one of them 0, some that are drawn, one of them at the edge of a tile, or beyond a byte."""
    count = len(program.op.sizes)
    found = [n.value for n in inside(program, tiles=True) if isinstance(n, Const) and n.dtype == INDEX]
    edges = sorted({n + d for n in found if 4 <= n <= EDGE for d in (-1, 0, 1)} - set(SMALL))
    far = [max(n for n in found if EDGE < n < FAR) + 1] if any(EDGE < n < FAR for n in found) else []
    if count == 1:
        yield from ((n,) for n in (*SMALL, 7))
    elif count:
        yield from ((n,) * count for n in (1, 2, 0, 3))
        yield from (tuple(0 if k == n else other for k in range(count)) for other in (2, 3) for n in range(count))
        yield from (tuple(chance.choice(SMALL[1:]) for _ in range(count)) for _ in range(DRAWN))
    else:
        yield ()
    for wide in (*edges[-3 if count == 1 else -1 :], *far, *widths(program)):
        yield from (tuple(wide if k == n else chance.choice((1, 1, 2)) for k in range(count)) for n in range(count))
    if edges:
        yield from (tuple(chance.choice((*edges, 1, 2)) for _ in range(count)) for _ in range(2))


def sizes_to_try(program: Program, chance: random.Random) -> Iterator[dict[str, int]]:
    """Sizes that the preconditions admit."""
    names, found = program.op.sizes, 0
    for row in dict.fromkeys(rows_of(program, chance)):
        sizes = dict(zip(names, row, strict=True))
        if admitted(program.where, Plain(), sizes):
            found += 1
            yield sizes
    if names and admitted(program.where, Plain(), sizes := dict.fromkeys(names, LATER)):
        yield sizes  # a second turn of four
    for n in range(6, FAR) if found < FEW and names else ():  # preconditions that small sizes do not meet
        if admitted(program.where, Plain(), sizes := dict.fromkeys(names, n)):
            yield sizes
            found += 1
            if found >= FEW:
                return


def pool(dtype: str, sizes: dict[str, int], more: tuple[Fraction, ...]) -> tuple[Any, ...]:
    """The values that elements of a dtype are drawn from."""
    if dtype == BOOL:
        return False, True
    if dtype not in WIDTH:
        return tuple(dict.fromkeys((*FLOATS, *more)))
    low, high = ends(dtype)
    near = {0, 1, 2, 3, *(n + d for n in sizes.values() for d in (-1, 0))}
    return (
        *sorted(n for n in near if 0 <= n < high),
        -1 if low < 0 else 0,
        low,
        low + 1,
        high,
        high - 1,
        math.isqrt(high) + 1,
        high // 2 + 1,
        7,
        8,
    )


def plain_rows(dtypes: list[str]) -> Iterator[list[Any]]:
    """All elements the same: zeros, ones, a number below 0; or the ends of the dtype."""
    for number in (0, 1, -1):
        yield [bool(number) if d == BOOL else max(ends(d)[0], number) if d in WIDTH else Fraction(number) for d in dtypes]
    if any(d in WIDTH for d in dtypes):
        for end in (0, 1):
            row = [bool(end) if d == BOOL else ends(d)[end] if d in WIDTH else Fraction(2 * end - 1, 2) for d in dtypes]
            yield row
            yield [*row[:-1], type(row[-1])(0)]


def rows(
    dtypes: list[str], sizes: dict[str, int], more: tuple[Fraction, ...], chance: random.Random, count: int
) -> Iterator[list[Any]]:
    """Values for that many elements, many times; `more` are numbers to try."""
    pools = [pool(d, sizes, more) for d in dtypes]
    if math.prod(map(len, pools)) <= count:
        yield from map(list, itertools.product(*pools))
        return
    plain = plain_rows(dtypes)
    yield next(plain)
    yield different(dtypes, chance, Fraction(0))
    yield different(dtypes, chance, Fraction(1, 2))
    yield from plain
    yield from ([number] * len(dtypes) for number in more[:2] if not any(d in WIDTH or d == BOOL for d in dtypes))
    for safe in SAFE:
        yield [
            chance.choice(safe) if d not in WIDTH and d != BOOL else chance.choice(p[:3])
            for d, p in zip(dtypes, pools, strict=True)
        ]
    for number in range(count):
        small = number % 2 == 0
        yield [chance.choice(p[:3] if small and d in WIDTH else p) for d, p in zip(dtypes, pools, strict=True)]
        if number % 4 == 3:
            yield different(dtypes, chance, Fraction(1, 2))
        if number % 4 == 1:
            yield [
                v if d in WIDTH or d == BOOL else v + len(dtypes)
                for d, v in zip(dtypes, different(dtypes, chance, Fraction(0)), strict=True)
            ]


def different(dtypes: list[str], chance: random.Random, shift: Fraction) -> list[Any]:
    """Numbers around 0 that are all different, in some order; with a shift none is 0."""
    values = list(range(-(len(dtypes) // 2), len(dtypes) - len(dtypes) // 2))
    chance.shuffle(values)
    return [v % 2 == 0 if d == BOOL else wrap(v, d) if d in WIDTH else v + shift for v, d in zip(values, dtypes, strict=True)]


def inputs_to_try(program: Program, sizes: dict[str, int], chance: random.Random, count: int) -> Iterator[dict[str, Cells]]:
    """Inputs that the promises admit: all of a few elements, else those with all elements the same, and some that are drawn."""
    try:
        shapes = {t.name: shape_of(t.shape, sizes) for t in program.op.inputs}
    except OpFault:
        return  # no array has such a shape
    places = [(t, place) for t in program.op.inputs for place in itertools.product(*map(range, shapes[t.name]))]
    if len(places) > ELEMENTS:
        return
    found = 0
    for tried, row in enumerate(rows([t.dtype for t, _ in places], sizes, special(program), chance, max(count, 20)), 1):
        inputs: dict[str, Cells] = {t.name: {} for t in program.op.inputs}
        for (tensor, place), value in zip(places, row, strict=True):
            inputs[tensor.name][place] = (real(value) if tensor.dtype in TYPES else value, True)
        if admitted(program.op.promises, Equations(program.op, sizes, inputs), sizes):
            found += 1
            yield inputs
        if found >= count or tried >= count + TRIES:
            return
