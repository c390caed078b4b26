"""The kernel: a `Proof` is made by it alone, is the same every time, and running out of budget is never one.

Comes in: small machines. Goes out: verdicts. The one idea: what cannot be done by accident cannot be believed by accident.
"""

from __future__ import annotations

import pytest
import z3

from tests.obligations.texts import COPY, SUM, program
from tests.program.library import library
from tinygpu import pipeline
from tinygpu.category.term import Var, equal
from tinygpu.obligations import claims_of
from tinygpu.obligations.obligation import Gap, Inhabited, Obligation
from tinygpu.program.step import Program
from tinygpu.proof import kernel
from tinygpu.proof.certificate import certify
from tinygpu.proof.check import Unknown, check
from tinygpu.proof.kernel import Open, Proof, Theorem, ask, discharge, inhabited, prove
from tinygpu.record import replace

GOOD = "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = a[]"
BAD = "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] if k > 0 }\ns[ROW] = a[]"
n, i = Var("n"), Var("i")


def _first(name: str) -> Program:
    return pipeline.program(library(name)[0])


def _claim(goal: object, *hypotheses: object) -> Obligation:
    return Obligation("test", "TG502", "wrong", "right", hypotheses, goal)  # type: ignore[arg-type]


def test_a_proof_is_made_by_the_kernel_alone() -> None:
    proof = prove(program(SUM, GOOD))
    assert isinstance(proof, Proof)
    other = program(SUM, BAD)
    for make in (
        lambda: Proof(other, ()),
        lambda: Proof(other, proof.theorems, object()),
        lambda: replace(proof, program=other),
        lambda: replace(proof, theorems=()),
    ):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(AttributeError):
        proof.program = other  # type: ignore[misc]


def test_only_a_proof_is_built() -> None:
    with pytest.raises(TypeError):
        pipeline.built(prove(program(SUM, BAD)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["saxpy", "rows"])
def test_two_runs_give_the_same_proof(name: str) -> None:
    made = _first(name)
    first = prove(made)
    prove(program(SUM, BAD))  # what else was asked in between does not matter
    ask.cache_clear()
    second = prove(made)
    assert isinstance(first, Proof) and isinstance(second, Proof)
    assert certify(first).proof == certify(second).proof and first.theorems == second.theorems


@pytest.mark.parametrize("budget", [1, 50, 1000])
def test_a_budget_that_is_spent_is_no_proof(budget: int) -> None:
    made = _first("matmul_shared")
    left = prove(made, budget)
    assert not isinstance(left, Proof)
    assert all(o.reason and o.model is None for o in left)
    assert isinstance(check(made, budget), Unknown)


def test_what_else_the_process_holds_does_not_matter() -> None:
    """z3's own choice of tactics does without the bits of small numbers where 100 MB are in use."""
    m, j = Var("m"), Var("j")
    hypotheses, goal = (i >= 0, i < n, m >= 0, j >= 0, j < m), i * m + j < n * m
    alone = ask.__wrapped__(hypotheses, goal, 1_000_000)
    held = [number + one for one, number in enumerate(z3.Ints([f"x{one}" for one in range(200_000)]))]
    assert held and alone[0] == z3.unsat and ask.__wrapped__(hypotheses, goal, 1_000_000) == alone


def test_what_is_false_has_a_model_and_what_is_true_a_method() -> None:
    match discharge(_claim(i < 3, i >= 0, i < n)):
        case Open(_, model):
            assert model is not None and model["i"] >= 3 and model["n"] > model["i"]
        case _:
            raise AssertionError("proved")
    assert discharge(_claim(i < 4, i >= 0, i < 4)) == Theorem(_claim(i < 4, i >= 0, i < 4), "structure")
    found = discharge(_claim(i < n, i >= 0, equal(i * 2, n), n > 0))
    assert isinstance(found, Theorem) and found.method == "z3"


def test_a_gap_is_never_closed() -> None:
    assert isinstance(discharge(Gap("test", "TG503", "a gap", "why")), Open)


def test_existence_needs_a_model() -> None:
    assert isinstance(discharge(Inhabited("test", "TG511", "none", "some", (n > 3, n < 5))), Theorem)
    assert isinstance(discharge(Inhabited("test", "TG511", "none", "some", (n > 3, n < 4))), Open)
    assert isinstance(discharge(Inhabited("test", "TG511", "none", "some", (n > 3, n < 5)), 1), Open)


def test_a_point_that_does_not_come_to_mind_is_asked_for() -> None:
    far = (equal(n * 3, 300_009), i >= 0, i < n)
    assert inhabited(far) is None
    found = discharge(Inhabited("test", "TG511", "none", "some", far))
    assert isinstance(found, Theorem) and found.method == "model" and dict(found.witness)["n"] == 100_003
    assert inhabited((n // (n - 1) > i,)) is None  # a division by zero at the first point: the solver is asked
    spent = discharge(Inhabited("test", "TG511", "none", "some", far), 1)
    assert isinstance(spent, Open) and spent.model is None and "was not enough" in spent.reason


def test_one_open_claim_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    made = program(COPY, "s[ROW] = x[ROW]")
    claims = list(claims_of(made))
    assert isinstance(prove(made), Proof)
    monkeypatch.setattr(kernel, "claims_of", lambda *_: iter([*claims, Gap("test", "TG503", "a gap", "why")]))
    assert not isinstance(prove(made), Proof)
