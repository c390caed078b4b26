"""What a launch does with arrays: who is read, written or updated, and what it touches once.

Comes in: a launch. Goes out: for each array the kinds of its accesses; names of arrays whose elements are to leave the caches first. The one
idea: a race takes two accesses of different kinds, or two stores, so what is accessed in one way only need not be watched; and no output element
is stored twice (proved), so an output that nobody reads is touched once, and an input that stands at one place of the text, with the index of
such a store and in the same loops, is touched no more often than that.
"""

from __future__ import annotations

from tinygpu.category.term import Axis, Term
from tinygpu.program.arrays import arrays
from tinygpu.program.step import Assign, Launch, Program, steps
from tinygpu.program.traverse import reads_of, walk_steps

READ, STORE = "read", "write"  # the other kinds of access are the monoids of atomic updates


def accesses(launch: Launch) -> dict[str, frozenset[str]]:
    """For each array what the launch does with it: reads, writes, or the monoids of its atomic updates."""
    found: dict[str, set[str]] = {}
    for step in steps(launch.body):
        for read in reads_of(step):
            found.setdefault(read.tensor, set()).add(READ)
        if isinstance(step, Assign):
            found.setdefault(step.target, set()).update(
                (step.update,) if step.atomic else (STORE, READ) if step.update else (STORE,)
            )
    return {name: frozenset(kinds) for name, kinds in found.items()}


def once(program: Program, number: int) -> frozenset[str]:
    """`program × launch → the global arrays of which it touches each element at most once`, and no other launch any; none where all are
    such, as then there is nothing to keep."""
    touched = [accesses(launch) for launch in program.launches]
    here = {name for name in touched[number] if sum(name in one for one in touched) == 1}
    outputs = {t.name for t in program.op.outputs if t.name in here and touched[number][t.name] == {STORE}}
    body = program.launches[number].body
    stored = {
        (where.axes, step.index) for step, where, _ in walk_steps(body) if isinstance(step, Assign) and step.target in outputs
    }
    looked: dict[str, list[tuple[tuple[Axis, ...], tuple[Term, ...]]]] = {}
    for step, where, _ in walk_steps(body):
        for tensor, index in {(read.tensor, read.index) for read in reads_of(step)}:
            looked.setdefault(tensor, []).append((where.axes, index))
    inputs = {t.name for t in program.op.inputs if t.name in here and len(looked[t.name]) == 1 and looked[t.name][0] in stored}
    found = frozenset(outputs | inputs)
    again = {a.name for a in arrays(program).values() if a.owner == "grid" and a.extents and a.name in touched[number]} - found
    return found if again else frozenset()
