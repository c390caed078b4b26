"""Kernels with instructions: what runs lane by lane as the manual says is what the program says, the machine code has them, and no other text is taken.

Comes in: the programs of `specs/` beside this file. Goes out: outputs compared, instructions counted, changed texts refused. The one idea: data of
instructions are seen by nobody here: the manual's figures on the one side, the program's steps on the other.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.machine_code import Report, disassembler, gate, loops
from tests.conftest import Whole
from tests.emit.interpreter import ORDERS, run
from tests.emit.test_cuda_prelude import needs_cuda
from tests.hardware.right import proofs
from tests.program.library import loaded
from tinygpu import pipeline
from tinygpu.category.term import Const
from tinygpu.emit.cuda import cuda_source
from tinygpu.program.call import Sync
from tinygpu.program.step import Program
from tinygpu.program.traverse import map_steps
from tinygpu.record import replace
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

SPECS = Path(__file__).parent / "specs"
STEMS = sorted(path.stem for path in SPECS.glob("*.tgpu"))
SIZES = (33, 21, 17, 9)


@cache
def programs(stem: str) -> tuple[Program, ...]:
    return tuple(pipeline.program(machine) for machine in pipeline.load(SPECS / f"{stem}.tgpu").machines)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("stem", STEMS)
def test_lanes_that_do_what_the_manual_says_do_what_the_program_says(stem: str, whole: Whole) -> None:
    """In an order that is mixed, or in all."""
    for number, program in enumerate(programs(stem)):
        sizes = dict(zip(program.op.sizes, SIZES, strict=False))
        inputs = random_inputs(program.op, sizes, seed=number)
        wanted = simulate(program, sizes, inputs)
        assert wanted.faults == ()
        for order in ORDERS if whole(stem) else ("mixed",):
            for name, values in run(program, sizes, inputs, 32, False, order=order).items():
                near = 1e-2 if program.op.tensor(name).dtype in ("f16", "bf16") else 1e-4
                np.testing.assert_allclose(
                    np.asarray(values, np.float64), np.asarray(wanted.outputs[name], np.float64), rtol=near, atol=near
                )


COUNTED = {  # of each spec: the architecture, and in the loop with the most of them how often each
    "tiled": ((8, 0), {"HMMA.16816.F32": 16, "LDSM.16.M88.4": 4, "LDSM.16.MT88.2": 8}),
    "int8": ((8, 0), {"IMMA.16832.S8.S8": 4}),
    "doubles": ((8, 0), {"DMMA.884": 6}),
    "reuse": ((8, 0), {"HMMA.16816.F32": 4}),
    "tf32": ((8, 0), {"HMMA.1688.F32.TF32": 2}),
    "int4": ((8, 0), {"IMMA.8832.S4.S4": 2}),
    "float8": ((8, 9), {"QMMA.16832.F32.E5M2.E4M3": 2, "LDSM.16.M88.2": 2}),
    "rings": ((8, 0), {"HMMA.16816.F32": 16, "LDGSTS.E.BYPASS.128": 4}),
    "stored": ((9, 0), {"HMMA.16816.F32": 2, "LDSM.16.M88.4": 1}),
}


def counted(report: Report, names: Any) -> dict[str, int]:
    best = max((*loops(report.instructions), report.instructions), key=lambda body: sum("MMA" in i.name for i in body))
    return {name: sum(i.name == name for i in best) for name in names}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stem", COUNTED)
def test_the_machine_code_has_the_instructions_and_nothing_leaves_registers(stem: str) -> None:
    needs_cuda()
    arch, wanted = COUNTED[stem]
    for report in gate(programs(stem), arch):
        assert report.refused() == ()
        assert not disassembler() or counted(report, wanted) == wanted


def test_a_derived_ring_of_128_by_128_multiplies_64_times_a_turn_and_leaves_no_register() -> None:
    """The hot loop has no branch but its own, and stores nothing: what is outside is copied as 0."""
    needs_cuda()
    machine = loaded("tensor_cores").spec.machine("half_ring[T=f16, MI=4]")
    (report,) = gate([pipeline.program(machine)], (8, 0))
    wanted = {"HMMA.16816.F32": 64, "LDSM.16.M88.4": 8, "LDSM.16.MT88.4": 8, "LDGSTS.E.BYPASS.128": 8, "BRA": 1, "STS.128": 0}
    assert report.refused() == ()
    assert not disassembler() or counted(report, wanted) == wanted


STAGED = {  # of an output that goes by way of a tile: what is multiplied, and what is stored from there, in a loop that is short enough to be written out
    "staged[T=f16, MI=4]": ((8, 0), {"HMMA.16816.F32": 64, "STG.E.EF.128": 1}),
    "staged_wgmma[T=f16]": ((9, 0, "a"), {"HGMMA.64": 4, "STG.E.EF.128": 8}),
    "staged_roles[T=f16]": ((9, 0, "a"), {"HGMMA.64": 4, "STG.E.EF.128": 8, "LDGSTS.E.BYPASS.128": 0}),
    "staged_boxes[T=bf16]": ((9, 0), {"HMMA.16816.F32.BF16": 64, "STG.E.EF.128": 8}),
    "stored[T=bf16, MI=2]": ((9, 0), {"HMMA.16816.F32.BF16": 16, "STSM.16.M88.4": 4, "STG.E.EF.128": 4}),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("title", STAGED)
def test_an_output_by_way_of_a_tile_is_stored_by_16_bytes(title: str) -> None:
    needs_cuda()
    arch, wanted = STAGED[title]
    machine = loaded("half_output").spec.machine(title)
    (report,) = gate([pipeline.program(machine)], arch)
    assert report.refused() == ()
    assert not disassembler() or {n: sum(i.name == n for i in report.instructions) for n in wanted} == wanted


HEADS = ["F=f16, E=128, N=1]", *(pytest.param(n, marks=pytest.mark.sampled) for n in ("F=f16, E=32, N=1]", "F=bf16, E=64, N=1]"))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("head", HEADS)
def test_attention_multiplies_as_often_as_a_head_is_wide_and_leaves_no_register(head: str) -> None:
    needs_cuda()
    machines = [m for m in loaded("attention").machines if m.title.endswith(head)]
    assert machines
    for machine, report in zip(machines, gate(map(pipeline.program, machines), (8, 0)), strict=True):
        each = dict(machine.constants)["E"] // 4
        kind = "HMMA.16816.F32.BF16" if dict(machine.variant)["F"] == "bf16" else "HMMA.16816.F32"
        wanted = {kind: 4 * each, "LDSM.16.M88.4": each, "LDSM.16.MT88.4": each}
        assert report.refused() == ()
        assert not disassembler() or counted(report, wanted) == wanted


@cache
def built(stem: str) -> tuple[str, Any]:
    made = [pipeline.built(proof) for proof in proofs(stem)]
    return pipeline.module(f"{stem}.tgpu", made), made


@pytest.mark.sampled(5)
@pytest.mark.parametrize("stem", STEMS)
def test_kernels_are_read_back(stem: str) -> None:
    assert pipeline.validate(*built(stem)) == ()


TAMPERED = {  # of `tiled`: what stands there, and what is no kernel of it
    "another instruction": (r"m16n8k16\.row\.col\.f32\.f16\.f16\.f32", "m16n8k16.row.col.f32.bf16.bf16.f32"),
    "another operand written": ("'c:rw:4 a:r:8 b:r:4'", "'c:r:4 a:rw:8 b:r:4'"),
    "not transposed": (r"x2\.trans", "x2"),
    "the other tile": (r"a, ix\(mi\*8\), b", "a, ix(ix(1 - mi)*8), b"),
    "operands swapped": (r"a, ix\(mi\*8\), b, ix\(nj\*4\)", "b, ix(nj*4), a, ix(mi*8)"),
    "another row": (r"mod\(lane, 16\)\)\*40", "mod(lane, 8))*40"),
    "another array": (r"ldmatrix_x4\(a, (.*), sA,", r"ldmatrix_x4(a, \1, sB,"),
    "no instruction": (r"mma_m16n8k16\(acc.*\)", "pass"),
    "twice": (r"( *)(mma_m16n8k16\(acc.*\))", r"\1\2\n\1\2"),
    "a cell of another lane's element": (r"= acc\[(.*)\]", r"= acc[ix(31 - \1)]"),
    "fewer cells": (r"acc = cuda\.local\.array\(32", "acc = cuda.local.array(16"),
    "cells of another type": (r"a = cuda\.local\.array\(16, u16\)", "a = cuda.local.array(16, f32)"),
    "without the barrier before": (r"cuda\.syncthreads\(\)\n( *)for kk", r"pass\n\1for kk"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_no_other_text_is_taken(name: str) -> None:
    text, made = built("tiled")
    old, new = TAMPERED[name]
    edited = re.sub(old, new, text, count=1)
    assert edited != text
    assert {d.code for d in pipeline.validate(edited, made)} & {"TG820", "TG821", "TG822"}


def test_steps_that_are_not_the_instruction_are_no_kernel_of_it() -> None:
    """A program whose barriers say other operands than its steps use."""
    _, (made,) = built("tiled")
    for operand in range(3):

        def other(step: Any, operand: int = operand) -> Any:
            if not (isinstance(step, Sync) and step.begins and step.begins.instruction.name.startswith("mma")):
                return (step,)
            places = list(step.begins.operands)
            name, index = places[operand]
            places[operand] = name, (*index[:-2], index[-2], Const(0) if operand != 1 else Const(16))
            return (replace(step, begins=replace(step.begins, operands=tuple(places))),)

        launches = tuple(replace(one, body=map_steps(one.body, other)) for one in made.program.launches)
        program = replace(made.program, launches=launches)
        text = pipeline.module("tiled.tgpu", [replace(made, program=program)])
        assert cuda_source(program) in text and cuda_source(made.program) not in text
        assert {d.code for d in pipeline.validate(text, [replace(made, program=program)])} & {"TG820", "TG821", "TG822"}
