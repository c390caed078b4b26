"""Theorems and lemmas are subjects of commands as machines are.

Comes in: a spec with a theorem, and a machine via it. Goes out: certificates, and what is replayed, audited and shown of them. The one idea: a certificate of a theorem is its text,
which is proved again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tinygpu.proof.certificate import read
from tinygpu.record import replace

Run = Callable[..., tuple[int, str, str]]
PAIR = """op sums(x: f32[n, k], s: f32) -> (y: f32[n]) {
  y[i] = sum[j] x[i, j] * s
}

op scaled(x: f32[n, k], s: f32) -> (y: f32[n]) {
  u[i] = sum[j] x[i, j]
  y[i] = u[i] * s
}

theorem scale : sums == scaled

machine rows : sums via scale {
  work    grid = (g), block = (t: 128)
  compute i = (g, t)
  time    j
}
"""


@pytest.fixture(autouse=True)
def certified(run: Run) -> None:
    Path("pair.tgpu").write_text(PAIR)
    assert run("check", "pair.tgpu", "--certify", "proofs")[0] == 0


def test_both_have_certificates_that_are_replayed(run: Run) -> None:
    assert {p.name for p in Path("proofs/pair").iterdir()} == {"scale.json", "rows.json"}
    code, out, _ = run("replay", "pair.tgpu", "--output-format", "json")
    rows = json.loads(out)["machines"]
    assert code == 0 and [(r["machine"], r["certificate"]) for r in rows] == [("scale", "valid"), ("rows", "valid")]
    assert {o["kind"] for o in rows[1]["obligations"]} > {"law", "theorem"} and rows[0]["runs"]["count"] > 0
    assert run("replay", "proofs/pair/scale.json", "--quick")[0] == 0


@pytest.mark.parametrize(
    "change",
    [
        lambda c: replace(c, obligations=c.obligations[1:]),
        lambda c: replace(c, op="sums == sums"),
        lambda c: replace(c, preconditions=("n >= 1",)),
        lambda c: replace(c, program=c.program.replace("u[i] * s", "u[i] + s")),
    ],
)
def test_what_was_changed_is_not_the_certificate_of_the_theorem(run: Run, change: Callable[..., object]) -> None:
    file = Path("proofs/pair/scale.json")
    file.write_text(change(read(file.read_text())).text())  # type: ignore[attr-defined]
    assert run("replay", "pair.tgpu", "--quick")[0] == 1
    assert run("replay", str(file), "--quick")[0] != 0


def test_a_theorem_that_is_false_is_not_replayed(run: Run) -> None:
    Path("false.tgpu").write_text(PAIR.replace("u[i] * s", "u[i] + s"))
    code, _, err = run("replay", "false.tgpu", "--quick")
    assert code == 3 and "not proved again" in err
    assert run("audit", "false.tgpu")[0] == 1
    assert run("show", "false.tgpu", "scale")[0] != 0
    assert run("build", "false.tgpu", "-o", "out")[0] == 1 and not Path("out/false.py").exists()


def test_what_rests_on_what_is_audited_and_shown(run: Run) -> None:
    code, out, _ = run("audit", "pair.tgpu")
    assert code == 0 and "via       scale : sums == scaled" in out and "1 machines, 1 theorems and lemmas" in out
    code, out, _ = run("show", "pair.tgpu", "scale")
    assert code == 0 and "sum[a < k] s*x[i, a]" in out
    code, out, _ = run("check", "pair.tgpu", "--why", "theorem")
    assert code == 0 and "[law]" in out
