"""What is too large, too long or too many is a message, soon.

Comes in: arguments and files that nobody writes. Goes out: a diagnostic that says what is too much. The one idea: a limit is asked before the
work, and what an operating system refuses is an error of the user's.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.program.library import proof_of
from tinygpu import cli, pipeline
from tinygpu.commands import together
from tinygpu.syntax import files
from tinygpu.syntax.files import LARGEST

VECTOR = """op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : f {
  work grid = (g), block = (t: 32)
  compute i = (g, t, v: LANES)
  vector v
}
"""
LONG = "a" * 5000


@pytest.mark.parametrize("path", [LONG, f"{LONG}/{LONG}.py"], ids=["name", "path"])
@pytest.mark.parametrize("command", ["check", "show", "replay", "audit", "build", "fmt"])
def test_a_path_that_is_too_long_is_a_message(run, command, path):
    code, _, said = run(command, path)
    assert code == 2 and "TG902 there is no file aaaaaaaa" in said and len(said) < 2000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("replay", "good.tgpu", "--quick", "--jobs", "1", "--proofs", LONG), ""),
        (("new", LONG[:300]), "TG904"),
        (("new", LONG[:300], "-o", LONG), "TG904"),
        (("run", "good.tgpu", f"n={'9' * 5000}", "--device", "cpu"), "TG905 n=99999999"),
        (("show", "good.tgpu", "--cost", f"n={'9' * 5000}"), "TG905 n=99999999"),
    ],
    ids=range(5),
)
def test_what_is_too_long_is_a_message(run, arguments, says):
    code, _, said = run(*arguments)
    assert code == (2 if says else 0) and says in said and "TG901" not in said and len(said) < 2000


def test_what_does_not_end_is_not_read_to_its_end(monkeypatch, capsys):
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            assert 0 <= size <= LARGEST + 1
            return b" " * size

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Endless()))
    assert cli.main(["check", "-"]) == 2
    assert f"TG903 - cannot be read: it has more than {LARGEST} bytes" in capsys.readouterr().err


def test_a_file_that_is_too_large(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files, "LARGEST", 1000)
    (tmp_path / "a.tgpu").write_text(" " * 1001)
    assert cli.main(["check", str(tmp_path / "a.tgpu")]) == 2
    assert "it has more than 1000 bytes" in capsys.readouterr().err


def test_processes_are_as_many_as_asked_for_but_not_thousands(monkeypatch):
    monkeypatch.setattr(together, "cores", lambda: 2)
    assert [together.processes(n) for n in (0, 1, 5, 10**6)] == [2, 1, 5, 64]
    monkeypatch.setattr(together, "cores", lambda: 100)
    assert [together.processes(n) for n in (0, 10**6)] == [100, 100]


@pytest.mark.parametrize("lanes", [128, 129, 256, 1 << 20])
def test_a_vector_that_no_thread_can_hold_is_a_loop(lanes):
    ready = [pipeline.built(proof_of(VECTOR.replace("LANES", str(lanes))))]
    text, found = pipeline.read_back("m.tgpu", ready)
    assert not found and ("load128(" in text) == (lanes == 128)


@pytest.mark.parametrize(("command", "said"), [("check", "TG515"), ("build", "TG515"), ("audit", "TG911")])
def test_what_takes_longer_than_it_may_is_unknown(run, command, said):
    more = ("-o", "kernels", "--jobs", "1") if command == "build" else ("--jobs", "1")
    code, out, err = run(command, "good.tgpu", "--time", "0.000001", *more)
    assert code == 3 and said in out + err and not Path("kernels").exists()
    code, out, err = run(command, "good.tgpu", "--time", "0")
    assert code == 2 and "invalid seconds" in err
