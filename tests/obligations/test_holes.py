"""Programs that are wrong in ways that once were, or could have been, proved; and right ones beside them that must be proved.

Comes in: texts. Goes out: verdicts. The one idea: a hole that was found stays a test, with the smallest program that fell through it.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.obligations.texts import COPY, MAX, SUM, open_codes, program
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var
from tinygpu.program.step import Assign, For, If, Local, Program, Step
from tinygpu.proof.check import check
from tinygpu.proof.kernel import Proof

THREE = "op three(x: f32[R, 3]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }"
EIGHT = "op eight(x: f32[R, 8]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }"
LAST = "op last(x: f32[R, N]) -> (s: f32[R]) where N >= 1 { s[r] = x[r, N - 1] }"
TAIL = "op tail(x: f32[R, 9]) -> (s: f32[R]) { s[r] = sum[j] (x[r, j] if j >= 5 and j < 8 else 0) }"
PREFIX = "op prefix(x: f32[R, N]) -> (s: f32[R, N]) { s[r, i] = sum[j] (x[r, j] if j <= i else 0) }"
PRODUCT = "op product(x: f16[R], y: f16[R]) -> (s: f32[R]) { s[r] = f32(x[r]) * f32(y[r]) }"
FOUR = "op four(x: f16[R, 4]) -> (s: f32[R]) { s[r] = sum[j] f32(x[r, j]) }"
SCALED = "op scaled(x: f32[R]) -> (s: f32[R]) { s[r] = x[r] * 0.1 }"
COUNTER = "op counter(x: f32[R]) -> (s: f32[R]) { s[r] = f32(r) * x[r] }"
BYTES = "op bytes(x: u8[R, N]) -> (s: i32[R]) { s[r] = sum[j] i32(x[r, j]) }"
QUOTIENT = "op quotient(x: i32[R]) -> (s: i32[R]) { s[r] = 3 // x[r] if x[r] > 0 else 0 }"
ZERO = "op zero(x: f32[R]) -> (s: f32[R]) { s[r] = x[r] * 0 }"
INTEGER = "op integer(x: i32[R, N]) -> (s: i32[R]) where N >= 1 { s[r] = max[j] x[r, j] }"
PLACE = "op place(x: f32[R, N]) -> (s: i32[R]) where N >= 1 { s[r] = argmax[j] x[r, j] }"
BOTH = "op both(x: f32[R, N], y: f32[R, N]) -> (s: f32[R]) { s[r] = (sum[j] x[r, j]) - (sum[j] y[r, j]) }"
NESTED = "op nested(x: f32[R, N, M]) -> (s: f32[R]) { s[r] = max[j] sum[k] x[r, j, k] }"
CASES = "op cases(x: f32[R, N]) -> (s: f32[R]) { s[r] = (sum[j] x[r, j]) if (sum[j] x[r, j]) > 0 else 1 }"
INDEXED = "op indexed(x: f32[R], idx: i32[R]) -> (s: f32[R]) { s[r] = x[r] + f32(idx[r]) }"

STAGED = "op staged(x: f32[R]) -> (s: f32[R]) { y[r] = x[r] * x[r]\ns[r] = y[r] + 1 }"

WRONG = {
    "a neighbour is no cell of its own": (
        SUM,
        "local a: f32[2]\na[0] = 0\na[1] = 0\nfor k < N { a[0] = a[1] + x[ROW, k] }\ns[ROW] = a[0]",
    ),
    "a shift forgets the last": (
        LAST,
        "local a: f32[2]\na[0] = 0\na[1] = 0\nfor k < N { a[0] = a[1]\na[1] = x[ROW, k] }\ns[ROW] = a[0]",
    ),
    "loops of one name": (
        THREE,
        "local a: f32[]\nlocal b: f32[]\na[] = 0\nfor k < 3 { a[] += x[ROW, k] }\nb[] = 0\nfor k < 3 { b[] = b[] + a[] }\ns[ROW] = b[]",
    ),
    "a prefix of a prefix": (
        TAIL,
        "local a: f32[]\nlocal b: f32[]\na[] = 0\nb[] = 0\nfor k < 9 { b[] += a[]\na[] += x[ROW, k] if k >= 5 }\ns[ROW] = b[]",
    ),
    "aliased cells overwritten": (
        EIGHT,
        "local a: f32[4]\nfor i < 4 { a[i] = 0 }\nfor k < 8 { a[k // 2] = x[ROW, k] }\ns[ROW] = a[0] + a[1] + a[2] + a[3]",
    ),
    "a narrow product": (PRODUCT, "s[ROW] = f32(x[ROW] * y[ROW])"),
    "a narrow sum": (FOUR, "local a: f16[]\na[] = 0\nfor k < 4 { a[] += x[ROW, k] }\ns[ROW] = f32(a[])"),
    "a narrow literal": (SCALED, "local c: f16[]\nc[] = 0.1\ns[ROW] = x[ROW] * f32(c[])"),
    "a narrow index": (COUNTER, "s[ROW] = f32(f16(ROW)) * x[ROW]"),
    "a byte that wraps": (BYTES, "local a: u8[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = i32(a[])"),
    "a multiple of a byte wraps": (
        "op rest(x: u8[R]) -> (s: u8[R]) { s[r] = (x[r] * 3) % 3 }",
        "s[ROW] = 0 * x[ROW]",
    ),
    "a multiple of an integer wraps": (
        "op rest(x: i32[R]) -> (s: i32[R]) { s[r] = (x[r] * 3) % 3 }",
        "s[ROW] = 0 * x[ROW]",
    ),
    "an unwritten cell, dropped": (COPY, "local a: f32[]\nlocal b: f32[]\nb[] = a[]\ns[ROW] = x[ROW]"),
    "an unwritten cell, updated and dropped": (COPY, "local a: f32[]\na[] += x[ROW]\ns[ROW] = x[ROW]"),
    "a division, dropped": (QUOTIENT, "local a: i32[]\na[] = 3 // x[ROW]\ns[ROW] = a[] if x[ROW] > 0 else 0"),
    "infinities that meet": (ZERO, "local a: f32[]\na[] = inf if x[ROW] > 0 else 1\ns[ROW] = x[ROW]*0 + (a[] - a[])"),
    "infinities through a maximum": (ZERO, "local a: f32[]\na[] = inf\ns[ROW] = x[ROW]*0 + (max(a[], x[ROW]) - max(a[], x[ROW]))"),
    "logarithms of anything": (ZERO, "s[ROW] = x[ROW]*0 + (log(x[ROW] - 3) - log(x[ROW] - 3))"),
    "a condition that divides by a size": (COPY, "s[ROW] = x[ROW] if ROW // (R - 1) >= 0 else 0"),
    "no maximum of nothing": (INTEGER, "local a: i32[]\na[] = 0\nfor k < N { a[] max= x[ROW, k] }\ns[ROW] = a[]"),
    "a maximum that starts at 0": (MAX, "local a: f32[]\na[] = 0\nfor k < N { a[] max= x[ROW, k] }\ns[ROW] = a[]"),
    "a maximum without the first": (MAX, "local a: f32[]\na[] = -inf\nfor k < N { a[] max= x[ROW, k] if k > 0 }\ns[ROW] = a[]"),
    "a sum of everything twice": (SUM, "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k]\na[] += x[ROW, k] }\ns[ROW] = a[]"),
    "reset in the loop": (SUM, "local a: f32[]\na[] = 0\nfor k < N { a[] = 0\na[] += x[ROW, k] }\ns[ROW] = a[]"),
    "two folds the other way": (
        BOTH,
        "local a: f32[]\nlocal b: f32[]\na[] = 0\nb[] = 0\nfor k < N { a[] += y[ROW, k]\nb[] += x[ROW, k] }\ns[ROW] = a[] - b[]",
    ),
    "not reset between rows": (
        NESTED,
        "local a: f32[]\nlocal b: f32[]\na[] = -inf\nb[] = 0\n"
        "for j < N { for k < M { b[] += x[ROW, j, k] }\na[] max= b[] }\ns[ROW] = a[]",
    ),
    "stored too early": (PREFIX, "local a: f32[]\na[] = 0\nfor k < N { s[ROW, k] = a[]\na[] += x[ROW, k] }"),
    "the wrong case at zero": (CASES, "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = a[] if a[] >= 0 else 1"),
    "said and never so": (SUM, "local a: f32[]\na[] = 0\na[] holds sum[q < N] x[ROW, q]\ns[ROW] = a[]"),
    "said in a loop that may not run": (
        SUM,
        "local a: f32[]\na[] = 0\nfor k < N // 4 { a[] holds sum[q < N] x[ROW, q] }\ns[ROW] = a[]",
    ),
    "said under a guard": (SUM, "local a: f32[]\na[] = 0\nif ROW < 0 { a[] holds sum[q < N] x[ROW, q] }\ns[ROW] = a[]"),
    "a store in a loop that may not run": (
        SUM,
        "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k]\ns[ROW] = a[] if k == N - 1 }",
    ),
    "iterations one by one, one of them wrong": (
        EIGHT,
        "local a: f32[4]\nfor i < 4 { a[i] = 0 }\nfor k < 8 {\nif k != 5 { for u < 1 { a[k // 2] = x[ROW, k] + a[k // 2] } }\n"
        "a[0] holds a[0]\n}\ns[ROW] = a[0] + a[1] + a[2] + a[3]",
    ),
    "an intermediate of the neighbour": (STAGED, "s[ROW] = x[ROW] * x[ROW] + (2 if ROW > 0 else 1)"),
    "cells without a closed form are not one cell": (
        INDEXED,
        "local c: i32[]\nlocal d: f32[]\nc[] = 0\nfor k < R { c[] = c[]*c[] + 1 }\nif c[] < R and c[] >= 0 {\n"
        "for q < R { c[] = c[]*c[] + 1 }\nd[] = x[c[]]\n}\ns[ROW] = x[ROW] + f32(idx[ROW])",
    ),
}
RIGHT = {
    "two stores that share the work": (COPY, "s[ROW] = x[ROW] if t < 3\ns[ROW] = x[ROW] if t >= 3"),
    "aliased cells": (
        EIGHT,
        "local a: f32[4]\nfor i < 4 { a[i] = 0 }\nfor k < 8 { a[k // 2] = x[ROW, k] + a[k // 2] }\ns[ROW] = a[0] + a[1] + a[2] + a[3]",
    ),
    "a prefix": (PREFIX, "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k]\ns[ROW, k] = a[] }"),
    "a maximum that looks twice": (
        MAX,
        "local a: f32[]\na[] = -inf\nfor k < N { a[] max= x[ROW, k]\na[] max= x[ROW, k] }\ns[ROW] = a[]",
    ),
    "a cell of one place, added to plainly": (
        SUM,
        "local a: f32[1]\na[0] = 0\nfor k < N { a[0] = a[0] + x[ROW, k] }\ns[ROW] = a[0]",
    ),
    "a clamped index under a maximum": (
        MAX,
        "local a: f32[]\na[] = -inf\nfor c < ceil(N / 4) { for u < 4 in register { a[] max= x[ROW, min(4*c + u, N - 1)] } }\n"
        "s[ROW] = a[] if N >= 1 else -inf",
    ),
    "several terms at once, in a loop": (
        "op total(x: f32[R, 2*N]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }",
        "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, 2*k] + x[ROW, 2*k + 1] }\ns[ROW] = a[]",
    ),
    "a clamped index under an argmax": (
        PLACE,
        "local a: argmax_f32[]\na[] = argmax_f32(-inf, 2147483647)\nfor c < ceil(N / 4) { for u < 4 in register { "
        "a[] argmax_f32= argmax_f32(x[ROW, min(4*c + u, N - 1)], i32(min(4*c + u, N - 1))) } }\ns[ROW] = a[].k",
    ),
    "an integer maximum from the first": (
        INTEGER,
        "local a: i32[]\na[] = x[ROW, 0]\nfor k < N { a[] max= x[ROW, k] }\ns[ROW] = a[]",
    ),
    "two folds": (
        BOTH,
        "local a: f32[]\nlocal b: f32[]\na[] = 0\nb[] = 0\nfor k < N { a[] += x[ROW, k]\nb[] += y[ROW, k] }\ns[ROW] = a[] - b[]",
    ),
    "a fold of folds": (
        NESTED,
        "local a: f32[]\nlocal b: f32[]\na[] = -inf\nfor j < N { b[] = 0\nfor k < M { b[] += x[ROW, j, k] }\na[] max= b[] }\ns[ROW] = a[]",
    ),
    "a case of a fold": (CASES, "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = a[] if a[] > 0 else 1"),
    "a division that the equation makes": (
        "op ratio(x: u32[R], y: u32[R]) -> (s: u32[R]) where all[r] (x[r] >= 1) { s[r] = y[r] // x[r] }",
        "local a: u32[]\na[] = y[ROW] // x[ROW]\ns[ROW] = a[]",
    ),
    "a division of what is promised to be natural": (
        "op ratio(x: i32[R], y: i32[R]) -> (s: i32[R]) where all[r] (x[r] > 0 and y[r] >= 0) { s[r] = y[r] // x[r] }",
        "s[ROW] = y[ROW] // x[ROW]",
    ),
    "a division under its guard": (QUOTIENT, "local a: i32[]\na[] = 0\nif x[ROW] > 0 { a[] = 3 // x[ROW] }\ns[ROW] = a[]"),
    "iterations one by one": (
        EIGHT,
        "local a: f32[4]\nfor i < 4 { a[i] = 0 }\nfor k < 8 {\nif k != 9 { for u < 1 { a[k // 2] = x[ROW, k] + a[k // 2] } }\n"
        "a[0] holds a[0]\n}\ns[ROW] = a[0] + a[1] + a[2] + a[3]",
    ),
    "an intermediate, put in": (STAGED, "s[ROW] = x[ROW] * x[ROW] + 1"),
    "said by induction": (
        SUM,
        "local a: f32[]\na[] = 0\nfor k < N { a[] holds sum[q < N] (x[ROW, q] if q < k else 0)\na[] += x[ROW, k] }\ns[ROW] = a[]",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_is_not_proved(name: str) -> None:
    assert open_codes(program(*WRONG[name]))


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_is_proved(name: str) -> None:
    assert not open_codes(program(*RIGHT[name]))


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
        Local("a", "f32", ()),
        _assign("a", ZERO_VALUE),
        For(Axis("k", Const(3)), (For(Axis("k", Const(3)), (_assign("a", _element(Var("k")), "sum"),)),)),
        STORE,
    ),
    "a loop with the name of a size": (
        Local("a", "f32", ()),
        _assign("a", ZERO_VALUE),
        For(Axis("R", Const(3)), (_assign("a", _element(Var("R")), "sum"),)),
        STORE,
    ),
    "an extent that varies": (
        Local("a", "f32", ()),
        _assign("a", ZERO_VALUE),
        For(Axis("k", Const(3)), (For(Axis("q", Var("k")), (_assign("a", _element(Var("q")), "sum"),)),)),
        STORE,
    ),
    "a local declared twice": (Local("a", "f32", ()), Local("a", "f32", ()), _assign("a", ZERO_VALUE), STORE),
    "a local declared late": (_assign("a", ZERO_VALUE), Local("a", "f32", ()), STORE),
    "a cell of another dtype": (Local("a", "f16", ()), _assign("a", ZERO_VALUE), _assign("s", Read("a", (), "f16"), index=HERE)),
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
    assert isinstance(check(_with_body(COPY, Local("a", "f32", ()), store)), Proof)
