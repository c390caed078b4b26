"""Right programs, and one fault each: what shows that the judge sees.

Comes in: nothing. Goes out: texts, and for each fault the verdict and a piece of the sentence that the judge has to give.
The one idea: an instrument that has never been seen to fail measures nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.meaning.judge import LOOSE, WRONG

RIGHT_PROGRAMS = {
    "elements": """
op f(x: f32[n], w: f32[n]) -> (y: f32[n]) { y[i] = x[i]/w[i] }

machine m : f {
  work grid = (g: ceil(n / 4)), block = (t: 4)
  program {
    local v: f32[]
    v[] = 1
    if g*4 + t < n { y[g*4 + t] = x[g*4 + t]/w[g*4 + t] if v[] > 0 }
  }
}
""",
    "rows": """
op f(x: f32[R, M]) -> (y: f32[R], z: f32[R]) {
  y[r] = max[k] x[r, k]
  z[r] = sum[k] exp(x[r, k])
}

machine m : f {
  work grid = (g: ceil(R / 2)), block = (t: 2)
  program {
    local q: f32[]
    local s: f32[]
    if g*2 + t < R {
      q[] = -inf
      s[] = 0
      for k < M {
        q[] max= x[g*2 + t, k]
        s[] += exp(x[g*2 + t, k])
      }
      s[] holds sum[k < M] exp(x[g*2 + t, k])
      y[g*2 + t] = q[]
      z[g*2 + t] = s[]
    }
  }
}
""",
    "integers": """
op f(x: u8[n], z: i32[n]) -> (y: u8[n], h: i32[n]) where all[i] (z[i] >= 0) {
  y[i] = x[i] + 1
  h[i] = z[i] // 2
}

machine m : f {
  work grid = (g: ceil(n / 4)), block = (t: 4)
  program {
    if g*4 + t < n {
      y[g*4 + t] = x[g*4 + t] + 1
      h[g*4 + t] = z[g*4 + t] // 2
    }
  }
}
""",
    "shared": """
op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i // 4*4 + 3 - i % 4 | 0] + 0*x[i] }

machine m : f {
  work grid = (g: ceil(n / 4)), block = (t: 4)
  program {
    shared s: f32[4]
    s[t] = x[g*4 + t | 0]
    barrier
    y[g*4 + t] = s[3 - t] if g*4 + t < n
  }
}
""",
    "launches": """
op f(x: f32[n]) -> (q: f32[]) { q[] = sum[i] x[i] }

machine m : f {
  program {
    workspace w: f32[ceil(n / 2)]
    launch (grid = (g: ceil(n / 2)), block = (t: 1)) { w[g] = x[2*g] + x[2*g + 1 | 0] }
    launch (grid = (), block = (o: 1)) { q[] = 0 }
    launch (grid = (h: ceil(n / 2)), block = (u: 1)) { atomic q[] += w[h] }
  }
}
""",
    "lanes": """
op f(x: f32[n]) -> (q: f32[]) where n <= 32 { q[] = sum[i] x[i] }

machine m : f {
  work grid = (g: 1), block = (t: 32)
  program {
    local v: f32[]
    v[] = x[t | 0]
    for d in (16, 8, 4, 2, 1) { v[] += shuffle_xor(v[], d) }
    q[] = v[] if t == 0
  }
}
""",
    "pairs": """
monoid top(v: f32, c: f32) {
  unit    (-inf, 0)
  lift    (x) = (x, 1)
  combine (a, b) = (max(a.v, b.v), a.c + b.c)
}

op f(x: f32[R, M]) -> (y: f32[R]) { y[r] = (fold top[k] x[r, k]).v }

machine m : f {
  work grid = (g: R), block = (t: 1)
  program {
    local q: top[]
    q[] = top(-inf, 0)
    for k < M { q[] top= top(x[g, k], 1) }
    y[g] = q[].v if t == 0
  }
}
""",
    "gather": """
op f(x: f32[m], z: i64[n]) -> (y: f32[n]) where all[i] (z[i] >= 0 and z[i] < i64(m)) { y[i] = x[z[i]] }

machine m : f {
  work grid = (g: n), block = (t: 1)
  program { y[g] = x[z[g]] if t == 0 }
}
""",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of a right program, and what the judge says of it."""

    program: str
    title: str
    old: str
    new: str
    why: str
    kind: str = WRONG
    times: int = 1  # how often the piece is replaced; -1 is everywhere


