"""Counterexamples: the smallest sizes, replayed, with what is wrong; what the messages of `tests/wrong` do not show.

Comes in: wrong programs. Goes out: the sizes and the rows that are shown, and in which order things are asked. The one idea: what is shown really
happens, and nothing smaller would have shown it.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.obligations.texts import COPY, SUM, program
from tests.program.library import loaded, machines
from tinygpu import pipeline
from tinygpu.category.term import App, Axis, Const, Read, Term, Var
from tinygpu.obligations import claims_of
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.program.call import Sync
from tinygpu.program.step import For, Program, Step
from tinygpu.proof import check as check_module
from tinygpu.proof import counterexample, kernel, replay
from tinygpu.proof.check import Refutation, Unknown, check
from tinygpu.proof.confirm import FEW, operands
from tinygpu.proof.counterexample import find, search
from tinygpu.proof.kernel import Open, Proof, Result, Theorem, moot, prove
from tinygpu.proof.rows import _thread
from tinygpu.proof.suggestion import suggested
from tinygpu.record import replace
from tinygpu.simulate.fault import At, OutOfBounds, SimulationBudget
from tinygpu.simulate.inputs import edge_inputs, random_inputs
from tinygpu.simulate.sizes import admitted
from tinygpu.simulate.tolerance import Mismatch

TOTAL = "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = a[]"
ODD = (
    COPY.replace("s[r] = x[r]", "s[r] = tanh(x[r] * 2)"),
    "s[ROW] = -tanh(-2 * x[ROW])",
)  # true, and the solver has tanh as any function


def refuted(made: Program) -> Refutation:
    verdict = check(made)
    assert isinstance(verdict, Refutation)
    return verdict


def edited(spec: str, name: str, old: str, new: str) -> Refutation:
    """The verdict on a shipped machine, with one text in the place of another."""
    text = (ROOT / "specs" / f"{spec}.tgpu").read_text(encoding="utf-8")
    assert old in text
    return refuted(pipeline.program(machines(text.replace(old, new))[name]))


def test_the_one_that_fails_first_is_shown_of_several_claims() -> None:
    """A prefix over 256 threads whose seventh step forgets thread 64: each element of the block's last sum has a claim of its own."""
    found = edited("scan", "scan_block", "if t >= d else", "if (t > 64 if d == 64 else t >= d) else")
    assert dict(found.sizes) == {"R": 1, "N": 65}


def test_where_the_equation_is_long_some_of_its_elements_are_compared() -> None:
    """What is carried from one turn to the next lacks the last block's sum: a second turn begins after 32 blocks of 256 elements, where all
    prefixes would take 8193² additions."""
    found = edited("scan", "scan_three", "carry[] += shuffle_idx(v[], 31)", "carry[] += shuffle_idx(v[], 30)")
    assert found.diagnostic.code == "TG505" and dict(found.sizes) == {"n": 8193}


@pytest.mark.parametrize(
    ("goal", "model", "sizes"),
    [
        (Var("R") < 65, {"R": 5000}, {"R": 65, "N": 1}),
        (Var("N") * 2 < 5, {"R": 9, "N": 9}, {"R": 1, "N": 3}),
        (Var("R") + Var("N") < 16, {"R": 80, "N": 1}, {"R": 8, "N": 8}),
        (Var("R") < 2_000_000, {"R": 1 << 22}, {"R": 2_000_000, "N": 1}),
        (Var("R") > 0, {"R": 0}, {"R": 0, "N": 1}),
    ],
)
def test_the_smallest_sizes_are_suggested(goal: Term, model: dict[str, int], sizes: dict[str, int]) -> None:
    claim = Obligation("test", "TG203", "t", "s", (), goal)
    assert list(suggested(program(SUM, TOTAL), Open(claim, model))) == [sizes]


def test_a_wrong_value_is_shown_before_anything_is_asked_about_the_largest_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    whole = kernel.discharge

    def noted(claim: Claim, budget: int = kernel.BUDGET) -> Theorem | Open:
        asked.append(claim.kind)
        return whole(claim, budget)

    monkeypatch.setattr(kernel, "discharge", noted)
    wrong = program(COPY, "s[ROW] = x[ROW] + 1")
    assert any(claim.kind == "width" for claim in claims_of(wrong)) and refuted(wrong)
    assert "body" in asked and "width" not in asked
    asked.clear()
    assert isinstance(check(program(*ODD)), Unknown) and "width" in asked  # where nothing misbehaves everything is asked


def test_a_race_is_shown_before_anything_else_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    whole = check_module.prove

    def counted(made: Program, budget: int, hasty: bool = False) -> Result:
        asked.append(hasty)
        return whole(made, budget, hasty)

    monkeypatch.setattr(check_module, "prove", counted)
    text = (ROOT / "tests" / "wrong" / "TG302_no_barrier.tgpu").read_text(encoding="utf-8")
    made = pipeline.program(pipeline.load_text(text).machines[0])
    assert refuted(made).diagnostic.code == "TG302" and asked == [True]
    left = prove(made, hasty=True)
    assert not isinstance(left, Proof) and moot(left[-1]) and sum(map(moot, left)) == 1
    monkeypatch.setattr(counterexample, "misbehaviour", lambda *_, **__: None)  # nothing misbehaves: then everything is asked
    asked.clear()
    assert isinstance(check(made), Unknown) and asked == [True, False]


