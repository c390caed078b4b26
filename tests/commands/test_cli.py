"""The command line as users meet it: exit codes, streams, formats, and bad input of every kind.

Comes in: arguments. Goes out: code, standard output, standard error. The one idea: no input, however odd, shows a traceback.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys

import pytest

from tinygpu import cli
from tinygpu.commands import new

GOOD = """op scale(a: f32, x: f32[n]) -> (z: f32[n]) { z[i] = a * x[i] }

machine scale_m : scale {
  work grid = (g), block = (t: 64)
  compute i = (g, t)
}
"""
REFUTED = """op scale(a: f32, x: f32[n]) -> (z: f32[n]) { z[i] = a * x[i] }

machine floor_grid : scale {
  work grid = (g: n // 256), block = (t: 256)
  program {
    z[g*256 + t] = a * x[g*256 + t] if g*256 + t < n
  }
}
"""
SYNTAX = "op scale(a: f32, x: f32[n]) -> (z: f32[n] { z[i] = a * x[i] }\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """`run("check", "good.tgpu") → (code, stdout, stderr)` in a folder with a good, a refuted and a malformed spec."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for name, text in (("good", GOOD), ("refuted", REFUTED), ("syntax", SYNTAX)):
        (tmp_path / f"{name}.tgpu").write_text(text, encoding="utf-8")

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = cli.main(arguments)
        except SystemExit as stop:  # argparse
            code = stop.code if isinstance(stop.code, int) else 1
        seen = capsys.readouterr()
        assert "Traceback" not in seen.out + seen.err
        return code, seen.out, seen.err

    return call


def test_proved_is_0(run):
    code, out, err = run("check", "good.tgpu")
    assert code == 0 and re.match(r"proved   scale_m : scale  all n  \(\d+ obligations, \d\.\d\d s\)\n$", out) and not err


def test_refuted_is_1_and_shows_the_smallest_case(run):
    code, out, _ = run("check", "refuted.tgpu", "good.tgpu")
    assert code == 1 and "[refuted]" in out and "smallest counterexample" in out and "--> refuted.tgpu:" in out
    assert out.rstrip().endswith("2 machines: 1 proved, 1 refuted")


def test_bad_input_is_2_and_does_not_hide_the_rest(run):
    code, out, err = run("check", "syntax.tgpu", "good.tgpu")
    assert code == 2 and "proved   scale_m" in out and "syntax.tgpu:1:" in err and "TG0" in err


def test_a_machine_that_is_wrong_does_not_hide_the_others_of_its_file(run, tmp_path):
    wrong = "op total(x: f32[n]) -> (s: f32[]) { s[] = sum[i] x[i] }\nmachine blocks : total {\nwork grid = (g), block = (t: 256)\ncompute i = (g, t)\n}\n"
    (tmp_path / "both.tgpu").write_text((tmp_path / "good.tgpu").read_text() + wrong)
    code, out, err = run("check", "both.tgpu")
    assert code == 2 and "proved" in out and "TG533" in err and "1 proved" not in err
    (tmp_path / "twice.tgpu").write_text(wrong + wrong.partition("\n")[2].replace("blocks", "others"))
    code, out, err = run("check", "twice.tgpu")
    assert code == 2 and not out and err.count("TG533") == 2  # said once, and where to read more
    code, out, err = run("check", "both.tgpu", "--machine", "blocks")
    assert code == 2 and "proved" not in out and "TG533" in err and "TG905" not in err
    code, _, err = run("build", "both.tgpu")
    assert code == 2 and "TG533" in err and not (tmp_path / "both.py").exists()


def test_a_budget_that_is_too_small_is_unknown_3(run):
    code, out, _ = run("check", "good.tgpu", "--budget", "1")
    assert code == 3 and "[unknown]" in out and "scale_m" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("check",), "required: PATH"),
        (("frobnicate",), "invalid choice"),
        (("check", "gone.tgpu"), "TG902 there is no file gone.tgpu"),
        (("check", "empty/"), "TG902"),
        (("check", "secret.tgpu"), "TG903"),
        (("check", "latin.tgpu"), "TG903 latin.tgpu is not UTF-8: byte 0xe4 in line 2"),
        (("check", "good.tgpu", "--machine", "nope"), "TG905 there is no machine nope"),
        (("check", "good.tgpu", "--output-format", "xml"), "invalid choice"),
        (("explain", "TG999"), "TG906 there is no error TG999"),
        (("new", "2fast"), "TG905"),
        (("new", "sum"), "TG905 sum cannot be the name of an operation"),
        (("new", "lambda"), "TG905 lambda cannot be the name of an operation"),
        (("check", "good.tgpu", "--why", "speed"), "TG905 speed is no property"),
        (("new", "good"), "TG904 good.tgpu is there already"),
        (("run", "good.tgpu", "m=3"), "TG905 there is no size m"),
        (("run", "good.tgpu", "n=-3"), "TG905 n=-3 is no size"),
        (("run", "good.tgpu", "n=three"), "TG905"),
        (("run", "good.tgpu", "n=1000000000000"), "TG905 x would have 1000000000000 elements"),
        (("run", "good.tgpu", "--device", "gpu"), "TG907"),
        (("build", "syntax.tgpu"), "TG0"),
        (("build", "good.tgpu", "-o", "good.tgpu/sub"), "TG904"),
        (("show", "good.tgpu", "nope"), "TG905"),
        (("fmt", "syntax.tgpu"), "TG0"),
    ],
)
def test_bad_usage_and_bad_input_are_2(run, tmp_path, arguments, says):
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin.tgpu").write_bytes(b"op\n\xe4")
    (tmp_path / "secret.tgpu").symlink_to(tmp_path / "nowhere")
    code, _, err = run(*arguments)
    assert code == 2 and says in err


