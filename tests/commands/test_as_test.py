"""`check --as-test`: what it writes fails on the broken machine as the counterexample says, and passes once it is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.test_cli import GOOD, REFUTED
from tinygpu import cli

OP = "op scale(a: f32, x: f32[n]) -> (z: f32[n]) { z[i] = a * x[i] }\n"
SHARED = """op shift(x: f32[n]) -> (y: f32[n]) where n % 64 == 0 { y[i] = x[i] }

machine shift_m : shift {
  work grid = (g: n // 64), block = (t: 64)
  program {
    shared s: f32[64]
    s[63 - t] = x[g*64 + t]
    BARRIER
    y[g*64 + t] = s[63 - t]
  }
}
"""
CASES = {  # the broken text, what repairs it, and what the failure says
    "floor": (REFUTED, ("n // 256", "ceil(n / 256)"), "NeverStored: n 1; element z[0]"),
    "edge": (REFUTED.replace("n // 256", "ceil(n / 256)").replace(" if g*256 + t < n", ""), ("t]\n  }", "t] if g*256 + t < n\n  }"), "OutOfBounds"),
    "value": (
        REFUTED.replace("n // 256", "ceil(n / 256)").replace("a * x[g*256 + t]", "a + x[g*256 + t]"),
        ("a + x[g*256 + t]", "a * x[g*256 + t]"),
        "Mismatch",
    ),
    "race": (SHARED.replace("63 - t] = x", "t] = x").replace("BARRIER\n    ", "").replace("= s[63 - t]", "= s[t ^ 1]"),
             ("s[t ^ 1]", "s[t]"), "Race"),
    "limits": (OP + "machine scale_m : scale {\n  work grid = (g), block = (t: 2048)\n  compute i = (g, t)\n}\n", ("2048", "256"), "a block has 2048 threads"),
}  # fmt: skip


def pytest_on(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(file)]
    return subprocess.run(command, capture_output=True, text=True, cwd=file.parent)


@pytest.mark.parametrize("name", CASES)
def test_it_fails_until_the_machine_is_repaired(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken, (wrong, right), says = CASES[name]
    assert broken.count(wrong) == 1
    spec, file = tmp_path / "specs" / "broken.tgpu", tmp_path / "tests" / "test_broken.py"
    spec.parent.mkdir()
    spec.write_text(broken)
    assert cli.main(["check", str(spec), "--as-test", str(file)]) == 1
    assert str(tmp_path) not in file.read_text(), "the test names the place it was made at"
    failed = pytest_on(file)
    assert failed.returncode == 1 and says in failed.stdout, failed.stdout + failed.stderr
    spec.write_text(broken.replace(wrong, right))
    passed = pytest_on(file)
    assert passed.returncode == 0 and "1 passed" in passed.stdout, passed.stdout + passed.stderr
    capsys.readouterr()


def test_nothing_is_written_where_nothing_is_refuted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, file = tmp_path / "good.tgpu", tmp_path / "test_good.py"
    spec.write_text(GOOD)
    assert cli.main(["check", str(spec), "--as-test", str(file)]) == 0
    assert not file.exists() and "nothing is refuted" in capsys.readouterr().err
