"""Two solvers, three verdicts: none of them is a guess, and giving up is one."""

import pytest

from tinygpu.recheck import solve
from tinygpu.recheck.solve import MISSING, answer, ask_cvc5, ask_z3, numbered

TRUE = "(set-logic ALL)(declare-const |x| Int)(assert (< |x| 0))(assert (> |x| 1))(check-sat)"
FALSE = "(set-logic ALL)(declare-const |x| Int)(assert (< |x| 0))(check-sat)"
HARD = (
    "(set-logic ALL)(declare-const |a| Int)(declare-const |b| Int)(declare-const |n| Int)"
    "(assert (and (> |n| 2) (> (* |a| |b|) 9) (= (* |a| |a| |a|) (+ (* |b| |b| |b|) (* |n| |n| |n|)))))(check-sat)"
)


@pytest.fixture
def cvc5():
    return pytest.importorskip("cvc5")


def test_verdicts(cvc5):
    assert answer(TRUE).both
    assert answer(FALSE).z3 == answer(FALSE).cvc5 == "false"
    assert answer(FALSE, exists=True).both
    assert answer(TRUE, exists=True).z3 == answer(TRUE, exists=True).cvc5 == "false"


def test_a_budget_that_is_not_enough_is_unknown(cvc5):
    assert ask_z3(HARD, 100_000) == "unknown"
    assert ask_cvc5(HARD, 10_000).startswith("unknown")


def test_without_cvc5_its_verdict_is_unknown(monkeypatch):
    monkeypatch.setattr(solve, "cvc5_module", lambda: None)
    ask_cvc5.cache_clear()
    said = answer(TRUE)
    assert (said.z3, said.cvc5) == ("proved", "unknown") and not said.both
    assert ask_cvc5(numbered(TRUE)) == MISSING
    ask_cvc5.cache_clear()


def test_texts_that_differ_in_names_are_one():
    assert numbered(TRUE) == numbered(TRUE.replace("|x|", "|another name|")) != numbered(FALSE)


def test_a_text_that_no_solver_can_read_is_unknown(cvc5):
    for text in ("(declare-const)(check-sat)", TRUE.replace("(set-logic ALL)", "(set-logic ALL)(assert (< |no such name| 0))")):
        assert ask_z3(text).startswith("not read") and ask_cvc5(text).startswith("not read")
        assert answer(text).z3 == answer(text).cvc5 == answer(text, exists=True).z3 == "unknown"
