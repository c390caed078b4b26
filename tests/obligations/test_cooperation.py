"""Threads that work together: unusual machines that are right must be proved, and each of them broken in one place must not be.

Comes in: `together/NAME.tgpu`, right ones, and the `BREAKS` of `cooperation.py`. Goes out: verdicts, each of them compared with runs.
The one idea: a checker that refuses what is right is not used, and one that takes what is wrong is worse than none.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.obligations.cooperation import BREAKS
from tests.simulate.agree import disagreements
from tinygpu import pipeline
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, Unknown, check
from tinygpu.proof.kernel import Proof, prove
from tinygpu.proof.replay import admitted
from tinygpu.simulate.sizes import sizes_to_try

FOLDER = Path(__file__).parent / "together"
RIGHT = sorted(FOLDER.glob("*.tgpu"))
OPEN = ("tree_of_96",)  # right, and not proved yet
BROKEN = [(name, number) for name, breaks in BREAKS.items() for number in range(len(breaks))]


def made(text: str) -> Program:
    """The program of the one machine of a text."""
    (machine,) = pipeline.load_text(text).machines
    return pipeline.program(machine)


def broken(name: str, number: int) -> str:
    """A right text with one place of it broken."""
    text = (FOLDER / f"{name}.tgpu").read_text(encoding="utf-8")
    for old, new in BREAKS[name][number]:
        assert old in text, f"{name} has no {old!r}"
        text = text.replace(old, new, 1)
    return text


def first_wrong(program: Program, limit: int) -> str:
    """What goes wrong at some sizes, in lockstep or with threads in another order."""
    even = [s for s in (dict.fromkeys(program.op.sizes, n) for n in (1, 33, 64, 130)) if admitted(program, s)]
    for number, sizes in enumerate(even + sizes_to_try(program, limit, 1 << 16)):
        for order in (None, number):
            for found in disagreements(program, sizes, number, order):
                return found
    return ""


@pytest.mark.parametrize("path", [p for p in RIGHT if p.stem not in OPEN], ids=lambda p: p.stem)
def test_a_right_machine_is_proved(path: Path) -> None:
    program = made(path.read_text(encoding="utf-8"))
    result = prove(program)
    assert isinstance(result, Proof), [(o.claim.code, getattr(o.claim, "sentence", o.claim.title)) for o in result]
    assert not first_wrong(program, 6)


@pytest.mark.parametrize("name", OPEN)
def test_a_machine_that_is_not_proved_yet_is_not_called_wrong(name: str) -> None:
    program = made((FOLDER / f"{name}.tgpu").read_text(encoding="utf-8"))
    assert isinstance(check(program), Unknown) and not first_wrong(program, 6)


@pytest.mark.parametrize(("name", "number"), BROKEN, ids=[f"{n}-{k}" for n, k in BROKEN])
def test_a_broken_machine_is_not_proved(name: str, number: int) -> None:
    program = made(broken(name, number))
    assert not isinstance(prove(program, hasty=True), Proof)
    assert first_wrong(program, 14) or isinstance(check(program), Refutation)
