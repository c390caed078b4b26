"""The plugin of pytest, as a user's run of pytest has it: in a process of its own, in a folder with a spec that is right and one that is wrong.

Comes in: tests and specs. Goes out: what pytest prints. The one idea: a failure is read by somebody who did not write tinygpu.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

FILES = ROOT / "tests" / "commands" / "files"
TESTS = """import pytest


@pytest.mark.tgpu("good.tgpu", "refuted.tgpu")
def test_each(machine, assert_proved):
    assert_proved(machine)


def test_one(load_machine, assert_proved):
    assert assert_proved(load_machine("good.tgpu", "scale_m")).theorems


def test_alone(load_machine):
    assert load_machine("good.tgpu").name == "scale_m"


@pytest.mark.parametrize("asked", [("good.tgpu", "nobody"), ("gone.tgpu",), ("syntax.tgpu",), ("both.tgpu",)])
def test_none(load_machine, asked):
    load_machine(*asked)


@pytest.fixture
def machine():
    return "mine"


def test_mine(machine):
    assert machine == "mine"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("good", "refuted", "syntax"):
        shutil.copy(FILES / f"{name}.tgpu", tmp_path)
    good = (FILES / "good.tgpu").read_text(encoding="utf-8")
    (tmp_path / "both.tgpu").write_text(good + good[good.index("machine") :].replace("scale_m", "again"), encoding="utf-8")
    return tmp_path


def pytest_in(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code of a run there, and what it prints."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "NO_COLOR": "1"}
    env.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", "-p", "tinygpu.plugin", "-p", "no:cacheprovider", "--strict-markers", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_fixtures_and_what_is_said_where_something_is_wrong(folder):
    (folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    code, said = pytest_in(folder, "-rA")
    assert code == 1
    for passed in ("test_each[scale_m]", "test_one", "test_alone", "test_mine"):
        assert f"PASSED test_it.py::{passed}" in said
    for wanted in (
        "Unproved: floor_grid : scale is refuted",
        "smallest counterexample",
        "TG905 there is no machine nobody",
        "TG902 there is no file gone.tgpu",
        " --> syntax.tgpu:",
        "both.tgpu has 2 machines: say which, scale_m, again",
    ):
        assert wanted in said
    assert "tinygpu/testing.py" not in said and "tinygpu/plugin.py" not in said  # no line of ours


def test_specs_are_items_where_that_is_asked_for(folder):
    (folder / "pyproject.toml").write_text("[tool.tinygpu.check]\nbudget = 100000000\n", encoding="utf-8")
    code, said = pytest_in(folder, "--tgpu", "-v")
    assert code == 1 and "2 failed, 3 passed" in said
    for line in (
        "good.tgpu::scale_m PASSED",
        "both.tgpu::again PASSED",
        "refuted.tgpu::floor_grid FAILED",
        "syntax.tgpu::spec FAILED",
        "floor_grid is refuted",
        "smallest counterexample",
    ):
        assert line in said
    assert "Traceback" not in said and "repr_failure" not in said
    assert pytest_in(folder, "--tgpu", "good.tgpu::scale_m", "-q")[0] == 0
    assert pytest_in(folder)[0] == 5  # nothing is collected
    (folder / "pyproject.toml").write_text("[tool.tinygpu]\ntme = 1\n", encoding="utf-8")
    code, said = pytest_in(folder, "--tgpu", "good.tgpu")
    assert code == 1 and "TG946 [tool.tinygpu] has no key tme" in said


OTHERS = """op twice(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] + x[i] }
op double(x: f32[n]) -> (y: f32[n]) { y[i] = 2 * x[i] }
op other(x: f32[n]) -> (y: f32[n]) { y[i] = 3 * x[i] }
theorem same : twice == double
theorem differs : twice == other
machine wide : twice {
  param   R in 1..4
  work    grid = (g), block = (t: 128)
  compute i = (g, t, r: R)
  register r
}
"""


def test_theorems_and_families_are_items_too(folder):
    (folder / "others.tgpu").write_text(OTHERS, encoding="utf-8")
    code, said = pytest_in(folder, "--tgpu", "-v", "others.tgpu")
    assert code == 1
    for line in ("others.tgpu::same PASSED", "others.tgpu::differs FAILED", "others.tgpu::wide PASSED", "differs is refuted"):
        assert line in said


def test_where_it_is_not_used_it_imports_nothing(folder):
    (folder / "test_it.py").write_text(
        "import sys\n\ndef test_it():\n    assert [m for m in sys.modules if m.startswith('tinygpu')] == ['tinygpu', 'tinygpu.plugin']\n"
        "    assert not {'numpy', 'numba', 'z3', 'lark', 'sympy'} & {*sys.modules}\n",
        encoding="utf-8",
    )
    code, said = pytest_in(folder)
    assert code == 0, said
