"""At which sizes a program is run, small ones, edges, and a few large ones; and data on which branches are taken that dense data does not take.

Comes in: a program, its sizes, a seed. Goes out: size assignments that its preconditions admit, and inputs. The one idea: a program changes its mind
about a size where a number stands in its text, so each size alone goes just beyond every such number, while the others are 1; that is cheap, and
what counterexamples look like. What goes wrong at few values goes wrong at 0 and near it, at the ends of a dtype and where squares and doubles wrap,
at the numbers of the text and their differences, and where all elements are equal.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from itertools import permutations

import numpy as np

from tinygpu.category.evaluate import evaluate
from tinygpu.category.number import Array, outside_dtype
from tinygpu.category.term import BOOL, FLOATS, INDEX, Const, Term, walk
from tinygpu.program.step import Program
from tinygpu.program.traverse import terms
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.sizes import sizes_to_try

PLAIN = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -1.5, 300.0)
MOST = 4  # numbers of the text that are tried, with their differences


def nasty_inputs(program: Program, sizes: Mapping[str, int], seed: int) -> dict[str, Array]:
    """Of every tensor elements that stand out; for every third seed they are all equal."""
    found: dict[str, Array] = {}
    for name, values in random_inputs(program.op, sizes, seed).items():
        dtype = program.op.tensor(name).dtype
        chance = np.random.default_rng([seed, 4, zlib.crc32(name.encode())])
        pool = floats(program) if dtype in FLOATS else (False, True) if dtype == BOOL else integers(dtype, sizes)
        shape = () if seed % 3 == 2 else values.shape
        found[name] = np.broadcast_to(np.asarray(pool, outside_dtype(dtype))[chance.integers(len(pool), size=shape)], values.shape)
    return found


def integers(dtype: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Integers of a dtype that stand out.

    >>> integers("i8", {"n": 5})
    (-128, -127, -1, 0, 1, 2, 3, 4, 5, 7, 8, 12, 64, 126, 127)
    """
    limits = np.iinfo(outside_dtype(dtype))
    low, high = int(limits.min), int(limits.max)
    near = {0, 1, 2, 3, 7, 8, *(n + d for n in sizes.values() for d in (-1, 0)), math.isqrt(high) + 1, high // 2 + 1}
    return tuple(sorted({n for n in near if 0 <= n <= high} | {low, low + 1, high - 1, high, max(low, -1)}))


def floats(program: Program) -> tuple[float, ...]:
    """Numbers around 0, those of the text, and their differences: at these a sum is what it is compared with."""
    written = sorted({abs(n) for t in written_in(program) for n in literals(t)})[:MOST]
    return tuple(dict.fromkeys((*PLAIN, *written, *(a - b for a in written for b in written if a > b > 0))))


def literals(term: Term) -> Iterator[float]:
    """The finite floats that are written in a term."""
    return (float(t.value) for t in walk(term) if isinstance(t, Const) and t.dtype in FLOATS and math.isfinite(t.value))


def written_in(program: Program) -> Iterator[Term]:
    """The terms of the equations and of the steps."""
    yield from (equation.value for equation in program.op.equations)
    for step in program.steps:
        yield from terms(step, facts=True)


VOLUME = 1 << 14  # the largest product of small sizes
SMALL = 9  # every size below it is among them, whatever the program's tiles are
LARGE, SECOND = 2, 1 << 20  # how many large ones, and their largest product: long strides have a second turn there
NUMBERS = 1 << 10  # of the text, that are looked beyond


def small(program: Program, most: int) -> list[dict[str, int]]:
    """At most so many, each size taking each of its candidates."""
    return sizes_to_try(program, most, VOLUME, range(SMALL))


def large(program: Program, most: int) -> list[dict[str, int]]:
    """A few, where there are more than small ones."""
    near = small(program, most)
    return [row for row in sizes_to_try(program, most, SECOND) if row not in near][-LARGE:]


def edges(program: Program) -> Iterator[dict[str, int]]:
    """Each size alone one beyond every number of the text, one beyond three times it, where rings of three are full, and at it; then two together."""
    names, found = program.op.sizes, sorted(numbers(program))
    alone = ([n + 1 for n in found], [3 * n + 1 for n in found], found)
    rows = [{name: value} for values in alone for value in values for name in names]
    rows += [{a: n + d, b: n + d + 1} for n in found for d in (0, 1) for a, b in permutations(names, 2)]
    for row in rows:
        if admitted(program, whole := dict.fromkeys(names, 1) | row):
            yield whole


def numbers(program: Program) -> frozenset[int]:
    """The numbers of a program's index terms."""
    every = (term for step in program.steps for term in terms(step))
    extents = (axis.extent for launch in program.launches for axis in launch.grid + launch.block)
    return frozenset(
        int(node.value)
        for term in (*every, *extents)
        for node in walk(term)
        if isinstance(node, Const) and node.dtype == INDEX and SMALL <= node.value <= NUMBERS
    )


def admitted(program: Program, sizes: dict[str, int]) -> bool:
    """Whether sizes satisfy the preconditions."""
    try:
        return all(evaluate(guard, sizes) for guard in (*program.op.where, *program.where))
    except ZeroDivisionError:
        return False
