"""Programs with carriers, and what they are unpacked to: the same results, every component evaluated before any is written.

Comes in: hand-written programs. Goes out: nothing, or a difference. The one idea: the simulator runs what was unpacked, and the
equation's own value knows nothing of it.
"""

from __future__ import annotations

import numpy as np

from tests.program.library import machines
from tinygpu.program.derive import derive
from tinygpu.program.reference import reference
from tinygpu.program.render import render, render_machine
from tinygpu.program.simulate import simulate
from tinygpu.program.step import Assign, Local, Program, steps
from tinygpu.program.unpack import unpack
from tinygpu.proof.check import check
from tinygpu.proof.kernel import Proof

TEXT = """
monoid lse(m: f32, s: f32) where s >= 0 {
  unit    (-inf, 0)
  lift    (x) = (x, 1)
  combine (a, b) = (max(a.m, b.m), (a.s if a.m >= b.m else a.s*exp(a.m - b.m)) + (b.s if b.m >= a.m else b.s*exp(b.m - a.m)))
}
op f(x: f32[R, N]) -> (y: f32[R], z: f32[R]) where N >= 1 {
  (y[r], z[r]) = fold lse[j] x[r, j]
}
machine rows : f {
  work grid = (r: R), block = (t: 32)
  program {
    local acc: lse[]
    shared part: lse[32]
    acc[] = lse(-inf, 0)
    for c < ceil(N / 32) { acc[] lse= lse(x[r, c*32 + t], 1) if c*32 + t < N }
    acc[] = lse(acc[], shuffle_xor(acc[], 16))
    part[t] = acc[]
    barrier
    for d in (8, 4, 2, 1) {
      if t < d { part[t] lse= part[t + d] }
      barrier
    }
    if t == 0 {
      y[r] = part[0].m
      z[r] = part[0].s
    }
  }
}
op swap(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] - 1 }
machine swapped : swap {
  work grid = (i: n), block = ()
  program {
    local acc: welford_f32[]
    acc[] = welford_f32(1, x[i], 2)
    acc[] = welford_f32(acc[].squares, acc[].n, acc[].mean) if acc[].n == 1
    y[i] = acc[].squares - acc[].mean
  }
}
"""


def program(name: str) -> Program:
    return derive(machines(TEXT)[name])


def test_the_text_of_a_program_reads_back() -> None:
    for name in ("rows", "swapped"):
        one = program(name)
        declarations = TEXT.split("machine rows")[0] + "op swap(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] - 1 }\n"
        again = derive(next(iter(machines(declarations + render_machine(one)).values())))
        assert again.launches == one.launches, render(one)


def test_unpacked_programs_hold_numbers_and_give_the_same() -> None:
    one = program("rows")
    plain = unpack(one)
    assert unpack(plain) is plain and {s.dtype for s in steps(plain.launches[0].body) if isinstance(s, Local)} == {"f32"}
    x = np.random.default_rng(0).normal(size=(3, 77)).astype(np.float32)
    for order in (None, 1):
        outcome = simulate(one, {"R": 3, "N": 77}, {"x": x}, order=order)
        want = reference(one.op, {"R": 3, "N": 77}, {"x": x})
        assert not outcome.faults
        for name, values in want.items():
            np.testing.assert_allclose(outcome.outputs[name], values, rtol=1e-5)
    assert isinstance(check(one), Proof)


def test_every_component_is_evaluated_before_any_is_written() -> None:
    one = program("swapped")
    outcome = simulate(one, {"n": 2}, {"x": np.array([5.0, 6.0], np.float32)})
    assert outcome.outputs["y"].tolist() == [4.0, 5.0]
    writes = [s.target for s in steps(unpack(one).launches[0].body) if isinstance(s, Assign)]
    assert writes.index("acc_squares", 4) > writes.index("asked")
