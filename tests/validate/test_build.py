"""`tinygpu build` reads what it is about to write, and writes nothing that says something else than what was proved."""

from __future__ import annotations

import pytest

from tests.validate.modules import SPECS, edited
from tinygpu import pipeline
from tinygpu.cli import main


@pytest.fixture
def emitter(monkeypatch):
    """An emitter with one mistake: a change of its text."""
    module = pipeline.module

    def mistaken(old, new, after=""):
        monkeypatch.setattr(pipeline, "module", lambda title, machines: edited(module(title, machines), old, new, after)[0])

    return mistaken


def built(folder, *arguments):
    return main(["build", str(SPECS / "saxpy.tgpu"), "--machine", "saxpy_scalar", "-o", str(folder), *arguments])


def test_a_module_that_is_right_is_written(tmp_path):
    assert built(tmp_path) == 0 and (tmp_path / "saxpy.py").exists()


def test_a_module_that_is_wrong_is_not_written(tmp_path, emitter, capsys):
    emitter("ix(ix(g*256) + t)", "ix(ix(t*256) + g)")
    assert built(tmp_path) == 1 and not (tmp_path / "saxpy.py").exists()
    said = capsys.readouterr()
    assert "TG820" in said.err + said.out and "saxpy.py:" in said.err + said.out and "not built" in said.err


def test_a_module_of_which_not_all_was_shown_is_written_and_is_no_success(tmp_path, emitter):
    emitter("-(-n // 256)*256 - 1 <= 2147483647", "0 <= 2147483647")
    text = (tmp_path / "saxpy.py") if built(tmp_path) == 3 else None
    assert text is not None and text.exists()
