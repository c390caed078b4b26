"""An answer of the solver that depends on the question alone.

Comes in: a claim as SMT-LIB text (`smtlib.script`: what is hashed in a certificate is what is asked here), and a budget in the solver's
resource units. Goes out: a verdict, the model, what it took.
The one idea: z3's own choice for integers first tries the bits of small numbers, as long as the whole process holds no more than
100 MB, and gives others two seconds: the same question has other answers, and costs, in another process. So the choice is made here:
real arithmetic alone is decided by cells of polynomials, all else by searches, of which several short ones find more than a long one.
Every question has a context of its own, and what one frees the next one needs. Budgets count no bytes, and a search that is told to end may first
allocate for many seconds: z3 itself refuses what the fence of memory has no room for.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from time import monotonic
from typing import Any

from tinygpu.category.deadline import SLACK, full, left, look, room

TRIM_THRESHOLD, TOP_PAD, KEPT = -1, -2, 64 << 20  # glibc's numbers of two options, and bytes: two contexts
LEAST = 64  # MiB that a question gets, however little is left: as much as easy ones take
CLOCK = 120.0  # seconds for a question, as not all that z3 does is counted in its units
SEARCHES = 5  # each with its own seed and its share of the budget


def solved(text: str, budget: int, clock: float = CLOCK) -> tuple[Any, Any, int]:
    """`(SMT-LIB text, resource units, seconds) → (unsat | sat | unknown, the model of sat, resource units spent)`, in a context of its own. What takes
    longer by the clock is unknown: some of what z3 does, as products of several unknowns, is not counted in its units.

    >>> solved("(declare-const i Int) (assert (= (* i i) 49)) (assert (< i 0))", 1_000_000)[:2]
    (sat, [i = -7])
    """
    import z3  # which takes as long to load as all else, and only who proves needs it

    roomy()
    context = z3.Context()
    formulas = z3.parse_smt2_string(text, ctx=context)
    real, cells, search = z3.Probe("is-qfnra", context), z3.Tactic("qfnra-nlsat", context), z3.Tactic("smt", context)
    effort, end = 0, monotonic() + clock
    for seed in range(SEARCHES):
        solver = z3.Cond(real, cells, search, context).solver()
        solver.set("rlimit", max(1, budget // SEARCHES))
        solver.set("random_seed", seed)
        solver.set("timeout", int(1000 * min(left() + SLACK, max(0.0, end - monotonic()))) + 1)
        solver.set("ctrl_c", False)  # an interrupt is Python's: z3's own handler answers "unknown" instead
        solver.add(formulas)
        with bounded_memory():
            verdict = solver.check()
        if verdict == z3.unknown:
            if "memory" in solver.reason_unknown():
                full()
            look()  # that the time was over is no answer
        effort = next((int(v) for k, v in solver.statistics() if k == "rlimit count"), effort)  # of all in this context
        if verdict != z3.unknown:
            return verdict, solver.model() if verdict == z3.sat else None, effort
    return verdict, None, effort


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Inside, z3 gets no more memory than there is room for, and answers "unknown" instead; outside it does, as a context that is not made whole
    cannot be used."""
    import z3

    held = z3.Z3_get_estimated_alloc_size() >> 20
    z3.set_param("memory_max_size", held + max(LEAST, room() >> 20))
    try:
        yield
    finally:
        z3.set_param("memory_max_size", 0)  # no limit


@cache
def roomy() -> None:
    """Lets the C library keep so much, best before much is allocated: to give it back and fetch its pages again takes ten times as long as all
    else about a context."""
    with suppress(AttributeError):  # another library has no such options, and only time is lost
        ctypes.pythonapi.mallopt(TOP_PAD, KEPT)
        ctypes.pythonapi.mallopt(TRIM_THRESHOLD, 2 * KEPT)
