"""Steps of trees, butterflies and prefixes: `v(i) ⊕ v(j)` is the fold of v over two indices.

    v ⊕ v∘(T ^ 2ᵇ)  =  ⊕[e < 2] v(T with bit b replaced by e)          v(i) ⊕ (v(j) if g)  =  ⊕[e < 2 | e = 0 or g] v(i + e·(j − i))

Comes in: an update, or a value. Goes out: a fold over one symbol instead of two symbols, so that after n steps there is one term, not 2ⁿ.
The one idea: both are one function at two places, as nothing was written in between, and then both have one symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygpu.replay.cells import MARK, Path, Text
from tinygpu.replay.ir import INDEX, TRUE, ZERO, Axis, Env, Fold, Num, Op, Read, Term, Var, compare, either, free, num, put, rebuild
from tinygpu.replay.judge import Judge, Place
from tinygpu.replay.lanes import flat, moved, power, with_bit
from tinygpu.replay.polynomials import back, plus, polynomial
from tinygpu.replay.program import Assign

if TYPE_CHECKING:
    from tinygpu.replay.execute import Execution

FOLDED = {"add": "sum", "max": "max", "min": "min"}


def doubled(run: Execution, text: Text, path: Path, step: Assign, old: Read, hit: Term, env: Env, place: Place) -> Term | None:
    """A combination with the value of the same array elsewhere, as one fold: `v ⊕= v'`, `v = v ⊕ v'`, or `v = v' ⊕ v`."""
    judge = run.judge
    monoid, other, left = operands(step)
    here = Read(old.array, tuple(judge.simplify(place, i) for i in old.index), old.dtype)
    match other:
        case Op("shuffle.xor", (Read() as value, by)) if (distance := power(by)) and hit == TRUE and not judge.ordered(monoid):
            there = text.cells(value, path, env)
            if (
                isinstance(there, Read)
                and Read(there.array, tuple(judge.simplify(place, i) for i in there.index), there.dtype) == here
            ):
                bit = Axis(judge.names.fresh("bit"), num(2))
                body = text.cells(value, path, moved(text, env, with_bit(flat(text.launch.block), distance, Var(bit.name))))
                return Fold(monoid, (bit,), TRUE, body, old.dtype)
        case Read() | Op("shuffle.up" | "shuffle.down", _):
            before, run.held = run.held, old.array
            try:
                there = run.resolve(text.cells(other, path, env), place.under(hit))
            finally:
                run.held = before
            if isinstance(there, Read) and there.array == here.array:
                return pair(judge, monoid, *((there, here) if left else (here, there)), here, hit, place)
    return None


def operands(step: Assign) -> tuple[str, Term | None, bool]:
    """The monoid of a step that combines its cell with something, that, and whether it stands on the left."""
    if step.update:
        return step.update, step.value, False
    own = [Read(step.target, step.index, step.value.dtype)]
    match step.value:
        case Op(op, (a, b)) if (op in FOLDED or op == "combine") and (a in own) != (b in own):
            return FOLDED.get(op, a.dtype), (a if b in own else b), b in own
    return "", None, False


def pair(judge: Judge, monoid: str, left: Read, right: Read, certain: Read, guard: Term, place: Place | None = None) -> Fold:
    """`left ⊕ right` of one symbol at two places, in this order where it counts, else upwards; what is not certain is under the guard."""
    steps = [plus(polynomial(b), polynomial(a), -1) for a, b in zip(left.index, right.index, strict=True)]
    if not judge.ordered(monoid) and any(set(s) == {()} and s[()] < 0 for s in steps):
        left, right = right, left
    which = Axis(judge.names.fresh("which"), num(2))
    index = tuple(
        a if a == b else Op("add", (a, Op("mul", (Var(which.name), Op("sub", (b, a), INDEX)), INDEX)), INDEX)
        for a, b in zip(left.index, right.index, strict=True)
    )
    always = num(0 if certain == left else 1)
    choice = either(compare("eq", Var(which.name), always), guard)
    if place is not None:
        choice = straight(judge, place, index, which.name, always, guard) or choice
    return Fold(monoid, (which,), choice, Read(left.array, index, left.dtype), left.dtype)


def straight(judge: Judge, place: Place, index: tuple[Term, ...], which: str, always: Num, guard: Term) -> Term | None:
    """`e = 1 or i ≥ d` of the index `i − d + e·d` as `i − d + e·d ≥ 0`: guards that are bounds of one index are merged with it.

    None where the guard is no bound of an index, or the index that is always there is not shown to be inside of it.
    """
    match guard:
        case Op("lt" | "le" | "gt" | "ge" as op, (a, b)) if a.dtype == INDEX == b.dtype:
            bound = plus(polynomial(a), polynomial(b), -1)
        case _:
            return None
    other = Num(1 - int(always.value))
    for term in (i for i in index if which in free(i)):
        for sign in (1, -1):
            rest = plus(bound, polynomial(put(term, {which: other})), -sign)
            if set(rest) <= {()}:
                whole = compare(op, back(plus(rest, polynomial(term), sign)), ZERO)
                if judge.decide(place, put(whole, {which: always})):
                    return whole
    return None


def folded_pairs(term: Term, judge: Judge, place: Place | None) -> Term:
    """`v(i) ⊕ v(j) if g else v(i)` in a value, as a fold."""
    match term:
        case Op("select", (guard, Op(op, (a, b)), Read() as alone)) if op in FOLDED or op == "combine":
            if isinstance(a, Read) and isinstance(b, Read) and a.array == b.array and MARK in a.array and alone in (a, b):
                return pair(judge, FOLDED.get(op, a.dtype), a, b, alone, guard, place)
    return rebuild(term, lambda t: folded_pairs(t, judge, place))
