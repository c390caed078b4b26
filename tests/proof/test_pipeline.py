"""Pipelines: the op that one is, which claims it makes, and where its values lie.

Comes in: ops with machines, and calls of them. Goes out: equations, verdicts with the smallest sizes, places in memory. The one idea: calls that are made one after the other at small sizes, in an array
of bytes, say what the prover has to say.
"""

from __future__ import annotations

import numpy as np
import pytest

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Const, text
from tinygpu.derive.arena import LINE, Arena, arena_of, live
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.model.pipeline import Pipeline
from tinygpu.obligations.pipeline import claims_of_pipeline
from tinygpu.pipeline import believed, load_text
from tinygpu.proof.kernel import Theorem, discharge
from tinygpu.proof.pipeline import Linked, keeps, linked, looked_at
from tinygpu.proof.summary import stated_for
from tinygpu.record import replace
from tinygpu.simulate.reference import reference
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse

OPS = """
op scale(x: f32[M, N], k: f32[N], a: f32) -> (y: f32[M, N]) where N >= 1 {
  h[i, j] = x[i, j] * k[j]
  y[i, j] = h[i, j] + a
}
op product(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }
op add(x: f32[M, N], y: f32[M, N]) -> (z: f32[M, N]) { z[i, j] = x[i, j] + y[i, j] }
op spread(x: f32[N]) -> (y: f32[M, N]) { y[i, j] = x[j] }
op ends(x: f32[M, N]) -> (least: f32[M], most: f32[M]) where N >= 1 {
  least[r] = min[j] x[r, j]
  most[r]  = max[j] x[r, j]
}
op twice[T in {f16, f32}](x: T[n]) -> (y: T[n]) { y[i] = x[i] + x[i] }
machine scales : scale { work grid = (by), block = (t: 32)
  compute i = by, j = (c, t)
  time c }
machine tiles : product where K >= 1 { work grid = (by, bx), block = (ty: 8, tx: 8)
  compute i = (by, ty), j = (bx, tx)
  time k }
machine adds : add { work grid = (by), block = (t: 32)
  compute i = by, j = (c, t)
  time c }
machine spreads : spread { work grid = (by), block = (t: 32)
  compute i = by, j = (c, t)
  time c }
machine rows : ends { work grid = (r), block = (t: 32)
  compute j = (c, t)
  time c }
machine twos : twice { work grid = (g), block = (t: 32)
  compute i = (g, t) }
"""


def spec(*calls: str, inputs: str, outputs: str = "y: f32[T, D]", where: str = "", more: str = "") -> str:
    lines = "\n".join(f"  {call}" for call in calls)
    return f"{OPS}{more}\npipeline whole({inputs}) -> ({outputs}){where} {{\n{lines}\n}}\n"


def whole(*calls: str, inputs: str, outputs: str = "y: f32[T, D]", where: str = "", more: str = "") -> Pipeline:
    return load_text(spec(*calls, inputs=inputs, outputs=outputs, where=where, more=more)).spec.pipelines[-1]


MIXER = ("s = scale(x, g, 1.5)", "h = product(s, V)", "r = product(h, W)", "y = add(x, r)")
INPUTS = "x: f32[T, D], g: f32[D], V: f32[D, H], W: f32[H, D]"
WHERE = " where D >= 1, H >= 1"


def test_what_is_promised_of_data_stands_in_the_verdict() -> None:
    more = """op root(x: f32[N]) -> (y: f32[N]) where all[i] (x[i] >= 0) { y[i] = sqrt(x[i]) }
machine roots : root { work grid = (g), block = (t: 32)
  compute i = (g, t) }"""
    made = whole("y = root(x)", inputs="x: f32[T]", outputs="y: f32[T]", more=more)
    assert made.sizes == "all T, assuming all[i < T] (x[i] >= 0)"


MASKED = """op most(x: f32[R, N]) -> (m: f32[R]) { m[r] = max[j] x[r, j] }
op told(m: f32[R], v: f32[R]) -> (y: f32[R]) { y[r] = v[r] if m[r] + 1 > m[r] else 7 }
machine mosts : most { work grid = (g), block = (t: 32)
  compute r = (g, t)
  time j }
machine tolds : told {
  work grid = (g: ceil(R / 32)), block = (t: 32)
  program { y[g*32 + t] = v[g*32 + t] if g*32 + t < R }
}"""


@pytest.mark.parametrize(
    "where, calls, said",
    [
        ("", ("m = most(x)", "y = told(m, v)"), "all T, D, where m is a number"),  # else y is 7, and what tolds stores is v
        (" where D >= 1", ("m = most(x)", "y = told(m, v)"), "all T, D with D >= 1"),
        ("", ("y = inner(x, v)",), "all T, D, where m of inner is a number"),
    ],
)
def test_what_stands_between_calls_is_said_to_be_numbers_where_it_may_be_none(
    where: str, calls: tuple[str, ...], said: str
) -> None:
    inner = "\npipeline inner(x: f32[T, D], v: f32[T]) -> (y: f32[T]) { m = most(x)\n  y = told(m, v) }"
    made = whole(
        *calls, inputs="x: f32[T, D], v: f32[T]", outputs="y: f32[T]", where=where, more=MASKED + inner * ("inner" in said)
    )
    assert isinstance(linked(made), Linked) and stated_for(made) == said


