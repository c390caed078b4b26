"""Pipelines at their edges: numbers of narrow dtypes, names of the launcher's own, promises, no arrays at all, outputs that are read again.

Comes in: the smallest pipelines that once went wrong. Goes out: what is built of them against their own op, and what is refused. The one idea: a pipeline computes what its op says, or is no pipeline.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinygpu
from tinygpu import pipeline
from tinygpu.commands.modules import differs
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.simulate.reference import reference
from tinygpu.whole import insisted, module

MAP = "machine {0}s : {0} {{ work grid = (g), block = (t: 32)\n  compute i = (g, t) }}\n"


def spec(*ops: str, calls: str) -> str:
    named = [one.removeprefix("op ").partition("[")[0].partition("(")[0] for one in ops]
    return "\n".join([*ops, *(MAP.format(name) for name in named), calls])


def both(text: str, sizes: dict[str, int], **given: Any) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What is built, and what its op says."""
    one = pipeline.load_text(text, "odd.tgpu").spec.pipelines[-1]
    found = tinygpu.build(insisted(tinygpu.check(one)))(*given.values())
    right = reference(one.op, sizes, {name: np.asarray(value) for name, value in given.items()})
    outputs = [t.name for t in one.op.outputs]
    return list(found if len(outputs) > 1 else (found,)), [right[name] for name in outputs]


X = np.arange(5, dtype=np.float32)
BYTES = spec(
    "op f(x: f32[N], a: u8) -> (y: f32[N]) { y[i] = x[i] + f32(a + a) }",
    calls="pipeline p(x: f32[N]) -> (y: f32[N]) { y = f(x, 200) }",
)
TRUTH = spec(
    "op f(x: f32[N], b: bool) -> (y: f32[N]) { y[i] = x[i] if b else 0 - x[i] }",
    calls="pipeline p(x: f32[N]) -> (y: f32[N]) { h = f(x, true)\n y = f(h, false) }",
)
AGAIN = spec(
    "op f(x: f32[N], a: f32) -> (y: f32[N]) { y[i] = x[i] * a }",
    calls="pipeline p(x: f32[N]) -> (y: f32[N], z: f32[N]) { y = f(x, 0x10)\n z = f(y, 1e-1) }",
)
ARENA = spec(
    "op inc(x: u8[N]) -> (y: u8[N]) { y[i] = x[i] + 1 }",
    "op plus(x: u8[N], w: u8[N]) -> (y: u8[N]) { y[i] = x[i] + w[i] }",
    calls="pipeline p(x: u8[T], arena: u8[T]) -> (y: u8[T]) { s = inc(x)\n y = plus(s, arena) }",
)
INDEX = spec(
    "op pick(x: f32[N], k: i32[M]) -> (y: f32[M]) where N <= 1000, all[t] (0 <= k[t] and k[t] < i32(N)) { y[i] = x[k[i]] }",
    calls="pipeline p(x: f32[t], k: i32[M]) -> (y: f32[M]) { y = pick(x, k) }",
)


@pytest.mark.parametrize(
    ("text", "sizes", "given"),
    [
        (BYTES, {"N": 5}, {"x": X}),
        (TRUTH, {"N": 5}, {"x": X}),
        (AGAIN, {"N": 5}, {"x": X}),
        (ARENA, {"T": 256}, {"x": np.zeros(256, np.uint8), "arena": np.full(256, 7, np.uint8)}),
        (INDEX, {"t": 5, "M": 3}, {"x": X, "k": np.array([4, 0, 2], np.int32)}),
    ],
    ids=["a byte", "truths", "read again", "arena", "an index named as a size"],
)
def test_it_computes_what_its_op_says(text: str, sizes: dict[str, int], given: dict[str, Any]) -> None:
    found, right = both(text, sizes, **given)
    assert all(np.allclose(a, b, rtol=1e-6) for a, b in zip(found, right, strict=True))


def test_a_promise_is_asked_of_a_call_of_the_pipeline() -> None:
    text = spec(
        "op at(x: f32[n], k: i32) -> (y: f32[n]) where n <= 1000, k >= 0, index(k) < n { y[i] = x[k] + x[i] }",
        calls="pipeline p(x: f32[n], k: i32) -> (y: f32[n]) { h = at(x, k)\n y = at(h, 0) }",
    ).replace(", 0) }", ", k) }")
    call = tinygpu.build(insisted(tinygpu.check(pipeline.load_text(text, "p.tgpu").p)))
    assert call(X, 2).tolist() == [6, 7, 8, 9, 10]
    with pytest.raises(ValueError, match="TG808 p"):
        call(X, -1)


