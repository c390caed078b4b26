"""What is undefined, infinite, unwritten, wrapped, rounded or empty: no such program is proved where it is wrong.

Comes in: specs that must not be proved, random programs of fixed seeds, and right programs with one fault each. Goes out: a failure with the text.
The one idea: the judge shares nothing with the prover, and is itself seen failing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments import Wrong, wrongs
from tests.meaning.driver import BUDGET, hasty
from tests.meaning.edits import program
from tests.meaning.judge import LOOSE, RIGHT, WRONG, judge
from tests.program.library import program as of_text
from tinygpu.diagnostic import TinygpuError
from tinygpu.proof.check import Refutation, check
from tinygpu.proof.kernel import Proof

FOLDERS = ("unsound", "loose", "right", "undecided", "seen")
UNSOUND, IDLE, SOUND, UNDECIDED, SEEN = (sorted((Path(__file__).parent / folder).glob("*.tgpu")) for folder in FOLDERS)
RANDOM, SEED, HASTY = (25, 70), 14, 300_000  # in every run, and in a night
SHORT = {"each": 4, "work": 5_000}  # runs of what is right, which say something of the example alone


@pytest.mark.parametrize("path", [*UNSOUND, *IDLE], ids=lambda path: path.stem)
def test_what_is_wrong_is_not_proved(path):
    """Nor what is loose: what is evaluated has a value also where nothing depends on it."""
    text, kind = path.read_text(encoding="utf-8"), LOOSE if path in IDLE else WRONG
    assert text.startswith("# "), "the first line says why"
    try:
        program = of_text(text)
    except TinygpuError:
        assert kind == WRONG  # refused before it is a program: that is one way not to be proved
        return
    judged = judge(program)
    assert judged.kind == kind, f"{path.stem} is not {kind}: {judged}"
    assert not hasty(program, BUDGET), f"{path.stem} is proved, and is {kind} {judged.why}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", [*SOUND, *UNDECIDED], ids=lambda path: path.stem)
def test_what_is_right_is_proved_or_at_least_not_refuted(path, whole):
    program = of_text(path.read_text(encoding="utf-8"))
    judged = judge(program) if whole(path.stem) else judge(program, **SHORT)
    assert judged.kind in (RIGHT, LOOSE), f"{path.stem} is not right: {judged}"
    found = check(program, BUDGET)
    assert not isinstance(found, Refutation), f"{path.stem} is refuted, and is right"
    assert isinstance(found, Proof) == (path in SOUND), f"{path.stem} is in the wrong folder: {found}"


def test_no_random_program_is_proved_and_wrong(night):
    wrong, proved, many = [], 0, RANDOM[night]
    for number in range(many):
        text = program(SEED, number)
        try:
            checked = of_text(text)
        except TinygpuError:
            continue
        if hasty(checked, HASTY):
            proved += 1
            found = judge(checked, each=6, work=20_000)
            wrong += [f"{found.why}\n{text}"] if found.kind == WRONG else []
    assert not wrong, wrong[0]
    assert proved > many // 5, "so few are proved that nothing was tried"


@pytest.mark.parametrize("path", SEEN, ids=lambda path: path.stem)
def test_the_judge_finds_nothing_wrong_with_what_is_right(path):
    found = judge(of_text(path.read_text(encoding="utf-8")))
    assert found.kind == RIGHT and found.runs > 5, found


@pytest.mark.parametrize("fault", [w for path in SEEN for w in wrongs(path)], ids=lambda fault: fault.title)
def test_the_judge_sees_each_fault(fault: Wrong):
    found = judge(of_text(fault.text))
    assert found.kind == fault.kind and fault.why in found.why, found
