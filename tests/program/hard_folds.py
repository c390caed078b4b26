"""Machines that ask of folds across workers what specs may ask later: nests, intermediates, several launches, shared factors.

Goes out: `TEXT`, one file. The one idea: whatever is derived from it is run against the equations, so a new case is a few lines here.
"""

TEXT = """
op nested(x: f32[R, N, K]) -> (y: f32[R]) {
  y[r] = sum[j] (max[k] x[r, j, k]) * 0.5
}
machine nested_inner : nested {
  work grid = (g), block = (t: 4, l: 8)
  compute r = (g, t), k = (c, l)
  time j, c
}
machine nested_outer : nested {
  work grid = (g), block = (t: 4, l: 8)
  compute r = (g, t), j = (c, l)
  time c, k
}
machine nested_both : nested {
  work grid = (g), block = (t: 4, w: 3, l: 8)
  compute r = (g, t), k = (c, l), j = (d, w)
  time d, c
}
machine nested_block : nested {
  work grid = (r), block = (w: 2, l: 64)
  compute k = (c, l), j = (d, w, u: 2)
  time d, c
  register u
}

op two(x: f32[R, N], z: f32[R, K]) -> (y: f32[R], top: f32[R], d: f32[R, N]) where N >= 1 {
  y[r] = (sum[j] x[r, j] * x[r, j]) * (1 + sum[k] z[r, k]) - sum[j] x[r, j]
  m[r] = max[j] x[r, j]
  top[r] = m[r]
  d[r, j] = m[r] - x[r, j]
}
machine two_warp : two {
  work grid = (g), block = (w: 2, l: 16)
  compute r = (g, w), j = (c, l)
  time c, k
}
machine two_stride : two {
  work grid = (g: 3), block = (w: 2, l: 64)
  compute r = (a, g, w, u: 2), j = (c, l), k = (e, v: 2)
  time a, c, e
  register u
  vector v
}
machine two_alone : two {
  work grid = (g: 3), block = (w: 2, l: 64)
  compute r = (a, g, w, u: 2), j = (c, l)
  time a, c, k
  register u
}

op causal(x: f32[Q, Q], w: f32[Q, D]) -> (y: f32[Q, D]) {
  y[q, d] = sum[k <= q] x[q, k] * w[k, d]
}
machine causal_split : causal {
  work grid = (g), block = (t: 8, e: 4)
  compute q = (g, u: 2), d = (h, e, f: 3), k = (c, t)
  time h, c
  register u, f
}
machine causal_atomic : causal {
  work grid = (g, s: 3), block = (t: 8, e: 4)
  compute q = (g, u: 2), d = (h, e, f: 3), k = (c, s, t)
  time h, c
  register u, f
  reduce y over s by atomic
}
machine causal_two : causal {
  launch a {
    work grid = (g, s), block = (t: 8, e: 4)
    compute q = (g, u: 2), d = (h, e, f: 3), k = (s, t)
    time h
    register u, f
  }
  launch b {
    work grid = (q), block = (l: 4, dd: 8)
    compute d = (h, dd), s = (cc, l)
    time h, cc
  }
}

op change(x: f32[R, N]) -> (d: f32[R]) {
  d[r] = (sum[j] x[r, j]) - ((sum[j] x[r - 1, j]) if r > 0 else 0)
}
machine change_warp : change {
  work grid = (g), block = (t: 4, l: 8)
  compute r = (g, t), j = (c, l)
  time c
}
machine change_rows : change {
  work grid = (g), block = (l: 6, t: 4)
  compute r = (g, t, u: 3), j = (c, l)
  time c
  register u
}

op largest(x: i32[R, N]) -> (m: i32[R], k: i32[R]) where N >= 1 {
  m[r] = max[j] x[r, j]
  k[r] = min[j] x[r, j]
}
machine largest_three : largest {
  launch a {
    equations m, k
    work grid = (r, g), block = (t: 12)
    compute j = (g, t)
  }
  launch b {
    equations m, k
    work grid = (b), block = (t: 8)
    compute r = (b, t)
    time g
  }
}
machine largest_rows : largest {
  work grid = (b: 2), block = (t: 40)
  compute r = (a, b, u: 2), j = (c, t)
  time a, c
  register u
}

op grand(x: f32[R, N]) -> (s: f32[], z: f32[R]) where R >= 1 {
  q[r, j] = x[r, j] * x[r, j]
  s[] = sum[r, j] q[r, j]
  z[r] = sum[j] q[r, j]
}
machine grand_block : grand {
  work grid = (), block = (w: 4, l: 8)
  compute r = (a, w), j = (c, l)
  time a, c
}
machine grand_merged : grand {
  launch a {
    equations s
    work grid = (g: 3), block = (t: 64)
    compute (r, j) = (c, g, t)
    time c
  }
  launch b {
    equations s, z
    work grid = (r), block = (l: 32)
    for z { compute j = (c, l) }
    time g, c
  }
}
machine grand_atomic : grand {
  work grid = (g), block = (w: 4, l: 8)
  compute r = (g, w), j = (c, l)
  time c
  reduce s over g by atomic
}

op stats(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1, R >= 1 {
  mu[j] = (sum[r] x[r, j]) / f32(R)
  d[r, j] = x[r, j] - mu[j]
  va[j] = (sum[r] d[r, j] * d[r, j]) / f32(R)
  top[] = max[j] va[j]
  y[r, j] = d[r, j] / (top[] + 1)
}
machine stats_launches : stats {
  launch a {
    equations mu
    work grid = (g, h: 2), block = (w: 4, l: 8)
    compute j = (g, l), r = (c, h, w)
    time c
  }
  launch b {
    equations mu
    work grid = (g), block = (t: 16)
    compute j = (g, t)
    time h
  }
  launch c {
    equations va
    work grid = (g), block = (w: 4, l: 8)
    compute j = (g, l), r = (c, w)
    time c
  }
  launch d {
    equations top
    work grid = (), block = (l: 64)
    compute j = (c, l)
    time c
  }
  launch e {
    equations y
    work grid = (g), block = (t: 32)
    compute (r, j) = (g, t)
  }
}
machine stats_kept : stats {
  launch a {
    equations mu, d, va
    work grid = (g), block = (w: 4, l: 8)
    compute j = (g, l), r = (c, w)
    time c
  }
  launch b {
    equations top, y
    work grid = (g: 2), block = (t: 32)
    compute j = (c, t), r = (a, g)
    time a, c
  }
}

op placed(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {
  m[r] = max[j] x[r, j]
  s[r] = sum[j] exp(x[r, j] - m[r])
  y[r, j] = exp(x[r, j] - m[r]) / s[r]
}
machine placed_apart : placed {
  work grid = (r), block = (w: 2, l: 16)
  compute j = (c, w, l)
  time c, e
  for s { compute j = (e, l, w) }
  for y {
    compute j = (b: 2, d, l, v: 4)
    register b
    time d
    vector v
  }
  for m { reduce m over l by shared }
}
machine placed_kept : placed where N <= 96 {
  work grid = (g: 2), block = (w: 2, l: 16)
  compute r = (a, g, w), j = (c: 3, l, v: 2)
  time a
  register c
  vector v
  keep x in register
}
machine placed_left : placed {
  launch one {
    equations m, s
    work grid = (g), block = (w: 2, l: 16)
    compute r = (g, w), j = (c, l)
    time c
  }
  launch two {
    equations y
    work grid = (g), block = (t: 32)
    compute (r, j) = (g, t, v: 2)
    register v
  }
}
machine placed_again : placed {
  launch one {
    equations m, s
    work grid = (g), block = (w: 2, l: 16)
    compute r = (g, w), j = (c, l)
    time c
  }
  launch two {
    equations m, y
    work grid = (g), block = (w: 2, l: 16)
    compute r = (g, w), j = (c, l)
    time c
  }
}
"""
