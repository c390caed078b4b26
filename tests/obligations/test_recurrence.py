"""Closed forms of loops against running them: random recurrences over an array of cells.

Comes in: chance, with a fixed seed. Goes out: for every recurrence that `close` solves, its two forms agree with the iterations one after
the other, in every cell and before every turn. The one idea: what `close` does not solve is no mistake, what it solves wrongly is.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tinygpu.category.monoid import as_monoid
from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    equal,
    lift,
    rebuild,
    select,
    tensors,
    walk,
)
from tinygpu.category.to_numpy import evaluate
from tinygpu.obligations.recurrence import UNSOLVED, close

X, F, N = Var("x"), Var("f"), Var("n")
LOOP = Axis("x", N, "time")
HERE = Read("before", (F,), "i64")
OLD = Read("old", (F,), "i64")
CELLS = 3


def _index(chance: random.Random) -> Term:
    return chance.choice((X, F, lift(0), lift(1), lift(2), X + 1, X * 2, lift(2) - X, X // 2, F + X, lift(2) - F))


def _value(chance: random.Random, depth: int = 2) -> Term:
    made = chance.random()
    if depth and made < 0.25:
        return App(chance.choice(("add", "max", "mul")), (_value(chance, depth - 1), _value(chance, depth - 1)), "i64")
    if depth and made < 0.35:
        return select(_condition(chance), _value(chance, depth - 1), _value(chance, depth - 1))
    if made < 0.5:
        return HERE
    if made < 0.6:
        return Read("before", (_index(chance),), "i64")
    return Read("a", (_index(chance),), "i64") if made < 0.9 else Const(chance.randrange(3), "i64")


def _condition(chance: random.Random) -> Term:
    parts = (
        equal(F, _index(chance)),
        equal(_index(chance), F),
        chance.randrange(3) > X,
        chance.choice((X + 1 < N, X * 2 < N, X * 2 >= N, N - X > 2)),
        equal((X + chance.randrange(3)) % 3, F),
        F < 2,
        Read("a", (X,), "i64") > Const(3, "i64"),
    )
    return conjunction(*chance.sample(parts, chance.choice((1, 1, 2))))


def _step(chance: random.Random) -> Term:
    """The value of a cell after an iteration: a write, a guarded write, an accumulation, or anything."""
    match chance.randrange(4):
        case 0:
            return select(_condition(chance), _value(chance, 1), HERE)
        case 1:
            monoid = as_monoid(chance.choice(("sum", "prod", "max")))
            return App(monoid.op, (HERE, Fold(monoid, (), _condition(chance), Read("a", (_index(chance),), "i64"), "i64")), "i64")
        case 2:
            return select(_condition(chance), _step(chance), _step(chance)) if chance.random() < 0.5 else _value(chance)
    return _value(chance)


def _a(index: Any) -> Any:
    return (np.asarray(index) * 5 + 3) % 7 - 1


def _old(index: Any) -> Any:
    return np.asarray(index) * 2 % 5


def _run(term: Term, env: dict[str, int], state: list[int] | None = None) -> int:
    def read(node: Read, index: tuple[Any, ...], _: Any) -> Any:
        match node.tensor:
            case "a":
                return _a(index[0])
            case "old":
                return _old(index[0])
        assert state is not None, "a closed form speaks of the value before an iteration"
        return np.asarray(state)[np.asarray(index[0]) % CELLS]

    return int(evaluate(_plain(term), env, read))


def _plain(term: Term) -> Term:
    """The term with a choice in place of each fold over one point."""
    match term:
        case Fold(monoid, (), guard, body):
            units = {"sum": 0, "prod": 1, "max": np.iinfo(np.int64).min}
            return select(_plain(guard), _plain(body), Const(int(units[monoid]), "i64"))
    return rebuild(term, _plain)


def _iterated(new: Term, n: int) -> list[list[int]]:
    """The cells before each iteration, and after the last."""
    states = [[int(_old(f)) for f in range(CELLS)]]
    for x in range(n):
        states.append([_run(new, {"x": x, "f": f, "n": n}, states[-1]) for f in range(CELLS)])
    return states


def _inside(new: Term) -> bool:
    """Whether the cells that are read are cells of the array wherever they are read, for all of the sizes that are tried."""
    reads = [t for t in walk(new) if isinstance(t, Read) and t.tensor == "before"]
    points = [{"x": x, "f": f, "n": 3} for x in range(3) for f in range(CELLS)]
    return all(0 <= int(evaluate(r.index[0], p)) < CELLS for r in reads for p in points)


def test_what_close_solves_is_what_the_loop_does() -> None:
    chance, solved = random.Random(0), 0
    for _ in range(600):
        new = _step(chance)
        forms = close(LOOP, HERE, new, OLD) if _inside(new) else None
        if forms is None or any(name.endswith(UNSOLVED) for form in forms for name in tensors(form)):
            continue
        solved += 1
        for n in range(6):
            states = _iterated(new, n)
            for f in range(CELLS):
                assert _run(forms[1], {"f": f, "n": n}) == states[-1][f], new
                for x in range(n):
                    assert _run(forms[0], {"f": f, "n": n, "x": x}) == states[x][f], new
    assert solved > 150


@pytest.mark.parametrize(
    "new",
    [
        Read("before", (lift(1),), "i64"),
        App("add", (Read("before", (lift(2) - F,), "i64"), Read("a", (X,), "i64")), "i64"),
        App("add", (HERE, HERE), "i64"),
        App("mul", (App("add", (HERE, Read("a", (X,), "i64")), "i64"), Read("a", (X,), "i64")), "i64"),
        select(equal(F, X // 2), Read("a", (X,), "i64"), HERE),
        select(Const(2, "i64") < HERE, Read("a", (X,), "i64"), HERE),
    ],
)
def test_what_has_no_closed_form_is_not_solved(new: Term) -> None:
    assert close(LOOP, HERE, new, OLD) is None


def test_a_fold_of_a_loop_of_that_name_keeps_its_binder() -> None:
    inner = Fold("sum", (LOOP,), TRUE, Read("a", (X,), "i64"), "i64")
    forms = close(LOOP, HERE, App("add", (HERE, inner), "i64"), OLD)
    assert forms is not None
    for n in range(4):
        assert _run(forms[1], {"f": 1, "n": n}) == int(_old(1)) + n * sum(int(_a(k)) for k in range(n))
