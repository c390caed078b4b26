"""An op is one, and a proof about it is one about something.

    equation   preconditions, o ∈ shape(out)  ⊢  0 ≤ index_a < extent_a   for every read of the equation that is evaluated,   b ≥ 1   for a // b, a % b of indices,
               s < t   for every read u[s, …] in the value of v[t, …] of a state, s ≤ t where u stands before v
    vacuity    there are sizes ≥ 1 with where(sizes), and data as promised;   for every store there is a point that its guard admits

Comes in: a program, for its op, and the trace. Goes out: formulas, and claims that something exists, which the solver answers with a model. The one
idea: an equation that reads what is not there names no value, so that every program would compute it. What is partial in the data stays so:
`where_defined` of `values` says it, beside the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.cancel import cancel
from tinygpu.category.region import Region, parts, ranges
from tinygpu.category.settle import within
from tinygpu.category.term import App, Const, Fold, Read, Term, Var, conjunction, conjuncts, reads, text, variables
from tinygpu.diagnostic import Label
from tinygpu.model.op import Equation, Op
from tinygpu.obligations.induced import endless
from tinygpu.obligations.made import compared
from tinygpu.obligations.named import inlined
from tinygpu.obligations.obligation import Claim, Inhabited, Obligation
from tinygpu.obligations.trace import Store, Trace, guarded_reads, preconditions
from tinygpu.program.step import Program


def equation(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    op, names = program.op, [e.target for e in program.op.equations]
    for equation in op.equations:
        together = {e.target: e for e in op.together(equation.target)} if equation.along else {}
        yield from endless(equation, start(op, equation)) if equation.along else ()
        for read, point in guarded_reads(equation.value, start(op, equation)):
            place = Label(equation.span if read.span.line == 0 else read.span, "")
            if read.index:
                yield _inside(op, equation, read, point, place)
            if read.tensor in together:
                before = names.index(read.tensor) < names.index(equation.target)
                yield _earlier(equation, together[read.tensor], before, read, point, place)
        for term, point in indices(equation.value, start(op, equation)):
            title, sentence = f"{text(term)} divides by less than 1", f"{text(term)} divides by 1 or more"
            help = f"say it in the op: where {text(term.args[1])} >= 1"
            label = (Label(equation.span, "the equation divides here"),)
            yield Obligation("equation", "TG514", title, sentence, point.facts, point.settled(term.args[1] >= 1), label, help)


def start(op: Op, equation: Equation) -> Region:
    """Every element of an equation's tensor, under the op's own preconditions."""
    known = (*(Var(s) >= 0 for s in op.sizes), *(c for w in op.where for c in conjuncts(w)))
    return Region(equation.axes, known)


def _inside(op: Op, equation: Equation, read: Read, point: Region, where: Label) -> Obligation:
    shape = op.tensor(read.tensor).shape
    goal = point.settled(conjunction(*(within(i, e) for i, e in zip(read.index, shape, strict=True))))
    size = " × ".join(map(text, shape))
    title = f"the equation reads {read.tensor} outside its shape"
    shorter = (
        f", write where {' and '.join(own)} ends: {equation.target}[{own[0]} < …]" if (own := ranged(op, equation, read)) else ""
    )
    help = f"pad the read: {read.tensor}[{', '.join(map(text, read.index))} | 0]{shorter}, or say in `where` which sizes there are"
    labels = (Label(where.span, f"{read.tensor} is {size}"),)
    facts = point.facts
    if {r.tensor for i in read.index for r in reads(i)} & {t.name for t in op.intermediates}:  # an index that is computed before
        facts, goal = tuple(inlined(op, fact) for fact in facts), inlined(op, goal)
    return Obligation("equation", "TG514", title, f"{text(read)} is inside {size}", facts, goal, labels, help)


def ranged(op: Op, equation: Equation, read: Read) -> list[str]:
    """The indices of an intermediate that a read goes along: their range is nobody's but the equation's."""
    names = frozenset().union(*map(variables, read.index)) if equation.target in {t.name for t in op.intermediates} else ()
    return [a.name for a in equation.axes if a.name in names]


def _earlier(equation: Equation, state: Equation, before: bool, read: Read, point: Region, where: Label) -> Obligation:
    """A step reads what was there before it; of a state whose equation stands `before` also what has just been made."""
    time = read.index[[a.name for a in state.axes].index(state.along)]
    title = f"the state {equation.target} reads {state.target} at a time that has not come"
    help = f"read {state.target} at {equation.along} or before, in the step at {equation.along} + 1"
    goal = point.settled(time < Var(equation.along) + (1 if before else 0))
    labels = (Label(where.span, "what is read here is not there yet"),)
    return Obligation("equation", "TG516", title, f"{text(read)} is earlier", point.facts, goal, labels, help)


def indices(term: Term, point: Region) -> Iterator[tuple[App, Region]]:
    """The divisions of indices in an equation that are not by a number, each where it is evaluated."""
    for part, where in parts(term, point):
        match part:
            case App("floordiv" | "mod" | "ceildiv", (_, by), "index") if not isinstance(by, Const):
                yield part, where


def vacuity(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    yield from possible(program.op, preconditions(program), Label(program.span, "so this machine is for nothing"))
    for store in trace.of(Store):
        title = f"this store to {store.tensor} is never reached"
        labels = (Label(store.step.span, "no point satisfies its guards"),)
        sentence = f"the store to {store.tensor} is reached"
        facts = tuple(cancel(f) for f in store.point.facts if compared(f))  # a test of what was computed may go either way
        yield Inhabited("vacuity", "TG512", title, sentence, facts, labels, "drop it, or weaken its guard")


def possible(op: Op, known: tuple[Term, ...], label: Label) -> Iterator[Inhabited]:
    """That some sizes are as wanted, and what is promised of data can be."""
    known += tuple(Var(s) >= 1 for s in op.sizes)
    title, sentence = "no sizes satisfy the preconditions", "some sizes, all at least 1, satisfy the preconditions"
    yield Inhabited("vacuity", "TG511", title, sentence, known, (label,), "weaken a where clause")
    for promise in op.promises:
        title, sentence = "what is promised of the data can never be", f"{text(promise)} can be"
        yield Inhabited("vacuity", "TG511", title, sentence, known + somewhere(promise), (label,))


def somewhere(promise: Term) -> tuple[Term, ...]:
    """What a promise says of one element: that it is there and is as promised."""
    match promise:
        case Fold("all", axes, guard, body):
            return ranges(axes) + conjuncts(guard) + tuple(part for c in conjuncts(body) for part in somewhere(c))
    return (promise,)
