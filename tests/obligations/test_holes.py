"""Programs that are wrong in ways that no run shows, and what is no program: neither is proved. (What a run shows is in `tests/meaning/unsound`.)

Comes in: texts and steps. Goes out: verdicts. The one idea: a hole that was found stays a test, with the smallest program that fell through it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.obligations.texts import COPY, open_codes, program
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Program, Step
from tinygpu.proof.check import check
from tinygpu.proof.kernel import Proof

THREE = "op three(x: f32[R, 3]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }"
PRODUCT = "op product(x: f16[R], y: f16[R]) -> (s: f32[R]) { s[r] = f32(x[r]) * f32(y[r]) }"
FOUR = "op four(x: f16[R, 4]) -> (s: f32[R]) { s[r] = sum[j] f32(x[r, j]) }"
COUNTER = "op counter(x: f32[R]) -> (s: f32[R]) { s[r] = f32(r) * x[r] }"
INDEXED = "op indexed(x: f32[R], idx: i32[R]) -> (s: f32[R]) { s[r] = x[r] + f32(idx[r]) }"
WRONG = {  # in a way that no run on numbers shows
    "a narrow product": (PRODUCT, "s[ROW] = f32(x[ROW] * y[ROW])"),
    "a narrow sum": (FOUR, "local a: f16[]\na[] = 0\nfor k < 4 { a[] += x[ROW, k] }\ns[ROW] = f32(a[])"),
    "a narrow index": (COUNTER, "s[ROW] = f32(f16(ROW)) * x[ROW]"),
    "cells without a closed form are not one cell": (
        INDEXED,
        "local c: i32[]\nlocal d: f32[]\nc[] = 0\nfor k < R { c[] = c[]*c[] + 1 }\nif c[] < R and c[] >= 0 {\n"
        "for q < R { c[] = c[]*c[] + 1 }\nd[] = x[c[]]\n}\ns[ROW] = x[ROW] + f32(idx[ROW])",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_is_not_proved(name: str) -> None:
    assert open_codes(program(*WRONG[name]))


def _with_body(op: str, *steps: Step) -> Program:
    """A program made in Python, past the checks of the reader."""
    made = program(op, "s[ROW] = 0")
    (launch,) = made.launches
    (guard,) = launch.body
    assert isinstance(guard, If)
    return replace(made, launches=(replace(launch, body=(replace(guard, body=steps),)),))


def _assign(target: str, value: Term, update: str = "", index: tuple[Term, ...] = ()) -> Assign:
    return Assign(target, index, value, update)


def _element(index: Term) -> Read:
    return Read("x", (Var("g") * 32 + Var("t"), index), "f32")


ZERO_VALUE = Const(0.0, "f32")
ACC = Read("a", (), "f32")
HERE = (Var("g") * 32 + Var("t"),)
STORE = _assign("s", ACC, index=HERE)
ILL_FORMED: dict[str, tuple[Step, ...]] = {
    "a loop inside a loop of its name": (
        Array("a", "f32", (), LOCAL),
        _assign("a", ZERO_VALUE),
        For(Axis("k", Const(3)), (For(Axis("k", Const(3)), (_assign("a", _element(Var("k")), "sum"),)),)),
        STORE,
    ),
    "a loop with the name of a size": (
        Array("a", "f32", (), LOCAL),
        _assign("a", ZERO_VALUE),
        For(Axis("R", Const(3)), (_assign("a", _element(Var("R")), "sum"),)),
        STORE,
    ),
    "an extent that varies": (
        Array("a", "f32", (), LOCAL),
        _assign("a", ZERO_VALUE),
        For(Axis("k", Const(3)), (For(Axis("q", Var("k")), (_assign("a", _element(Var("q")), "sum"),)),)),
        STORE,
    ),
    "a local declared twice": (Array("a", "f32", (), LOCAL), Array("a", "f32", (), LOCAL), _assign("a", ZERO_VALUE), STORE),
    "a local declared late": (_assign("a", ZERO_VALUE), Array("a", "f32", (), LOCAL), STORE),
    "a cell of another dtype": (
        Array("a", "f16", (), LOCAL),
        _assign("a", ZERO_VALUE),
        _assign("s", Read("a", (), "f16"), index=HERE),
    ),
    "a read of another dtype": (_assign("s", Read("x", (*HERE, Const(0)), "f16"), index=HERE),),
    "arithmetic across dtypes": (_assign("s", App("add", (ZERO_VALUE, Const(1, "i32")), "f32"), index=HERE),),
    "an input that is written": (_assign("x", ZERO_VALUE, index=(*HERE, Const(0))),),
    "the wrong rank": (_assign("s", ZERO_VALUE, index=(*HERE, Const(0))),),
    "a name from nowhere": (_assign("s", _element(Var("q")), index=HERE),),
    "a fold that hides an index": (_assign("s", Fold("sum", (Axis("t", Const(3)),), TRUE, _element(Var("t")), "f32"), index=HERE),),
}


@pytest.mark.parametrize("name", ILL_FORMED)
def test_nothing_is_said_of_what_is_no_program(name: str) -> None:
    made = _with_body(THREE, *ILL_FORMED[name])
    assert open_codes(made) == {"TG513"}


def test_a_program_made_in_python_is_proved_where_it_is_one() -> None:
    store = _assign("s", Read("x", HERE, "f32"), index=HERE)
    assert isinstance(check(_with_body(COPY, Array("a", "f32", (), LOCAL), store)), Proof)
