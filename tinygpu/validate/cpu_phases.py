"""Loops over the threads of a block, read as threads: phases that run one after the other are what lies between barriers.

    for t in range(T): A(t)
    for t in range(T): B(t)         is one schedule of         t < T { A(t); barrier; B(t); barrier }

Comes in: the steps of a launch, its cells, and axes that its threads may have. Goes out: a launch of blocks, or None where the steps are not
phases. The one idea: where no two threads race, which is proved of the launch of blocks, every schedule of it computes the same, so also the
one that the text is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce
from operator import mul

from tinygpu.category.linear import polynomial
from tinygpu.category.term import TRUE, Axis, Const, Term, Var, conjunction, reads, substitute
from tinygpu.program.step import Assign, Barrier, For, If, Launch, Local, Shared, Step
from tinygpu.record import dataclass, field, replace
from tinygpu.validate.cpu_exchange import shuffled
from tinygpu.schedule.scope import changed, scoped, used


class Apart(Exception):
    """A step that is in no phase."""


@dataclass(slots=True)
class Phases:
    """The axes of a block and the names that its threads' loops have in the text; `inside` counts the phases that use a cell."""

    block: tuple[Axis, ...]
    names: tuple[str, ...]
    said: Mapping[str, str]
    inside: dict[str, int] = field(default_factory=dict)

    def over(self, body: tuple[Step, ...]) -> Iterator[Step]:
        """Steps with a barrier behind each phase. Whatever is around a phase is the same for all threads. Raises Apart."""
        for step in body:
            phase = self.phase(step)
            match step:
                case _ if phase:
                    for name in {n for s in phase for n in used(s)}:
                        self.inside[name] = self.inside.get(name, 0) + 1
                    yield from phase
                    yield Barrier("block", step.span)
                case For(Axis(extent=same), inner) | If(same, inner) if not reads(same):
                    yield replace(step, body=tuple(self.over(inner)))
                case _:
                    raise Apart

    def phase(self, step: Step) -> tuple[Step, ...]:
        """The body of loops over all threads of the block, each its own axis of it; () for other steps."""
        put: dict[str, Term] = {}
        guards: list[Term] = []
        body: tuple[Step, ...] = (step,)
        for axis, name in zip(self.block, self.names, strict=True):
            while put and len(body) == 1 and isinstance(choice := body[0], If):
                guards.append(choice.guard)
                body = choice.body
            match body:
                case (For(Axis(own, extent), inner),) if self.said.get(own, "").rstrip("_") == name and extent == axis.extent:
                    put[own] = Var(axis.name)
                    body = inner
                case _:
                    return ()
        made = tuple(bound(s, put) for s in body)
        guard = substitute(conjunction(*guards), put)
        return made if guard == TRUE else (If(guard, made, step.span),)


def bound(step: Step, put: Mapping[str, Term]) -> Step:
    """A step with terms in the place of axes."""
    match step:
        case Assign(_, index, value, _, guard):
            index = tuple(substitute(i, put) for i in index)
            return replace(step, index=index, value=substitute(value, put), guard=substitute(guard, put))
        case For(axis, inner):
            sort = "register" if isinstance(axis.extent, Const) else axis.sort  # a thread's own turns, and no rounds of the block
            axis = replace(axis, extent=substitute(axis.extent, put), sort=sort)
            return replace(step, axis=axis, body=tuple(bound(s, put) for s in inner))
        case If(guard, inner):
            return replace(step, guard=substitute(guard, put), body=tuple(bound(s, put) for s in inner))
    return step


def blocks(
    launch: Launch, cells: Mapping[str, Local], block: tuple[Axis, ...], names: tuple[str, ...], said: Mapping[str, str]
) -> Launch | None:
    """A launch of one thread as a launch of blocks. `names` are those that the loops over the axes of `block` have in the text,
    `said` what every axis is called there; underscores at the end aside.

    Cells that a thread has for itself are its own; others that more than one phase uses are shared.
    """
    phases = Phases(block, tuple(n.rstrip("_") for n in names), said)
    try:
        body = tuple(phases.over(launch.body))
    except Apart:
        return None
    number: Term = Const(0)
    for axis in block:
        number = number * axis.extent + Var(axis.name)
    count = reduce(mul, (a.extent for a in block), Const(1))
    seen = tuple(_uses(body))
    own = {n for n, c in cells.items() if c.extents and c.extents[-1] == count and _of_thread(n, number, seen)}
    body = tuple(changed(s, lambda name, index: (name, index[:-1] if name in own else index)) for s in body)
    shared = {
        n: Shared(n, c.dtype, c.extents, span=c.span) for n, c in cells.items() if n not in own and phases.inside.get(n, 0) > 1
    }
    body, gone = shuffled(body, shared, own, block)
    alone = {n: replace(c, extents=c.extents[:-1]) if n in own else c for n, c in cells.items() if n not in shared}
    return replace(launch, block=block, body=(*(s for n, s in shared.items() if n not in gone), *scoped(alone, body)))


def _uses(body: tuple[Step, ...]) -> Iterator[tuple[str, tuple[Term, ...]]]:
    """Every place that is read or written."""
    for step in body:
        match step:
            case Assign(target, index, value, _, guard):
                yield target, index
                yield from ((r.tensor, r.index) for t in (*index, value, guard) for r in reads(t))
            case For(axis, inner):
                yield from ((r.tensor, r.index) for r in reads(axis.extent))
                yield from _uses(inner)
            case If(guard, inner):
                yield from ((r.tensor, r.index) for r in reads(guard))
                yield from _uses(inner)


def _of_thread(name: str, number: Term, uses: tuple[tuple[str, tuple[Term, ...]], ...]) -> bool:
    """Whether the last coordinate of an array is the number of the thread wherever it is used."""
    whole = polynomial(number)
    return all(polynomial(index[-1]) == whole for used_, index in uses if used_ == name)
