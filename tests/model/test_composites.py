"""Ops one after the other: a composite is the op that a person would write.

Comes in: small files. Goes out: nothing, or a composite that is another op than the one written out. The one idea: composition is substitution, so the
terms are equal, whatever names the two ops have in common.
"""

from __future__ import annotations

import pytest

from tinygpu.model.op import Op, put_in
from tinygpu.pipeline import Proof, check, load_text

LINEAR = "op linear(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) { y[i, j] = sum[k] x[i, k] * w[j, k] }\n"
MEAN = "op less_mean(x: f32[R, C]) -> (y: f32[R, C]) where C >= 1 {\n  mu[i] = (sum[j] x[i, j]) / f32(C)\n  y[i, j] = x[i, j] - mu[i]\n}\n"


def value(op: Op) -> tuple[object, ...]:
    """What the op is of its inputs, without what stands between."""
    put = {}
    for equation in op.equations:
        put[equation.target] = type(equation)(equation.target, equation.axes, put_in(equation.value, put))
    return op.inputs, op.outputs, [(put[t.name].axes, put[t.name].value) for t in op.outputs], {*op.where}, op.promises


@pytest.mark.parametrize(("before", "made", "written"), [
    (LINEAR, "linear then exp then exp", "(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N]) { y[i, j] = exp(exp(sum[k] x[i, k] * w[j, k])) }"),
    # what a def takes besides is a number of the call, and the same one where it is taken twice
    (LINEAR + "def lift(x, by) = x + by\n", "linear then lift then lift", "(x: f32[M, K], w: f32[N, K], by: f32) -> (y: f32[M, N]) { y[i, j] = (sum[k] x[i, k] * w[j, k]) + by + by }"),
    # equal names are one input
    (LINEAR + "op again(h: f32[A, B], x: f32[A, K]) -> (z: f32[A, K]) { z[i, k] = h[i, 0] * x[i, k] if B > 0 else 0 }\n", "linear then again",
     "(x: f32[M, K], w: f32[N, K]) -> (z: f32[M, K]) { h[i, j] = sum[k] x[i, k] * w[j, k]\n z[i, k] = h[i, 0] * x[i, k] if N > 0 else 0 }"),
    # sizes are exchanged at once; the names in between do not meet, also those of lets
    ("op turn(x: f32[A, B]) -> (y: f32[B, A]) { let h = x[j, i]\n y[i, j] = h }\n", "turn then turn", "(x: f32[A, B]) -> (y: f32[A, B]) { y[i, j] = x[i, j] }"),
    (MEAN, "less_mean then less_mean",
     "(x: f32[R, C]) -> (y: f32[R, C]) where C >= 1 { m[i] = (sum[j] x[i, j]) / f32(C)\n a[i, j] = x[i, j] - m[i]\n b[i] = (sum[j] a[i, j]) / f32(C)\n y[i, j] = a[i, j] - b[i] }"),
    # an extent that is no name has to be what is given; its size is the second's own
    ("op half(x: f32[2*n]) -> (y: f32[n]) { y[i] = x[2*i] }\n", "half then half", "(x: f32[2*n]) -> (y: f32[n2]) where 2*n2 == n { y[i] = x[2 * (2*i)] }"),
    ("op w(x: f32[n]) -> (y: f32[n // 2]) where n % 2 == 0 { y[i] = x[2*i] }\n", "w then w",
     "(x: f32[n]) -> (y: f32[n // 2 // 2]) where n % 2 == 0, n // 2 % 2 == 0 { y[i] = x[2 * (2*i)] }"),
])  # fmt: skip
def test_a_composite_is_the_op_that_is_written_out(before: str, made: str, written: str) -> None:
    found = load_text(f"{before}op c = {made}").spec.op("c")
    wanted = load_text(f"op c{written}").spec.op("c")
    assert found.sizes == wanted.sizes
    assert value(found) == value(wanted)


def test_order_of_declarations_and_families() -> None:
    text = "op b = a then exp\nop a = r then abs\nop r[T in {f32, f64}](x: T[n]) -> (y: T[n]) { y[i] = max(x[i], 0) }\n"
    spec = load_text(text + "machine m : b { work grid = (g), block = (t: 128)\n compute i = (g, t) }").spec
    assert [m.op.name for m in spec.machines] == ["b[f32]", "b[f64]"] and all(isinstance(check(m), Proof) for m in spec.machines)


def test_a_launch_that_does_not_say_evaluates_what_the_others_leave() -> None:
    launch = "launch {} {{ {}\n work grid = (i), block = (t: 128)\n compute j = (c, t)\n time c }}\n"
    machine = "machine m : c {\n" + launch.format("first", "equations less_mean, mu") + launch.format("rest", "") + "}"
    (made,) = load_text(f"{MEAN}op c = less_mean then exp then less_mean\n{machine}").spec.machines
    assert [[p.equation.target for p in one.phases] for one in made.launches] == [["mu", "less_mean"], ["mu2", "y"]]
    assert isinstance(check(made), Proof)
