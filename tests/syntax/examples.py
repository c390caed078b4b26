"""The texts that the language is known by, one for each construct: some shipped specs, and what no spec says.

Comes in: `specs/`. Goes out: `EXAMPLES`, name to text, all of which parse and are in the one style already.
The one idea: whoever changes the grammar sees here what must stay readable.
"""

from __future__ import annotations

from pathlib import Path

SPECS = Path(__file__).resolve().parents[2] / "specs"

TOTAL = """\
import "elementwise.tgpu"
param BM = 128
param BN in {64, 128, 256}

op total(x: f32[n]) -> (s: f32[]) {
  s[] = sum[i] x[i]
}

machine total_two : total {
  launch partial {
    work    grid = (g: 264), block = (t: 256)
    compute i = (c, g, t, v: 4)
    time    c
    vector  v
  }
  launch final { work block = (g: 264) }  # the fold goes on over g, now carried by the block
}

machine total_named : total, mean on sm_80 where n % 4 == 0 {
  param     BM in {64, 128}
  where     BM % 4 == 0, n >= 1
  equations s, m
  compute   s: i = (g, t)
  reduce s over w, lane by shared
  keep x in register
  for s { compute (i, j) = (c, lane) }
}
"""

STAGES = """\
machine matmul_ring : matmul_f16 on sm_80 {
  work     grid = (by, bx), block = (wy: 2, wx: 4, lane: 32)
  time     ko, kk
  register mi, mj
  stage A[i, k] at ko in shared ring 3 async { layout swizzle(3, 3, 3) }
  stage A[i, k] at kk in register by ldmatrix_x4
}
"""

READS = """\
op read[T in {f16, f32}](x: T[P, Q], c: i32[n]) -> (y: T[P, Q], h: i32[B]) where all[t] (c[t] < V) {
  y[p, q] = sum[r < 3] x[p + r - 1, q | 0] if p > 0 and not q == 3 or true else where(q < 2, 0, 1)
  h[b]    = sum[i] (1 if x[i, i] == b else 0)
  z[p, q] = max(x[p ^ 1, c[q]], 2 * -x[q // 4 % 8, p]) - -sum[k] f32(k) * 1e-3
}
"""

PROGRAM = """\
op ring_difference(x: f32[n]) -> (z: f32[n]) where n % 256 == 0 {
  z[i] = x[i] - x[i // 256 * 256 + (i + 1) % 256]
}

machine ring_difference_shared : ring_difference {
  work grid = (b: n // 256), block = (t: 256)
  program {
    shared s: f32[256]
    s[t] = x[b*256 + t]
    barrier
    z[b*256 + t] = s[t] - s[(t + 1) % 256]
  }
}

machine by_hand : matmul {
  program {
    launch (grid = (by: ceil(M / 64)), block = (ty: 8, tx: 8)) {
      local acc: f32[8, 8]
      local v: f32[]
      shared tile: f32[32, 32] (j, i) pad 1
      workspace w: f32[n] swizzle(3, 3, 3)
      for ri < 8 in register { for rj < 8 in register { acc[ri, rj] = 0 } }
      for k < K {
        v[] = A[by*64 + ty*8, k] if by*64 + ty*8 < M else 0
        acc[0, 0] += v[] * B[k, tx] if k < K and tx < N
        acc[0, 1] *= 2
        acc[0, 0] holds sum[l < k] A[by, l] * B[l, tx]
      }
      for d in (16, 8, 4, 2, 1) { v[] max= shuffle_xor(v[], d) }
      for e < 4 in vector { C[by, tx*4 + e] = acc[0, e] if tx*4 + e < N }
      if tx == 0 { atomic s[] += v[] }
      warp barrier
      commit
      wait 1
    }
  }
}
"""

MONOID = """\
# the running maximum, and the sum of what is left of it
monoid lse(m: f32, s: f32) where s >= 0 {
  unit    (-inf, 0)
  lift    (x) = (x, 1)
  combine (a, b) = (max(a.m, b.m), a.s if b.s == 0 else b.s)
  result  (m + log(s))
}

op pairs(x: f32[R, N]) -> (m: f32[R], s: f32[R]) {
  (m[r], s[r]) = fold lse[j] x[r, j]
}

machine pairs_rows : pairs {
  work grid = (), block = (t: 32)
  program {
    local l: lse[]
    l[] = lse(-inf, 0)
    for j < N { l[] lse= lse(x[t, j], 1) if t < R }
    m[t] = l[].m if t < R
    s[t] = l[].s if t < R
  }
}
"""

EXAMPLES = {
    **{name: (SPECS / f"{name}.tgpu").read_text(encoding="utf-8") for name in ("saxpy", "transpose", "matmul_shared", "softmax")},
    "total": TOTAL,
    "stages": STAGES,
    "reads": READS,
    "program": PROGRAM,
    "monoid": MONOID,
}
