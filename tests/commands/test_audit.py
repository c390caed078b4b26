"""`tinygpu audit`: what is listed is what the machine really rests on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tinygpu import cli
from tinygpu.pipeline import load, program
from tinygpu.proof.axioms import AXIOMS, axioms
from tinygpu.proof.numerics import numerics_of

SPECS = Path(__file__).resolve().parents[2] / "specs"


def rests_on(name: str, machine: str) -> tuple[str, ...]:
    return axioms(program(load(SPECS / f"{name}.tgpu").spec.machine(machine)))


def test_axioms_are_those_of_the_steps() -> None:
    assert rests_on("saxpy", "saxpy_scalar") == ()
    assert rests_on("saxpy", "saxpy_v4") == ("wide access",)
    assert set(rests_on("dot", "dot_atomic")) >= {
        "launches in order",
        "barrier",
        "shuffle",
        "atomic update",
        "shared memory",
        "lanes",
    }
    assert "atomic update" not in rests_on("dot", "dot_two") and "barrier" not in rests_on("online_softmax", "online_warp")
    assert {"powers", "limits of functions"} <= set(rests_on("online_softmax", "online_thread"))
    assert "powers" not in rests_on("welford", "welford_thread")


def test_every_axiom_has_a_source() -> None:
    assert all(a.sentence and a.source for a in AXIOMS.values())


@pytest.mark.parametrize(
    ("name", "machine", "outputs"),
    [
        ("copy", "copy_scalar", "bitwise"),
        ("saxpy", "saxpy_v4", "in order"),
        ("matmul", "matmul_tile", "over the reals"),
        ("rows", "rows_thread[op=row_max]", "bitwise"),
        ("rows", "rows_thread[op=row_sum]", "over the reals"),
        ("argmax", "arg_warp[op=argmin_rows]", "bitwise"),
        ("histogram", "histogram_atomic", "bitwise"),
    ],
)
def test_what_is_bitwise_and_what_is_not(name: str, machine: str, outputs: str) -> None:
    found = numerics_of(program(load(SPECS / f"{name}.tgpu").spec.machine(machine)))
    assert set(found.outputs.values()) == {outputs}
    assert ("to the bit" in found.sentence or "exact" in found.sentence) == (outputs == "bitwise")


def test_a_program_of_a_person_need_not_evaluate_as_the_equation_is_written() -> None:
    from tinygpu.pipeline import load_text

    text = "op o(x: f32[n], y: f32[n], a: f32) -> (z: f32[n]) { z[i] = a*x[i] + a*y[i] }\n" \
        "machine m : o { work grid = (g: ceil(n / 64)), block = (t: 64)\n program { z[g*64 + t] = a*(x[g*64 + t] + y[g*64 + t]) if g*64 + t < n } }\n"  # fmt: skip
    found = numerics_of(program(load_text(text).machines[0]))
    assert found.outputs == {"z": "over the reals"} and "as the program is written" in found.sentence


def test_sums_of_floats_by_atomics_and_functions_are_said() -> None:
    assert numerics_of(program(load(SPECS / "dot.tgpu").spec.machine("dot_atomic"))).atomic
    assert not numerics_of(program(load(SPECS / "histogram.tgpu").spec.machine("histogram_atomic"))).atomic
    assert "exp" in numerics_of(program(load(SPECS / "online_softmax.tgpu").spec.machine("attend_thread[op=attend]"))).functions


def test_the_ledger_as_text_and_as_data(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SPECS.parent)
    assert cli.main(["audit", "specs/embedding.tgpu"]) == 0
    out = capsys.readouterr().out
    assert "promised" in out and "check_data=True" in out and "not verified" in out and "not asked: a second solver" in out
    assert cli.main(["audit", "specs/saxpy.tgpu", "--machine", "saxpy_scalar", "--replay", "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = found["machines"]
    assert row["one_solver_only"] == [] or "by z3" in row["one_solver_only"][0]
    assert row["outputs"] == {"z": "in order"} and isinstance(row["open"], list) and found["trusted_by_all"]


def test_what_is_not_proved_is_not_in_the_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "bad.tgpu"
    spec.write_text("op c(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }\nmachine m : c { work grid = (g: n // 64), block = (t: 64)\n"
                    " program { y[g*64 + t] = x[g*64 + t] } }\n")  # fmt: skip
    assert cli.main(["audit", str(spec)]) == 1
    said = capsys.readouterr().err
    assert "m of" in said and "[refuted]" in said and f"tinygpu check {spec} says why" in said
