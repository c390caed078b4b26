"""Certificates: the same to the byte wherever and whenever they are made, and those of `proofs/` are the ones of today's machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.program.library import SPECS, library, loaded, proof_of
from tinygpu import pipeline
from tinygpu.commands.common import place
from tinygpu.hardware.arch import CPU
from tinygpu.model.source import said
from tinygpu.pipeline import certificate, load
from tinygpu.proof.certificate import Certificate, certify, program_text, read, sha
from tinygpu.record import replace

PROOFS = ROOT / "proofs"
SAMPLE = [  # machines whose certificates are made again by the tests; `make proofs` makes all of them
    ("saxpy", 1), ("copy", 0), ("matmul", 1), ("matmul_shared", 0), ("transpose", 1), ("histogram", -1), ("welford", 0), ("scan", -1),
    ("dot", 1), ("embedding", 0), ("argmax", 0), ("cast", 0),
]  # fmt: skip


def made(name: str, number: int) -> tuple[Path, Certificate]:
    spec = loaded(name)
    machine = spec.machines[number]
    return place(PROOFS, f"{name}.tgpu", machine.title), certificate(spec, machine, proof_of(machine))


def without_solver(text: str) -> dict[str, object]:
    """A certificate without what depends on the build of the solver."""
    plain = json.loads(text)
    plain["solver"] = ""
    plain["obligations"] = [{k: v for k, v in row.items() if k not in ("rlimit", "witness")} for row in plain["obligations"]]
    return plain


@pytest.mark.parametrize(("name", "number"), SAMPLE)
def test_the_committed_certificate_is_the_one_of_the_machine(name: str, number: int, request: pytest.FixtureRequest) -> None:
    file, again = made(name, number)
    if request.config.getoption("--update-golden"):
        file.write_text(again.text(), encoding="utf-8")
        return
    committed = file.read_text(encoding="utf-8")
    if json.loads(committed)["solver"] == again.solver:
        assert committed == again.text(), f"{file.name} is old: run `make proofs` if the change is meant"
    else:
        assert without_solver(committed) == without_solver(again.text()), (
            f"{file.name} is old: run `make proofs` if the change is meant"
        )


@pytest.mark.sampled(5)
def test_every_shipped_machine_has_one_and_nothing_else_has() -> None:
    wanted, stated = {}, {}
    for path in (*SPECS, *sorted((ROOT / "specs" / "tuned").glob("*.tgpu"))):
        spec = load(path)
        wanted |= {place(PROOFS, str(path), m.title): (spec, m) for m in spec.machines}
        stated |= {place(PROOFS, str(path), t.title): (spec, t) for t in spec.spec.stated}
    assert set(PROOFS.rglob("*.json")) == {*wanted, *stated}, "run `make proofs`"
    for file, (spec, theorem) in stated.items():
        found, text = read(file.read_text(encoding="utf-8")), theorem.text(spec.spec.tree)
        assert found.program == text and found.obligations, f"{file.name} is of another text: run `make proofs`"
    for file, (spec, machine) in wanted.items():
        found, program = read(file.read_text(encoding="utf-8")), pipeline.program(machine)
        assert found.program == program_text(program), f"{file.name} is of another program: run `make proofs`"
        assert found.source == sha(said(spec.spec.tree, machine.name)), f"{file.name} is of another text: run `make proofs`"
        kernels = {"cpu"} if program.arch == CPU else {"cpu", "cuda"}
        assert kernels == {name for name, _ in found.kernels} and found.obligations
        assert all(e.method in ("structure", "z3", "model") for e in found.obligations)


def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    specs = ["specs/saxpy.tgpu", "specs/online_softmax.tgpu"]
    command = [sys.executable, "-m", "tinygpu", "check", *specs, "--certify", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, "PYTHONHASHSEED": "1"})
    for name in ("online_softmax", "saxpy"):
        file, again = made(name, 0)
        assert (tmp_path / name / file.name).read_text(encoding="utf-8") == again.text()


@pytest.mark.parametrize(("name", "number"), [("matmul_shared", 0), ("argmax", 1), ("scan", -1)])
def test_the_program_in_it_states_the_same_obligations(name: str, number: int) -> None:
    _, first = made(name, number)
    second = certify(proof_of(first.program))
    assert second.proof == first.proof and [e.claim for e in second.obligations] == [e.claim for e in first.obligations]
    assert second.program == first.program


def test_reading_gives_back_what_was_written() -> None:
    _, one = made("embedding", 0)
    assert read(one.text()) == one and one.promises and one.preconditions


COPY = """op c(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : c { work grid = (g: ceil(n / 64)), block = (t: 64)
 program { y[g*64 + t] = x[g*64 + t] if g*64 + t < n } }
"""


def test_the_hash_is_that_of_the_program_and_of_its_obligations() -> None:
    one = certify(proof_of(COPY))
    assert certify(proof_of(COPY)).proof == one.proof == certify(proof_of("# a comment\n" + COPY)).proof
    assert certify(proof_of(COPY.replace("64", "32"))).proof != one.proof
    assert replace(one, obligations=one.obligations[1:]).proof != one.proof
    assert replace(one, solver="another").proof == one.proof


@pytest.mark.parametrize(
    "change",
    [
        ("t < n", "t <= n"),
        ('"version": 2', '"version": 1'),
        ('"kind": "bounds"', '"kind": "cover"'),
        ('"proof"', '"prof"'),
        ("{", "["),
    ],
)
def test_what_was_changed_is_not_read(change: tuple[str, str]) -> None:
    text = certify(proof_of(COPY)).text()
    assert change[0] in text
    with pytest.raises(ValueError):
        read(text.replace(*change, 1))


def test_a_launcher_says_what_was_proved_and_how_to_prove_it_again(golden) -> None:  # type: ignore[no-untyped-def]
    atomic = library("dot")[1]
    golden("module/facts.txt", "\n".join(pipeline.built(proof_of(atomic), atomic).facts))
