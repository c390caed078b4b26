"""An element of a global array has one use in one launch: it is stored, once, or updated atomically, or read; accesses are inside, outputs are whole.

    bounds      guards of the access  ⊢  0 ≤ index_a < extent_a        for every axis a, never on a flattened address
    alignment   asks(sizes)  ⊢  place % lanes = 0        and where the shared condition of the loop holds, every lane is inside
    memory      e(w) = f(w')  ⊢  false        for a read e and a store f of one launch; the atomic updates are of one monoid        no happens-before joins two blocks
    cover       for all o in shape(out), but those that stay what they are in place, there is a store p and a point w with  guard_p(w)  and  e_p(w) = o;   the witness is w = e_p⁻¹(o)
    once        e_p(w) = e_q(w')  ⊢  p = q and w = w'        w, w' over the grid, the block and every loop

Comes in: the program and its trace. Goes out: formulas for accesses, for every mixture of uses, for each output, and for each two stores to one
array. The place of a wide access is its last coordinate in global memory, where the launcher asks that rows are whole, and its address in a
block's memory, where pads and strides are constants. That one store alone writes no cell of a workspace twice is what its meeting says
(`ordered`); where several launches store an output, its meetings too, since what a later one leaves is found by them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.inverse import inverses
from tinygpu.category.region import Region
from tinygpu.category.settle import within
from tinygpu.category.term import FALSE, Axis, Term, Var, conjunction, equal, negation, reads, substitute, text, variables
from tinygpu.derive.wide import wide_accesses
from tinygpu.diagnostic import Label
from tinygpu.model.op import Op, kept, put_in
from tinygpu.obligations.bijection import PRIME, Part, collisions, onto
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Meeting, Store, Trace, preconditions
from tinygpu.program.step import Program
from tinygpu.record import replace


def bounds(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for access in trace.of(Access):
        if not access.index:
            continue
        inside = conjunction(*(within(i, e) for i, e in zip(access.index, access.extents, strict=True)))
        goal = access.point.settled(inside)
        verb = "written" if access.write else "read"
        element = f"{access.array}[{', '.join(map(text, access.index))}]"
        shape = " × ".join(map(text, access.extents))
        labels = (Label(access.span, f"{access.array} is {shape}"),)
        title = f"{access.array} is {verb} outside its shape"
        help = "guard the access, or pad the read: A[i | 0]" if not access.write else "guard the store"
        if any(reads(i) for i in access.index):
            help = "promise it of the data: where all[t] (0 <= idx[t] and idx[t] < n), or guard the access"
        yield Obligation("bounds", "TG203", title, f"{element} is inside {shape}", access.point.facts, goal, labels, help)


def alignment(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    wides = wide_accesses(program)
    for wide in wides:
        asked = conjunction(*(w.asks for w in wides))
        point = Region(wide.axes, preconditions(program)).under(wide.outer, wide.condition, asked)
        labels = (Label(wide.access.span, f"{wide.lanes} elements at once"),)
        element = f"{wide.tensor}[{', '.join(map(text, wide.first))}]"
        sentence = f"the wide access at {element} is aligned to {wide.bytes} bytes"
        title = f"the wide access at {element} may not be aligned"
        goal = point.settled(wide.aligned)
        yield Obligation("alignment", "TG405", title, sentence, point.facts, goal, labels)


def one_use(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    workspaces = {w.name for w in program.workspaces}
    for name in (*sorted(workspaces), *(t.name for t in program.op.outputs)):
        for launch in range(len(program.launches)):
            used = [a for a in trace.of(Access) if a.array == name and a.place.launch == launch]
            writes = [a for a in used if a.write]
            for access in used if writes else ():
                first = writes[0]
                if not access.write and (name in workspaces or stored_before(trace, name, launch)):
                    yield from untouched(program, access, writes)
                elif access.write and access.atomic != first.atomic:
                    ways = tuple(f"updated with {a.atomic} at once" if a.atomic else "written plainly" for a in (first, access))
                    yield refusal("TG306", f"{name} is updated in two ways in one launch", first, access, *ways)
    made = {cells.local.name for cells in trace.final}
    for store in (s for s in trace.of(Store) if s.step.update and s.tensor not in workspaces | made):
        labels = (Label(store.step.span, "stored here"), Label(program.op.equation(store.tensor).span, "the equation"))
        title = f"{store.tensor} is accumulated in memory, where its first value is unknown"
        sentence, help = f"{store.tensor} is stored, not accumulated in memory", "accumulate in a local cell, then store it"
        if source := program.op.inplace.get(store.tensor):
            help += f"; or begin its equation with the old element, {source}[…] + …"
        yield Obligation("memory", "TG507", title, sentence, store.point.facts, FALSE, labels, help)


def untouched(program: Program, access: Access, writes: list[Access]) -> Iterator[Obligation]:
    """The claims that nobody writes an element in the launch that reads it: as of the red ones of a grid, when the black ones are stored."""
    turns = program.launches[access.place.launch].turns
    for write in writes:
        claim = refusal("TG305", f"{access.array} is read in the launch that writes it", write, access, "written", "read")
        other = Part(tuple(a for a in write.point.axes if a not in turns), write.point.guard, write.index).renamed(PRIME)
        same = tuple(equal(a, b) for a, b in zip(access.index, other.terms, strict=True))
        yield claim if write.atomic else replace(claim, hypotheses=(*claim.hypotheses, *other.facts, *same))


def stored_before(trace: Trace, name: str, launch: int) -> bool:
    """Whether an earlier launch writes an array: else reading it has its own message."""
    return any(a.array == name and a.write and a.place.launch < launch for a in trace.of(Access))


def refusal(code: str, title: str, first: Access, second: Access, before: str, how: str) -> Obligation:
    """A claim that the second access never happens."""
    labels = (Label(first.span, f"{before} here"), Label(second.span, f"{how} here"))
    help = "let a later launch do it: blocks of one launch know nothing of each other"
    sentence = f"{first.array} is not {how} in the launch that writes it"
    return Obligation("memory", code, title, sentence, second.point.facts, FALSE, labels, help)


def cover(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    made = {cells.local.name for cells in trace.final}  # of these it is asked that no element stays unwritten
    for output in (t for t in program.op.outputs if t.name not in made):
        parts = tuple(s for s in trace.of(Store) if s.tensor == output.name)
        element = tuple(Axis(f"{output.name}.{axis}", extent) for axis, extent in enumerate(output.shape))
        point = Region(element, preconditions(program)).under(*changed(program.op, output.name, element))
        goal = onto(tuple(part(s) for s in parts), tuple(Var(a.name) for a in element), point.extents, program.op.promises)
        labels = tuple(Label(s.step.span, f"the store to {output.name}") for s in parts) or (Label(program.span, "no store"),)
        title = f"some elements of {output.name} are never stored"
        sentence, help = f"every element of {output.name} is stored", undone(program.op, parts, "{0}[from[k]] == k")
        yield Obligation("cover", "TG201", title, sentence, point.facts, goal, labels, help)


def changed(op: Op, output: str, element: tuple[Axis, ...]) -> Iterator[Term]:
    """Of an output in place, the condition that an element is another one than its input's: the others are there."""
    if output in op.continued:
        equation, inner = op.equation(output), {e.target: e for e in op.equations if not e.along}
        names = {a.name: Var(e.name) for a, e in zip(equation.axes, element, strict=True)}
        yield negation(put_in(substitute(kept(equation, op.continued[output]), names), inner))