def test_no_input_need_be_an_array() -> None:
    text = spec(
        "op fill(a: f32) -> (y: f32[N]) { y[i] = a }",
        "op twice(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + x[i] }",
        calls="pipeline p(a: f32) -> (y: f32[7]) { h = fill(a, N = 7)\n y = twice(h) }",
    )
    assert tinygpu.build(insisted(tinygpu.check(pipeline.load_text(text, "p.tgpu").p)))(1.5).tolist() == [3.0] * 7


def test_a_workspace_begins_where_elements_may() -> None:
    call = tinygpu.build(insisted(tinygpu.check(pipeline.load_text(TRUTH, "p.tgpu").p)))
    held = np.empty(1024, np.uint8)
    start = -held.ctypes.data % 16
    assert call(X, workspace=held[start : start + 256]).tolist() == (-X).tolist()
    with pytest.raises(ValueError, match="TG813 p: the workspace arena has to begin at a multiple of 16 bytes"):
        call(X, workspace=held[start + 1 : start + 257])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (BYTES.replace("200", "300"), "TG192"),
        (BYTES.replace("200", "-1"), "TG192"),
        (BYTES.replace("200", "0.5"), "TG192"),
        (BYTES.replace("u8", "f16").replace("200", "1e6"), "TG192"),
        (BYTES.replace("200", "true"), "TG192"),
        (BYTES.replace("-> (y: f32[N]) { y = f", "-> (y: f32[N] strided) { y = f"), "TG192"),
        (AGAIN.replace("-> (y: f32[N], z", "-> (y: f32[N] strided, z").replace("-> (y: f32[N]) {", "-> (y: f32[N] strided) {"), "TG192"),
        (
            spec("op g[S in {f16, f64}](x: f32[N]) -> (y: S[N]) { y[i] = S(x[i]) }", calls="pipeline p(x: f32[N]) -> (y: f32[N]) { h = g(x)\n y = f(h) }"),
            "TG192",
        ),
        (
            spec("op f(x: f32[N]) -> (y: f32[N]) where M <= 9 { y[i] = sum[k < M] x[i] }", calls="pipeline p(x: f32[D]) -> (y: f32[D]) { y = f(x, M = 1, M = 2) }"),
            "TG192",
        ),
    ],
    ids=["too large", "below 0", "no whole number", "beyond f16", "a truth", "a strided output", "a strided output read again", "several of a family", "a size twice"],
)  # fmt: skip
def test_what_is_refused(text: str, code: str) -> None:
    with pytest.raises(TinygpuError) as error:
        pipeline.load_text(text, "p.tgpu")
    assert code in {d.code for d in error.value.diagnostics}


def test_a_size_that_is_said_is_never_below_0() -> None:
    text = spec(
        "op f(x: f32[N]) -> (y: f32[N]) where M <= 1000 { y[i] = sum[k < M] x[i] }",
        calls="pipeline p(x: f32[D]) -> (y: f32[D]) where D <= 1000 { y = f(x, M = D - 3) }",
    ).replace("compute i = (g, t) }", "compute i = (g, t)\n  time k }")
    found = tinygpu.check(pipeline.load_text(text, "p.tgpu").p)
    assert isinstance(found, Diagnostic) and (found.code, found.verdict) == ("TG556", "refuted")


def test_of_a_family_what_is_declared_tells() -> None:
    text = spec(
        "op g[S in {f16, f64}](x: f32[N]) -> (y: S[N]) { y[i] = S(x[i]) }",
        calls="pipeline p(x: f32[N]) -> (y: f64[N]) { y = g(x) }",
    )
    assert pipeline.load_text(text, "p.tgpu").spec.pipelines[0].calls[0].to.op.name == "g[f64]"


def test_a_module_of_several_is_what_is_written_for_it(tmp_path: Path) -> None:
    more = "pipeline q(x: f32[N]) -> (y: f32[N], z: f32[N]) { y, z = p(x) }\npipeline r(x: f32[N]) -> (y: f32[N]) { y = f(x, 3) }\n"
    whole = insisted(tinygpu.check(pipeline.load_text(f"{AGAIN}\n{more}", "odd.tgpu").q))
    _, text = module(whole, "odd.tgpu")  # type: ignore[arg-type]
    assert differs(text, "odd.py") is None


def test_a_stream_on_a_cpu_is_refused_in_the_name_of_who_was_called() -> None:
    one = tinygpu.build(insisted(tinygpu.check(pipeline.load_text(AGAIN, "odd.tgpu").spec.pipelines[-1])))
    with pytest.raises(TypeError, match="TG816 p: stream is for arrays on a GPU"):
        one(X, stream=3)
