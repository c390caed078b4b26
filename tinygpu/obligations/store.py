"""What is stored is the finished value of the element it is stored to.

    every store  out[e(w)] = v(w)  has  v(w) = equation(out)(e(w))        and nothing reads an output

Comes in: the trace. Goes out: formulas, one family for each store. Intermediates of the equation are put in by their definitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.term import FALSE, Axis, Read, Term, rebuild, substitute
from tinygpu.diagnostic import Label
from tinygpu.model.op import Op
from tinygpu.obligations.body import same
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.defined import evaluated
from tinygpu.obligations.memory import stored_before
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.program.step import Program


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    outputs = {t.name for t in program.op.outputs}
    made = {cells.local.name for cells in trace.final}
    for cells in trace.final:
        axes = tuple(Axis(f, e) for f, e in cells.extents.items())
        point = Region(axes, preconditions(program))
        equation = Label(program.op.equation(cells.local.name).span, "the equation")
        steps = [label for label in made_by(trace, cells.local.name) if label.span != equation.span]  # a derived step has its place
        yield from same(cells.value, element(program.op, cells.local.name, cells.place, point), point, (*steps, equation))
    for store in (s for s in trace.stores if s.tensor in outputs - made and not s.update):  # else it is `memory` that is wrong
        labels = (Label(store.step.span, "stored here"), Label(program.op.equation(store.tensor).span, "the equation"))
        claim = element(program.op, store.tensor, store.index, store.point)
        yield from same(store.value, claim, store.point, labels)
        for number, guard in enumerate(store.point.guard):  # the first of which are preconditions
            yield from evaluated(guard, claim, Region(store.point.axes, store.point.guard[:number]), labels)
    for access in trace.accesses:
        if access.array in outputs and not access.write and not stored_before(trace, access.array, access.place.launch):
            sentence = f"{access.array} is not read"
            label = (Label(access.span, "read here"),)
            yield Obligation("store", "TG116", f"the output {access.array} is read", sentence, access.point.facts, FALSE, label)


def made_by(trace: Trace, name: str) -> tuple[Label, ...]:
    """The steps that make a global array, the last one first: what it holds in the end is the work of all of them."""
    verbs = {s.step.span: "updated" if s.step.atomic else "stored" for s in trace.stores if s.tensor == name}
    return tuple(Label(span, f"{verb} here") for span, verb in reversed(verbs.items()))


def element(op: Op, tensor: str, index: tuple[Term, ...], point: Region) -> Term:
    """The equation at an element."""
    equation = op.equation(tensor)
    bind = {a.name: i for a, i in zip(equation.axes, index, strict=True)}
    return point.settled(inlined(op, substitute(equation.value, bind)))


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
