"""Asynchronous copies: what was begun has landed, and whoever needs it was told, before anybody touches its cell again.

    landed    A begins a copy at thread t, B touches the cell later at t'; on the way from A to B there are commits, waits and barriers:
              index_A = index_B  ⊢  t = t' and landed(w), or landed(w) and a barrier that both pass stands behind w        for a wait w on the way
              landed(w)  =  commits(A → w) ≥ n + 1        as `wait n` leaves the last n groups under way
    over      A touches a cell, then the same thread begins a copy to it  ⊢  a barrier lies between: nothing else orders the two

Comes in: the program and its trace. Goes out: one formula for each copy, each access to its array, and each way in which the access can come later. The
one idea: a copy means what it would mean if it landed where it begins; nobody can tell, since nobody looks. That two threads have a barrier between them at all
is `ordered`; that what is copied does not change is asked by form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinygpu.category.region import Region
from tinygpu.category.regroup import paired
from tinygpu.category.settle import settle
from tinygpu.category.term import BOOL, FALSE, App, Term, Var, conjunction, equal, substitute, text
from tinygpu.diagnostic import Label
from tinygpu.obligations.barriers import LATER
from tinygpu.obligations.between import Flow, flows, landed
from tinygpu.obligations.exchange import Threads
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Trace
from tinygpu.program.step import Assign, Launch, Program
from tinygpu.program.traverse import at
from tinygpu.record import dataclass


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for name in program.shared:
        accesses = [a for a in trace.of(Access) if a.array == name]
        begun = [a for a in accesses if begins(program.launches[a.place.launch], a)]
        pairs = [(a, b, under_way) for a in begun for b in accesses] + [
            (a, b, over) for a in accesses if a not in begun for b in begun
        ]
        for first, second, claim in pairs:
            launch = program.launches[first.place.launch]
            yield from (claim(launch, first, second, flow) for flow in flows(launch.body, first.place.path, second.place.path))


def begins(launch: Launch, access: Access) -> bool:
    """Whether an access is what a copy writes."""
    *_, (body, position) = at(launch.body, access.place.path)
    step = body[position]
    return access.write and isinstance(step, Assign) and step.pending


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


def under_way(launch: Launch, first: Access, second: Access, flow: Flow) -> Obligation:
    """A copy that was begun has landed before a thread touches its cell."""
    pair, told = Pair.of(launch, first, second, flow), list[Term]()
    for wait, behind in landed(flow.events):
        told += [conjunction(wait, where) for where in dict.fromkeys(behind["block"])]
        told += [conjunction(pair.lanes, wait, where) for where in dict.fromkeys(behind["warp"]) if where not in behind["block"]]
        told.append(conjunction(pair.own, wait))
    goal = settle(either(told), pair.extents)
    cell, verb = f"{first.array}[{', '.join(map(text, first.index))}]", "writes" if second.write else "reads"
    labels = (Label(first.span, "the copy begins here"), Label(second.span, f"it may be under way where a thread {verb} here"))
    title = f"a copy to {first.array} may be under way where its cell is {'written' if second.write else 'read'}"
    sentence = f"the copy to {cell} has landed, and a barrier has told so, before a thread {verb} it{flow.when}"
    help = "wait for its group, and put the barrier behind the wait"
    return Obligation("landed", "TG310", title, sentence, pair.known, goal, labels, help)


def over(launch: Launch, first: Access, second: Access, flow: Flow) -> Obligation:
    """A thread does not copy over what it has touched itself without a barrier between."""
    pair, verb = Pair.of(launch, first, second, flow), "written" if first.write else "read"
    goal = settle(either([*dict.fromkeys(e.where for e in flow.events if e.what in ("block", "warp"))]), pair.extents)
    labels = (Label(first.span, f"{verb} here"), Label(second.span, "copied over here"))
    title = f"a thread copies over what it has {verb} of {first.array}, without a barrier between"
    cell = f"{first.array}[{', '.join(map(text, first.index))}]"
    sentence = f"a barrier stands between a thread that has {verb} {cell} and its copy over it{flow.when}"
    return Obligation("landed", "TG310", title, sentence, (*pair.known, pair.own), goal, labels, "put a barrier before the copy")


def either(some: Sequence[Term]) -> Term:
    """One of them, at least."""
    return FALSE if not some else some[0] if len(some) == 1 else App("or", tuple(some), BOOL)
