"""The simulator against the plainest machine: that of the judge of `tests/meaning`, on right programs and on mutants of them.

Comes in: a program, most of them wrong in some way. Goes out: nothing. The one idea: both see that something is wrong, or compute the same.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from tests.meaning import machine as plain
from tests.meaning.equations import Cells
from tests.meaning.memory import Fault
from tests.meaning.oracle import Oracle
from tests.meaning.values import CannotJudge, TooLarge, number
from tests.mutants.mutate import mutants
from tests.program.library import TEXTS, program, shipped
from tinygpu.category.number import load
from tinygpu.program.step import Program
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.promised import promised
from tinygpu.simulate.simulate import simulate

PROGRAMS = {name: program(text) for name, text in TEXTS.items()} | {"saxpy": shipped("saxpy", "saxpy_v4")}
SIZES = {"n": 75, "m": 40, "M": 9, "N": 11, "K": 5, "R": 3}
MUTANTS = (8, 20)  # of each: in every run, and in a night


def cells(values: Any, dtype: str) -> Cells:
    """An input, exactly."""
    exact = number if dtype[0] in "fb" and dtype != "bool" else int
    return {place: (exact(value.item()), True) for place, value in np.ndenumerate(load(values, dtype))}


def agree(made: Program, sizes: dict[str, int], order: int | None) -> str:
    """What both see: a fault, or the same values; or nothing where the plain machine cannot say."""
    inputs = random_inputs(made.op, sizes, 7)
    if not promised(made.op, sizes, inputs):
        return ""
    try:
        want, found = plain.run(made, sizes, {t.name: cells(inputs[t.name], t.dtype) for t in made.op.inputs}, Oracle(()))
    except (CannotJudge, TooLarge):
        return ""
    except Fault as fault:
        if re.search(r" of -\d+ by ", str(fault)):  # the simulator rounds down; that no index is negative is a claim (TG404)
            return ""
        want, wrong = {}, str(fault)
    else:
        wrong = next((f"{a.name} is met twice" for a in found.arrays.values() if a.loose), "")
    seen = set()
    for vectorise in (True, False):
        got = simulate(made, sizes, inputs, order=order, vectorise=vectorise)
        missing = any(np.size(got.outputs[name]) != len(stored) for name, stored in want.items())
        assert bool(got.faults) == bool(wrong or missing), (wrong, got.faults[:1])
        seen.add(bool(got.faults))
        for t in made.op.outputs if not got.faults else ():
            values = load(got.outputs[t.name], t.dtype)
            assert all(np.isclose(values[place], float(value[0]), atol=1e-5) for place, value in want[t.name].items())
    return "fault" if seen == {True} else "same"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_both_see_a_fault_or_compute_the_same(name: str, monkeypatch: pytest.MonkeyPatch, night: bool) -> None:
    monkeypatch.setattr(plain, "THREADS", 1 << 14)
    monkeypatch.setattr(plain, "STEPS", 1 << 20)
    made = PROGRAMS[name]
    sizes = {s: 256 if name == "ring_difference" else SIZES[s] for s in made.op.sizes}
    assert all(agree(made, sizes, order) == "same" for order in (None, 5))
    wrong = list(mutants(made))
    some = random.Random(name).sample(wrong, min(MUTANTS[night], len(wrong)))
    assert "fault" in {agree(m.program, sizes, number % 2 or None) for number, m in enumerate(some)}
