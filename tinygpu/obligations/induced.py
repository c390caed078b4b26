"""A state is a symbol, of which its definition is a promise that is kept.

    u[t, i]  ↦  a number that was computed, `u made surely` where the equation has a value whatever the data is, else `u made perhaps`
    all[t, i] u[t, i] == base if t == 0 else step           is known of it, at the elements that a claim reads

Comes in: the states of an op, and terms that read them. Goes out: terms with symbols, facts, claims with a step in place of what it makes. The one idea:
there is one such function, since every value is made of earlier ones (`equation`). A state is a number wherever it is one at all, which is asked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    FLOATS,
    TRUE,
    Const,
    Fold,
    Read,
    Term,
    Var,
    equal,
    exchange,
    folds,
    memoised,
    reads,
    rebuild,
    substitute,
    tensors,
    total,
)
from tinygpu.category.total import PERHAPS
from tinygpu.diagnostic import Label
from tinygpu.model.op import Equation, Op
from tinygpu.obligations.finite import finite
from tinygpu.obligations.made import SURELY
from tinygpu.obligations.obligation import Gap
from tinygpu.record import replace


def marked(op: Op) -> Mapping[str, str]:
    """The symbol of each state: it surely has a value where all that it is made of have one."""
    partial = {e.target for e in op.states if not total(e.value)}
    return {e.target: e.target + (PERHAPS if partial & {e.target, *op.reached(e.target)} else SURELY) for e in op.states}


def by_symbol(op: Op, term: Term) -> Term:
    """The term with symbols for the states that it reads; at 0 one that may have no value is its base, which may have one."""
    states = {e.target: e for e in op.states}
    if states.keys().isdisjoint(tensors(term)):
        return term
    marks = marked(op)

    @memoised
    def put(inner: Term) -> Term:
        inner = rebuild(inner, put)
        if not isinstance(inner, Read) or inner.tensor not in states:
            return inner
        state = states[inner.tensor]
        bind = dict(zip((a.name for a in state.axes), inner.index, strict=True))
        first = bind[state.along] == Const(0) and marks[inner.tensor].endswith(PERHAPS)
        return put(substitute(state.cases[0][1], bind)) if first else replace(inner, tensor=marks[inner.tensor])

    return put(term)


def inductions(op: Op) -> Iterator[Term]:
    """What a state is, as a promise that is kept. Of a step with a fold nothing is said here."""
    for state in op.states:
        here = Read(state.target, tuple(Var(a.name) for a in state.axes), op.tensor(state.target).dtype)
        for when, value in state.cases:
            if not folds(value):
                is_so = equal(by_symbol(op, here), by_symbol(op, value))
                yield Fold("all", state.axes, by_symbol(op, when), is_so, BOOL)


def unfolded(op: Op, value: Term, claim: Term, point: Region) -> Term:
    """A claim with each state whose step is a fold, or partial, as what that makes it, where the program has computed it too. From time 0 on a state is
    what its equation says, whatever its length and its place."""
    marks = marked(op)
    states = {marks[e.target]: e for e in op.states if marks[e.target].endswith(PERHAPS) or folds(e.value)}
    ours = set(reads(value))
    bind: dict[Term, Term] = {}
    for read in (r for r in reads(claim) if r.tensor in states and r not in ours):
        state = states[read.tensor]
        time = read.index[[a.name for a in state.axes].index(state.along)]
        if point.settled(time >= 0) == TRUE:
            bind[read] = simplify(by_symbol(op, state.at(read.index)), point)
    return exchange(claim, bind)


def endless(state: Equation, point: Region) -> Iterator[Gap]:
    """A state that may be infinite is not followed: what is known of numbers would be said of it."""
    if state.value.dtype in FLOATS and point.settled(finite(state.value, point, {})) != TRUE:
        reason = f"{state.target} may be infinite, and states are followed as numbers: begin with a number, and take a maximum of numbers"
        yield Gap("equation", "TG501", f"the state {state.target} may be infinite", reason, (Label(state.span, "its step"),))