def test_where_one_has_no_value_is_said_too() -> None:
    more = """op root(x: f32[N]) -> (y: f32[N]) { y[i] = sqrt(x[i]) }
op least(y: f32[N], x: f32[N]) -> (z: f32[N]) { z[i] = y[i] if x[i] > 0 else 0 }
machine roots : root { work grid = (g), block = (t: 32)
  compute i = (g, t) }
machine leasts : least { work grid = (g), block = (t: 32)
  compute i = (g, t) }"""
    made = whole("s = root(x)", "y = least(s, x)", inputs="x: f32[T]", outputs="y: f32[T]", more=more)
    assert stated_for(made) == "all T, where s is a number, wherever the equation has a value"


def test_a_pipeline_is_the_op_that_its_calls_are_and_own_names_give_way() -> None:
    op = whole(*MIXER, inputs=INPUTS, where=WHERE).op
    lines = {e.target: f"{e.target}[{', '.join(a.name for a in e.axes)}] = {text(e.value)}" for e in op.equations}
    assert lines["s_h"] == "s_h[i, j] = x[i, j]*g[j]"  # of scale, whose intermediate is no h of the pipeline
    assert lines["s"] == "s[i, j] = s_h[i, j] + 1.5"
    assert lines["h"] == "h[i, j] = sum[k < D] s[i, k]*V[k, j]" and lines["r"] == "r[i, j] = sum[k < H] h[i, k]*W[k, j]"
    assert op.sizes == ("T", "D", "H") and [t.name for t in op.intermediates] == ["s_h", "s", "h", "r"]


def test_an_index_gives_way_to_a_tensor() -> None:
    op = whole("k = product(i, j)", inputs="i: f32[T, D], j: f32[D, H]", outputs="k: f32[T, H]", where=" where D >= 1").op
    (equation,) = op.equations
    names = {a.name for a in equation.axes}
    assert names.isdisjoint({"i", "j", "k"}) and text(equation.value).startswith("sum[")
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    (found,) = reference(op, {"T": 2, "D": 3, "H": 4}, {"i": x, "j": y}).values()
    assert (found == x @ y).all()


RIGHT = (
    whole(*MIXER, inputs=INPUTS, where=WHERE),
    whole("y = spread(v, M = 2*T)", "z = add(x, x)", inputs="v: f32[D], x: f32[T, D]", outputs="y: f32[2*T, D], z: f32[T, D]"),
    whole("a, b = ends(x)", "c = twice(a)", "y = twice(b)", "z = twice(c)", inputs="x: f32[T, D]", outputs="y: f32[T], z: f32[T]"),
    whole("a = add(x, x)", "y = add(a, z)", inputs="x: f32[T, D], z: f32[R, D]", where=" where R == T"),
    whole("a = twice(v)", "y = twice(a)", inputs="v: f16[n]", outputs="y: f16[n]"),
)  # fmt: skip


@pytest.mark.parametrize("one", RIGHT, ids=range(len(RIGHT)))
def test_calls_that_fit_are_proved_and_values_are_kept_at_small_sizes(one: Pipeline) -> None:
    proof = linked(one)
    assert isinstance(proof, Linked), proof
    points = [*looked_at(one)]
    assert len(points) > 5 and all(keeps(one, proof.arena, point) for point in points)
    again = load_text(format_file(parse(f"{OPS}{one.spelled}"))).spec.pipelines[-1]
    assert again.op.equations == one.op.equations and [c.sizes for c in again.calls] == [c.sizes for c in one.calls]


def test_places_are_used_again_only_when_nobody_reads_them() -> None:
    one = RIGHT[0]
    arena = arena_of(one)
    assert [(b.name, b.slot, b.first, b.last) for b in arena.buffers] == [("s", 0, 0, 1), ("h", 1, 1, 2), ("r", 0, 2, 3)]
    assert {(a.name, b.name) for a, b in live(arena)} == {("s", "h"), ("r", "h")}
    for sizes in ({"T": 3, "D": 5, "H": 70}, {"T": 9, "D": 64, "H": 1}):
        assert all(evaluate(at, sizes) % LINE == 0 for at in arena.offsets)


def moved(arena: Arena, name: str, slot: int) -> Arena:
    return replace(arena, buffers=tuple(replace(b, slot=slot) if b.name == name else b for b in arena.buffers))


@pytest.mark.parametrize("wrong", ["one slot", "too early", "too short"])
def test_values_that_overlap_are_seen_by_both(wrong: str) -> None:
    one, arena = RIGHT[0], arena_of(RIGHT[0])
    bad = {
        "one slot": moved(arena, "h", 0),
        "too early": replace(arena, offsets=(arena.offsets[0], arena.offsets[1] - LINE)),
        "too short": replace(arena, bytes=arena.bytes - LINE),
    }[wrong]
    assert any(not isinstance(discharge(claim, 10**6), Theorem) for claim in claims_of_pipeline(one, bad))
    assert not all(keeps(one, bad, point) for point in looked_at(one))


