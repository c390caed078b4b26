"""Programs that are nearly right: what a careless way of following loops, rings, pieces and lanes would prove.

Comes in: nothing. Goes out: an op and a program in two versions, right and wrong. The one idea: each trap is set for one rule of a prover.
"""

from __future__ import annotations

SUM = "op total(x: f32[n]) -> (s: f32[]) { s[] = sum[i] x[i] }"
MAX = "op largest(x: f32[n]) -> (s: f32[]) { s[] = max[i] x[i] }"
ROWS = "op rows(x: f32[R, N]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }"
COPY = "op copy(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }"
LAST = "op last(x: f32[n]) -> (y: f32[]) where n >= 1 { y[] = x[n - 1] }"
PREFIX = "op prefix(x: f32[R, 32]) -> (y: f32[R, 32]) { y[r, i] = sum[k <= i] x[r, k] }"
ONE = "work grid = (g: 1), block = (t: 1)"
ROW = "work grid = (g: R), block = (lane: 32)"
HALVES = """local a: f32[]
a[] = {0}
for c < {1} {{ a[] {2}= x[c] }}
for d < {1} {{ a[] {2}= x[n - 1 - d] }}
s[] = a[]"""
RING = """local p: f32[2]
for c < n {{
  {0}
}}
y[] = p[(n - 1) % 2]"""
SCAN = """local v: f32[]
local u: f32[]
v[] = x[g, lane]
{}
y[g, lane] = v[]"""
STEPS = "\n".join(f"u[] = shuffle_up(v[], {d})\nv[] += u[] if lane >= {d}" for d in (1, 2, 4, 8, 16))
TRAPS = (  # op, work, right program or nothing, wrong program
    # two pieces that overlap where n is odd: right for a maximum, wrong for a sum
    (MAX, ONE, HALVES.format("-inf", "ceil(n / 2)", "max"), HALVES.format("-inf", "n // 2", "max")),
    (SUM, ONE, "", HALVES.format("0", "ceil(n / 2)", "+")),
    # the value of the turn before
    (SUM, ONE, "local a: f32[]\na[] = 0\nfor c < n { a[] += x[c] }\ns[] = a[]",
     "local a: f32[]\nlocal p: f32[]\na[] = 0\np[] = 0\nfor c < n { a[] += p[]\np[] = x[c] }\ns[] = a[]"),
    # a sum that is not begun anew for each row
    (ROWS, ONE, "local a: f32[]\nfor r < R { a[] = 0\nfor j < N { a[] += x[r, j] }\ns[r] = a[] }",
     "local a: f32[]\na[] = 0\nfor r < R { for j < N { a[] += x[r, j] }\ns[r] = a[] }"),
    # a store in each turn
    (SUM, ONE, "", "local a: f32[]\na[] = 0\nfor c < n { a[] += x[c]\ns[] = a[] }"),
    # the slot of a ring that not every turn writes
    (LAST, ONE, RING.format("p[c % 2] = x[c]"), RING.format("p[c % 2] = x[c] if c % 4 < 3")),
    (LAST, ONE, "local p: f32[]\nfor c < n { p[] = x[c] }\ny[] = p[]", "local p: f32[]\nfor c < n { p[] = x[c] if c >= 1 }\ny[] = p[]"),
    (LAST, ONE, "local p: f32[]\nfor c < n { p[] = x[c] if c == n - 1 }\ny[] = p[]",
     "local p: f32[]\nfor c < n { p[] = x[c] if c == n - 2 }\ny[] = p[]"),
    # lanes below the distance get their own value twice
    (PREFIX, ROW, SCAN.format(STEPS), SCAN.format(STEPS.replace("v[] += u[] if lane >= 4", "v[] += u[]"))),
    (PREFIX, ROW, SCAN.format(STEPS), SCAN.format(STEPS.replace("if lane >= 2", "if lane >= 1"))),
    # the old value of another array
    (PREFIX, ROW, SCAN.format(STEPS), SCAN.format(STEPS.replace("u[] = shuffle_up(v[], 8)\n", ""))),
    # a tile whose cells other threads wrote
    (COPY, "work grid = (g: ceil(n / 32)), block = (t: 32)",
     "shared s: f32[32]\ns[31 - t] = x[g*32 + t] if g*32 + t < n else 0\nbarrier\ny[g*32 + t] = s[31 - t] if g*32 + t < n",
     "shared s: f32[32]\ns[31 - t] = x[g*32 + t] if g*32 + t < n else 0\nbarrier\ny[g*32 + t] = s[t] if g*32 + t < n"),
    (COPY, "work grid = (g: ceil(n / 32)), block = (t: 32)",
     "shared s: f32[64]\ns[t] = x[g*32 + t] if g*32 + t < n\nbarrier\ny[g*32 + t] = s[t] if g*32 + t < n",
     "shared s: f32[64]\ns[t] = x[g*32 + t] if g*32 + t < n - 1\nbarrier\ny[g*32 + t] = s[t] if g*32 + t < n"),
    # every thread of the block adds what one should
    (SUM, "", """launch (grid = (), block = (one: 1)) { s[] = 0 }
launch (grid = (g: n), block = (t: 32)) { atomic s[] += x[g] if t == 0 }""",
     """launch (grid = (), block = (one: 1)) { s[] = 0 }
launch (grid = (g: n), block = (t: 32)) { atomic s[] += x[g] }"""),
    # the parts of a launch that comes later
    (SUM, "", "workspace p: f32[n]\nlaunch (grid = (g: n), block = (t: 1)) { p[g] = x[g] }\n"
     "launch (grid = (), block = (t: 1)) { local a: f32[]\na[] = 0\nfor i < n { a[] += p[i] }\ns[] = a[] }",
     "workspace p: f32[n]\nlaunch (grid = (), block = (t: 1)) { local a: f32[]\na[] = 0\nfor i < n { a[] += p[i] }\ns[] = a[] }\n"
     "launch (grid = (g: n), block = (t: 1)) { p[g] = x[g] }"),
    # a maximum that begins with a number
    (MAX, ONE, "local a: f32[]\na[] = -inf\nfor i < n { a[] max= x[i] }\ns[] = a[]",
     "local a: f32[]\na[] = 0\nfor i < n { a[] max= x[i] }\ns[] = a[]"),
    # a cell that is declared in the loop has no value in the next turn
    (SUM, ONE, "", "local a: f32[]\na[] = 0\nfor c < n { local b: f32[]\nb[] += x[c]\na[] += b[] }\ns[] = a[]"),
)  # fmt: skip


def text(op: str, work: str, program: str) -> str:
    return f"{op}\nmachine m : {op.split()[1].partition('(')[0]} {{\n{work}\nprogram {{\n{program}\n}}\n}}\n"
