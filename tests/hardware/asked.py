"""What is asked of every program with instructions, whatever they are: a wrong one is refuted, and a text with one thing printed otherwise is not taken.

Comes in: a machine, and what is wrong. Goes out: nothing, or the assertion that fails. The one idea: files of tests differ in what they break, not in what has to be said of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu import pipeline
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof, Refutation


def is_refuted(machine: Machine, code: str) -> None:
    """With that code, or what begins so, and a case that was run."""
    verdict = pipeline.check(machine)
    assert isinstance(verdict, Refutation), verdict
    assert verdict.diagnostic.code.startswith(code), verdict.diagnostic
    assert verdict.diagnostic.case is not None


def no_other_text_is_taken(machine: Machine, misprinted: Mapping[str, tuple[str, str]]) -> str:
    """The module of a machine, which is read back, as none is that says something else in one place."""
    proof = pipeline.check(machine)
    assert isinstance(proof, Proof)
    built = [pipeline.built(proof, machine)]
    text = pipeline.module("a_spec.tgpu", built)
    assert pipeline.validate(text, built) == ()
    for name, (old, new) in misprinted.items():
        assert old in text, (name, text)
        assert pipeline.validate(text.replace(old, new, 1), built), name
    return text
