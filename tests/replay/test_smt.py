"""The text of a claim says what the term means: it agrees with plain integers, and lemmas that it adds are theorems."""

import random
from fractions import Fraction

import pytest

from tinygpu.replay.ir import BOOL, INDEX, RANGES, ZERO, Axis, Claim, Fold, Inhabited, Num, Op, Read, Unsupported, Var, compare
from tinygpu.replay.smt import text
from tinygpu.replay.solve import answer

NAMES = ("i", "j", "n")
BINARY = ("add", "sub", "mul", "floordiv", "mod", "ceildiv", "min", "max", "xor")


def random_term(chance, depth):
    if depth == 0:
        return Var(chance.choice(NAMES)) if chance.random() < 0.6 else Num(chance.randrange(1, 9))
    match chance.choice((*BINARY, "abs", "neg", "wrap", "select")):
        case "abs" | "neg" as op:
            return Op(op, (random_term(chance, depth - 1),), INDEX)
        case "wrap":
            dtype = chance.choice(("i8", "u8", "i32"))
            inner = Op("mul", (random_term(chance, depth - 1), Num(37)), INDEX)
            return Op("integer", (Op("wrap", (inner,), dtype),), INDEX)
        case "select":
            a, b, c, d = (random_term(chance, depth - 1) for _ in range(4))
            return Op("select", (Op(chance.choice(("lt", "ge", "eq", "ne")), (a, b), BOOL), c, d), INDEX)
        case op:
            return Op(op, (random_term(chance, depth - 1), random_term(chance, depth - 1)), INDEX)


def value(term, env):
    """The plain meaning; None where a division is by less than 1 or a `^` is of a negative number."""
    match term:
        case Num(number):
            return number
        case Var(name):
            return env[name]
        case Op(op, args, dtype):
            v = [value(a, env) for a in args]
            if any(x is None for x in v):
                return None
            return meaning(op, v, dtype)


def meaning(op, v, dtype):
    if op in ("floordiv", "mod", "ceildiv") and v[1] < 1:
        return None
    if op == "xor" and (min(v) < 0 or max(v) >= 2**16):
        return None
    match op:
        case "wrap":
            low, high = RANGES[dtype]
            return (v[0] - low) % (high - low + 1) + low
        case "integer":
            return v[0]
        case "select":
            return v[1] if v[0] else v[2]
        case "abs":
            return abs(v[0])
        case "neg":
            return -v[0]
        case "min" | "max":
            return {"min": min, "max": max}[op](v)
    a, b = v
    return {
        "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "floordiv": lambda: a // b, "mod": lambda: a % b,
        "ceildiv": lambda: -(-a // b), "xor": lambda: a ^ b, "lt": lambda: a < b, "ge": lambda: a >= b, "eq": lambda: a == b,
        "ne": lambda: a != b,
    }[op]()  # fmt: skip


def test_terms_mean_what_they_say():
    """Every term has the value that Python gives it, and no other, also by its lemmas."""
    chance, tried = random.Random(1), 0
    while tried < 60:
        env = {name: chance.randrange(0, 40) for name in NAMES}
        term = random_term(chance, chance.randrange(1, 4))
        wanted = value(term, env)
        if wanted is None:
            continue
        tried += 1
        facts = tuple(compare("eq", Var(name), Num(number)) for name, number in env.items())
        right = answer(text(Claim("", "", "", (), facts, compare("eq", term, Num(wanted)))))
        wrong = answer(text(Claim("", "", "", (), facts, compare("eq", term, Num(wanted + 1)))))
        assert right.both, (term, env, wanted)
        if term != Num(wanted):
            assert wrong.z3 == wrong.cvc5 == "false", (term, env, wanted)


def test_lemmas_contradict_nothing():
    """Products and digits are said to be what they are: with all of them there is still a model."""
    i, j, n, m = map(Var, ("i", "j", "n", "m"))
    products = [Op("mul", pair, INDEX) for pair in ((i, n), (j, n), (m, n), (i, m))]
    digits = [Op(op, (p, n), INDEX) for p in products for op in ("floordiv", "mod")]
    facts = tuple(compare("ge", t, Num(1)) for t in (i, j, n, m, *products, *digits[::4]))
    assert answer(text(Inhabited("", "", "", (), facts)), exists=True).z3 == "proved"


def test_rows_do_not_overlap():
    """`i·n + j` is one to one: what the lemmas are for."""
    i, j, k, m, n = map(Var, ("i", "j", "k", "m", "n"))
    one, two = (Op("add", (Op("mul", (a, n), INDEX), b), INDEX) for a, b in ((i, j), (k, m)))
    axes = tuple(Axis(name, n) for name in ("j", "m"))
    goal = Op("and", (compare("eq", i, k), compare("eq", j, m)), BOOL)
    assert answer(text(Claim("", "", "", axes, (compare("eq", one, two),), goal))).both
    assert answer(text(Claim("", "", "", axes[:1], (compare("eq", one, two),), goal))).z3 == "false"


def test_integers_of_data_are_in_their_range():
    x = Op("integer", (Read("x", (Var("i"),), "u8"),), INDEX)
    assert answer(text(Claim("", "", "", (), (), compare("lt", x, Num(256))))).both
    assert answer(text(Claim("", "", "", (), (), compare("lt", x, Num(255))))).cvc5 == "false"


def test_floats_are_real_numbers():
    x = Read("x", (Var("i"),), "f32")
    half = Op("mul", (x, Num(Fraction(1, 2), "f32")), "f32")
    assert answer(text(Claim("", "", "", (), (), compare("eq", Op("add", (half, half), "f32"), x)))).both


def test_unknown_functions_are_functions_and_nothing_else():
    x, y = Var("x", "f32"), Var("y", "f32")
    exp = [Op("exp", (v,), "f32") for v in (x, y)]
    assert answer(text(Claim("", "", "", (), (compare("eq", x, y),), compare("eq", *exp)))).both
    assert answer(text(Claim("", "", "", (), (), compare("gt", exp[0], Num(0, "f32"))))).z3 == "false"


def test_values_of_several_components_have_a_sort():
    a, b = Var("a", "lse"), Var("b", "lse")
    parts = [Op("part.m", (v,), "f32") for v in (a, b)]
    assert answer(text(Claim("", "", "", (), (compare("eq", a, b),), compare("eq", *parts)))).both
    assert answer(text(Claim("", "", "", (), (compare("eq", *parts),), compare("eq", a, b)))).z3 == "false"


def test_a_fold_is_no_formula():
    fold = Fold("sum", (Axis("k", Var("n")),), Num(True, BOOL), Num(1, "f32"), "f32")
    with pytest.raises(Unsupported):
        text(Claim("", "", "", (), (), compare("ge", fold, Num(0, "f32"))))


def test_what_is_said_of_an_empty_range_is_not_inhabited():
    assert answer(text(Inhabited("", "", "", (Axis("i", ZERO),), ())), exists=True).z3 == "false"
