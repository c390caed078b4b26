"""Gradients in a module: which launcher gives whose, told to torch, proved again from the text alone; and edits of it.

Comes in: ops with their gradients, for several dtypes. Goes out: the table of the module, and what is said of edits. The one idea: a pair in the table is a promise to who trains with it, so no edit of it, or of what
is stated, goes by.
"""

from __future__ import annotations

from functools import cache

import pytest

from tinygpu import pipeline
from tinygpu.algebra.verdict import judged
from tinygpu.commands.modules import differs, rewritten
from tinygpu.emit.joined import Joined
from tinygpu.emit.module import Built
from tinygpu.run.load import load

TEXT = """op scaled[T in {f32, f64}](x: T[n], w: T[n]) -> (y: T[n]) { y[i] = x[i] * w[i] }
op scaled_grad[T in {f32, f64}](x: T[n], w: T[n], dy: T[n]) -> (dx: T[n], dw: T[n]) {
  dx[i] = w[i] * dy[i]
  dw[i] = x[i] * dy[i]
}
op twice(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] + x[i] }
gradient of scaled is scaled_grad
machine each : scaled, scaled_grad, twice {
  work grid = (g), block = (t: 64)
  compute i = (g, t)
}
"""
PAIRS = {"each_scaled_f32": ("each_scaled_grad_f32",), "each_scaled_f64": ("each_scaled_grad_f64",)}


@cache
def parts() -> tuple[list[Built], list[Joined]]:
    spec = pipeline.load_text(TEXT).spec
    proofs = [pipeline.check(machine) for machine in spec.machines]
    built = [pipeline.built(proof, machine) for proof, machine in zip(proofs, spec.machines, strict=True)]
    return built, [judged(one) for one in spec.gradients]


def test_launchers_are_paired_by_dtype() -> None:
    built, proved = parts()
    text = pipeline.module("scaled.tgpu", built, proved)
    module = load(text, "scaled")
    assert module.gradients == PAIRS and "gradient of scaled is scaled_grad" in (module.__doc__ or "")
    assert "gradients" not in module.__all__ and pipeline.validate(text, built, "", proved) == ()
    assert not hasattr(load(pipeline.module("scaled.tgpu", built), "alone"), "gradients")


def test_a_module_is_written_again_from_its_text() -> None:
    text = pipeline.module("scaled.tgpu", *parts())
    assert rewritten(text, "scaled.py") == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"each_scaled_f32": ("each_scaled_grad_f32",)', '"each_scaled_f32": ("each_scaled_grad_f64",)'),
        ('    "each_scaled_f64": ("each_scaled_grad_f64",),\n', ""),
        ("gradient of scaled is scaled_grad\n", "gradient of twice is scaled_grad\n"),
        ("gradient of scaled is scaled_grad\n", ""),
    ],
    ids=["another dtype", "one less", "of another op", "not stated"],
)
def test_an_edit_is_seen(old: str, new: str) -> None:
    built, proved = parts()
    text = pipeline.module("scaled.tgpu", built, proved)
    assert text.count(old) == 1
    edited = text.replace(old, new)
    assert differs(edited, "scaled.py") is not None
    if "gradients = {" in text and old in text.partition("gradients = {")[2]:
        assert [d.code for d in pipeline.validate(edited, built, "", proved)] == ["TG821"]


def test_what_is_not_proved_is_not_paired() -> None:
    built, _ = parts()
    spec = pipeline.load_text(TEXT.replace("dx[i] = w[i] * dy[i]", "dx[i] = w[i] + dy[i]")).spec
    with pytest.raises(TypeError, match="Diagnostic is no proof"):
        pipeline.module("scaled.tgpu", built, [judged(one) for one in spec.gradients])
