"""Programs in which two things look alike that are not: two folds, two orders of a sum, two widths, two literals, two turns of a ring.

Comes in: a `Trouble`. Goes out: a text. The one idea: each function draws what belongs in a place from things that are the same there, and things
that only look it.
"""

from __future__ import annotations

from tests.meaning.alone import UNITS, grid, machine, where
from tests.meaning.trouble import Trouble, wrap


def two_folds(d: Trouble) -> str:
    """Two or three folds in one value, in any places."""
    work, at, inside, _ = grid(d, "R")
    kinds = [d.one("sum", "max", "min", "sum", "prod") for _ in range(2)]
    source = d.one("x", "x", "w")
    names = {"a": f"({kinds[0]}[k] x[r, k])", "b": f"({kinds[1]}[l] {source}[r, l])"}
    shape = d.of("{a} + {b}; {a}*{b}; {a} - {b} + {a}; max({a}, {b}); exp({a})*{b}; ({a} if v[r] > 0 else {b}) + {b}; " "({a} if v[r] > 0 else {b})*({b} if v[r] > 1 else {a}); ({a} if {b} > 0 else {b}); exp({a} - {b}); {a}/({b}*{b} + 1)")  # fmt: skip
    a, b = d.one(("p[]", "q[]"), ("p[]", "q[]"), ("p[]", "q[]"), ("q[]", "p[]"), ("p[]", "p[]"))
    done = shape.format(a=a, b=b).replace("v[r]", f"v[{at}]")
    promise = where(d, "M >= 1", "L >= 1") if source == "w" else where(d, "M >= 1")
    value = d.value(wrap(done), "f32", f"v[{at}]")
    return machine(
        d,
        f"(x: f32[R, M]{', w: f32[R, L]' if source == 'w' else ''}, v: f32[R]) -> (y: f32[R]){promise} {{ y[r] = {shape.format(**names)} + 0*v[r] }}",
        work,
        f"""    local p: f32[]
    local q: f32[]
    if {inside} {{
      p[] = {UNITS[kinds[0]][1]}
      q[] = {UNITS[kinds[1]][1]}
      for k < M {{ p[] {UNITS[kinds[0]][0]} x[{at}, k] }}
      for l < {"M" if source == "x" else "L"} {{ q[] {UNITS[kinds[1]][0]} {source}[{at}, l] }}
      {d.store(f"y[{at}]", value, "0 <= R", f"v[{at}]", "f32")}
    }}""",
    )


def rings(d: Trouble) -> str:
    """A ring of cells, of which one is read after some turns."""
    work, at, inside, _ = grid(d)
    depth, turns = d.one(2, 3, 4), d.one("4", "5", "7", "m")
    slot = d.one("k % {0}", "(k + 1) % {0}", "(k + 2) % {0}", "(2*k) % {0}", "(k + k // 2) % {0}", "(k - k // 3) % {0}", "(k*k) % {0}", "(k + m) % {0}").format(depth)  # fmt: skip
    read = d.chance.randrange(depth)
    start = d.one("1", "1", f"x[{at}]")
    stored = d.one("7", f"x[{at}] + 2", "7")
    seen = d.of(f"x[{at}]; s[{read}]; (s[{read}] if s[{read}] == 7 else x[{at}]); (x[{at}] if s[{read}] == {start} else 7)")
    mine = d.one("x[i]", "x[i]", "7", "1", "x[i] + 2")
    return machine(
        d,
        f"(x: f32[n], m: i32) -> (y: f32[n]) where m >= 0, m <= 9 {{ y[i] = {mine} + 0*x[i] }}",
        work,
        f"""    local s: f32[{depth}]
    if {inside} {{
      for u < {depth} {{ s[u] = {start} }}
      for k < {"5" if turns == "m" else turns} {{ s[{slot.replace("m", "index(m)")}] = {stored} }}
      {d.store(f"y[{at}]", seen, "0 <= n", f"x[{at}]", "f32")}
    }}""",
    )


