"""`tinygpu replay`: what is right is proved again; what was changed, left out, or is of another program is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tinygpu import cli
from tinygpu.category.smtlib import name_of
from tinygpu.obligations import claims_of
from tinygpu.pipeline import load_text, program
from tinygpu.proof.certificate import Certificate, Entry, formula, read, sha
from tinygpu.recheck import solve

SPEC = """op scale(a: f32, x: f32[n]) -> (z: f32[n]) { z[i] = a * x[i] }

machine scale_m : scale {
  work grid = (g), block = (t: 64)
  compute i = (g, t)
}
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command in a folder with a spec and its certificate."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "scale.tgpu").write_text(SPEC)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = cli.main(arguments)
        seen = capsys.readouterr()
        assert "Traceback" not in seen.out + seen.err
        return code, seen.out, seen.err

    assert call("check", "scale.tgpu", "--certify", "proofs", "--smt2")[0] == 0
    return call


FILE = Path("proofs/scale/scale_m.json")


def changed(change: Callable[[Certificate], Certificate]) -> None:
    """Write the certificate again, with hashes that agree."""
    FILE.write_text(change(read(FILE.read_text())).text())


def about(text: str) -> tuple[Entry, ...]:
    """Entries that say that every obligation of a program was proved."""
    claims = claims_of(program(load_text(text).machines[0]))
    return tuple(Entry(c.kind, c.code, getattr(c, "sentence", ""), name_of(formula(c)), "z3") for c in claims)


def test_a_spec_with_its_certificate_and_the_certificate_alone(run: Run) -> None:
    code, out, _ = run("replay", "scale.tgpu", "--quick")
    assert code == 0 and out.startswith("replayed  scale_m : scale") and "certificate valid" in out
    assert run("replay", "proofs", "--quick") == (code, out, "")
    assert "by neither" not in out and (solve.cvc5_module() is None or "by both" in out)


def test_without_a_certificate_the_spec_is_replayed_all_the_same(run: Run) -> None:
    code, out, _ = run("replay", "scale.tgpu", "--proofs", "elsewhere", "--quick")
    assert code == 0 and "certificate none" in out


def test_runs_say_at_how_many_sizes_they_agree(run: Run) -> None:
    code, out, _ = run("replay", "scale.tgpu", "--output-format", "json")
    (row,) = json.loads(out)["machines"]
    assert code == 0 and row["runs"]["count"] >= row["runs"]["sizes"] > 5 and row["runs"]["differs"] is False
    assert {o["proved_by"] for o in row["obligations"]} <= {"both", "z3"} and row["certificate"] == "valid"


