"""Machines that are no spec, but ask of derivation what specs ask later: several folds, intermediates, nests, tails of every kind.

Goes out: `TEXT`, one file. The one idea: whatever is derived from it is run against the equations, so a new case is a few lines here.
"""

TEXT = """
op softmax(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {
  m[r] = max[j] x[r, j]
  s[r] = sum[j] exp(x[r, j] - m[r])
  y[r, j] = exp(x[r, j] - m[r]) / s[r]
}
machine softmax_thread : softmax {
  work grid = (g), block = (t: 32)
  compute r = (g, t)
  time j
}
machine softmax_vector : softmax {
  work grid = (g), block = (t: 32)
  compute r = (g, t), j = (c, v: 4)
  time c
  vector v
}
machine softmax_rows : softmax {
  work grid = (g), block = (t: 8)
  compute r = (g, t, u: 2)
  time j
  register u
}
machine softmax_stride : softmax {
  work grid = (g: 2), block = (t: 4)
  compute r = (a, g, t, u: 2), j = (c, v: 4)
  time a, c
  register u
  vector v
}

op layernorm(x: f32[R, N], w: f32[N], b: f32[N]) -> (y: f32[R, N]) where N >= 1 {
  mu[r] = (sum[j] x[r, j]) / f32(N)
  d[r, j] = x[r, j] - mu[r]
  va[r] = (sum[j] d[r, j] * d[r, j]) / f32(N)
  y[r, j] = d[r, j] * rsqrt(va[r] + 0.001) * w[j] + b[j]
}
machine layernorm_thread : layernorm {
  work grid = (g), block = (t: 32)
  compute r = (g, t)
  time j
}
machine layernorm_rows : layernorm {
  work grid = (g), block = (t: 8)
  compute r = (a: 3, g, t, u: 2)
  time a, j
  register u
}

op several(x: f32[R, N], z: f32[R, K], b: f32[R]) -> (y: f32[R], top: f32[R]) {
  y[r] = (sum[j] x[r, j] * x[r, j]) * (1 + sum[k] z[r, k]) + b[r] - sum[j] x[r, j]
  top[r] = max[j] abs(x[r, j])
}
machine several_thread : several {
  work grid = (g), block = (t: 32)
  compute r = (g, t)
  time j, k
}
machine several_rows : several {
  work grid = (g), block = (t: 32)
  compute r = (g, t, u: 3), k = (kc, kv: 2)
  time kc, j
  register u, kv
}

op largest(x: i32[R, N]) -> (m: i32[R]) where N >= 1 {
  m[r] = max[j] x[r, j]
}
machine largest_thread : largest {
  work grid = (g), block = (t: 32)
  compute r = (g, t)
  time j
}
machine largest_rows : largest {
  work grid = (g), block = (t: 32)
  compute r = (g, t, u: 3), j = (c, v: 4)
  time c
  register u
  vector v
}

op shared_loop(x: f32[n]) -> (y: f32[n], s: f32[]) where n >= 1 {
  y[i] = 2 * x[i]
  s[] = sum[j] x[j]
}
machine shared_loop_first : shared_loop {
  work grid = (g), block = (t: 32)
  compute i = (g, t)
  time j
}

op nested(x: f32[R, N, K]) -> (y: f32[R]) {
  y[r] = sum[j] (max[k] x[r, j, k]) * 0.5
}
machine nested_thread : nested {
  work grid = (g), block = (t: 32)
  compute r = (g, t)
  time j, k
}
machine nested_rows : nested {
  work grid = (g), block = (t: 4)
  compute r = (g, t, u: 2), j = (c, v: 4)
  time c, k
  register u
  vector v
}

op causal(x: f32[Q, Q], w: f32[Q, D]) -> (y: f32[Q, D]) {
  y[q, d] = sum[k <= q] x[q, k] * w[k, d]
}
machine causal_tile : causal {
  work grid = (g), block = (t: 8, e: 4)
  compute q = (g, t, u: 2), d = (h, e, f: 3)
  time h, k
  register u, f
}

op signs(x: f32[R, N]) -> (a: bool[R], b: bool[R]) {
  a[r] = any[j] (x[r, j] > 0)
  b[r] = all[j] (x[r, j] > -1.5)
}
machine signs_rows : signs {
  work grid = (g), block = (t: 8)
  compute r = (g, t, u: 2)
  time j
  register u
}

op half(A: f16[M, K], B: f16[K, N], c: f16[N]) -> (C: f16[M, N]) {
  C[i, j] = f16(max((sum[k] f32(A[i, k]) * f32(B[k, j])) + f32(c[j]), 0))
}
machine half_tile : half {
  work grid = (by, bx), block = (ty: 4, tx: 4)
  compute i = (by, ty, ri: 2), j = (bx, tx, rj: 4), k = (kc, kv: 2)
  time kc
  register ri, kv
  vector rj
}

op divide(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {
  C[i, j] = sum[k] A[i, k] / (B[k, j] * B[k, j] + 1)
}
machine divide_tile : divide {
  work grid = (by, bx), block = (ty: 4, tx: 4)
  compute i = (by, ty, ri: 2), j = (bx, tx, rj: 4)
  time k
  register ri
  vector rj
}

op shifted(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {
  C[i, j] = sum[k] (A[i, k - 1] if k > 0 and j > 1 else 0) * B[k, j | 0]
}
machine shifted_tile : shifted {
  work grid = (by, bx), block = (ty: 4, tx: 4)
  compute i = (by, ty, ri: 2), j = (bx, tx, rj: 4)
  time k
  register ri
  vector rj
}

op change(x: f32[R, N]) -> (d: f32[R]) {
  d[r] = (sum[j] x[r, j]) - ((sum[j] x[r - 1, j]) if r > 0 else 0)
}
machine change_thread : change {
  work grid = (g), block = (t: 32)
  compute r = (g, t)
  time j
}
machine change_rows : change {
  work grid = (g), block = (t: 4)
  compute r = (g, t, u: 3)
  time j
  register u
}

# Where i + j >= K the reads would leave A, and the cells of j do not know i.
op corner(A: f32[K], B: f32[M], C: f32[N, K]) -> (y: f32[M, N]) {
  y[i, j] = sum[k <= j] B[i] * A[j - k] * C[j, k] if j < K else B[i]
}
machine corner_tile : corner {
  work grid = (by, bx), block = (ty: 2, tx: 2)
  compute i = (by, ty, ri: 2), j = (bx, tx, rj: 3)
  time k
  register ri, rj
}

op staircase(A: f32[M], B: f32[N]) -> (y: f32[M, N]) {
  y[i, j] = (sum[k < 3] A[i - k]) * B[j] if i >= 2 and i + j > 4 else (sum[k < 3] (B[j - k] if j - k >= 0 else 0))
}
machine staircase_tile : staircase {
  work grid = (by, bx), block = (ty: 2, tx: 2)
  compute i = (by, ty, ri: 2), j = (bx, tx, rj: 3)
  register ri, rj, k
}

op whole(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) where K % 2 == 0, N % 12 == 0 {
  C[i, j] = sum[k] A[i, k] * B[k, j]
}
machine whole_tile : whole {
  work grid = (by, bx), block = (ty: 4, tx: 4)
  compute i = (by, ty, ri: 2), j = (bx, tx, rj: 4), k = (kc, kv: 2)
  time kc
  register ri
  vector rj, kv
}

op gather(W: f32[V, D], which: i32[n]) -> (y: f32[n, D]) where V >= 1 {
  y[t, d] = W[which[t], d]
}
machine gather_rows : gather {
  work grid = (t, b), block = (e: 32)
  compute d = (b, e, v: 4)
  vector v
}

op one(x: f32[n]) -> (s: f32[]) {
  s[] = prod[i] (1 + 0.01 * x[i])
}
machine one_thread : one {
  work grid = (), block = ()
  compute i = (c, v: 4)
  time c
  register v
}
"""
