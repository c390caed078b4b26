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
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjuncts,
    equal,
    exchange,
    folds,
    memoised,
    reads,
    rebuild,
    select,
    substitute,
    tensors,
    total,
)
from tinygpu.category.total import PERHAPS
from tinygpu.diagnostic import Label
from tinygpu.model.op import Equation, Op
from tinygpu.obligations.finite import finite
from tinygpu.obligations.made import SURELY, is_made, made, moved, number_of, value_of
from tinygpu.obligations.obligation import Gap
from tinygpu.obligations.recurrence import place
from tinygpu.record import replace


def marked(op: Op) -> Mapping[str, str]:
    """The symbol of each state: it surely has a value where all that it is made of have one."""
    partial = {e.target for e in op.states if not total(undivided(e.value))}
    return {e.target: e.target + (PERHAPS if partial & {e.target, *op.reached(e.target)} else SURELY) for e in op.states}


@memoised
def undivided(term: Term) -> Term:
    """An equation's value with sums for its divisions of indices, whose divisors `equation` asks to be at least 1.

    >>> i, n = Var("i"), Var("n")
    >>> [total(t) for t in (Read("x", (i % n,), "f32"), undivided(Read("x", (i % n,), "f32")))]
    [False, True]
    """
    inner = rebuild(term, undivided)
    if isinstance(inner, App) and inner.op in ("floordiv", "mod", "ceildiv") and inner.dtype == INDEX:
        return replace(inner, op="add")
    return inner


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


def unfolded(op: Op, value: Term, claim: Term, point: Region, stored: bool = False) -> Term:
    """A claim with each state whose step is a fold, or partial, as what that makes it, where the program has computed it too; what is `stored` has not
    where it reads that state then. From time 0 on a state is what its equation says, whatever its length and its place."""
    marks = marked(op)
    states = {marks[e.target]: e for e in op.states if marks[e.target].endswith(PERHAPS) or folds(e.value)}
    ours = {r for r in reads(value) if r.tensor in states}
    bind: dict[Term, Term] = {}

    def when(read: Read) -> tuple[str, Term]:
        state = states[read.tensor]
        return read.tensor, read.index[[a.name for a in state.axes].index(state.along)]

    times = {when(r) for r in ours} if stored else set()
    for read in (r for r in reads(claim) if r.tensor in states and r not in ours and when(r) not in times):
        if point.settled(when(read)[1] >= 0) == TRUE:
            bind[read] = simplify(by_symbol(op, states[read.tensor].at(read.index)), point)
    return exchange(claim, bind)


def begun(op: Op, axis: Axis, new: Term, old: Term) -> Term:
    """What is there before a loop whose turns make `new`: the state at its beginning, where they go on with it."""
    condition, value = (new.args[0], new.args[1]) if isinstance(new, App) and new.op == "select" else (TRUE, new)
    turn = place(condition, axis.name)  # of an array each turn makes an element, else it makes all anew
    read, names = value_of(moved(value, axis.name, Const(-1) if turn is None else turn)), {m: n for n, m in marked(op).items()}
    if not isinstance(read, Read) or read.tensor not in names:
        return old
    state = op.equation(names[read.tensor])

    def first(start: Term, pins: Mapping[str, Term]) -> Term:
        bind = dict(zip((a.name for a in state.axes), (simplify(substitute(i, pins)) for i in read.index), strict=True))
        if bind[state.along] == Const(0) and value_of(start) == by_symbol(op, substitute(state.cases[0][1], bind)):
            return made(read, number_of(start)) if is_made(value) else read
        match start:
            case App("select", (where, then, rest)):
                pairs = (part.args for part in conjuncts(where) if isinstance(part, App) and part.op == "eq")
                here = {b.name: a for pair in pairs for a, b in (pair, pair[::-1]) if isinstance(a, Const) and isinstance(b, Var)}
                return select(where, first(then, {**pins, **here}), first(rest, pins))
        return start

    return first(old, {})


def endless(state: Equation, point: Region) -> Iterator[Gap]:
    """A state that may be infinite is not followed: what is known of numbers would be said of it."""
    if state.value.dtype in FLOATS and point.settled(finite(state.value, point, {})) != TRUE:
        reason = f"{state.target} may be infinite, and states are followed as numbers: begin with a number, and take a maximum of numbers"
        yield Gap("equation", "TG501", f"the state {state.target} may be infinite", reason, (Label(state.span, "its step"),))
