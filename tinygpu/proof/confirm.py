"""A value that is wrong in floats is wrong only if it is in exact arithmetic.

Comes in: a program, sizes, the inputs of a run, and the element that it got wrong. Goes out: what goes wrong on real numbers, or None where
nothing does or nobody knows. The one idea: rounding makes no counterexample, and neither does a number that a dtype has no room for;
what is too large for fractions is run in f64, where only what is beyond the tolerance of the program's own dtypes is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite

from tinygpu.category.number import Array
from tinygpu.category.real import Beyond, Undecided
from tinygpu.category.term import FLOATS, Const, Term, total, walk
from tinygpu.obligations.store import inlined
from tinygpu.program.step import Assign, Program
from tinygpu.simulate import exact
from tinygpu.simulate.fault import Fault, NeverStored
from tinygpu.simulate.tolerance import Mismatch

LARGEST = 1 << 20  # of a constant beside which f64 still has digits for numbers of order one


def confirmed(
    program: Program,
    sizes: dict[str, int],
    inputs: Mapping[str, Array],
    order: int | None,
    found: Mismatch | tuple[Fault, ...],
    work: list[int] | None,
    again: Callable[[], Mismatch | None],
) -> tuple[Fault, ...] | Mismatch | None:
    """What is wrong on real numbers, in that order of the threads. `again` runs it in f64, for what is too large."""
    if not exact.with_fractions(program):
        return found
    limit = min(exact.POINTS, max(1, (work[0] if work else exact.POINTS * exact.COST) // exact.COST))
    taken = limit // 4
    wrong: tuple[Fault, ...] | Mismatch | None = None
    try:
        wrong, taken = exact.run(program, sizes, inputs, order, limit)
    except (Undecided, IndexError, ZeroDivisionError):
        return None  # nobody knows, or the equation has no value
    except Beyond:
        if isinstance(found, Mismatch) and all(map(_moderate, _terms(program))):
            wrong = _plain(again())
    if work:
        work[0] -= taken * exact.COST
    return wrong or _unstored(program, found)


def _unstored(program: Program, found: Mismatch | tuple[Fault, ...]) -> tuple[Fault, ...] | None:
    """Elements that floats leave out, of an equation that has a value everywhere: a guard that rounding decides is no guard."""
    if isinstance(found, Mismatch) or not all(isinstance(f, NeverStored) for f in found):
        return None
    return found if all(total(inlined(program.op, e.value)) for e in program.op.equations) else None


def _plain(seen: Mismatch | None) -> Mismatch | None:
    """An element that differs by a number: what is infinite may be only too large."""
    return seen if seen is not None and isfinite(seen.got) and isfinite(seen.want) else None


def _terms(program: Program) -> tuple[Term, ...]:
    own = (s.value for s in program.steps if isinstance(s, Assign))
    return (*own, *(e.value for e in program.op.equations))


def _moderate(term: Term) -> bool:
    """Whether no number in a term drowns the others."""
    numbers = (part.value for part in walk(term) if isinstance(part, Const) and part.dtype in FLOATS)
    return all(abs(number) <= LARGEST or not isfinite(number) for number in numbers)
