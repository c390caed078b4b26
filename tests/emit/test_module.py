"""Emitted modules as files: alone, the same every time, with every check and kernel that was promised.

Comes in: specs. Goes out: the module's text, run where tinygpu is not. The one idea: what users import is a file, so the file is tested.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.emit.specs_for_launchers import SPECS, WORK, built, module, text
from tinygpu import runtime
from tinygpu.emit.module import emit
from tinygpu.record import replace
from tinygpu.run.load import load


def isolated(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What a Python without tinygpu says that finds modules of that folder."""
    code = f"import sys; sys.modules['tinygpu'] = None; sys.path.insert(0, {str(folder)!r})\nimport numpy as np\n{code}"
    return subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=folder)


def test_the_whole_text_of_a_small_module(golden):
    golden("module/saxpy.txt", text("saxpy").replace(runtime.VERSION, "VERSION OF THE RUNTIME"))


@pytest.mark.parametrize("name", sorted(SPECS))
def test_it_is_the_same_every_time_and_imports_nothing_of_ours(name):
    first = text(name)
    assert first == text(name)
    for node in ast.walk(ast.parse(first)):
        if isinstance(node, ast.ImportFrom | ast.Import):
            assert "tinygpu" not in {(n or "").split(".")[0] for n in (getattr(node, "module", ""), *(a.name for a in node.names))}


def test_modules_of_one_folder_run_where_tinygpu_is_not(tmp_path):
    package = tmp_path / "made"
    package.mkdir()
    for name in ("saxpy", "total"):
        (package / f"{name}.py").write_text(text(name), encoding="utf-8")
    (package / "tinygpu_runtime.py").write_text(runtime.text(), encoding="utf-8")
    code = (
        "x = np.ones((2, 2), np.float32); print(total.total(x).tolist(), saxpy.saxpy(2.0, x[0], x[0]).tolist())\n"
        "assert saxpy.runtime is total.runtime\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('cuda', 'torch', 'cupy')))"
    )
    for folder, line in ((tmp_path, "from made import saxpy, total"), (package, "import saxpy, total")):
        done = isolated(f"{line}\n{code}", folder)
        assert done.stdout == "[2.0, 2.0] [3.0, 3.0]\n[]\n", done.stderr  # and a call on the CPU imports no GPU library
    assert list((package / "__pycache__").glob("*.nbi")), "the compiled kernel is kept beside the module"


def test_a_runtime_of_another_version_is_refused(tmp_path):
    (tmp_path / "saxpy.py").write_text(text("saxpy"), encoding="utf-8")
    beside = tmp_path / "tinygpu_runtime.py"
    for other in (runtime.text().replace(runtime.VERSION, "0123456789abcdef"), "answer = 42\n"):
        beside.write_text(other, encoding="utf-8")
        said = f"TG819 {tmp_path / 'saxpy.py'} was built with another version of {beside}: build them again, into one folder"
        assert said in isolated("import saxpy", tmp_path).stderr


def test_a_launcher_says_what_it_is():
    said = inspect.getdoc(module("fours").fours)
    shapes = (
        "y[i] = x[i] + 1",
        "in   x: f32[n]",
        "out  y: f32[n]",
        "Only where n % 4 == 0",
        "grid (g: ceil(n / 64)), block (t: 64)",
    )
    assert said is not None and all(part in said for part in shapes)
    signature = "(x: 'Array', *, n: 'int', out: 'Array' = None, stream: 'Any' = None) -> 'Array'"
    assert str(inspect.signature(module("spread").spread)) == signature
    assert str(inspect.signature(module("saxpy").saxpy)).startswith("(a: 'float', x: 'Array', y: 'Array', *, out")


def test_a_family_has_a_function_that_chooses():
    made = module("scaled")
    assert {"scaled", "scaled_m", "scaled_m_f16", "scaled_m_bf16", "scaled_m_f32"} == set(made.__all__)
    assert inspect.signature(made.scaled_m) == inspect.signature(made.scaled_m_f16)


def test_machines_of_one_module_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setitem(sys.modules, runtime.NAME, runtime.loaded())
    every = [b for name in ("saxpy", "both", "total", "saxpy") for b in built(SPECS[name])]
    names: dict[str, object] = {}
    exec(compile(emit("all", every).replace("@njit(cache=True, ", "@njit("), "all", "exec"), names)
    assert {"saxpy_v4", "both_m", "total_m"} <= set(names)
    (one,) = built(SPECS["saxpy"])
    two = [replace(one, machine=replace(one.machine, variant=(("BM", size),))) for size in ("64", "128")]
    functions = {n.name for n in ast.parse(emit("two", two)).body if isinstance(n, ast.FunctionDef)}
    assert {"saxpy_v4_BM64", "saxpy_v4_BM128"} <= functions


def test_vectors_of_two_dtypes_in_one_module(root):
    spec = (root / "specs" / "matmul.tgpu").read_text(encoding="utf-8")
    both = built(spec + spec.replace("f32", "f64").replace("matmul", "matmul64"))
    made = load(emit("both", [b for b in both if b.machine.name in ("matmul_tile", "matmul64_tile")]), "both")
    for name, dtype in (("matmul", np.float32), ("matmul64", np.float64)):
        A, B = np.random.default_rng(0).random((2, 37, 37)).astype(dtype)
        assert np.allclose(getattr(made, name)(A, B), A @ B, rtol=1e-5)


@pytest.mark.parametrize("name", ["m_work", "m_cpu", "m_parallel"])  # other names: `tests/front/test_names.py`
def test_a_machine_hides_nothing_of_another_one(name):
    op = "op o(x: f32[n], b: f32[n]) -> (y: f32[n]) { y[i] = x[i] + b[i] }\n"
    made = load(emit("names.tgpu", built(f"{op}machine {name} : o {{ {WORK} }}\nmachine m : o {{ {WORK} }}")), "names")
    x = np.arange(5, dtype=np.float32)
    assert all((getattr(made, public)(x, x) == 2 * x).all() for public in made.__all__)


def test_what_inputs_do_not_tell_is_not_chosen():
    assert {f"between_m_{S}_{T}" for S in ("f32", "f64") for T in ("f16", "f64")} == set(module("between").__all__)
