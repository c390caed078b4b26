"""Which barriers stand between two places of a program, for every way in which one can come before the other.

    A in an iteration i, B in the same or a later iteration j of a loop around both:   A … rest of the bodies … bodies' beginnings … B

Comes in: the body of a launch and two places in it. Goes out: the ways, each with what is known of the two iterations and the conditions
under which a barrier is met. The one idea: only loops with barriers in them keep the threads of a block together; every other loop is a
thread's own, and its iterations are anyone's.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.cancel import cancel
from tinygpu.category.term import FLOATS, TRUE, Axis, Term, Var, conjunction, equal, lift, reads, substitute, variables, walk
from tinygpu.program.step import For, If, Step, Sync, steps
from tinygpu.program.traverse import at
from tinygpu.record import dataclass

LATER = "~"  # marks the second of two points, as `bijection.PRIME` does


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which B comes after A. `facts` speak of the loops of A, and of those of B with a mark; `met` are the conditions under
    which a barrier of each scope lies between; `around` names the loop whose next iteration B is in, if it is one."""

    facts: tuple[Term, ...]
    block: tuple[Term, ...]
    warp: tuple[Term, ...]
    around: str = ""


@dataclass(frozen=True, slots=True)
class Met:
    """The conditions under which barriers are met on a path."""

    block: tuple[Term, ...] = ()
    warp: tuple[Term, ...] = ()

    def plus(self, other: Met) -> Met:
        return Met(self.block + other.block, self.warp + other.warp)

    def under(self, *guards: Term) -> Met:
        return Met(*(tuple(conjunction(*guards, c) for c in side) for side in (self.block, self.warp)))

    def marked(self, names: dict[str, Term]) -> Met:
        return Met(*(tuple(substitute(c, names) for c in side) for side in (self.block, self.warp)))


def met(body: tuple[Step, ...]) -> Met:
    """The barriers that a sequence of steps meets. Of a loop those that every iteration meets, where there is one."""
    found = Met()
    for step in body:
        match step:
            case Sync("block"):
                found = found.plus(Met((TRUE,), (TRUE,)))
            case Sync():
                found = found.plus(Met((), (TRUE,)))
            case If(guard, inner) if not reads(decided(guard)):  # what a cell holds may change
                found = found.plus(met(inner).under(decided(guard)))
            case For(axis, inner):
                every = met(inner)
                kept = [tuple(c for c in side if axis.name not in variables(c)) for side in (every.block, every.warp)]
                found = found.plus(Met(*kept).under(axis.extent > 0))
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


def leaving(body: tuple[Step, ...], path: tuple[int, ...], depth: int) -> Met:
    """What is met from the place until the step that it is in, in the body at `depth`, is done."""
    found = Met()
    bodies = list(at(body, path))
    for level in range(depth + 1, len(bodies)):
        inner, position = bodies[level]
        found = found.plus(met(inner[position + 1 :])).plus(turns(bodies[level - 1], 1))
    return found


def entering(body: tuple[Step, ...], path: tuple[int, ...], depth: int) -> Met:
    """What is met from the beginning of the step that the place is in, in the body at `depth`."""
    found = Met()
    bodies = list(at(body, path))
    for level in range(depth + 1, len(bodies)):
        inner, position = bodies[level]
        found = found.plus(met(inner[:position])).plus(turns(bodies[level - 1], -1))
    return found


def turns(where: tuple[tuple[Step, ...], int], direction: int) -> Met:
    """The barriers in other turns of a loop around a place: in the next and the last one, or in the one before and the first."""
    steps_, position = where
    loop = steps_[position]
    if not isinstance(loop, For) or not together(loop):
        return Met()
    name, turn = loop.axis.name, Var(loop.axis.name)
    exists = turn + 1 < loop.axis.extent if direction > 0 else turn > 0
    there = (turn + 1, loop.axis.extent - 1) if direction > 0 else (turn - 1, lift(0))
    every = met(loop.body)
    return every.marked({name: there[0]}).under(exists).plus(every.marked({name: there[1]}).under(exists))


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
    if a == b:
        yield Way(tuple(_same(loop.axis) for _, loop in common), (), ())
    elif depth == len(a):  # A is the guard around B
        between = entering(body, b, depth - 1).marked(marks)
        yield Way(tuple(_same(loop.axis) for _, loop in common), between.block, between.warp)
    elif a < b:
        steps_, first = list(at(body, a))[depth]
        between = leaving(body, a, depth).plus(met(steps_[first + 1 : b[depth]])).plus(entering(body, b, depth).marked(marks))
        yield Way(tuple(_same(loop.axis) for _, loop in common), between.block, between.warp)
    for position, (level, loop) in enumerate(common):
        name = loop.axis.name
        next_ = equal(Var(name + LATER), Var(name) + 1)
        turn = next_ if TRUE in met(loop.body).block else Var(name + LATER) > Var(name)
        after = leaving(body, a, level).plus(met(loop.body[a[level] + 1 :]))
        before = met(loop.body[: b[level]]).plus(entering(body, b, level))
        between = after.plus(before.marked(marks))
        yield Way((*(_same(o.axis) for _, o in common[:position]), turn), between.block, between.warp, name)


def _same(axis: Axis) -> Term:
    return equal(Var(axis.name + LATER), Var(axis.name))
