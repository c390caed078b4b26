"""Random machines for one operation: however its indices are cut and ordered, the CPU kernel computes the same."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.emit.cpu_harness import programs, run
from tinygpu.diagnostic import TinygpuError
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.tolerance import tolerance

OPS = {
    "stencil": "op made(a: f32, x: f32[M, N], b: f32[N]) -> (y: f32[M, N]) {\n"
    "  y[i, j] = a * x[i, j] + (x[i - 1, j] if i > 0 else b[j]) - x[i, j + 2 | 0] * f32(i + j)\n}\n",
    "product": "op made(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {\n  C[i, j] = sum[k] A[i, k] * B[k, j]\n}\n",
    "rows": "op made(x: f32[M, K]) -> (s: f32[M], m: f32[M]) {\n  s[i] = sum[k] x[i, k]\n  m[i] = max[k] x[i, k]\n}\n",
}
INDICES = {"stencil": "ij", "product": "ijk", "rows": "ik"}


@st.composite
def cut(draw: st.DrawFn, index: str) -> list[tuple[str, str, int]]:
    """Factors of an index, slowest first: (name, sort, extent), extent 0 for the one that is inferred."""
    count = draw(st.integers(1, 3))
    inferred = draw(st.integers(0, count - 1))
    out = []
    for n in range(count):
        fold = index == "k"
        sorts = ["time"] if fold else ["grid", "time"] if n == inferred else ["block", "register", "time"]
        extent = 0 if n == inferred else draw(st.sampled_from([2, 3, 4, 8]))
        out.append((f"{index}{n}", draw(st.sampled_from(sorts)), extent))
    return out


@st.composite
def machine(draw: st.DrawFn) -> tuple[str, str]:
    """The name of an op, and its text with a machine of random cuts; `grid` gets an axis if it has none."""
    name = draw(st.sampled_from(sorted(OPS)))
    cuts = {index: draw(cut(index)) for index in INDICES[name]}
    factors = draw(st.permutations([f for c in cuts.values() for f in c]))
    chosen = {sort: [f for f in factors if f[1] == sort] for sort in ("grid", "block", "time", "register")}
    sized = lambda fs: ", ".join(f"{n}: {e}" if e else n for n, _, e in fs)  # noqa: E731
    work = [f"{level} = ({sized(chosen[level])})" for level in ("grid", "block") if chosen[level]]
    lines = [f"  work {', '.join(work)}"] if work else ["  work block = (one: 1)"]
    for index, c in cuts.items():
        inner = ", ".join(f"{n}: {e}" if e and sort in ("time", "register") else n for n, sort, e in c)
        lines.append(f"  compute {index} = ({inner})")
    lines += [f"  {sort} {', '.join(n for n, _, _ in chosen[sort])}" for sort in ("time", "register") if chosen[sort]]
    return name, OPS[name] + "machine random : made {\n" + "\n".join(lines) + "\n}\n"


@settings(max_examples=30)
@given(machine(), st.tuples(*[st.integers(0, 40)] * 3))
def test_however_the_indices_are_cut(made: tuple[str, str], numbers: tuple[int, int, int]) -> None:
    _, text = made
    try:
        (built,) = programs(text).values()
    except TinygpuError:
        assume(False)
    sizes = dict(zip(built.op.sizes, numbers, strict=False))
    inputs = random_inputs(built.op, sizes)
    got, want = run(built, sizes, inputs), reference(built.op, sizes, inputs)
    relative, absolute = tolerance(built.op, sizes)
    for name, values in got.items():
        assert np.allclose(values.astype(np.float64), want[name], rtol=relative, atol=absolute * 40), (
            f"{name} at {sizes} of\n{text}"
        )