def orders(d: Trouble) -> str:
    """Numbers that are added in one order or another, and decide."""
    ways = (
        "for k < M { A += x[g, k] }\n      for k < M { A += w[g, k] }",
        "for k < M {\n        A += x[g, k]\n        A += w[g, k]\n      }",
        "for k < M { A += x[g, k] + w[g, k] }",
        "for k < M { A += w[g, k] + x[g, k] }",
        "for k < M {\n        A += w[g, k]\n        A += x[g, k]\n      }",
        "for k < M {\n        A max= x[g, k]\n        A max= w[g, k]\n      }",
        "for k < M { A max= max(w[g, k], x[g, k]) }",
    )
    first = d.one(*ways)
    second = d.one(first, *ways)
    cells = d.one(("p[]", "q[]"), ("p[]", "q[]"), ("p[]", "p[]"))
    below = d.one("> 0", "> 1", ">= 0")
    if (
        d.chance.random() < 0.3 and "max" not in first + second
    ):  # each thread asks by itself what is no number, and so does the judge
        body = f"if {d.one(cells[1], f'(p[] if t < 2 else {cells[1]})')} {below} {{ barrier }}\n    y[g, t] = 1"
    else:
        body = f"if t == 0 {{\n      y[g, 0] = 1 if {cells[0]} {below}\n      y[g, 0] = 1 if not ({cells[1]} {below})\n    }}\n    y[g, t] = 1 if t > 0"
    promise = where(d, "M >= 1")
    return machine(
        d,
        f"(x: f32[R, M], w: f32[R, M]) -> (y: f32[R, 4]){promise} {{ y[r, j] = 1 + 0*(sum[k] x[r, k]*w[r, k]) }}",
        "work grid = (g: R), block = (t: 4)",
        f"    local p: f32[]\n    local q: f32[]\n    p[] = 0\n    q[] = 0\n    if R >= 0 {{\n      {first.replace('A', 'p[]')}\n      {second.replace('A', 'q[]')}\n    }}\n    {body}",
    )


def called(d: Trouble) -> str:
    """Scalars of the call as indices, and what the call promises of them."""
    promise = d.of(
        "k >= 1; index(k)*index(l) >= 1; index(k) + index(l) >= 1; k*l >= 1; k >= 0, l >= 1; index(k)*m >= 1; k - l >= 1, l >= 0"
    )
    guard = d.of("index(k) >= 1; index(k) >= 0; index(k)*m + h >= 0; index(k) + index(l) > 0; index(l) >= 0; k >= 1; k*l >= 0")
    edge = d.one("x[g, h]", "x[g, h]", "x[g, (index(k) + h) % m]", "x[g, min(index(l), h)]")
    ends = "k >= -9, k <= 9, l >= -9, l <= 9, n <= 99, m <= 99"
    return machine(
        d,
        f"(x: f32[n, m], k: i32, l: i32) -> (y: f32[n, m]) where {promise}, {ends} {{ y[i, j] = x[i, j] }}",
        "work grid = (g: n, h: m), block = (t: 1)",
        f"    y[g, h] = {d.one('x[g, h]', edge)} if {guard}",
    )


def widths(d: Trouble) -> str:
    """Integers that go through another width and back."""
    dtype, through = d.one("i8", "u8", "i32", "u32"), d.one("u32", "i32", "i64", "u8", "i8")
    work, at, inside, _ = grid(d)
    shape = d.one("min({e}, {w})", "max({e}, {w})", "{e} + {w}", "{e}*{w}", "{e} - {w}", "{e} ^ {w}", "max({e}, {w}) - {w}", "(sum[k < 3] ({e}*{w}))")  # fmt: skip
    mine = shape.format(e="x[i]", w="w[i]")
    if "[k" in shape:
        body = f"""    local q: {through}[]
    if {inside} {{
      q[] = 0
      for k < 3 {{ q[] += {through}(x[{at}])*{through}(w[{at}]) }}
      y[{at}] = {dtype}(q[])
    }}"""
    else:
        theirs = shape.format(e=f"{through}(x[{at}])", w=f"{through}(w[{at}])")
        body = "    " + d.store(f"y[{at}]", f"{dtype}({theirs})", inside, f"x[{at}]", dtype)
    return machine(d, f"(x: {dtype}[n], w: {dtype}[n]) -> (y: {dtype}[n]) {{ y[i] = {mine} + 0*w[i] + 0*x[i] }}", work, body)


def literals(d: Trouble) -> str:
    """Numbers that are written, and what their dtype makes of them."""
    dtype = d.one("f16", "bf16", "f32")
    work, at, inside, _ = grid(d)
    a, b = d.one(
        ("257", "256"),
        ("16777217", "16777216"),
        ("0.1", "0.1000000001"),
        ("2049", "2048"),
        ("0.5", "0.25"),
        ("3", "3.0000001"),
        ("1", "0"),
    )
    if dtype == "f16" and len(a) > 5:
        a, b = "2049", "2048"
    small = d.one("1e-9", "1e-50", "0.001", "2")
    truth = d.of(
        f"{dtype}({a}) > {b}; {dtype}({a}) >= {b}; {dtype}({b}) < {a}; u[] > {b}; u[] == {b}; max(u[], {b}) == {a}; u[] != {b}"
    )
    e = f"x[{at}]"
    value = d.of(
        f"({e} if {truth} else 7); (7 if {truth} else {e}); ({e} + {e}/{small} - {e}/{small}); ({e} if {e}/{small} == {e}/{small} else 7)"
    )
    control = f"{inside} and {truth}" if d.now() else inside
    return machine(
        d,
        f"(x: {dtype}[n]) -> (y: {dtype}[n]) {{ y[i] = x[i] }}",
        work,
        f"    local u: {dtype}[]\n    u[] = {a}\n    {d.store(f'y[{at}]', d.one(value, value, e), control, e, dtype)}",
    )


