"""Threads of a block: a barrier is reached by all or by none, and two that meet at a shared cell have one between them.

    uniform   t, t' of one scope ⊢ guard(t) ⇒ guard(t')        for every condition around a collective;   0 ≤ d < 32 for a shuffle's distance
    ordered   A at thread t and iteration i, B at t' and i', not both atomic, one of them a write:
              index_A(t, i) = index_B(t', i')  and no barrier between A and B  ⊢  t = t'        (one warp, where a warp barrier lies between)

Comes in: the program and its trace. Goes out: one formula for each collective with a condition that speaks of the thread; and one for each two
accesses to one shared array and each way in which the second can come after the first, in the same or a later iteration of a loop around both,
without a barrier that always stands there. The one idea: only loops with barriers in them keep the threads of a block together; every other loop is a
thread's own, and its iterations are anyone's. Extents of loops are the same for all threads by form.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeAlias

from tinygpu.category.cancel import cancel
from tinygpu.category.region import Region, points
from tinygpu.category.regroup import paired
from tinygpu.category.settle import settle
from tinygpu.category.term import (
    BOOL,
    FLOATS,
    TRUE,
    App,
    Axis,
    Term,
    Var,
    conjunction,
    equal,
    lift,
    negation,
    reads,
    substitute,
    text,
    variables,
    walk,
)
from tinygpu.diagnostic import Label
from tinygpu.model.collective import TOGETHER
from tinygpu.obligations.between import LATER
from tinygpu.obligations.edges import unordered
from tinygpu.obligations.exchange import WARP, Threads
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Collective, Meeting, Trace, preconditions
from tinygpu.program.call import Sync
from tinygpu.program.step import For, If, Launch, Program, Step, steps
from tinygpu.program.traverse import at
from tinygpu.record import dataclass, replace

Met: TypeAlias = tuple[tuple[str, Term], ...]  # the barriers on a path: the scope of each, and the condition under which it is met


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which B comes after A, and the barriers that lie between. `facts` speak of the loops of A, and of those of B with a mark;
    `around` names the loop whose next iteration B is in, if it is one."""

    facts: tuple[Term, ...]
    between: Met = ()
    around: str = ""

    def among(self, scopes: Collection[str]) -> Way:
        """With those of some scopes only."""
        return replace(self, between=tuple(one for one in self.between if one[0] in scopes))

    @property
    def block(self) -> tuple[Term, ...]:
        """The conditions of the block's barriers."""
        return tuple(c for scope, c in self.between if scope == "block")

    @property
    def warp(self) -> tuple[Term, ...]:
        """Those of a warp's, which the block's are too."""
        return tuple(c for _, c in self.between)


def under(met: Met, *guards: Term) -> Met:
    """Barriers that are met under guards."""
    return tuple((scope, conjunction(*guards, c)) for scope, c in met)


def marked(met: Met, names: dict[str, Term]) -> Met:
    """Barriers in other turns."""
    return tuple((scope, substitute(c, names)) for scope, c in met)


def met(body: tuple[Step, ...]) -> Met:
    """The barriers that a sequence of steps meets. Of a loop those that every iteration meets, where there is one."""
    found: Met = ()
    for step in body:
        match step:
            case Sync(scope):
                found += ((scope, TRUE),)
            case If(guard, inner) if not reads(decided(guard)):  # what a cell holds may change
                found += under(met(inner), decided(guard))
            case For(axis, inner):
                found += under(tuple(one for one in met(inner) if axis.name not in variables(one[1])), axis.extent > 0)
    return found


def decided(guard: Term) -> Term:
    """The guard without what is true of all integers; of floats nothing is true of all data."""
    return guard if any(t.dtype in FLOATS for t in walk(guard)) else cancel(guard)


def together(loop: For) -> bool:
    """Whether a loop keeps the threads together: there is a barrier in it."""
    return any(isinstance(s, Sync) for s in steps(loop.body))


def one_turn(body: tuple[Step, ...], path: tuple[int, ...]) -> bool:
    """Whether every loop around a place keeps the threads together, so that any two that are there are in one turn."""
    around = (inner[position] for inner, position in at(body, path))
    return all(together(step) for step in around if isinstance(step, For))


def beside(body: tuple[Step, ...], path: tuple[int, ...], depth: int, direction: int) -> Met:
    """What is met from the place until the step that it is in, in the body at `depth`, is done; or, backwards, from its beginning."""
    found: Met = ()
    bodies = list(at(body, path))
    for level in range(depth + 1, len(bodies)):
        inner, position = bodies[level]
        found += met(inner[position + 1 :] if direction > 0 else inner[:position]) + turns(bodies[level - 1], direction)
    return found


