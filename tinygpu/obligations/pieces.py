"""What is combined in a value, taken apart and put under guards, so that each piece can be a part of the equation's fold.

    ⊕[d] ⊕[e] b   =   ⊕[d, e] b        ⊕[d] (v if c else unit)   =   ⊕[d | c] v        ⊕[d] (a ⊕ b)   =   ⊕[d] a  ⊕  ⊕[d] b

Comes in: a value that combines with a monoid. Goes out: folds and single terms. The one idea: units are nothing, where what decided for them
has a value.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.monoid import as_monoid
from tinygpu.category.term import TRUE, App, Const, Fold, Term, conjunction, fresh, negation, reads, variables, whole
from tinygpu.category.total import total
from tinygpu.obligations.recurrence import combine, flatten
from tinygpu.record import replace


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
