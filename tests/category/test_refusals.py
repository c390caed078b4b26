"""What the category refuses: every construction that would be no box or no term, each with its reason.

Comes in: wrong parts. Goes out: an error that says what does not fit. The one idea: what exists is right.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tinygpu.category.evaluate import evaluate, number
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Var, lift
from tinygpu.category.to_numpy import evaluate as values
from tinygpu.category.to_source import Source, source

I = Var("i")
READ = Read("a", (I,), "f32")
FOLD = Fold("sum", (Axis("k", lift(3)),), TRUE, Read("a", (Var("k"),), "f32"), "f32")
SHUFFLE = App("shuffle_xor", (Const(1.0, "f32"), lift(1)), "f32")

WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "an entry behind a table": (
        lambda: evaluate(App("table", (I, lift(5), lift(7))), {"i": 2}),
        ValueError,
        "entry 2 of a table of 2",
    ),
    "text of a read": (lambda: source(READ), ValueError, "no text for the read"),
    "text of a function": (lambda: source(App("exp", (I,))), ValueError, "no text for exp"),
    "text of a fold": (lambda: Source().term(FOLD), ValueError, "no text for"),
    "an array that is not there": (lambda: values(READ, {"i": 0}), KeyError, "a"),
    "lanes that are not there": (lambda: values(SHUFFLE, {}), KeyError, "shuffle_xor"),
    "a fold at a point": (lambda: number(FOLD, {}), ValueError, "has no value at a point"),
    "no term": (lambda: values("x", {}), TypeError, "not a term"),  # type: ignore[arg-type]
    "a division by zero": (lambda: values(lift(7) // Var("d"), {"d": 0}), ZeroDivisionError, "at 1 points"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name: str) -> None:
    make, error, reason = WRONG[name]
    with pytest.raises(error, match=reason):
        make()


def test_a_division_by_zero_is_heard_of() -> None:
    heard: list[int] = []
    assert values(lift(7) // Var("d"), {"d": 0}, on_zero=lambda term, where: heard.append(int(where.sum()))) == 7
    assert heard == [1]
