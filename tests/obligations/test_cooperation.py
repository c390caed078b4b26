"""Threads that work together: unusual machines that are right must be proved, and each of them broken in one place must not be.

Comes in: `together/NAME.tgpu`, right ones, each with the edits that break it. Goes out: verdicts, each of them compared with runs.
The one idea: a checker that refuses what is right is not used, and one that takes what is wrong is worse than none.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.comments import Wrong, wrongs
from tests.program.library import disagreements
from tests.program.library import program as of_text
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, check
from tinygpu.proof.kernel import Proof, prove
from tinygpu.simulate.sizes import admitted, sizes_to_try

RIGHT = sorted((Path(__file__).parent / "together").glob("*.tgpu"))


def first_wrong(program: Program, limit: int) -> str:
    """What goes wrong at some sizes, in lockstep or with threads in another order."""
    even = [s for s in (dict.fromkeys(program.op.sizes, n) for n in (1, 33, 64, 130)) if admitted(program, s)]
    for number, sizes in enumerate(even + sizes_to_try(program, limit, 1 << 16)):
        for order in (None, number):
            for found in disagreements(program, sizes, number, order):
                return found
    return ""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", RIGHT, ids=lambda p: p.stem)
def test_a_right_machine_is_proved_or_at_least_not_called_wrong(path: Path) -> None:
    program = of_text(path.read_text(encoding="utf-8"))
    result = check(program)
    assert isinstance(result, Proof), result
    assert not first_wrong(program, 6)


@pytest.mark.parametrize("broken", [pytest.param(w, id=f"{p.stem}-{w.title}") for p in RIGHT for w in wrongs(p)])
def test_a_broken_machine_is_not_proved(broken: Wrong) -> None:
    program = of_text(broken.text)
    assert not isinstance(prove(program, hasty=True, enough=1), Proof)
    assert first_wrong(program, 14) or isinstance(check(program), Refutation)
