"""`check --changed` and `--watch`: what is kept is said to be kept, by these two alone, and a change is seen.

Comes in: arguments, files that change. Goes out: what is printed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tinygpu.commands import watch


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path / "cache"))


def test_only_changed_says_what_is_kept(run):
    assert "kept" not in run("check", "--changed", "good.tgpu", "refuted.tgpu")[1]
    code, out, _ = run("check", "--changed", "good.tgpu", "refuted.tgpu")
    assert (
        code == 1
        and "obligations, kept)" in out
        and "refuted  floor_grid" in out
        and "(kept)" in out
        and "smallest counterexample" in out
    )
    assert "2 machines: 1 proved, 1 refuted (2 of these kept)" in out
    assert "kept" not in run("check", "good.tgpu", "refuted.tgpu")[1]


def test_documents_say_what_is_kept(run):
    run("check", "--changed", "good.tgpu")
    (row,) = json.loads(run("check", "--changed", "good.tgpu", "--output-format", "json")[1])["machines"]
    assert row["kept"] is True and row["verdict"] == "proved" and len(row["proof"]) == 64
    assert run("check", "--changed", "good.tgpu", "--output-format", "concise")[1].endswith("(kept)\n")
    assert "kept" not in run("check", "good.tgpu", "--output-format", "json")[1]


@pytest.mark.parametrize("option", [("--certify", "p"), ("--why",), ("--as-test", "t.py")])
def test_what_needs_a_proof_takes_no_kept_verdict(run, option):
    code, _, err = run("check", "good.tgpu", "--changed", *option)
    assert code == 2 and "TG905" in err and "no proof" in err


def test_watch_sees_changes_of_files_and_of_what_they_import(run, monkeypatch):
    Path("lib.tgpu").write_text("def f(x) = x + 1.0\n")
    text = 'import "lib"\nop o(x: f32[n]) -> (y: f32[n]) { y[i] = f(x[i]) }\nmachine m : o { work grid = (g), block = (t: 32)\n compute i = (g, t) }\n'
    Path("w.tgpu").write_text(text)
    edits = iter((("w.tgpu", text.replace("32", "32,")), ("w.tgpu", text), ("lib.tgpu", "def f(x) = x + 20.0\n")))

    def edit(_: float) -> None:
        name, new = next(edits, ("", ""))
        if not name:
            raise KeyboardInterrupt
        Path(name).write_text(new)

    monkeypatch.setattr(watch.time, "sleep", edit)
    code, out, err = run("check", "--watch", "w.tgpu")
    first, broken, mended, other = out.split(" changed\n")
    assert code == 0 and "proved   m : o" in first and "TG0" in err and "proved" not in broken
    assert mended == "w.tgpu: 1 proved (1 of these kept)\n\nlib.tgpu"
    assert "proved   m : o" in other and "kept" not in other


def test_watch_waits_for_files_that_are_not_there_yet(run, monkeypatch):
    turns = iter((lambda: Path("late.tgpu").write_text(Path("good.tgpu").read_text()),))

    def turn(_: float) -> None:
        for edit in turns:
            edit()
            return
        raise KeyboardInterrupt

    monkeypatch.setattr(watch.time, "sleep", turn)
    code, out, err = run("check", "--watch", "late.tgpu")
    assert code == 0 and "TG902" in err and "late.tgpu changed" in out and "proved" in out
    assert run("check", "--watch", "-")[0] == 2
