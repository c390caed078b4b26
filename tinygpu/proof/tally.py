"""Which explanation of a wrong fold fits: it has too many terms, or too few.

Comes in: a program, sizes and an element that is wrong. Goes out: the codes of the explanations, most fitting first.
The one idea: on inputs that are all 1 every term counts the same, so the result says how many terms there were.
"""

from __future__ import annotations

from tinygpu.program.step import Program
from tinygpu.proof.replay import count
from tinygpu.simulate.fault import SimulationBudget
from tinygpu.simulate.tolerance import Mismatch

MORE = ("TG504", "TG506")
FEWER = ("TG505",)
BUDGET = 1 << 22  # lane-steps of the run


def fitting(program: Program, sizes: dict[str, int], seen: Mismatch, codes: tuple[str, ...]) -> tuple[str, ...]:
    """The codes, those first that speak of too many or of too few terms where that is what the element shows."""
    try:
        got, want = count(program, sizes, seen, BUDGET)
    except (SimulationBudget, IndexError, ZeroDivisionError):
        return codes
    first = MORE if got > want else FEWER if got < want else ()
    return (*(c for c in codes if c in first), *(c for c in codes if c not in first))
