"""Scans on many shapes of a block: each is proved, for a GPU and for one thread of a CPU, and reads back from its own text.

The one idea: one equation on many shapes of a block; what is exclusive, guarded, of pairs, or followed by something is the same program.
"""

from __future__ import annotations

import pytest

from tests.program.library import machines, reread
from tinygpu.derive.derive import derive
from tinygpu.derive.sequential import sequential
from tinygpu.proof.check import Proof, check

AFFINE = """
monoid affine(a: f32, b: f32) {
  unit (1, 0)
  lift (p, q) = (p, q)
  combine (f, g) = (f.a * g.a, g.a * f.b + g.b)
  result (b)
}
op states(a: f32[R, N], b: f32[R, N]) -> (h: f32[R, N]) { h[r, i] = scan affine[k <= i] (a[r, k], b[r, k]) }
op state(a: f32[R, N], b: f32[R, N]) -> (h: f32[R]) { h[r] = fold affine[k] (a[r, k], b[r, k]) }
"""
SUMS = "op sums(x: f32[R, N]) -> (y: f32[R, N]) { y[r, i] = scan_sum[k <= i] x[r, k] }\n"
LINE = "op line(x: f32[n]) -> (y: f32[n]) { y[i] = scan_sum[k <= i] x[k] }\n"
WARP = "work grid = (g), block = (w: 4, lane: 32)\n compute r = (g, w), i = (c, lane, v: 2)\n time c\n vector v"
BLOCK = "work grid = (r), block = (t: 64)\n compute i = (c, t, v: 2)\n time c\n vector v"
PLACES = {
    "warp": WARP,
    "block": BLOCK,
    "thread": "work grid = (g), block = (t: 32)\n compute r = (g, t)\n time i",
    "half": "work grid = (g), block = (e: 2, lane: 16)\n compute r = (g, e), i = (c, lane)\n time c",
    "slow": "work grid = (r), block = (u: 4, w: 24)\n compute i = (c, u, w)\n time c",
    "cells": "work grid = (g), block = (w: 2, lane: 32)\n compute r = (g, w, u: 2), i = (c, lane)\n time c\n register u",
    "once": "work grid = (r), block = (lane: 32)\n compute i = (lane, v: 4)\n register v\n where N <= 128",
    "turns": "work grid = (g), block = (lane: 32)\n compute r = (g, q: 2), i = (c, lane)\n time q, c",
}
OTHERS = {
    "offsets": "op o(x: i32[n]) -> (y: i32[n + 1]) { y[i] = scan_sum[k < i] x[k] }\n"
    "machine m : o { work block = (t: 64)\n compute i = (c, t, v: 2)\n time c\n register v }",
    "pairs": "op o(x: f32[R, N]) -> (m: f32[R, N], p: i32[R, N]) { (m[r, i], p[r, i]) = scan_argmax[k <= i] x[r, k] }\n"
    f"machine m : o {{ {WARP} }}",
    "two": "op o(x: f32[R, N]) -> (y: f32[R, N]) {"
    " y[r, i] = (scan_sum[k < i] x[r, k] * x[r, k]) / (1 + exp(scan_max[k <= i] x[r, k])) }\n"
    f"machine m : o {{ {WARP} }}",
    "shared": "op o(x: f32[R, N]) -> (y: f32[R, N], z: f32[R, N]) where N >= 1 {\n s[r] = sum[j] x[r, j]\n"
    " y[r, i] = scan_sum[k <= i] x[r, k] - s[r]\n z[r, i] = x[r, i] * scan_sum[k <= i] x[r, k] }\n"
    "machine m : o { work grid = (r), block = (lane: 32)\n compute i = (c, lane), j = (q, lane)\n time c, q }",
    "inside": "op o(x: f32[R, N, K]) -> (y: f32[R, N]) { y[r, i] = scan_max[k <= i] (sum[j] x[r, k, j]) }\n"
    "machine m : o { work grid = (r), block = (lane: 32)\n compute i = (c, lane)\n time c, j }",
    "three": LINE + "machine m : line {\n launch parts { work grid = (g), block = (t: 64)\n compute i = (g, t, v: 2)\n vector v }\n"
    " launch before { work block = (lane: 32)\n compute g = (c, lane)\n time c }\n"
    " launch last { work grid = (g), block = (t: 64)\n compute i = (g, t, v: 2)\n vector v } }",
}
ORDERED = {
    "warp": "work grid = (g), block = (w: 4, lane: 32)\n compute r = (g, w), k = (lane, c)\n time c",
    "block": "work grid = (r), block = (t: 64)\n compute k = (t, c: 4, v: 2)\n time c\n vector v\n where N <= 512",
    "half": "work grid = (g), block = (e: 2, lane: 16)\n compute r = (g, e), k = (lane, c)\n time c",
}


def cases() -> dict[str, str]:
    found = {f"sums {name}": SUMS + f"machine m : sums {{ {text} }}" for name, text in PLACES.items()}
    found |= {f"states {name}": AFFINE + f"machine m : states {{ {text} }}" for name, text in PLACES.items()}
    found |= {f"state {name}": AFFINE + f"machine m : state {{ {text} }}" for name, text in ORDERED.items()}
    return found | OTHERS


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_it_is_proved_for_a_gpu_and_for_a_cpu(name: str) -> None:
    (machine,) = machines(CASES[name]).values()
    for one in (machine, sequential(machine)):
        program = derive(one)
        assert isinstance(check(program), Proof) and reread(program, one).launches == program.launches
