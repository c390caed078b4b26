"""A solver whose answer depends on the question alone.

Comes in: a context of z3, and a budget in its resource units. Goes out: a solver of that context.
The one idea: z3's own choice for integers first tries the bits of small numbers, as long as the whole process holds no more than
100 MB, and gives others two seconds: the same question has other answers, and costs, in another process. So the choice is made here:
real arithmetic alone is decided by cells of polynomials, all else by the usual search.
"""

from __future__ import annotations

from typing import Any

import z3


def solver(context: Any, budget: int) -> Any:
    """`(z3 context, resource units) → z3.Solver`, with a fixed seed.

    >>> here = z3.Context()
    >>> asked, i = solver(here, 1_000_000), z3.Int("i", here)
    >>> asked.add(i * i == 49, i < 0)
    >>> asked.check(), asked.model()
    (sat, [i = -7])
    """
    real, cells, search = z3.Probe("is-qfnra", context), z3.Tactic("qfnra-nlsat", context), z3.Tactic("smt", context)
    made = z3.Cond(real, cells, search, context).solver()
    made.set("rlimit", budget)
    made.set("random_seed", 0)
    return made
