"""Programs whose threads work alone, at the edges: monoids of the file, extents below 0, what a turn leaves for the next one, casts.

Comes in: a `Trouble`. Goes out: a text. The one idea: each function is a program that is right when no trouble is drawn.
"""

from __future__ import annotations

from tests.meaning.alone import UNITS, grid, machine, where
from tests.meaning.trouble import Trouble, wrap

MONOIDS = (
    ("monoid top(v: f32, c: f32) {\n  unit    (-inf, 0)\n  lift    (x) = (x, 1)\n  combine (a, b) = (max(a.v, b.v), a.c + b.c)\n}\n\n", "top", "top(-inf, 0)", "top(X, 1)", "(Q.v + Q.c)"),
    ("monoid top(v: f32, c: f32) {\n  unit    (-inf, 0)\n  lift    (x) = (x, 1)\n  combine (a, b) = (max(a.v, b.v), a.c + b.c)\n}\n\n", "top", "top(-inf, 0)", "top(X, 1)", "(Q.v - Q.v + Q.c)"),
    ("monoid line(p: f32, q: f32) {\n  unit    (1, 0)\n  lift    (x) = (x, 1)\n  combine (a, b) = (a.p * b.p, b.p * a.q + b.q)\n}\n\n", "line", "line(1, 0)", "line(X, 1)", "Q.q"),
    ("monoid span(lo: f32, hi: f32) {\n  unit    (inf, -inf)\n  lift    (x) = (x, x)\n  combine (a, b) = (min(a.lo, b.lo), max(a.hi, b.hi))\n}\n\n", "span", "span(inf, -inf)", "span(X, X)", "(Q.hi - Q.lo)"),
    ("monoid span(lo: f32, hi: f32) {\n  unit    (inf, -inf)\n  lift    (x) = (x, x)\n  combine (a, b) = (min(a.lo, b.lo), max(a.hi, b.hi))\n}\n\n", "span", "span(inf, -inf)", "span(X, X)", "(Q.hi + Q.lo)"),
    ("monoid pair(s: f32, i: i32) {\n  unit    (0, 0)\n  lift    (x) = (x, 1)\n  combine (a, b) = (a.s + b.s, a.i + b.i)\n}\n\n", "pair", "pair(0, 0)", "pair(X, 1)", "(Q.s/f32(Q.i))"),
    ("monoid mean(s: f32, c: f32) where c >= 0, c > 0 or s == 0 {\n  unit    (0, 0)\n  lift    (x) = (x, 1)\n  combine (a, b) = ((a.s*a.c + b.s*b.c)/(a.c + b.c) if a.c + b.c > 0 else 0, a.c + b.c)\n}\n\n", "mean", "mean(0, 0)", "mean(X, 1)", "Q.s"),
    ("monoid scaled(m: f32, s: f32) where s >= 0 {\n  unit    (-inf, 0)\n  lift    (x) = (x, 1)\n  combine (a, b) = (max(a.m, b.m), a.s*exp(a.m - max(a.m, b.m)) + b.s*exp(b.m - max(a.m, b.m)))\n}\n\n", "scaled", "scaled(-inf, 0)", "scaled(X, 1)", "Q.s"),
    ("monoid lse(m: f32, s: f32) where s >= 0 {\n  unit    (-inf, 0)\n  lift    (x) = (x, 1)\n  combine (a, b) = (max(a.m, b.m), (a.s if a.m >= b.m else a.s*exp(a.m - b.m)) + (b.s if b.m >= a.m else b.s*exp(b.m - a.m)))\n}\n\n", "lse", "lse(-inf, 0)", "lse(X, 1)", "(Q.m + Q.s)"),
    ("monoid least(v: f32, k: i32) {\n  unit    (inf, 2147483647)\n  lift    (x, j: i32) = (x, j)\n  combine (a, b) = (min(a.v, b.v), a.k if a.v < b.v else b.k if b.v < a.v else min(a.k, b.k))\n}\n\n", "least", "least(inf, 2147483647)", "least(X, K)", "Q.v"),
    ("monoid ratio(n: f32, d: f32) where d > 0 {\n  unit    (0, 1)\n  lift    (x) = (x, 1)\n  combine (a, b) = (a.n*b.d + b.n*a.d, a.d*b.d)\n}\n\n", "ratio", "ratio(0, 1)", "ratio(X, 1)", "(Q.n/Q.d)"),
)  # fmt: skip


