"""Small specs whose launchers show one thing each, and their modules.

Comes in: a name. Goes out: the module, emitted and loaded once. The one idea: launchers are tested as users get them.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

from tinygpu.emit.module import Built, emit
from tinygpu.obligations.width import cpu_limits, limits
from tinygpu.pipeline import load_text, program
from tinygpu.run.load import load

ONE = "{ work grid = (g), block = (t: 64) compute i = (g, t) }"
WIDE = "{ work grid = (g), block = (t: 64) compute i = (g, t, v: 4) vector v }"
WORK = "work grid = (g), block = (t: 64)\n  compute i = (g, t)"

SPECS = {
    "saxpy": """op saxpy(a: f32, x: f32[n], y: f32[n]) -> (z: f32[n]) { z[i] = a * x[i] + y[i] }
machine saxpy_v4 : saxpy {
  work grid = (g), block = (t: 64)
  compute i = (g, t, v: 4)
  vector v
}""",
    "odd": """op odd(x: f32[2*n + 1]) -> (y: f32[n]) { y[i] = x[2*i + 1] }
machine odd_m : odd {
  WORK
}""",
    "shorter": """op shorter(x: f32[n]) -> (y: f32[n - 2]) { y[i] = x[i + 2] - x[i] }
machine shorter_m : shorter {
  WORK
}""",
    "spread": """op spread(x: f32[m]) -> (y: f32[n, m]) { y[i, j] = x[j] }
machine spread_m : spread {
  work grid = (bi, bj), block = (t: 64)
  compute i = (bi), j = (bj, t)
}""",
    "fours": """op fours(x: f32[n]) -> (y: f32[n]) where n % 4 == 0 { y[i] = x[i] + 1 }
machine fours_m : fours {
  WORK
}""",
    "both": """op both(x: f32[n]) -> (y: f32[n], m: u8[n]) {
  y[i] = x[i] * 2
  m[i] = 1 if x[i] > 0 else 0
}
machine both_m : both {
  WORK
}""",
    "scaled": """op scaled[T in {f32, f16, bf16}](a: T, x: T[n]) -> (y: T[n]) { y[i] = a * x[i] }
machine scaled_m : scaled {
  WORK
}""",
    "numbers": """op numbers(k: u8, b: bool, x: i32[n]) -> (y: i32[n]) { y[i] = x[i] + i32(k) if b else x[i] }
machine numbers_m : numbers {
  WORK
}""",
    "names": """op names(lambda: f32[_n], out: f32[_n], view: f32[_n]) -> (stream: f32[_n]) { stream[i] = lambda[i] + out[i] + view[i] }
machine quotient : names {
  WORK
}""",
    "halves": """op halves(x: f32[n], w: f32[m, 4]) -> (s: f32[]) where n % 4 == 0 and m >= 1 { s[] = (sum[i] x[i]) * w[0, 0] }
machine halves_m : halves {
  program {
    workspace part: f32[n // 4]
    workspace whole: f32[m + 1, 4]
    launch (grid = (g: ceil(n / 1024)), block = (t: 256)) {
      if g*256 + t < n // 4 { part[g*256 + t] = x[(g*256 + t)*4] + x[(g*256 + t)*4 + 1] + x[(g*256 + t)*4 + 2] + x[(g*256 + t)*4 + 3] }
    }
    launch (grid = (), block = ()) {
      for v < 4 in vector { whole[m, v] = w[0, v] }
    }
    launch (grid = (), block = ()) {
      local a: f32[]
      a[] = 0
      for g < n // 4 { a[] += part[g] }
      s[] = a[] * whole[m, 0]
    }
  }
}""",
    "total": """op total(x: f32[R, K]) -> (s: f32[R]) { s[r] = sum[k] x[r, k] }
machine total_m : total {
  work grid = (g), block = (t: 64)
  compute r = (g, t)
  time k
}""",
}


def text(name: str) -> str:
    """The module's source."""
    spec = load_text(SPECS[name].replace("WORK", WORK), f"{name}.tgpu")
    built = []
    for machine in spec.machines:
        made = program(machine)
        built.append(Built(machine, made, ("As in a test, nothing is proved.",), limits(made), cpu_limits=cpu_limits(made)))
    return emit(f"{name}.tgpu", built)


@cache
def module(name: str) -> ModuleType:
    """The module, loaded."""
    return load(text(name), name)
