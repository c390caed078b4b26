"""`tinygpu build` reads what it is about to write, and writes nothing that says something else than what was proved."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.program.library import machine, proof_of
from tests.validate.modules import SPECS, edited
from tinygpu import pipeline
from tinygpu.category.term import text as text_of
from tinygpu.cli import main
from tinygpu.commands.modules import differs
from tinygpu.diagnostic import TinygpuError
from tinygpu.emit.module import surprises
from tinygpu.record import replace

RIGHT = sorted((Path(__file__).parent / "right").glob("*.tgpu"))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_what_was_proved_is_built_without_a_word(path, tmp_path, capsys):
    """Or with a note of what a CPU runs as it is, and of nothing else."""
    assert main(["build", str(path), "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert {*re.findall(r"TG\d+", said.err + said.out)} <= {"TG825"}, said.err + said.out
    module = tmp_path / f"{path.stem}.py"
    assert differs(module.read_text(), str(module)) is None, "the programs in it are others"


@pytest.mark.parametrize("path", [pytest.param(path, marks=pytest.mark.sampled, id=path.stem) for path in RIGHT])
def test_what_was_built_computes_the_equation(path, capsys):
    """At the sizes that the file asks for, where rounding has no bound at those that `run` takes: else nothing would be compared."""
    sizes = " ".join(re.findall(r"^# sizes: (.*)$", path.read_text(), re.MULTILINE)).split()
    assert main(["run", str(path), *sizes, "--device", "cpu"]) == 0, capsys.readouterr()


@pytest.fixture
def emitter(monkeypatch):
    """An emitter with one mistake: a change of its text."""
    module = pipeline.module

    def mistaken(old, new, after=""):
        monkeypatch.setattr(
            pipeline, "module", lambda title, machines, choices=(): edited(module(title, machines, choices), old, new, after)[0]
        )

    return mistaken


def built(folder, *arguments):
    return main(["build", str(SPECS / "saxpy.tgpu"), "--machine", "saxpy_scalar", "-o", str(folder), *arguments])


def test_a_module_that_is_wrong_is_not_written(tmp_path, emitter, capsys):
    emitter("ix(ix(g*256) + t)", "ix(ix(t*256) + g)")
    assert built(tmp_path) == 1 and not (tmp_path / "saxpy.py").exists()
    said = capsys.readouterr()
    assert "TG820" in said.err + said.out and "saxpy.py:" in said.err + said.out and "not built" in said.err


def test_several_processes_build_and_say_what_one_does(emitter, capsys):
    def found():
        return {(main(["build", str(SPECS / "saxpy.tgpu"), "-o", "-", "--jobs", jobs]), *capsys.readouterr()) for jobs in "12"}

    ((code, text, said),) = found()
    assert code == 0 and text.count("def saxpy_") > 3 and not said
    emitter("ix(ix(g*256) + t)", "ix(ix(t*256) + g)")
    ((code, text, said),) = found()
    assert code == 1 and not text and "TG820" in said


def test_a_module_of_which_not_all_was_shown_is_not_written(tmp_path, emitter):
    emitter("ix(ix(g*256) + t)", "ix(ix(ix(g*512) + t) - ix(g*256))")  # which fits, unless indices have 32 bits and n is large
    assert built(tmp_path) == 3 and not (tmp_path / "saxpy.py").exists()
    scalar = machine("saxpy", "saxpy_scalar")
    with pytest.raises(TinygpuError, match="TG820"):
        pipeline.build(proof_of(scalar), scalar)


def test_nobody_is_handed_a_module_that_is_wrong(emitter):
    """The API builds as the command does: what is read back and found wrong is an error, of the CUDA kernels and of those for CPUs."""
    scalar = machine("saxpy", "saxpy_scalar")
    proof = proof_of(scalar)
    assert pipeline.build(proof, scalar)
    for right, wrong, code in (
        ("ix(ix(g*256) + t)", "ix(ix(t*256) + g)", "TG820"),
        ("a * x[at(i)] + y", "a * y[at(i)] + y", "TG820"),
    ):
        emitter(right, wrong)
        with pytest.raises(TinygpuError) as caught:
            pipeline.build(proof, scalar)
        assert code in str(caught.value)


def test_a_proof_builds_no_other_machine():
    """Names, docstrings and the CPU's program come from the machine: it has to be the one that was proved, or one with its program."""
    proof = proof_of(machine("saxpy", "saxpy_scalar"))
    assert pipeline.built(proof, machine("saxpy", "saxpy_scalar"))
    with pytest.raises(TinygpuError, match="TG905 the proof is of saxpy_scalar, and says nothing of the program of saxpy_v4"):
        pipeline.build(proof, machine("saxpy", "saxpy_v4"))