def without_barriers(body: tuple[Step, ...]) -> tuple[Step, ...]:
    kept = (s for s in body if not isinstance(s, Sync))
    return tuple(replace(s, body=without_barriers(s.body)) if isinstance(s, For) else s for s in kept)


def test_steps_of_a_derived_program_are_shown_themselves() -> None:
    derived = map(pipeline.program, loaded("transpose").machines)
    made = next(p for p in derived if any(isinstance(s, Sync) for s in p.launches[0].body))
    found = refuted(
        replace(made, launches=tuple(replace(one, body=without_barriers(one.body)) for one in made.launches))
    ).diagnostic
    note = found.notes[0].split("\n")
    assert found.code == "TG302" and found.helps[0].startswith("a barrier after ") and "line" not in note[0]
    assert len(note) == 3 and note[1].startswith("`x_tile[") and "= x_tile[" in note[2]


def test_a_search_is_taken_up_where_it_ended() -> None:
    made, known = program(COPY, "s[ROW] = x[ROW]"), search()
    assert find(made, (), known=known) is None and known.clean
    spent, clean = known.work[0], set(known.clean)
    assert find(made, (), known=known) is None and (known.work[0], known.clean) == (spent, clean)


def test_an_access_outside_is_one_also_where_the_equation_has_no_value() -> None:
    made = program("op gathered(x: f32[S], idx: i32[R]) -> (s: f32[R]) { s[r] = x[idx[r]] }", "s[ROW] = x[idx[ROW]]")
    assert any(edge_inputs(made.op, {"S": 2, "R": 8}, 3)["idx"] < 0)
    assert isinstance(replay.replay(made, {"S": 2, "R": 8}, 3, edge=True), OutOfBounds)


def test_plain_integers_confirm_a_model() -> None:
    false = replay.evaluates_false
    claim = Obligation("width", "TG403", "", "", (Var("n") >= 1,), Var("n") * 2 < 10)
    assert false(claim, {"n": 5}) and not false(claim, {"n": 4}) and not false(claim, {"n": 0})
    assert not false(Obligation("width", "TG403", "", "", (), Read("x", (), "index") < 1), {})
    assert not false(Obligation("width", "TG403", "", "", (), Var("n") // Var("m") < 0), {"n": 1, "m": 0})


def test_sizes_that_are_not_admitted_are_not_tried() -> None:
    made = program(COPY, "s[ROW] = x[ROW]", where="R % 4 == 0 and R >= 8")
    assert [R for R in (4, 8, 9) if admitted(made, {"R": R})] == [8]
    divided: Term = App("eq", (Var("R") % (Var("R") - 4), Const(0)), "bool")  # without a value at 4
    assert [R for R in (4, 8) if admitted(replace(made, where=(divided,)), {"R": R})] == [8]


@pytest.mark.parametrize("raised", [SimulationBudget("too many"), ZeroDivisionError(), IndexError()], ids=repr)
def test_where_nothing_can_be_run_nothing_is_said(raised: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object, **named: object) -> object:
        raise raised

    monkeypatch.setattr(replay, "simulate", fails)
    assert replay.replay(program(SUM, "s[ROW] = x[ROW, 0]"), {"R": 1, "N": 2}) is None


def test_a_thread_of_a_block_over_sizes_has_no_number() -> None:
    made = program(COPY, "s[ROW] = x[ROW]")
    launch = replace(made.launches[0], block=(Axis("t", Var("R"), "block"),))
    at = At(made.span, 0, (("g", 0), ("t", 3)), ())
    assert _thread(replace(made, launches=(launch,)), at) is None and _thread(made, at) == 3


READS = {  # an equation, an element of it, and the inputs that it should have been made of: none that no branch and no guard takes
    "two axes": ("op o(x: f32[4, R]) -> (s: f32[R]) { s[r] = x[1, r] * x[3, r] }", 2, ["x[1, 2]", "x[3, 2]"]),
    "one branch": ("op o(x: f32[R], y: f32[R]) -> (s: f32[R]) { s[r] = x[r] if r < 3 else y[r] }", 3, ["y[3]"]),
    "the last of few": ("op o(x: f32[R]) -> (s: f32[R]) { s[r] = sum[k <= r] x[k] }", FEW - 1, [f"x[{i}]" for i in range(FEW)]),
    "many": ("op o(x: f32[R]) -> (s: f32[R]) { s[r] = sum[k <= r] x[k] }", FEW, []),
    "an intermediate": ("op o(x: f32[2, R]) -> (s: f32[R]) { m[r] = max[k] x[k, r]\n s[r] = 2 * m[r] }", 1, ["x[0, 1]", "x[1, 1]"]),
}


@pytest.mark.parametrize("name", READS)
def test_what_the_equation_reads(name: str) -> None:
    text, index, wanted = READS[name]
    op, sizes = program(text, "s[ROW] = 0", guard=False).op, {"R": 7}
    inputs = {n: np.arange(100, 100 + v.size, dtype=np.float32).reshape(v.shape) for n, v in random_inputs(op, sizes).items()}
    found = operands(op, {s: sizes[s] for s in op.sizes}, inputs, Mismatch("s", (index,), 0.0, 0.0))
    assert [one for one, _ in found] == wanted and all(value >= 100 for _, value in found)
