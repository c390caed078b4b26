"""Candidates that are not compiled: by a bound, and because a CPU runs them as it runs another one.

Comes in: machines of one op. Goes out: verdicts of trials. The one idea: what is dropped is said to be dropped, with the reason, and what is not surely slower is timed.
"""

from __future__ import annotations

from math import inf

import pytest

from tests.program import library
from tinygpu import pipeline
from tinygpu.commands.specs import text_of
from tinygpu.hardware.arch import Assembled, device_named
from tinygpu.program.step import Program
from tinygpu.run import gate
from tinygpu.tune import prune
from tinygpu.tune.costed import _counted
from tinygpu.tune.kinds import Asked
from tinygpu.tune.prune import layout, slower
from tinygpu.tune.state import State
from tinygpu.tune.trial import Job, attempted

TEXT = """op softmax(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {
  m[r] = max[j] x[r, j]
  s[r] = sum[j] exp(x[r, j] - m[r])
  y[r, j] = exp(x[r, j] - m[r]) / s[r]
}
machine plain : softmax on cpu { work core = (r)
  time j }
machine cut : softmax on cpu { work core = (r)
  compute j = (c, v: 16)
  time c
  simd v }
"""
SIZES = {"R": 64, "N": 96}


def test_a_candidate_that_cannot_be_as_fast_is_not_timed() -> None:
    said = attempted(Job(TEXT, "plain", SIZES, below=1e-12), 60)
    assert said.verdict == "bounded" and said.ratio is None and said.kernel is None and "compile" not in said.steps
    assert said.why.startswith("no run is faster than ") and said.why.endswith("and the incumbent takes 0.001 ns")


def test_what_a_cpu_runs_alike_is_timed_once() -> None:
    plain, cut = (pipeline.program(m) for m in pipeline.load_text(TEXT).machines)
    assert plain != cut and layout(pipeline.on_core(plain)) == layout(pipeline.on_core(cut)) != layout(plain)
    said = attempted(Job(TEXT, "cut", SIZES, timed={layout(pipeline.on_core(plain)): 0.7}), 60)
    assert (said.verdict, said.ratio, said.kernel) == ("same", 0.7, None) and "compile" not in said.steps


def test_a_bound_far_below_drops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    (one, _) = pipeline.load_text(TEXT).machines
    program = pipeline.program(one)
    assert not slower(program, SIZES, 1.0) and not slower(program, SIZES, None)
    monkeypatch.setattr(prune, "here", lambda: None)
    assert not slower(program, SIZES, 1e-12)


def test_a_target_by_cost_leaves_out_what_stands_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose bound is above what the best one is predicted to take is not assembled, and nothing is said of it."""
    device, asked, told = device_named("h100"), list[str](), list[dict[str, object]]()
    assert device is not None

    def assembled(program: Program, arch: str, wide: bool) -> tuple[Assembled, ...]:
        asked.append(arch)
        return (Assembled(32, 0, 0, 0),)

    monkeypatch.setattr(gate, "assembled", assembled)
    text, machine = (
        text_of(library.machine("matmul", "matmul_tile").op),
        "machine candidate : matmul {\n  work grid = (i, j)\n  time k\n}\n",
    )
    alone = Asked(text, State("matmul", ()))
    for best in (1e-15, inf):
        _counted(alone, machine, {"M": 64, "N": 64, "K": 64}, device, best, lambda **known: told.append(known))
    assert asked == ["sm_90"] and [one["registers"] for one in told] == [32]
