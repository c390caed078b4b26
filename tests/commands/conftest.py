"""What tests of commands share: `run("check", "good.tgpu") → (code, stdout, stderr)`, in a folder with the files of `files/` and the specs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tinygpu import cli

HERE = Path(__file__).resolve().parent


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """No input, however odd, shows a traceback."""
    shutil.copytree(HERE / "files", tmp_path, dirs_exist_ok=True)
    (tmp_path / "specs").symlink_to(HERE.parents[1] / "specs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")

    def call(*arguments: str) -> tuple[int, str, str]:
        try:
            code = cli.main(arguments)
        except SystemExit as stop:  # argparse
            code = stop.code if isinstance(stop.code, int) else 1
        seen = capsys.readouterr()
        assert "Traceback" not in seen.out + seen.err
        return code, seen.out, seen.err

    return call
