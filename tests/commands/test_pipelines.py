"""Pipelines are subjects of commands as machines and choices are.

Comes in: a spec with a pipeline, and wrong ones. Goes out: verdicts, modules, certificates, and what is run, replayed, audited and shown of them. The one idea: a module says which pipelines it has, so
whoever has it proves them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tinygpu.commands.modules import differs
from tinygpu.proof.certificate import read
from tinygpu.record import replace

Run = Callable[..., tuple[int, str, str]]
OPS = """op shift(x: f32[n], a: f32) -> (y: f32[n]) {
  y[i] = x[i] + a
}

op add(x: f32[n], y: f32[n]) -> (z: f32[n]) {
  z[i] = x[i] + y[i]
}

machine shifts : shift {
  work    grid = (g), block = (t: 32)
  compute i = (g, t)
}

machine adds : add {
  work    grid = (g), block = (t: 32)
  compute i = (g, t)
}
"""
RIGHT = "\npipeline up(x: f32[m]) -> (z: f32[m]) {\n  y = shift(x, 2)\n  z = add(x, y)\n}\n"
WRONG = "\npipeline down(x: f32[m], y: f32[k]) -> (z: f32[m]) {\n  z = add(x, y)\n}\n"


@pytest.fixture(autouse=True)
def written(run: Run) -> None:
    Path("up.tgpu").write_text(OPS + RIGHT)
    Path("down.tgpu").write_text(OPS + RIGHT + WRONG)


def test_each_has_a_verdict_of_its_own(run: Run) -> None:
    code, out, _ = run("check", "up.tgpu")
    assert code == 0 and "proved   up : pipeline" in out and "2 machines: 2 proved" in out
    code, out, _ = run("check", "down.tgpu")
    assert code == 1 and "TG555" in out and "2 pipelines: 1 proved, 1 refuted" in out
    assert run("check", "down.tgpu", "--machine", "down")[0] == 1 and run("check", "down.tgpu", "--machine", "up")[0] == 0
    code, out, _ = run("check", "up.tgpu", "--machine", "up", "--why", "pipeline")
    assert code == 0 and "there is room for y" in out


def test_that_calls_fit_says_nothing_of_whom_they_call(run: Run) -> None:
    """Asked for by its name a pipeline, or a choice, is asked for with its machines; and so is its certificate."""
    chosen = "\nmachine doubles : add {\n  work    grid = (g), block = (t: 64)\n  compute i = (g, t)\n}\n\nchoice either : add {\n  adds where n < 9\n  doubles where n >= 9\n}\n"
    outer = "\npipeline outer(x: f32[m]) -> (u: f32[m]) {\n  y = up(x)\n  u = shift(y, 1)\n}\n"
    wrong = "machine adds : add {\n  work    grid = (g: ceil(n / 32)), block = (t: 32)\n  program { z[g*32 + t] = x[g*32 + t] if g*32 + t < n }\n}\n"
    text = OPS[: OPS.index("machine adds")] + wrong + chosen + RIGHT.replace("add(x, y)", "add(x, y) by adds") + outer
    Path("wrong.tgpu").write_text(text)
    assert run("check", "wrong.tgpu", "--certify", "proofs")[0] == 1
    for name in ("up", "outer", "either"):
        code, out, _ = run("check", "wrong.tgpu", "--machine", name)
        assert code == 1 and "refuted  adds" in out and ("proved   up : " in out) == (name != "either")
        code, _, err = run("replay", f"proofs/wrong/{name}.json", "--quick")
        assert code == 1 and "a solver has a counterexample to body (TG502)" in err


def test_as_data(run: Run) -> None:
    code, out, _ = run("check", "down.tgpu", "--output-format", "json")
    found = json.loads(out)
    assert code == 1 and [(p["pipeline"], p["verdict"]) for p in found["pipelines"]] == [("up", "proved"), ("down", "refuted")]
    assert found["pipelines"][0]["calls"][0] == {"op": "shift", "by": "shifts", "given": ["x", "2"], "made": ["y"]}


def test_a_module_has_those_whose_machines_it_has(run: Run) -> None:
    assert run("build", "up.tgpu", "-o", "out")[0] == 0
    whole = Path("out/up.py").read_text()
    assert "def up(x: Array" in whole and "runtime.chain(up_spec" in whole
    assert run("build", "up.tgpu", "-o", "some", "--machine", "adds")[0] == 0
    assert "def up(" not in Path("some/up.py").read_text()
    assert run("build", "down.tgpu", "-o", "out", "--machine", "up")[0] == 0
    assert Path("out/down.py").read_text() == whole.replace("up.tgpu", "down.tgpu")
    code, _, err = run("build", "down.tgpu", "-o", "none")
    assert code == 1 and "not built, because down is not proved" in err and not Path("none/down.py").exists()


def test_a_module_is_replayed_with_its_pipelines(run: Run) -> None:
    run("build", "up.tgpu", "-o", "out")
    code, out, _ = run("replay", "out/up.py", "--quick")
    assert code == 0 and "do what these programs say" in out
    text = Path("out/up.py").read_text()
    for old, new in (
        ('("shifts", ("x", 2.0)', '("shifts", ("x", 3.0)'),
        ("      y = shift(x, 2) by shifts\n", "      y = shift(x, 3) by shifts\n"),
        ("      z = add(x, y) by adds\n", "      z = add(x, x) by adds\n"),
        ("    pipeline up(", "    pipeline uq("),
        ("  up : shift by shifts, add by adds\n", ""),
    ):
        assert text.count(old) == 1, old
        assert differs(text.replace(old, new), "m.py") is not None


def test_a_certificate_is_of_the_pipeline(run: Run) -> None:
    assert run("check", "up.tgpu", "--certify", "proofs")[0] == 0
    assert {p.name for p in Path("proofs/up").iterdir()} == {"up.json", "shifts.json", "adds.json"}
    code, out, _ = run("replay", "up.tgpu", "--quick", "--machine", "up")
    assert code == 0 and "replayed  up : pipeline  certificate valid" in out
    file = Path("proofs/up/up.json")
    right = read(file.read_text())
    for wrong in (
        replace(right, obligations=right.obligations[1:]),
        replace(right, preconditions=("m >= 1",)),
        replace(right, program=right.program.replace("shift(x, 2)", "shift(x, 3)")),
    ):
        file.write_text(wrong.text())
        assert run("replay", "up.tgpu", "--quick", "--machine", "up")[0] == 1


def test_it_is_audited_shown_written_and_run(run: Run) -> None:
    code, out, _ = run("audit", "up.tgpu")
    assert code == 0 and "up : pipeline\n  settled" in out and "2 machines, 1 pipelines" in out
    code, out, _ = run("show", "up.tgpu", "up")
    assert code == 0 and "#   y: f32[m] at 0, calls 1 to 2" in out
    code, out, _ = run("run", "up.tgpu", "up", "m=1000")
    assert code == 0 and "up  m=1000" in out and "agrees" in out and "shifts  " not in out.partition("on the CPU")[2]
    assert run("fmt", "up.tgpu", "--check")[0] == 0


def test_a_run_of_one_allows_for_what_its_machines_round(run: Run) -> None:
    op = "op total(y: f32[R, N, K]) -> (s: f32[R]) { s[r] = sum[j, k] y[r, j, k] }\n"
    machine = "machine sums : total {\n  work grid = (g), block = (t: 32)\n  compute r = (g, t)\n  time j, k\n}\n"
    inner = "pipeline inner(x: f32[N, R, K]) -> (s: f32[N], t: f32[N]) { s = total(x)\nt = shift(s, 0) }\n"
    outer = "pipeline outer(x: f32[a, b, c]) -> (s: f32[a], t: f32[a], v: f32[a]) { s, t = inner(x)\nv = shift(t, 0) }\n"
    Path("sums.tgpu").write_text(OPS + op + machine + inner + outer)
    for name, sizes in (("inner", "N=30 R=9 K=70"), ("outer", "a=30 b=9 c=70")):
        _, out, _ = run("run", "sums.tgpu", name, *sizes.split(), "--device", "cpu")
        assert "agrees at all" in out and "WRONG" not in out, out