def test_a_certificate_that_was_changed_is_not_valid(run: Run) -> None:
    text = FILE.read_text()
    FILE.write_text(text.replace("g*64 + t < n", "g*64 + t <= n"))
    code, _, err = run("replay", "proofs", "--quick")
    assert code == 2 and "TG910" in err and "hashes" in err
    FILE.write_text(text[: len(text) // 2])
    assert "TG910" in run("replay", "proofs", "--quick")[2]


def test_an_obligation_that_was_left_out_is_missed(run: Run) -> None:
    changed(lambda c: replace(c, obligations=tuple(e for e in c.obligations if e.kind != "bounds")))
    code, out, err = run("replay", "proofs", "--quick")
    assert code == 1 and out.startswith("invalid") and "TG910" in err and "the program needs bounds (TG203)" in err


@pytest.mark.parametrize(
    ("change", "says"),
    [(lambda e: e + e[:1], "or once too often"), (lambda e: e[::-1], "are in another order")],
    ids=["twice", "order"],
)
def test_obligations_are_listed_once_and_in_order(run: Run, change: Callable[..., tuple[Entry, ...]], says: str) -> None:
    changed(lambda c: replace(c, obligations=change(c.obligations)))
    code, out, err = run("replay", "proofs", "--quick")
    assert code == 1 and out.startswith("invalid") and "TG910" in err and says in err


def test_a_wrong_program_is_not_proved_again_whatever_its_certificate_says(run: Run) -> None:
    wrong = read(FILE.read_text()).program.replace("if g*64 + t < n", "if g*64 + t <= n")
    changed(lambda c: replace(c, program=wrong, obligations=about(wrong)))
    code, _, err = run("replay", "proofs", "--quick")
    assert code == 1 and "TG911" in err and "a solver has a counterexample to bounds (TG203) of scale_m" in err
    code, _, err = run("replay", "scale.tgpu", "--quick")
    assert code == 1 and "certificate of another program" in err


def test_a_spec_that_was_edited_has_an_old_certificate(run: Run) -> None:
    Path("scale.tgpu").write_text(SPEC.replace("a * x[i]", "x[i] * a"))
    code, _, err = run("replay", "scale.tgpu", "--quick")
    assert code == 1 and "TG910" in err and "tinygpu check specs --certify proofs" in err


def test_a_module_alone_is_enough(run: Run) -> None:
    assert run("build", "scale.tgpu", "-o", "kernels")[0] == 0
    module = Path("kernels/scale.py")
    code, out, err = run("replay", str(module), "--quick")
    assert code == 0 and out.startswith("replayed  scale_m : scale") and "certificate valid" in out, out + err
    assert "the kernels do what these programs say, for all sizes" in out
    text = module.read_text()
    module.write_text(
        text.replace(
            "machine scale_m : scale {\n      work grid = (g: ceil(n / 64))",
            "machine scale_m : scale {\n      work grid = (g: ceil(n / 65))",
        )
    )
    assert module.read_text() != text
    code, out, err = run("replay", str(module), "--quick")
    assert code == 1 and "names the certificate" in err and "TG911" in err
    module.write_text("x = 1\n")
    assert run("replay", str(module))[0] == 2


def test_a_module_whose_cpu_kernel_was_edited_fails(run: Run) -> None:
    assert run("build", "scale.tgpu", "-o", "kernels")[0] == 0
    module = Path("kernels/scale.py")
    text, work = module.read_text(), "z[at(i)] = a * x[at(i)]"
    assert text.count(work) == 1
    line = text[: text.index(work)].count("\n") + 1
    for edit in ("z[at(i)] = a + x[at(i)]", "z[at(i)] = a * x[at(int(str(i)))]"):
        module.write_text(text.replace(work, edit))
        code, out, err = run("replay", str(module), "--quick")
        assert code == 1 and "are not shown to do what these programs say" in out, out + err
        assert "TG824" in err and f"scale.py:{line}:" in err and f"this version writes: '{work}'" in err


def test_the_formulas_are_files_named_by_their_hashes(run: Run) -> None:
    listed = {e.formula for e in read(FILE.read_text()).obligations}
    files = {p.stem: p.read_text() for p in Path("proofs/smt2").glob("*.smt2")}
    assert set(files) == listed and all(name_of(text) == name for name, text in files.items())


def test_one_place_is_for_one_machine(run: Run) -> None:
    Path("other").mkdir()
    Path("other/scale.tgpu").write_text(SPEC)
    code, _, err = run("check", "scale.tgpu", "other", "--certify", "proofs")
    assert code == 2 and "TG904" in err and "scale_m of other/scale.tgpu" in err
    assert run("check", "scale.tgpu", "--smt2")[0] == 2


def test_what_is_not_proved_has_no_certificate(run: Run) -> None:
    Path("bad.tgpu").write_text(SPEC.replace("block = (t: 64)", "block = (t: 2048)"))
    assert run("check", "bad.tgpu", "--certify", "proofs")[0] == 1 and not Path("proofs/bad").exists()


def test_without_cvc5_the_command_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "cvc5_module", lambda: None)
    solve.ask_cvc5.cache_clear()
    code, out, err = run("replay", "scale.tgpu", "--quick")
    solve.ask_cvc5.cache_clear()
    assert code == 0 and "by z3 alone" in out and "cvc5 is not installed" in err and "tinygpu[replay]" in err


@pytest.mark.parametrize(
    ("path", "says"),
    [("gone", "TG902"), ("empty", "TG902"), ("broken.json", "TG910"), ("broken.py", "TG903"), ("scale.tgpu", "TG905")],
)
def test_bad_input_is_a_message(run: Run, path: str, says: str) -> None:
    Path("empty").mkdir()
    Path("broken.json").write_text("{}")
    Path("broken.py").write_text("def (")
    code, _, err = run("replay", path, "--quick", "--machine", "nobody")
    assert code == 2 and says in err


def test_the_hash_of_a_spec_is_that_of_its_own_text(run: Run) -> None:
    assert read(FILE.read_text()).source != sha(SPEC)  # of its one style, so comments and blanks do not matter
    Path("scale.tgpu").write_text("# a comment\n" + SPEC.replace("{ z[i]", "{\n\n z[i]"))
    assert run("replay", "scale.tgpu", "--quick")[0] == 0


LARGE = """op copy(x: f32[n]) -> (y: f32[n]) where n >= 2000000000 { y[i] = x[i] }
machine copy_m : copy {
  work grid = (g: ceil(n / 64)), block = (t: 64)
  compute i = (g, t)
}
"""


def test_what_is_too_large_to_run_is_said_and_no_refutation(run: Run) -> None:
    Path("large.tgpu").write_text(LARGE)
    assert run("check", "large.tgpu", "--certify", "proofs")[0] == 0
    code, out, err = run("replay", "large.tgpu", "--jobs", "1")
    assert code == 0 and "no run is small enough" in out, out + err
    assert run("replay", "large.tgpu", "--jobs", "1", "--strict")[0] == 3
    code, out, _ = run("audit", "large.tgpu", "--replay", "--jobs", "1")
    assert code == 0 and "0 runs of 0 machines agree, 0 differ, and 1 are too large to run" in out


def test_what_a_run_shows_is_refuted(run: Run) -> None:
    wrong = read(FILE.read_text()).program.replace("a * x[g*64 + t]", "a * x[g*64]")
    Path("wrong.tgpu").write_text(wrong)
    code, out, err = run("replay", "wrong.tgpu", "--jobs", "1")
    assert code == 1 and "a run of scale_m is not what its equation says" in err, out + err
    code, out, _ = run("replay", "wrong.tgpu", "--jobs", "1", "--output-format", "json")
    assert code == 1 and json.loads(out)["machines"][0]["runs"]["differs"]
    assert run("audit", "wrong.tgpu", "--replay", "--jobs", "1")[0] == 1
