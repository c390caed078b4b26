"""Views: an array read with other axes and as many elements, row-major: `v = x as [B, G, C, N]`.

Comes in: a view, and the scope with the tensor that it is of. Goes out: a tensor and its equation, `v[b, g, c, n] = x[b, g*C + c, n]`, which is put
in wherever v is read. The one idea: runs of axes of one product are one number on both sides, so an index is a digit of it; runs are independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tinygpu.category.decide import holds
from tinygpu.category.linear import divide, polynomial, term_of
from tinygpu.category.owner import cut, row_major
from tinygpu.category.region import Region, points
from tinygpu.category.simplify import simplify
from tinygpu.category.term import Axis, Read, Term, Var, equal, substitute
from tinygpu.model.extent import same
from tinygpu.model.op import Equation, Tensor
from tinygpu.model.problems import UNKNOWN
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.record import replace
from tinygpu.syntax import tree

VIEW = "view"  # the role of a tensor that no machine evaluates
NAMES = "ijklmnopqrstuvwxyzabcdefgh"


def viewed(view: tree.View, scope: Scope, where: Sequence[Term]) -> tuple[Tensor, Equation] | None:
    """The tensor that a view is, and its equation; None after a message. The sizes are known to be as `where` says."""
    base, hidden = scope.tensor(view.tensor, view.span), scope.hides(view.name, view.span, "the view")
    shape = tuple(index(extent, replace(scope, tensors={})) for extent in view.shape)
    if base is None or hidden or any(extent.dtype == UNKNOWN for extent in (*shape, *base.shape)):
        return None
    names = (name for name in NAMES if name not in scope.everything())
    axes, others = (tuple(Axis(next(names), e, "data", view.span) for e in extents) for extents in (shape, base.shape))
    known = Region((), tuple(where))

    def alike(one: Sequence[Axis], other: Sequence[Axis]) -> bool:
        a, b = (simplify(points(tuple(some)), known) for some in (one, other))
        return same(a, b) or holds(equal(a, b), known) is True

    parts = runs(axes, others, alike)
    if parts is None:
        words = {"name": view.name, "base": base.name, "a": points(axes), "b": points(others)}
        scope.problems.say("TG112.elements", view.span, base.span, **words)
        return None
    place = tuple(digit for mine, theirs in parts for digit in placed(mine, theirs))
    tensor = Tensor(view.name, base.dtype, shape, VIEW, view.span)
    return tensor, Equation(view.name, axes, Read(base.name, place, base.dtype, view.span), view.span)


def runs(
    left: tuple[Axis, ...], right: tuple[Axis, ...], alike: Callable[[Sequence[Axis], Sequence[Axis]], bool]
) -> list[tuple[tuple[Axis, ...], tuple[Axis, ...]]] | None:
    """The shortest runs of axes of both sides that have one product, in order; None where the products of all differ.

    >>> b, g, c, h = (Axis(name, Var(name.upper())) for name in "bgch")
    >>> f = Axis("f", Var("G") * Var("C"))
    >>> parts = runs((b, g, c, h), (b, f, h), lambda one, other: same(points(tuple(one)), points(tuple(other))))
    >>> [("".join(a.name for a in mine), "".join(a.name for a in theirs)) for mine, theirs in parts]
    [('b', 'b'), ('gc', 'f'), ('h', 'h')]
    """
    found: list[tuple[tuple[Axis, ...], tuple[Axis, ...]]] = []
    while left or right:
        i, j = next(((i, j) for i, j in _lengths(len(left), len(right)) if alike(left[:i], right[:j])), (0, 0))
        if not i + j:
            return None
        found.append((left[:i], right[:j]))
        left, right = left[i:], right[j:]
    return found


def _lengths(most: int, other: int) -> Iterator[tuple[int, int]]:
    """How long two runs may be, shortest first."""
    yield from sorted(((i, j) for i in range(most + 1) for j in range(other + 1) if i + j), key=lambda both: (sum(both), both))


def placed(left: tuple[Axis, ...], right: tuple[Axis, ...]) -> tuple[Term, ...]:
    """The indices of the axes on the right, of a run, over those on the left: of the digits that both are made of, where there are such.

    >>> from tinygpu.category.term import lift, text
    >>> i, k, f, n = Axis("i", Var("A")), Axis("k", Var("B") * Var("N")), Axis("f", Var("A") * Var("B")), Axis("n", Var("N"))
    >>> [text(t) for t in placed((i, k), (f, n))], [text(t) for t in placed((Axis("i", lift(4)), Axis("k", lift(6))), (Axis("f", lift(24)),))]
    (['i*B + k // N', 'k % N'], ['i*6 + k'])
    """
    digits = _digits(left, right) if len(left) > 1 < len(right) else None
    if digits is None:
        return cut(row_major(left), right)
    made = {
        d.name: t
        for a in left
        for mine in [tuple(d for d, own, _ in digits if own is a)]
        for d, t in zip(mine, cut(Var(a.name), mine), strict=True)
    }
    return tuple(substitute(row_major(d for d, _, own in digits if own is b), made) for b in right)


def _digits(left: tuple[Axis, ...], right: tuple[Axis, ...]) -> list[tuple[Axis, Axis, Axis]] | None:
    """Digits that axes of both sides are made of, slowest first, each with the two that it is a digit of; None where no such are seen."""
    found: list[tuple[Axis, Axis, Axis]] = []
    mine, theirs = ([(polynomial(a.extent), a) for a in side] for side in (left, right))
    while mine and theirs:
        (p, a), (q, b) = mine.pop(0), theirs.pop(0)
        (more, over), (less, under) = divide(p, q), divide(q, p)
        if over and under:
            return None
        found.append((Axis(f"{a.name} {len(found)}", term_of(p if over else q)), a, b))
        if p != q and not over:
            mine.insert(0, (more, a))
        elif p != q:
            theirs.insert(0, (less, b))
    return None if mine or theirs else found
