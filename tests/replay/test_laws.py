"""Laws a second time: those of the built-in monoids are proved by both solvers, and each law is seen failing."""

import math
import random
from fractions import Fraction as Exact

import pytest

from tinygpu.replay.extended import Fraction, Infinite, NoValue, Path, paths, value
from tinygpu.replay.ir import FLOATS, Num, Op, Open, Var
from tinygpu.replay.laws import laws, ordered, stated, variable
from tinygpu.replay.read import read
from tinygpu.replay.smt import text
from tinygpu.replay.solve import answer

LSE = """monoid one(m: f32, s: f32) where s >= 0 {{
  unit    ({unit})
  lift    (x) = (x, {one})
  combine (a, b) = (max(a.m, b.m), {s})
}}
op f(x: f32[n]) -> (y: f32[]) where n >= 1 {{ (y[], w[]) = fold one[j] x[j] }}
machine m : f {{
  work grid = (), block = (t: 32)
  program {{ y[] = 0 if t == 0 }}
}}
"""
GUARDED = "(a.s if a.m >= b.m else a.s*exp(a.m - b.m)) + (b.s if b.m >= a.m else b.s*exp(b.m - a.m))"
BARE = "a.s*exp(a.m - max(a.m, b.m)) + b.s*exp(b.m - max(a.m, b.m))"


@pytest.fixture(autouse=True)
def _both_solvers():
    pytest.importorskip("cvc5")


def monoids(spec):
    return read(spec)[0].monoids


def failing(unit="-inf, 0", one="1", s=GUARDED):
    """The laws that are not proved by both."""
    found = laws(monoids(LSE.format(unit=unit, one=one, s=s))["one"], frozenset({-1}))
    said = {"unit of": "unit", "associative": "associative", "commutative": "commutative", "combines": "invariant", "lifts": "lift"}
    open_ = {c.sentence for c in found if not answer(text(c)).both}
    return {name for sentence in open_ for part, name in said.items() if part in sentence}


@pytest.mark.parametrize("name", ["argmax_f32", "argmin_f16", "argmax_i32", "argmin_u8", "logsumexp_f32", "welford_f32"])
def test_the_laws_of_the_built_in_ones_are_proved(name):
    ends = {"argmax_f32": {-1}, "argmin_f16": {1}, "logsumexp_f32": {-1}}.get(name, set())
    for claim in laws(monoids(LSE.format(unit="-inf, 0", one=1, s=GUARDED))[name], frozenset(ends)):
        assert answer(text(claim)).both, claim


def test_each_law_is_seen_failing():
    assert failing() == set()
    assert failing(s=BARE) == {"unit", "associative", "commutative", "invariant"}  # where both maxima are -inf
    assert failing(unit="0, 1", s=BARE) == {"unit", "lift"}  # -inf is no value of this carrier
    assert failing(one="-1") == {"lift"}
    assert failing(s="a.s") == {"unit"}  # it does not commute, so it has to keep its order
    assert ordered(monoids(LSE.format(unit="-inf, 0", one=1, s="a.s"))["one"])
    assert not ordered(monoids(LSE.format(unit="-inf, 0", one=1, s=BARE))["one"])
    assert failing(s="(a.s + b.s) / 2") == {"unit", "associative"}
    assert failing(s="a.s - b.s") == {"unit", "associative", "invariant"}
    assert failing(s=GUARDED.replace("exp(b.m - a.m)", "exp(a.m - b.m)")) == {"unit", "associative", "invariant"}
    assert failing(s=GUARDED.replace(">=", ">")) == {"unit", "associative", "commutative", "invariant"}  # of two -inf


def test_a_fold_whose_result_needs_an_element():
    """A mean of nothing has no value: the fold is over something, or that is open."""
    spec = """op f(x: f32[n]) -> (y: f32[]) {where} {{ (y[], v[]) = welford[j] x[j] }}
machine m : f {{
  work grid = (), block = (t: 32)
  program {{ y[] = 0 if t == 0 }}
}}
"""

    def wrong(where):
        (machine,) = read(spec.format(where=where))
        return {c.code for c in stated(machine) if isinstance(c, Open) or not answer(text(c)).both}

    assert wrong("where n >= 1") == set()
    assert wrong("") == {"TG532"}


