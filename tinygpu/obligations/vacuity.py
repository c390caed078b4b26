"""A proof of nothing is not a proof: some sizes, none of them 0, satisfy the preconditions, and every store is reached.

    there are sizes ≥ 1 with where(sizes);   for every store there is a point that its guard admits

Comes in: the program and its trace. Goes out: claims that something exists, which the solver answers with a model.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.box import box_facts
from tinygpu.category.cancel import cancel
from tinygpu.category.term import Fold, Term, Var, conjuncts, text
from tinygpu.diagnostic import Label
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.exact import compared
from tinygpu.obligations.obligation import Claim, Inhabited
from tinygpu.obligations.trace import Trace
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    positive = tuple(Var(s) >= 1 for s in program.op.sizes)
    title = "no sizes satisfy the preconditions"
    labels = (Label(program.span, "so this machine is for nothing"),)
    sentence = "some sizes, all at least 1, satisfy the preconditions"
    yield Inhabited("vacuity", "TG511", title, sentence, preconditions(program) + positive, labels, "weaken a where clause")
    for promise in program.op.promises:
        title = "what is promised of the data can never be"
        sentence = f"{text(promise)} can be"
        yield Inhabited("vacuity", "TG511", title, sentence, preconditions(program) + positive + somewhere(promise), labels)
    for store in trace.stores:
        title = f"this store to {store.tensor} is never reached"
        labels = (Label(store.step.span, "no point satisfies its guards"),)
        sentence = f"the store to {store.tensor} is reached"
        facts = tuple(cancel(f) for f in store.point.facts if compared(f))  # a test of what was computed may go either way
        yield Inhabited("vacuity", "TG512", title, sentence, facts, labels, "drop it, or weaken its guard")


def somewhere(promise: Term) -> tuple[Term, ...]:
    """What a promise says of one element: that it is there and is as promised."""
    match promise:
        case Fold("all", axes, guard, body):
            return box_facts(axes) + conjuncts(guard) + tuple(part for c in conjuncts(body) for part in somewhere(c))
    return (promise,)
