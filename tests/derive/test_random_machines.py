"""Machines at random: a few operations, their indices cut into random factors of random sorts, in random order, whose threads and blocks may share
folds: shuffles, shared memory, atomic updates, further launches, and the sequential view of each.

Each derives, reads back from its own text, and computes its equations without a fault. The one idea: whatever the elaborator lets through has a right
derivation, in every order of threads, so nothing but the sizes is chosen with care.
"""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.library import agrees, machines, reread, works_alone
from tinygpu.category.evaluate import evaluate
from tinygpu.derive.derive import derive
from tinygpu.derive.sequential import sequential
from tinygpu.model.machine import Machine
from tinygpu.program.step import Program

Factor = tuple[str, str, int | None]
OPS = {  # name: the op, its indices that are only ever of outputs, and those that are folded somewhere
    "scale": ("(a: f32, x: f32[M, N], s: f32[M], b: f32[N]) -> (y: f32[M, N]) { y[i, j] = a * x[i, j] * s[i] + b[j] }", "ij", ""),
    "border": ("(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i - 1, j | 0] + x[i, j + 2 | 1] - x[i, j] }", "ij", ""),
    "linear": ("(A: f32[M, K], B: f32[K, N], c: f32[N]) -> (y: f32[M, N]) { y[i, j] = max((sum[k] A[i, k] * B[k, j]) + c[j], 0) }", "ij", "k"),
    "causal": ("(A: f32[M, M], B: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[k <= i] (A[i, i - k] if k > 1 else 2) * B[k, j] }", "ij", "k"),
    "window": ("(x: f32[M + 2, N], w: f32[3]) -> (y: f32[M, N]) { y[i, j] = sum[k < 3] w[k] * x[i + k, j] }", "ij", "k"),
    "pairs": ("(A: i32[M, K], B: i32[K, N]) -> (y: i32[M, N]) where K >= 1 { y[i, j] = max[k] (A[i, k] + B[k, j]) }", "ij", "k"),
    "both": ("(x: f32[M, K]) -> (m: f32[M], s: f32[M]) { m[i] = max[k] x[i, k]\n s[i] = (sum[k] x[i, k] * x[i, k]) - sum[k] abs(x[i, k]) }", "i", "k"),
    "softmax": ("(x: f32[M, K]) -> (y: f32[M, K]) where K >= 1 {\n m[i] = max[k] x[i, k]\n s[i] = sum[k] exp(x[i, k] - m[i])\n y[i, k] = exp(x[i, k] - m[i]) / s[i] }", "i", "k"),
    "bits": ("(x: u32[M, K], y: u32[N]) -> (z: u32[M, N]) { z[i, j] = (y[j] >> 3 & 5) ^ (fold xor[k] x[i, k] << 1) }", "ij", "k"),
    "digits": ("(x: u32[M], y: u32[N], t: f32[16, 4]) -> (z: f32[M, N]) { z[i, j] = t[u32(x[i] * 2654435761) >> 28, y[j] & 3] }", "ij", ""),
    "shifts": ("(x: f32[M, N], t: f32[4]) -> (y: f32[M, N]) { y[i, j] = x[i >> j % 4, j] + t[(i & (1 << j % 3) - 1) << j % 3 >> j % 3] }", "ij", ""),
    "places": ("(x: f32[M, K], v: f32[K]) -> (z: f32[M], p: i32[M]) where K >= 1, K <= 999 { q[i] = argmax[k] x[i, k]\n z[i] = v[q[i]]\n p[i] = q[i] }", "i", "k"),
    "ends": ("(x: f32[K], off: i32[M + 1]) -> (s: f32[M]) { s[i] = sum[k in off[i] .. off[i + 1]] x[k] }", "i", "k"),
    "strides": ("(x: f32[M, N] strided, w: f32[N]) -> (y: f32[M, N] strided inplace x) { y[i, j] = x[i, j] * w[j] + w[j] }", "ij", ""),
    "states": ("(x: f32[M, N], a: f32[4]) -> (y: f32[M, N]) {\n s[0, i < M, j < N] = f32(0)\n s[t + 1, i, j] = 0.5 * s[t, i, j] + x[i, j] * a[t]\n y[i, j] = s[4, i, j] }", "ij", ""),
}  # fmt: skip
FOLDING = [name for name, (_, _, folds) in sorted(OPS.items()) if folds]
ALONE = ("linear", "causal", "window")  # one equation that is a fold, so that further launches can go on with it
EXTENTS = {"grid": (1, 3), "block": (1, 9), "time": (1, 3), "register": (1, 3), "vector": (2, 4)}
POWERS = (2, 4, 8, 16, 32)
ANYWHERE, GROWS = ("grid", "block", "time", "register"), ("grid", "time")


