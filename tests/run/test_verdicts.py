"""Verdicts that are kept: a text that moved has them, a text that says something else has none, and what is not whole or was not in time is nothing.

Comes in: specs, a folder for what is kept. Goes out: the same verdicts as a new check finds, or none.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tinygpu import pipeline
from tinygpu.commands.judged import Judged, judge
from tinygpu.commands.kept import Store
from tinygpu.run import verdicts

SPEC = """import "lib"
op twice(x: f32[n]) -> (y: f32[n]) {
  y[i] = doubled(x[i])
}

machine right : twice {
  work grid = (g), block = (t: 64)
  compute i = (g, t)
}

machine wrong : twice {
  work grid = (g: ceil(n / 64)), block = (t: 64)
  program { y[g*64 + t] = 2.0 * x[g*64 + t] }
}
"""
LIBRARY = "def doubled(x) = x + x\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where verdicts are kept, and the file that the spec imports lies."""
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path / "cache"))
    (tmp_path / "lib.tgpu").write_text(LIBRARY)
    return tmp_path


def verdicts_of(text: str, folder: Path, store: Store | None = None) -> dict[str, Judged]:
    spec = pipeline.load_text(text, str(folder / "spec.tgpu"))
    return {j.machine.name: j for j in (store or Store()).machines([(spec, m) for m in spec.machines], 1)}


def test_what_is_kept_is_what_was_found(folder: Path):
    first, second = verdicts_of(SPEC, folder), verdicts_of(SPEC, folder)
    assert {n: (j.word, j.kept) for n, j in second.items()} == {"right": ("proved", True), "wrong": ("refuted", True)}
    for name, one in second.items():
        assert not first[name].kept and (one.facts, one.diagnostics) == (first[name].facts, first[name].diagnostics)
    assert second["right"].facts is not None and len(second["right"].facts.proof) == 64 and second["right"].verdict is None


def test_what_moves_keeps_its_verdict_and_its_places(folder: Path):
    verdicts_of(SPEC, folder)
    moved = verdicts_of(SPEC.replace("\n\nmachine", "# the same line\n\nmachine", 1), folder)
    assert moved["right"].kept and moved["wrong"].kept
    (new,) = judge("", moved["wrong"].machine).diagnostics
    assert moved["wrong"].diagnostics == (new,) and new.span.start > SPEC.index("y[g*64")


def test_a_message_that_names_lines_is_found_again_where_lines_have_moved(folder: Path):
    verdicts_of(SPEC, folder)
    moved = verdicts_of("# a line more\n" + SPEC, folder)
    assert moved["right"].kept and not moved["wrong"].kept
    assert moved["wrong"].diagnostics[0].span.line == verdicts_of(SPEC, folder)["wrong"].diagnostics[0].span.line + 1


def test_comments_and_names_change_no_proof(folder: Path):
    verdicts_of(SPEC, folder)
    again = verdicts_of(SPEC.replace("grid = (g), block", "grid  =  (g),  block"), folder)
    assert again["right"].kept


@pytest.mark.parametrize(
    ("old", "new"), [("block = (t: 64)\n  compute", "block = (t: 32)\n  compute"), ("doubled(x[i])", "doubled(x[i]) + 1.0")]
)
def test_what_says_something_else_is_proved_again(folder: Path, old: str, new: str):
    verdicts_of(SPEC, folder)
    assert not verdicts_of(SPEC.replace(old, new), folder)["right"].kept


def test_what_is_imported_counts_and_so_does_tinygpu_itself(folder: Path, monkeypatch: pytest.MonkeyPatch):
    verdicts_of(SPEC, folder)
    (folder / "lib.tgpu").write_text("def doubled(x) = x * 2.0\n")
    assert not verdicts_of(SPEC, folder)["right"].kept
    assert verdicts_of(SPEC, folder)["right"].kept
    monkeypatch.setattr(verdicts, "version", lambda: "another one")
    assert not verdicts_of(SPEC, folder)["right"].kept


def test_the_version_is_that_of_every_source(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    before = verdicts.version()
    (tmp_path / "std").mkdir()
    (tmp_path / "std" / "functions.tgpu").write_text("def relu(x) = max(x, 1.0)\n")
    monkeypatch.setattr(verdicts, "source", lambda: tmp_path)
    assert verdicts.version.__wrapped__() != before


def test_a_budget_is_part_of_the_question(folder: Path):
    verdicts_of(SPEC, folder)
    assert not verdicts_of(SPEC, folder, Store(budget=77_777))["right"].kept


def test_what_is_not_whole_is_nothing(folder: Path):
    verdicts_of(SPEC, folder)
    for path in (folder / "cache" / "verdicts").iterdir():
        path.write_bytes(path.read_bytes()[:-9])
    assert not any(one.kept for one in verdicts_of(SPEC, folder).values())
    assert all(one.kept for one in verdicts_of(SPEC, folder).values())


def test_what_was_not_decided_in_time_is_not_kept(folder: Path):
    late = verdicts_of(SPEC, folder, Store(limit=1e-9))
    assert {one.word for one in late.values()} == {"unknown"} and late["right"].diagnostics[0].code == "TG515"
    assert not any(one.kept for one in verdicts_of(SPEC, folder).values())


def test_theorems_and_families_are_kept_too(folder: Path):
    text = """op a(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] + x[i] }
op b(x: f32[n]) -> (y: f32[n]) { y[i] = 2.0 * x[i] }
theorem same : a == b
machine of_any : a {
  param T in 1..4
  work grid = (g), block = (t: T)
  compute i = (g, t)
}
"""
    spec, store = pipeline.load_text(text, "two.tgpu"), Store()
    (theorem,), (family,) = spec.spec.stated, spec.spec.families
    before, after = (store.stated(spec, theorem), store.stated(spec, theorem))
    assert after.kept and (after.word, after.counts) == (before.word, before.counts) == ("proved", before.counts)
    first, second = store.family(spec, family), store.family(spec, family)
    assert second.kept and (second.word, second.sizes, second.obligations) == ("proved", first.sizes, first.obligations)


def test_a_pipeline_and_a_choice_are_kept_until_a_machine_of_theirs_changes(folder: Path):
    text = """op a(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] + x[i] }
op b(x: f32[n]) -> (y: f32[n]) { y[i] = 2.0 * x[i] }
machine ma : a {
  work grid = (g), block = (t: 32)
  compute i = (g, t)
}
machine mb : b {
  work grid = (g), block = (t: 64)
  compute i = (g, t)
}
choice some : a { ma where n <= 100
  ma2 where n > 100 }
machine ma2 : a {
  work grid = (g), block = (t: 128)
  compute i = (g, t)
}
pipeline both(x: f32[n]) -> (z: f32[n]) {
  y = a(x) by some
  z = b(y) by mb
}
"""

    def kept_of(text: str) -> dict[str, tuple[str, bool]]:
        spec = pipeline.load_text(text, "pipe.tgpu")
        return {one.name: (found.word, found.kept) for one in spec.spec.stated for found in [Store().stated(spec, one)]}

    assert kept_of(text) == {"some": ("proved", False), "both": ("proved", False)}
    assert kept_of(f"# moved\n{text}") == {"some": ("proved", True), "both": ("proved", True)}
    assert kept_of(text.replace("64", "96")) == {"some": ("proved", True), "both": ("proved", False)}
