"""What is stored is the finished value of the element it is stored to, ghost facts are facts, and neither contains a cell that nobody wrote.

    store         every store  out[e(w)] = v(w)  has  v(w) = equation(out)(e(w))        and nothing reads an output
    holds         value(cell) = expr        by induction over the loops around it, since a fact stated last in a loop is the next round's start
    initialised   a fresh symbol `cell?` in an evaluated value stands only where its condition is impossible

Comes in: the trace. Goes out: the formulas of `body.same` for each store and each ghost, and one for each fresh symbol that a value could contain.
Intermediates of the equation are put in by their definitions.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.term import FALSE
from tinygpu.diagnostic import Label
from tinygpu.obligations.bits import each
from tinygpu.obligations.body import same
from tinygpu.obligations.cells import FRESH
from tinygpu.obligations.defined import evaluated
from tinygpu.obligations.execution import FOLLOWED, LARGE
from tinygpu.obligations.induced import unfolded
from tinygpu.obligations.memory import stored_before
from tinygpu.obligations.named import element
from tinygpu.obligations.obligation import Claim, Gap, Obligation
from tinygpu.obligations.trace import HELD, UNSOLVED, Access, Fact, Store, Trace, Value, every_cell, guarded_reads
from tinygpu.program.step import Program
from tinygpu.record import replace


def store(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    outputs = {t.name for t in program.op.outputs}
    made = {cells.local.name for cells in trace.final}
    for cells in trace.named + trace.final:
        point = every_cell(program, cells)
        equation = Label(program.op.equation(cells.local.name).span, "the equation")
        steps = [label for label in made_by(trace, cells.local.name) if label.span != equation.span]  # a derived step has its place
        claim = element(program.op, cells.local.name, cells.place, point, (cells.value,))
        for one in same(cells.value, claim, point, (*steps, equation)):
            if isinstance(one, Obligation) and not one.help and cells in trace.named:
                one = replace(one, help=f"if {cells.local.name} is to hold something else, give it another name")
            yield one
    plain = [s for s in trace.of(Store) if s.tensor in outputs - made and not s.step.update]  # else it is `memory` that is wrong
    for store in plain:
        labels = (Label(store.step.span, "stored here"), Label(program.op.equation(store.tensor).span, "the equation"))
        claim = element(program.op, store.tensor, store.index, store.point, (store.value, *store.point.guard))
        claim = unfolded(program.op, store.value, claim, store.point, stored=True)
        for ours, theirs, point in each(store.value, claim, store.point):
            yield from same(ours, theirs, point, labels)
        for number, guard in enumerate(store.point.guard):  # the first of which are preconditions
            yield from evaluated(guard, claim, Region(store.point.axes, store.point.guard[:number]), labels)
    for access in trace.of(Access):
        if access.array in outputs and not access.write and not stored_before(trace, access.array, access.place.launch):
            sentence = f"{access.array} is not read"
            label = (Label(access.span, "read here"),)
            yield Obligation("store", "TG116", f"the output {access.array} is read", sentence, access.point.facts, FALSE, label)


def made_by(trace: Trace, name: str) -> tuple[Label, ...]:
    """The steps that make a global array, the last one first: what it holds in the end is the work of all of them."""
    verbs = {s.step.span: "updated" if s.step.atomic else "stored" for s in trace.of(Store) if s.tensor == name}
    return tuple(Label(span, f"{verb} here") for span, verb in reversed(verbs.items()))


def holds(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for ghost in trace.of(Fact):
        wanted = unfolded(program.op, ghost.value, ghost.claim, ghost.point)
        for claim in same(ghost.value, wanted, ghost.point, (Label(ghost.span, "said here"),)):
            if isinstance(claim, Obligation):
                claim = replace(claim, kind="holds", code="TG509", title="the cell does not hold what is said")
            yield claim


def initialised(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for store in trace.of(Store):
        guards, axes = store.point.guard, store.point.axes
        seen = [pair for n, guard in enumerate(guards) for pair in guarded_reads(guard, Region(axes, guards[:n]), (FRESH,))]
        for read, point in seen + guarded_reads(store.value, store.point, (FRESH,)):
            name = read.tensor.removesuffix(FRESH)
            labels = (Label(store.step.span, f"stored to {store.tensor}"), declared(program, name))
            title = f"{store.tensor} may receive {name}, which nobody wrote"
            sentence = f"{name} is written before {store.tensor} needs it"
            help = f"give {name} a value before"
            yield Obligation("initialised", "TG301", title, sentence, point.facts, FALSE, labels, help)
    for cells in trace.final:
        for read, point in guarded_reads(cells.value, every_cell(program, cells), (FRESH,)):
            name = read.tensor.removesuffix(FRESH)
            title, sentence = f"some elements of {cells.local.name} are never stored", f"every element of {name} is stored"
            where = (Label(cells.local.span, "declared here"), *made_by(trace, cells.local.name))
            help = f"store {name} in a first launch"
            yield Obligation("initialised", "TG201", title, sentence, point.facts, FALSE, where, help)
    for value in trace.of(Value):
        span = value.span
        hidden = (FRESH, UNSOLVED)  # what has no closed form may hide a cell that nobody wrote
        for read, point in (p for p in guarded_reads(value.term, value.point, hidden) if HELD not in p[0].tensor):
            if read.tensor.startswith(LARGE):
                reason = f"it has more than {FOLLOWED:,} different parts; say with `holds` what a cell holds"
                yield Gap("initialised", "TG501", "a value is too large to be followed", reason, (Label(span, "read here"),))
                return  # and all that is made of it
            name = read.tensor.removesuffix(FRESH).split("@")[0]
            labels = (Label(span, "read here"), declared(program, name))
            title, sentence = f"{name} is read, which nobody wrote", f"{name} is written before it is read"
            kind = "initialised" if read.tensor.endswith(FRESH) else "followed"
            yield Obligation(kind, "TG301", title, sentence, point.facts, FALSE, labels, f"initialise {name}")


def declared(program: Program, name: str) -> Label:
    """Where an array is declared."""
    spans = {s.name: s.span for s in program.locals.values()} | {s.name: s.span for s in program.shared.values()}
    spans |= {w.name: w.span for w in program.workspaces}
    spans |= {t.name: t.span for t in program.op.tensors}
    return Label(spans.get(name, program.span), "declared here")
