"""What roles do in and beside the sections of a ring: proved, run, printed; and with one thing changed refuted or refused.

Comes in: `sections.tgpu` of `specs/` beside this file, and changes of its text. Goes out: verdicts, outputs. The one idea: an order of a ring is added to the
order that barriers make, and takes nothing from it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.emit.interpreter import run
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import Proof, Refutation
from tinygpu.recheck import Disagreement
from tinygpu.recheck.run import rerun
from tinygpu.simulate.inputs import random_inputs

FILE = Path(__file__).parent / "specs/sections.tgpu"
TEXT = FILE.read_text()
TOTAL, PREFIXES = TEXT[TEXT.index("op total") : TEXT.index("# A warp's")], TEXT[TEXT.index("op prefixes") : TEXT.index("# A block")]
MEET = TOTAL + TEXT[TEXT.index("machine meet") : TEXT.index("# What stands")]
BOTH = TOTAL + TEXT[TEXT.index("machine both") : TEXT.index("op prefixes")]
EARLY = PREFIXES + TEXT[TEXT.index("machine early") :]
TURNS = EARLY.replace("for t < b + 1 {", "for t < ceil(n / 32) {")
WRONG = {  # what is changed, and the code that is said
    "no barrier of the warp": (MEET.replace("          warp barrier\n", ""), "TG302"),
    "a barrier before both": (MEET.replace("          rows[t % 2, lane, 0] = acc[]\n          warp barrier\n", "          warp barrier\n          rows[t % 2, lane, 0] = acc[]\n"), "TG302"),
    "lanes of two warps": (MEET.replace("if w == 1 {", "if w > 0 {").replace("= acc[]\n", "= acc[] if w == 1\n").replace("31 - lane < n\n", "31 - lane < n and w == 2\n"), "TG302"),
    "a slot too few": (MEET.replace("t % 2", "0"), "TG302"),
    "the condition of the other warp": (BOTH.replace("if w == 0 { once", "if w == 1 { once"), "TG50"),
    "a tile too few": (EARLY.replace("t < b + 1", "t < b"), "TG50"),
    "a slot for two turns": (EARLY.replace("t % 2, lane", "t // 2 % 2, lane").replace("t % 2, v", "t // 2 % 2, v"), "TG302"),
}  # fmt: skip
FILL = "fill slots at t { part[t % 2, lane] = x[t*32 + lane | 0] }"
USE = "use slots at t { for v < 32 { acc[] += part[t % 2, v] if t*32 + v <= b*32 + lane } }"


def under(condition: str, *some: str, text: str = TURNS) -> str:
    """With sections under a further condition."""
    for one in some:
        assert one in text
        text = text.replace(one, f"if {condition} {{ {one} }}")
    return text


REFUSED = {  # what is changed, and the message
    "who fills ends later": (under("t < b + 2", FILL, text=under("t < b + 1", USE)), "uses slots has other turns"),
    "only who uses ends early": (under("t < b + 1", USE), "uses slots has other turns"),
    "an end of each warp": (EARLY.replace("for t < b + 1", "for t < b + 1 + w"), "who does this changes"),
    "every second turn": (under("t % 2 < 1", FILL, USE), "who does this changes"),
    "an end that moves": (under("t < b + t % 2", FILL, USE), "who does this changes"),
}


@pytest.mark.parametrize("text", [MEET, BOTH, EARLY], ids=["meet", "both", "early"])
def test_they_are_proved_and_runs_agree(text: str) -> None:
    machine = pipeline.load_text(text).machines[0]
    assert isinstance(pipeline.check(machine), Proof)
    assert not isinstance(rerun(pipeline.program(machine)), Disagreement)


@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refuted_by_both(name: str) -> None:
    text, code = WRONG[name]
    assert text not in (MEET, BOTH, EARLY)
    machine = pipeline.load_text(text).machines[0]
    verdict = pipeline.check(machine)
    assert isinstance(verdict, Refutation), verdict
    assert verdict.diagnostic.code.startswith(code), verdict.diagnostic
    assert isinstance(rerun(pipeline.program(machine)), Disagreement)


@pytest.mark.parametrize("name", REFUSED)
def test_turns_that_are_not_those_of_both_are_refused(name: str) -> None:
    text, title = REFUSED[name]
    with pytest.raises(TinygpuError) as told:
        pipeline.program(pipeline.load_text(text).machines[0])
    assert [d.code for d in told.value.diagnostics] == ["TG185"]
    assert title in told.value.diagnostics[0].title


@pytest.mark.parametrize("order", ["forwards", "backwards", "mixed"])
@pytest.mark.parametrize("text", [MEET, BOTH, EARLY], ids=["meet", "both", "early"])
def test_their_text_does_it(text: str, order: str) -> None:
    machine = pipeline.load_text(text).machines[0]
    program = pipeline.program(machine)
    inputs = random_inputs(program.op, {"n": 150}, seed=2)
    x = np.asarray(inputs["x"], np.float64)
    found = run(program, {"n": 150}, inputs, 64, wide=False, order=order)
    np.testing.assert_allclose(found["s"], x.sum(1) if x.ndim == 2 else np.cumsum(x), rtol=1e-4, atol=1e-4)


def test_a_loop_that_ends_early_is_read_back() -> None:
    machine = pipeline.load_text(EARLY).machines[0]
    proof = pipeline.check(machine)
    assert isinstance(proof, Proof)
    built = [pipeline.built(proof, machine)]
    text = pipeline.module("sections.tgpu", built)
    assert pipeline.validate(text, built) == ()
    for old, new in (("for t in upto(ix(b + 1))", "for t in upto(ix(b + 2))"), ("ring_use(slots, t)", "pass")):
        assert old in text
        assert pipeline.validate(text.replace(old, new, 1), built)
