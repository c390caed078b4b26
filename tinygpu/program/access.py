"""What steps do with arrays: the terms that a step evaluates, and who is read, written or updated in a launch.

Comes in: a step or a launch. Goes out: terms, and for each array the kinds of its accesses. The one idea: a race takes two accesses of
different kinds, or two stores, so what is accessed in one way only need not be watched.
"""

from __future__ import annotations

from tinygpu.category.term import SHUFFLES, App, Term, reads, walk
from tinygpu.program.fault import READ, STORE
from tinygpu.program.step import Assign, For, If, Launch, Step, steps


def terms(step: Step) -> tuple[Term, ...]:
    """What a step evaluates itself; ghosts evaluate nothing."""
    match step:
        case Assign(_, index, value, _, guard):
            return (*index, value, guard)
        case For(axis):
            return (axis.extent,)
        case If(guard):
            return (guard,)
    return ()


def shuffles(step: Step) -> bool:
    """Whether lanes exchange values in the step itself."""
    return isinstance(step, Assign) and any(isinstance(t, App) and t.op in SHUFFLES for t in walk(step.value))


def accesses(launch: Launch) -> dict[str, frozenset[str]]:
    """For each array what the launch does with it: reads, writes, or the monoids of its atomic updates."""
    found: dict[str, set[str]] = {}
    for step in steps(launch.body):
        for term in terms(step):
            for read in reads(term):
                found.setdefault(read.tensor, set()).add(READ)
        if isinstance(step, Assign):
            found.setdefault(step.target, set()).update(
                (step.update,) if step.atomic else (STORE, READ) if step.update else (STORE,)
            )
    return {name: frozenset(kinds) for name, kinds in found.items()}
