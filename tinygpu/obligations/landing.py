"""What lands later: it has landed, and whoever needs it was told, before anybody touches its cells again; and units of their own see what threads did.

    landed    A begins something on a unit at thread t, B touches a cell of it later at t'; on the way from A to B there are commits, waits and barriers:
              index_A = index_B  ⊢  t = t' and landed(w), or landed(w) and a barrier that both pass stands behind w        for a wait w on the way
              landed(w)  =  commits(A → w) ≥ n + 1        as `wait n` leaves the last n groups under way; one for products is a warp's
    over      A touches a cell, then the same thread begins a copy to it  ⊢  a barrier lies between: nothing else orders the two
    proxy     A writes a cell, B is a product that reads it  ⊢  t = t' and a fence, or a fence and a barrier behind it; of a copy, behind its landing
    ready     A touches a register, B is a product with it  ⊢  a fence for the unit lies between

Comes in: the program and its trace. Goes out: one formula for each two accesses of an array, and each way in which the second can come later. The
one idea: what lands later means what it would mean if it landed where it begins; nobody can tell, since nobody looks. That two threads have a barrier between
them at all is `ordered`; that what is copied does not change is asked by form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tinygpu.category.region import Region
from tinygpu.category.regroup import paired
from tinygpu.category.settle import settle
from tinygpu.category.term import TRUE, Term, Var, conjunction, disjunction, equal, substitute, text
from tinygpu.diagnostic import Label
from tinygpu.model.collective import Instruction
from tinygpu.obligations.between import LATER, Events, Flow, fenced, flows, landed, passed
from tinygpu.obligations.edges import edge
from tinygpu.obligations.exchange import Threads
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Trace
from tinygpu.program.call import ASYNC, COPY, FIFTH, TENSOR, USE, Sync
from tinygpu.program.ring import section_of, sections
from tinygpu.program.space import TENSORS
from tinygpu.program.step import Assign, Launch, Program
from tinygpu.program.traverse import at
from tinygpu.record import dataclass, replace

RING = "let fill and use have the slot of their turn, as turn % slots, of a ring no longer than its arrays"
Asked: TypeAlias = Callable[[Launch, Access, Access, Flow, str, str], Obligation]


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for name, array in program.shared.items():
        accesses = [(a, *begun(program.launches[a.place.launch], a)) for a in trace.of(Access) if a.array == name]
        for first, unit, one in accesses:
            for second, other, two in accesses:
                claims: tuple[Asked, ...] = ()
                alone = one is not None and one == two  # products of one shape on one accumulator land in order
                if unit and (first.write or second.write) and not (alone and array.held):
                    claims += (in_order,) if alone and array.space == TENSORS else (under_way,)
                if other in (COPY, TENSOR) and not unit:
                    claims += (over,)
                if array.space == TENSORS:
                    pass  # loads and stores of it are over when the step is, and each barrier orders them
                elif other not in ("", COPY) and unit in ("", COPY) and (first.write or (second.write and other != TENSOR)):
                    claims += (ready,) if array.held else (proxy,)
                launch = program.launches[first.place.launch]
                for flow in flows(launch.body, first.place.path, second.place.path) if claims else ():
                    yield from (claim(launch, first, second, flow, unit, other) for claim in claims)


def begun(launch: Launch, access: Access) -> tuple[str, Instruction | None]:
    """The unit on which a step touches a cell, empty where the thread does; and the instruction that it is of, where it is its accumulator and nothing else."""
    bodies = list(at(launch.body, access.place.path))
    step, before = bodies[-1][0][bodies[-1][1]], [inner[here - 1] for inner, here in bodies if here]
    unit = step.pending if isinstance(step, Assign) and (access.write or step.pending != COPY) else ""
    one = next((s.applied for s in before if isinstance(s, Sync) and s.applied), None)
    alone = one and isinstance(step, Assign) and [n for n, _ in one.operands if n == access.array] == [step.target]
    return unit, one.instruction if one and alone and unit not in ("", COPY) else None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two accesses of one cell: what is known of both; when their threads are one, or of one warp; what bounds the names."""

    known: tuple[Term, ...]
    own: Term
    lanes: Term
    extents: Mapping[str, Term]

    @classmethod
    def of(cls, launch: Launch, first: Access, second: Access, flow: Flow) -> Pair:
        """The second one comes so; its names are marked."""
        carried = {a.name for a in launch.grid + launch.turns}
        names: dict[str, Term] = {a.name: Var(a.name + LATER) for a in second.point.axes if a.name not in carried}
        axes = tuple(
            type(a)(a.name + LATER, substitute(a.extent, names), a.sort, a.span) for a in second.point.axes if a.name in names
        )
        there = Region(axes, tuple(substitute(g, names) for g in second.point.guard))
        turns = [equal(Var(n), v) for n, v in first.place.turns] + [equal(Var(n + LATER), v) for n, v in second.place.turns]
        meeting = [equal(i, j) for i, j in paired(first.index, [substitute(j, names) for j in second.index])]
        known = dict.fromkeys((*first.point.facts, *there.facts, *turns, *flow.facts, *meeting))
        warp, own = Threads(launch.block).warps[0], (equal(Var(a.name), Var(a.name + LATER)) for a in launch.block)
        return cls(tuple(known), conjunction(*own), equal(warp, substitute(warp, names)), {**first.point.extents, **there.extents})


