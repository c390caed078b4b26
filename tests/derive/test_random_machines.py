"""Machines at random: a few operations, their indices cut into random factors of random sorts, in random order.

Each derives, reads back from its own text, and computes its equations without a fault. The one idea: whatever the elaborator lets
through has a right derivation, so nothing but the sizes is chosen with care.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.library import agrees, machines, reread
from tinygpu.category.evaluate import evaluate
from tinygpu.derive.derive import derive

# name: the op, its indices that are only ever of outputs, and those that are folded somewhere (so they stay in the thread)
OPS = {
    "scale": ("(a: f32, x: f32[M, N], s: f32[M], b: f32[N]) -> (y: f32[M, N]) { y[i, j] = a * x[i, j] * s[i] + b[j] }", "ij", ""),
    "border": ("(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i - 1, j | 0] + x[i, j + 2 | 1] - x[i, j] }", "ij", ""),
    "linear": (
        "(A: f32[M, K], B: f32[K, N], c: f32[N]) -> (y: f32[M, N]) { y[i, j] = max((sum[k] A[i, k] * B[k, j]) + c[j], 0) }",
        "ij",
        "k",
    ),
    "causal": ("(A: f32[M, M], B: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[k <= i] (A[i, i - k] if k > 1 else 2) * B[k, j] }", "ij", "k"),
    "window": ("(x: f32[M + 2, N], w: f32[3]) -> (y: f32[M, N]) { y[i, j] = sum[k < 3] w[k] * x[i + k, j] }", "ij", "k"),
    "pairs": ("(A: i32[M, K], B: i32[K, N]) -> (y: i32[M, N]) where K >= 1 { y[i, j] = max[k] (A[i, k] + B[k, j]) }", "ij", "k"),
    "both": (
        "(x: f32[M, K]) -> (m: f32[M], s: f32[M]) { m[i] = max[k] x[i, k]\n s[i] = (sum[k] x[i, k] * x[i, k]) - sum[k] abs(x[i, k]) }",
        "i",
        "k",
    ),
    "softmax": (
        "(x: f32[M, K]) -> (y: f32[M, K]) where K >= 1 {\n m[i] = max[k] x[i, k]\n s[i] = sum[k] exp(x[i, k] - m[i])\n"
        " y[i, k] = exp(x[i, k] - m[i]) / s[i] }",
        "i",
        "k",
    ),
}  # fmt: skip
CONSTANT = {"grid": (1, 3), "block": (1, 4), "time": (1, 3), "register": (1, 3), "vector": (2, 4)}


@st.composite
def digits(draw: st.DrawFn, index: str, folded: bool) -> list[tuple[str, str, int | None]]:
    """The factors of one index, slowest first: name, sort, and an extent for all but the one that is inferred."""
    sorts = ("time", "register") if folded else ("grid", "block", "time", "register")
    chosen = draw(st.lists(st.sampled_from(sorts), max_size=2)) + ["vector"] * draw(st.integers(0, 1))
    open_ = draw(st.sampled_from(("time",) if folded else ("grid", "time")))
    chosen.insert(draw(st.integers(0, len(chosen) - (chosen[-1:] == ["vector"]))), open_ + "?")
    return [
        (f"{index}{n}", sort.rstrip("?"), None if sort.endswith("?") else draw(st.integers(*CONSTANT[sort])))
        for n, sort in enumerate(chosen)
    ]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """An op and a machine for it."""
    op, outputs, folds = OPS[draw(st.sampled_from(sorted(OPS)))]
    placed = {i: draw(digits(i, folded=False)) for i in outputs} | {k: draw(digits(k, folded=True)) for k in folds}
    factors = [f for several in placed.values() for f in several]
    work = ", ".join(f"{level} = ({', '.join(_sized(f) for f in factors if f[1] == level)})" for level in ("grid", "block"))
    lines = [f"work {work}"]
    lines += [
        f"compute {i} = ({', '.join(_sized(f) if f[1] not in ('grid', 'block') else f[0] for f in fs)})" for i, fs in placed.items()
    ]
    for sort in ("time", "register", "vector"):
        own = [f[0] for f in factors if f[1] == sort]
        outer = [n for n in own if n[0] in outputs]
        order = draw(st.permutations(outer)) + draw(st.permutations([n for n in own if n not in outer]))
        lines += [f"{sort} {', '.join(order)}"] if order else []
    body = "\n  ".join(lines)
    return f"op o{op}\nmachine m : o {{\n  {body}\n}}\n"


def _sized(factor: tuple[str, str, int | None]) -> str:
    name, _, extent = factor
    return name if extent is None else f"{name}: {extent}"


@settings(max_examples=60)
@given(texts(), st.data())
def test_a_random_machine_computes_its_equations(text: str, data: st.DataObject) -> None:
    (machine,) = machines(text).values()
    program = derive(machine)
    assert reread(program, machine) == program
    for seed in range(3):
        sizes = {n: data.draw(st.integers(0, 14), label=n) for n in program.op.sizes}
        if all(evaluate(guard, sizes) for guard in program.where):
            assert not agrees(program, sizes, seed), text
