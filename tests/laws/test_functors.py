"""The interpreters agree: sympy, numpy, source text and both emitters' text give what plain evaluation gives.

Comes in: index maps, and every operation inside every other. Goes out: nothing, or a term, a point and two values.
The one idea: interpreters are functors, so agreeing on two operations, one inside the other, is agreeing.
Numpy and sympy see all points as arrays, source text all points one by one. (The solvers' text is asked in `tests/proof/test_smtlib.py`.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

from tests.laws.points import points
from tinygpu.category import to_numpy
from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.term import App, Axis, Const, Term, Var, lift, text, variables, walk
from tinygpu.category.to_source import Source, called, plain, source
from tinygpu.category.to_sympy import to_sympy
from tinygpu.emit.cpu_text import Writer, mangle
from tinygpu.emit.cuda_text import Scope

Rows = list[dict[str, int]]


def by_numpy(term: Term, points: Rows) -> list[Any]:
    columns = {v: np.array([point[v] for point in points], dtype=np.int64) for v in variables(term)}
    return list(np.broadcast_to(np.asarray(to_numpy.evaluate(term, columns)), len(points)))


def by_sympy(term: Term, points: Rows) -> list[Any]:
    names = sorted(variables(term))
    exact = {"xor": lambda a, b: np.asarray(a).astype(int) ^ np.asarray(b).astype(int)}  # of floors, which are floats
    function = sympy.lambdify([to_sympy(Var(name)) for name in names], to_sympy(term), [exact, "numpy"])
    return list(np.broadcast_to(function(*(np.array([point[v] for point in points]) for v in names)), len(points)))


def by_source(term: Term, points: Rows) -> list[Any]:
    code = compile(source(term), text(term), "eval")
    return [eval(code, {}, dict(point)) for point in points]


def by_kernel(term: Term, points: Rows) -> list[Any]:
    """As CUDA kernels have it: the index type is Python's integers, and divisions refuse what is negative."""
    code = compile(Scope({v: v for v in variables(term)}, {}).text(term), text(term), "eval")
    space = {"div": lambda a, b: unsigned(a) // b, "mod": lambda a, b: unsigned(a) % b, "ceil": lambda a, b: -(-unsigned(a) // b)}
    return [eval(code, {"ix": int, **space}, dict(point)) for point in points]


def by_loops(term: Term, points: Rows) -> list[Any]:
    """As the CPU's functions have it: they divide natural numbers."""
    code = compile(Writer({}, {}).text(term), text(term), "eval")
    space = {"quotient": lambda a, b: unsigned(a) // b, "remainder": lambda a, b: unsigned(a) % b}
    return [eval(code, space, {mangle(v): value for v, value in point.items()}) for point in points]


def unsigned(number: int) -> int:
    assert number >= 0
    return number


I = Var("i")
INDICES = {  # digits and their number, a guard, a table and flips of bits, by axes up to 64
    "digits": ((I // 32, I // 4 % 8, I % 4, (I // 4 * 4 + I % 4) * 2), Region((Axis("i", Var("n")),))),
    "digits by a size": ((I // Var("n"), I % Var("n")), Region((Axis("i", Var("n") * 3),))),
    "a halo and a guard": ((I * 2 + Var("r"), I + Var("r") < Var("n")), Region((Axis("i", Var("n")), Axis("r", lift(3))))),
    "a table": ((App("table", (I, *map(lift, (5, 0, 3, 1)))),), Region((Axis("i", lift(4)),))),
    "flips": ((I ^ (I // 8 % 2 * 3), I ^ lift(5)), Region((Axis("i", lift(64)),))),
}


@pytest.mark.parametrize("name", INDICES)
def test_interpreters_agree(name: str) -> None:
    terms, box = INDICES[name]
    everywhere = [at for n in range(1, 65, 3) for at in points(box, {"n": n})]
    for term in terms:
        expected = [int(evaluate(term, at)) for at in everywhere]
        for interpreter in (by_numpy, by_sympy, by_source, by_kernel, by_loops):
            assert [int(v) for v in interpreter(term, everywhere)] == expected, (interpreter.__name__, text(term))


BINARY = ("add", "sub", "mul", "floordiv", "mod", "ceildiv", "xor", "min", "max")


def nested(op: str) -> list[Term]:
    """Every operation inside `op`, to its left and to its right, and a few guards and cases around it."""
    a, b, c = Var("a"), Var("b"), Var("c")
    pairs = [App(op, (App(inner, (a, b)), c)) for inner in BINARY] + [App(op, (a, App(inner, (b, c)))) for inner in BINARY]
    negated = [App(op, (App("neg", (a,)), b)), App("neg", (App(op, (a, b)),)), App(op, (Const(-7), b)), App(op, (a, Const(3)))]
    chosen = App(
        "select", (App("or", (a < b, App("and", (b < c, App("not", (a < c,), "bool")), "bool")), "bool"), a, App(op, (b, c)))
    )
    return [*pairs, *negated, chosen, App(op, (chosen, b)), App(op, (a, b)) < App(op, (b, c))]


@pytest.mark.parametrize("op", BINARY)
def test_two_operations_agree(op: str) -> None:
    """Every operation inside every other, so that parentheses are where they have to be; also under a wrapper."""
    points = [{"a": a, "b": b, "c": c} for a in (1, 2, 7, 12) for b in (1, 3, 8) for c in (1, 2, 5)]
    wrapped = Source(form=lambda app: called("int", plain(app)) if app.dtype == "index" else plain(app))
    for term in nested(op):
        # divisors that are zero or negative for some point are asked where they are not
        kept = [p for p in points if all(evaluate(d, p) > 0 for d in divisors(term))]
        expected = [int(evaluate(term, point)) for point in kept]
        assert [int(v) for v in by_source(term, kept)] == expected, source(term)
        assert [int(eval(wrapped.term(term), {}, dict(p))) for p in kept] == expected, wrapped.term(term)
        assert [int(v) for v in by_numpy(term, kept)] == expected, text(term)
        # what is emitted divides without a sign: what is divided is proved not to be negative
        divided = [k for k, p in enumerate(kept) if all(evaluate(d, p) >= 0 for d in dividends(term))]
        for emitted in (by_kernel, by_loops):
            assert [int(v) for v in emitted(term, [kept[k] for k in divided])] == [expected[k] for k in divided], text(term)


def divisors(term: Term) -> list[Term]:
    """What the term divides by."""
    return [t.args[1] for t in walk(term) if isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv")]


def dividends(term: Term) -> list[Term]:
    """What the term divides."""
    return [t.args[0] for t in walk(term) if isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv")]
