"""Values on boxes: reindexing `f*` and pushing forward `f!`, by brute force on small sizes.

Comes in: an arrow, and a value at each point of a box. Goes out: a value at each point of the other box.
The one idea: loads and broadcasts are `f*`, reductions are `f!`, and that tiling changes nothing is the laws between the two:

    >>> from tinygpu.category.box import box
    >>> from tinygpu.category.generators import merge, pad, project, split
    >>> from tinygpu.category.term import Axis, Const
    >>> i = Axis("i", Const(6))
    >>> f, g = split(i, 2, "q", "r"), project(box(q=3, r=2), "r")
    >>> v = {(n,): n * n for n in range(6)}
    >>> w = {(q,): 10 * q for q in range(3)}
    >>> def total(arrow, values):
    ...     return push_forward(arrow, values, operator.add, 0, {})
    >>> def read(arrow, values):
    ...     return pull_back(arrow, values, {})

    1. A reduction may be cut into levels, a load into steps: `(g f)! = g! f!` and `(g f)* = f* g*`.

    >>> total(f >> g, v) == total(g, total(f, v)) and read(f >> g, w) == read(f, read(g, w))
    True

    2. Pushing forward along an iso is reading through its inverse: `f! = (f⁻¹)*`.

    >>> total(f, v) == read(merge(i, 2, "q", "r"), v)
    True

    4. A tail filled with the unit changes no reduction: `i!` fills with 0, and `(p i)! = p! i!`.

    >>> total(pad(i, 8), v)[(7,)], sum(total(pad(i, 8), v).values()) == sum(v.values())
    (0, True)

    5. What the folded axis does not touch may stand outside: `p!(v · p* w) = p!(v) · w`.

    >>> u = total(f, v)
    >>> weighted = {x: u[x] * read(g, w)[x] for x in u}
    >>> total(g, weighted) == {y: total(g, u)[y] * w[y] for y in w}
    True

    6. A homomorphism passes through: doubling a sum is the sum of the doubles.

    >>> total(g, {x: 2 * n for x, n in u.items()}) == {y: 2 * n for y, n in total(g, u).items()}
    True

    7. For an idempotent monoid being onto is enough: reading a value twice does not change a maximum.

    >>> twice = read(project(box(q=3, r=2, c=2), "c"), u)
    >>> max(twice.values()) == max(u.values())
    True

Law 3, tile then reduce is reduce then tile, needs a pullback square: `tests/laws/test_reductions.py`, with all the others on random arrows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias, TypeVar

from tinygpu.category.arrow import Arrow
from tinygpu.category.box import Point
from tinygpu.category.monoid import Monoid
from tinygpu.category.term import Const

V = TypeVar("V")
Values: TypeAlias = dict[Point, V]

SCALAR: Mapping[str, Callable[..., object]] = {
    "add": operator.add, "mul": operator.mul, "min": min, "max": max, "and": operator.and_, "or": operator.or_,
}  # fmt: skip


def pull_back(f: Arrow, values: Mapping[Point, V], sizes: Mapping[str, int]) -> Values[V]:
    """`f* : Vʸ → Vˣ`, the value read through f: `(f* v)(x) = v(f(x))`.

    >>> from tinygpu.category.box import box
    >>> from tinygpu.category.generators import project
    >>> pull_back(project(box(i=2, j=2), "j"), {(0,): "a", (1,): "b"}, {})
    {(0, 0): 'a', (0, 1): 'a', (1, 0): 'b', (1, 1): 'b'}
    """
    return {x: values[y] for x, y in f.graph(sizes).items()}


def push_forward(f: Arrow, values: Mapping[Point, V], combine: Callable[[V, V], V], unit: V, sizes: Mapping[str, int]) -> Values[V]:
    """`f! : Vˣ → Vʸ`, the values combined along the fibres of f, in row-major order: `(f! v)(y) = ⊕_{f(x) = y} v(x)`.

    >>> from tinygpu.category.box import box
    >>> from tinygpu.category.generators import project
    >>> push_forward(project(box(i=2, j=2), "j"), {(0, 0): 1, (0, 1): 2, (1, 0): 3, (1, 1): 4}, operator.add, 0, {})
    {(0,): 3, (1,): 7}
    """
    out = dict.fromkeys(f.codomain.points(sizes), unit)
    for x, y in f.graph(sizes).items():
        out[y] = combine(out[y], values[x])
    return out


def scalars(monoid: Monoid, dtype: str = "f64") -> tuple[Callable[..., object], object]:
    """The operation and the unit of a monoid on Python's numbers, for `push_forward`. Raises ValueError where there is no unit.

    >>> from tinygpu.category.monoid import MONOIDS
    >>> scalars(MONOIDS["max"])[1]
    -inf
    """
    unit = monoid.unit(dtype)
    if not isinstance(unit, Const):
        raise ValueError(f"{monoid.name} has no unit in {dtype}")
    return SCALAR[monoid.op], unit.value