def test_a_pattern_and_a_folder_and_standard_input(run, monkeypatch):
    assert run("check", "go*.tgpu")[0] == 0
    assert run("check", ".")[0] == 2  # a folder with a malformed file in it
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.replace("\n", "\r\n").encode())))
    assert run("check", "-")[0] == 0


def test_json_of_check_has_machines_and_diagnostics(run):
    code, out, err = run("check", ".", "--output-format", "json")
    found = json.loads(out)
    assert code == 2 and not err
    assert {m["machine"]: m["verdict"] for m in found["machines"]} == {"scale_m": "proved", "floor_grid": "refuted"}
    assert {d["verdict"] for d in found["diagnostics"]} == {"error", "refuted"}
    assert len(next(m for m in found["machines"] if m["verdict"] == "proved")["proof"]) == 64


@pytest.mark.parametrize("style", ["concise", "github", "sarif"])
def test_other_formats_name_the_place(run, style):
    code, out, _ = run("check", "refuted.tgpu", "--output-format", style)
    assert code == 1 and "refuted.tgpu" in out and "TG201" in out
    if style == "sarif":
        assert json.loads(out)["version"] == "2.1.0"


@pytest.mark.parametrize("style", ["json", "sarif"])
def test_errors_of_the_command_line_are_documents_too(run, style):
    code, out, _ = run("check", "gone.tgpu", "--output-format", style)
    assert code == 2 and "TG902" in json.dumps(json.loads(out))


def test_why_prints_the_formulas(run):
    code, out, _ = run("check", "good.tgpu", "--why", "cover")
    assert code == 0 and "every element of z is stored" in out and "⊢" in out


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_help_has_an_example_that_is_a_command(run, command):
    code, out, _ = run(command, "--help")
    (example,) = re.findall(r"example:\n  (tinygpu .*)", out)
    assert code == 0 and example.split()[1] == command


def test_help_version_and_nothing(run):
    assert "exit codes" in run("--help")[1]
    assert run("--version")[1].startswith("tinygpu 0.")
    assert run()[0] == 2


def test_build_writes_a_module_that_runs(run, tmp_path):
    code, out, _ = run("build", "good.tgpu", "-o", "kernels")
    assert code == 0 and out == "kernels/good.py: scale_m\n"
    text = (tmp_path / "kernels" / "good.py").read_text(encoding="utf-8")
    assert "Proved for all n" in text and re.search("Certificate [0-9a-f]{32}", text)
    assert run("build", "good.tgpu", "-o", "-")[1] == text
    code = "import numpy as np; from kernels.good import scale; print(scale(2.0, np.ones(3, np.float32)).tolist())"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[2.0, 2.0, 2.0]"


def test_nothing_is_built_without_a_proof(run, tmp_path):
    code, out, err = run("build", "refuted.tgpu", "good.tgpu", "-o", "kernels")
    assert code == 1 and "not built, because floor_grid is not proved" in err
    assert not (tmp_path / "kernels" / "refuted.py").exists() and "good.py" in out


def test_run_compares_and_times(run):
    code, out, _ = run("run", "good.tgpu", "n=1000", "--device", "cpu")
    assert code == 0 and "proved   scale_m" in out and "agrees at all 1000 elements" in out and "GB/s" in out


def test_run_of_the_matrix_product_names_numpys(run, root):
    code, out, _ = run("run", str(root / "specs" / "matmul.tgpu"), "matmul_tile", "M=65", "N=33", "K=7", "--device", "cpu")
    assert code == 0 and "of numpy's A @ B" in out and "M=65, K=7, N=33" in out


def test_show_prints_every_stage(run):
    code, out, _ = run("show", "good.tgpu", "--work", "--program", "--cuda", "--cpu")
    assert code == 0
    for part in ("grid   g: ceil(n / 64)", "program {", "def scale_m_kernel(bits: int, wide: bool)", "prange(parts)"):
        assert part in out


def test_explain_prints_a_page_and_the_list(run):
    assert run("explain", "TG201")[1].startswith("# TG201: an output element is never stored")
    assert run("explain", "201")[1] == run("explain", "tg201")[1]
    assert "TG801: not an array that a kernel can take" in run("explain")[1]


def test_fmt_writes_one_style(run, tmp_path):
    code, out, _ = run("fmt", "--check", "good.tgpu")
    assert code == 1 and out == "would change good.tgpu\n"
    assert run("fmt", "good.tgpu")[0] == 0
    assert run("fmt", "--check", "good.tgpu") == (0, "", "")
    assert (tmp_path / "good.tgpu").read_text(encoding="utf-8") != GOOD


@pytest.mark.parametrize("kind", sorted(new.TEMPLATES))
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


def test_a_reader_that_leaves_is_no_error(tmp_path, root):
    (tmp_path / "good.tgpu").write_text(GOOD, encoding="utf-8")
    command = f"{sys.executable} -m tinygpu explain | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=root, capture_output=True, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    )
    assert "Traceback" not in done.stderr and "Error" not in done.stderr


def test_an_old_encoding_of_the_terminal(tmp_path, root):
    (tmp_path / "refuted.tgpu").write_text("# größer · ∘\n" + REFUTED, encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-m", "tinygpu", "check", "refuted.tgpu", "--why", "all"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_progress_is_said_after_a_while(capsys):
    import time

    from tinygpu.commands.together import Progress

    with Progress(patience=0.02) as now:
        now("checking matmul_tile (1 of 3)")
        time.sleep(0.1)
    assert capsys.readouterr().err == "checking matmul_tile (1 of 3) …\n"
    with Progress() as now:
        now("quick")
    assert capsys.readouterr().err == ""
