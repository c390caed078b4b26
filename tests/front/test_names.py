"""Names that mean something to Python, to numpy, numba or the emitted module: they are names of a spec and nothing else.

Comes in: specs whose tensors, sizes, axes, factors, ops and machines bear them, and files with odd names. Goes out: modules that compute the
equation, and no trace of a canary. The one idea: of a text only names and numbers reach an emitted module.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.emit.specs_for_launchers import SPECS, WORK
from tests.program.library import proof_of
from tinygpu import pipeline, runtime
from tinygpu.cli import main
from tinygpu.emit.module import launcher_names
from tinygpu.program.instruction import INSTRUCTIONS
from tinygpu.run.load import load

CODE = [
    "__import__", "__class__", "None", "True", "np", "cuda", "range", "at", "LANES", "self", "exec", "out", "stream", "lambda",
    "def", "class", "import", "int", "len", "print", "os", "_view", "quotient", "first", "last", "item", "njit", "prange",
    "__name__", "__builtins__", "__debug__", "await", "match", "type", "nought", "panel", "open", "eval",
]  # fmt: skip

ODD = SPECS["odd"].replace("WORK", WORK)


@pytest.mark.parametrize("start", range(0, len(CODE), 6))
def test_names_that_are_code(start: int) -> None:
    """All in one spec: inputs, an axis, a size, a factor, an op and a machine."""
    names = (CODE[start : start + 6] + CODE)[:6]
    ins, total = ", ".join(f"{n}: f32[s_{n}, n]" for n in names), " + ".join(f"{n}[0, i]" for n in names)
    text = f"op {names[0]}({ins}) -> (y: f32[n]) where {', '.join(f's_{n} >= 1' for n in names)} {{ y[i] = {total} }}\n"
    text += (
        f"machine {names[1]} : {names[0]} {{\n  work grid = ({names[2]}1), block = (t: 64)\n  compute i = ({names[2]}1, t)\n}}\n"
    )
    built = pipeline.built(proof_of(text))
    emitted = pipeline.module("names", [built])
    call = getattr(load(emitted, f"names{start}"), launcher_names([built.machine])[0])
    arrays = [np.full((2, 5), k, np.float32) for k in range(6)]
    assert call(*arrays).tolist() == [15.0] * 5


HELPED = """op {0}(x: f16[n, m], {2}: f32[{3}]) -> (y: f32[n]) where {3} >= 1 {{ y[i] = sum[j] sin(f32(x[i, j])) * {2}[0] }}
machine {1} : {0} {{
  work grid = (i), block = (t: 32)
  compute i = (i), j = (c, t, v: 4)
  time c
  vector v
}}
"""
BESIDE = ["load4", "annotations", "shuffle_xor", "f16_value", "sin", "sin_f32", "names", "runtime", "launcher", "by_dtype"]
HELPERS = [
    "atomic", "constant_memory", "conversion", "counted", "cuda_names", "division", "lanes_add_f32", "quotient", "shuffle",
    "wide_load",
]  # fmt: skip
MADE = {name for name, (_, atom) in INSTRUCTIONS.items() if atom.what in ("shared", "upto", "constant", "division")}
HELPS = sorted({*HELPERS, *MADE, *BESIDE})


@pytest.mark.parametrize("start", range(len(HELPS)), ids=HELPS)
def test_names_of_helpers(start: int) -> None:
    """What an op, a machine, a tensor and a size are called, in a module with helpers of these names, or beside them."""
    assert {*HELPERS} <= runtime.offered()
    built = [pipeline.built(proof_of(HELPED.format(*(HELPS[(start + k) % len(HELPS)] for k in range(4)))))]
    assert not pipeline.validate(pipeline.module("names.tgpu", built), built)


@pytest.mark.parametrize(
    "name", ['x"""; open("CANARY", "w"); """', "a\nopen('CANARY', 'w')", "{x}%s", "-o", "class", "numpy", "1-2"]
)
def test_names_of_files_that_are_code(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No such name becomes a module; printed, it is a word in a docstring."""
    monkeypatch.chdir(tmp_path)
    text = '# """ open("CANARY", "w")\n' + ODD
    Path(f"{name}.tgpu").write_text(text)
    assert main(["build", f"./{name}.tgpu", "-o", "made"]) == 2 and "TG905" in capsys.readouterr().err
    assert main(["build", f"./{name}.tgpu", "-o", "-"]) == 0
    tree = ast.parse(capsys.readouterr().out)
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert "CANARY" not in ast.unparse(ast.Module(tree.body[1:], [])) and "open" not in called
    assert not Path("CANARY").exists() and not Path("made").exists()


def test_a_file_that_begins_with_a_digit_becomes_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("2d.tgpu").write_text(ODD)
    assert main(["build", "2d.tgpu", "-o", "made"]) == 0 and Path("made", "_2d.py").exists()


def test_a_check_runs_nothing_and_writes_nothing(tmp_path: Path, root: Path) -> None:
    """`tinygpu check` and `fmt --check` in a folder that they may not write, with modules of Python's names lying in wait."""
    for trap in ("numpy", "z3", "ast", "relu"):
        (tmp_path / f"{trap}.py").write_text("open('CANARY', 'w').write('run')\n")
    (tmp_path / "relu.tgpu").write_bytes((root / "specs" / "relu.tgpu").read_bytes())
    before = sorted(p.name for p in tmp_path.rglob("*"))
    for command in (["check", "relu.tgpu"], ["fmt", "--check", "relu.tgpu"], ["show", "relu.tgpu", "--cpu", "--cuda"]):
        program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from tinygpu.cli import console; console()"
        done = subprocess.run(
            [sys.executable, "-I", "-c", program, str(root), *command], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in tmp_path.rglob("*")) == before
