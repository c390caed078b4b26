"""Programs with carriers, and what they are unpacked to: the same results, every component evaluated before any is written.

Comes in: hand-written programs. Goes out: nothing, or a difference. The one idea: the simulator runs what was unpacked, and the
equation's own value knows nothing of it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.program.library import SPECS, machines
from tinygpu.category.term import reads
from tinygpu.derive.derive import derive
from tinygpu.derive.unpack import Unpacker, components_of, unpack
from tinygpu.program.step import Array, Assign, Program, steps
from tinygpu.proof.check import Refutation, check
from tinygpu.proof.kernel import Proof
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate

TEXT = (Path(__file__).parent / "carriers.tgpu").read_text(encoding="utf-8")
PAIR = """
monoid pair(k: i32, p: f32) {
  unit    (2147483647, 0)
  lift    (a, b) = (a, b)
  combine (a, b) = (min(a.k, b.k), a.p + b.p)
}
op same(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
"""
MOVED = """machine m : same {
  program {
    launch (grid = (g: ceil(n / 32)), block = (t: 32)) {
      shared s: pair[2, 32]
      s[0, t] = pair(0, 5)
      s[1, t] = pair(0, 7)
      STEP
      y[g*32 + t] = x[g*32 + t] + (s[0, t].p + 1000*s[1, t].p - LEFT) if g*32 + t < n
    }
  }
}
"""
STEPS = {  # an assignment whose place is said by what it overwrites, and p of both cells afterwards
    "s[s[0, t].k, t] = pair(1, 9)": 7009,
    "s[s[0, t].k, t] = pair(1, s[s[0, t].k + 1, t].p)": 7007,
    "s[s[s[0, t].k, t].k, t] pair= pair(-1, s[1, t].p)": 7012,
    "s[s[0, t].k, t] = pair(s[0, t].k + 1, 9) if s[s[0, t].k, t].k == 0": 7009,
    "s[1 if s[0, t].p > 4 else 0, t] = s[0, t]": 5005,
    "if s[0, t].k == 0 { s[s[0, t].k, t] = pair(1, 3) }": 7003,
}


@pytest.mark.parametrize("step", STEPS)
def test_the_place_is_known_before_anything_is_written(step: str) -> None:
    (one,) = (derive(m) for m in machines(PAIR + MOVED.replace("STEP", step).replace("LEFT", str(STEPS[step]))).values())
    x = np.arange(40, dtype=np.float32)
    outcome = simulate(one, {"n": 40}, {"x": x})
    assert not outcome.faults and outcome.outputs["y"].tolist() == x.tolist()
    assert not isinstance(check(one), Refutation)
    assert plain(one) == 3


def plain(one: Program) -> int:
    """That no step of an unpacked assignment reads what a step of it before wrote; how many have several components."""
    names, taken = components_of(one)
    unpacker, found = Unpacker(names, taken), 0
    for step in (s for launch in one.launches for s in steps(launch.body) if isinstance(s, Assign)):
        written: set[str] = set()
        for part in unpacker.assign(step):
            assert isinstance(part, Assign)
            assert not written & {r.tensor for t in (*part.index, part.value, part.guard) for r in reads(t)}, (step, part)
            written |= {part.target} & set(names.get(step.target, ()))
        found += step.target in names
    return found


def test_no_assignment_of_the_library_reads_what_it_wrote() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SPECS]
    some = [text for text in texts if any(word in text for word in ("argmax", "welford", "monoid"))]
    assert sum(plain(derive(m)) for text in some for m in machines(text).values()) > 50


def test_unpacked_programs_hold_numbers_and_give_the_same() -> None:
    one = derive(machines(TEXT)["rows"])
    plain = unpack(one)
    assert unpack(plain) is plain and {
        s.dtype for s in steps(plain.launches[0].body) if (isinstance(s, Array) and s.owner == "thread")
    } == {"f32"}
    x = np.random.default_rng(0).normal(size=(3, 77)).astype(np.float32)
    for order in (None, 1):
        outcome = simulate(one, {"R": 3, "N": 77}, {"x": x}, order=order)
        want = reference(one.op, {"R": 3, "N": 77}, {"x": x})
        assert not outcome.faults
        for name, values in want.items():
            np.testing.assert_allclose(outcome.outputs[name], values, rtol=1e-5)
    assert isinstance(check(one), Proof)


def test_every_component_is_evaluated_before_any_is_written() -> None:
    one = derive(machines(TEXT)["swapped"])
    outcome = simulate(one, {"n": 2}, {"x": np.array([5.0, 6.0], np.float32)})
    assert outcome.outputs["y"].tolist() == [4.0, 5.0]
    writes = [s.target for s in steps(unpack(one).launches[0].body) if isinstance(s, Assign)]
    assert writes.index("acc_squares", 4) > writes.index("asked")
