"""Which intermediates without a fold are held in a cell of the thread that computes them; all others are put in where they are used.

Comes in: a launch. Goes out: names. The one idea: what is put in is computed again, which is right and cheap, unless it is long by then, or what it
is made of is gone: an output in place of it is stored in between.
"""

from __future__ import annotations

from tinygpu.category.term import Fold, Read, folds, substitute, tensors, variables, walk
from tinygpu.derive.nest import TIME
from tinygpu.model.machine import Launch, inlined
from tinygpu.model.op import Op

LONG = 100  # parts of a value beyond which it is not put in, but held


def in_cells(op: Op, launch: Launch) -> set[str]:
    """What a launch holds: what it is told to keep and what steps of a text read, what is overwritten, and what is long."""
    found = {*launch.holds, *(k.tensor for k in launch.keeps)}
    found |= overwritten(op, launch, found)
    return found | long(launch, found)


def overwritten(op: Op, launch: Launch, held: set[str]) -> set[str]:
    """The intermediates of which an input is made that an output in place of it has overwritten where they are used: they are held before."""
    values = inlined(launch.phases, launch.stages, held)
    order = [p.equation.target for p in launch.phases]
    found: set[str] = set()
    for target, source in op.inplace.items():
        place = order.index(target) if target in order else len(order)
        after = frozenset[str]().union(*(tensors(p.equation.value) for p in launch.phases[place + 1 :]))
        before = {name for name in order[:place] if name in after and source in tensors(values[name])}
        found |= {name for name in before - held if not folds(values[name]) and at_home(launch, held | {name}, name)}
    return found


def long(launch: Launch, held: set[str]) -> set[str]:
    """The intermediates that are long when they are put in, of workers that own what reads them: a chain of equations is as long as written."""
    found: set[str] = set()
    read = {t.tensor for p in launch.phases for t in walk(p.equation.value) if isinstance(t, Read)}
    values = inlined(launch.phases, launch.stages, held)
    for target in values:
        if values[target].parts > LONG and target in read - held and at_home(launch, held | found | {target}, target):
            found.add(target)
            values = inlined(launch.phases, launch.stages, held | found)
    return found


def at_home(launch: Launch, held: set[str], target: str) -> bool:
    """Whether whoever reads an intermediate that is held is the worker that computes it, in the turn in which it does."""
    phases = {p.equation.target: p for p in launch.phases}
    own = tuple(phases[target].owner.by_axis[a.name] for a in phases[target].equation.axes)
    for name, value in inlined(launch.phases, launch.stages, held).items():
        owner = phases[name].owner
        turns = {a.name for a in owner.domain.axes if a.sort == TIME}
        for inner in walk(value):
            if (
                isinstance(inner, Read)
                and inner.tensor == target
                and tuple(substitute(i, owner.by_axis) for i in inner.index) != own
            ):
                return False
            if (
                isinstance(inner, Fold)
                and target in tensors(inner)
                and any(variables(owner.by_axis[a.name]) & turns for a in inner.axes)
            ):
                return False
    return True
