"""Monoids: those of one value, and the built-in ones of several, written here a second time.

Comes in: a name. Goes out: its operation, its unit, or its definition.
The one idea: the built-in monoids of tuples are texts of the language, read like those of a file, and their laws are claims like any other.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.replay.ir import BOOL, FLOATS, RANGES, Num, Op, Term
from tinygpu.replay.program import Monoid

STEP = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "any": "or", "all": "and"}  # a ⊕ b
IDEMPOTENT = ("max", "min", "any", "all")
# The first of the greatest values with its place; of nothing, the largest place.
GREATEST = """monoid argmax_T(v: T, k: i32) {
  unit    (LOW, 2147483647)
  lift    (x, j: i32) = (x, j)
  combine (a, b) = (max(a.v, b.v), a.k if a.v > b.v else (b.k if b.v > a.v else min(a.k, b.k)))
}"""
LEAST = """monoid argmin_T(v: T, k: i32) {
  unit    (HIGH, 2147483647)
  lift    (x, j: i32) = (x, j)
  combine (a, b) = (min(a.v, b.v), a.k if a.v < b.v else (b.k if b.v < a.v else min(a.k, b.k)))
}"""
# The greatest value m, and s = Σ exp(x − m).
WEIGHT = """monoid logsumexp_T(m: T, s: T) where s >= 0 {
  unit    (-inf, 0)
  lift    (x) = (x, 1)
  combine (a, b) = (max(a.m, b.m), (a.s if a.m >= b.m else a.s * exp(a.m - b.m)) + (b.s if b.m >= a.m else b.s * exp(b.m - a.m)))
  result  (m + log(s))
}"""
# The count, the mean, and Σ (x − mean)².
MOMENTS = """monoid welford_T(n: T, mean: T, squares: T) where n >= 0, n > 0 or mean == 0 and squares == 0 {
  unit    (0, 0, 0)
  lift    (x) = (1, x, 0)
  combine (a, b) = (a.n + b.n,
    b.mean if a.n == 0 else a.mean + (b.mean - a.mean) * (b.n / (a.n + b.n)),
    b.squares if a.n == 0 else a.squares + b.squares + (b.mean - a.mean) * (b.mean - a.mean) * (a.n * (b.n / (a.n + b.n))))
  result  (mean, squares / n)
}"""
BUILT_IN = {"argmax": GREATEST, "argmin": LEAST, "logsumexp": WEIGHT, "welford": MOMENTS}


def built_in() -> str:
    """The text of all built-in monoids.

    >>> built_in().count("monoid ")
    26
    """
    texts = []
    for name, text in BUILT_IN.items():
        for dtype in (*FLOATS, *(RANGES if name.startswith("arg") else ())):
            low, high = RANGES.get(dtype, ("-inf", "inf"))
            texts.append(
                text.replace("_T", f"_{dtype}").replace(": T", f": {dtype}").replace("LOW", str(low)).replace("HIGH", str(high))
            )
    return "\n".join(texts)


def monoid_named(name: str, monoids: Mapping[str, Monoid]) -> Monoid | None:
    """The monoid of tuples of that name."""
    return monoids.get(name)


def unit(monoid: str, dtype: str, monoids: Mapping[str, Monoid]) -> Term | None:
    """What changes nothing; None where the type has no such value: integer extrema."""
    if monoid in monoids:
        return Op("pack", monoids[monoid].unit, monoid)
    match monoid:
        case "sum":
            return Num(0, dtype)
        case "prod":
            return Num(1, dtype)
        case "any" | "all":
            return Num(monoid == "all", BOOL)
        case "max" if dtype in FLOATS:
            return Op("-inf", (), dtype)
        case "min" if dtype in FLOATS:
            return Op("inf", (), dtype)
    return None
