"""Programs in which things meet that seldom do: two launches on one output, two turns at one test, a double buffer, monoids that are drawn, names.

Comes in: a `Trouble`. Goes out: a text. The one idea: what one turn, launch, element or name says, another one must not be taken to say.
"""

from __future__ import annotations

from tests.meaning.alone import UNITS, grid, machine, where
from tests.meaning.trouble import Trouble, wrap


def stored_by_two(d: Trouble) -> str:
    """An output that two launches store, each a part of it, or one of them over the other."""
    split = d.one(
        ("g < H", "g >= H"), ("g % 2 == 0", "g % 2 == 1"), ("x[g] > 0", "not (x[g] > 0)"), ("g < H", "g > H"), ("g <= H", "g >= H"),
        ("g < n", "g < H"), ("g < H", "g < n"), ("x[g] > 0", "x[g] < 0"), ("x[g] > a", "x[g] <= a"), ("g < n", "x[g] > 0"), ("g < H", "g >= H"),
    )  # fmt: skip
    mine, first = d.one(("x[i]", "x[g]"), ("x[i]/a", "x[g]/a"), ("0*x[i]", "0*x[g]"), ("x[i] + a", "x[g] + a"))
    second = d.one(first, first, first, f"{wrap(first)} + 1", "y[g]", "y[g] + 1", "y[g] + 1 - 1")
    equation = d.one(mine, f"({wrap(mine)} if i < H else {wrap(mine)} + 1)") if second.endswith(") + 1") else mine
    guards = [d.guard(one, "x[g]", "f32", "a", cells=False) for one in split]
    launch = "    launch (grid = (g: n), block = (t: 1)) {{ y[g] = {} if {} }}\n"
    op = f"op f(x: f32[n], a: f32) -> (y: f32[n]){where(d, 'n >= 1')} {{ y[i] = {equation} + 0*a }}\n\n"
    steps = "".join(launch.format(value, guard) for value, guard in zip((first, second), guards, strict=True))
    return (op + f"machine m : f {{\n  program {{\n{steps}  }}\n}}\n").replace("H", d.one("2", "n // 2", "n - 1", "1"))


def tested_twice(d: Trouble) -> str:
    """A test in every turn of a loop, of one cell that the turns change, and the same test after it."""
    work, at, inside, _ = grid(d, "R")
    x = f"x[{at}, k]"
    test = d.one("q[] > 0", "q[] >= 0", "p[] > 0", f"{x} > 0", f"{x} > p[]", f"0*{x} == 0")
    own = d.one(f"{x} > 0", f"{x} >= 0", f"{x} > p[]", f"0*{x} == 0")  # what a loop adds up is no fold where it decides itself
    after = test if x not in test else d.one("q[] > 0", "p[] > 0")
    monoid = d.one("sum", "max")
    update, unit = UNITS[monoid]
    turn = d.one(
        f"q[] {update} {x} if {test}",
        f"p[] = {x}\n        if p[] > 0 {{ q[] {update} {x} }}\n        if not (p[] > 0) {{ q[] {update} p[] }}",
        f"if {own} {{ p[] = {x} }}\n        q[] {update} {x}",
        f"q[] {update} {x} if {x} > 0\n        q[] {update} {x} if {d.one('not', 'not', '')} ({x} > 0)",
        f"q[] {update} ({x} if {own} else {x} + 0*p[])",
        f"q[] {update} ({x} if p[] > 0 else {x} + 0*p[])\n        p[] = {x}",
    )
    done = d.of(f"q[]; q[]; (q[] if {after} else q[] + 0*p[]); (q[] if {after} else 7); q[] + 0*{x.replace('k', 'M - 1')}")
    return machine(
        d,
        f"(x: f32[R, M]) -> (y: f32[R]){where(d, 'M >= 1', 'M <= 3')} {{ y[r] = {monoid}[k] x[r, k] }}",
        work,
        f"""    local q: f32[]
    local p: f32[]
    if {inside} {{
      q[] = {d.one(unit, unit, "0")}
      {d.one("p[] = 0", "p[] = 0", "p[] = 1", "")}
      for k < {d.one("M", "M", "M + 0")} {{
        {turn}
      }}
      {d.store(f"y[{at}]", done, "0 <= M", "q[]", "f32")}
    }}""",
    )


def buffers(d: Trouble) -> str:
    """Two tiles of shared memory in turns, of which one is filled while the other is read, with barriers or without."""
    slot, other = d.one(
        ("k % 2", "(k + 1) % 2"),
        ("k % 2", "(k + 1) % 2"),
        ("k % 2", "(k + 1) % 2"),
        ("k % 2", "k % 2"),
        ("k % 3", "(k + 1) % 3"),
        ("(k + 1) % 2", "k % 2"),
    )
    depth = "3" if "3" in slot else d.one("2", "2", "3")
    barriers = d.one(
        ("barrier", ""),
        ("barrier", "barrier"),
        ("barrier", "barrier"),
        ("", "barrier"),
        ("", "barrier"),
        ("if k > 0 { barrier }", "barrier"),
    )
    lane = d.one("3 - t", "t", "(t + 1) % 4", "t ^ 1")
    more = d.one("k + 1 < M", "k + 1 < M", "k + 1 < M", "k + 1 < M", "k < M", "k + 2 < M")
    first = d.one(f"s[{slot.replace('k', '0')}, t] = x[g, t, 0]", "s[0, t] = x[g, t, 0] if M > 0", "s[0, t] = x[g, t, 0]")
    lanes = {"3 - t": "3 - j", "t": "j", "(t + 1) % 4": "(j + 1) % 4", "t ^ 1": "j ^ 1"}[lane]
    mine, theirs = d.pair(f"x[r, {lanes}, k]", f"s[{slot}, {lane}]", "f32")
    ahead = d.one("k + 1", "k + 1", "k + 1", "k + 1", "k + 1", "k")
    return machine(
        d,
        f"(x: f32[R, 4, M]) -> (y: f32[R, 4]) where {d.one('M >= 1', 'M >= 1', 'M >= 1', 'M >= 2', 'R >= 1')} {{ y[r, j] = sum[k] {wrap(mine)} }}",
        "work grid = (g: R), block = (t: 4)",
        f"""    shared s: f32[{depth}, 4]
    local q: f32[]
    q[] = 0
    {first}
    {d.one("barrier", "barrier", "barrier", "")}
    for k < M {{
      s[{other}, t] = x[g, t, {ahead}] if {more}
      {barriers[0]}
      q[] += {theirs}
      {barriers[1]}
    }}
    y[g, t] = q[]""",
    )


