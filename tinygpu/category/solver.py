"""An answer of the solver that depends on the question alone.

Comes in: formulas of one context of z3, and a budget in its resource units. Goes out: a verdict, the model, what it took.
The one idea: z3's own choice for integers first tries the bits of small numbers, as long as the whole process holds no more than
100 MB, and gives others two seconds: the same question has other answers, and costs, in another process. So the choice is made here:
real arithmetic alone is decided by cells of polynomials, all else by searches, of which several short ones find more than a long one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import z3

from tinygpu.category.heap import roomy

SEARCHES = 5  # each with its own seed and its share of the budget


def solved(context: Any, formulas: Sequence[Any], budget: int) -> tuple[Any, Any, int]:
    """`(z3 context, its formulas, resource units) → (unsat | sat | unknown, the model of sat, resource units spent)`.

    >>> here = fresh()
    >>> i = z3.Int("i", here)
    >>> solved(here, [i * i == 49, i < 0], 1_000_000)[:2]
    (sat, [i = -7])
    """
    real, cells, search = z3.Probe("is-qfnra", context), z3.Tactic("qfnra-nlsat", context), z3.Tactic("smt", context)
    effort = 0
    for seed in range(SEARCHES):
        solver = z3.Cond(real, cells, search, context).solver()
        solver.set("rlimit", max(1, budget // SEARCHES))
        solver.set("random_seed", seed)
        solver.set("ctrl_c", False)  # an interrupt is Python's: z3's own handler answers "unknown" instead
        solver.add(*formulas)
        verdict = solver.check()
        effort = next((int(v) for k, v in solver.statistics() if k == "rlimit count"), effort)  # of all in this context
        if verdict != z3.unknown:
            return verdict, solver.model() if verdict == z3.sat else None, effort
    return verdict, None, effort


def fresh() -> Any:
    """A context of z3 for one question."""
    roomy()
    return z3.Context()
