"""The wheel: built from a copy of the checkout, installed elsewhere, used from there.

Comes in: what the project file says belongs to the package. Goes out: a `tinygpu` that checks, explains and builds outside of the checkout.
The one idea: what users install is not the checkout, so the checkout is out of reach here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = (
    "tinygpu",
    "grammar",
    "specs",
    "docs/errors",
    "docs/unknown.md",
    "docs/limits.md",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder that holds the unpacked wheel."""
    base = tmp_path_factory.mktemp("wheel")
    for name in SHIPPED:
        source, target = ROOT / name, base / "source" / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    pip = [sys.executable, "-m", "pip"]
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(base / "dist"), str(base / "source")]
    done = subprocess.run(build, capture_output=True, text=True, cwd=base)
    assert done.returncode == 0, done.stderr
    (wheel,) = (base / "dist").glob("tinygpu-*.whl")
    install = [*pip, "install", "--quiet", "--no-deps", "--target", str(base / "site"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True, cwd=base)
    shutil.rmtree(base / "source")
    return base


def use(installed: Path, *arguments: str, start: tuple[str, str] = ("-m", "tinygpu")) -> subprocess.CompletedProcess[str]:
    """`python -m tinygpu …` of the installed wheel, in a folder of its own."""
    env = {**os.environ, "PYTHONPATH": str(installed / "site"), "PYTHONSAFEPATH": "1"}
    return subprocess.run([sys.executable, *start, *arguments], cwd=installed, env=env, capture_output=True, text=True)


def test_it_holds_what_it_needs_and_nothing_else(installed):
    (wheel,) = (installed / "dist").glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "tinygpu/py.typed",
        "tinygpu/grammar/tgpu.lark",
        "tinygpu/grammar/std/functions.tgpu",
        "tinygpu/specs/layers.tgpu",
        "tinygpu/errors/TG101.md",
        "tinygpu/puzzles/puzzles.toml",
        "tinygpu/puzzles/puzzle_1.tgpu",
        "tinygpu/puzzles/answer_10.tgpu",
        "tinygpu/cli.py",
        "tinygpu/tune/policy.json",
    ):
        assert needed in names
    assert all(name.startswith(("tinygpu/", "tinygpu-")) for name in names) and not any("__pycache__" in name for name in names)
    data = {
        p.name for folder in ("grammar", "tinygpu") for p in (ROOT / folder).rglob("*") if p.suffix in (".lark", ".toml", ".json")
    }
    assert data <= {Path(name).name for name in names}


def test_pytest_pages_and_the_shell_find_it(installed):
    (folder,) = (installed / "site").glob("tinygpu-*.dist-info")
    assert (folder / "entry_points.txt").read_text().split() == [
        *("[console_scripts]", "tinygpu", "=", "tinygpu.cli:console"),
        *("[pygments.lexers]", "tgpu", "=", "tinygpu.report.pygments_lexer:TgpuLexer"),
        *("[pytest11]", "tinygpu.plugin", "=", "tinygpu.plugin"),
        *("[torch_dynamo_backends]", "tinygpu", "=", "tinygpu.torch:compile_backend"),
    ]
    assert use(installed, "--version").stdout == f"tinygpu {folder.name.removeprefix('tinygpu-').removesuffix('.dist-info')}\n"


def test_it_is_the_wheel_that_runs(installed):
    done = use(installed, start=("-c", "import tinygpu; print(tinygpu.__file__)"))
    assert Path(done.stdout.strip()).parent == installed / "site" / "tinygpu"


def test_new_check_build_explain(installed):
    assert use(installed, "new", "scale").returncode == 0
    checked = use(installed, "check", "scale.tgpu")
    assert checked.returncode == 0 and checked.stdout.startswith("proved"), checked.stderr
    assert use(installed, "fmt", "--check", "scale.tgpu").returncode == 0
    assert use(installed, "build", "scale.tgpu", "-o", "kernels").returncode == 0 and (installed / "kernels" / "scale.py").exists()
    assert use(installed, "explain", "TG201").stdout.startswith("# TG201")


def test_a_project(installed):
    assert use(installed, "init", "fresh").returncode == 0
    done = use(installed, "check", "fresh/specs")
    assert done.returncode == 0 and done.stdout.startswith("proved   saxpy_v4"), done.stderr
    assert "_tinygpu" in use(installed, "completion", "bash").stdout


def test_the_version_is_that_of_git_where_there_is_one(tmp_path):
    pytest.importorskip("setuptools_scm")
    git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "tinygpu").mkdir()

    def version(folder: Path) -> str:
        done = subprocess.run([sys.executable, "-m", "setuptools_scm"], cwd=folder, capture_output=True, text=True)
        return done.stdout.strip()

    assert version(tmp_path) == "0.1.0.dev0"
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    assert version(tmp_path).startswith("0.1.0.dev1+g")
    subprocess.run([*git, "tag", "v1.2.3"], cwd=tmp_path, check=True)
    assert version(tmp_path) == "1.2.3"
    shutil.rmtree(tmp_path / ".git")
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: tinygpu\nVersion: 1.2.4\n")  # as in an archive of sources
    assert version(tmp_path) == "1.2.4"


def test_a_syntax_error_has_its_message(installed):
    (installed / "bad.tgpu").write_text("op f(x: f32[n]) -> (y: f32[n] { y[i] = x[i] }\n", encoding="utf-8")
    done = use(installed, "check", "bad.tgpu")
    assert done.returncode == 2 and "bad.tgpu:1:" in done.stderr and "Traceback" not in done.stderr
