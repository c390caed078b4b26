"""The CPU kernel of every shipped machine computes the equation, at size 0, 1, primes, and around the tiles; and so do those that run the
threads of a block in phases, which a build of a proof alone has: one of each kind of working together."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np
import pytest

from tests.conftest import Share
from tests.emit.cpu_harness import run
from tests.program.library import STEMS, as_promised, library, machine
from tinygpu import pipeline
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.machine import Machine
from tinygpu.program.step import Program
from tinygpu.simulate.bounded import bounded
from tinygpu.simulate.effort import effort
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.tolerance import tolerance

SIZES = {
    1: [(n,) for n in (0, 1, 2, 3, 4, 5, 7, 8, 31, 63, 64, 65, 127, 255, 256, 257, 1021, 1024, 1025, 8191, 8192, 8193, 16411)],
    2: [(0, 5), (5, 0), (1, 1), (1, 2), (2, 1), (3, 4), (7, 13), (63, 65), (64, 64), (129, 31), (5, 259), (257, 6), (32, 1024), (2, 8193)],
    3: [(0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1), (2, 3, 5), (7, 11, 13), (33, 17, 65), (64, 64, 64), (5, 130, 31), (6, 31, 128), (16, 8, 24)],
    4: [(0, 2, 3, 4), (2, 3, 0, 5), (1, 1, 1, 1), (2, 3, 5, 7), (3, 9, 33, 4), (2, 17, 66, 9), (4, 8, 16, 8)],
    5: [(0, 2, 3, 4, 5), (1, 1, 1, 1, 1), (2, 3, 5, 7, 3), (2, 4, 8, 16, 4),
        *(row for d in (32, 64, 128) for b, h, n in ((1, 2, 3), (2, 1, 17), (1, 1, 5)) for row in ((b, h, n, d, 5), (b, h, 2, n, d)))],
    6: [(0, 2, 3, 4, 5, 2), (1, 1, 1, 1, 1, 1), (2, 3, 5, 4, 3, 7)],
    7: [(0, 2, 3, 4, 5, 2, 3), (1, 1, 1, 1, 1, 1, 1), (2, 5, 7, 3, 9, 3, 2)],
}  # fmt: skip
LONG = 1e9  # elements that the reference makes on the way
PHASES = [("softmax", "softmax_warp"), ("dot", "dot_atomic"), ("matmul_ring", "matmul_ring_three"), ("mlp", "mlp_fused"),
          ("scan", "scan_block_v4"), ("argmax", "arg_block[op=argmax_rows]")]  # fmt: skip


def sizes_of(built: Program) -> Iterator[dict[str, int]]:
    """Those of the sizes that the program's preconditions admit."""
    for numbers in SIZES[len(built.op.sizes)]:
        sizes = dict(zip(built.op.sizes, numbers, strict=True))
        if built.op.promises and 0 in numbers:
            continue  # there may be no index that keeps the promise
        if not all(bool(evaluate(where, dict(sizes))) for where in (*built.op.where, *built.where)):
            continue
        if effort(built.op, sizes, {t.name: prod(int(evaluate(e, dict(sizes))) for e in t.shape) for t in built.op.outputs}) < LONG:
            yield sizes


def shipped(machine: Machine) -> Program:
    """The program that a build makes the CPU kernel of, where its proof is found."""
    return next(pipeline.singles(machine), None) or pipeline.program(machine)


def judged(title: str, built: Program) -> int:
    """How many sizes were tried, at all of which the kernel computes the equation."""
    tried = 0
    for sizes in sizes_of(built):
        inputs = random_inputs(built.op, sizes)
        if not as_promised(built, sizes, inputs):
            continue  # at these sizes no data is
        got, want = run(built, sizes, inputs), reference(built.op, sizes, inputs)
        relative, absolute = tolerance(built.op, sizes)
        for name, values in got.items():
            exact = values.astype(np.float64)
            close = np.isclose(exact, want[name].astype(np.float64), rtol=relative, atol=absolute, equal_nan=True)
            if built.op.states and not close.all():  # errors grow from turn to turn as the data say
                _, far = bounded(built.op, sizes, inputs, {name: tuple(np.indices(values.shape))})
                close |= ~(np.abs(exact - want[name]) > far[name])
            assert close.all(), f"{title} at {sizes}: {name}{tuple(np.argwhere(~close)[0])}"
        tried += 1
    return tried


@pytest.mark.sampled
@pytest.mark.parametrize("spec", STEMS)
def test_every_machine_computes_its_equation(spec: str, share: Share) -> None:
    for one in share(library(spec)):
        assert judged(one.title, shipped(one)) >= 3, f"{one.title}: too few sizes are admitted"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("spec", "title"), PHASES)
def test_threads_in_phases_compute_their_equation(spec: str, title: str) -> None:
    one = machine(spec, title)
    built = pipeline.program(one)
    assert shipped(one) != built and judged(title, built) >= 3