CARRIERS = ("f32", "f32", "i32", "u8", "f16")
COMPONENTS = {
    "f32": (
        ("0", "X", "a.P + b.P"), ("-inf", "X", "max(a.P, b.P)"), ("inf", "X", "min(a.P, b.P)"), ("1", "X", "a.P*b.P"), ("0", "1", "a.P + b.P"),
        ("0", "X", "a.P + b.P + a.P*b.P"), ("0", "X", "a.P + b.P + 0*a.P/b.P"), ("0", "abs(X)", "max(a.P, b.P)"), ("1", "X", "b.P"),
        ("0", "X", "(a.P + b.P if a.P != b.P else a.P*2)"), ("inf", "X", "1/(1/a.P + 1/b.P)"), ("0", "X", "a.P - -b.P"), ("-inf", "X", "(a.P if a.P > b.P else b.P)"),
        ("0", "X", "(b.P if a.P == 0 else a.P + b.P)"), ("0", "X", "(a.P + b.P)*1"), ("0", "X*X", "a.P + b.P"), ("-inf", "X", "(b.P if b.P >= a.P else a.P)"),
    ),
    "i32": (("0", "1", "a.P + b.P"), ("1", "2", "a.P*b.P"), ("0", "1", "a.P ^ b.P"), ("0", "1", "max(a.P, b.P)"), ("-2147483648", "1", "max(a.P, b.P)"), ("0", "3", "a.P + b.P - a.P*b.P")),
    "u8": (("0", "1", "a.P + b.P"), ("0", "1", "max(a.P, b.P)"), ("255", "1", "min(a.P, b.P)"), ("0", "255", "a.P + b.P"), ("0", "1", "(a.P + b.P) % 100"), ("0", "7", "a.P ^ b.P")),
    "f16": (("0", "1", "a.P + b.P"), ("-inf", "1", "max(a.P, b.P)"), ("1", "2", "a.P*b.P")),
}  # fmt: skip


def drawn_monoids(d: Trouble) -> str:
    """A monoid whose components are drawn, so that it is one or is not; in one loop, or in two halves that are joined."""
    parts = [(name, d.one("f32") if name == "u" else d.one(*CARRIERS)) for name in d.one(("u",), ("u", "v"), ("u", "v"))]
    drawn = [tuple(one.replace("P", name).replace("X", "x") for one in d.one(*COMPONENTS[dtype])) for name, dtype in parts]
    if len(parts) == 2 and parts[1][1] == "f32" and d.chance.random() < 0.4:
        mixed = d.one("a.v*b.u + b.v", "a.v + b.v*a.u", "(a.v if a.u > b.u else b.v)", "(a.v if a.u >= b.u else b.v)", "a.v + b.v + a.u*b.u", "a.v/b.u + b.v", "(a.v + b.v if a.u == a.u else 0)")  # fmt: skip
        drawn[1] = (*drawn[1][:2], mixed)
    unit, lift, combine = (", ".join(one[k] for one in drawn) for k in range(3))
    text = f"monoid mine({', '.join(f'{n}: {t}' for n, t in parts)}) {{\n  unit    ({unit})\n  lift    (x) = ({lift})\n  combine (a, b) = ({combine})\n}}\n\n"
    work, at, inside, _ = grid(d, "R")
    part, dtype = d.one(*parts)
    folded = f"(fold mine[k] x[r, k]){f'.{part}' if len(parts) > 1 else ''}"
    after, done = d.pair(folded, f"q[].{part}", "f32") if dtype == "f32" else (folded, f"q[].{part}")

    def made(x: str) -> str:
        return f"mine({lift.replace('x', x)})"

    turn = d.of(f"q[] mine= {made(f'x[{at}, k]')}; q[] = mine(q[], {made(f'x[{at}, k]')}); q[] = mine({made(f'x[{at}, k]')}, q[])")
    if d.chance.random() < 0.3:
        loops = f"for k < M // 2 {{ {turn} }}\n      p[] = mine({unit})\n      for k < M - M // 2 {{ {turn.replace('q[]', 'p[]').replace(', k]', ', k + M // 2]')} }}\n      q[] = mine({d.one('q[], p[]', 'q[], p[]', 'p[], q[]')})"
    else:
        loops = f"for k < M {{ {turn} }}"
    return machine(
        d,
        f"(x: f32[R, M]) -> (y: {dtype}[R]){where(d, 'M >= 1')} {{ y[r] = {after} }}",
        work,
        f"    local q: mine[]\n    local p: mine[]\n    if {inside} {{\n      q[] = mine({unit})\n      {loops}\n      y[{at}] = {done}\n    }}",
        text,
    )


KINDS = (stored_by_two, tested_twice, buffers, drawn_monoids)
