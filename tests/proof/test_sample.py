"""Points that are tried before a solver multiplies out: what holds has none, and a wrong sign among long products is seen at once.

Comes in: machines of the library, an inverse of matrices that is written out. Goes out: nothing, or a theorem with a point against it. The one idea: such a
point makes a claim open, so one of a theorem would be an error of the arithmetic here.
"""

from __future__ import annotations

import random

import pytest

from tests.conftest import ROOT
from tests.program.library import loaded
from tinygpu.category.evaluate import number
from tinygpu.category.term import App, Const, Term, Var
from tinygpu.obligations.obligation import Obligation
from tinygpu.pipeline import Proof, Refutation, check, load_text
from tinygpu.proof.kernel import LONG, MANY, Theorem, _factors
from tinygpu.proof.sample import Beyond, _Point, counterpoint


@pytest.mark.parametrize("spec", ["rotary", "fft", "welford", "gradients", "optimisers", "quantised", "philox"])
def test_no_theorem_has_a_point_against_it(spec: str) -> None:
    theorems: list[Theorem] = []
    for machine in loaded(spec).spec.machines[:6]:
        found = check(machine)
        assert isinstance(found, Proof)
        theorems += found.theorems
    claims = {t.claim for t in theorems if isinstance(t.claim, Obligation)}
    assert any(_factors(c.goal) >= MANY or c.goal.parts >= LONG for c in claims)
    assert not [c.title for c in claims if counterpoint(c.hypotheses, c.goal) is not None]


def inverse(sign: str) -> str:
    """The inverse of 4 × 4 matrices by cofactors, and a machine that computes it from products of two rows, one of them with that sign."""

    def minor(i: int, j: int) -> str:
        r, c = ([n for n in range(4) if n != without] for without in (i, j))
        cell = [[f"x[b, {p}, {q}]" for q in c] for p in r]
        two = [f"({cell[1][p]}*{cell[2][q]} - {cell[1][q]}*{cell[2][p]})" for p, q in ((1, 2), (0, 2), (0, 1))]
        return f"({cell[0][0]}*{two[0]} - {cell[0][1]}*{two[1]} + {cell[0][2]}*{two[2]})"

    lines = [f"c{i}{j}[b] = {'-' * ((i + j) % 2)}{minor(j, i)}" for i in range(4) for j in range(4)]
    lines.append("det[b] = " + " + ".join(f"x[b, 0, {k}]*c{k}0[b]" for k in range(4)))
    lines += [f"y{i}{j}[b] = c{i}{j}[b] / det[b]" for i in range(4) for j in range(4)]
    outputs = ", ".join(f"y{i}{j}: f32[B]" for i in range(4) for j in range(4))
    op = f"op inverse(x: f32[B, 4, 4]) -> ({outputs}) {{\n  " + "\n  ".join(lines) + "\n}\n"
    cells = [f"a{i}{j}" for i in range(4) for j in range(4)]
    pairs = ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    steps = [f"a{i}{j}[] = x[g*128 + t, {i}, {j}]" for i in range(4) for j in range(4)]
    for name, row in (("s", 0), ("c", 2)):
        steps += [f"{name}{p}{q}[] = a{row}{p}[]*a{row + 1}{q}[] - a{row}{q}[]*a{row + 1}{p}[]" for p, q in pairs]
        cells += [f"{name}{p}{q}" for p, q in pairs]
    steps.append("d[] = s01[]*c23[] - s02[]*c13[] + s03[]*c12[] + s12[]*c03[] - s13[]*c02[] + s23[]*c01[]")
    for i in range(4):
        for j in range(4):
            p, q, r = (n for n in range(4) if n != i)
            other, pair = (j + 1 - 2 * (j % 2), "c" if j < 2 else "s")
            odd = (i + j) % 2
            first = f"a{other}{p}[]*{pair}{q}{r}[] - a{other}{q}[]*{pair}{p}{r}[] + a{other}{r}[]*{pair}{p}{q}[]"
            minus = sign if (i, j) == (3, 3) else "-" if odd else ""
            steps.append(f"y{i}{j}[g*128 + t] = {minus}({first}) / d[]")
    local = ", ".join(f"{name}: f32[]" for name in [*cells, "d"])
    body = "\n    ".join([f"local {local}", *steps])
    return (
        op
        + f"machine hand : inverse where B % 128 == 0 {{\n  work grid = (g: B // 128), block = (t: 128)\n  program {{\n    {body}\n  }}\n}}\n"
    )


def test_a_wrong_sign_among_long_products_is_refuted_at_once() -> None:
    (right,), (wrong,) = (load_text(inverse(sign)).spec.machines for sign in ("", "-"))
    assert isinstance(check(right), Proof)
    found = check(wrong, time=30)
    assert isinstance(found, Refutation) and found.diagnostic.code == "TG502"


@pytest.mark.parametrize("old, new", [("b[] = f[] * N", ""), ("d[] = e[] * M", "d[] = e[] * N"), ("mix(f[], N", "mix(f[], M")])
def test_bits_that_are_mixed_otherwise_are_seen_at_once(old: str, new: str) -> None:
    """No solver is asked whether two ways through ten rounds of products and exclusive ors are one."""
    text = (ROOT / "specs" / "philox.tgpu").read_text(encoding="utf-8")
    start = text.index("machine philox_thread")
    wrong = text[:start] + text[start:].replace(old, new, 1)
    (made,) = (m for m in load_text(wrong).machines if m.name == "philox_thread")
    found = check(made, budget=1)
    assert isinstance(found, Refutation) and found.diagnostic.code == "TG502"


def test_integers_are_those_of_their_machine() -> None:
    """Against the plainest interpreter, where both have a value."""
    chance, names = random.Random(5), ("a", "b")
    met = 0
    for _ in range(400):
        dtype = chance.choice(("u8", "u32", "u64", "i32"))
        term: Term = Var("a", dtype)
        for _ in range(chance.randint(1, 5)):
            op = chance.choice(("add", "sub", "mul", "xor", "bitand", "bitor", "min", "max", "floordiv", "mod", "shr", "shl"))
            other = chance.choice((Var("b", dtype), Const(chance.randint(0, 7), dtype)))
            term = App(op, (term, other), dtype) if chance.random() < 0.8 else App(op, (other, term), dtype)
        there = _Point({}, random.Random(chance.random()))
        try:
            got = there.value(term)
        except Beyond:
            continue
        met += 1
        assert got == number(term, {name: int(there.value(Var(name, dtype))) for name in names}), term
    assert met > 150


@pytest.mark.parametrize("op, by", [("shl", 32), ("shr", 40), ("shl", 1 << 31), ("floordiv", 0), ("mod", 0)])
def test_what_has_no_value_is_no_point_against_anything(op: str, by: int) -> None:
    x = Var("x", "u32")
    there = App(op, (x, Const(by, "u32")), "u32")
    assert counterpoint((), App("eq", (there, x), "bool")) is None
    assert counterpoint((), App("eq", (App(op, (x, Const(1, "u32")), "u32"), App("add", (x, there), "u32")), "bool")) is None
