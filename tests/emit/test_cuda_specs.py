"""Every shipped machine as a CUDA kernel: what its text computes, and what the assembler makes of it.

Comes in: the specs. Goes out: for each machine, its text run by Python against the simulator, and a gate for sm_80 and for sm_90a.
The one idea: a machine ships only if its kernels keep to registers and show every wide access that they promise, without a GPU.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from tests.conftest import ROOT, Share
from tests.emit.interpreter import run
from tests.program.library import edges, machines
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Const, variables
from tinygpu.derive.derive import derive
from tinygpu.derive.unpack import unpack
from tinygpu.derive.wide import wide_accesses
from tinygpu.emit.cuda import block_threads
from tinygpu.hardware.arch import CPU
from tinygpu.program.step import For, If, Program, steps
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

SPECS = sorted(path.stem for path in (ROOT / "specs").glob("*.tgpu"))
THREADS = 1 << 12  # of a grid of constant extent: at these sizes the blocks behind them have nothing to do
MOST = 500  # elements along an axis, so that this is so


@cache
def programs(spec: str) -> tuple[Program, ...]:
    """The programs of a spec's machines for GPUs, with a cell for each component of a value."""
    found = machines((ROOT / "specs" / f"{spec}.tgpu").read_text(encoding="utf-8")).values()
    return tuple(unpack(derive(m)) for m in found if m.arch != CPU)


@pytest.mark.sampled
@pytest.mark.parametrize("spec", SPECS)
def test_text_does_what_the_program_does(spec: str, share: Share) -> None:
    for program in share(programs(spec)):
        for number, sizes in enumerate(few(program)):
            agrees(program, sizes, bits=(32, 64)[number % 2])


def few(program: Program) -> list[dict[str, int]]:
    """Two choices of sizes around the edges of tiles, and one of which a size is 0; of several launches, which wait for all blocks, one."""
    found = [s for s in list(edges(program, 3 if program.workspaces else 8, seed=3))[2:] if max(s.values(), default=0) <= MOST]
    return [s for s in found if min(s.values(), default=0)][:2] + [s for s in found if not min(s.values(), default=0)][:1]


def most_blocks(program: Program) -> int:
    """How many blocks of a launch are run: of a row of constant extent few, unless a later launch reads what each of them leaves."""
    constant = all(isinstance(one.blocks, Const) and len(one.grid) < 2 for one in program.launches)
    threads = max(map(block_threads, program.launches))
    return max(2, THREADS // threads) if constant and not program.workspaces else 1 << 16


def idle(program: Program, sizes: dict[str, int]) -> frozenset[int]:
    """The blocks of a grid of several constant factors that leave out their first turns, and so all; but for the last block."""
    launch = program.launches[0]
    if len(launch.grid) < 2 or not all(isinstance(a.extent, Const) for a in launch.grid):
        return frozenset()
    first = sizes | {s.axis.name: 0 for s in steps(launch.body) if isinstance(s, For)}
    known = {a.name for a in launch.grid} | first.keys()
    asked = [s.guard for s in steps(launch.body) if isinstance(s, If) and variables(s.guard) <= known]
    blocks = list(product(*(range(int(evaluate(a.extent, {}))) for a in launch.grid)))
    digits = [first | {a.name: d for a, d in zip(launch.grid, block, strict=True)} for block in blocks]
    return frozenset(n for n, point in enumerate(digits[:-1]) if not all(evaluate(c, point) for c in asked))


def agrees(program: Program, sizes: dict[str, int], bits: int) -> None:
    """The text, wide where the launcher would allow it and not, leaves the bits that the simulator leaves."""
    inputs = random_inputs(program.op, sizes, seed=5)
    outcome = simulate(program, sizes, inputs)
    if outcome.faults and program.op.promises:
        return  # no inputs of these sizes keep the promise: an index into rows that there are none of
    want = outcome.outputs
    aligned = all(evaluate(w.asks, sizes) for w in wide_accesses(program))
    for wide in (False, True) if aligned and wide_accesses(program) else (False,):
        for name, values in run(program, sizes, inputs, bits, wide, most_blocks(program), idle=idle(program, sizes)).items():
            np.testing.assert_array_equal(
                np.asarray(values, float), np.asarray(want[name], float), f"{program.name} {sizes} wide={wide}"
            )


@pytest.mark.sampled
@pytest.mark.parametrize("spec", SPECS)
def test_every_machine_passes_the_gate(spec: str, share: Share) -> None:
    some = share(programs(spec))
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'tinygpu[cuda]'")
    from tinygpu.hardware.gate import gates, missing, slow
    from tinygpu.hardware.machine_code import disassembler

    for found in gates(some, ((8, 0), (9, 0, "a"))).values():
        reports = iter(found)
        for program in some:
            mine = [next(reports) for _ in program.launches]
            for report in mine:
                assert not report.refused(), f"{program.name}: {report.refused()}"
            if disassembler():
                assert not missing(mine, program), f"{program.name}: {missing(mine, program)}"
                for number, report in enumerate(mine):
                    assert not slow(report, program, number), f"{program.name} on {report.arch}: {slow(report, program, number)}"