def part(store: Store) -> Part:
    """A store as an arrow from its points to the elements."""
    return Part(store.point.axes, store.point.guard, store.index)


def once(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    outputs = tuple(t.name for t in program.op.outputs)
    for name in (*outputs, *(w.name for w in program.workspaces)):
        for launch in range(len(program.launches)):
            stores = tuple(s for s in trace.of(Store) if s.tensor == name and s.launch == launch and not s.step.atomic)
            yield from _twice(program, name, stores, name in outputs or not any(m.array == name for m in trace.of(Meeting)))
    for meeting in (m for m in trace.of(Meeting) if m.array in outputs):
        title, sentence = f"one element of {meeting.array} is stored twice", f"an element of {meeting.array} tells who stored it"
        label = (Label(meeting.span, "stored here"),)
        yield Obligation("once", "TG202", title, sentence, meeting.point.facts, meeting.apart, label)


def _twice(program: Program, output: str, stores: tuple[Store, ...], alone: bool) -> Iterator[Claim]:
    turns = program.launches[stores[0].launch].turns if stores else ()  # which order the launches
    parts = tuple(Part(tuple(a for a in s.point.axes if a not in turns), s.point.guard, s.index) for s in stores)
    for p, q, hypotheses, goal in collisions(parts, Region(turns, preconditions(program))):
        if p == q and not alone:
            continue
        labels = [Label(stores[p].step.span, "stored here")]
        labels += [Label(stores[q].step.span, "and here")] if p != q else []
        title = f"one element of {output} is stored twice"
        sentence = f"no two points of {'the work' if p == q else 'two stores'} store one element of {output}"
        help = (guard_it(stores[p]) or undone(program.op, (stores[p],), "from[{0}[k]] == k")) if p == q else ""
        yield Obligation("once", "TG202", title, sentence, hypotheses, goal, tuple(labels), help)


def undone(op: Op, stores: tuple[Store, ...], promise: str) -> str:
    """What would tell who stores an element whose index is data: another input, promised to undo that."""
    known = {name for p in op.promises for pair in inverses(p) for name in pair}
    data = [r.tensor for s in stores if s.tensor not in op.continued for i in s.index for r in reads(i) if r.tensor not in known]
    return f"give the op the inverse of {data[0]}, and promise it: where all[k] ({promise.format(data[0])})" if data else ""


def guard_it(store: Store) -> str:
    """What would guard_it a store that several threads do because a part of the work neither reaches its index nor its guard."""
    said = {name for term in (*store.index, *store.point.guard) for name in variables(term)}
    free = [a.name for a in store.point.axes if a.name not in said]
    if not free:
        return ""
    names, guard = " and ".join(f"`{name}`" for name in free), " and ".join(f"{name} == 0" for name in free)
    are = "is" if len(free) == 1 else "are"
    return f"{names} {are} not in the index: store `if {guard}`, or let each have an element of its own"
