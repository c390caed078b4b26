"""Values in the shape in which they are compared: taken apart into what a monoid combines, equal folds equal terms, what cancels gone.

    ⊕[d] ⊕[e] b   =   ⊕[d, e] b        ⊕[d] (v if c else unit)   =   ⊕[d | c] v        ⊕[d] (a ⊕ b)   =   ⊕[d] a  ⊕  ⊕[d] b

Comes in: a value or a claim. Goes out: an equal one, or the pieces of it. The one idea: two ways to write one value meet before a solver is asked;
units are nothing, where what decided for them has a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod

from tinygpu.category.cancel import cancel
from tinygpu.category.linear import polynomial as index_form
from tinygpu.category.monoid import as_monoid, unit_of
from tinygpu.category.node import kept
from tinygpu.category.operation import BITWISE
from tinygpu.category.ring import polynomial
from tinygpu.category.term import (
    INTEGERS,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    children,
    conjunction,
    folds,
    fresh,
    memoised,
    negation,
    outside,
    plain,
    reads,
    rebuild,
    select,
    substitute,
    variables,
    whole,
)
from tinygpu.category.total import total
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.record import replace

EXPANDED = 32  # a fold over at most this many points may be written out
RING = ("add", "sub", "mul", "neg")
OPENED = -1  # no binder that was opened is named by it
PIECES = 4096  # and all folds inside of each other over at most so many


def flatten(op: str, term: Term) -> tuple[Term, ...]:
    """The operands of nested applications of one operation.

    >>> a, b = Var("a", "f32"), Var("b", "f32")
    >>> len(flatten("add", App("add", (App("add", (a, b), "f32"), a), "f32")))
    3
    """
    match term:
        case App(name, args) if name == op:
            return tuple(part for a in args for part in flatten(op, a))
    return (term,)


def combine(op: str, dtype: str, *parts: Term) -> Term:
    """The parts combined from the left, a unit that they begin with left out."""
    rest = parts[1:] if len(parts) > 1 and isinstance(parts[0], Const) and parts[0] == unit_of(op, dtype) else parts
    out = rest[0]
    for part in rest[1:]:
        out = App(op, (out, part), dtype)
    return out


def parts_of(monoid: str, term: Term) -> tuple[Term, ...]:
    """What is combined in a value: nested folds of one monoid are one fold (Fubini), and units are nothing."""
    law = as_monoid(monoid)
    out: list[Term] = []
    for piece in flatten(law.op, term):
        match piece:
            case App("select", (condition, then, otherwise), dtype) if law.unit(dtype) is not None and any(
                _folds(monoid, branch) for branch in (then, otherwise)
            ):
                for guard, branch in ((condition, then), (negation(condition), otherwise)):
                    out += parts_of(monoid, Fold(monoid, (), guard, branch, dtype))
            case Fold(name, axes, guard, body, dtype, span) if (
                name == monoid and _folds(monoid, body) and (len(inside := parts_of(monoid, body)) == 1 or law.commutative)
            ):
                for inner in inside:
                    if isinstance(inner, Fold) and inner.monoid == monoid:
                        inner = fresh(inner, {a.name for a in axes} | variables(guard))
                        out.append(Fold(name, axes + inner.axes, conjunction(guard, inner.guard), inner.body, dtype, span))
                    else:
                        out.append(once(Fold(name, axes, guard, inner, dtype, span)))
            case Fold(guard=guard, body=body) if (whole(guard) or total(guard)) and body == law.unit(piece.dtype):
                pass
            case _ if piece != law.unit(piece.dtype):
                out.append(piece)
    return tuple(out)


def one_fold(fold: Fold) -> Fold:
    """Nested folds of one monoid as one fold over both boxes."""
    parts = parts_of(fold.monoid, fold)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Fold) else fold


@memoised
def taken_apart(term: Term) -> Term:
    """The term with what is combined in a fold for each fold that is inside no other: `⊕[d] (⊕[e] a  ⊕  b)` is `⊕[d, e] a  ⊕  ⊕[d] b`."""
    if isinstance(term, Fold):
        parts = parts_of(term.monoid, term)
        return combine(as_monoid(term.monoid).op, term.dtype, *parts) if parts else term
    return rebuild(term, taken_apart)


@memoised
def bare(term: Term) -> Term:
    """The term without a fold of one thing that is made of folds itself, but combines none: `s += k·(v − ⊕[c] b)` adds a number.

    >>> from tinygpu.category.term import Read, text
    >>> inner = Fold("sum", (Axis("c", Const(8)),), TRUE, Read("x", (Var("c"),), "f32"), "f32")
    >>> text(bare(Fold("sum", (), TRUE, App("neg", (inner,), "f32"), "f32")))
    '-(sum[c < 8] x[c])'
    """
    match term:
        case Fold(monoid, (), guard, body) if guard == TRUE and folds(body) and not _folds(monoid, body):
            return bare(body)
    return rebuild(term, bare) if folds(term) else term


def once(fold: Fold) -> Term:
    """`max[d < 32] v` as `v`, where `d` does not stand in `v`."""
    there = all(isinstance(a.extent, Const) and a.extent.value >= 1 for a in fold.axes)
    same = (
        as_monoid(fold.monoid).idempotent
        and fold.guard == TRUE
        and there
        and not variables(fold.body) & {a.name for a in fold.axes}
    )
    return fold.body if same else fold


def _folds(monoid: str, body: Term) -> bool:
    """Whether folds of the monoid are combined in a body, or chosen between."""
    for piece in flatten(as_monoid(monoid).op, body):
        match piece:
            case Fold(name) if name == monoid:
                return True
            case App("select", (_, then, otherwise)) if _folds(monoid, then) or _folds(monoid, otherwise):
                return True
    return False


def guarded(fold: Fold) -> Fold:
    """The fold with the condition under which its body is no unit as a guard: `⊕[g] (v if c else unit)` is `⊕[g and c] v`."""
    unit = as_monoid(fold.monoid).unit(fold.dtype)
    match fold.body:
        case App("select", (condition, value, otherwise)) if unit is not None and unit in (value, otherwise):
            holds, left = (condition, value) if otherwise == unit else (negation(condition), otherwise)
            return guarded(replace(fold, guard=conjunction(fold.guard, holds), body=left))
    return fold


def spread(part: Term, wanted: Fold) -> Iterator[Term]:
    """`⊕[d] (a ⊕ b)` as `⊕[d] a` and `⊕[d] b`: a thread may combine several terms at once, of which the wanted fold has one.
    What reads the same elements of those that the fold goes over is one term, with what reads none of them."""
    law = as_monoid(wanted.monoid)
    if isinstance(part, Fold) and part.monoid == wanted.monoid and law.commutative and len(flatten(law.op, wanted.body)) == 1:
        fold, unit = guarded(part), law.unit(part.dtype)
        together: dict[frozenset[Term], list[Term]] = {}
        axes = {a.name for a in fold.axes}
        for piece in flatten(law.op, fold.body):
            if piece != unit:
                together.setdefault(frozenset(r for r in reads(piece) if variables(r) & axes), []).append(piece)
        alone = together.pop(frozenset(), [])
        next(iter(together.values()), []).extend(alone)
        if len(together) > 1:
            for pieces in together.values():
                yield from spread(replace(fold, body=combine(law.op, fold.dtype, *pieces)), wanted)
            return
    yield part


@memoised
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
    return _changed(claim, lambda t: t if plain(t) else neat(t, OPENED, 0, laws))


def met(value: Term, claim: Term) -> Term:
    """The value with the sums and products of integers that are one polynomial with one of the claim's as they stand there; beside operations on bits,
    of which a solver knows little, also with elements at one place as the claim reads them.

    >>> from tinygpu.category.term import Read, text
    >>> x, w = Read("x", (), "u8"), Read("w", (), "u8")
    >>> add, mul, xor = (lambda a, b, op=op: App(op, (a, b), "u8") for op in ("add", "mul", "xor"))
    >>> text(met(xor(w, add(mul(x, x), mul(x, w))), xor(w, mul(x, add(x, w)))))
    'w ^ x*(x + w)'
    >>> i, n = Var("i"), Var("n")
    >>> text(met(xor(Read("x", (n - i - 1,), "u8"), w), xor(Read("x", (n - 1 - i,), "u8"), w)))
    'x[n - 1 - i] ^ w'
    """
    bits = any(isinstance(t, App) and t.op in ("xor", *BITWISE) for t in outside(claim)) if value != claim else False

    def computed(term: Term) -> object:
        if bits and isinstance(term, Read) and term.index:
            return term.tensor, *map(index_form, term.index)
        return polynomial(term) if term.dtype in INTEGERS and isinstance(term, App) and term.op in RING else None

    theirs = [(form, t) for t in (outside(claim) if value != claim else ()) if (form := computed(t)) is not None]

    @memoised
    def put(term: Term) -> Term:
        form = computed(term)
        found = next((t for other, t in theirs if form == other and t.dtype == term.dtype), None)
        return found if found is not None else term if isinstance(term, Fold) else rebuild(term, put)

    return put(value) if theirs else value


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


@memoised
def put(term: Term, old: Term, new: Term, view: object = None) -> Term:
    """The term with one subterm, seen through `view` where it is a fold, replaced."""
    if term == old or (view is not None and isinstance(term, Fold) and view(term) == old):  # type: ignore[operator]
        return new
    if isinstance(term, Fold):
        return term
    return rebuild(term, lambda t: put(t, old, new, view))


@memoised
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


@kept
def pieces(term: Term) -> int:
    """How many pieces the folds of a term have when they are written out, each as often as those around it."""
    inside = sum(map(pieces, children(term)))
    extents = box_of(term) if isinstance(term, Fold) else None
    return inside if extents is None else prod(extents) * max(1, inside)
