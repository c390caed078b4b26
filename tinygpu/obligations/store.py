"""What is stored is the finished value of the element it is stored to.

    every store  out[e(w)] = v(w)  has  v(w) = equation(out)(e(w))        and nothing reads or accumulates into an output

Comes in: the trace. Goes out: formulas, one family for each store. Intermediates of the equation are put in by their definitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.settle import settle
from tinygpu.category.term import FALSE, Read, Term, rebuild, substitute
from tinygpu.diagnostic import Label
from tinygpu.model.op import Op
from tinygpu.obligations.body import same
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Store, Trace
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    outputs = {t.name for t in program.op.outputs}
    for store in trace.stores:
        labels = (Label(store.step.span, "stored here"), Label(program.op.equation(store.tensor).span, "the equation"))
        if store.update:
            sentence = f"{store.tensor} is stored, not accumulated in memory"
            title = f"{store.tensor} is accumulated in memory, where its first value is unknown"
            yield Obligation(
                "store", "TG507", title, sentence, store.point.facts, FALSE, labels, "accumulate in a local cell, then store it"
            )
            continue
        yield from same(store.value, wanted(program.op, store), store.point, labels)
    for access in trace.accesses:
        if access.array in outputs and not access.write:
            sentence = f"{access.array} is not read"
            label = (Label(access.span, "read here"),)
            yield Obligation("store", "TG116", f"the output {access.array} is read", sentence, access.point.facts, FALSE, label)


def wanted(op: Op, store: Store) -> Term:
    """The equation at the element that a store writes."""
    equation = op.equation(store.tensor)
    bind = {a.name: i for a, i in zip(equation.axes, store.index, strict=True)}
    return settle(inlined(op, substitute(equation.value, bind)), store.point.extents, frozenset(store.point.guard))


def inlined(op: Op, value: Term) -> Term:
    """A value with every intermediate replaced by its equation."""
    names = {t.name for t in op.intermediates}

    def put(term: Term) -> Term:
        match term:
            case Read(name, index) if name in names:
                equation = op.equation(name)
                bind = {a.name: put(i) for a, i in zip(equation.axes, index, strict=True)}
                return put(substitute(equation.value, bind))
        return rebuild(term, put)

    return put(value)
