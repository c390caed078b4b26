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
from tinygpu.category.term import BOOL, FLOATS, TRUE, Fold, Read, Term, Var, equal, exchange, folds, reads, rebuild, total
from tinygpu.category.total import PERHAPS
from tinygpu.diagnostic import Label
from tinygpu.model.op import Equation, Op
from tinygpu.obligations.finite import finite
from tinygpu.obligations.made import FORM
from tinygpu.obligations.obligation import Gap
from tinygpu.record import replace

SURELY = f"{FORM}surely"  # in the names of symbols: the equation has a value whatever the data is, or `PERHAPS` it has


def marked(op: Op) -> Mapping[str, str]:
    """The symbol of each state: it surely has a value where all that it is made of have one."""
    partial = {e.target for e in op.states if not total(e.value)}
    return {e.target: e.target + (PERHAPS if partial & {e.target, *op.reached(e.target)} else SURELY) for e in op.states}


def by_symbol(op: Op, term: Term) -> Term:
    """The term with symbols for the states that it reads."""
    if not op.states:
        return term
    marks = marked(op)
    found = {r for r in reads(term) if r.tensor in marks}
    return _put(term, marks) if found else term


def _put(term: Term, marks: Mapping[str, str]) -> Term:
    term = rebuild(term, lambda inner: _put(inner, marks))
    return replace(term, tensor=marks[term.tensor]) if isinstance(term, Read) and term.tensor in marks else term


def inductions(op: Op) -> Iterator[Term]:
    """What a state is, as a promise that is kept. Of a step with a fold nothing is said here."""
    for state in op.states:
        here = Read(state.target, tuple(Var(a.name) for a in state.axes), op.tensor(state.target).dtype)
        for when, value in state.cases:
            if not folds(value):
                yield by_symbol(op, Fold("all", state.axes, when, equal(here, value), BOOL))


def unfolded(op: Op, value: Term, claim: Term, point: Region) -> Term:
    """A claim with each state whose step is a fold as what that makes it, where the program has computed it too. From time 0 on a state is what its
    equation says, whatever its length and its place."""
    marks = marked(op)
    states = {marks[e.target]: e for e in op.states if any(folds(v) for _, v in e.cases)}
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
