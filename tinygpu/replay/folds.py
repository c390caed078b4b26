"""Folds as sets: a program's fold is the equation's if its terms are that fold's terms, each once.

    ⊕ᵢ ⊕{ bᵢ(d) | gᵢ(d) }  =  ⊕{ B(k) | G(k) }      by arrows φᵢ : d ↦ k with inverses ψᵢ, and  Pᵢ(k) = gᵢ(ψᵢ(k)) and φᵢ(ψᵢ(k)) = k:
        gᵢ(d) ⊢ φᵢ(d) in the fold, or bᵢ(d) is the unit      gᵢ(d) ⊢ bᵢ(d) = B(φᵢ(d))      gᵢ(d) ⊢ ψᵢ(φᵢ(d)) = d
        G(k) ⊢ P₁(k) or P₂(k) or …, or B(k) is the unit       Pᵢ(k) and Pⱼ(k) ⊢ false        (an idempotent ⊕ needs neither this nor ψ∘φ = id)

Comes in: two values and a place. Goes out: whether they are equal, with the claims that say so.
The one idea: the union of the sets Pᵢ is the equation's index set; no quantifier is needed, as the arrows have inverses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import TypeAlias

from tinygpu.record import replace
from tinygpu.replay import solve
from tinygpu.replay.inverse import equations_in, inverse
from tinygpu.replay.ir import (
    BOOL,
    FALSE,
    INDEX,
    TRUE,
    Env,
    Fold,
    Op,
    Read,
    Term,
    Var,
    both,
    children,
    compare,
    conjuncts,
    either,
    free,
    num,
    put,
    walk,
    within,
)
from tinygpu.replay.judge import Judge, Place
from tinygpu.replay.linear import Ranges
from tinygpu.replay.merged import merged
from tinygpu.replay.monoids import STEP, unit
from tinygpu.replay.narrow import narrowed
from tinygpu.replay.ordered import Part, Position, in_order, renamed
from tinygpu.replay.polynomials import back, opposite, plus, polynomial

Same: TypeAlias = Callable[[Term, Term, Place], bool]
Placed: TypeAlias = tuple[Fold, Env, Env | None]  # a piece, its arrow, its inverse; an idempotent fold may do without
TRIED = 8  # arrows that are tried for one fold


def monoid_of(term: Term) -> str:
    """The monoid of a value that combines folds; empty where it is none.

    >>> from tinygpu.replay.ir import Axis, num
    >>> x = Fold("sum", (Axis("k", num(3)),), TRUE, Read("x", (Var("k"),), "f32"), "f32")
    >>> monoid_of(Op("add", (x, Read("a", (), "f32")), "f32")), monoid_of(Op("mul", (x, x), "f32"))
    ('sum', '')
    """
    match term:
        case Fold(monoid):
            return monoid
        case Op("select", (_, a, b)):
            return monoid_of(a) or monoid_of(b)
        case Op(op) if op.startswith("join."):
            return op.removeprefix("join.")
    parts = combined(term)
    for part in parts:
        found = monoid_of(part)
        if found and parts == combined(term, found):
            return found
    return ""


def combined(term: Term, monoid: str = "") -> tuple[Term, ...]:
    """The operands of a step of a monoid: of any one, or of the one that is named."""
    match term:
        case Op("wrap", (Op("add" | "mul" as op, args),)):
            pass
        case Op(op, args):
            pass
        case _:
            return ()
    if op == "combine":
        return args if monoid in ("", term.dtype) else ()
    wanted = [STEP[monoid]] if monoid in STEP else [] if monoid else list(STEP.values())
    return args if op in wanted else ()


def pieces(term: Term, monoid: str, judge: Judge) -> list[tuple[Fold, Position]]:
    """A value as folds of one monoid, side by side, each with where it stands."""
    neutral = unit(monoid, term.dtype, judge.machine.monoids)

    def flat(term: Term) -> list[tuple[Fold, Position]]:
        match term:
            case Fold(m, binders, guard, body) if m == monoid:
                here = tuple(Var(b.name) for b in binders)
                inner = ((replace(p, binders=binders + p.binders, guard=both(guard, p.guard)), at) for p, at in flat(body))
                return [(p, here + at) for p, at in inner]
            case Op(op, (a, b)) if op == f"join.{monoid}":
                return beside(a, b)
            case Op("select", (condition, a, b)) if neutral in (a, b) or monoid in (monoid_of(a), monoid_of(b)):
                sides = ((condition, a), (opposite(condition), b))
                chosen = [(n, c, piece) for n, (c, side) in enumerate(sides) for piece in flat(side)]
                return [(replace(p, guard=both(c, p.guard)), (num(n), *at)) for n, c, (p, at) in chosen]
        parts = combined(term, monoid)
        if parts and any(monoid_of(p) == monoid for p in parts):
            return beside(*parts)
        return [] if term == neutral else [(Fold(monoid, (), TRUE, term, term.dtype), ())]

    def beside(*parts: Term) -> list[tuple[Fold, Position]]:
        return [(p, (num(n), *at)) for n, part in enumerate(parts) for p, at in flat(part)]

    return flat(term)


def apart(piece: tuple[Fold, Position], judge: Judge) -> tuple[Fold, Position]:
    """A piece with names of its own."""
    fold, _, position = renamed((piece[0], {}, piece[1]), judge)
    return fold, position


def matched(value: Term, wanted: Term, place: Place, judge: Judge, same: Same) -> bool:
    """Whether two values of one monoid are equal. Claims are left only if they are."""
    monoid = monoid_of(value) or monoid_of(wanted)
    if not monoid or value.dtype != wanted.dtype:
        return False
    mark = judge.mark()
    ordered = judge.ordered(monoid)
    ours = [apart(p, judge) for p in pieces(value, monoid, judge)]
    theirs = [judge.names.apart(p) for p, _ in pieces(wanted, monoid, judge)]
    if ordered and len(theirs) != 1:
        return False
    parts: list[list[Placed]] = [[] for _ in theirs]
    stand: list[Part] = []
    for piece, position in ours:
        if not ordered:
            piece = merged(narrowed(piece, place, judge), place, judge)
        for number, target in enumerate(theirs):
            found = placed(piece, target, place, judge, same)
            if found is not None:
                parts[number].append(found)
                stand.append((found[0], found[1], position))
                break
        else:
            if not judge.decide(place.inside(*piece.binders).under(piece.guard), is_unit(piece, judge)):
                judge.back(mark)
                return False
    if all(whole(target, found, place, judge) for target, found in zip(theirs, parts, strict=True)):
        if not ordered or in_order(stand, theirs[0], place, judge):
            return True
    judge.back(mark)
    return False


def is_unit(piece: Fold, judge: Judge) -> Term:
    """That a term of a fold changes nothing."""
    neutral = unit(piece.monoid, piece.dtype, judge.machine.monoids)
    return FALSE if neutral is None else compare("eq", piece.body, neutral)


def placed(piece: Fold, target: Fold, place: Place, judge: Judge, same: Same) -> Placed | None:
    """A piece with its arrow into the target and the inverse: every term of it is a term of the target, or changes nothing."""
    inner = place.inside(*piece.binders).under(piece.guard)
    for arrow in islice(arrows(piece, target, inner, judge), TRIED):
        mark = judge.mark()
        there = both(*(within(arrow[k.name], put(k.extent, arrow)) for k in target.binders), put(target.guard, arrow))
        there = judge.simplify(inner, there)
        part = piece
        if not judge.decide(inner, there):
            if not judge.decide(inner, either(there, is_unit(piece, judge))):
                judge.back(mark)
                continue
            part = replace(piece, guard=both(piece.guard, there))
        inside = place.inside(*part.binders).under(part.guard)
        back_again = backwards(part, target, arrow, inside, judge)
        if (back_again is not None or judge.idempotent(part.monoid)) and same(
            part.body, judge.simplify(inside, put(target.body, arrow)), inside
        ):
            return part, arrow, back_again
        judge.back(mark)
    return None


def backwards(piece: Fold, target: Fold, arrow: Env, inside: Place, judge: Judge) -> Env | None:
    """The inverse of an arrow, as terms over the binders of the target; that it is one is claimed."""
    equations: list[tuple[Term, Term]] = [(arrow[k.name], Var(k.name)) for k in target.binders]
    equations += equations_in(conjuncts(piece.guard), (b.name for b in piece.binders))
    outside = tuple(a for a in inside.axes if a not in piece.binders)
    ranges = Ranges.of((*outside, *target.binders), judge.machine.op.sizes)
    found = inverse(piece.binders, equations, (), ranges)
    if found is None:
        return None
    if not judge.idempotent(piece.monoid):
        again = both(*(compare("eq", put(found[b.name], arrow), Var(b.name)) for b in piece.binders))
        if not judge.decide(inside, again):
            return None
    return found


def whole(target: Fold, parts: list[Placed], place: Place, judge: Judge) -> bool:
    """Whether the pieces together are the target: every term at least once, and no term twice."""
    there = place.inside(*target.binders).under(target.guard)
    sets = []
    for piece, arrow, inverse_of in parts:
        if inverse_of is None:
            continue
        inside = [within(inverse_of[b.name], put(b.extent, inverse_of)) for b in piece.binders]
        again = [compare("eq", put(arrow[k.name], inverse_of), Var(k.name)) for k in target.binders]
        sets.append(judge.simplify(there, both(*inside, *again, put(piece.guard, inverse_of))))
    steps = solve.Z3_STEPS
    *others, last = sorted(sets, key=lambda s: len(repr(s))) or [FALSE]
    rest = there.under(*map(opposite, others))  # what is in none of the others is in the largest, condition by condition
    if not judge.decide(rest, last) and not judge.decide(there, either(*sets, is_unit(target, judge)), steps):
        return False
    if judge.idempotent(target.monoid) or judge.ordered(target.monoid):  # of terms in order no two are the same
        return True
    return all(disjoint(one, two, target, place, judge) for n, one in enumerate(parts) for two in parts[:n])


def disjoint(one: Placed, two: Placed, target: Fold, place: Place, judge: Judge) -> bool:
    """Whether no term of the target is in both pieces."""
    (first, to_first, _), (second, to_second, _) = one, two
    both_places = place.inside(*first.binders, *second.binders).under(first.guard, second.guard)
    met = both_places.under(*(compare("eq", to_first[k.name], to_second[k.name]) for k in target.binders))
    return judge.impossible(met, solve.Z3_STEPS)


# ── arrows ──


def anchors(term: Term) -> Iterator[tuple[str, tuple[Term, ...]]]:
    """What shows which term of a fold a body is: the places it reads at, the numbers it casts."""
    for part in walk(term):
        match part:
            case Read(array, index) if index:
                yield array, index
            case Op("wrap" | "real", (inner,), dtype):
                yield f"cast to {dtype}", (inner,)


def arrows(piece: Fold, target: Fold, inner: Place, judge: Judge) -> Iterator[dict[str, Term]]:
    """Arrows that are worth a try: each binder of the target where both bodies read one array."""
    ours = [a for t in (piece.body, piece.guard) for a in anchors(t)]
    theirs = [a for t in (target.body, target.guard) for a in anchors(t)]
    names = {b.name for b in target.binders}
    choices: dict[str, dict[Term, None]] = {name: {} for name in names}
    for array, index in theirs:
        for other, places in ours:
            if other == array and len(places) == len(index):
                for mine, at in zip(index, places, strict=True):
                    if free(at) & bound_inside(piece.body):
                        continue
                    for name, term in solved(mine, at, names):
                        choices[name][judge.simplify(inner, term)] = None
    for combination in product(*(choices[b.name] for b in target.binders)):
        yield dict(zip((b.name for b in target.binders), combination, strict=True))


def bound_inside(term: Term) -> set[str]:
    """The binders of folds inside of a term."""
    return {b.name for t in walk(term) if isinstance(t, Fold) for b in t.binders}


def solved(mine: Term, at: Term, names: set[str]) -> Iterator[tuple[str, Term]]:
    """`f·k + rest = at` solved for k."""
    poly = polynomial(mine)
    for monomial, factor in poly.items():
        if len(monomial) == 1 and isinstance(monomial[0], Var) and monomial[0].name in names:
            rest = {m: f for m, f in poly.items() if m != monomial}
            if not any(free(a) & names for m in rest for a in m):
                whole = back(plus({}, plus(polynomial(at), rest, -1), 1 if factor > 0 else -1))
                yield monomial[0].name, whole if abs(factor) == 1 else Op("floordiv", (whole, num(abs(factor))), INDEX)


def has_folds(term: Term) -> bool:
    """Whether a fold is in a term."""
    return isinstance(term, Fold) or (isinstance(term, Op) and term.op.startswith("join.")) or any(map(has_folds, children(term)))


__all__ = ["BOOL", "has_folds", "matched", "monoid_of", "pieces"]
