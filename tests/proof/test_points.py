"""What is said to be the same at two points is the same at each two of them at which the equations hold: looked at one after the other."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Const, Term, Var, conjunction, equal, substitute, variables
from tinygpu.obligations.bijection import PRIME
from tinygpu.proof.evident import evident
from tinygpu.proof.points import as_one

NAMES = "ij"
THERE = {name: Var(name + PRIME) for name in NAMES}
atoms = st.sampled_from([Var("i"), Var("j"), Var("n"), Var("i") // 2, Var("i") % 2, Var("j") % 3, Var("j") // 3, Const(1)])
products = st.lists(atoms, min_size=1, max_size=2).map(lambda all: all[0] if len(all) == 1 else all[0] * all[1])
images = st.lists(st.tuples(products, st.integers(-4, 9)), min_size=1, max_size=3).map(
    lambda all: sum((term * by for term, by in all[1:]), all[0][0] * all[0][1])
)


def holding(extents: dict[str, Term], facts: tuple[Term, ...]) -> list[dict[str, int]]:
    """The points at which the facts hold, of sizes from 0 to 3."""
    found = []
    for n in range(4):
        ranges = [range(evaluate(extent, {"n": n})) for extent in extents.values()]
        for numbers in product(*ranges):
            point = {"n": n, **dict(zip(extents, numbers, strict=True))}
            if all(evaluate(fact, point) for fact in facts):
                found.append(point)
    return found


@settings(max_examples=300)
@given(st.lists(images, min_size=1, max_size=2), st.integers(1, 5), st.booleans(), st.booleans())
def test_what_is_one_is_one_at_every_two_points(given_: list[Term], extent: int, other: bool, size: bool) -> None:
    box: dict[str, Term] = {"i": Const(4), "j": Var("n") if size else Const(extent)}
    extents = box | {name + PRIME: e for name, e in box.items()}
    turned = [substitute(image, {"i": Var("j"), "j": Var("i")} if other else {}) for image in given_]
    facts = tuple(equal(a, substitute(b, THERE)) for a, b in zip(given_, turned, strict=True))
    asked = conjunction(*(equal(Var(name), THERE[name]) for name in NAMES))
    told = [name for name in NAMES if name + PRIME not in variables(as_one(asked, extents, facts))]
    assert all(point[name] == point[name + PRIME] for point in holding(extents, facts) for name in told)


@pytest.mark.parametrize(
    ("here", "there", "seen"),
    [
        ("i * 8 + j", "i * 8 + j", True),
        ("j * n + i", "j * n + i", True),
        ("(i * 8 + j) // 4 * 4 + (i * 8 + j) % 4", "(i * 8 + j) // 4 * 4 + (i * 8 + j) % 4", True),
        ("i * 7 + j", "i * 7 + j", False),
        ("i * n + j", "i * n + j", False),
        ("i * 8 + j // 2", "i * 8 + j // 3", True),
        ("i * 8 + j", "i * 8 + 8", False),
        ("i * 8 + 8", "i * 8 + j", False),
        ("i * 8 + j", "i * 9 + j", False),
        ("i // 2 + 4 * (j % 2)", "i // 2 + 4 * (j % 2)", False),
        ("(i // 8) * 8 + i % 8", "(i // 8) * 8 + i % 8", True),
    ],
)
def test_numerals_have_one_value_where_they_have_the_same_digits(here: str, there: str, seen: bool) -> None:
    i, j, n = Var("i"), Var("j"), Var("n")
    left, right = (eval(text, {"i": i, "j": j, "n": n}) for text in (here, there))
    box = [("i", n), ("j", Const(8))]
    natural = tuple(f for name, e in box for v in (Var(name), THERE[name]) for f in (v >= 0, v < e))
    assert evident((n >= 0, *natural, equal(left, substitute(right, THERE))), equal(i, THERE["i"])) == seen


@pytest.mark.parametrize(("by", "seen"), [("4", True), ("n", False), ("n + 1", True)])
def test_a_quotient_and_a_remainder_tell_a_number_where_something_is_divided(by: str, seen: bool) -> None:
    j, there = Var("j"), THERE["j"]
    divisor = eval(by, {"n": Var("n")})
    same = (equal(j // divisor, there // divisor), equal(j % divisor, there % divisor))
    assert evident((Var("n") >= 0, *(f for v in (j, there) for f in (v >= 0, v < 8)), *same), equal(j, there)) == seen
