"""Generators that are decided by looking at all of them: tables of hardware fragments, and swizzles of bits.

Comes in: constant boxes and entries, or a 0/1 matrix on the bits of an axis. Goes out: arrows with their flags and inverses decided once.
The one idea: what is small is enumerated, and a linear map on bits is invertible exactly when its matrix has full rank over F₂.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from tinygpu.category.arrow import Arrow
from tinygpu.category.box import Box, Point
from tinygpu.category.term import App, Axis, Const, Term, Var, lift


def table(domain: Box, codomain: Box, entries: Sequence[Point] | Callable[[Point], Point]) -> Arrow:
    """`X → Y` on constant boxes, by its entries in row-major order of X or by a function. One-to-one and onto are decided here.

    >>> from tinygpu.category.box import box
    >>> row = table(box(lane=4), box(m=2, k=2), lambda p: (p[0] % 2, p[0] // 2))
    >>> print(row)
    [lane < 4] → [m < 2, k < 2] : (table(lane, 0, 1, 0, 1), table(lane, 0, 0, 1, 1))  iso
    >>> print(table(box(i=3), box(j=2), [(0,), (1,), (1,)]))
    [i < 3] → [j < 2] : (table(i, 0, 1, 1))  epi
    """
    points = domain.points({})
    images = [entries(p) for p in points] if callable(entries) else list(entries)
    if len(images) != len(points):
        raise ValueError(f"{len(images)} entries for {len(points)} points")
    targets = codomain.points({})
    if outside := [p for p in images if p not in targets]:
        raise ValueError(f"{outside[0]} is not in {codomain}")
    graph = dict(zip(points, images, strict=True))
    mono, epi = len(set(images)) == len(images), set(images) == set(targets)
    inverse = _by_table(codomain, domain, {y: x for x, y in graph.items()}) if mono else None
    return Arrow(domain, codomain, _by_table(domain, codomain, graph), inverse, mono, epi)


def _by_table(domain: Box, codomain: Box, graph: dict[Point, Point]) -> tuple[Term, ...]:
    """A term for each axis of the codomain: the entry at the row-major number of the point, 0 where there is none."""
    place: Term = lift(0)
    for axis in domain.axes:
        place = place * axis.extent + Var(axis.name)
    everywhere = Box(domain.axes).points({})
    columns = zip(*(graph.get(p, (0,) * len(codomain.axes)) for p in everywhere), strict=True)
    return tuple(App("table", (place, *map(lift, column))) for column in columns)


def swizzle(axis: Axis, columns: Sequence[int]) -> Arrow:
    """An invertible 0/1 matrix on the bits of an axis of extent 2ᵏ: bit b of the index flips the bits of `columns[b]`. Iso.

    Raises ValueError where the matrix is not of full rank, because then it is no permutation.

    >>> axis = Axis("i", lift(4))
    >>> gray = swizzle(axis, (0b01, 0b11))
    >>> gray.graph({})
    {(0,): (0,), (1,): (1,), (2,): (3,), (3,): (2,)}
    >>> (gray >> ~gray).graph({}) == {p: p for p in gray.domain.points({})}
    True
    """
    size = axis.extent.value if isinstance(axis.extent, Const) else 0
    if size != 1 << len(columns) or any(not 0 <= c < size for c in columns):
        raise ValueError(f"{len(columns)} columns do not act on the bits of {axis.name}")
    back = inverse_matrix(columns)
    if back is None:
        raise ValueError("the matrix of a swizzle needs full rank")
    domain, i = Box((axis,)), Var(axis.name)
    return Arrow(domain, domain, (_flips(i, columns),), (_flips(i, back),), mono=True, epi=True)


def inverse_matrix(columns: Sequence[int]) -> tuple[int, ...] | None:
    """The inverse of a square matrix over F₂, given by columns as numbers; None where the rank is not full.

    >>> inverse_matrix((1, 3)), inverse_matrix((1, 1))
    ((1, 3), None)
    """
    # column operations on the matrix and, alongside, on the identity
    rows = [(column, 1 << position) for position, column in enumerate(columns)]
    for bit in range(len(columns)):
        pivot = next((r for r in range(bit, len(rows)) if rows[r][0] >> bit & 1), None)
        if pivot is None:
            return None
        rows[bit], rows[pivot] = rows[pivot], rows[bit]
        head, mark = rows[bit]
        rows = [(c ^ head, m ^ mark) if r != bit and c >> bit & 1 else (c, m) for r, (c, m) in enumerate(rows)]
    return tuple(mark for _, mark in rows)


def _flips(index: Term, columns: Sequence[int]) -> Term:
    """The exclusive or of the columns whose bit is set in the index; the bits that only stay need no term of their own."""
    return reduce(lambda a, b: a ^ b, (index // (1 << bit) % 2 * column for bit, column in enumerate(columns)), lift(0))
