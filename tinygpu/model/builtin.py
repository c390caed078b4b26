"""The monoids with several components that every file may use: largest and smallest with their place, log Σ exp, mean and variance.

Comes in: a name and a dtype. Goes out: the declaration of the monoid, which is called `argmax_f32` and the like.
The one idea: they are written in the language itself, so they are elaborated and proved as a user's monoids are.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.dtype import RANGE
from tinygpu.category.term import FLOATS, INTEGERS

# The index of the first of several equal values; of nothing, the largest index. T is the dtype of the values.
EXTREME = """monoid {name}(v: T, k: i32) {{
  unit    ({end}, 2147483647)
  lift    (x, j: i32) = (x, j)
  combine (a, b) = ({name}(a.v, b.v), a.k if a.v {sign} b.v else b.k if b.v {sign} a.v else min(a.k, b.k))
}}"""
# The largest value m so far, and the sum s of exp(x - m).
LOGSUMEXP = """monoid logsumexp(m: T, s: T) where s >= 0 {
  unit    (-inf, 0)
  lift    (x) = (x, 1)
  combine (a, b) = (max(a.m, b.m), (a.s if a.m >= b.m else a.s * exp(a.m - b.m)) + (b.s if b.m >= a.m else b.s * exp(b.m - a.m)))
  result  (m + log(s))
}"""
# The count, the mean, and the sum of the squares of the distances from it.
WELFORD = """monoid welford(n: T, mean: T, squares: T) where n >= 0, n > 0 or mean == 0 and squares == 0 {
  unit    (0, 0, 0)
  lift    (x) = (1, x, 0)
  combine (a, b) = (a.n + b.n,
    b.mean if a.n == 0 else a.mean + (b.mean - a.mean) * (b.n / (a.n + b.n)),
    b.squares if a.n == 0 else a.squares + b.squares + (b.mean - a.mean) * (b.mean - a.mean) * (a.n * (b.n / (a.n + b.n))))
  result  (mean, squares / n)
}"""
BUILT_IN: Mapping[str, tuple[str, ...]] = {  # the dtypes that they fold
    "argmax": FLOATS + INTEGERS, "argmin": FLOATS + INTEGERS, "logsumexp": FLOATS, "welford": FLOATS,
}  # fmt: skip


def declaration(name: str, dtype: str) -> str:
    """The text of a built-in monoid, with its name.

    >>> print(declaration("argmin", "i32").split("\\n")[1])
      unit    (2147483647, 2147483647)
    """
    low, high = map(str, RANGE.get(dtype, ("-inf", "inf")))
    text = {
        "argmax": EXTREME.format(name="max", end=low, sign=">"),
        "argmin": EXTREME.format(name="min", end=high, sign="<"),
        "logsumexp": LOGSUMEXP,
        "welford": WELFORD,
    }[name]
    return f"monoid {name}_{dtype}({text.partition('(')[2]}".replace(": T", f": {dtype}")


def is_built_in(name: str) -> bool:
    """Whether a name is that of a built-in monoid on some dtype: it means that in every file, so no declaration may have it.

    >>> is_built_in("argmax_f32"), is_built_in("logsumexp_i32"), is_built_in("argmax")
    (True, False, False)
    """
    base, _, dtype = name.rpartition("_")
    return dtype in BUILT_IN.get(base, ())
