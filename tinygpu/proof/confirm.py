"""A value that is wrong in floats is wrong only if it is in exact arithmetic.

Comes in: a program, sizes, the seed of a run, and the element that it got wrong. Goes out: what goes wrong on real numbers, or None where
nothing does or nobody knows. The one idea: rounding makes no counterexample, and neither does a number that a dtype has no room for;
what is too large for fractions is run in f64, where only what is beyond the tolerance of the program's own dtypes is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, TypeAlias

from tinygpu.category.listed import Beyond, Undecided
from tinygpu.category.term import FLOATS, Const, Term, total, walk
from tinygpu.model.op import Op
from tinygpu.obligations.store import inlined
from tinygpu.program import exact
from tinygpu.program.fault import Fault, NeverStored
from tinygpu.program.step import Assign, Program, steps
from tinygpu.program.tolerance import Mismatch

LARGEST = 1 << 20  # of a constant beside which f64 still has digits for numbers of order one

Draw: TypeAlias = Callable[[Op, dict[str, int], int], dict[str, list[Any]]]


def confirmed(
    program: Program,
    sizes: dict[str, int],
    seed: int,
    draw: Draw,
    found: Mismatch | tuple[Fault, ...],
    work: list[int] | None,
    again: Callable[[], Mismatch | None],
) -> tuple[Fault, ...] | Mismatch | None:
    """What is wrong on real numbers, of the inputs that `draw` gives for the seed. `again` runs it in f64, for what is too large, and for
    another order of the threads."""
    if not exact.with_fractions(program):
        return found
    limit = min(exact.POINTS, max(1, (work[0] if work else exact.POINTS * exact.COST) // exact.COST))
    try:
        inputs = draw(program.op, sizes, seed)
        wrong, taken = exact.run(program, sizes, inputs, limit)
        if work:
            work[0] -= taken * exact.COST
        if wrong is not None or not seed:
            return wrong
    except Undecided:
        return None
    except Beyond:
        if work:
            work[0] -= limit * exact.COST // 4
    except (IndexError, ZeroDivisionError):
        return None  # the equation has no value
    if not isinstance(found, Mismatch):
        everywhere = all(total(inlined(program.op, e.value)) for e in program.op.equations)
        return found if everywhere and all(isinstance(f, NeverStored) for f in found) else None
    return _plain(again()) if all(map(_moderate, _terms(program))) else None


def _plain(seen: Mismatch | None) -> Mismatch | None:
    """An element that differs by a number: what is infinite may be only too large."""
    return seen if seen is not None and isfinite(seen.got) and isfinite(seen.want) else None


def _terms(program: Program) -> tuple[Term, ...]:
    own = (s.value for launch in program.launches for s in steps(launch.body) if isinstance(s, Assign))
    return (*own, *(e.value for e in program.op.equations))


def _moderate(term: Term) -> bool:
    """Whether no number in a term drowns the others."""
    numbers = (part.value for part in walk(term) if isinstance(part, Const) and part.dtype in FLOATS)
    return all(abs(number) <= LARGEST or not isfinite(number) for number in numbers)
