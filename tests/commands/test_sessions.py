"""The command line as users meet it: `sessions/*.txt`, what is typed and what is said.

    # a title
    $ tinygpu check good.tgpu          in a folder with the files of `files/`; other commands are of the shell
    proved   scale_m                   pieces of lines that are printed, in this order, errors behind; none: nothing is printed; `…`: anything
    [1]                                the exit code, where it is not 0

Comes in: sessions. Goes out: a difference. The one idea: what a command says is read as it is said; no input, however odd, shows a traceback.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tinygpu.recheck import solve

Run = Callable[..., tuple[int, str, str]]
FILES = sorted((Path(__file__).parent / "sessions").glob("*.txt"))
TITLED = [(f"{path.stem}: {title.strip()}", body) for path in FILES for title, _, body in
          (part.partition("\n") for part in re.split(r"^# ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:])]  # fmt: skip


def called(command: str, run: Run) -> tuple[int, str]:
    """The exit code of a command, and what it prints."""
    name, *words = shlex.split(command)
    if name == "tinygpu":
        code, out, err = run(*words)
        return code, out + err
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def agrees(shown: list[str], got: str) -> bool:
    """Whether what is shown is what was printed."""
    printed = iter(got.split("\n"))
    pieces = [re.escape(line).replace("…", ".*") for line in shown]
    return all(any(re.search(piece, line) for line in printed) for piece in pieces) if shown else not got


@pytest.mark.parametrize(("title", "body"), TITLED, ids=[title for title, _ in TITLED])
def test_what_is_said(title: str, body: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    if "without cvc5" in title:
        monkeypatch.setattr(solve, "cvc5_module", lambda: None)
        solve.ask_cvc5.cache_clear()
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, *shown = part.strip("\n").split("\n")
        wanted = int(shown.pop()[1]) if shown and re.fullmatch(r"\[\d\]", shown[-1]) else 0
        code, got = called(command, run)
        assert code == wanted and agrees(shown, got), f"$ {command}\n{shown} [{wanted}]\nprinted, with code {code}:\n{got}"
    if "without cvc5" in title:
        solve.ask_cvc5.cache_clear()
