"""Every mutant of a kernel is refused, or does what the kernel does.

Comes in: kernels of the library. Goes out: mutants that are taken and behave otherwise. The one idea: the text of a mutant that is taken is
run beside the kernel's own, at sizes around every edge; equal bits, or validation is wrong.
"""

from __future__ import annotations

import ast
import random

import numpy as np
import pytest

from tests.emit import interpreter
from tests.validate.modules import emitted
from tests.validate.mutants import mutants
from tinygpu.program.step import Program
from tinygpu.record import replace
from tinygpu.simulate.inputs import random_inputs
from tinygpu.validate.kernel import kernel
from tinygpu.validate.launcher import launched
from tinygpu.validate.module import read
from tinygpu.validate.typed import Differs

KERNELS = {  # spec and machine: sizes at which what is taken is run
    ("saxpy", "saxpy_v4"): [{"n": n} for n in (1, 4, 1023, 1024, 1028, 1027)],
    ("views", "scale_rows[T=f16]"): [{"M": m, "N": n} for m, n in ((1, 1), (3, 128), (2, 129))],
    ("scan", "scan_warp"): [{"R": r, "N": n} for r, n in ((1, 1), (3, 31), (5, 32), (4, 33), (9, 70))],
}


def outputs(program: Program, sizes: dict[str, int], bits: int, wide: bool) -> dict[str, np.ndarray]:
    return interpreter.run(program, sizes, random_inputs(program.op, sizes, seed=5), bits, wide)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("spec", "machine"), KERNELS)
def test_a_mutant_is_refused_or_is_equal(spec, machine, monkeypatch):
    text, (expected,) = emitted(spec, machine)
    module, program = read(text), replace(expected.program, name=expected.name)
    ((made, launch, facts),) = launched(module, expected, module.functions[expected.name]).kernels
    cases = [
        (s, bits, wide) for s in KERNELS[spec, machine] for bits, wide in ((32, False), (64, s.get("N", s.get("n", 0)) % 4 == 0))
    ]
    wanted = [outputs(program, *case) for case in cases]
    refused = taken = 0
    for what, changed in mutants(made, random.Random(1)):
        mutant = changed()
        try:
            kernel(mutant, program, launch, facts)
        except Differs:
            refused += 1
            continue
        taken += 1
        monkeypatch.setattr(interpreter, "cuda_source", lambda _, mutant=mutant: ast.unparse(mutant))
        for case, want in zip(cases, wanted, strict=True):
            got = outputs(program, *case)
            same = all(got[name].tobytes() == want[name].tobytes() for name in want)
            assert same, f"{what} is taken, and is another kernel at {case}"
        monkeypatch.undo()
    assert refused > 100 and taken < refused // 20
