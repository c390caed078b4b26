"""Steps of trees, butterflies and prefixes: `v(i) ⊕ v(j)` is the fold of v over two indices.

    v ⊕ v∘(T ^ 2ᵇ)  =  ⊕[e < 2] v(T with bit b replaced by e)          v(i) ⊕ (v(j) if g)  =  ⊕[e < 2 | e = 0 or g] v(i + e·(j − i))

Comes in: an update, or a value. Goes out: a fold over one symbol instead of two symbols, so that after n steps there is one term, not 2ⁿ.
The one idea: both are one function at two places, as nothing was written in between, and then both have one symbol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygpu.replay.cells import MARK, Path, Text
from tinygpu.replay.ir import INDEX, TRUE, ZERO, Axis, Env, Fold, Op, Read, Term, Var, compare, either, num, rebuild
from tinygpu.replay.judge import Judge, Place
from tinygpu.replay.lanes import flat, moved, power, with_bit
from tinygpu.replay.program import Assign

if TYPE_CHECKING:
    from tinygpu.replay.execute import Execution

FOLDED = {"add": "sum", "max": "max", "min": "min"}


def doubled(run: Execution, text: Text, path: Path, step: Assign, old: Read, hit: Term, env: Env, place: Place) -> Term | None:
    """An update by the value of the same array elsewhere, as one fold."""
    judge = run.judge
    here = Read(old.array, tuple(judge.simplify(place, i) for i in old.index), old.dtype)
    match step.value:
        case Op("shuffle.xor", (Read() as value, other)) if (distance := power(other)) is not None and hit == TRUE:
            there = text.cells(value, path, env)
            if (
                isinstance(there, Read)
                and Read(there.array, tuple(judge.simplify(place, i) for i in there.index), there.dtype) == here
            ):
                bit = Axis(judge.names.fresh("bit"), num(2))
                body = text.cells(value, path, moved(text, env, with_bit(flat(text.launch.block), distance, Var(bit.name))))
                return Fold(step.update, (bit,), TRUE, body, old.dtype)
        case Read() | Op("shuffle.up" | "shuffle.down", _):
            before, run.held = run.held, old.array
            try:
                other_value = run.resolve(text.cells(step.value, path, env), place.under(hit))
            finally:
                run.held = before
            if isinstance(other_value, Read) and other_value.array == here.array:
                return pair(judge, step.update, here, other_value, hit)
    return None


def pair(judge: Judge, monoid: str, first: Read, second: Read, guard: Term) -> Fold:
    """`first ⊕ (second if guard)` of one symbol at two places."""
    which = Axis(judge.names.fresh("which"), num(2))
    index = tuple(
        a if a == b else Op("add", (a, Op("mul", (Var(which.name), Op("sub", (b, a), INDEX)), INDEX)), INDEX)
        for a, b in zip(first.index, second.index, strict=True)
    )
    choice = either(compare("eq", Var(which.name), ZERO), guard)
    return Fold(monoid, (which,), choice, Read(first.array, index, first.dtype), first.dtype)


def folded_pairs(term: Term, judge: Judge) -> Term:
    """`v(i) ⊕ v(j) if g else v(i)` in a value, as a fold."""
    match term:
        case Op("select", (guard, Op(op, (a, b)), Read() as alone)) if op in FOLDED or op == "combine":
            if isinstance(a, Read) and isinstance(b, Read) and a.array == b.array and MARK in a.array and alone in (a, b):
                monoid = FOLDED.get(op, a.dtype)
                return pair(judge, monoid, alone, b if alone == a else a, guard)
    return rebuild(term, lambda t: folded_pairs(t, judge))
