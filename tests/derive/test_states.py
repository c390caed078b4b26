"""Derived machines of states: each element in a thread's own cell, turn by turn; and what is refused.

Comes in: ops with states, and machines. Goes out: proofs, runs that agree with the equation, and messages.
"""

from __future__ import annotations

import pytest

from tests.program.library import agrees, edges
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.proof.kernel import Proof, prove

PAIR = """op pair(x: f32[n], V: f32[n, D], w: f32[T, D]) -> (y: f32[n], z: f32[n]) {
  h[0, i]     = x[i]
  c[0, i]     = 0.5*x[i]
  h[t + 1, i] = 0.5*h[t, i] + 0.25*c[t, i] + sum[d] V[i, d]*w[t, d]
  c[t + 1, i] = c[t, i] - 0.125*h[t + 1, i]
  y[i]        = h[T, i] + c[T, i]
  z[i]        = c[T, i]
}
"""
MACHINES = {
    "threads": "work grid = (g), block = (b: 64)\n compute i = (g, b)\n time t, d",
    "registers": "work grid = (g), block = (b: 32)\n compute i = (g, b, r: 2)\n time t, d\n register r",
    "walk": "work grid = (g: 2), block = (b: 32)\n compute i = (s, g, b)\n time s, t, d",
}


AT_EACH = """op each(x: f32[n], V: f32[n, D], w: f32[T, D], q: f32[T, 3]) -> (y: f32[T, n], z: f32[n], o: f32[T, n], e: f32[T, n]) {
  h[0, i]        = x[i]
  c[0, i]        = 0.5*x[i]
  h[t + 1, i]    = 0.5*h[t, i] + 0.25*c[t, i] + sum[d] V[i, d]*w[t, d]
  c[t + 1, i]    = c[t, i] - 0.125*h[t + 1, i]
  y[t, i]        = h[t + 1, i] + 2*c[t + 1, i]
  z[i]           = c[T, i]
  u[0, i, k < 3] = x[i] + f32(k)
  u[t + 1, i, k] = u[t, i, k] * q[t, k] + x[i]
  o[t, i]        = sum[k] u[t + 1, i, k] * q[t, k]
  e[t, i]        = h[t, i] - c[t + 1, i]
}
"""


@pytest.mark.parametrize("each", ["", "register k"])
@pytest.mark.parametrize("name", MACHINES)
def test_a_state_of_elements_by_themselves_is_derived(name: str, each: str) -> None:
    """At the end, or at each time, before it or after; and where a fold reads some of them, a thread has all of these in registers."""
    text, op = (AT_EACH, "each") if each else (PAIR, "pair")
    (machine,) = pipeline.load_text(text + f"machine m : {op} {{\n {MACHINES[name]}\n {each}\n}}").machines
    program = pipeline.program(machine)
    assert isinstance(prove(program), Proof)
    for seed, sizes in enumerate(edges(program, 2)):
        assert not agrees(program, sizes, seed)


@pytest.mark.parametrize(
    "step",
    [
        "u[t + 1, i] = u[t, i - 1 | 0]\n y[i] = u[T, i] + sum[s] a[s]",
        "u[t + 1, i] = 2*u[t, i]\n y[i] = u[T, i] + sum[s < T] u[s, i]",
        "u[t + 1, i] = 2*u[t, i]\n y[i] = u[T, i] + sum[s < T] u[s + 1, i]",
    ],
)
def test_what_reads_neighbours_or_many_times_is_refused(step: str) -> None:
    text = f"op f(x: f32[n], a: f32[T]) -> (y: f32[n]) {{\n u[0, i] = x[i]*a[0 | 0]\n {step}\n}}"
    with pytest.raises(TinygpuError) as caught:
        for machine in pipeline.load_text(
            text + "\nmachine m : f {\n work grid = (g), block = (b: 32)\n compute i = (g, b)\n time t, s\n}"
        ).machines:
            pipeline.program(machine)
    assert "TG109" in {d.code for d in caught.value.diagnostics}
