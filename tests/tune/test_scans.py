"""Prefixes and sums that choose where they go, from the op alone: on the cores of a CPU.

Comes in: ops, by whatever names, with prefixes of any monoid. Goes out: states, verdicts, counts. The one idea: what is recognised is the form of an equation, and each machine of it is proved.
"""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tests.program.library import loaded
from tests.tune.test_search import op_of
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import TRUE, Axis, Const, Term, Var, conjunction
from tinygpu.commands.first import machine_for
from tinygpu.commands.specs import text_of
from tinygpu.cost.written import points
from tinygpu.record import replace
from tinygpu.tune.actions import done
from tinygpu.tune.bound import whole
from tinygpu.tune.first import first
from tinygpu.tune.moves import Space
from tinygpu.tune.rules import broken
from tinygpu.tune.state import State
from tinygpu.tune.trial import Job, attempted

PREFIXES = {
    "to": "op f(a: f32[m]) -> (b: f32[m]) { b[p] = sum[q <= p] a[q] }",
    "before": "op f(a: i32[m]) -> (b: i32[m]) { b[p] = scan_max[q < p] a[q] }",
    "back": "op f(a: f32[m]) -> (b: f32[m]) { b[p] = scan_sum[q <= m - 1 - p] a[m - 1 - q] * 2 }",
    "affine": """monoid affine(a: f32, b: f32) { unit (1, 0)
      lift (p, q) = (p, q)
      combine (f, g) = (f.a * g.a, g.a * f.b + g.b)
      result (b) }
    op f(a: f32[m]) -> (b: f32[m]) { b[p] = scan affine[q <= p] (a[q], a[q]) }""",
    "further": "op f(a: f32[m]) -> (c: f32[m]) { b[p < m] = sum[q <= p] a[q]\n c[p] = b[m - 1 - p] * a[p] }",
}
PLAIN = """op f(a: f32[m]) -> (b: f32[m]) {
  b[p] = sum[q <= p] a[q]
}
machine plain : f {
  work    grid = (pb), block = (pt: 256)
  compute p = (pb, pt)
  time    q
}
"""
OF_ROWS = """op rows(x: f32[R, N]) -> (y: f32[R, N]) { y[r, i] = scan_sum[k <= i] x[r, k] }
machine m : rows on cpu {
  launch parts {
    work core = (r, g)
    compute i = (g, c: 8)
    time c
  }
  launch before {
    work     core = (r)
    compute  r = (r, rr: 4)
    time     g
    register rr
  }
  launch last {
    work core = (r, g)
    compute i = (g, c: 8)
    time c
  }
}
"""


@pytest.mark.parametrize("name", PREFIXES)
def test_a_prefix_is_three_launches_over_blocks(name: str) -> None:
    spec = pipeline.load_text(PREFIXES[name])
    said = machine_for(spec, spec.spec.op("f"), device="cpu")
    words = " ".join(said.split())
    assert words.count("compute p = (pb, pt: 4096) time pt") == 2 and "work core = () time pb" in words
    (machine,) = pipeline.load_text(f"{PREFIXES[name]}\n{said}").machines
    assert isinstance(pipeline.check(machine), pipeline.Proof)


def test_a_row_of_prefixes_is_a_loop_of_a_core() -> None:
    made = [s.text("m") for s in first(op_of("scan", "scan_rows"), "cpu")]
    assert "core = (r)" in made[0] and "time i" in made[0] and "launch" not in made[0]
    assert "compute i = (ib, it: 4096)" in made[1] and "core = (r, ib)" in made[1]


def blocks() -> tuple[Space, State]:
    space = Space(op_of("scan", "scan"), "cpu")
    return space, next(s for s in space.starts if len(s.nests) == 3)


def test_launches_that_are_placed_alike_stay_so() -> None:
    space, state = blocks()
    chance, kinds = Random(2), set[str]()
    for _ in range(60):
        found = space.step(state, chance)
        assert found is not None
        action, after = found
        if len(after.nests) == 3:
            assert replace(after.nests[2], name="") == replace(after.nests[0], name="") and not [*broken(after, space.op)]
            there = done(state, action)
            assert there is not None and (back := done(after, there[1])) is not None and back[0] == state
            kinds |= {type(action.edit).__name__} if after.nests[0] != state.nests[0] else set()
            state = after
    assert {"Split", "Number", "Merge"} <= kinds
    assert [n for n, *_ in whole(blocks()[1]).open] == [0]


@pytest.mark.parametrize(("name", "turns"), [("scan", 12), pytest.param("scan_rows", 20, marks=pytest.mark.sampled)])
def test_nine_in_ten_scans_are_proved(name: str, turns: int) -> None:
    op, chance = op_of("scan", name), Random(5)
    space, proved = Space(op, "cpu"), 0
    for turn in range(turns):
        state = [s for s in space.starts if len(s.nests) == 3][turn % 2]
        for _ in range(chance.randint(3, 9)):
            found = space.step(state, chance)
            state = found[1] if found else state
        machines = [m for m in pipeline.load_text(f"{text_of(op)}\n{state.text('m')}").machines if m.name == "m"]
        proved += all(isinstance(pipeline.check(m, time=20), pipeline.Proof) for m in machines)
    assert proved * 10 >= turns * 9


def test_what_comes_before_a_block_of_some_rows_is_proved() -> None:
    (machine,) = pipeline.load_text(OF_ROWS).machines
    assert isinstance(pipeline.check(machine), pipeline.Proof)


def test_a_prefix_that_is_folded_anew_for_each_element_is_not_timed() -> None:
    said = attempted(Job(PLAIN, "plain", {"m": 1 << 22}, below=1e-3), 60)
    assert said.verdict == "bounded" and said.kernel is None and "compile" not in said.steps
    assert said.why.startswith("its folds, as they are written, take ") and said.why.endswith("and the incumbent takes 1 ms")


def test_no_more_points_are_counted_than_there_are() -> None:
    i, k, n = Var("i"), Var("k"), Var("n")
    axes, sizes = (Axis("i", n), Axis("k", Const(90))), {"n": 60}
    guards: list[Term] = [TRUE, k <= i, conjunction(k < 3 * i, i + k < 75), k >= 2 * i, conjunction(i < 7, k < n), k + i < -1]
    for guard in guards:
        every = sum(bool(evaluate(guard, {**sizes, "i": a, "k": b})) for a, b in product(range(60), range(90)))
        assert 0.7 * every <= points(axes, guard, sizes) <= every
    assert points(axes, (k * k) <= i, sizes) == 0 and points((Axis("i", Var("B")),), TRUE, {}) == 0


@pytest.mark.parametrize(
    ("stem", "name", "says"),
    [
        ("histogram", "histogram", "v[] = min(max(x[g*4096 + t], 0), i32(B) - 1)"),
        ("histogram", "histogram_bytes", "atomic h[v[]] += 1 if v[] == i32(x[g*4096 + t]) else 0"),
        ("embedding", "scatter_add", "atomic y[idx[g], t2] += v[g, t2] if 0 <= idx[g]"),
    ],
)
def test_a_core_adds_without_a_guess(stem: str, name: str, says: str) -> None:
    spec = loaded(stem)
    said = machine_for(spec, spec.spec.op(name), device="cpu")
    assert says in said and "on cpu" in said
