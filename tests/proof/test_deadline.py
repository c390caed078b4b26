"""The outer fence: what takes too long is unknown with what was being done, wherever it is ended, and nothing of it is remembered.

Comes in: machines, and a clock that jumps at the n-th look. Goes out: the verdict. The one idea: an expiry is tried at many places of one check, and
after each of them the same check gives the same proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tinygpu import pipeline
from tinygpu.category import deadline
from tinygpu.category.deadline import Expired, about, look, within
from tinygpu.category.solver import solved
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import Proof, Unknown
from tinygpu.proof import counterexample, kernel

HARD = """(declare-const x Int) (declare-const y Int) (declare-const z Int) (assert (> x 0)) (assert (> y 0)) (assert (> z 0))
(assert (= (+ (* x x x) (* y y y)) (* z z z)))"""
WIDE = """(declare-const x (_ BitVec 1024)) (declare-const y (_ BitVec 1024)) (assert (= (bvmul x y) (_ bv7 1024)))
(assert (distinct x (_ bv7 1024)))"""
WEAK = ROOT / "tests" / "meaning" / "undecided" / "undefined_where_empty_sum.tgpu"


class Clock:
    """A clock that stands still until it is looked at so many times."""

    def __init__(self, jumps: float) -> None:
        self.looks, self.jumps = 0, jumps

    def __call__(self) -> float:
        self.looks += 1
        return 0.0 if self.looks < self.jumps else 1e9


def ended(machine: pipeline.Machine, at: float, monkeypatch: pytest.MonkeyPatch) -> tuple[pipeline.Verdict | None, int]:
    """The verdict of a check that is ended at the look of that number; None where it has no program by then; and how many looks there were."""
    clock = Clock(at)
    with monkeypatch.context() as patch:
        patch.setattr(deadline, "monotonic", clock)
        try:
            return pipeline.check(machine), clock.looks
        except TinygpuError as error:
            assert [(d.code, d.verdict) for d in error.diagnostics] == [("TG515", "unknown")]
            return None, clock.looks


def test_wherever_it_is_ended_it_is_unknown_and_then_it_is_proved_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = pipeline.load(ROOT / "specs" / "softmax.tgpu").softmax_warp
    proof, looks = ended(machine, float("inf"), monkeypatch)
    assert isinstance(proof, Proof) and looks > 100
    places = set[str]()
    for at in range(2, looks, looks // 9):
        verdict, seen = ended(machine, at, monkeypatch)
        if isinstance(verdict, Proof):
            assert seen < at  # what the solver has answered is not asked again
        elif verdict is not None:
            assert isinstance(verdict, Unknown)
            late = verdict.diagnostics[0]
            assert late.code == "TG515" and late.labels and "--time" in late.helps[0]
            places.add(late.title.partition(": ")[2][:20])
    again, _ = ended(machine, float("inf"), monkeypatch)
    assert isinstance(again, Proof) and again.theorems == proof.theorems and len(places) >= 2


def test_the_search_for_a_counterexample_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    (machine,) = pipeline.load(WEAK).machines
    clock, trials = Clock(float("inf")), counterexample.trials

    def late(*arguments: object) -> object:  # when the first size is tried the time is over
        clock.jumps = 0
        return trials(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(counterexample, "trials", late)
    monkeypatch.setattr(deadline, "monotonic", clock)
    verdict = pipeline.check(machine)
    assert isinstance(verdict, Unknown) and "whether a run at a small size" in verdict.diagnostics[0].title
    assert verdict.left and {d.code for d in verdict.diagnostics[1:]} == {
        o.claim.code for o in verdict.left
    }  # and what is open is said


@pytest.mark.parametrize("at", [2, 5, 10, 200])
def test_so_is_what_is_made_of_a_proof(at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = pipeline.load(ROOT / "specs" / "matmul.tgpu").matmul_tile
    proof = pipeline.check(machine)
    pipeline.on_core.cache_clear()
    clock = Clock(at)
    with monkeypatch.context() as patch:
        patch.setattr(deadline, "monotonic", clock)
        try:
            pipeline.build(proof, machine)
        except TinygpuError as error:
            assert [d.code for d in error.diagnostics] == ["TG515"]
        else:
            assert 10 < clock.looks < at  # how often it looks is told by what this process has asked before
    pipeline.on_core.cache_clear()


def test_a_solver_is_ended_and_its_silence_is_no_answer() -> None:
    start = time.monotonic()
    with pytest.raises(Expired, match=r"0\.3 s") as end, within(0.3), about("a sum of cubes"):
        solved(HARD, 10**12)
    assert time.monotonic() - start < 2 and end.value.what == "a sum of cubes"


def test_memory_has_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    held = iter((10**9, 2 * 10**9, 3 * 10**9))
    monkeypatch.setattr(deadline, "resident", lambda: next(held))
    monkeypatch.setattr(deadline, "OFTEN", 0.0)
    with pytest.raises(Expired, match=r"1\.6 GB of memory"), within(60):
        look()
        look()
    assert not list(held)


def apart(work: Callable[[], None]) -> None:
    """Works in a process of its own: where z3 gave up for memory it keeps some of it, and then suggests other numbers than before."""
    child = get_context("fork").Process(target=work)
    child.start()
    child.join()
    assert child.exitcode == 0


def test_a_solver_takes_no_more_memory_than_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "ROOM", 100 << 20)
    apart(too_much)


def too_much() -> None:
    before = deadline.resident()
    with pytest.raises(Expired, match=r"0\.1 GB of memory") as end, within(60), about("a product of many bits"):
        solved(WIDE, 10**12)
    assert end.value.what == "a product of many bits" and deadline.resident() - before < 300 << 20
    assert (
        str(solved("(declare-const i Int) (assert (= (* i i) 49)) (assert (< i 0))", 10**6)[0]) == "sat"
    )  # the next one is as ever


def test_a_claim_that_needs_too_much_is_unknown_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = pipeline.load(ROOT / "specs" / "matmul_shared.tgpu").matmul_16x16
    monkeypatch.setattr(deadline, "ROOM", 100 << 20)
    monkeypatch.setattr(kernel, "script", lambda *_: WIDE)
    monkeypatch.setattr(kernel, "ask", kernel.ask.__wrapped__)  # nothing that was answered before
    apart(lambda: told(pipeline.check(machine)))


def told(verdict: pipeline.Verdict) -> None:
    assert isinstance(verdict, Unknown)
    late = verdict.diagnostics[0]
    assert late.code == "TG515" and "0.1 GB of memory: " in late.title and late.labels


def test_and_what_a_process_holds_is_seen() -> None:
    assert deadline.resident() > 1 << 20 or not Path("/proc/self/statm").exists()


def test_who_works_for_somebody_has_no_more_time_than_that_one() -> None:
    with within(0.01):
        time.sleep(0.02)
        with pytest.raises(Expired, match=r"0\.01 s"), within(60):
            look()
    look()
