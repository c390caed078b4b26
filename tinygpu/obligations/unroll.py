"""Bodies of loops as they stand: what they assign, and one iteration of them by its number.

Comes in: steps. Goes out: names, or the steps with a number for the loop's axis. The one idea: a loop over a few numbers that has no
closed form is a sequence of its iterations.
"""

from __future__ import annotations

from tinygpu.category.term import Const, substitute
from tinygpu.program.step import Assign, Ghost, Step, steps
from tinygpu.program.traverse import map_steps, map_terms


def assigned_in(body: tuple[Step, ...]) -> set[str]:
    """The arrays that a body writes or declares facts of."""
    return {step.target for step in steps(body) if isinstance(step, Assign | Ghost)}


def bound(body: tuple[Step, ...], name: str, value: int) -> tuple[Step, ...]:
    """One turn of an unrolled loop: its axis replaced by a number. All that the loop reads is still read: `x[index(z[i]) * 0]` reads z."""
    put = {name: Const(value)}
    return map_steps(body, lambda step: (map_terms(step, lambda term: substitute(term, put, written=True)),))
