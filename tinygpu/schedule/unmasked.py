"""Tiles in which nothing is asked: short loops ask first whether their conditions are true in all of their turns.

    for x < 16: z[x] = a[x] if j*16 + x < K else c   ↦   for x < 16: z[x] = a[x] if j*16 + 15 < K else (a[x] if j*16 + x < K else c)

Comes in: what a core does. Goes out: the same. The one idea: what is asked of no turn is asked once before the loop, by any compiler; so only the last
tile compares for each number.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import BOOL, App, Const, Term, rebuild, select, variables
from tinygpu.program.step import Assign, For, If, Step, steps
from tinygpu.record import replace
from tinygpu.schedule.interior import conditions, worst
from tinygpu.schedule.nest import Body, change_terms, is_long, known_turns, loops_of
from tinygpu.schedule.polynomial import term

FEWEST = 16  # turns, for which one more question is cheap


def unmasked(body: Body) -> Body:
    """The body with conditions of short loops asked of all turns, then of each.

    >>> from tinygpu.category.term import Axis, Read, Var, select, text
    >>> x, j, K = map(Var, "xjK")
    >>> value = select(j * 16 + x < K, Read("a", (x,), "f32"), Const(0.0, "f32"))
    >>> (loop,) = unmasked((For(Axis("x", Const(16), "simd"), (Assign("z", (x,), value),)),))
    >>> text(loop.body[0].value)
    'a[x] if K - j*16 - 15 > 0 else a[x] if j*16 + x < K else 0'
    """
    return tuple(part for step in body for part in _asking(step))


def _asking(step: Step) -> Body:
    match step:
        case For() if _short(step):
            asked = dict(_asked(step))
            return change_terms((step,), lambda t: _first(t, asked)) if asked else (step,)
        case For() | If():
            return (replace(step, body=unmasked(step.body)),)
    return (step,)


def _first(t: Term, asked: dict[Term, Term]) -> Term:
    """The term with what it is in the middle before what it is anywhere."""
    match t:
        case App("select", (condition, then, _)) if condition in asked:
            return select(asked[condition], then, t)
    return rebuild(t, lambda c: _first(c, asked))


def _short(loop: For) -> bool:
    """Loops of few turns, but not too few, in which numbers are set and nothing else."""
    loops = loops_of((loop,))
    plain = all(isinstance(s, For) or (isinstance(s, Assign) and not s.update) for s in steps((loop,)))
    return plain and not any(is_long(a.axis) for a in loops) and known_turns(a.axis for a in loops) >= FEWEST


def _asked(loop: For) -> Iterator[tuple[Term, Term]]:
    """The conditions that ask where in the loops they stand, and when each holds in all turns."""
    for condition, around in conditions((loop,)):
        asks = variables(condition) & {axis.name for axis in around}
        if asks and (least := worst(condition, around)) is not None:
            yield condition, App("gt", (term(least), Const(0)), BOOL)
