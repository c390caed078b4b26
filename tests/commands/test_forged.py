"""Modules that follow from their programs, every character of them, and whose programs are not those that they seem to be of.

Comes in: programs with names for them. Goes out: a module that `replay` takes though its launcher checks less than its kernels need, or
though it is named after something else. The one idea: whoever forges has this version's own emitter, so the forgery is written with it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tinygpu import cli, pipeline
from tinygpu.commands import modules
from tinygpu.commands.subjects import launcher
from tinygpu.obligations.width import cpu_limits
from tinygpu.program.step import Program
from tinygpu.proof.summary import INTRODUCES
from tinygpu.validate.cpu import findings
from tinygpu.validate.launcher import Expected

FILES = Path(__file__).parent / "forged"
COPY, *MORE, OTHER = ((FILES / f"{name}.tgpu").read_text(encoding="utf-8") for name in ("copy", "alone", "some", "other"))
ALONE, SOME = (f"\n{text}" for text in MORE)  # a second machine of a file
M, D = ("m", (), "cp"), ("d", (), "dec")


def forged(machines: tuple[modules.Choice, ...], *texts: str) -> str:
    """The module that is written for programs under these names, where nobody looks at either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Program, "serves", lambda *_: True)
        patch.setattr(modules, "misnamed", lambda *_: ())
        modules.with_docstrings.cache_clear()
        made = modules.with_docstrings("m.tgpu", machines, tuple(f"{INTRODUCES}\n\n{one}" for one in texts))
        text = pipeline.module("m.tgpu", made)
        assert modules.rewritten(text, "m.py") == text
    modules.with_docstrings.cache_clear()
    return text


def replayed(text: str, capsys: pytest.CaptureFixture[str], folder: Path) -> tuple[int, str]:
    """`tinygpu replay --strict` of a text."""
    (folder / "m.py").write_text(text, encoding="utf-8")
    code = cli.main(["replay", str(folder / "m.py"), "--quick", "--strict", "--jobs", "1"])
    seen = capsys.readouterr()
    assert "TG901" not in seen.err and "Traceback" not in seen.err
    return code, seen.err


def test_the_second_program_needs_what_the_launcher_does_not_check(tmp_path, capsys):
    code, said = replayed(forged((M,), COPY + SOME), capsys, tmp_path)
    assert code == 2 and "TG910 the program of m" in said and "has a precondition that m does not check" in said
    assert replayed(forged((M,), COPY + ALONE), capsys, tmp_path) == (0, "")


def test_the_kernel_of_a_cpu_is_proved_under_what_the_launcher_checks(monkeypatch):
    text = forged((M,), COPY + SOME)
    monkeypatch.setattr(Program, "serves", lambda *_: True)
    said = launcher("m.py", "m", f"{INTRODUCES}\n\n{COPY + SOME}")
    assert said.alone is not None
    core = pipeline.on_core(said.alone)
    assert not findings(text, [Expected("m", said.alone, core, (), cpu_limits(core))])
    (found,) = findings(text, [Expected("m", said.program, core, (), cpu_limits(core))])
    assert found.verdict == "error" and found.labels[0].span.line > 1


@pytest.mark.parametrize("second", [ALONE + SOME.replace("m_1", "m_2"), ALONE.replace("m_1 : cp", "m_1 : dec")], ids=["two", "op"])
def test_the_second_program_is_one_and_of_the_same_op(second, tmp_path, capsys):
    text = forged((M,), COPY + ALONE)
    op = OTHER.partition("machine")[0] if "dec" in second else ""
    given = (op + COPY + ALONE, op + COPY + second)
    old, new = ("".join(f"    {line}\n" if line else "\n" for line in one.split("\n")) for one in (COPY + ALONE, given[1]))
    assert old.strip() in text
    code, said = replayed(text.replace(old.strip(), new.strip()), capsys, tmp_path)
    assert code == 2 and "TG910" in said and ("of another op" if op else "not 3") in said


@pytest.mark.parametrize(
    ("machines", "texts"),
    [
        ((D, M), (COPY, OTHER)),
        ((M, ("d", (), "cp")), (COPY, OTHER)),
        (((("m"), (("T", "f64"),), "cp[f64]"),), (COPY,)),
        (((("m"), (("T", "f64"),), "cp[f64]"),), (COPY.replace("machine m ", "machine m_T_f64 "),)),
        (((("m"), (("T", "f64"),), "cp"),), (COPY.replace("machine m ", "machine m_T_f64 "),)),
        (((("m"), (("op", "dec"),), "cp"),), (COPY.replace("machine m ", "machine m_op_dec "),)),
    ],
    ids=["exchanged", "of another op", "a choice", "a choice that its program bears", "a choice of no family", "a choice of ops"],
)
def test_what_a_module_names_is_what_its_programs_are(machines, texts, tmp_path, capsys):
    code, said = replayed(forged(machines, *texts), capsys, tmp_path)
    assert code == 1 and "TG824" in said and "names its programs otherwise" in said


def test_a_machine_whose_name_is_no_name(tmp_path, capsys):
    text = forged((M,), COPY).replace("\n  m : cp\n", "\n  ² : cp\n")
    code, said = replayed(text, capsys, tmp_path)
    assert code == 1 and "TG824" in said


@pytest.mark.parametrize("program", ["", "op a() -> () {}", "\n\n", "op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }"])
@pytest.mark.parametrize("command", ["replay", "audit"])
def test_a_launcher_of_no_program(program, command, tmp_path, capsys):
    (tmp_path / "m.py").write_text(f'def f():\n    """{INTRODUCES}\n\n{program}"""\n', encoding="utf-8")
    assert cli.main([command, str(tmp_path / "m.py")]) == 2
    said = capsys.readouterr().err
    assert "TG910" in said and "TG901" not in said
