"""How a launcher learns the sizes: every size solved from one extent of one input, and every other extent checked.

Comes in: the tensors of an op. Goes out: for each size the place it is read from, as Python source, or a keyword to be given.
The one idea: an extent that is affine in exactly one unknown size tells that size; a bare name is the best such extent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.term import App, Const, Term, Var, apply, variables, walk
from tinygpu.category.to_source import ATOM, Form, Source, plain
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
    >>> python(solved[0].factor), python(solved[0].offset), missing
    ('2', '1', ('m',))
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
    >>> [python(t) for t in affine((n + 1) * 3 - n, "n")], affine(n // 2, "n")
    (['3', '2'], None)
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


def python(term: Term, names: Mapping[str, str] | None = None, level: int = 0) -> str:
    """An index or guard over sizes and scalars as Python source; `names` says how these are spelled there.

    >>> from tinygpu.category.term import ceildiv, equal
    >>> n = Var("n")
    >>> python(ceildiv(n + 1, 4)), python(equal(n % 4, 0), {"n": "n_"}), python(n * (n - 1) // 2)
    ('-(-(n + 1) // 4)', 'n_ % 4 == 0', 'n*(n - 1) // 2')
    """
    spelled = names or {}
    return Source(spelled, form=form, read=lambda scalar: spelled[scalar.tensor]).term(term, level)


def form(term: App) -> Form:
    """How a launcher writes an operation: a scalar of the call is a whole number of Python."""
    return ("int({0})", ATOM, (0,)) if term.op == "cast" else plain(term)


def divisors(term: Term) -> tuple[Term, ...]:
    """The divisors in a term that may be zero, each once."""
    found = [t.args[1] for t in walk(term) if isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv")]
    return tuple(dict.fromkeys(d for d in found if not (isinstance(d, Const) and d.value > 0)))
