"""What cancels is gone, and nothing else: a term and what is left of it have the same value, or neither has one.

Comes in: random terms of floats, integers of eight bits and folds, some of them over nothing. Goes out: a term of which something else is left.
The one idea: the judge of random programs evaluates terms exactly and knows none of these laws; and each law is seen at work.
"""

from __future__ import annotations

import random

import pytest

from tests.meaning.certain import is_undefined
from tests.meaning.equations import Plain
from tests.meaning.machine import equal
from tests.meaning.terms import evaluate
from tests.meaning.values import CannotJudge, number
from tinygpu.category.cancel import cancel
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var, lift, text, walk

COUNT = 4000
INF = float("inf")
FLOAT, BYTE, WIDE = "f32", "i8", "i32"
PLAIN = "u8"
VALUES = {FLOAT: [number(n) for n in (0, 1, -1, 2, 0.5, -3)], BYTE: [0, 1, -1, 2, 127, -128, 64], PLAIN: [0, 1, 2, 7, 8, 128, 255]}


class Cells(Plain):
    """The world of elements with one index."""

    def __init__(self, chance: random.Random) -> None:
        self.cells = {(name, at): chance.choice(VALUES[dtype]) for name, dtype in KNOWN.items() for at in range(3)}

    def read(self, read, index, env):
        return self.cells[read.tensor, index[0][0] if index else 0], True


KNOWN = {"x": FLOAT, "w": FLOAT, "b": BYTE, "c": BYTE, "p": PLAIN, "q": PLAIN}


def drawn(chance: random.Random, dtype: str, depth: int) -> Term:
    """A random term of a dtype."""
    if dtype == BOOL and depth == 0:
        return Const(chance.random() < 0.5, BOOL)
    if dtype != BOOL and (depth == 0 or chance.random() < 0.1):
        name = chance.choice("xw" if dtype == FLOAT else "pq" if dtype == PLAIN else "bc")
        number = (
            Const(chance.choice((0.0, 1.0, 2.0, INF, -INF)), FLOAT)
            if dtype == FLOAT
            else Const(chance.choice((0, 1, 2, 7, 255) if dtype == PLAIN else (0, 1, 2, -128)), dtype)
        )
        atom = Read(name, (), BYTE if dtype == WIDE else dtype)
        return number if chance.random() < 0.25 else App("cast", (atom,), WIDE) if dtype == WIDE else atom

    def inner(of: str = dtype) -> Term:
        return drawn(chance, of, depth - 1)

    if dtype == BOOL:
        of = chance.choice((FLOAT, BYTE, PLAIN))
        some: list[Term] = [App(chance.choice(("lt", "le", "gt", "ge", "eq", "ne")), (inner(of), inner(of)), BOOL)]
        some += [App(chance.choice(("and", "or")), (inner(), inner()), BOOL), App("not", (inner(),), BOOL)] if depth > 1 else []
        return chance.choice(some)
    a, b = inner(), inner()
    a = b if chance.random() < 0.2 else a
    ops = (
        ("add", "sub", "mul", "div", "min", "max")
        if dtype == FLOAT
        else ("add", "sub", "mul", "xor", "bitand", "bitor", "shl", "shr", "min", "max", "floordiv", "mod")
    )
    match chance.randrange(8):
        case 0:
            return App("select", (inner(BOOL), a, b), dtype)
        case 1:
            return App(
                chance.choice(("neg", "abs", "floor", "round", "tanh", "exp") if dtype == FLOAT else ("neg", "abs")), (a,), dtype
            )
        case 2:
            body = Read(
                chance.choice("xw" if dtype == FLOAT else "pq" if dtype == PLAIN else "bc"),
                (Var("k"),),
                BYTE if dtype == WIDE else dtype,
            )
            body = App("cast", (body,), WIDE) if dtype == WIDE else body
            body = chance.choice((body, body, inner(), drawn(chance, dtype, 0)))  # the last one may be a number, or an infinity
            return Fold(
                chance.choice(("sum", "prod", "max", "min")), (Axis("k", lift(chance.choice((0, 1, 3)))),), TRUE, body, dtype
            )
        case 3 if dtype == BYTE:
            return App("cast", (inner(WIDE),), BYTE)
    return App(chance.choice(ops), (a, b), dtype)


