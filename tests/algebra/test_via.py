"""Machines that go by a theorem: they compute the other side, and are called by the op that they serve.

Comes in: small theorems. Goes out: verdicts, texts, kernels that are called. The one idea: whoever has the kernel has the theorem, in its text.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.library import loaded
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import Proof, Refutation, Unknown, load_text
from tinygpu.proof.certificate import program_text

LIBRARY = loaded("theorems")
PAIR = """op sums[T in {f32, f64}](x: T[n, k], s: T) -> (y: T[n]) where k >= 2 {
  y[i] = sum[j] x[i, j] * s
}

op scaled[T in {f32, f64}](x: T[n, k], s: T) -> (y: T[n]) where k >= 1 {
  u[i] = sum[j] x[i, j]
  y[i] = u[i] * s
}

theorem scale : sums == scaled where n >= 1

machine rows : SERVED via scale {
  work    grid = (g), block = (t: 128)
  compute i = (g, t)
  time    j
}
"""


def test_each_theorem_of_the_library_has_a_machine() -> None:
    served = {m.op.via.name for m in LIBRARY.machines if m.op.via}
    assert served == {t.name for t in LIBRARY.spec.theorems}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [m.name for m in LIBRARY.machines])
def test_the_library_is_proved(name: str) -> None:
    assert isinstance(pipeline.check(LIBRARY.spec.machine(name)), Proof)


@pytest.mark.parametrize(
    ("served", "where"), [("sums", ("k >= 2", "n >= 1", "k >= 1")), ("scaled", ("k >= 1", "n >= 1", "k >= 2"))]
)
def test_a_machine_wants_what_both_sides_and_the_theorem_want(served: str, where: tuple[str, ...]) -> None:
    machines = load_text(PAIR.replace("SERVED", served).replace("where k >= 1 {", "where k >= 2 {")).machines
    assert [m.heading for m in machines] == [f"rows[T={t}] : {served}[{t}] via scale" for t in ("f32", "f64")]
    assert all(isinstance(pipeline.check(m), Proof) for m in machines)


def test_the_other_side_may_want_no_more() -> None:
    assert isinstance(pipeline.check(load_text(PAIR.replace("SERVED", "sums")).machines[0]), Proof)
    found = pipeline.check(load_text(PAIR.replace("SERVED", "scaled")).machines[0])
    assert isinstance(found, Unknown) and "TG565" in {d.code for d in found.diagnostics}


PROMISED = """op by_label(x: f32[R, N], label: i32[R]) -> (l: f32[R]) where N >= 1, all[r] (0 <= label[r] and label[r] < N) {
  l[r] = 2 * x[r, label[r]]
}

op by_row(x: f32[R, N], label: i32[R]) -> (l: f32[R]) where N >= 1 {
  l[r] = sum[j] (2 if j == label[r] else 0) * x[r, j]
}

theorem hot : by_label == by_row

machine rows : SERVED via hot {
  work    grid = (g), block = (t: 128)
  compute r = (g, t)
}
"""
OVER_ROWS = PROMISED.replace("r = (g, t)", "r = (g, t)\n  time    j")


def test_what_the_served_op_promises_is_promised_of_the_data() -> None:
    """The machine itself needs no promise, and the theorem does."""
    spec = load_text(OVER_ROWS.replace("SERVED", "by_label"))
    (machine,), (theorem,) = spec.machines, spec.spec.theorems
    assert machine.op.promises == theorem.left.promises != () == theorem.right.promises and "assuming all" in theorem.sizes
    proof = pipeline.check(machine)
    assert isinstance(proof, Proof) and pipeline.certificate(spec, machine, proof).promises
    call = pipeline.build(proof, machine)
    x, label = np.ones((2, 3), np.float32), np.array([1, 7], np.int32)
    with pytest.raises(ValueError, match="label"):
        call(x, label, check_data=True)


def test_the_other_side_may_promise_no_more() -> None:
    found = pipeline.check(load_text(PROMISED.replace("SERVED", "by_row")).machines[0])
    assert isinstance(found, Unknown) and {d.code for d in found.diagnostics} == {"TG565"}


def test_an_op_may_be_both_sides() -> None:
    text = OVER_ROWS.replace("by_label == by_row", "by_row == by_row").replace("SERVED", "by_row")
    program = pipeline.program(load_text(text).machines[0])
    assert program_text(pipeline.program(load_text(program_text(program)).machines[0])) == program_text(program)


def test_it_is_called_by_the_op_that_it_serves() -> None:
    machine = load_text(PAIR.replace("SERVED", "sums")).machines[0]
    proof = pipeline.check(machine)
    assert isinstance(proof, Proof)
    call = pipeline.build(proof, machine)
    x = np.random.default_rng(0).random((5, 3), np.float32)
    np.testing.assert_allclose(call(x, np.float32(3)), 3 * x.sum(axis=1), rtol=1e-6)
    with pytest.raises(ValueError, match="k >= 2"):
        call(x[:, :1].copy(), np.float32(3))
    text = pipeline.module("pair", [pipeline.built(proof, machine)])
    assert "sums = rows" in text and "By the theorem scale (sums == scaled) computed as" in text


def test_its_text_has_the_theorem() -> None:
    for machine in (LIBRARY.spec.machine("attention_tiles"), LIBRARY.spec.machine("softmax_online")):
        program = pipeline.program(machine)
        text = program_text(program)
        (again,) = load_text(text).machines
        assert program_text(pipeline.program(again)) == text
        assert (
            machine.op.via is not None
            and again.op.via is not None
            and [t.name for t in again.op.via.lemmas] == [t.name for t in machine.op.via.lemmas] != []
        )


def test_a_text_with_a_false_theorem_gives_no_kernel() -> None:
    machine = load_text(PAIR.replace("SERVED", "sums").replace("u[i] * s", "u[i] + s")).machines[0]
    program = pipeline.program(machine)
    found = pipeline.verdict(program)
    assert isinstance(found, Refutation) and found.diagnostic.code == "TG565"
    with pytest.raises(TinygpuError, match="not proved"):
        pipeline.rebuilt(machine, program)


def test_numbers_are_those_of_the_reals() -> None:
    machine = load_text(PAIR.replace("SERVED", "sums")).machines[0]
    proof = pipeline.check(machine)
    assert isinstance(proof, Proof)
    assert pipeline.certificate(load_text(PAIR.replace("SERVED", "sums")), machine, proof).numerics.outputs == {
        "y": "over the reals"
    }
