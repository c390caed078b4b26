"""Counterexamples: the smallest sizes, replayed, with the code of what is wrong.

Comes in: wrong programs. Goes out: the sizes and the rows that are shown. The one idea: what is shown really happens, and nothing smaller
would have shown it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.obligations.texts import COPY, MAX, SUM, program
from tinygpu import pipeline
from tinygpu.category.term import Read, Term, Var
from tinygpu.obligations import state
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.proof import kernel
from tinygpu.proof.check import Refutation, Unknown, check
from tinygpu.proof.counterexample import find, search, small
from tinygpu.proof.kernel import Open, Theorem, prove
from tinygpu.proof.replay import admitted, evaluates_false, replay
from tinygpu.proof.suggestion import suggested
from tinygpu.simulate.fault import OutOfBounds
from tinygpu.simulate.inputs import edge_inputs

REVERSED = "op reversed(x: f32[R]) -> (s: f32[R]) { s[r] = x[R - 1 - r] }"
DIVIDED = "op divided(x: i32[R]) -> (s: i32[R]) { s[r] = 3 // x[r] if x[r] > 0 else 0 }"
SMALLEST = {
    "one element wrong": (COPY, "s[ROW] = x[ROW] + 1", "TG502", {"R": 1}),
    "the first is right": (COPY, "s[ROW] = x[ROW] if ROW < 1 else 0", "TG502", {"R": 2}),
    "the second block is wrong": (COPY, "s[ROW] = x[t]", "TG502", {"R": 33}),
    "not the other way round": (REVERSED, "s[ROW] = x[ROW]", "TG502", {"R": 2}),
    "the last is never stored": (COPY, "s[ROW] = x[ROW] if ROW + 1 < R", "TG201", {"R": 1}),
    "the neighbour is outside": (COPY, "s[ROW] = x[ROW + 1]", "TG203", {"R": 1}),
    "one row short": (SUM, "local a: f32[]\na[] = 0\nfor k < N - 1 { a[] += x[ROW, k] }\ns[ROW] = a[]", "TG505", {"R": 1, "N": 1}),
    "a tail of four": (
        SUM,
        "local a: f32[]\na[] = 0\nfor k < N // 4 * 4 { a[] += x[ROW, k] }\ns[ROW] = a[]",
        "TG505",
        {"R": 1, "N": 1},
    ),
    "a maximum of negatives": (MAX, "local a: f32[]\na[] = 0\nfor k < N { a[] max= x[ROW, k] }\ns[ROW] = a[]", "TG502", {}),
    "two stores": (COPY, "s[ROW] = x[ROW]\ns[ROW] = x[ROW] if ROW > 6", "TG202", {"R": 8}),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_sizes_are_shown(name: str) -> None:
    op, body, code, sizes = SMALLEST[name]
    verdict = check(program(op, body))
    assert isinstance(verdict, Refutation)
    assert verdict.diagnostic.code == code
    shown = dict(verdict.sizes)
    assert {s: shown[s] for s in sizes} == sizes
    assert verdict.diagnostic.case is not None and verdict.diagnostic.case.rows


def edited(name: str, old: str, new: str) -> Refutation:
    """The verdict on a machine of specs/scan.tgpu, with one text in the place of another."""
    text = (Path(__file__).parents[2] / "specs" / "scan.tgpu").read_text(encoding="utf-8")
    assert old in text
    machine = next(m for m in pipeline.load_text(text.replace(old, new)).machines if m.name == name)
    verdict = check(pipeline.program(machine))
    assert isinstance(verdict, Refutation)
    return verdict


def test_the_one_that_fails_first_is_shown_of_several_claims() -> None:
    """A prefix over 256 threads whose seventh step forgets thread 64: each element of the block's last sum has a claim of its own."""
    verdict = edited("scan_block", "if t >= d else", "if (t > 64 if d == 64 else t >= d) else")
    assert dict(verdict.sizes) == {"R": 1, "N": 65}


def test_where_the_equation_is_long_some_of_its_elements_are_compared() -> None:
    """What is carried from one turn to the next lacks the last block's sum: a second turn begins after 32 blocks of 256 elements, where all
    prefixes would take 8193² additions."""
    verdict = edited("scan_three", "carry[] += shuffle_idx(v[], 31)", "carry[] += shuffle_idx(v[], 30)")
    assert verdict.diagnostic.code == "TG505" and dict(verdict.sizes) == {"n": 8193}


def test_an_integer_that_random_inputs_avoid() -> None:
    body = "local a: i32[]\na[] = 3 // x[ROW]\ns[ROW] = a[] if x[ROW] > 0 else 0"
    verdict = check(program(DIVIDED, body))
    assert isinstance(verdict, Refutation) and verdict.diagnostic.code == "TG404"


