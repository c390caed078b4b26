"""Data on which branches are taken that dense data does not take.

Comes in: a program, its sizes, a seed. Goes out: inputs. The one idea: what goes wrong at few values goes wrong at 0 and near it, at the ends of
a dtype and where squares and doubles wrap, at the numbers of the text and their differences, and where all elements are equal.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping

import numpy as np

from tinygpu.category.number import Array, outside_dtype
from tinygpu.category.term import BOOL, FLOATS, Const, Term, walk
from tinygpu.program.step import Program
from tinygpu.program.traverse import terms as stated
from tinygpu.simulate.inputs import random_inputs

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
    written = sorted({abs(n) for t in terms(program) for n in literals(t)})[:MOST]
    return tuple(dict.fromkeys((*PLAIN, *written, *(a - b for a in written for b in written if a > b > 0))))


def literals(term: Term) -> Iterator[float]:
    """The finite floats that are written in a term."""
    return (float(t.value) for t in walk(term) if isinstance(t, Const) and t.dtype in FLOATS and math.isfinite(t.value))


def terms(program: Program) -> Iterator[Term]:
    """The terms of the equations and of the steps."""
    yield from (equation.value for equation in program.op.equations)
    for step in program.steps:
        yield from stated(step, ghosts=True)