def valued(term: Term, cells: Cells):
    try:
        return evaluate(term, {}, cells)
    except CannotJudge:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_what_is_left_has_the_same_value(seed):
    chance, changed = random.Random(seed), 0
    for _ in range(COUNT // 4):
        term = drawn(chance, chance.choice((FLOAT, BYTE, PLAIN, BOOL)), chance.choice((1, 2, 3, 4)))
        left = cancel(term)
        changed += left != term
        divides = any(isinstance(t, App) and t.op in ("floordiv", "mod", "shl", "shr") for t in walk(term))
        for _ in range(4):
            cells = Cells(chance)
            one, other = valued(term, cells), valued(left, cells)
            if one is None or other is None:
                continue
            if is_undefined(one):
                assert divides or is_undefined(other), f"{text(term)} has no value, and {text(left)} has one at {cells.cells}"
            else:
                assert not is_undefined(other) and equal(one, other), (
                    f"{text(term)} is {one}, and {text(left)} is {other}, at {cells.cells}"
                )
    assert changed > COUNT // 40, "nothing was tried"


x, w, b, c, p, _ = (Read(name, (), dtype) for name, dtype in KNOWN.items())
most = Fold("max", (Axis("k", Var("n")),), TRUE, Read("x", (Var("k"),), FLOAT), FLOAT)
bytes_ = Read("b", (Var("k"),), BYTE)


def of(op: str, *args: Term, dtype: str = "") -> Term:
    return App(op, args, dtype or args[0].dtype)


def total_of(body: Term, monoid: str = "sum") -> Fold:
    return Fold(monoid, (Axis("k", Var("n")),), TRUE, body, body.dtype)


LAWS = (
    (of("sub", of("add", x, w), w), x), (of("add", x, of("mul", Const(0.0, FLOAT), w)), x), (of("div", of("mul", x, Const(2.0, FLOAT)), Const(2.0, FLOAT)), x),
    (of("sub", of("add", of("max", x, w), of("min", x, w)), w), x), (of("log", of("exp", x)), x), (of("tanh", of("sub", x, x)), Const(0.0, FLOAT)),
    (of("max", most, Const(-INF, FLOAT)), most), (of("neg", of("neg", most)), most), (of("exp", Const(-INF, FLOAT)), Const(0.0, FLOAT)),
    (of("div", x, Const(INF, FLOAT)), Const(0.0, FLOAT)), (of("xor", of("xor", b, c), c), b), (of("sub", of("add", b, c), c), b),
    (of("mul", of("mul", b, Const(16, BYTE)), Const(16, BYTE)), Const(0, BYTE)), (of("ge", of("max", x, w), x, dtype=BOOL), TRUE),
    (of("lt", x, Const(INF, FLOAT), dtype=BOOL), TRUE), (of("eq", of("sub", of("add", b, c), c), b, dtype=BOOL), TRUE),
    (of("cast", total_of(of("cast", bytes_, dtype=WIDE)), dtype=BYTE), total_of(bytes_)),
    (of("cast", of("min", Const(9, WIDE), total_of(of("cast", bytes_, dtype=WIDE), "min")), dtype=BYTE), of("min", Const(9, BYTE), total_of(bytes_, "min"))),
    (of("cast", of("cast", b, dtype=WIDE), dtype=FLOAT), of("cast", b, dtype=FLOAT)), (of("lt", of("mod", b, Const(3, BYTE)), Const(3, BYTE), dtype=BOOL), TRUE),
    (of("shr", p, Const(3, PLAIN)), of("floordiv", p, Const(8, PLAIN))), (of("shl", b, Const(7, BYTE)), of("mul", b, Const(-128, BYTE))),
    (of("bitand", Const(3, PLAIN), p), of("mod", p, Const(4, PLAIN))), (of("sub", of("shl", p, Const(1, PLAIN)), p), p),
)  # fmt: skip
KEPT = (  # what may be infinite, or may have no value, or wraps
    of("sub", most, most), of("mul", Const(0.0, FLOAT), most), of("sub", of("div", x, w), of("div", x, w)), of("log", of("exp", most)),
    of("eq", of("div", x, w), of("div", x, w), dtype=BOOL), of("lt", b, of("add", b, Const(1, BYTE)), dtype=BOOL), of("ge", of("mul", b, b), Const(0, BYTE), dtype=BOOL),
    of("ge", of("abs", b), Const(0, BYTE), dtype=BOOL), of("cast", total_of(of("cast", bytes_, dtype=WIDE), "min"), dtype=BYTE), of("lt", most, Const(INF, FLOAT), dtype=BOOL),
    of("cast", of("max", Const(9, WIDE), total_of(of("cast", bytes_, dtype=WIDE), "min")), dtype=BYTE),
)  # fmt: skip


@pytest.mark.parametrize(("term", "left"), LAWS, ids=[text(term) for term, _ in LAWS])
def test_each_law_is_at_work(term, left):
    assert cancel(term) == left


@pytest.mark.parametrize("term", KEPT, ids=map(text, KEPT))
def test_what_may_have_no_value_stays(term):
    assert cancel(term) == term