def test_what_does_not_misbehave_is_unknown() -> None:
    # true over the reals, but the solver has tanh as any function
    verdict = check(program(COPY.replace("s[r] = x[r]", "s[r] = tanh(x[r] * 2)"), "s[ROW] = -tanh(-2 * x[ROW])"))
    assert isinstance(verdict, Unknown)
    assert "no exact run" in verdict.diagnostics[0].notes[0]


def test_a_wrong_value_is_shown_before_anything_is_asked_about_the_largest_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    whole = kernel.discharge

    def noted(claim: Claim, budget: int = kernel.BUDGET) -> Theorem | Open:
        asked.append(claim.kind)
        return whole(claim, budget)

    monkeypatch.setattr(kernel, "discharge", noted)
    wrong = program(COPY, "s[ROW] = x[ROW] + 1")
    assert any(claim.kind == "width" for claim in state(wrong))
    assert isinstance(check(wrong), Refutation)
    assert "body" in asked and "width" not in asked
    asked.clear()
    right = program(COPY, "s[ROW] = x[ROW]")
    assert isinstance(prove(right, hasty=True), kernel.Proof) and asked == [claim.kind for claim in state(right)]
    asked.clear()
    odd = program(COPY.replace("s[r] = x[r]", "s[r] = tanh(x[r] * 2)"), "s[ROW] = -tanh(-2 * x[ROW])")
    assert isinstance(check(odd), Unknown) and "width" in asked  # where nothing misbehaves everything is asked


@pytest.mark.parametrize(
    ("goal", "model", "sizes"),
    [
        (Var("R") < 65, {"R": 5000}, {"R": 65, "N": 1}),
        (Var("N") * 2 < 5, {"R": 9, "N": 9}, {"R": 1, "N": 3}),
        (Var("R") + Var("N") < 16, {"R": 80, "N": 1}, {"R": 8, "N": 8}),
        (Var("R") < 2_000_000, {"R": 1 << 22}, {"R": 2_000_000, "N": 1}),
        (Var("R") > 0, {"R": 0}, {"R": 0, "N": 1}),
        (Var("R") > 1, {"R": 1}, {"R": 1, "N": 1}),
    ],
)
def test_the_smallest_sizes_are_suggested(goal: Term, model: dict[str, int], sizes: dict[str, int]) -> None:
    made = program(SUM, "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = a[]")
    claim = Obligation("test", "TG203", "t", "s", (), goal)
    assert list(suggested(made, Open(claim, model))) == [sizes]


def test_a_search_is_taken_up_where_it_ended() -> None:
    made, known = program(COPY, "s[ROW] = x[ROW]"), search()
    assert find(made, (), known=known) is None and known.clean
    spent, clean = known.work[0], set(known.clean)
    assert find(made, (), known=known) is None and (known.work[0], known.clean) == (spent, clean)


def test_a_right_program_replays_without_a_word() -> None:
    made = program(SUM, "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = a[]")
    tried = [s for s in list(small(made))[:20] if admitted(made, s)]
    assert tried and not any(replay(made, s, seed, edge) for s in tried for seed in (0, 3, 4) for edge in (False, True))


def test_an_access_outside_is_one_also_where_the_equation_has_no_value() -> None:
    op = "op gathered(x: f32[S], idx: i32[R]) -> (s: f32[R]) { s[r] = x[idx[r]] }"
    made = program(op, "s[ROW] = x[idx[ROW]]")
    assert any(edge_inputs(made.op, {"S": 2, "R": 8}, 3)["idx"] < 0)
    assert isinstance(replay(made, {"S": 2, "R": 8}, 3, edge=True), OutOfBounds)


def test_plain_integers_confirm_a_model() -> None:
    claim = Obligation("width", "TG403", "", "", (Var("n") >= 1,), Var("n") * 2 < 10)
    assert evaluates_false(claim, {"n": 5}) and not evaluates_false(claim, {"n": 4}) and not evaluates_false(claim, {"n": 0})
    assert not evaluates_false(Obligation("width", "TG403", "", "", (), Read("x", (), "index") < 1), {})
    assert not evaluates_false(Obligation("width", "TG403", "", "", (), Var("n") // Var("m") < 0), {"n": 1, "m": 0})


def test_sizes_that_are_not_admitted_are_not_tried() -> None:
    made = program(COPY, "s[ROW] = x[ROW]", where="R % 4 == 0 and R >= 8")
    assert admitted(made, {"R": 8}) and not admitted(made, {"R": 4}) and not admitted(made, {"R": 9})