@st.composite
def digits(draw: st.DrawFn, index: str, sorts: tuple[str, ...] = ANYWHERE, open_: tuple[str, ...] = GROWS) -> list[Factor]:
    """The factors of one index, slowest first: name, sort, and an extent for all but the one that is inferred."""
    chosen = draw(st.lists(st.sampled_from(sorts), max_size=3)) + ["vector"] * draw(st.integers(0, 1))
    chosen.insert(draw(st.integers(0, len(chosen) - (chosen[-1:] == ["vector"]))), draw(st.sampled_from(open_)) + "?")
    return [(f"{index}{n}", sort.rstrip("?"), None if sort.endswith("?") else draw(size(sort))) for n, sort in enumerate(chosen)]


def size(sort: str) -> st.SearchStrategy[int]:
    """An extent for a factor of that sort; powers of two for lanes more often than others."""
    some = st.integers(*EXTENTS[sort])
    return st.one_of(st.sampled_from(POWERS), some) if sort == "block" else some


def sized(factor: Factor) -> str:
    name, _, extent = factor
    return name if extent is None else f"{name}: {extent}"


def clauses(draw: st.DrawFn, placed: dict[str, list[Factor]], outputs: str) -> str:
    """The lines of a launch."""
    factors = [f for several in placed.values() for f in several]
    levels = {level: [f for f in factors if f[1] == level] for level in ("grid", "block")}
    lines = ["work " + ", ".join(f"{level} = ({', '.join(map(sized, draw(st.permutations(fs))))})" for level, fs in levels.items())]
    for i, fs in placed.items():
        lines.append(f"compute {i} = ({', '.join(f[0] if f[1] in levels else sized(f) for f in fs)})")
    for sort in ("time", "register", "vector"):
        own = [f[0] for f in factors if f[1] == sort]
        outer = [n for n in own if n[0] in outputs]
        order = draw(st.permutations(outer)) + draw(st.permutations([n for n in own if n not in outer]))
        lines += [f"{sort} {', '.join(order)}"] if order else []
    return "\n  ".join(lines)


@st.composite
def alone(draw: st.DrawFn) -> str:
    """An op and a machine whose threads work alone."""
    op, outputs, folds = OPS[draw(st.sampled_from(sorted(OPS)))]
    placed = {i: draw(digits(i)) for i in outputs} | {k: draw(digits(k, ("time", "register"), ("time",))) for k in folds}
    return f"op o{op}\nmachine m : o {{\n  {clauses(draw, placed, outputs)}\n}}\n"


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """An op and a machine whose blocks fold."""
    op, outputs, folds = OPS[draw(st.sampled_from(FOLDING))]
    placed = {i: draw(digits(i)) for i in outputs}
    placed |= {k: draw(digits(k, ("block", "block", "time", "register"), ("time",))) for k in folds}
    return f"op o{op}\nmachine m : o {{\n  {clauses(draw, placed, outputs)}\n}}\n"


@st.composite
def grids(draw: st.DrawFn) -> str:
    """An op and a machine of two launches, or with atomic updates, for a fold over the grid."""
    op, outputs, folds = OPS[draw(st.sampled_from(ALONE))]
    sums = op.replace("max((", "((").replace(", 0) }", ") }")
    placed = {i: draw(digits(i)) for i in outputs}
    placed |= {k: [(f"{k}g", "grid", draw(st.integers(1, 4))), *draw(digits(k, ("block", "time"), ("time",)))] for k in folds}
    first = clauses(draw, placed, outputs)
    if "c[j]" not in op and draw(st.booleans()):
        return f"op o{sums}\nmachine m : o {{\n  {first}\n  reduce y over kg by atomic\n}}\n"
    second = clauses(draw, {i: draw(digits(i)) for i in outputs} | {"kg": draw(digits("q", ("block", "time"), ("time",)))}, outputs)
    return f"op o{op}\nmachine m : o {{\n  launch one {{\n  {first}\n  }}\n  launch two {{\n  {second}\n  }}\n}}\n"


def runs(machine: Machine, data: st.DataObject, text: str) -> Program:
    """The program, seen to compute the equations for a few sizes."""
    program = derive(machine)
    assert reread(program, machine) == program
    for seed in range(3):
        sizes = {n: data.draw(st.integers(0, 14), label=n) for n in program.op.sizes}
        if all(evaluate(guard, sizes) for guard in program.where):
            assert not agrees(program, sizes, seed), text
    return program


@pytest.mark.sampled(5)
@settings(max_examples=80)
@given(st.one_of(alone(), blocks(), grids()), st.data())
def test_a_random_machine_computes_its_equations_in_parallel_and_in_sequence(text: str, data: st.DataObject) -> None:
    (machine,) = machines(text).values()
    if all(prod(int(axis.extent.value) for axis in launch.block) <= 512 for launch in machine.launches):  # type: ignore[union-attr]
        runs(machine, data, text)
        single = sequential(machine)
        assert works_alone(runs(single, data, text) if single is not machine else derive(machine))
