"""The command line where a session does not tell: standard input, documents, pipes, terminals, and what takes long.

Comes in: arguments. Goes out: code, standard output, standard error.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tinygpu import cli
from tinygpu.commands import new


def test_standard_input(run, monkeypatch):
    given = Path("good.tgpu").read_bytes().replace(b"\n", b"\r\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    assert run("check", "-")[0] == 0


def test_json_of_check_has_machines_and_diagnostics(run):
    code, out, err = run("check", "good.tgpu", "refuted.tgpu", "syntax.tgpu", "--output-format", "json")
    found = json.loads(out)
    assert code == 2 and not err
    assert {m["machine"]: m["verdict"] for m in found["machines"]} == {"scale_m": "proved", "floor_grid": "refuted"}
    assert {d["verdict"] for d in found["diagnostics"]} == {"error", "refuted"}
    assert len(next(m for m in found["machines"] if m["verdict"] == "proved")["proof"]) == 64


def test_what_two_files_say_alike_is_refuted_in_each(run):
    Path("again.tgpu").write_text("\n\n" + Path("refuted.tgpu").read_text())
    out = run("check", "refuted.tgpu", "again.tgpu", "--jobs", "1")[1]
    assert re.findall(r"--> (\S+)", out) == ["refuted.tgpu:6:5", "again.tgpu:8:5"]


@pytest.mark.parametrize("style", ["json", "sarif"])
def test_errors_of_the_command_line_are_documents_too(run, style):
    code, out, _ = run("check", "gone.tgpu", "--output-format", style)
    assert code == 2 and "TG902" in json.dumps(json.loads(out))


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_help_has_an_example_that_is_a_command(run, command):
    code, out, _ = run(command, "--help")
    (example,) = re.findall(r"example:\n  (tinygpu .*)", out)
    assert code == 0 and example.split()[1] == command


def test_build_writes_a_module_that_runs(run):
    text = run("build", "good.tgpu", "-o", "-")[1]
    assert run("build", "good.tgpu", "-o", "kernels")[0] == 0 and Path("kernels/good.py").read_text(encoding="utf-8") == text
    code = "import numpy as np; from kernels.good import scale; print(scale(2.0, np.ones(3, np.float32)).tolist())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[2.0, 2.0, 2.0]\n"


@pytest.mark.parametrize("kind", new.KINDS)
def test_what_new_writes_is_proved_and_in_style(run, kind):
    code, out, _ = run("new", "fresh", "--kind", kind)
    assert code == 0 and out == "fresh.tgpu: next, tinygpu check fresh.tgpu\n"
    assert run("check", "fresh.tgpu")[0] == 0
    assert run("fmt", "--check", "fresh.tgpu")[0] == 0


def test_a_bug_is_a_message_and_with_debug_a_traceback(run, monkeypatch):
    from tinygpu import pipeline

    def broken(*arguments):
        raise KeyError("inner")

    monkeypatch.setattr(pipeline, "check", broken)
    code, _, err = run("check", "good.tgpu")
    assert code == 2 and "TG901 a bug of tinygpu" in err and "KeyError: 'inner'" in err and "--debug" in err
    with pytest.raises(KeyError):
        run("--debug", "check", "good.tgpu")


def test_a_reader_that_leaves_is_no_error(root):
    command = f"{sys.executable} -m tinygpu explain | head -1; exit ${{PIPESTATUS[0]}}"
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(["bash", "-c", command], cwd=root, capture_output=True, text=True, env=env)
    assert "Traceback" not in done.stderr and "Error" not in done.stderr


def test_an_old_encoding_of_the_terminal(run, root):
    Path("old.tgpu").write_text("# größer · ∘\n" + Path("refuted.tgpu").read_text(), encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "tinygpu", "check", "old.tgpu", "--why", "all"]
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_progress_is_said_after_a_while_at_a_terminal_and_never_in_a_pipe(capsys, monkeypatch):
    import time

    from tinygpu.category.deadline import about, within
    from tinygpu.commands.together import CLEAR, Progress
    from tinygpu.diagnostic import Label, Span

    def said(what: str, wait: float, claim: str) -> str:
        with Progress(patience=0.01) as now, within(9), about(claim, (Label(Span("a", line=3)),)):
            now(what)
            time.sleep(wait)
        return capsys.readouterr().err

    assert said("checking m", 0.1, "") == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert said("checking m", 0.1, "") == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "70")
    lines = said("checking m (2 of 2)", 0.1, "").split(CLEAR)
    assert lines[0] == lines[-1] == "" and lines[1] == "[#####.....] checking m (2 of 2) … 0 s"
    assert re.search(
        r"checking m … \d+ s: line 3: x\[i\] is inside n$", said("checking m", 0.3, "x[i] is inside n").split(CLEAR)[-2]
    )
    assert re.search(
        r"checking m … \d+ s: line 3$", said("checking m", 0.3, "number 2.0 is x[i]").split(CLEAR)[-2]
    )  # no name of the checker's
    assert max(map(len, said("c" * 200, 0.1, "").split(CLEAR))) == 69
    with Progress() as now:
        now("quick")
    assert capsys.readouterr().err == ""


APART = """op f(x: f32[R, M], b: f32[R]) -> (y: f32[R]) { y[r] = exp(sum[k] x[r, k]) + b[r] }

