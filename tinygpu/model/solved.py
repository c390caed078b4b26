"""How the sizes of a call are found: each is told by an extent of an input.

    x: f32[2·n + 1]        ⟼        n = (x.shape[0] − 1) // 2

Comes in: an op. Goes out: for each size where it is read off, and which sizes no input tells. The one idea: an extent that is affine in one unknown size tells it.
"""

from __future__ import annotations

from tinygpu.category.linear import as_written, number, polynomial, stride
from tinygpu.category.term import Const, Term, Var, variables
from tinygpu.model.op import Op
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Solved:
    """`size = (tensor.shape[axis] - offset) // factor`; offset and factor are terms over sizes solved before."""

    size: str
    tensor: str
    axis: int
    offset: Term
    factor: Term


def solve(op: Op) -> tuple[tuple[Solved, ...], tuple[str, ...]]:
    """`op → (how each size is found, sizes that no input tells)`, in an order in which each uses only earlier ones: an extent that is affine in
    exactly one unknown size tells that size, and a bare name is the best such extent.

    >>> from tinygpu.model.op import Tensor as f
    >>> n = Var("n")
    >>> op = Op("o", ("n", "m"), (f("x", "f32", (n * 2 + 1,), "input"),), (f("y", "f32", (n, Var("m")), "output"),), (), ())
    >>> solved, missing = solve(op)
    >>> solved[0].factor, solved[0].offset, missing
    (Const(value=2, dtype='index'), Const(value=1, dtype='index'), ('m',))
    """
    found: list[Solved] = []
    known: set[str] = set()
    while True:
        sides = ((t, axis, extent) for t in op.inputs for axis, extent in enumerate(t.shape))
        places = [(t, axis, extent, variables(extent) - known) for t, axis, extent in sides]
        open_places = [place for place in places if len(place[3]) == 1]
        bare = [p for p in open_places if isinstance(p[2], Var)]
        for tensor, axis, extent, (size,) in bare or open_places:
            split = affine(extent, size)
            if split is not None:
                found.append(Solved(size, tensor.name, axis, *split))
                known.add(size)
                break
        else:
            return tuple(found), tuple(s for s in op.sizes if s not in known)


def affine(term: Term, name: str) -> tuple[Term, Term] | None:
    """`(offset, factor)` with `term = offset + factor*name`, where the factor is a positive constant; None if it is not of that form.

    >>> n = Var("n")
    >>> [t.value for t in affine((n + 1) * 3 - n, "n")], affine(n // 2, "n")
    ([3, 2], None)
    """
    pace, rest = stride(polynomial(term), name)
    factor = number(pace or {}) or 0
    return (as_written(rest), Const(factor)) if factor > 0 else None
