"""Asynchronous copies in programs: rings are proved for all sizes and run, and with one thing changed they are refuted; what kernels make of them.

Comes in: `rings.tgpu` and `copies.tgpu` of `specs/` beside this file, and changes of their text. Goes out: verdicts; the simulator's faults; machine code. The one
idea: a copy that lands too late is no wrong value yet, so each rule about landing has a program that breaks that one alone.
"""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

from benchmarks.machine_code import disassembler, gate, missing
from tests.emit import interpreter
from tests.emit.interpreter import run
from tests.emit.test_cuda import agrees
from tests.emit.test_cuda_prelude import needs_cuda
from tests.validate.mutants import mutants
from tinygpu import pipeline
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof, Refutation
from tinygpu.recheck import Agreement, Disagreement
from tinygpu.recheck.run import rerun
from tinygpu.record import replace
from tinygpu.simulate.fault import UnderWay
from tinygpu.simulate.inputs import random_inputs
from tinygpu.validate.kernel import kernel
from tinygpu.validate.launcher import launched
from tinygpu.validate.module import read
from tinygpu.validate.typed import Differs

SPECS = Path(__file__).parent / "specs"
RING = (SPECS / "rings.tgpu").read_text().replace("param S in {2, 3, 4}", "param S = 3")
SMALL = (SPECS / "ring_of_copies.tgpu").read_text()
COPIES = (SPECS / "copies.tgpu").read_text()
LOOP = RING.index("    for ko")
ROUND = ("      wait S - 2\n      barrier\n", "")
LATE = RING[:LOOP] + "    wait S - 2\n    barrier\n" + RING[LOOP:].replace(*ROUND).replace(
    "      }\n    }\n    for i, j", "      }\n      wait S - 2\n      barrier\n    }\n    for i, j"
)  # fmt: skip
RIGHT = {
    "as it stands": RING,
    "too careful": RING.replace("wait S - 2", "wait 0"),
    "waits at the end of a turn": LATE,
    "more commits only help": RING.replace("      commit\n      for kk", "      commit\n      if wy == 0 { commit }\n      for kk"),
    "a plain copy of the one tile": RING.replace("copy async sB", "copy sB"),
}
WRONG = {  # what is changed, and the codes that may be said
    "waits too late": (RING.replace("wait S - 2", "wait S - 1"), "TG310"),
    "waits too late at the end of a turn": (LATE.replace("wait S - 2", "wait S - 1"), "TG310"),
    "never waits": (RING.replace("      wait S - 2\n", ""), "TG310"),
    "no barrier": (RING.replace("      barrier\n", ""), "TG302 TG310"),
    "the barrier before the wait": (RING.replace(ROUND[0], "      barrier\n      wait S - 2\n"), "TG310"),
    "a barrier of the warp alone": (RING.replace("      barrier\n", "      warp barrier\n"), "TG302 TG310"),
    "no commit in the loop": (RING[:LOOP] + RING[LOOP:].replace("      commit\n", ""), "TG310"),
    "no commit before the loop": (RING[:LOOP].replace("      commit\n", "") + RING[LOOP:], "TG310"),
    "one tile begun before the loop": (RING.replace("for p < S - 1", "for p < S - 2"), "TG310"),
    "to the tile that is read": (RING.replace("sA[(ko + S - 1) % S", "sA[ko % S"), "TG302 TG310"),
    "of another tile": (RING.replace("ko*32 + (S - 1) * 32 + c | 0]", "ko*32 + S*32 + c | 0]"), "TG50"),
    "reads the next tile": (RING.replace("sA[ko % S, wy", "sA[(ko + 1) % S, wy"), "TG310"),
    "a slot too few": (RING.replace("f16[S, 64, 32]", "f16[S - 1, 64, 32]"), "TG203"),
    "some of the threads wait": (RING.replace("      wait S - 2\n", "      if wy == 0 { wait S - 2 }\n"), "TG310"),
    "some of the threads commit": (RING[:LOOP] + RING[LOOP:].replace("      commit\n", "      if wy == 0 { commit }\n"), "TG310"),
    "writes where a copy is under way": (
        RING.replace("      commit\n      for kk", "      commit\n      sB[(ko + S - 1) % S, wy*2 + wx, lane] = 0\n      for kk"),
        "TG302 TG310",
    ),
    "copies over what it has written": (
        RING.replace(
            "      copy async sB[(ko + S - 1)", "      copy sB[(ko + S - 1) % S, r, c] = B[ko*32 + r, bx*64 + c | 0]\n      copy async sB[(ko + S - 1)"
        ),
        "TG310",
    ),
    "lanes of a warp are not told": (COPIES[COPIES.index("# Other lanes") :].replace("      wait 0\n      warp barrier\n", "      wait 0\n"), "TG302 TG310"),
    "lanes of a warp are told too early": (
        COPIES[COPIES.index("# Other lanes") :].replace("      wait 0\n      warp barrier\n", "      warp barrier\n      wait 0\n"),
        "TG310",
    ),
    "a thread copies over what it has read": (COPIES[COPIES.index("# Each") : COPIES.index("# Other lanes")].replace("      warp barrier\n", ""), "TG310"),
    "a thread reads its own copy too early": (COPIES[COPIES.index("# Each") : COPIES.index("# Other lanes")].replace("wait 1", "wait 2"), "TG310"),
}  # fmt: skip
OP = COPIES[: COPIES.index("machine by_rows")]