WRONG = (
    (("a = add(x, z)", "y = add(a, x)"), "x: f32[T, D], z: f32[R, D]", "", "TG555", {"T": 1, "R": 0}),
    (("y = product(x, w)",), "x: f32[T, K], w: f32[K, D]", "", "TG556", {"K": 0}),
)  # fmt: skip


@pytest.mark.parametrize(("calls", "inputs", "where", "code", "sizes"), WRONG)
def test_what_does_not_fit_is_shown_at_the_smallest_sizes(
    calls: tuple[str, ...], inputs: str, where: str, code: str, sizes: dict[str, int]
) -> None:
    found = linked(whole(*calls, inputs=inputs, where=where))
    assert isinstance(found, Diagnostic) and (found.code, found.verdict) == (code, "refuted")
    assert found.case is not None and dict(found.case.rows) == {name: (str(n),) for name, n in sizes.items()}


@pytest.mark.parametrize(
    ("call", "inputs"), [("y = product(x, w)", "x: f32[T, K], w: f32[K + 1, D]"), ("y = spread(v, M = D)", "v: f32[D]")]
)
def test_extents_with_which_there_are_no_equations(call: str, inputs: str) -> None:
    with pytest.raises(TinygpuError) as error:
        whole(call, inputs=inputs)
    assert [d.code for d in error.value.diagnostics] == ["TG192"]


NESTED = """
pipeline inner(x: f32[M, N], w: f32[N, N]) -> (y: f32[M, N]) where N >= 1 {
  h = product(x, w)
  y = product(h, w)
}
choice any_add : add { adds }
"""


def test_a_pipeline_calls_pipelines_and_choices() -> None:
    one = whole("a = inner(x, w)", "y = add(a, x)", inputs="x: f32[T, D], w: f32[D, D]", where=" where D >= 1", more=NESTED)
    assert [type(c.to).__name__ for c in one.calls] == ["Pipeline", "Choice"]
    assert {m.name for m in one.machines} == {"tiles", "adds"}
    proof = linked(one)
    assert isinstance(proof, Linked)
    assert [(b.name, b.owner) for b in proof.arena.buffers] == [("a", -1), ("arena", 0)]


FUSED = """
op fused(x: f32[M, N], k: f32[N]) -> (y: f32[M, N]) where N >= 1 { y[i, j] = x[i, j] * (k[j] + 1) + 0.5 }
"""


def test_a_theorem_says_that_a_chain_is_one_op() -> None:
    more = (
        FUSED
        + "theorem same : whole == fused\ntheorem other : whole == unlike\n"
        + FUSED.replace("fused", "unlike").replace("0.5", "0.25")
    )
    loaded = load_text(
        spec("s = scale(x, k, 0.5)", "y = add(s, x)", inputs="x: f32[M, N], k: f32[N]", outputs="y: f32[M, N]", more=more)
    )
    same, other = loaded.spec.theorems
    assert not isinstance(believed(same), Diagnostic)
    wrong = believed(other)
    assert isinstance(wrong, Diagnostic) and wrong.verdict == "refuted"
    assert "pipeline" not in same.text(loaded.spec.tree) and "op whole(" in same.text(loaded.spec.tree)


def test_the_text_of_a_pipeline_is_a_spec_of_its_own() -> None:
    loaded = load_text(spec(*MIXER, inputs=INPUTS, where=WHERE))
    (one,) = loaded.spec.pipelines
    text_ = one.text(loaded.spec.tree)
    assert "machine rows" not in text_ and "y = add(x, r) by adds" in text_
    alone = load_text(text_).spec
    assert alone.about == one and {m.name for m in alone.machines} == {"scales", "tiles", "adds"}


def test_machines_of_other_files_come_for_pipelines_alone(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lib.tgpu").write_text(OPS)
    text_ = 'import "lib.tgpu"\npipeline p(x: f32[T, D], w: f32[D, D]) -> (y: f32[T, D]) where D >= 1 {\n  h = product(x, w) by tiles\n  y = add(x, h)%s\n}\n'
    (tmp_path / "a.tgpu").write_text(text_ % " by adds")
    loaded = load_text((tmp_path / "a.tgpu").read_text(), str(tmp_path / "a.tgpu"))
    assert {m.name for m in loaded.machines} == {"tiles", "adds"}
    with pytest.raises(TinygpuError) as error:
        load_text(text_ % "", str(tmp_path / "a.tgpu"))
    assert [d.code for d in error.value.diagnostics] == ["TG193"]


def test_only_linked_makes_one() -> None:
    one = RIGHT[0]
    with pytest.raises(TypeError):
        Linked(one, arena_of(one), ())


def test_numbers_have_the_dtype_of_what_takes_them() -> None:
    one = whole(*MIXER, inputs=INPUTS, where=WHERE)
    assert one.calls[0].given == ("x", "g", Const(1.5, "f32"))
    negative = whole("y = scale(x, g, -2)", inputs="x: f32[T, D], g: f32[D]")
    assert negative.calls[0].given[2] == Const(-2.0, "f32")
