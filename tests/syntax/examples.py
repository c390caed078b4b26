"""The texts that the language is known by, one for each construct: what `language.md` shows, and what it only says.

Comes in: nothing. Goes out: `EXAMPLES`, name to text, all of which parse and are in the one style already.
The one idea: whoever changes the grammar sees here what must stay readable.
"""

from __future__ import annotations

SAXPY = """\
# z = a·x + y
op saxpy(a: f32, x: f32[n], y: f32[n]) -> (z: f32[n]) {
  z[i] = a * x[i] + y[i]
}

machine saxpy_v4 : saxpy {
  work    grid = (g), block = (t: 256)
  compute i = (g, t, v: 4)
  vector  v
}

machine saxpy_term : saxpy, axpby on sm_80 where n % 4 == 0 {
  work     grid = (g: ceil(n / 1024)), block = (t: 256)
  compute  i = g*1024 + v*256 + t
  register v: 4
}

machine flat : saxpy {
  work    grid = (), block = (t: 256)
  compute (i, j) = (g, t, v: 4)
  time    g
}
"""

TRANSPOSE = """\
op transpose(x: f32[M, N]) -> (y: f32[N, M]) {
  y[j, i] = x[i, j]
}

machine transpose_tiled : transpose {
  work     grid = (bi, bj), block = (ty: 8, tx: 32)
  compute  i = (bi, tx), j = (bj, u: 4, ty)
  register u
  stage x[i, j] at block in shared {
    compute  i = (h: 4, ty), j = tx  # the copy's own assignment of the same 256 threads
    register h
    layout   pad 1  # or: swizzle
  }
  stage x[a, b] at block in shared { layout swizzle }
}
"""

MATMUL = """\
op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {
  C[i, j] = sum[k] A[i, k] * B[k, j]
}

machine matmul_shared : matmul {
  work     grid = (by, bx), block = (ty: 16, tx: 16)
  compute  i = (by, ty, ri: 8)
           j = (bx, rh: 2, tx, rj: 4)
           k = (ko, ki: 8)
  time     ko, ki
  register ri, rh, rj
  stage A[i, k] at ko in shared {
    work    block = (r: 128, c: 2)
    compute i = r, k = (c, v: 4)
    vector  v
    layout  (k, i) pad 4
  }
  stage B[k, j] at ko in shared {
    work    block = (r: 8, c: 32)
    compute k = r, j = (c, v: 4)
    vector  v
  }
}
"""

SOFTMAX = """\
op softmax(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {
  m[r]    = max[j] x[r, j]
  s[r]    = sum[j] exp(x[r, j] - m[r])
  y[r, j] = exp(x[r, j] - m[r]) / s[r]
}

machine softmax_warp : softmax {
  work    grid = (g), block = (w: 4, lane: 32)
  compute r = (g, w), j = (c, lane, v: 4)
  time    c
  vector  v
  reduce s over w, lane by shared
  keep x in register
  for s { compute j = (c, lane) }
}

op online(x: f32[R, N]) -> (y: f32[R, N]) {
  (m[r], l[r]) = fold lse[j] x[r, j]
  y[r, j]      = exp(x[r, j] - m[r]) / l[r] + p.mean - sum[k <= r, q < 3] x[k, q]
}
"""

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

machine total_named : total {
  param     BM in {64, 128}
  where     BM % 4 == 0, n >= 1
  equations s, m
  compute   s: i = (g, t)
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
    "saxpy": SAXPY,
    "transpose": TRANSPOSE,
    "matmul": MATMUL,
    "softmax": SOFTMAX,
    "total": TOTAL,
    "stages": STAGES,
    "reads": READS,
    "program": PROGRAM,
    "monoid": MONOID,
}