def turns(where: tuple[tuple[Step, ...], int], direction: int) -> Met:
    """The barriers in other turns of a loop around a place: in the next and the last one, or in the one before and the first."""
    steps_, position = where
    loop = steps_[position]
    if not isinstance(loop, For) or not together(loop):
        return ()
    name, turn = loop.axis.name, Var(loop.axis.name)
    exists = turn + 1 < loop.axis.extent if direction > 0 else turn > 0
    there = (turn + 1, loop.axis.extent - 1) if direction > 0 else (turn - 1, lift(0))
    every = met(loop.body)
    return under(marked(every, {name: there[0]}), exists) + under(marked(every, {name: there[1]}), exists)


def loops(body: tuple[Step, ...], path: tuple[int, ...]) -> tuple[tuple[int, For], ...]:
    """The loops around a place that keep the threads together, with the level of their bodies, outermost first."""
    found = []
    for depth, (steps_, position) in enumerate(at(body, path)):
        step = steps_[position]
        if isinstance(step, For) and depth + 1 < len(path) and together(step):
            found.append((depth + 1, step))
    return tuple(found)


def ways(body: tuple[Step, ...], a: tuple[int, ...], b: tuple[int, ...]) -> Iterator[Way]:
    """Every way in which B comes after A, or in the same step. Names of loops of B are marked."""
    depth = next((d for d, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    common = tuple((level, loop) for level, loop in loops(body, a) if level <= depth and (level, loop) in loops(body, b))
    marks: dict[str, Term] = {loop.axis.name: Var(loop.axis.name + LATER) for _, loop in loops(body, b)}
    same = tuple(_same(loop.axis) for _, loop in common)
    if a == b:
        yield Way(same)
    elif depth == len(a):  # A is the guard around B
        yield Way(same, marked(beside(body, b, depth - 1, -1), marks))
    elif a < b:
        steps_, first = list(at(body, a))[depth]
        yield Way(same, beside(body, a, depth, 1) + met(steps_[first + 1 : b[depth]]) + marked(beside(body, b, depth, -1), marks))
    for position, (level, loop) in enumerate(common):
        name = loop.axis.name
        next_ = equal(Var(name + LATER), Var(name) + 1)
        turn = next_ if ("block", TRUE) in met(loop.body) else Var(name + LATER) > Var(name)
        after = beside(body, a, level, 1) + met(loop.body[a[level] + 1 :])
        before = met(loop.body[: b[level]]) + beside(body, b, level, -1)
        yield Way((*same[:position], turn), after + marked(before, marks), name)


def _same(axis: Axis) -> Term:
    return equal(Var(axis.name + LATER), Var(axis.name))


def uniform(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for collective in trace.of(Collective):
        launch = program.launches[collective.launch]
        known = preconditions(program)
        if collective.scope != "block":
            label = (Label(collective.span, f"the lanes of a {collective.scope} act together here"),)
            threads = points(launch.block)
            scope, count = collective.scope, TOGETHER[collective.scope]
            title, sentence = f"a block is not made of whole {scope}s", f"a block has a multiple of {count} threads"
            help = f"let the extents of the block multiply to a multiple of {count}"
            yield Obligation("uniform", "TG304", title, sentence, known, equal(threads % count, 0), label, help)
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
        yield from _reached(launch, collective, guard)


def _reached(launch: Launch, collective: Collective, guard: Term) -> Iterator[Claim]:
    names: dict[str, Term] = {a.name: Var(a.name + LATER) for a in launch.block}
    other = substitute(guard, names)
    if other == guard:
        return
    point = collective.point
    axes = tuple(Axis(a.name + LATER, a.extent, a.sort, a.span) for a in launch.block)
    there = point.inside(*axes)
    group = Threads(launch.block).warps[0] // (TOGETHER.get(collective.scope, WARP) // WARP)
    facts = (*there.facts, *((equal(group, substitute(group, names)),) if collective.scope != "block" else ()))
    goal = there.settled(App("or", (negation(guard), other), BOOL))
    who = collective.scope
    title = f"a {collective.word} that not all threads of the {who} reach"
    sentence = f"if one thread of a {who} reaches the {collective.word}, all do"
    label = (Label(collective.span, "some threads do not come here"),)
    help = f"take the {collective.word} out of the condition, and guard what is stored instead"
    yield Obligation("uniform", "TG303", title, sentence, facts, goal, label, help)


def ordered(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    outputs = {t.name for t in program.op.outputs}
    for meeting in (m for m in trace.of(Meeting) if m.array not in outputs):  # of those `once` speaks
        title = f"two threads write one cell of {meeting.array}"
        sentence = f"no two threads write one cell of {meeting.array} in one step"
        help = f"let one thread write each cell of {meeting.array}, or guard the others"
        label = (Label(meeting.span, "written here"),)
        yield Obligation("ordered", "TG302", title, sentence, meeting.point.facts, meeting.apart, label, help)
    for name, array in program.shared.items():
        accesses = [a for a in trace.of(Access) if a.array == name]
        for first in accesses:
            for second in accesses:
                if (first.write or second.write) and not (first.atomic and first.atomic == second.atomic):
                    yield from meet(program.launches[first.place.launch], first, second, array.space.ordered)


def meet(launch: Launch, first: Access, second: Access, scopes: Collection[str]) -> Iterator[Claim]:
    """The formulas for a second access after a first one of an array that these barriers order."""
    for way in (one.among(scopes) for one in ways(launch.body, first.place.path, second.place.path)):
        if TRUE in way.block:
            continue
        same = first.place.path == second.place.path and not way.around
        if done_together(launch.body, first.place.path, second.place.path) and not way.around:
            continue  # one instruction, which stores each element once
        if same and first.write and second.write and one_turn(launch.body, first.place.path):
            continue  # one step, which its meeting is about
        yield race(launch, first, second, way)


def done_together(body: tuple[Step, ...], path: tuple[int, ...], inner: tuple[int, ...]) -> bool:
    """Whether a place is where an instruction begins, and another one in the step behind it, which is what its lanes do.

    >>> loop = For(Axis("k", lift(2)), (Sync("warp"),))
    >>> done_together((Sync("warp"), loop), (0,), (1, 0))
    False
    """
    steps_, position = list(at(body, path))[-1]
    step = steps_[position]
    behind = inner[: len(path)] == (*path[:-1], path[-1] + 1) and len(inner) > len(path)
    return behind and isinstance(step, Sync) and step.begins is not None


def race(launch: Launch, first: Access, second: Access, way: Way) -> Obligation:
    """Threads that meet so are one thread, or of one warp."""
    carried = {a.name for a in launch.grid + launch.turns}
    names: dict[str, Term] = {a.name: Var(a.name + LATER) for a in second.point.axes if a.name not in carried}
    axes = tuple(type(a)(a.name + LATER, substitute(a.extent, names), a.sort, a.span) for a in second.point.axes if a.name in names)
    there = Region(axes, tuple(substitute(g, names) for g in second.point.guard))
    turns = [equal(Var(n), v) for n, v in first.place.turns] + [equal(Var(n + LATER), v) for n, v in second.place.turns]
    ring = unordered(launch.body, first.place.path, second.place.path)
    apart = [*map(negation, way.block), *ring]
    meeting = [equal(i, j) for i, j in paired(first.index, [substitute(j, names) for j in second.index])]
    hypotheses = dict.fromkeys((*first.point.facts, *there.facts, *turns, *way.facts, *apart, *meeting))
    goal = conjunction(*(equal(Var(a.name), Var(a.name + LATER)) for a in launch.block))
    if way.warp:  # where a warp barrier was met, lanes of one warp are in order, and those of two are not
        warp = Threads(launch.block).warps[0]
        met = way.warp[0] if len(way.warp) == 1 else App("or", way.warp, BOOL)
        lanes = equal(warp, substitute(warp, names))
        goal = lanes if TRUE in way.warp else App("or", (goal, conjunction(lanes, met)), BOOL)
    cell = f"{first.array}[{', '.join(map(text, first.index))}]"
    verbs = ["writes" if a.write else "reads" for a in (first, second)]
    labels = (Label(first.span, f"one thread {verbs[0]} here"), Label(second.span, f"another one {verbs[1]} here"))
    when = f" in a later turn of {way.around}" if way.around else ""
    title = f"two threads meet at {first.array} without a barrier between"
    sentence = f"a thread that {verbs[0]} {cell} and one that then {verbs[1]} it{when} have a barrier between them"
    fix = f"put a barrier at the end of the loop over {way.around}" if way.around else "put a barrier between the two steps"
    fix = "let fill and use have the slot of their turn, as turn % slots, of a ring no longer than its arrays" if ring else fix
    goal = settle(goal, {**first.point.extents, **there.extents})
    return Obligation("ordered", "TG302", title, sentence, tuple(hypotheses), goal, labels, fix)