machine m : f {
  work grid = (g: R), block = (t: 1)
  program {
    local q: f32[]
    q[] = 0
    for k < M { q[] += x[g, k] }
    y[g] = exp(q[] + b[g]) if t == 0
  }
}
"""


def test_the_forms_that_did_not_meet_stand_below_each_other(run):
    path = Path("apart.tgpu")
    path.write_text(APART, encoding="utf-8")
    for arguments in (("check", str(path), "--why"), ("check", "--why", str(path))):
        code, out, _ = run(*arguments)
        assert code == 1 and out.split("here they part")[0].splitlines()[-3:] == [
            "      the program    exp(sum[k < M] x[g, k] + b[g])",
            "      the equation   exp(sum[k < M] x[g, k]) + b[g]",
            "                                           ^ ",
        ]


def saved(name: str, values: object, kind: str = "float32") -> str:
    import numpy as np

    np.save(name, np.asarray(values).astype(kind))
    return name


def test_a_run_takes_data_and_ranges(run):
    saved("x.npy", [1, 2, 3])
    code, out, _ = run("run", "good.tgpu", "--input", "x=x.npy", "--input", "a=2.5", "--device", "cpu")
    assert code == 0 and "n=3:" in out and "agrees at all 3 elements" in out
    for size in (("--size", "n=1000"), ("n=1000",)):  # words stand before options and behind them
        code, out, _ = run("run", "good.tgpu", "--range", "x=-1e6..1e6", "--range", "a=3..3", "--device", "cpu", *size)
        assert code == 0 and "n=1000:" in out and "agrees at all 1000 elements" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--input", "x=gone.npy"), "TG902 there is no file gone.npy"),
        (("--input", "x=good.tgpu"), "TG903 good.tgpu is no array"),
        (("--input", "x"), "TG905 x is no input"),
        (("--input", "w=1"), "TG905 there is no input w"),
        (("--input", "x=1"), "TG905 x has 1 axes, not 0"),
        (("--input", "x=x.npy", "--size", "n=4"), "TG905 n is 4, and an input says that it is 3"),
        (("--input", "x=c.npy"), "TG905 x is complex128, not f32"),
        (("--size", "m"), "TG905 m is no size"),
        (("--size", "m=3"), "TG905 there is no size m"),
        (("--range", "x=2..1"), "TG905 x=2..1 is no range"),
        (("--range", "x=a..b"), "TG905 x=a..b is no range"),
        (("--range", "y=1..2"), "TG905 there is no input y"),
    ],
)
def test_data_that_cannot_be_used_is_a_message(run, arguments, says):
    saved("x.npy", [1, 2, 3])
    saved("c.npy", [1j, 2j, 3j], "complex128")
    code, _, err = run("run", "good.tgpu", *arguments, "--device", "cpu")
    assert code == 2 and says in err and "TG901" not in err


def test_data_keeps_what_is_promised_of_it(run):
    saved("idx.npy", [0, 2, 5], "int32")
    text = "op f(x: f32[n], idx: i32[m]) -> (y: f32[m]) where all[t] (0 <= idx[t] and idx[t] < n) { y[r] = x[idx[r]] }\n"
    Path("f.tgpu").write_text(
        text + "machine m : f {\n  work grid = (g), block = (t: 32)\n  compute r = (g, t)\n}\n", encoding="utf-8"
    )
    code, _, err = run("run", "f.tgpu", "n=5", "--input", "idx=idx.npy", "--device", "cpu")
    assert code == 2 and "TG905 the data is not as f wants it" in err
    assert run("run", "f.tgpu", "n=6", "--input", "idx=idx.npy", "--device", "cpu")[0] == 0


@pytest.mark.parametrize(
    ("x", "exits", "says"),
    [
        (
            [1e-30, 1e-15, 4],
            0,
            "agrees at 2 of 3 elements, rounding has no bound at the others, of which 1 is a number on one side alone",
        ),  # 1e-30's is above all of f32
        ([1, 2, 4], 0, "agrees at all 3 elements"),
        ([1, 0, 4], 0, "agrees at 2 of 3 elements, rounding has no bound at the others, which are what it is in f64"),
        (
            [0, 0, 0],
            3,
            "not compared: rounding has no bound at any of 3 elements, which are what it is in f64; try smaller sizes or numbers, --range NAME=LOW..HIGH",
        ),
        ([], 0, "has no elements to compare"),
    ],
)
def test_a_run_says_where_it_could_not_compare_and_is_no_success_where_it_compared_nothing(run, x, exits, says):
    saved("x.npy", x)
    machine = "machine m : f {\n  work grid = (g), block = (t: 32)\n  compute i = (g, t)\n}\n"
    Path("f.tgpu").write_text("op f(x: f32[n]) -> (y: f32[n]) { y[i] = 1 / x[i] / x[i] * x[i] }\n" + machine, encoding="utf-8")
    code, out, _ = run("run", "f.tgpu", "--input", "x=x.npy", "--device", "cpu")
    assert code == exits and f"; {says};" in out, out


def test_a_run_that_is_wrong_is_called_wrong(run, monkeypatch):
    from tinygpu.commands import run as command

    saved("x.npy", [1, 2, 3])
    compared = command.compare_with_equation
    monkeypatch.setattr(
        command,
        "compare_with_equation",
        lambda one, inputs, results: compared(one, inputs, {n: a * 1.000001 for n, a in results.items()}),
    )
    code, out, _ = run("run", "good.tgpu", "--input", "x=x.npy", "--device", "cpu")
    assert code == 1 and "WRONG: z[0]" in out


PACKED = """op w4(x: f32[M, K], qw: u32[K8, N], sc: f32[G, N], pick: i32[M]) -> (y: f16[M, N])
  where K == 8*K8, S >= 1, K == S*G, all[m] (0 <= pick[m] and 2*pick[m] < K + 1) {
  y[m, n] = f16(sum[k] x[m, k] * f32(qw[k // 8, n] >> 4 * (k % 8) & 15) * sc[k // S, n] * f32(pick[m]) * 100)
}
machine m : w4 {
  work grid = (by, bx), block = (ty: 16, tx: 16)
  compute m = (by, ty), n = (bx, tx)
  time k
}
"""


@pytest.mark.sampled(3)
def test_a_run_finds_sizes_and_data_that_keep_what_is_asked_and_no_warning_is_seen(run):
    Path("w4.tgpu").write_text(PACKED, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, out, err = run("run", "w4.tgpu", "--device", "cpu")
    assert code == 0 and "agrees at" in out and "K8=" in out and not err, (out, err)
    code, _, err = run("run", "w4.tgpu", "K=7", "--device", "cpu")
    assert (
        code == 2 and "no sizes were found for m with K == 8*K8 and S >= 1 and K == S*G, with K = 7" in err and "--size M=…" in err
    )
    far = PACKED.replace(", all[m]", ", all[m, k] (x[m, k] > 1000000), all[m]")
    Path("w4.tgpu").write_text(far, encoding="utf-8")
    code, _, err = run("run", "w4.tgpu", "--device", "cpu")
    assert code == 2 and "no data were found as w4 wants them: all[m < M, k < K] (x[m, k] > 1000000)" in err and "--range" in err
    assert run("run", "w4.tgpu", "--range", "x=1.1e6..2e6", "--device", "cpu")[0] != 2


def test_an_equation_that_takes_too_long_is_not_waited_for(run, monkeypatch):
    from tinygpu.category.deadline import Expired
    from tinygpu.simulate import bounded

    def late(*_: object) -> None:
        raise Expired("", "", ())

    monkeypatch.setattr(bounded, "reference", late)
    code, out, _ = run("run", "good.tgpu", "n=9", "--time", "60", "--device", "cpu")
    assert code == 3 and "not compared: to evaluate the equation takes more than 60 s; choose smaller sizes, or say --time" in out


def test_of_a_recurrence_it_is_said_how_far_it_is_from_its_equation_in_f64(run):
    """Its bound grows with every step, and after a few of them says nothing."""
    text = (ROOT / "specs" / "recurrence.tgpu").read_text(encoding="utf-8")
    Path("recurrence.tgpu").write_text(text, encoding="utf-8")
    code, out, _ = run("run", "recurrence.tgpu", "recurrence_thread", "R=3", "N=500", "--device", "cpu")
    (apart,) = re.findall(
        r"rounding has no bound at the others, which are at most ([\d.e-]+) of the largest away from it in f64", out
    )
    assert code == 0 and 0 < float(apart) < 1e-5


def test_of_a_long_sum_sizes_are_taken_at_which_rounding_says_something(run):
    Path("dot.tgpu").write_text(
        "op dot(x: f32[n], y: f32[n]) -> (s: f32[]) where n >= 1000 { s[] = sum[i] x[i] * y[i] }\n"
        "machine m : dot {\n  work block = (t: 32)\n  compute i = (c, t)\n  time c\n}\n",
        encoding="utf-8",
    )
    code, out, err = run("run", "dot.tgpu", "--device", "cpu")
    assert code == 0 and "agrees at all 1 elements" in out and not err
    code, out, _ = run("run", "dot.tgpu", "n=4000000", "--device", "cpu")
    assert code == 3 and "not compared: rounding has no bound" in out


def test_of_long_equations_few_elements_are_compared(run, monkeypatch):
    from tinygpu.commands import compared

    monkeypatch.setattr(compared, "BEARABLE", 0.0)
    assert "agrees at 16 random elements" in run("run", "good.tgpu", "n=999", "--device", "cpu")[1]


def test_what_cannot_be_built_is_named_and_the_others_are_built(run, monkeypatch):
    code, out, err = run("build", "syntax.tgpu", "good.tgpu", "-o", "kernels")
    assert (
        code == 2
        and "kernels/good.py: scale_m" in out
        and "syntax.tgpu: not built, because there are errors in it" in err
        and "TG0" in err
    )
    from tinygpu import pipeline

    text, made = Path("good.tgpu").read_text(encoding="utf-8"), pipeline.built
    Path("bad.tgpu").write_text(text.replace("scale_m", "scale_bad"), encoding="utf-8")

    def broken(proof, machine=None):
        if machine.name == "scale_bad":
            raise KeyError("inner")
        return made(proof, machine)

    monkeypatch.setattr(pipeline, "built", broken)
    code, out, err = run("build", "bad.tgpu", "good.tgpu", "-o", "others", "--jobs", "1")
    assert code == 2 and "others/good.py: scale_m" in out and not Path("others/bad.py").exists()
    assert (
        "TG901" in err
        and "while building scale_bad of bad.tgpu" in err
        and "bad.tgpu: not built, because scale_bad of bad.tgpu cannot be" in err
    )