LOGARITHM = "= (x[g*4 + t] if log(x[g*4 + t]) > 0 else x[g*4 + t] + 0)/"
FAULTS = (
    Fault("elements", "another value", "w[g*4 + t] if", "w[g*4 + t] + 1 if", "it should be"),
    Fault("elements", "outside", "if g*4 + t < n {", "if g*4 + t <= n {", "is outside of"),
    Fault("elements", "not stored", "if v[] > 0", "if v[] > 1", "is never stored"),
    Fault("elements", "a guard without a value", "if v[] > 0", "if x[g*4 + t]/x[g*4 + t] == 1", "is never stored"),
    Fault("elements", "the same below", "if v[] > 0", "if not (log(x[g*4 + t]) < 0 and x[g*4 + t] < 0)", "is never stored"),
    Fault("elements", "unwritten", "v[] = 1\n", "v[] = 1 if t < 2\n", "which nobody wrote"),
    Fault("elements", "unwritten and dropped", "    v[] = 1\n", "", "which nobody wrote"),
    Fault("elements", "rounding decides", "if v[] > 0", "if x[g*4 + t] + 1 > x[g*4 + t]", "is never stored"),
    Fault("elements", "rounding decides a read", "= x[g*4 + t]/", "= (x[g*4 + t] if w[0] + 1 > w[0] else x[n])/", "is outside of"),
    Fault("elements", "nothing depends on it", "= x[g*4 + t]/", LOGARITHM, "it evaluates what has no value", LOOSE),
    Fault("elements", "inf - inf", "= x[g*4 + t]/", "= (x[g*4 + t] + inf - inf)/", "is undefined"),
    Fault("elements", "stored twice", "if v[] > 0", "if v[] > 0\n      y[g*4 + t] = x[g*4 + t]/w[g*4 + t]", "stored twice", LOOSE),
    Fault("elements", "the equation is outside", "y[i] = x[i]/w[i]", "y[i] = x[i]/w[i] + 0*x[i + 1]", "the equation reads"),
    Fault("rows", "nothing is taken for a number", "y[g*2 + t] = q[]", "y[g*2 + t] = q[] + 0*q[]", "is undefined"),
    Fault("rows", "another unit", "q[] = -inf", "q[] = 0", "it should be"),
    Fault("rows", "another exponential", "s[] += exp(x[g*2 + t, k])", "s[] += exp(x[g*2 + t, k] + 0.000001)", "does not hold"),
    Fault("rows", "a false ghost", "holds sum[k < M] exp", "holds sum[k < M - 1] exp", "does not hold"),
    Fault("rows", "the last turn is missing", "for k < M {", "for k < M - 1 {", "does not hold"),
    Fault("integers", "it does not wrap", "= x[g*4 + t] + 1", "= u8(min(i32(x[g*4 + t]) + 1, 255))", "it should be 0"),
    Fault("integers", "a negative dividend", "where all[i] (z[i] >= 0)", "where all[i] (z[i] >= -1)", "a floordiv of -1 by 2"),
    Fault("integers", "a divisor of 0", "= z[g*4 + t] // 2", "= z[g*4 + t] // 2 + 0*(z[g*4 + t] // z[g*4 + t])", "by 0"),
    Fault("shared", "no barrier", "    barrier\n", "", "meets a"),
    Fault("shared", "a barrier for some", "    barrier\n", "    if t < 2 { barrier }\n", "reached by some threads"),
    Fault("shared", "a barrier if rounding will", "    barrier\n", "    if 0*x[0 | 0] + 1 > 0 { barrier }\n", "meets a"),
    Fault("shared", "a part is not written", "= x[g*4 + t | 0]", "= x[g*4 + t] if g*4 + t < n", "which nobody wrote"),
    Fault("launches", "read too early", "ceil(n / 2)), block = (t: 1)", "n // 2), block = (t: 1)", "which nobody wrote"),
    Fault("launches", "not initialised", "q[] = 0 }", "q[] = 0 if n > 0 }", "is never stored"),
    Fault("launches", "not atomic", "atomic q[]", "q[]", "meets a"),
    Fault("launches", "a workspace of less than nothing", "f32[ceil(n / 2)]", "f32[ceil(n / 2) - 1]", "is outside of"),
    Fault("lanes", "a step is missing", "(16, 8, 4, 2, 1)", "(8, 4, 2, 1)", "it should be"),
    Fault("lanes", "some lanes only", "shuffle_xor(v[], d) }", "shuffle_xor(v[], d) if t < 16 }", "which is not there"),
    Fault("lanes", "half a warp", "block = (t: 32)", "block = (t: 16)", "which is not there"),
    Fault("pairs", "another unit", "unit    (-inf, 0)", "unit    (0, 0)", "the unit of top"),
    Fault("pairs", "not associative", "a.c + b.c)", "a.c - b.c)", "top"),
    Fault("pairs", "the other component", "y[g] = q[].v", "y[g] = q[].c", "it should be"),
    Fault("gather", "no promise", " where all[i] (z[i] >= 0 and z[i] < i64(m))", "", "the equation reads"),
    Fault("gather", "an index that does not fit", "x[z[g]] if", "x[z[g]*4611686018427387904*4 | 0] if", "does not fit"),
)
