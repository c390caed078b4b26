"""Programs of threads that work together, as text: one for each way of doing so.

Goes out: `TEXTS`, name → a whole file; `SIZES`, name → sizes. The one idea: reading, rendering, simulation, proof and emission are tested on the same texts.
"""

from __future__ import annotations

TRANSPOSE = "op transpose(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }\n"
MATMUL = "op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }\n"
ROW_MAX = "op row_max(x: f32[R, N]) -> (m: f32[R]) where N >= 1 { m[r] = max[j] x[r, j] }\n"
TOTAL = "op total(x: f32[n]) -> (s: f32[]) { s[] = sum[i] x[i] }\n"
HISTOGRAM = (
    "op histogram(x: i32[n]) -> (h: i32[m]) where all[i] (0 <= x[i] and x[i] < m) { h[b] = sum[i] (1 if x[i] == b else 0) }\n"
)

RING = """
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
"""

TRANSPOSE_PADDED = f"""{TRANSPOSE}
machine transpose_padded : transpose {{
  work grid = (bi: ceil(M / 32), bj: ceil(N / 32)), block = (ty: 8, tx: 32)
  program {{
    shared s: f32[32, 32] pad 1
    for h < 4 in register {{
      s[h*8 + ty, tx] = x[bi*32 + h*8 + ty, bj*32 + tx] if bi*32 + h*8 + ty < M and bj*32 + tx < N
    }}
    barrier
    for h < 4 in register {{
      y[bj*32 + h*8 + ty, bi*32 + tx] = s[tx, h*8 + ty] if bj*32 + h*8 + ty < N and bi*32 + tx < M
    }}
  }}
}}
"""

WARP_MAX = f"""{ROW_MAX}
machine row_max_warp : row_max {{
  work grid = (g: ceil(R / 4)), block = (w: 4, lane: 32)
  program {{
    local m_: f32[]
    m_[] = -inf
    for c < ceil(N / 32) {{ m_[] max= x[g*4 + w, c*32 + lane] if g*4 + w < R and c*32 + lane < N }}
    for d in (16, 8, 4, 2, 1) {{ m_[] max= shuffle_xor(m_[], d) }}
    m[g*4 + w] = m_[] if g*4 + w < R and lane < 1
  }}
}}
"""

BLOCK_SUM = f"""{TOTAL}
machine total_block : total {{
  work block = (t: 256)
  program {{
    shared p: f32[256]
    local a: f32[]
    a[] = 0
    for c < ceil(n / 256) {{ a[] += x[c*256 + t] if c*256 + t < n }}
    p[t] = a[]
    barrier
    for d in (128, 64, 32, 16, 8, 4, 2, 1) {{
      p[t] += p[t + d] if t < d
      barrier
    }}
    s[] = p[0] if t < 1
  }}
}}
"""

TWO_LAUNCHES = f"""{TOTAL}
machine total_two : total {{
  program {{
    workspace part: f32[264]
    launch (grid = (g: 264), block = (t: 32)) {{
      local a: f32[]
      a[] = 0
      for c < ceil(n / 8448) {{ a[] += x[(c*264 + g)*32 + t] if (c*264 + g)*32 + t < n }}
      for d in (16, 8, 4, 2, 1) {{ a[] += shuffle_down(a[], d) }}
      part[g] = a[] if t < 1
    }}
    launch (grid = (), block = ()) {{
      local b: f32[]
      b[] = 0
      for g < 264 {{ b[] += part[g] }}
      s[] = b[]
    }}
  }}
}}
"""

HISTOGRAM_ATOMIC = f"""{HISTOGRAM}
machine histogram_atomic : histogram {{
  program {{
    launch (grid = (g: ceil(m / 256)), block = (t: 256)) {{ h[g*256 + t] = 0 if g*256 + t < m }}
    launch (grid = (g: ceil(n / 256)), block = (t: 256)) {{ atomic h[x[g*256 + t]] += 1 if g*256 + t < n }}
  }}
}}
"""

MATMUL_TILED = f"""{MATMUL}
machine matmul_tiled : matmul {{
  work grid = (by: ceil(M / 16), bx: ceil(N / 16)), block = (ty: 16, tx: 16)
  program {{
    shared a: f32[16, 16]
    shared b: f32[16, 16] swizzle(2, 2, 4)
    local acc: f32[]
    acc[] = 0
    for ko < ceil(K / 16) {{
      a[ty, tx] = A[by*16 + ty, ko*16 + tx] if by*16 + ty < M and ko*16 + tx < K else 0
      b[ty, tx] = B[ko*16 + ty, bx*16 + tx] if ko*16 + ty < K and bx*16 + tx < N else 0
      barrier
      for ki < 16 {{ acc[] += a[ty, ki] * b[ki, tx] if ko*16 + ki < K }}
      barrier
    }}
    C[by*16 + ty, bx*16 + tx] = acc[] if by*16 + ty < M and bx*16 + tx < N
  }}
}}
"""

TEXTS = {
    "ring_difference": RING,
    "transpose_padded": TRANSPOSE_PADDED,
    "row_max_warp": WARP_MAX,
    "total_block": BLOCK_SUM,
    "total_two": TWO_LAUNCHES,
    "histogram_atomic": HISTOGRAM_ATOMIC,
    "matmul_tiled": MATMUL_TILED,
}

SIZES = {  # some at which every part of the program has to do something
    "ring_difference": {"n": 768},
    "transpose_padded": {"M": 70, "N": 45},
    "row_max_warp": {"R": 9, "N": 77},
    "total_block": {"n": 999},
    "total_two": {"n": 9000},
    "histogram_atomic": {"n": 700, "m": 300},
    "matmul_tiled": {"M": 19, "N": 33, "K": 37},
}