def machine(text: str) -> Machine:
    return pipeline.load_text(text if "\nop " in f"\n{text}" else OP + text).machines[0]


@pytest.mark.parametrize("name", RIGHT)
def test_a_ring_is_proved_however_it_waits(name: str) -> None:
    assert name == "as it stands" or RIGHT[name] != RING
    assert isinstance(pipeline.check(machine(RIGHT[name])), Proof)


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refuted(name: str) -> None:
    text, codes = WRONG[name]
    assert text not in (RING, LATE, COPIES)
    verdict = pipeline.check(machine(text))
    assert isinstance(verdict, Refutation), verdict
    assert verdict.diagnostic.code.startswith(tuple(codes.split())), verdict.diagnostic
    assert verdict.diagnostic.case is not None


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_the_second_checker_sees_it_too(name: str) -> None:
    text, codes = WRONG[name]
    found = rerun(pipeline.program(machine(text)))
    assert isinstance(found, Disagreement)
    assert codes != "TG310" or isinstance(found.seen, UnderWay)


def test_the_second_checker_agrees_with_what_is_right() -> None:
    assert isinstance(rerun(pipeline.program(machine(SMALL))), Agreement)


def test_copies_are_in_the_machine_code_and_before_sm_80_none_are_needed() -> None:
    needs_cuda()
    program = pipeline.program(machine(RING))
    for arch in ((8, 0), (9, 0)):
        (report,) = gate([program], arch)
        assert (report.stack_bytes, report.spill_bytes) == (0, 0)
        if disassembler():
            groups = report.count("LDGDEPBAR")  # before the loop as often as it is unrolled
            assert groups >= 2 and report.count("LDGSTS.E.BYPASS.128") == 4 * groups and report.count("DEPBAR") >= 1
            assert not missing([report], program)
    (old,) = gate([pipeline.program(machine(SMALL))], (7, 5))
    assert not old.count("LDGSTS") and (not disassembler() or old.wide(False, 16) >= 3)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 37), (1, 64)])
def test_the_text_computes_the_equation_however_late_copies_land(sizes: tuple[int, int]) -> None:
    agrees(pipeline.program(machine(SMALL)), dict(zip("RN", sizes, strict=True)))


@pytest.mark.sampled
def test_a_mutant_of_the_text_is_refused_or_is_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of copies, waits and commits, whose copies land as late as they may."""
    given = machine(SMALL)
    built = pipeline.built(pipeline.check(given), given)  # type: ignore[arg-type]
    (expected,) = pipeline.expected([built])
    module, program = read(pipeline.module("ring.tgpu", [built])), replace(built.program, name=expected.name)
    ((made, launch, facts),) = launched(module, expected, module.functions[expected.name]).kernels
    cases = [({"R": 2, "N": n}, bits, n % 4 == 0) for n, bits in ((64, 32), (37, 64), (20, 32))]

    def outputs() -> list[bytes]:
        return [run(program, s, random_inputs(program.op, s, seed=5), *more)["y"].tobytes() for s, *more in cases]

    wanted, refused, lines = outputs(), 0, [n.lineno for n in ast.walk(made) if isinstance(n, ast.Expr) and "cop" in ast.unparse(n)]
    for what, changed in mutants(made, random.Random(1)):
        if int(what.split()[1].rstrip(":")) in lines or "wait" in what or "commit" in what:
            mutant = changed()
            try:
                kernel(mutant, program, launch, facts)
            except Differs:
                refused += 1
                continue
            monkeypatch.setattr(interpreter, "cuda_source", lambda _, mutant=mutant: ast.unparse(mutant))
            assert outputs() == wanted, what
            monkeypatch.undo()
    assert refused > 100
