"""What a launch does with arrays: who is read, written or updated.

Comes in: a launch. Goes out: for each array the kinds of its accesses. The one idea: a race takes two accesses of
different kinds, or two stores, so what is accessed in one way only need not be watched.
"""

from __future__ import annotations

from tinygpu.program.step import Assign, Launch, steps
from tinygpu.program.traverse import reads_of

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
