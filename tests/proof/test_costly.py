"""What is short to write and long to compute ends with a verdict: limits are in steps, and on what is multiplied out.

Comes in: specs with long products, deep sums of infinities, numbers without end. Goes out: a verdict, or TG161; never a wait.
"""

from __future__ import annotations

import pytest

from tinygpu import pipeline
from tinygpu.category.real import Beyond, of
from tinygpu.diagnostic import TinygpuError
from tinygpu.proof.check import Refutation, Unknown
from tinygpu.proof.kernel import FACTORS, affordable
from tinygpu.proof.kernel import Proof as Proved

GUARD = "g*64 + t < n"
PRODUCT = "*".join(f"(g*64 + t + {k})" for k in range(40))


def spec(steps: str, equation: str = "x[i]", dtype: str = "f32", grid: str = "ceil(n / 64)") -> str:
    return (
        f"op o(x: {dtype}[n]) -> (y: {dtype}[n]) {{ y[i] = {equation} }}\n"
        f"machine m : o {{\n  work grid = (g: {grid}), block = (t: 64)\n  program {{\n{steps}\n  }}\n}}\n"
    )


def store(value: str) -> str:
    return f"    y[g*64 + t] = ({value}) if {GUARD}"


LARGE = {
    "an index": spec(store(f"x[{PRODUCT}]")),
    "a power": spec(store("x[" + "*".join(["(g*64 + t)"] * 40) + "]")),
    "an index modulo": spec(store(f"x[({PRODUCT}) % n]")),
    "a guard": spec(f"    y[g*64 + t] = x[g*64 + t] if {GUARD} and {PRODUCT} >= 0"),
    "a condition": spec(store(f"x[g*64 + t] if {PRODUCT} >= 0 else 0")),
    "a bound of a loop": spec(f"    for k < {PRODUCT.replace('g*64 + t', 'n')} {{ {store('x[g*64 + t]').strip()} }}"),
    "a grid": spec(store("x[g*64 + t]"), grid=PRODUCT.replace("g*64 + t", "n")),
    "an equation": spec(store("x[0]"), equation=f"x[{PRODUCT.replace('g*64 + t', 'i')} | 0]"),
    "a precondition": spec(store("x[g*64 + t]")).replace(") {", ") where " + "*".join(["n"] * 60) + " >= 0 {", 1),
    "an index of data": spec(store("x[0]"), "x[" + "*".join(["x[i]"] * 40) + " | 0]", "i32"),
    "the shape of an array": spec(store("x[g*64 + t]")).replace("x: f32[n]", "x: f32[n], z: f32[" + "*".join(["n"] * 40) + "]"),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_product_of_indices_that_nobody_could_multiply_out_is_too_large(name: str) -> None:
    with pytest.raises(TinygpuError) as caught:
        pipeline.check(pipeline.load_text(LARGE[name]).machines[0])
    assert "TG161" in {d.code for d in caught.value.diagnostics}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["f32", "i32"])
def test_long_products_of_data_in_another_order_end(dtype: str) -> None:
    equation = " * ".join(f"(x[i] + {k})" for k in range(40))
    value = " * ".join(f"(x[g*64 + t] + {k})" for k in range(39, -1, -1))
    verdict = pipeline.check(pipeline.load_text(spec(store(value), equation, dtype)).machines[0])
    assert isinstance(verdict, (Proved, Unknown))


def test_what_the_solver_may_spend_depends_on_the_longest_product_alone() -> None:
    from tinygpu.category.term import App, Const, Read, Term

    x: Term = Read("x", (), "f32")

    def power(n: int) -> Term:
        return x if n == 1 else App("mul", (power(n - 1), x), "f32")

    long = [App("add", (power(n), Const(1.0, "f32")), "f32") for n in (1, FACTORS, 2 * FACTORS, 5 * FACTORS)]
    assert [affordable(1000, (one,)) for one in long] == [1000, 1000, 125, 8]
    assert affordable(1000, (App("div", (power(FACTORS), power(FACTORS)), "f32"),)) == 125


def test_a_sum_of_infinities_is_looked_at_once() -> None:
    verdict = pipeline.check(pipeline.load_text(spec(store(" + ".join(["exp(-inf)"] * 60) + " + x[g*64 + t]"))).machines[0])
    assert isinstance(verdict, Proved)


def test_numbers_without_end_are_beyond_the_exact_run() -> None:
    number = of(3)
    with pytest.raises(Beyond):
        for _ in range(40):
            number = number * number + 1
    small = of(1) / of(3)
    with pytest.raises(Beyond):
        for _ in range(40):
            small = small * small
    steps = "    local a: f32[]\n    a[] = x[g*64 + t] if " + GUARD + " else 0\n" + "    a[] = a[]*a[] + 1\n" * 30
    verdict = pipeline.check(pipeline.load_text(spec(steps + store("a[]"))).machines[0])
    assert isinstance(verdict, (Refutation, Unknown))


def test_the_smallest_sizes_are_not_sought_for_ever() -> None:
    many = " + ".join(f"(g*64 + t) // {k}" for k in range(2, 42))
    verdict = pipeline.check(pipeline.load_text(spec(store(f"x[{many}]"))).machines[0])
    assert isinstance(verdict, Refutation) and verdict.diagnostic.code == "TG203"


DOUBLINGS = {
    "a shuffle of a maximum": "for k < 5 { v[] += shuffle_down(max(v[], v[]), 1) }",
    "many shuffles": "\n".join(f"v[] += shuffle_down(max(v[], v[] + 1), {d})" for d in (16, 8, 4, 2, 1, 1, 2, 4)),
    "a square": "for k < 40 { v[] = v[] * v[] - v[] }",
    "a square in two loops": "for k < 30 { for l < 30 { v[] = v[] * v[] - v[] } }",
    "a choice": "for k < 30 { v[] = v[] * 2 if v[] > 1 else v[] * 3 }",
    "a condition": "for k < 30 { if v[] > 1 { v[] = v[] * 2 + v[] } }",
    "a flip": "\n".join(["v[] = v[] ^ (v[] * 3)"] * 20),
    "a quotient": "\n".join(["v[] = (v[] + 1) / v[]"] * 20),
    "a function": "\n".join(["v[] = log(v[]) * sqrt(v[])"] * 20),
    "an infinity": "\n".join(["v[] = max(v[], -inf) + v[]"] * 20),
    "two cells": "local w: f32[]\nw[] = v[]\nfor k < 30 { v[] = w[] + v[]\nw[] = v[] * w[] }",
    "shared cells": "shared s: f32[64]\ns[t] = v[]\nbarrier\nfor k < 6 { v[] = s[t] * s[(t + k) % 64]\nbarrier\ns[t] = v[]\nbarrier }",
}


@pytest.mark.parametrize("name", DOUBLINGS)
def test_a_value_that_doubles_again_and_again_ends(name: str) -> None:
    dtype = "i32" if "^" in DOUBLINGS[name] else "f32"
    steps = f"    local v: {dtype}[]\n    v[] = x[g*64 + t] if {GUARD} else 0\n{DOUBLINGS[name]}\n"
    verdict = pipeline.check(pipeline.load_text(spec(steps + store("v[]"), dtype=dtype)).machines[0])
    assert isinstance(verdict, (Refutation, Unknown))