def under_way(launch: Launch, first: Access, second: Access, flow: Flow, unit: str, other: str) -> Obligation:
    """What was begun has landed before a thread touches its cell."""
    pair, told = Pair.of(launch, first, second, flow), list[Term]()
    for wait, behind in landed(flow.events, unit):
        block = passed(behind, "block")
        told += [conjunction(wait, where) for where in block]
        told += [conjunction(pair.lanes, wait, where) for where in passed(behind, "warp") if where not in block]
        told.append(conjunction(pair.own if unit == COPY else pair.lanes, wait))
    for where, way in given_away(launch, first, second):
        told += [where] if unit == TENSOR else [conjunction(where, wait) for wait, _ in landed(way, unit)]
    told += [conjunction(where, there) for where, way in used(launch, first, second) for there in passed(way, "block")] * (
        unit == TENSOR
    )
    goal = settle(disjunction(*told), pair.extents)
    what, verb = "product with" if unit in ("mma", FIFTH) else "copy to", "writes" if second.write else "reads"
    labels = (
        Label(first.span, f"the {what.split()[0]} begins here"),
        Label(second.span, f"it may be under way where a thread {verb} here"),
    )
    title = f"a {what} {first.array} may be under way where its cell is {'written' if second.write else 'read'}"
    sentence = f"the {what} {cell(first)} has landed, and a barrier has told so, before a thread {verb} it{flow.when}"
    help = RING if unit == TENSOR else "wait for its group, and put the barrier behind the wait"
    return Obligation("landed", "TG310", title, sentence, pair.known, goal, labels, help)


def in_order(launch: Launch, first: Access, second: Access, flow: Flow, unit: str, other: str) -> Obligation:
    """Products of one warp on one accumulator land in order; those of another warp have landed."""
    asked, pair = under_way(launch, first, second, flow, unit, other), Pair.of(launch, first, second, flow)
    return replace(asked, goal=settle(disjunction(pair.lanes, asked.goal), pair.extents))


def over(launch: Launch, first: Access, second: Access, flow: Flow, unit: str, other: str) -> Obligation:
    """A thread does not copy over what it has touched itself without a barrier between."""
    pair, verb = Pair.of(launch, first, second, flow), "written" if first.write else "read"
    told = passed(flow.events, "warp") + [where for where, _ in given_away(launch, first, second)]
    goal = settle(disjunction(*told), pair.extents)
    labels = (Label(first.span, f"{verb} here"), Label(second.span, "copied over here"))
    title = f"a thread copies over what it has {verb} of {first.array}, without a barrier between"
    sentence = f"a barrier stands between a thread that has {verb} {cell(first)} and its copy over it{flow.when}"
    return Obligation("landed", "TG310", title, sentence, (*pair.known, pair.own), goal, labels, "put a barrier before the copy")


def proxy(launch: Launch, first: Access, second: Access, flow: Flow, unit: str, other: str) -> Obligation:
    """What a thread has written is seen by a unit that reads memory by itself."""
    pair, told = Pair.of(launch, first, second, flow), list[Term]()
    for landing, after in landed(flow.events, unit) if unit else [(TRUE, flow.events)]:
        for fence, behind in fenced(after, ASYNC):
            told.append(conjunction(pair.own, landing, fence))
            told += [conjunction(landing, fence, where) for where in passed(behind, "block")]
            told += [conjunction(pair.lanes, landing, fence, where) for where in passed(behind, "warp")]
    for where, way in given_away(launch, first, second):
        for landing, after in landed(way, unit) if unit else [(TRUE, way)]:
            told += [conjunction(where, landing, fence) for fence, _ in fenced(after, ASYNC)]
    goal = settle(disjunction(*told), pair.extents)
    labels = (Label(first.span, "written here"), Label(second.span, "read by a unit of its own here"))
    title = f"a unit that reads {first.array} by itself may not see what a thread has written"
    sentence = (
        f"a fence, and then a barrier, stand between a thread that writes {cell(first)} and a product that reads it{flow.when}"
    )
    fix = f"put fence {ASYNC} before the barrier{', behind the wait' if unit else ''}"
    return Obligation("proxy", "TG312", title, sentence, pair.known, goal, labels, fix)


def ready(launch: Launch, first: Access, second: Access, flow: Flow, unit: str, other: str) -> Obligation:
    """What a thread has done with registers is done for a product with them."""
    pair, verb = Pair.of(launch, first, second, flow), "written" if first.write else "read"
    goal = settle(disjunction(*(where for where, _ in fenced(flow.events, other))), pair.extents)
    labels = (Label(first.span, f"{verb} here"), Label(second.span, "a product has it here"))
    title = f"a product may have {first.array} before a thread has {verb} it"
    sentence = f"a fence stands between a thread that has {verb} {cell(first)} and a product with it{flow.when}"
    return Obligation("proxy", "TG312", title, sentence, pair.known, goal, labels, f"put fence {other} before the products")


def given_away(launch: Launch, first: Access, second: Access) -> Iterator[tuple[Term, Events]]:
    """What the thread of the first access passes before it tells, by a ring, that of the second one; and where that is so."""
    behind = edge(launch.body, first.place.path, second.place.path)
    return iter(()) if behind is None else behind.passed(launch.body, first.place.path)


def used(launch: Launch, first: Access, second: Access) -> Iterator[tuple[Term, Events]]:
    """What a thread that uses a slot passes from there to the second access, of what was begun to fill it; and where that is so."""
    every = sections(launch.body)
    here, there = section_of(every, first.place.path), section_of(every, second.place.path)
    if here is not None and there is None:
        (using,) = (s for s in every if s.enter.ring == here.enter.ring and s.enter.way == USE)
        for flow in flows(launch.body, using.begin, second.place.path):
            yield conjunction(*flow.facts), flow.events


def cell(access: Access) -> str:
    """The cell in words."""
    return f"{access.array}[{', '.join(map(text, access.index))}]"
