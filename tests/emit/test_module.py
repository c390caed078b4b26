"""Emitted modules as files: alone, the same every time, with every check and kernel that was promised.

Comes in: specs. Goes out: the module's text, run where tinygpu is not. The one idea: what users import is a file, so the file is tested.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tests.emit.specs_for_launchers import SPECS, WORK, module, text
from tinygpu import runtime
from tinygpu.derive.unpack import unpack
from tinygpu.emit.module import Built, emit
from tinygpu.pipeline import load, load_text, program
from tinygpu.run.load import load as load_module


def built(name: str) -> list[Built]:
    return [Built(m, program(m)) for m in load_text(SPECS[name].replace("WORK", WORK), name).machines]


def test_the_whole_text_of_a_small_module(golden):
    golden("module/saxpy.py", text("saxpy"))


@pytest.mark.parametrize("name", sorted(SPECS))
def test_it_is_the_same_every_time_and_imports_nothing_of_ours(name):
    first, second = text(name), text(name)
    assert first == second
    for node in ast.walk(ast.parse(first)):
        if isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] != "tinygpu"
        if isinstance(node, ast.Import):
            assert all(alias.name.split(".")[0] != "tinygpu" for alias in node.names)


def test_it_runs_where_tinygpu_is_not(tmp_path):
    (tmp_path / "kernels.py").write_text(text("saxpy"), encoding="utf-8")
    (tmp_path / "tinygpu_runtime.py").write_text(runtime.text(), encoding="utf-8")
    code = (
        "import sys; sys.modules['tinygpu'] = None\n"
        "import numpy as np, kernels\n"
        "x = np.arange(5, dtype=np.float32)\n"
        "print(kernels.saxpy(2.0, x, x).tolist())\n"
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('cuda', 'torch', 'cupy')))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{code}"],
                          capture_output=True, text=True, check=True, cwd=tmp_path)  # fmt: skip
    assert done.stdout.splitlines()[0] == "[0.0, 3.0, 6.0, 9.0, 12.0]"
    assert done.stdout.splitlines()[1] == "[]", "a call on the CPU imports no GPU library"
    assert list((tmp_path / "__pycache__").glob("*.nbi")), "the compiled kernel is kept beside the module"


def test_several_modules_of_one_folder_are_a_package_or_stand_alone(tmp_path):
    package = tmp_path / "made"
    package.mkdir()
    for name in ("saxpy", "total"):
        (package / f"{name}.py").write_text(text(name), encoding="utf-8")
    (package / "tinygpu_runtime.py").write_text(runtime.text(), encoding="utf-8")
    call = "import numpy as np, sys; x = np.ones((2, 2), np.float32); print(total.total(x).tolist(), saxpy.saxpy(2.0, x[0], x[0]).tolist())"
    for where, line in ((tmp_path, "from made import saxpy, total"), (package, "import saxpy, total")):
        code = f"import sys; sys.path.insert(0, {str(where)!r})\n{line}\n{call}\nassert saxpy.runtime is total.runtime"
        done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, cwd=tmp_path)
        assert done.stdout == "[2.0, 2.0] [3.0, 3.0]\n", done.stderr


def test_a_runtime_of_another_version_is_refused(tmp_path):
    (tmp_path / "saxpy.py").write_text(text("saxpy"), encoding="utf-8")
    beside = tmp_path / "tinygpu_runtime.py"
    for other in (runtime.text().replace(runtime.VERSION, "0123456789abcdef"), "answer = 42\n"):
        beside.write_text(other, encoding="utf-8")
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import saxpy"
        done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True)
        said = f"TG819 {tmp_path / 'saxpy.py'} was built with another version of {beside}: build them again, into one folder"
        assert said in done.stderr


def test_a_launcher_says_what_it_is():
    said = inspect.getdoc(module("fours").fours)
    assert said is not None
    for part in (
        "y[i] = x[i] + 1",
        "in   x: f32[n]",
        "out  y: f32[n]",
        "Only where n % 4 == 0",
        "grid (g: ceil(n / 64)), block (t: 64)",
    ):
        assert part in said
    assert (
        str(inspect.signature(module("spread").spread))
        == "(x: 'Array', *, n: 'int', out: 'Array' = None, stream: 'Any' = None) -> 'Array'"
    )
    assert str(inspect.signature(module("saxpy").saxpy)).startswith("(a: 'float', x: 'Array', y: 'Array', *, out")


def test_a_family_has_a_function_that_chooses():
    made = module("scaled")
    assert {"scaled", "scaled_m", "scaled_m_f16", "scaled_m_bf16", "scaled_m_f32"} == set(made.__all__)
    assert inspect.signature(made.scaled_m) == inspect.signature(made.scaled_m_f16)


def test_machines_of_one_module_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setitem(sys.modules, runtime.NAME, runtime.loaded())
    every = [b for name in ("saxpy", "both", "total") for b in built(name)]
    twice = [*every, *built("saxpy")]
    names: dict[str, object] = {}
    exec(compile(emit("all", twice).replace("@njit(cache=True, ", "@njit("), "all", "exec"), names)
    assert {"saxpy_v4", "both_m", "total_m"} <= set(names)


def test_two_machines_of_one_name_are_told_apart():
    one = built("saxpy")[0]
    other = replace(one, machine=replace(one.machine, variant=(("BM", "64"),)))
    last = replace(one, machine=replace(one.machine, variant=(("BM", "128"),)))
    tree = ast.parse(emit("two", [other, last]))
    assert {"saxpy_v4_BM64", "saxpy_v4_BM128"} <= {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}


def test_vectors_of_two_dtypes_in_one_module(root):
    spec = (root / "specs" / "matmul.tgpu").read_text(encoding="utf-8")
    both = spec + spec.replace("f32", "f64").replace("matmul", "matmul64")
    machines = [m for m in load_text(both, "both").machines if m.name in ("matmul_tile", "matmul64_tile")]
    from tinygpu.run.load import load as load_module

    made = load_module(emit("both", [Built(m, program(m)) for m in machines]), "both")
    for name, dtype in (("matmul", np.float32), ("matmul64", np.float64)):
        A, B = np.random.default_rng(0).random((2, 37, 37)).astype(dtype)
        assert np.allclose(getattr(made, name)(A, B), A @ B, rtol=1e-5)


def test_every_shipped_spec_is_emitted(root):
    for path in sorted((root / "specs").glob("*.tgpu")):
        ready = [Built(m, unpack(program(m))) for m in load(path).machines]
        compile(emit(path.name, ready), path.name, "exec")


def test_only_a_proof_is_built():
    from tinygpu import pipeline

    with pytest.raises(TypeError, match="not proved"):
        pipeline.build("proved, honestly")  # type: ignore[arg-type]


AWKWARD = ("np", "range", "len", "lambda", "quotient", "out", "_view", "item")


@pytest.mark.parametrize("name", [*AWKWARD, "m_work", "m_cpu"])
@pytest.mark.parametrize(
    "spec",
    [
        "op NAME(x: f32[n], b: f32[n]) -> (y: f32[n]) { y[i] = x[i] + b[i] }\nmachine m : NAME { WORK }",
        "op o(x: f32[n], b: f32[n]) -> (y: f32[n]) { y[i] = x[i] + b[i] }\nmachine NAME : o { WORK }\nmachine m : o { WORK }",
        "op o(NAME: f32[n], NAME_: f32[n]) -> (y: f32[n]) { y[i] = NAME[i] + NAME_[i] }\nmachine m : o { WORK }",
        "op o(x: f32[n], b: f32[n]) -> (y: f32[n]) { y[NAME] = x[NAME] + b[NAME] }\nmachine m : o {\n"
        "  work grid = (g), block = (t: 64)\n  compute NAME = (g, t)\n}",
    ],
    ids=("op", "machine", "tensors", "index"),
)
def test_a_users_name_hides_nothing_of_the_module(name, spec):
    spec = load_text(spec.replace("NAME", name).replace("WORK", WORK), "names.tgpu")
    made = load_module(emit("names.tgpu", [Built(m, program(m)) for m in spec.machines]), "names")
    x = np.arange(5, dtype=np.float32)
    for public in made.__all__:
        assert (getattr(made, public)(x, x) == 2 * x).all()
