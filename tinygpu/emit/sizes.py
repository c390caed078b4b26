"""How a launcher learns the sizes: every size solved from one extent of one input, and every other extent checked.

Comes in: the tensors of an op. Goes out: for each size the place it is read from, or that it is a keyword to be given.
The one idea: an extent that is affine in exactly one unknown size tells that size; a bare name is the best such extent.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import App, Const, Term, Var, apply, variables
from tinygpu.model.op import Op, Tensor
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
    """`op → (how each size is found, sizes that no input tells)`, in an order in which each uses only earlier ones.

    >>> n, f = Var("n"), Tensor
    >>> op = Op("o", ("n", "m"), (f("x", "f32", (n * 2 + 1,), "input"),), (f("y", "f32", (n, Var("m")), "output"),), (), ())
    >>> solved, missing = solve(op)
    >>> solved[0].factor, solved[0].offset, missing
    (Const(value=2, dtype='index'), Const(value=1, dtype='index'), ('m',))
    """
    found: list[Solved] = []
    known: set[str] = set()
    while True:
        places = [(t, axis, extent, variables(extent) - known) for t, axis, extent in _extents(op.inputs)]
        open_places = [place for place in places if len(place[3]) == 1]
        bare = [p for p in open_places if isinstance(p[2], Var)]
        for tensor, axis, extent, names in bare or open_places:
            (size,) = names
            split = affine(extent, size)
            if split is not None:
                found.append(Solved(size, tensor.name, axis, *split))
                known.add(size)
                break
        else:
            return tuple(found), tuple(s for s in op.sizes if s not in known)


def _extents(tensors: tuple[Tensor, ...]) -> Iterator[tuple[Tensor, int, Term]]:
    for tensor in tensors:
        for axis, extent in enumerate(tensor.shape):
            yield tensor, axis, extent


def affine(term: Term, name: str) -> tuple[Term, Term] | None:
    """`(offset, factor)` with `term = offset + factor*name`, where the factor is a positive constant; None if it is not of that form.

    >>> n = Var("n")
    >>> [t.value for t in affine((n + 1) * 3 - n, "n")], affine(n // 2, "n")
    ([3, 2], None)
    """
    split = _split(term, name)
    if split is None or not isinstance(split[1], Const) or split[1].value <= 0:
        return None
    return split


def _split(term: Term, name: str) -> tuple[Term, Term] | None:
    if name not in variables(term):
        return term, Const(0)
    match term:
        case Var():
            return Const(0), Const(1)
        case App("add" | "sub" as op, (a, b)):
            left, right = _split(a, name), _split(b, name)
            return None if left is None or right is None else (apply(op, left[0], right[0]), apply(op, left[1], right[1]))
        case App("mul", (a, b)):
            scaled, other = (a, b) if name in variables(a) else (b, a)
            inner = _split(scaled, name)
            return None if inner is None or name in variables(other) else (inner[0] * other, inner[1] * other)
    return None
