"""The documents run: every block of the README, the tour and the pages beside it is executed, and its output is the one that is shown.

Comes in: Markdown. Goes out: failures with the block's line. A block whose first line is `# file: NAME` is written to NAME, another
`python` block is executed, the `$` lines of a `console` block are run and what they print compared, line by line, with seconds and
rates wiped out and `…` standing for any lines; in the other pages every machine is proved.
The one idea: a document that is not run is wrong by next month.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import Proof, Unknown, check, load_text

ROOT = Path(__file__).resolve().parents[2]
RUN = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("tour", "cost", "ci", "puzzles", "pictures", "from_cuda", "from_triton", "unknown")
    ),
]
PARSED = [ROOT / "docs" / f"{name}.md" for name in ("language", "library", "mathematics", "architecture", "trust")]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TIMES = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?(?= (s|ms|GB/s|GFLOP/s|obligations|by both)\b)|\d+\.\d+ of |\d+(\.\d+)? × ")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, the line it starts at."""

    language: str
    text: str
    line: int


def blocks(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in BLOCK.finditer(text)]


@pytest.mark.parametrize("path", RUN, ids=lambda p: p.name)
def test_a_document_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    bin = tmp_path / ".bin"
    bin.mkdir()
    for name, module in (("tinygpu", "tinygpu"), ("pytest", "pytest -p tinygpu.plugin")):
        (bin / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
        (bin / name).chmod(0o755)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PATH", f"{bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("NO_COLOR", "1")
    space: dict[str, object] = {}
    found = blocks(path)
    assert found
    for block in found:
        where = f"{path.name}:{block.line}"
        name = re.match(r"# file: (\S+)\n", block.text)
        if name:
            (tmp_path / name[1]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name[1]).write_text(block.text.split("\n", 1)[1], encoding="utf-8")
        match block.language:
            case "tgpu":
                load_text(block.text, where)
            case "toml":
                tomllib.loads(block.text)
            case "yaml":
                import yaml

                assert yaml.safe_load(block.text), where
            case "python" if name:
                pass
            case "python":
                exec(compile(block.text, where, "exec"), space)
            case "console":
                session(block, where)
            case "sh":
                commands(block, where)
            case "text" | "cuda" | "py":  # what others' compilers read
                pass
            case other:
                raise AssertionError(f"{where}: nobody runs a block of {other}")


def session(block: Block, where: str) -> None:
    """The `$` lines of a block, each with the output that follows it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        if command == "echo $?":
            assert shown.strip() == str(session.last), f"{where}: the exit code was {session.last}"  # type: ignore[attr-defined]
            continue
        done = subprocess.run(command, shell=True, text=True, capture_output=True, timeout=600)
        session.last = done.returncode  # type: ignore[attr-defined]
        errors = "\n".join(line for line in done.stderr.splitlines() if not line.endswith("…"))  # not the progress
        got = "\n".join(filter(None, (errors, done.stdout)))
        assert agrees(shown, got), f"{where}: {command}\nshown:\n{shown}\nprinted:\n{got}"


def agrees(shown: str, got: str) -> bool:
    """Whether what is shown is what was printed, up to times, and `…` for any lines."""
    parts = [re.escape(TIMES.sub("#", line.rstrip())) for line in shown.strip("\n").splitlines()]
    pattern = "\n".join("(.*\n)*?.*" if p == re.escape("…") else p for p in parts)
    text = "\n".join(TIMES.sub("#", line.rstrip()) for line in got.strip("\n").splitlines())
    return re.fullmatch(pattern, text) is not None


def commands(block: Block, where: str) -> None:
    """Commands of a shell: `make TARGET` is a target of the Makefile that can be made; installing is tested by `tests/run`."""
    for line in filter(None, block.text.splitlines()):
        command = line.split("#")[0].strip()
        if command.startswith("make "):
            done = subprocess.run(["make", "-n", "-C", str(ROOT), *command.split()[1:]], capture_output=True, text=True)
            assert done.returncode == 0, f"{where}: {command}\n{done.stderr}"
        elif command.startswith(".venv/bin/python -m pytest "):
            paths = [word for word in command.split()[3:] if not word.startswith("-")]
            assert all((ROOT / name).exists() for name in paths), f"{where}: {command}"
        elif command.startswith("tinygpu "):
            done = subprocess.run(command, shell=True, text=True, capture_output=True, timeout=600)
            assert done.returncode == 0, f"{where}: {command}\n{done.stdout}{done.stderr}"
        else:
            assert re.match(r"(python3? -m venv|\.venv/bin/pip install|pip install) ", command), f"{where}: nobody runs {command}"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", PARSED, ids=lambda p: p.name)
def test_the_machines_of_a_document_are_proved(path: Path) -> None:
    for block in blocks(path):
        if block.language == "tgpu":
            where = f"{path.name}:{block.line}"
            for machine in load_text(block.text, where).machines:
                assert isinstance(check(machine), Proof), f"{where}: {machine.title}"
        elif block.language == "python":
            exec(compile(block.text, f"{path.name}:{block.line}", "exec"), {})


def came_of(text: str, where: str) -> str:
    """What is said of the machines of a block: `proved`, or `unknown` or `refused` with the first code."""
    try:
        verdicts = [check(machine) for machine in load_text(text, where).machines]
    except TinygpuError as error:
        return f"refused: {error.diagnostics[0].code}"
    left = [v for v in verdicts if not isinstance(v, Proof)]
    return "proved" if not left else f"unknown: {left[0].diagnostics[0].code}" if isinstance(left[0], Unknown) else "refuted"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["unknown", "limits"])
def test_what_is_unknown_or_refused_is_and_what_helps_does(name: str) -> None:
    path = ROOT / "docs" / f"{name}.md"
    found = [block for block in blocks(path) if block.language == "tgpu"]
    assert len(found) >= 6
    for block in found:
        where, said = f"{path.name}:{block.line}", block.text.splitlines()[0].removeprefix("# ")
        assert came_of(block.text, where) == said, where


def test_the_architecture_names_every_folder_and_files_that_are_there() -> None:
    text, folders = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), set[str]()
    for line in text.splitlines():
        if row := re.match(r"\| ((?:`\w+/`(?:, )?)+) \|", line):
            homes = re.findall(r"`(\w+)/`", row[1])
            folders.update(homes)
            for name in re.findall(r"`(\w+\.py)`", line):
                assert any((ROOT / "tinygpu" / home / name).is_file() for home in homes), f"{name} is in none of {homes}"
    assert folders == {path.parent.name for path in (ROOT / "tinygpu").glob("*/*.py")}