def test_what_is_written_as_infinite_is_lifted_too():
    spec = LSE.format(unit="0, 0", one="1", s="a.s + b.s").replace("max(a.m, b.m)", "a.m + b.m").replace("x[j] }", "{x} }}")
    for body, wrong in (("x[j]", set()), ("(x[j] if x[j] > 0 else -inf)", {"what one lifts is a value of its carrier"})):
        (machine,) = read(spec.replace("{x} }}", f"{body} }}"))
        assert {c.sentence for c in stated(machine) if isinstance(c, Open) or not answer(text(c)).both} == wrong


def test_a_law_that_is_not_understood_is_open():
    (machine,) = read(LSE.format(unit="-inf, 0", one="1", s="sin(a.s) + sin(b.s)"))
    assert [type(c) for c in stated(machine)][-1] is Open


# ── one path is what happens ──


def number(term, env):
    """The plain meaning of what a path leaves."""
    match term:
        case Num(v):
            return Exact(v)
        case Var(name) if " of " in name:
            return Exact(2) ** int(env[name.split(" of ")[1]])  # any power will do
        case Var(name):
            return env[name]
        case Op(op, args):
            v = [number(a, env) for a in args]
            return {
                "add": lambda: v[0] + v[1], "sub": lambda: v[0] - v[1], "mul": lambda: v[0] * v[1], "div": lambda: v[0] / v[1],
                "neg": lambda: -v[0], "eq": lambda: v[0] == v[1], "ne": lambda: v[0] != v[1], "le": lambda: v[0] <= v[1],
                "lt": lambda: v[0] < v[1], "not": lambda: not v[0],
            }[op]()  # fmt: skip


def plain(term, env):
    """A term of a law with numbers and infinities of Python, where `exp` is a power of 2; nan is no value."""
    match term:
        case Num(v):
            return float(v)
        case Var(name):
            return env[name]
        case Op("inf" | "-inf" as sign, ()):
            return float(sign)
        case Op("select", (c, a, b)):
            return plain(a if plain(c, env) else b, env)
        case Op("exp", (a,)):
            return 2.0 ** plain(a, env)
    a, *more = (plain(x, env) for x in term.args)
    b = more[0] if more else 0
    if term.op == "div":
        return math.nan if b == 0 else a / b
    return {"add": a + b, "sub": a - b, "mul": a * b, "neg": -a, "min": min(a, b), "max": max(a, b), "le": a <= b, "lt": a < b,
            "ge": a >= b, "gt": a > b, "eq": a == b, "ne": a != b}[term.op]  # fmt: skip


@pytest.mark.parametrize("name", ["logsumexp_f32", "welford_f32", "argmax_f32", "bare"])
def test_every_point_lies_on_one_path_and_has_its_value_there(name):
    """Of all paths the comparisons of one hold at a point, and what it gives is what Python computes."""
    chance = random.Random(3)
    monoid = monoids(LSE.format(unit="-inf, 0", one=1, s=BARE))["one" if name == "bare" else name]
    parts = [(f"{s}.{c}", d, isinstance(u, Op)) for s in "ab" for (c, d), u in zip(monoid.components, monoid.unit, strict=True)]
    for _ in range(60):
        point = {n: Infinite(-1) if may and chance.random() < 0.3 else chance.randrange(0, 4) for n, _, may in parts}
        env = {n: point[n] if isinstance(point[n], Infinite) else variable(n, d) for n, d, _ in parts}
        numbers = {n: Exact(v) for n, v in point.items() if not isinstance(v, Infinite)}
        floats = {n: -math.inf if isinstance(v, Infinite) else float(v) for n, v in point.items()}
        for term in monoid.combine:
            if term.dtype not in FLOATS:
                continue
            here = [
                (p, v)
                for p, v in paths(lambda p, term=term, env=env: value(term, env, p))
                if all(number(f, numbers) for f in p.facts)
            ]
            assert len(here) == 1
            wanted, (_, found) = plain(term, floats), here[0]
            match found:
                case None:
                    assert math.isnan(wanted)
                case Infinite(sign):
                    assert wanted == sign * math.inf
                case Fraction(above, below):
                    assert number(above, numbers) / number(below, numbers) == pytest.approx(wanted)


def test_infinities_have_no_difference():
    a, b = Infinite(1), Infinite(1)
    minus = Op("sub", (Var("a", "f32"), Var("b", "f32")), "f32")
    with pytest.raises(NoValue):
        value(minus, {"a": a, "b": b}, Path([]))
