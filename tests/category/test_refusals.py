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
FOLD = Fold("sum", (Axis("k", lift(3)),), TRUE, Read("a", (Var("k"),), "f32"), "f32")

WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "an entry behind a table": (lambda: evaluate(App("table", (I, lift(5), lift(7))), {"i": 2}), "entry 2 of a table of 2"),
    "text of a read": (lambda: source(Read("a", (I,), "f32")), "no text for the read"),
    "text of a function": (lambda: source(App("exp", (I,))), "no text for exp"),
    "text of a fold": (lambda: Source().term(FOLD), "no text for"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name: str) -> None:
    make, reason = WRONG[name]
    with pytest.raises(ValueError, match=reason):
        make()


def test_names_that_are_not_there() -> None:
    with pytest.raises(KeyError, match="a"):
        values(Read("a", (I,), "f32"), {"i": 0})
    with pytest.raises(KeyError, match="shuffle_xor"):
        values(App("shuffle_xor", (Const(1.0, "f32"), lift(1)), "f32"), {})


def test_what_is_no_term() -> None:
    with pytest.raises(ValueError, match="has no value at a point"):
        number(FOLD, {})
    with pytest.raises(TypeError, match="not a term"):
        values("x", {})  # type: ignore[arg-type]


def test_a_division_by_zero_is_heard_of() -> None:
    with pytest.raises(ZeroDivisionError, match="at 1 points"):
        values(lift(7) // Var("d"), {"d": 0})
    heard: list[int] = []
    assert values(lift(7) // Var("d"), {"d": 0}, on_zero=lambda term, where: heard.append(int(where.sum()))) == 7
    assert heard == [1]
