"""Digits put together are the number that they are digits of, and machines of many digits are proved.

Comes in: random sums of quotients and remainders; machines whose indices have many digits, run backwards, or come from one number.
Goes out: the same number at every point; proofs. The one idea: what the kernel decides without a solver is tried by brute force.
"""

from __future__ import annotations

import random

import pytest

from tinygpu.category.evaluate import evaluate
from tinygpu.category.linear import as_written, joined, polynomial
from tinygpu.category.term import Const, Term, Var
from tinygpu.pipeline import Proof, Refutation, check, load_text

MATRIX = "op f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] }"
LINE = "op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }"
CUBE = "op f(x: f32[A, B, C]) -> (y: f32[C, A, B]) { y[c, a, b] = x[a, b, c] }"
DIGITS = ", ".join(f"u{k}" for k in range(8))
RIGHT = {
    "ten digits": (LINE, f"work grid = (g), block = (t: 64)\ncompute i = (g, {DIGITS.replace(',', ': 2,')}: 2, t)\ntime {DIGITS}"),
    "three merged": (CUBE, "work grid = (g), block = (t: 64)\ncompute (c, a, b) = (g, t)"),
    "three merged, wide": (CUBE, "work grid = (g), block = (t: 64)\ncompute (c, a, b) = (g, t, v: 4)\nvector v"),
    "backwards in the block": (LINE, "work grid = (g: ceil(n / 16)), block = (t: 16)\ncompute i = g*16 + 15 - t"),
    "backwards in the grid": (LINE, "work grid = (g: ceil(n / 16)), block = (t: 16)\ncompute i = (ceil(n / 16) - 1 - g)*16 + t"),
    "a tile from one number": (
        MATRIX,
        "work grid = (a: ceil(M / 16), b: ceil(N / 16)), block = (t: 256)\ncompute i = a*16 + t // 16, j = b*16 + t % 16",
    ),
    "tiles from one number": (
        MATRIX,
        "work grid = (b: ceil(M / 16) * ceil(N / 16)), block = (t: 256)\n"
        "compute i = b // ceil(N / 16) * 16 + t // 16, j = b % ceil(N / 16) * 16 + t % 16",
    ),
}
TURNED = "(h // 8 + h // 4) % 2"  # the column of the square of four tiles that h is in
RIGHT["Hilbert's smallest curve"] = (
    MATRIX,
    "work grid = (gy: ceil(M / 32), gx: ceil(N / 32), h: 4), block = (ty: 16, tx: 16)\n"
    "compute i = gy*32 + h // 2 * 16 + ty, j = gx*32 + (h // 2 + h) % 2 * 16 + tx",
)
RIGHT["Hilbert's curve"] = (
    MATRIX,
    "work grid = (gy: ceil(M / 64), gx: ceil(N / 64), h: 16), block = (ty: 16, tx: 16)\n"
    f"compute i = gy*64 + (h // 8 * 2 + {TURNED} * (h // 2 % 2) + (1 - {TURNED}) * ((h // 2 + h + h // 8) % 2))*16 + ty,\n"
    f"  j = gx*64 + ({TURNED} * 2 + {TURNED} * ((h // 2 + h) % 2) + (1 - {TURNED}) * ((h // 2 + h // 8) % 2))*16 + tx",
)
WRONG = {
    "a curve that crosses itself": (
        MATRIX,
        "work grid = (gy: ceil(M / 32), gx: ceil(N / 32), h: 4), block = (ty: 16, tx: 16)\n"
        "compute i = gy*32 + h // 2 * 16 + ty, j = gx*32 + (h // 2 + h) % 2 * (h % 2) * 16 + tx",
    ),
    "a digit short": (LINE, "work grid = (g: ceil(n / 16)), block = (t: 16)\ncompute i = g*16 + 14 - t % 15"),
    "a tile too narrow": (
        MATRIX,
        "work grid = (a: ceil(M / 16), b: ceil(N / 16)), block = (t: 240)\ncompute i = a*16 + t // 16, j = b*16 + t % 16",
    ),
    "rows for columns": (
        MATRIX,
        "work grid = (b: ceil(M / 16) * ceil(N / 16)), block = (t: 256)\n"
        "compute i = b // ceil(M / 16) * 16 + t // 16, j = b % ceil(M / 16) * 16 + t % 16",
    ),
}


def some_sum(chance: random.Random) -> Term:
    """Digits of i and j with weights, some of them those of a numeral."""
    total: Term = Const(chance.randint(-3, 3))
    for _ in range(chance.randint(1, 5)):
        e = Var(chance.choice("ij")) + chance.randint(-2, 2) * Var("j")
        a, m, c = chance.choice((1, 2, 4)), chance.choice((2, 3, 4)), chance.choice((-2, 1, 3))
        total = total + e // (a * m) * (c * m) + e // a % m * (c if chance.random() < 0.8 else 1)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_what_is_put_together_is_the_same_number(seed: int) -> None:
    term = some_sum(random.Random(seed))
    short = as_written(joined(polynomial(term)))
    for i in range(-7, 26, 3):
        for j in range(-5, 12):
            assert evaluate(term, {"i": i, "j": j}) == evaluate(short, {"i": i, "j": j})


@pytest.mark.parametrize("name", RIGHT)
def test_it_is_proved(name: str) -> None:
    op, machine = RIGHT[name]
    verdict = check(load_text(f"{op}\nmachine m : f {{\n{machine}\n}}").machines[0])
    assert isinstance(verdict, Proof), verdict


@pytest.mark.parametrize("name", WRONG)
def test_it_is_refuted(name: str) -> None:
    op, machine = WRONG[name]
    verdict = check(load_text(f"{op}\nmachine m : f {{\n{machine}\n}}").machines[0])
    assert isinstance(verdict, Refutation), verdict
