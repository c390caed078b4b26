"""The gate: every shipped machine passes it, each thing that it refuses is seen, and what is no fault is let through.

Comes in: the specs, without a GPU; short pieces of machine code. Goes out: what is said of them. The ideas: a machine ships only if its kernels
keep to registers and show every wide access that they promise; and a gate that lets everything through looks like a good emitter, so each of
its rules is shown a kernel that breaks it.
"""

from __future__ import annotations

import doctest

import pytest

from benchmarks import machine_code
from benchmarks.machine_code import (
    Instruction,
    Report,
    count,
    disassembler,
    gates,
    innermost,
    loops,
    missing,
    plain_loads,
    rewrites,
    slow,
)
from tests.conftest import Share
from tests.emit.hand_programs import PROGRAMS
from tests.program.library import STEMS, library
from tinygpu import pipeline
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cuda import cuda_source
from tinygpu.hardware.arch import CPU
from tinygpu.program.step import Program
from tinygpu.run.gate import Arch

LOOP = ["S2R", "LDG.E.CONSTANT", "IMAD.WIDE", "FFMA", "BRA 0x10", "STG.E", "EXIT", "BRA 0x70"]


def test_examples_of_machine_code_hold() -> None:
    found = doctest.testmod(machine_code)
    assert found.attempted >= 5 and not found.failed


QUOTIENTS = {"paged_warp"}  # the page of a key is a quotient by a size, and asked for in each turn


@pytest.mark.sampled
@pytest.mark.parametrize("spec", STEMS)
def test_every_machine_passes(spec: str, share: Share) -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'tinygpu[cuda]'")
    machines = share(library(spec))
    some = [unpack(pipeline.program(m)) for m in machines if m.arch != CPU]
    first: dict[str, Arch] = {"sm_89": (8, 9), "sm_90": (9, 0), "sm_90a": (9, 0, "a")}
    for arch in dict.fromkeys(first.get(one.arch, (8, 0)) for one in some):
        passed([one for one in some if first.get(one.arch, (8, 0)) == arch], tuple(dict.fromkeys((arch, (9, 0, "a")))))


def passed(some: list[Program], archs: tuple[Arch, ...]) -> None:
    """That kernels keep to what gates ask, on each architecture."""
    for found in gates(some, archs).values():
        reports = iter(found)
        for program in some:
            mine = [next(reports) for _ in program.launches]
            assert not any(one.refused() for one in mine), program.name
            if disassembler():
                assert not missing(mine, program), f"{program.name}: {missing(mine, program)}"
                found_slow = any(slow(one, program, number) for number, one in enumerate(mine))
                assert found_slow == (program.name in QUOTIENTS), program.name


def report(names: list[str]) -> Report:
    """A kernel of these instructions, one every 16 bytes."""
    parts = [name.partition(" ") for name in names]
    code = tuple(Instruction(16 * n, name, operands) for n, (name, _, operands) in enumerate(parts))
    return Report(16, 0, 0, 0, instructions=code)


def test_a_good_loop_is_let_through() -> None:
    assert slow(report(LOOP), PROGRAMS["gelu"], 0) == ()


@pytest.mark.parametrize(("place", "said"), [(1, "1 divisions"), (2, "1 divisions"), (0, ""), (5, "")])
def test_divisions_are_refused_in_loops_alone(place: int, said: str) -> None:
    found = slow(report(LOOP[:place] + ["I2F.U32.RP"] + LOOP[place + 1 :]), PROGRAMS["gelu"], 0)
    assert ("divisions" in " ".join(found)) == bool(said) and said in " ".join(found)


def test_divisions_around_a_loop_are_none_of_its_own() -> None:
    nest = ["I2F.U32.RP", "FADD", "FMUL", "BRA 0x10", "BRA 0x0", "EXIT"]
    code = report(nest).instructions
    assert [len(loop) for loop in loops(code)] == [5, 3] and [len(loop) for loop in innermost(code)] == [3]
    assert slow(report(nest), PROGRAMS["gelu"], 0) == ()


def test_loads_have_to_say_that_nobody_writes() -> None:
    plain = report(["LDG.E", "LDG.E.128.CONSTANT", "EXIT"])
    assert plain_loads(plain.instructions) == 1
    assert slow(plain, PROGRAMS["gelu"], 0) == ("1 loads from memory that nobody writes, not as such",)
    assert not rewrites(PROGRAMS["gelu"], 0) and not rewrites(PROGRAMS["total_two"], 0)


def test_counts_are_of_kinds() -> None:
    code = ["IMAD.MOV.U32 R0", "IMAD.WIDE R2", "LEA.HI.X R3", "ISETP.GE", "LDS.128 R4", "IMAD.HI.U32 R5, R6, -0x55555555", "NOP"]
    found = count(report(code).instructions)
    assert (found.instructions, found.accesses, found.addresses, found.checks) == (6, 1, 3, 1)
    assert (found.long, found.by_numbers, found.divisions, found.each) == (1, 1, 0, 3.0)


AGAIN = """
op twice(x: f32[n]) -> (y: f32[n]) {
  y[i] = x[i] + x[i]
}

machine twice_again : twice {
  work grid = (g: ceil(n / 256)), block = (t: 256)
  program {
    y[g*256 + t] = x[g*256 + t] if g*256 + t < n
    y[g*256 + t] += x[g*256 + t] if g*256 + t < n
  }
}
"""


def test_what_a_launch_writes_it_may_load_as_it_is() -> None:
    (machine,) = pipeline.load_text(AGAIN).machines
    program = pipeline.program(machine)
    assert rewrites(program, 0) and slow(report(["LDG.E", "STG.E", "EXIT"]), program, 0) == ()
    assert "pointer(f32), ix" in cuda_source(program) and "constant(f32), pointer" in cuda_source(program)
