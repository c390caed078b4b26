"""What the category refuses: every construction that would be no arrow, no box or no term, each with its reason.

Comes in: wrong parts. Goes out: a `ValueError` that says what does not fit. The one idea: an arrow that exists is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tinygpu.category.arrow import Arrow, cases, either, identity, opposite
from tinygpu.category.box import box
from tinygpu.category.evaluate import evaluate
from tinygpu.category.finite import swizzle, table
from tinygpu.category.generators import permute
from tinygpu.category.sample import number
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Var, lift
from tinygpu.category.to_numpy import evaluate as values
from tinygpu.category.to_source import Source, source

I, N, C, M = map(Var, "incm")
LINE = box(i=N)
EIGHT = Axis("i", lift(8))
FOLD = Fold("sum", (Axis("k", lift(3)),), TRUE, Read("a", (Var("k"),), "f32"), "f32")

WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "terms of another number": (lambda: Arrow(LINE, LINE, (I, I)), "2 terms for"),
    "an inverse of another number": (lambda: Arrow(LINE, LINE, (I,), (I, I)), "2 inverse terms for"),
    "an image without an inverse": (lambda: replace(identity(LINE), inverse=None, epi=False).image, "no inverse is known"),
    "cases over two axes": (lambda: cases(identity(LINE), identity(box(j=N))), "the same axes"),
    "cases that overlap": (lambda: cases(identity(LINE.guarded(I < 3)), identity(LINE.guarded(I < 5))), "not disjoint by form"),
    "an order that lacks an axis": (lambda: permute(box(i=2, j=3), "j"), "no order of"),
    "a table that is too short": (lambda: table(box(i=3), box(j=2), [(0,), (1,)]), "2 entries for 3 points"),
    "a table that leaves its box": (lambda: table(box(i=2), box(j=2), [(0,), (2,)]), "is not in"),
    "a swizzle of other bits": (lambda: swizzle(EIGHT, (1, 2)), "do not act on the bits"),
    "a swizzle that loses a bit": (lambda: swizzle(EIGHT, (1, 2, 3)), "needs full rank"),
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
    with pytest.raises(KeyError):
        LINE.axis("x")
    with pytest.raises(KeyError, match="a"):
        values(Read("a", (I,), "f32"), {"i": 0})
    with pytest.raises(KeyError, match="shuffle_xor"):
        values(App("shuffle_xor", (Const(1.0, "f32"), lift(1)), "f32"), {})


def test_what_is_no_term() -> None:
    with pytest.raises(TypeError, match="not a term of a monoid"):
        number(FOLD, {})
    with pytest.raises(TypeError, match="not a term"):
        values("x", {})  # type: ignore[arg-type]


def test_a_division_by_zero_is_heard_of() -> None:
    with pytest.raises(ZeroDivisionError, match="at 1 points"):
        values(lift(7) // Var("d"), {"d": 0})
    heard: list[int] = []
    assert values(lift(7) // Var("d"), {"d": 0}, on_zero=lambda term, where: heard.append(int(where.sum()))) == 7
    assert heard == [1]


def test_cases_that_share_what_they_say() -> None:
    """Both sides promise `i < m`; what they are apart in is what is left out of the union."""
    inside, low = I < M, I < C

    f, g = identity(LINE.guarded(inside, low)), identity(LINE.guarded(inside, opposite(low)))
    assert cases(f, g).domain.guard == inside
    assert either(inside, inside) == inside
    assert either(I < 3, I > 7) == App("or", (I < 3, I > 7), BOOL)
