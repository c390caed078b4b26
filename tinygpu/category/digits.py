"""Many levels at once: an index as a product of factors, slowest first, and a group of indices as one flattened range.

Comes in: an index axis and its factors, whose extents may be terms over the sizes.
Goes out: the owner arrow `factors → index` with its guard and its inverse, digit by digit.
The one idea: a tower of splits is one mixed-radix numeral, so its inverse is one division and one remainder for each digit.
"""

from __future__ import annotations

from tinygpu.category.arrow import Arrow
from tinygpu.category.box import Box
from tinygpu.category.simplify import holds, simplify
from tinygpu.category.term import TRUE, Axis, Term, Var, ceildiv, lift


def digits(index: Axis, factors: tuple[Axis, ...], where: Term = TRUE) -> Arrow:
    """`digits : [g, t, v | (g·T + t)·V + v < n] → [i < n]`: the owner. Mono; iso where the factors are seen to cover the index.

    >>> from tinygpu.category.term import text
    >>> i = Axis("i", Var("n"))
    >>> g, t, v = Axis("g", ceildiv(Var("n"), 1024), "grid"), Axis("t", lift(256), "block"), Axis("v", lift(4), "vector")
    >>> owner = digits(i, (g, t, v))
    >>> text(owner.terms[0]), text(owner.domain.guard), owner.iso
    ('(g*256 + t)*4 + v', '(g*256 + t)*4 + v < n', True)
    >>> [text(d) for d in owner.inverse]
    ['i // 1024', 'i // 4 % 256', 'i % 4']
    >>> digits(Axis("i", lift(1024)), (t, v)).domain.guard == TRUE
    True
    >>> digits(i, ()).terms, digits(i, ()).epi
    ((Const(value=0, dtype='index'),), False)
    """
    whole: Term = lift(0)
    for factor in factors:
        whole = whole * factor.extent + Var(factor.name)
    bare = Box(factors)
    guard = TRUE if holds(whole < index.extent, bare.guarded(where)) else whole < index.extent
    covers = holds(index.extent <= bare.size, Box((), where)) is True
    return Arrow(bare.guarded(guard), Box((index,)), (whole,), _inverse(Var(index.name), factors), mono=True, epi=covers)


def _inverse(index: Term, factors: tuple[Axis, ...]) -> tuple[Term, ...]:
    """Each digit of the index: its weight divided out, and what is above it taken off (nothing is above the slowest)."""
    out: list[Term] = []
    weight: Term = lift(1)
    for position in reversed(range(len(factors))):
        digit = index // weight
        out.append(digit % factors[position].extent if position else digit)
        weight = factors[position].extent * weight
    return tuple(reversed(out))


def inferred(extent: Term, others: tuple[Axis, ...], where: Term = TRUE) -> Term:
    """The extent that the one unnamed factor must have so that the factors cover the index: `⌈n / ∏ others⌉`.

    >>> from tinygpu.category.term import text
    >>> text(inferred(Var("n"), (Axis("t", lift(256)), Axis("v", lift(4)))))
    'ceil(n / 1024)'
    >>> text(inferred(lift(4096), (Axis("t", lift(256)),)))
    '16'
    """
    return simplify(ceildiv(extent, Box(others).size), Box((), where))


def merged(indices: tuple[Axis, ...], factors: tuple[Axis, ...], where: Term = TRUE, flat: str = "_flat") -> Arrow:
    """`(i, j) = (g, t, v)`: the flattened range of the indices, cut into the factors. Down to one number, and up again.

    >>> from tinygpu.category.term import text
    >>> i, j = Axis("i", Var("M")), Axis("j", Var("N"))
    >>> g, v = Axis("g", ceildiv(Var("M") * Var("N"), 4), "grid"), Axis("v", lift(4), "vector")
    >>> owner = merged((i, j), (g, v))
    >>> [text(t) for t in owner.terms], text(owner.domain.guard), [text(t) for t in owner.inverse], owner.iso
    (['(g*4 + v) // N', '(g*4 + v) % N'], 'g*4 + v < M*N', ['(i*N + j) // 4', '(i*N + j) % 4'], True)
    """
    line = Axis(flat, Box(indices).size)
    down, up = digits(line, factors, where), digits(line, indices)
    # the indices cover their own flattened range exactly, whatever their extents
    up = Arrow(Box(indices), up.codomain, up.terms, up.inverse, mono=True, epi=True)
    return down >> ~up