def monoids(d: Trouble) -> str:
    """A fold of a monoid of the file, with its own cells."""
    text, name, unit, lift, made = d.one(*MONOIDS)
    work, at, inside, _ = grid(d, "R")
    mine, theirs = d.pair("x[r, k]", f"x[{at}, k]", "f32", "a", "a")
    counted = d.guard("", f"x[{at}, k]", "f32", "a")
    cells = d.one("q[]", "q[0]")
    shape = "[]" if cells == "q[]" else "[1]"
    after, done = d.pair(
        made.replace("Q", f"(fold {name}[k] {f'({mine}, i32(k))' if 'K' in lift else wrap(mine)})"),
        made.replace("Q", cells),
        "f32",
        "a",
        "a",
    )
    promise = where(d, "M >= 1", "M >= 1")
    start = d.one(unit, unit, unit, lift.replace("X", f"x[{at}, 0]").replace("K", "0"))
    step = lift.replace("X", theirs).replace("K", "i32(k)")
    turn = d.one(f"{cells} {name}= {step}", f"{cells} = {name}({cells}, {step})", f"{cells} = {name}({step}, {cells})")
    return machine(
        d,
        f"(x: f32[R, M], a: f32) -> (y: f32[R]){promise} {{ y[r] = {after} + 0*a }}",
        work,
        f"""    local q: {name}{shape}
    if {inside} {{
      {cells} = {start}
      for k < M {{ {turn}{f" if {counted}" if counted else ""} }}
      {d.store(f"y[{at}]", done, "0 <= M", "a", "f32")}
    }}""",
        text,
    )


def less_by(d: Trouble) -> str:
    """How much an extent is less than a size."""
    return d.one("1", "2", "1", "3")


def smaller(d: Trouble) -> str:
    """A tensor and a grid, both smaller than what is read."""
    less = less_by(d)
    mine, theirs = d.pair("x[i, j]", "x[a, b]", "f32")
    return machine(
        d,
        f"(x: f32[n, m]) -> (y: f32[n - {less}, m - {less}]){where(d, f'n >= {less}', f'm >= {less}')} {{ y[i, j] = {mine} }}",
        f"work grid = (a: n - {less}, b: m - {less}), block = (t: 1)",
        "    " + d.store("y[a, b]", theirs, "t == 0", "x[a, b]", "f32"),
    )


def counted(d: Trouble) -> str:
    """A loop that counts turns which may be less than none."""
    less = less_by(d)
    value = d.one("0", f"f32(n - {less})", f"f32(max(n - {less}, 0))", "q[]")
    mine = d.one(f"(sum[k < n - {less}] 1)", f"(sum[k < n - {less}] x[k])", f"f32(max(n - {less}, 0))", f"f32(n) - {less}")
    turns = d.one(f"n - {less}", f"n - {less}", f"max(n - {less}, 0)", "n")
    steps = f"""    local q: f32[]
    q[] = 0
    for k < {turns} {{ q[] += {d.one("1", "x[k]", "1")} }}
    {d.store("y[]", d.one("q[]", "q[]", value), "t == 0", "q[]", "f32")}"""
    op = f"(x: f32[n]) -> (y: f32[]){where(d, f'n >= {less}')} {{ y[] = {mine} + 0*(sum[k] x[k]) }}"
    return machine(d, op, "work grid = (g: 1), block = (t: 1)", steps)


def product_of_two(d: Trouble) -> str:
    """A grid of two extents, both of which may be below 0."""
    less = less_by(d)
    guard = d.one("t == 0", f"a == 0 and b == {d.one('0', '0', f'm - {less} - 1')}")
    needs = where(d, "n >= 1", f"n >= {less} + 1", f"m >= {less} + 1")
    op = f"(x: f32[n], z: f32[m]) -> (q: f32[]){needs} {{ q[] = 0*((sum[i] x[i]) + (sum[j] z[j])) }}"
    return machine(d, op, f"work grid = (a: n - {less}, b: m - {less}), block = (t: 1)", f"    q[] = 0 if {guard}")


def shifted(d: Trouble) -> str:
    """The elements from some place on, in blocks of two."""
    less = less_by(d)
    turns, x = f"ceil((n - {less}) / 2)", f"x[g*2 + t + {less}]"
    return machine(
        d,
        f"(x: f32[n]) -> (y: f32[n - {less}]){where(d, f'n >= {less}')} {{ y[i] = x[i + {d.one(less, less, less, '0')}] }}",
        f"work grid = (g: {d.one(turns, turns, f'n - {less}', 'ceil(n / 2)')}), block = (t: 2)",
        "    " + d.store("y[g*2 + t]", d.value(x, "f32"), f"g*2 + t < n - {less}", x, "f32"),
    )


