"""Whatever is changed in a module that was built, `replay` sees it: the text is not the one that is written for its programs.

Comes in: three small modules, with other words, other lines, and more to run. Goes out: an edit that is taken. The one idea: nobody asks what an edit
does; what may run when a module is imported is none of the text's business while it is read.
"""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from tests.program import library
from tests.validate.modules import emitted, found
from tests.validate.tampered import at_import
from tinygpu import pipeline, runtime
from tinygpu.cli import main
from tinygpu.commands.explain import pages
from tinygpu.commands.modules import differs
from tinygpu.diagnostic import TinygpuError
from tinygpu.proof.summary import INTRODUCES
from tinygpu.validate.check import validate
from tinygpu.validate.cpu import findings

MODULES = (("saxpy", "saxpy_v4"), ("scan", "scan_warp"), ("softmax_cpu", "softmax_core"))
SEVEN = {  # what was taken once: old and new
    "the name that is imported, as another function": (r"\Z", "\nsaxpy = lambda *given: None\n"),
    "the name that is imported, as another function of the module": (r"\nsaxpy = saxpy_v4\n", "\nsaxpy = saxpy_v4_cpu\n"),
    "code in a default": (r"\*, out: Array = None", "*, out: Array = print('run')"),
    "code in an annotation": (r"def saxpy_v4\(a: float", "def saxpy_v4(a: print('run')"),
    "all names of a package": (r"\Z", "\nfrom numpy import *\n"),
    "nothing is returned": (r"    return (?=saxpy_v4_launch)", "    "),
    "the width of indices": (r'"limits": \(.*\)', '"limits": ()'),
    "a division by 0": (r'"where": \(\)', '"where": ("1 // 0 == 1",)'),
    "another runtime": (r"from \. import tinygpu_runtime", "from .. import tinygpu_runtime"),
}


@cache
def built(spec: str, machine: str) -> str:
    """The module of one machine that is proved."""
    found = library.machine(spec, machine)
    return pipeline.module(f"{spec}.tgpu", [pipeline.built(library.proof_of(found), found)])


def taken(text: str) -> bool:
    try:
        return differs(text, "m.py") is None
    except TinygpuError as error:
        assert all(d.code in pages() and d.code != "TG901" for d in error.diagnostics)
        return False


@pytest.mark.parametrize(("spec", "machine"), MODULES)
def test_a_module_is_taken_and_none_with_another_word_or_line(spec, machine):
    """Of kernels, tables and sentences alike."""
    text = built(spec, machine)
    assert taken(text)
    for word in [*re.finditer(r"\w+", text)][::11]:
        new = str(int(word[0]) + 1) if word[0].isdigit() else f"{word[0]}s"
        assert not taken(text[: word.start()] + new + text[word.end() :]), word
    lines = text.split("\n")
    for number in range(0, len(lines), 11):
        assert not taken("\n".join([*lines[:number], *lines[number + 1 :]])), lines[number]
    other = text.replace("as the equation is written", "as the program is written, which over the reals is what the equation says")
    assert machine != "saxpy_v4" or (other != text and not taken(other))


@pytest.mark.parametrize("name", SEVEN)
def test_what_was_taken_once_is_refused_by_replay_and_by_the_readers(name, tmp_path, capsys):
    old, new = SEVEN[name]
    text = built("saxpy", "saxpy_v4")
    edited = re.sub(old, lambda _: new, text, count=1)
    assert edited != text
    (tmp_path / "m.py").write_text(edited)
    assert main(["replay", str(tmp_path / "m.py"), "--quick"]) == 1
    said = capsys.readouterr()
    assert "TG824" in said.err and "run\n" not in said.out and "m.py:" in said.err
    plain, expected = emitted("saxpy", "saxpy_v4")  # and whoever builds with another emitter reads it too
    edited = re.sub(old, lambda _: new, plain, count=1)
    assert edited != plain and validate(edited, expected, "m.py")


@pytest.mark.parametrize("more", ["", "\nprint('run')\n"])
def test_a_runtime_that_was_edited_is_refused_by_replay(more, tmp_path, capsys):
    (tmp_path / "m.py").write_text(built("saxpy", "saxpy_v4"))
    (tmp_path / "tinygpu_runtime.py").write_text(runtime.text() + more)
    assert main(["replay", str(tmp_path / "m.py"), "--quick"]) == (1 if more else 0)
    said = capsys.readouterr()
    assert ("TG821" in said.err) == bool(more) and "run\n" not in said.out


def test_nothing_that_is_run_at_import_is_taken_by_the_readers():
    """Without the programs' own text to compare with: what could be run, or be another name's meaning, is refused by form."""
    text, expected = emitted("saxpy", "saxpy_v4")
    assert not found(ast.unparse(ast.parse(text)), expected)
    count = 0
    for what, edited in at_import(text, "saxpy_v4"):
        harmless = what.startswith("a comment")
        assert harmless != bool(found(edited, expected) or findings(edited, expected, "m.py")), what
        count += not harmless
    assert count > 60


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\0",
        "(" * 10_000,
        "-" * 100_000 + "1",
        "[" * 150 + "]" * 150,
        "x" + ".a" * 100_000,
        "x = " + "9" * 100_000,
        "'''Kernels of x, emitted by tinygpu; y'''\nx = 10 ** 10 ** 10 << 10 ** 9",
        "x = '\\ud800'\n" + "def f():\n " + "if 1:\n  " * 2,
        "\ufeffx",
        "",
        "\x0c" * 1000,
        "def f(a=exit()): '''" + INTRODUCES + "\n\nop a() -> () {}'''",
    ],
    ids=lambda text: ascii(text[:20]),
)
def test_a_text_that_is_no_module_ends_with_a_message(text, tmp_path, capsys):
    (tmp_path / "m.py").write_bytes(text.encode("utf-8", "surrogatepass"))
    assert main(["replay", str(tmp_path / "m.py"), "--quick"]) == 2
    said = capsys.readouterr()
    assert "TG9" in said.err and "TG901" not in said.err and "Traceback" not in said.err