def turned(d: Trouble) -> str:
    """Lanes that take a value from another one."""
    way, far = d.one("up", "down", "xor", "idx"), d.one("1", "2", "0 - 1", "31", "32", "33", "c", "16")
    there = {"up": "j - F", "down": "j + F", "xor": "j ^ F", "idx": "F % 32"}[way].replace(
        "F", "1" if far == "c" else far.replace("0 - 1", "(0 - 1)")
    )
    there = there if way != "idx" or far != "0 - 1" else "31"
    mine = f"(x[r, {there} | x[r, j]])" if far != "32" else "x[r, j]"
    kept = d.one("a[]", "(a[] + a[])/2", "a[]")
    mine = d.one(mine, f"x[r, {there} | 0]" if way != "xor" else mine)
    return machine(
        d,
        f"(x: f32[R, 32]) -> (y: f32[R, 32]) {{ y[r, j] = (x[r, {there} | 0]) if {there.replace('F', far)} >= 0 and {there} < 32 else x[r, j] }}",
        "work grid = (g: R), block = (t: 32)",
        f"    local a: f32[]\n    local c: i32[]\n    c[] = 1\n    a[] = x[g, t]\n    y[g, t] = shuffle_{way}({kept}, {'1' if far == 'c' else far})",
    )


def quotients(d: Trouble) -> str:
    """Integers that are divided where they may not be, by the equation or by the program."""
    dtype = d.one("i32", "i8", "i64", "u32")
    work, at, inside, _ = grid(d)
    op, by = d.one("//", "%"), d.one("4", "z[i]", "max(z[i], 1)")
    mine = d.one(f"x[i] {op} {by}", f"(x[i] {op} {by}) + x[i]", f"(x[i] {op} {by} if x[i] >= 0 else 0)", f"max(x[i], 0) {op} {by}")
    theirs = mine.replace("[i]", f"[{at}]")
    x, z = f"x[{at}]", f"z[{at}]"
    theirs = d.one(
        theirs,
        f"({theirs} if {x} >= 0 else 0)",
        f"({theirs} if {x} >= 0 and {z} > 0 else 5)",
        f"({theirs} if {x} >= 0 and {by.replace('[i]', f'[{at}]')} >= 1 else 5)",
    )
    promise = d.one("", " where all[i] (x[i] >= 0)", " where all[i] (z[i] >= 1)", " where all[i] (x[i] >= 0 and z[i] >= 1)")
    return machine(
        d,
        f"(x: {dtype}[n], z: {dtype}[n]) -> (y: {dtype}[n]){promise} {{ y[i] = {mine} + 0*z[i] + 0*x[i] }}",
        work,
        "    " + d.store(f"y[{at}]", theirs, inside, x, dtype),
    )


def plain_sums(d: Trouble) -> str:
    """A sum of the file, of what may be infinite, or from a start that is."""
    work, at, inside, _ = grid(d, "R")
    start = d.one("plain(0)", "plain(0)", "plain(inf)", "plain(-inf)", "plain(1/0)")
    step = d.one("plain(x[A, l, 0])", "plain(x[A, l, 0])", "plain(p[])", "plain(exp(p[]))").replace("A", at)
    mine = {"x": "x[r, l, 0]", "p": "(max[k] x[r, l, k])", "e": "exp((max[k] x[r, l, k]))"}[step[6]]
    after = d.one("Q", "Q - Q", "w[r] + Q - Q", "(w[r] if Q > 0 else w[r] + 1)", "0*Q")
    done = d.one(after, after, after.replace("Q", "(Q + w[r] - w[r])"), "w[r] + Q - Q")
    return machine(
        d,
        f"(x: f32[R, L, K], w: f32[R]) -> (y: f32[R]) where {d.one('K >= 1', 'K >= 1, L >= 1', 'R >= 0')} {{ y[r] = {after.replace('Q', f'(fold plain[l] {mine})')} + 0*w[r] }}",
        work,
        f"""    local p: f32[]
    local s: plain[]
    if {inside} {{
      s[] = {start}
      for l < L {{
        p[] = -inf
        for k < K {{ p[] max= x[{at}, l, k] }}
        s[] plain= {step}
      }}
      y[{at}] = {done.replace("Q", "s[].s").replace("w[r]", f"w[{at}]")}
    }}""",
        "monoid plain(s: f32) {\n  unit    (0)\n  lift    (x) = (x)\n  combine (a, b) = (a.s + b.s)\n}\n\n",
    )


KINDS = (two_folds, two_folds, rings, orders, called, widths, literals, turned, quotients, plain_sums)
