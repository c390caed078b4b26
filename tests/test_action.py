"""The action of GitHub, the hooks of pre-commit, and what `init` writes for both, as far as they can be run here.

Comes in: YAML. Goes out: what the steps print and how they end. The one idea: the lines of a step are run by bash as a runner does, with its inputs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tinygpu.cli import parsed
from tinygpu.commands.project import files

yaml = pytest.importorskip("yaml")
FILES = ROOT / "tests" / "commands" / "files"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = {step.get("name", step.get("uses")): step for step in ACTION["runs"]["steps"]}
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("good", "refuted", "syntax"):
        shutil.copy(FILES / f"{name}.tgpu", tmp_path)
    command = tmp_path / "bin" / "tinygpu"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tinygpu "$@"\n')
    command.chmod(0o755)
    return tmp_path


def step(folder: Path, name: str, **inputs: str) -> tuple[int, str]:
    """How a step ends, and what it prints."""
    given = {key: row["default"] for key, row in ACTION["inputs"].items()} | {k.replace("_", "-"): v for k, v in inputs.items()}

    def settled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: given[m[1]], text)

    runner = {"RUNNER_TEMP": str(folder), "GITHUB_OUTPUT": str(folder / "output"), "PYTHONPATH": str(ROOT)}
    env = {**os.environ, **runner, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    env |= {key: settled(text) for key, text in STEPS[name].get("env", {}).items()}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_every_input_is_used_and_every_step_is_bash():
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert {*ACTION["inputs"]} == {*re.findall(r"inputs\.([\w-]+)", text)}
    for one in (s for s in ACTION["runs"]["steps"] if "run" in s):
        assert one["shell"] == "bash" and "${{" not in one["run"]  # no text of others is a command
        subprocess.run(["bash", "-n"], input=one["run"], text=True, check=True)


def test_what_is_proved_passes(folder):
    code, said = step(folder, "check", paths="good.tgpu", args="--time 60")
    assert code == 0 and said.startswith("proved   scale_m") and "::" not in said and not (folder / "output").exists()
    (folder / "pyproject.toml").write_text('[tool.tinygpu]\npaths = ["good.tgpu"]\noutput-format = "json"\n')
    assert step(folder, "check")[1].startswith("proved   scale_m")


@pytest.mark.parametrize(("paths", "ends"), [("good.tgpu refuted.tgpu", 1), ("syntax.tgpu", 2)])
def test_what_is_not_is_shown_beside_its_line(folder, paths, ends):
    code, said = step(folder, "check", paths=paths, upload_sarif="true")
    assert code == ends and "::error file=" in said
    sarif = (folder / "output").read_text().removeprefix("sarif=").strip()
    log = yaml.safe_load(Path(sarif).read_text(encoding="utf-8"))  # JSON is YAML
    (result,) = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == paths.split()[-1]


def test_style_is_a_step_of_its_own(folder):
    assert step(folder, "style", paths="good.tgpu") == (1, "would change good.tgpu\n")


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_a_hook_is_a_command(folder, hook, monkeypatch):
    assert re.search(hook["files"], "specs/a.tgpu") and not re.search(hook["files"], "a.tgpu.py")
    monkeypatch.chdir(folder)
    arguments = parsed([*hook["entry"].split()[1:], "good.tgpu", "refuted.tgpu"])
    assert arguments.command == hook["id"].removeprefix("tinygpu-") and arguments.paths == ["good.tgpu", "refuted.tgpu"]


def test_what_init_writes_uses_what_is_there():
    texts = files("mine", "rows", "specs", "0.3.1.dev4+g1234567")
    found: dict[str, Any] = {path: yaml.safe_load(text) for path, text in texts.items() if path.endswith((".yml", ".yaml"))}
    (workflow,) = (one for path, one in found.items() if "workflows" in path)
    (uses,) = (s for s in workflow["jobs"]["check"]["steps"] if s["uses"].startswith("tinygpu/"))
    assert uses["uses"] == "tinygpu/tinygpu@v0.3.1" and {*uses["with"]} <= {*ACTION["inputs"]}
    (repository,) = found[".pre-commit-config.yaml"]["repos"]
    assert repository["rev"] == "v0.3.1" and {h["id"] for h in repository["hooks"]} == {h["id"] for h in HOOKS}