def test_what_is_run_is_read_back_too(emitter, capsys):
    emitter("a * x[at(i)] + y", "a * y[at(i)] + y")
    assert main(["run", str(SPECS / "saxpy.tgpu")]) != 0
    said = capsys.readouterr()
    assert "TG820" in said.err and "agrees" not in said.out


def test_a_scalar_says_which_kernel_is_taken():
    """The 32-bit kernel is taken where the index fits with this scalar; a launcher that does not ask is refused."""
    later = pipeline.load(RIGHT[0].with_name("a_scalar_as_an_index.tgpu")).later
    proof = proof_of(later)
    ready = pipeline.built(proof, later)
    text = pipeline.module("later", [ready])
    asked = '"ceil(N / 128)*128 + k - 1", '
    assert asked in text.partition('"limits"')[2].partition("\n")[0] and pipeline.validate(text, [ready]) == ()
    first, last = text.split('"limits"')
    less = replace(ready, limits=tuple(t for t in ready.limits if text_of(t) not in asked))
    assert [d.code for d in pipeline.validate(f'{first}"limits"{last.replace(asked, "", 1)}', [ready])] == ["TG822"]
    assert [d.code for d in pipeline.validate(pipeline.module("later", [less]), [less])] == ["TG820"]
    x = np.arange(5, dtype=np.float32)
    call = pipeline.build(proof, later)
    assert call(x, 2).tolist() == [2, 3, 4, 0, 0] and call(x, 2**62).tolist() == [0] * 5


def test_nobody_divides_by_a_size_of_0():
    guarded, promised = pipeline.load(SPECS.parent / "tests" / "validate" / "right" / "divided_by_a_size.tgpu").machines
    x = np.arange(5, dtype=np.float32)
    spread, every = (pipeline.build(proof_of(one), one) for one in (guarded, promised))
    assert spread(x, x[:2]).tolist() == [1, 1, 3, 3, 5] and spread(x, x[:0]).tolist() == [0] * 5
    assert every(x, x[1:3]).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match=r"TG808 .* only where S >= 1"):
        every(x, x[:0])


LAID_OUT = [SPECS.parent / "tests" / folder / "right" / f"{name}.tgpu" for folder, name in (
    ("obligations", "steps_of_launches"), ("validate", "as_far_as_what_is_left"))]  # fmt: skip
LAID_OUT += [SPECS / "level1" / f"{name}.tgpu" for name in ("attention", "convolutions", "pooling", "convolution_channels")]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", LAID_OUT, ids=lambda path: path.stem)
def test_what_a_cpu_runs_is_laid_out_for_it(path):
    for one in pipeline.load(path).machines:
        program = next(pipeline.singles(one), None) or pipeline.program(one)
        assert pipeline.on_core(program) != program, f"no layout of {one.title} is proved"


@pytest.mark.parametrize(("spec", "title", "said"), [
    ("saxpy", "saxpy_v4", ()), ("matmul_cpu", "matmul_core", ()), ("softmax", "softmax_warp", ()),
    ("histogram", "histogram_atomic", ("on a CPU histogram_atomic runs block by block",)),
    ("fft", "fft8_threads", ("on a CPU fft8_threads runs in the order of its program",)),
])  # fmt: skip
def test_what_a_cpu_runs_as_it_is_is_said(spec, title, said):
    machine = getattr(pipeline.load(SPECS / f"{spec}.tgpu"), title)
    found = surprises(pipeline.built(proof_of(machine), machine))
    assert [(d.code, d.verdict, d.title.partition(",")[0].partition(" and ")[0]) for d in found] == [
        ("TG825", "note", one) for one in said
    ]
