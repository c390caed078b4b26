"""What an op promises of its data, as conditions that say at one point whether a promise is kept.

    all[t < T] (x[t] <= x[t + 1])      at t:      t + 1 < n  and  x[t] <= x[t + 1]        over x : [n]

Comes in: the promises of a program. Goes out: for each `all` its axes, and the condition. The one idea: a comparison that reads what is not
there, or divides by what is not positive, keeps no promise and breaks none by what it says, so of `or` one side that is there is enough.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tinygpu.category.dtype import SIGNED
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, apply, conjunction, conjuncts, negation, walk
from tinygpu.model.op import Op
from tinygpu.program.step import Program
from tinygpu.record import dataclass

DIVISIONS = ("floordiv", "mod", "ceildiv")


@dataclass(frozen=True, slots=True)
class Every:
    """`holds` at all points of the axes."""

    axes: tuple[Axis, ...]
    holds: Term

    @property
    def of_scalars(self) -> bool:
        """Whether it is about what a caller passes by value: then no call may pass it over."""
        return not self.axes and all(not t.index for t in walk(self.holds) if isinstance(t, Read))


def looks(stmt: ast.stmt) -> str:
    """`always` for a check of scalars, `asked` for one of arrays; nothing for any other statement."""
    test = ast.unparse(stmt.test) if isinstance(stmt, ast.If) and not stmt.orelse else ""
    return {"True": "always", "check_data": "asked"}.get(test, "")


def promises(program: Program) -> tuple[Term, ...]:
    """What is promised: by the op, and what op and machine presuppose of more than sizes."""
    of_data = (g for g in (*program.op.where, *program.where) if any(isinstance(t, Read | Fold) for t in walk(g)))
    return tuple(dict.fromkeys((*program.op.promises, *of_data)))


def every(promise: Term, op: Op, axes: tuple[Axis, ...] = (), guard: Term = TRUE) -> Iterator[Every]:
    """A promise as one `all` behind the other: that of an inner one is for the points of both.

    >>> from tinygpu.category.term import Var, text
    >>> t, T = Var("t"), Var("T")
    >>> promise = Fold("all", (Axis("t", T),), t < 5, App("ge", (t, Const(2)), BOOL), BOOL)
    >>> [text(one.holds) for one in every(promise, Op("f", ("T",), (), (), (), ()))]
    ['not t < 5 or t >= 2']
    """
    inner = [part for part in conjuncts(promise) if isinstance(part, Fold) and part.monoid == "all"]
    plain = conjunction(*(part for part in conjuncts(promise) if part not in inner))
    if plain != TRUE:
        holds = kept(plain, op)
        yield Every(axes, holds if guard == TRUE else App("or", (kept(guard, op, False), holds), BOOL))
    for part in inner:
        yield from every(part.body, op, axes + part.axes, conjunction(guard, part.guard))


def kept(term: Term, op: Op, truth: bool = True) -> Term:
    """Whether a condition surely holds, or surely does not."""
    match term:
        case Const(value):
            return Const(bool(value) == truth, BOOL)
        case App("not", (inner,)):
            return kept(inner, op, not truth)
        case App("and" | "or" as word, args):
            parts = tuple(kept(a, op, truth) for a in args)
            return conjunction(*parts) if (word == "and") == truth else App("or", parts, BOOL)
        case App("select", (condition, then, otherwise), "bool"):
            first = conjunction(kept(condition, op), kept(then, op, truth))
            return App("or", (first, conjunction(kept(condition, op, False), kept(otherwise, op, truth))), BOOL)
    return conjunction(*defined(term, op), term if truth else negation(term))


def defined(term: Term, op: Op) -> tuple[Term, ...]:
    """What makes a value one: elements that are there, divisors that are positive."""
    match term:
        case App("select", (condition, then, otherwise)):
            sides = ((False, defined(then, op)), (True, defined(otherwise, op)))
            more = (App("or", (kept(condition, op, way), conjunction(*asked)), BOOL) for way, asked in sides if asked)
            return (App("or", (kept(condition, op), kept(condition, op, False)), BOOL), *more)
        case App("and" | "or" | "not"):
            return (App("or", (kept(term, op), kept(term, op, False)), BOOL),)
        case Read(name, index):
            inner = tuple(asked for place in index for asked in defined(place, op))
            shape = op.tensor(name).shape
            return inner + tuple(g for i, n in zip(index, shape, strict=True) for g in (apply("ge", i, 0), apply("lt", i, n)))
        case App(name, (a, b), dtype) if name in DIVISIONS:
            natural = (App("ge", (a, Const(0, dtype)), BOOL),) if dtype in SIGNED else ()
            return (*defined(a, op), *defined(b, op), *natural, App("gt", (b, Const(0, dtype)), BOOL))
        case App(_, args):
            return tuple(asked for a in args for asked in defined(a, op))
    return ()
