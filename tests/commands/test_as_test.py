"""`check --as-test`: what it writes fails on the broken machine as the counterexample says, and passes once it is right."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

REFUTED = (Path(__file__).parent / "files" / "refuted.tgpu").read_text(encoding="utf-8")
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


def test_each_fails_until_its_machine_is_repaired(run: Callable[..., tuple[int, str, str]]) -> None:
    Path("broken").mkdir()
    for name, (broken, (wrong, _), _) in CASES.items():
        assert broken.count(wrong) == 1
        spec = Path("broken") / f"{name}.tgpu"
        spec.write_text(broken)
        assert run("check", str(spec), "--as-test", f"tests/test_{name}.py")[0] == 1
        assert str(Path.cwd()) not in Path(f"tests/test_{name}.py").read_text(), "the test names the place it was made at"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--rootdir", ".", "tests"]
    failed = subprocess.run(command, capture_output=True, text=True)
    assert f"{len(CASES)} failed" in failed.stdout and "passed" not in failed.stdout, failed.stdout + failed.stderr
    for says in (says for _, _, says in CASES.values()):
        assert says in failed.stdout, failed.stdout
    for name, (broken, repair, _) in CASES.items():
        (Path("broken") / f"{name}.tgpu").write_text(broken.replace(*repair))
    passed = subprocess.run(command, capture_output=True, text=True)
    assert f"{len(CASES)} passed" in passed.stdout and passed.returncode == 0, passed.stdout + passed.stderr
