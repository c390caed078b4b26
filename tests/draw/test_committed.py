"""The pictures of the page are those that its commands write.

Comes in: docs/pictures.md. Goes out: failures with the picture's name; with `--update-golden` the pictures. The one idea: a picture in a document is a golden file.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.test_docs import blocks
from tinygpu.cli import main

PAGE, PICTURES = ROOT / "docs" / "pictures.md", ROOT / "docs" / "pictures"


def test_the_pictures_of_the_page_are_what_the_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "specs").symlink_to(ROOT / "specs")
    for block in blocks(PAGE):
        if name := re.match(r"# file: (\S+)\n", block.text):
            Path(name[1]).write_text(block.text.split("\n", 1)[1], encoding="utf-8")
        for line in re.findall(r"^\$ (.*)$", block.text, re.MULTILINE):
            if line.startswith("tinygpu "):
                assert main(shlex.split(line)[1:]) == 0, line
            else:
                subprocess.run(line, shell=True, check=True)
    drawn = {path.name: path.read_text(encoding="utf-8") for path in sorted(tmp_path.glob("*.svg"))}
    if request.config.getoption("--update-golden"):
        PICTURES.mkdir(exist_ok=True)
        for name_, text in drawn.items():
            (PICTURES / name_).write_text(text, encoding="utf-8")
    assert (
        set(re.findall(r"\(pictures/(\S+)\)", PAGE.read_text(encoding="utf-8")))
        == {p.name for p in PICTURES.glob("*.svg")}
        == drawn.keys()
    )
    for name_, text in drawn.items():
        assert (PICTURES / name_).read_text(encoding="utf-8") == text, f"{name_}: run this test with --update-golden"
