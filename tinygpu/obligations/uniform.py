"""A barrier is reached by all threads of the block or by none, a shuffle and a warp barrier by all lanes of the warp or by none.

    t, t' of one scope ⊢ guard(t) ⇒ guard(t')        for every condition around a collective
    0 ≤ d < 32                                       for the distance of a shuffle

Comes in: the program and its trace. Goes out: one formula for each collective with a condition that speaks of the thread; and that a block
is whole warps, where warps act together. Extents of loops are the same for all threads by form.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import BOOL, TRUE, App, Axis, Term, Var, conjunction, equal, negation, substitute, text
from tinygpu.diagnostic import Label
from tinygpu.obligations.between import LATER
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.exchange import WARP, Threads
from tinygpu.obligations.limits import product
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Collective, Trace
from tinygpu.program.step import Launch, Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for collective in trace.collectives:
        launch = program.launches[collective.launch]
        known = preconditions(program)
        if collective.scope == "warp":
            label = (Label(collective.span, "the lanes of a warp act together here"),)
            threads = product(tuple(a.extent for a in launch.block))
            title, sentence = "a block is not made of whole warps", f"a block has a multiple of {WARP} threads"
            help = f"let the extents of the block multiply to a multiple of {WARP}"
            yield Obligation("uniform", "TG304", title, sentence, known, equal(threads % WARP, 0), label, help)
        for far in collective.lanes:  # of other distances the hardware takes the lowest 5 bits
            goal = collective.point.settled(conjunction(far >= 0, far < WARP))
            title, sentence = (
                f"a shuffle by {text(far)} reaches outside of the warp",
                f"{text(far)} is one of 0 to {WARP - 1} lanes",
            )
            label = (Label(collective.span, "shuffled here"),)
            if goal != TRUE:
                yield Obligation("uniform", "TG304", title, sentence, collective.point.facts, goal, label)
        guard = conjunction(*(g for g in collective.point.guard if g not in known))
        yield from _same(launch, collective, guard)


def _same(launch: Launch, collective: Collective, guard: Term) -> Iterator[Claim]:
    names: dict[str, Term] = {a.name: Var(a.name + LATER) for a in launch.block}
    other = substitute(guard, names)
    if other == guard:
        return
    point = collective.point
    axes = tuple(Axis(a.name + LATER, a.extent, a.sort, a.span) for a in launch.block)
    there = point.inside(*axes)
    warp = Threads(launch.block).warps[0]
    facts = (*there.facts, *((equal(warp, substitute(warp, names)),) if collective.scope == "warp" else ()))
    goal = there.settled(App("or", (negation(guard), other), BOOL))
    who = "block" if collective.scope == "block" else "warp"
    title = f"a {collective.word} that not all threads of the {who} reach"
    sentence = f"if one thread of a {who} reaches the {collective.word}, all do"
    label = (Label(collective.span, "some threads do not come here"),)
    help = f"take the {collective.word} out of the condition, and guard what is stored instead"
    yield Obligation("uniform", "TG303", title, sentence, facts, goal, label, help)
