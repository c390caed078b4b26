"""Addresses: where an element of a tensor lies, as an index term.

Comes in: a tensor's shape and an element's coordinates. Goes out: the term that every emitted kernel computes.
The one idea: proofs compare coordinates and never addresses, but the width of every subterm here is an obligation, so the emitters and
the prover take the address from one place.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.term import Const, Term


def address(shape: Sequence[Term], index: Sequence[Term]) -> Term:
    """The row-major offset in elements, by Horner's rule, so that every subterm but the products is a coordinate or an address itself.

    >>> from tinygpu.category.term import Var, text
    >>> M, N, i, j = map(Var, "MNij")
    >>> text(address((M, N), (i, j))), text(address((), ())), text(address((M, N, Const(4)), (i, j, Const(0))))
    ('i*N + j', '0', '(i*N + j)*4')
    """
    if not index:
        return Const(0)
    offset = index[0]
    for extent, coordinate in zip(shape[1:], index[1:], strict=True):
        offset = offset * extent + coordinate
    return offset
