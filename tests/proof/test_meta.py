"""The argument of `docs/trust.md` that every schedule gives what the run in step gives, checked by Coq where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent / "proofs" / "meta" / "AnySchedule.v"


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed (Debian's package coq)")
def test_every_schedule_gives_what_the_run_in_step_gives(tmp_path):
    shutil.copy(SOURCE, tmp_path)
    run = subprocess.run(["coqc", SOURCE.name], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines() == ["Closed under the global context"] * 2  # no axiom, in the theorem and in its example


def test_nothing_is_admitted():
    text = SOURCE.read_text(encoding="utf-8")
    assert not any(word in text for word in ("Admitted", "admit.", "Axiom", "Parameter"))
    assert "Theorem any_schedule" in text