def little_workspace(d: Trouble) -> str:
    """A workspace that is smaller than what is made of it."""
    less = less_by(d)
    fill = d.one(f"w[h] = x[h + {less}] if u == 0", f"w[h] = x[h + {less}] if u == 0", "w[h] = x[h] if u == 0")
    inside = f"g < n - {less}"
    read = d.of(
        f"w[g] if {inside} else 0; w[g | 0]; (w[g] if {inside} else 0*w[0]); (w[min(g, n - {less} - 1)] if {inside} else 0)"
    )
    return f"""op f(x: f32[n]) -> (y: f32[n]){where(d, f"n >= {less} + 1", "n >= 1")} {{ y[i] = x[i + {less} | 0] }}

machine m : f {{
  program {{
    workspace w: f32[n - {less}]
    launch (grid = (h: n - {less}), block = (u: 1)) {{ {fill} }}
    launch (grid = (g: n), block = (t: 1)) {{ y[g] = {read} }}
  }}
}}
"""


def carried(d: Trouble) -> str:
    """A loop whose turns use what the turns before have left."""
    work, at, inside, _ = grid(d, "R")
    x = f"x[{at}, k]"
    first = d.one("prev[] = 0", "prev[] = 0", "", f"prev[] = x[{at}, 0]", "prev[] = -inf")
    mine, theirs = d.pair("x[r, k]", x, "f32")
    kind = d.one(
        (f"{theirs} - prev[]", f"{mine} - x[r, k - 1 | 0]"),
        (f"{theirs} - prev[] if k > 0 else {x}", f"{mine} - x[r, k - 1] if k > 0 else x[r, k]"),
        (f"{theirs} + 0*prev[]", mine),
        (f"max({theirs}, prev[])", f"max({mine}, x[r, k - 1 | -inf])"),
        (f"{theirs} if prev[] == prev[] else 7", mine),
        (f"{theirs} if k == 0 or prev[] == prev[] else 7", mine),
    )
    return machine(
        d,
        f"(x: f32[R, M]) -> (y: f32[R, M]){where(d, 'M >= 1')} {{ y[r, k] = {kind[1]} }}",
        work,
        f"""    local prev: f32[]
    if {inside} {{
      {first or "prev[] = 0 if M == 0"}
      for k < M {{
        {d.store(f"y[{at}, k]", kind[0], "k < M", x, "f32")}
        prev[] = {d.value(x, "f32")}
      }}
    }}""",
    )


def narrowed(d: Trouble) -> str:
    """Numbers from one dtype to another, and back."""
    source, target = d.one("f32", "i32", "i8", "u32", "i64", "u8"), d.one("f32", "i32", "i64", "u8", "i8", "u32", "f16")
    work, at, inside, _ = grid(d)
    mine, theirs = d.pair("x[i]", f"x[{at}]", source)
    between = d.one(target, target, "i64", "i32", "f32", "u8", "f64")
    value = d.one(f"{target}({theirs})", f"{target}({theirs})", f"{target}({between}({theirs}))")
    return machine(
        d,
        f"(x: {source}[n]) -> (y: {target}[n]) {{ y[i] = {target}({mine}) }}",
        work,
        "    " + d.store(f"y[{at}]", value, inside, f"x[{at}]", source),
    )


def prefixes(d: Trouble) -> str:
    """Prefix sums and maxima of a row in one pass."""
    monoid = d.one("sum", "max", "min")
    update, unit = UNITS[monoid]
    relation = d.one("<=", "<=", "<")
    work, at, inside, _ = grid(d, "R")
    mine, theirs = d.pair("x[r, k]", f"x[{at}, i]", "f32")
    store = d.store(f"y[{at}, i]", d.value("q[]", "f32"), "i < M", d.one("q[]", f"x[{at}, i]"), "f32")
    turn = f"q[] {update} {theirs}"
    order = f"{turn}\n        {store}" if relation == "<=" else f"{store}\n        {turn}"
    return machine(
        d,
        f"(x: f32[R, M]) -> (y: f32[R, M]) {{ y[r, i] = {monoid}[k {relation} i] {wrap(mine)} }}",
        work,
        f"    local q: f32[]\n    if {inside} {{\n      q[] = {d.one(unit, unit, unit, '0')}\n      for i < M {{\n        {order}\n      }}\n    }}",
    )


NEGATIVE = (smaller, counted, product_of_two, shifted, little_workspace)


def negative(d: Trouble) -> str:
    """Grids, loops, tensors and workspaces whose extents may be below 0."""
    return d.one(*NEGATIVE)(d)


KINDS = (monoids, monoids, negative, carried, narrowed, prefixes)
