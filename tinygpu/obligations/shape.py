"""Values in the shape in which they are compared: equal folds are equal terms, what cancels is gone, small folds are written out.

Comes in: a term or a claim. Goes out: an equal one. The one idea: two ways to write one value meet before a solver is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod

from tinygpu.category.cancel import cancel
from tinygpu.category.linear import Polynomial
from tinygpu.category.monoid import as_monoid, unit_of
from tinygpu.category.ring import polynomial
from tinygpu.category.term import INTEGERS, App, Axis, Const, Fold, Term, Var, children, plain, rebuild, select, substitute, whole
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.pieces import parts_of
from tinygpu.record import replace

EXPANDED = 64  # a fold over at most this many points may be written out
RING = ("add", "sub", "mul", "neg")
OPENED = -1  # no binder that was opened is named by it
PIECES = 4096  # and all folds inside of each other over at most so many


def neat(term: Term, level: int, depth: int = 0, laws: bool = True) -> Term:
    """The same value with binders named by their place, and without units: equal folds are equal terms.

    A binder that was opened is an axis of the point; `level` counts those, so that no new name is one of theirs. Without `laws` nothing else
    changes: the units and brackets of what is tested are those of the program.
    """
    match term:
        case Fold():
            term = one_fold(term) if laws else term
            assert isinstance(term, Fold)
            axes = tuple(Axis(f"{level}.{depth}.{position}", a.extent) for position, a in enumerate(term.axes))
            names: dict[str, Term] = {old.name: Var(new.name) for old, new in zip(term.axes, axes, strict=True)}
            guard, body = (neat(substitute(t, names), level, depth + 1, laws) for t in (term.guard, term.body))
            return replace(term, axes=axes, guard=guard, body=body)
        case App(op, (a, b), dtype) if laws:
            unit = unit_of(op, dtype)
            if unit is not None and unit in (a, b):
                return neat(b if a == unit else a, level, depth)
    return rebuild(term, lambda t: neat(t, level, depth, laws))


def alike(claim: Claim, laws: bool = True) -> Claim:
    """The claim with its folds `neat`, so that two of them which are equal are seen to be."""
    return _changed(claim, lambda t: t if plain(t) else neat(t, OPENED, laws=laws))


def met(value: Term, claim: Term) -> Term:
    """The value with the sums and products of integers that are one polynomial with one of the claim's as they stand there.

    >>> from tinygpu.category.term import Read, text
    >>> x, w = Read("x", (), "u8"), Read("w", (), "u8")
    >>> add, mul, xor = (lambda a, b, op=op: App(op, (a, b), "u8") for op in ("add", "mul", "xor"))
    >>> text(met(xor(w, add(mul(x, x), mul(x, w))), xor(w, mul(x, add(x, w)))))
    'w ^ x*(x + w)'
    """

    def computed(term: Term) -> Polynomial | None:
        return polynomial(term) if term.dtype in INTEGERS and isinstance(term, App) and term.op in RING else None

    theirs = [(form, t) for t in (outside(claim) if value != claim else ()) if (form := computed(t)) is not None]

    def put(term: Term) -> Term:
        form = computed(term)
        found = next((t for other, t in theirs if form == other and t.dtype == term.dtype), None)
        return found if found is not None else term if isinstance(term, Fold) else rebuild(term, put)

    return put(value) if theirs else value


def outside(term: Term) -> Iterator[Term]:
    """The subterms that are inside no fold, outermost first."""
    yield term
    if isinstance(term, App):
        for a in term.args:
            yield from outside(a)


def cancelled(claim: Claim) -> Claim:
    """The claim without what cancels in it. Floats that may be anything are unknowns by now (`control`)."""
    return _changed(claim, cancel)


def _changed(claim: Claim, change: Callable[[Term], Term]) -> Claim:
    """The claim with what is not about indices alone changed."""
    if not isinstance(claim, Obligation):
        return claim
    said = (*claim.hypotheses, claim.goal)
    *hypotheses, goal = new = tuple(t if whole(t) else change(t) for t in said)
    return claim if new == said else replace(claim, hypotheses=tuple(hypotheses), goal=goal)


def one_fold(fold: Fold) -> Fold:
    """Nested folds of one monoid as one fold over both boxes."""
    parts = parts_of(fold.monoid, fold)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Fold) else fold


def put(term: Term, old: Term, new: Term, view: object = None) -> Term:
    """The term with one subterm, seen through `view` where it is a fold, replaced."""
    if term == old or (view is not None and isinstance(term, Fold) and view(term) == old):  # type: ignore[operator]
        return new
    if isinstance(term, Fold):
        return term
    return rebuild(term, lambda t: put(t, old, new, view))


def expand(term: Term) -> Term:
    """Folds over a small constant box, written out, if that makes few pieces with the folds that are inside of them."""
    match term:
        case Fold(monoid, axes, guard, body, dtype):
            unit, extents = as_monoid(monoid).unit(dtype), box_of(term)
            if unit is None or extents is None or prod(extents) > EXPANDED or pieces(term) > PIECES:
                return term
            out: Term = unit
            for point in product(*map(range, extents)):
                bind = {a.name: Const(v) for a, v in zip(axes, point, strict=True)}
                piece = select(substitute(guard, bind), expand(substitute(body, bind)), unit)
                out = App(as_monoid(monoid).op, (out, piece), dtype)
            return out
    return rebuild(term, expand)


def box_of(fold: Fold) -> tuple[int, ...] | None:
    """The extents of a fold, where they are numbers."""
    extents = tuple(int(a.extent.value) for a in fold.axes if isinstance(a.extent, Const))
    return extents if len(extents) == len(fold.axes) else None


def pieces(term: Term) -> int:
    """How many pieces the folds of a term have when they are written out, each as often as those around it."""
    inside = sum(map(pieces, children(term)))
    extents = box_of(term) if isinstance(term, Fold) else None
    return inside if extents is None else prod(extents) * max(1, inside)
