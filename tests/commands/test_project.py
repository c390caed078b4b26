"""Settings where a session does not tell, and what `init` and `completion` write, as shells and continuous integration use it.

Comes in: a project that was begun. Goes out: verdicts of its test, what bash offers. The one idea: what is written for others to run is run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tinygpu.commands.new import KINDS


def test_a_project_is_found_from_below_and_its_places_are_its_own(run, monkeypatch):
    Path("pyproject.toml").write_text('[tool.tinygpu]\npaths = ["good.tgpu", "-"]\n[tool.tinygpu.build]\noutput = "out"\n')
    Path("a/b").mkdir(parents=True)
    Path("a/pyproject.toml").write_text('[project]\nname = "of_tinygpu"\n')  # it says nothing, so the next one is asked
    monkeypatch.chdir("a/b")
    from tinygpu import cli

    assert cli.parsed(["check"]).paths == ["../../good.tgpu", "-"]
    assert cli.parsed(["build", "x.tgpu"]).output == "../../out" and cli.parsed(["build", "x.tgpu", "-o", "."]).output == "."
    code, out, _ = run("check", "../../good.tgpu")
    assert code == 0 and "scale_m" in out


def test_a_project_that_is_there_keeps_every_byte(run):
    Path("mine").mkdir()
    there, file = b'[project]\r\nname = "mine"', Path("mine/pyproject.toml")
    file.write_bytes(there)
    assert run("init", "mine")[0] == 0
    text = file.read_bytes()
    assert text.startswith(there + b"\r\n\r\n[tool.tinygpu]\r\n") and b"\n" not in text.replace(b"\r\n", b"")
    Path("other").mkdir()
    Path("other/pyproject.toml").write_text("tool = { black = 1 }\n")  # to which no table can be added
    code, _, err = run("init", "other")
    assert code == 2 and "TG945" in err and not Path("other/specs").exists()


LONGER = [pytest.param(kind, id=f"init {kind}", marks=pytest.mark.sampled) for kind in KINDS[1:]]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [KINDS[0], *LONGER])
def test_the_test_of_a_fresh_project_passes(run, kind):
    assert run("init", "fresh", "--kind", kind, "--name", "mine")[0] == 0
    assert run("fmt", "--check", "fresh/specs")[0] == 0
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tinygpu.plugin", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd="fresh", env=env, capture_output=True, text=True)
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout


NAMES = "op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }\n  machine one : f {}\nmachine two : f {}\n# machine three\npipeline four(x: f32[n]) -> (y: f32[n]) {}\n"
LINES = {  # what is typed, with a tab behind it, and what is offered
    "tinygpu ch": "check",
    "tinygpu check --ou": "--output-format",
    "tinygpu check --output-format s": "sarif",
    "tinygpu check --output-format=s": "sarif",
    "tinygpu run --device ": "auto cpu gpu",
    "tinygpu explain TG946": "TG946",
    "tinygpu check names.tgpu --machine ": "f four one two",
    "tinygpu show names.tgpu tw": "two",
    "tinygpu check na": "names.tgpu nas/",
    "tinygpu check --jobs ": "",
    "tinygpu completion f": "fish",
}


@pytest.mark.parametrize("line", LINES)
def test_bash_completes(run, line):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    Path("names.tgpu").write_text(NAMES)
    Path("nas").mkdir()
    Path("script").write_text(run("completion", "bash")[1])
    words = [*line.replace("=", " = ").split(), *[""] * line.endswith(" ")]
    asked = f'source ./script; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _tinygpu; printf "%s\\n" "${{COMPREPLY[@]}}" | sort'
    done = subprocess.run([bash, "-c", asked, "bash", *words], capture_output=True, text=True)
    assert " ".join(done.stdout.split()) == LINES[line] and not done.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_read_by_its_shell_and_names_every_command(run, shell):
    from tinygpu.cli import COMMANDS

    code, script, _ = run("completion", shell)
    assert code == 0 and all(name in script for name in COMMANDS)
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    done = subprocess.run([shell, "-n"], input=script, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr
