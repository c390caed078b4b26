"""Choices are subjects of commands as machines and theorems are.

Comes in: a spec with a choice, and wrong ones. Goes out: verdicts, modules, certificates, and what is run, replayed, audited and shown of them. The one idea: a module says which choices it has, so
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
COPY = """op copy(x: f32[n]) -> (z: f32[n]) {
  z[i] = x[i]
}

machine plain : copy {
  work    grid = (g), block = (t: 32)
  compute i = (g, t)
}

machine fours : copy where n % 4 == 0 {
  work    grid = (g), block = (t: 32)
  compute i = (g, t, v: 4)
  vector  v
}

choice best : copy {
  fours
  plain where n % 4 != 0
}
"""
GAP = "\nchoice gap : copy {\n  plain where n < 9\n  fours where n > 9, n % 4 == 0\n}\n"
DEAD = "\nchoice dead : copy {\n  plain\n  fours where n % 4 == 0, n < 0\n}\n"


@pytest.fixture(autouse=True)
def written(run: Run) -> None:
    Path("pair.tgpu").write_text(COPY)
    Path("gap.tgpu").write_text(COPY + GAP + DEAD)


def test_each_has_a_verdict_of_its_own(run: Run) -> None:
    code, out, _ = run("check", "pair.tgpu")
    assert code == 0 and "proved   best : copy" in out and "2 machines: 2 proved" in out
    code, out, _ = run("check", "gap.tgpu")
    assert code == 1 and "TG551 no case takes n = 9" in out and "TG554" in out and "3 choices: 2 proved, 1 refuted" in out
    assert run("check", "gap.tgpu", "--machine", "dead")[0] == 0  # a warning stops nothing
    assert run("check", "gap.tgpu", "--machine", "gap")[0] == 1
    code, out, _ = run("check", "pair.tgpu", "--machine", "best", "--why", "choice")
    assert code == 0 and "no sizes are those of the cases of fours and plain" in out and "2 machines: 2 proved" in out


@pytest.mark.parametrize("style", ["json", "sarif", "github", "concise"])
def test_in_every_format(run: Run, style: str) -> None:
    code, out, err = run("check", "gap.tgpu", "--output-format", style)
    assert code == 1 and "TG551" in out + err
    if style == "json":
        found = json.loads(out)
        assert [(c["choice"], c["op"], c["verdict"]) for c in found["choices"]] == [
            ("best", "copy", "proved"),
            ("gap", "copy", "refuted"),
            ("dead", "copy", "proved"),
        ]
        assert found["choices"][0]["cases"][1] == {"machine": "plain", "where": ["n % 4 != 0"]}
        assert {d["code"] for d in found["diagnostics"]} == {"TG551", "TG554"} and "theorems" not in found


def test_a_module_has_those_whose_machines_it_has(run: Run) -> None:
    assert run("build", "pair.tgpu", "-o", "out")[0] == 0
    whole = Path("out/pair.py").read_text()
    assert "def best(x: Array" in whole and "copy = best" in whole
    assert run("build", "pair.tgpu", "-o", "some", "--machine", "plain")[0] == 0
    assert "best" not in Path("some/pair.py").read_text()
    assert run("build", "gap.tgpu", "-o", "out", "--machine", "best")[0] == 0
    assert Path("out/gap.py").read_text() == whole.replace("pair.tgpu", "gap.tgpu")
    code, _, err = run("build", "gap.tgpu", "-o", "none")
    assert code == 1 and "not built, because gap is not proved" in err and not Path("none/gap.py").exists()


def test_a_module_is_replayed_with_its_choices(run: Run) -> None:
    run("build", "pair.tgpu", "-o", "out")
    code, out, _ = run("replay", "out/pair.py", "--quick")
    assert code == 0 and "do what these programs say" in out
    text = Path("out/pair.py").read_text()
    for old, new in (
        ('"n % 4 != 0"', '"n % 4 != 1"'),
        ("      plain where n % 4 != 0\n", "      plain where n % 4 != 1\n"),
        ("      plain where n % 4 != 0\n", ""),
        ("choice best : copy {", "choice best : cop {"),
        ("copy = best", "copy = plain"),
        ("  best : copy by fours, plain\n", ""),
    ):
        assert text.count(old) == 1
        assert differs(text.replace(old, new), "m.py") is not None
    other = text.replace("n % 4 != 0", "n % 4 != 1")  # at all places alike, so that it is written as it would be
    assert other.count("n % 4 != 1") == 2 and differs(other, "m.py") is not None


def test_a_certificate_is_of_the_choice(run: Run) -> None:
    assert run("check", "pair.tgpu", "--certify", "proofs")[0] == 0
    assert {p.name for p in Path("proofs/pair").iterdir()} == {"best.json", "plain.json", "fours.json"}
    code, out, _ = run("replay", "pair.tgpu", "--quick", "--machine", "best")
    assert code == 0 and "replayed  best : copy  certificate valid; 30 obligations: 30 by both" in out
    file = Path("proofs/pair/best.json")
    code, out, _ = run("replay", str(file))
    assert code == 0 and "runs at 18 sizes agree" in out
    right = read(file.read_text())
    for wrong in (
        replace(right, obligations=right.obligations[1:]),
        replace(right, preconditions=("n >= 1",)),
        replace(right, op="copies"),
        replace(right, program=right.program.replace("n % 4 != 0", "n % 4 != 1")),
    ):
        file.write_text(wrong.text())
        assert run("replay", "pair.tgpu", "--quick", "--machine", "best")[0] == 1 and run("replay", str(file), "--quick")[0] != 0


def test_what_is_refuted_is_not_replayed(run: Run) -> None:
    code, _, err = run("replay", "gap.tgpu", "--quick", "--machine", "gap")
    assert code == 3 and "not proved again" in err and "no case takes n = 9" in err
    assert run("audit", "gap.tgpu", "--machine", "gap")[0] == 1
    assert run("show", "gap.tgpu", "gap")[0] != 0


def test_it_is_audited_and_shown(run: Run) -> None:
    code, out, _ = run("audit", "pair.tgpu")
    assert code == 0 and "best : copy\n  settled   2 obligations" in out and "2 machines, 1 choices" in out
    code, out, _ = run("show", "pair.tgpu", "best")
    assert code == 0 and "choice best : copy {" in out and "some case takes all sizes" in out


def test_every_case_is_run_that_sizes_allow(run: Run) -> None:
    code, out, _ = run("run", "pair.tgpu", "best", "--device", "cpu", "n=8")
    assert code == 0 and "best by fours  n=8:" in out and "best by plain" not in out and "\n  plain" not in out
    code, out, _ = run("run", "pair.tgpu", "best", "fours", "--device", "cpu", "n=12")
    assert code == 0 and "best by fours  n=12:" in out and "\n  fours          n=12:" in out
    code, out, err = run("run", "pair.tgpu", "bets", "n=8")
    assert code == 2 and "there is no machine bets" in err
