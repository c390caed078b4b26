"""Programs whose threads work alone, of all kinds, with room for trouble at every term.

Comes in: a `Trouble`. Goes out: a text. The one idea: each function is a program that is right when no trouble is drawn.
"""

from __future__ import annotations

from tests.meaning.trouble import WHOLE, Trouble, wrap

UNITS = {"sum": ("+=", "0"), "max": ("max=", "-inf"), "min": ("min=", "inf"), "prod": ("*=", "1")}
ENDS = {"i8": 127, "u8": 255, "i32": 2**31 - 1, "u32": 2**32 - 1, "i64": 2**63 - 1}
LEAST = {"i8": -128, "u8": 0, "i32": -(2**31), "u32": 0, "i64": -(2**63)}


def machine(d: Trouble, op: str, work: str, steps: str, before: str = "") -> str:
    """The text of a spec with one machine; what cells need stands first."""
    header = "".join(f"    {line}\n" for line in d.header)
    return f"{before}op f{op}\n\nmachine m : f {{\n  {work}\n  program {{\n{header}{steps}\n  }}\n}}\n"


def where(d: Trouble, *conditions: str) -> str:
    """Some of these preconditions, perhaps."""
    taken = [c for c in conditions if d.chance.random() < 0.25]
    return f" where {', '.join(taken)}" if taken else ""


def grid(d: Trouble, extent: str = "n") -> tuple[str, str, str, str]:
    """Threads for the elements of an axis: the work, the element, its guard; and the guard that is needed anyway."""
    match d.chance.randrange(4):
        case 0:
            return f"work grid = (g: {extent}), block = (t: 1)", "g", f"g < {extent}", "t == 0"
        case 1:
            return f"work grid = (g: {extent} // 4 + 1), block = (t: 4)", "g*4 + t", f"g*4 + t < {extent}", ""
    block = d.one("4", "2")
    return f"work grid = (g: ceil({extent} / {block})), block = (t: {block})", f"g*{block} + t", f"g*{block} + t < {extent}", ""


def elementwise(d: Trouble) -> str:
    """Each thread stores one element, made of two."""
    dtype = d.one("f32", "f32", "f32", *WHOLE)
    work, at, inside, _ = grid(d)
    a, b, x, w = "x[i]", "w[i]", f"x[{at}]", f"w[{at}]"
    left, right = d.pair(a, x, dtype, b, w)
    if d.chance.random() < 0.6:
        shapes = ["{e} + {w}", "{e}*{w}", "max({e}, {w})", "({e} if {w} > 0 else {w})", "min({e}, {w} + 1)"]
        shapes += (
            ["{e} // max({w}, 1)", "{e} ^ {w}"]
            if dtype in WHOLE
            else ["{e}/{w}", "log({w}) + {e}", "sqrt({w})*{e}", "exp({e}) + {w}", "{e} if 1/{w} > 0 else {w}"]
        )
        other, theirs = d.pair(b, w, dtype, a, x)
        shape = d.one(*shapes)
        left, right = shape.format(e=left, w=other), shape.format(e=right, w=theirs)
    else:
        left, right = f"{left} + 0*{b}", f"{right} + 0*{w}"
        right = d.one(right, right.removesuffix(f" + 0*{w}"))
    if d.chance.random() < 0.5:
        body = "    " + d.store(f"y[{at}]", right, inside, x, dtype)
    else:
        body = f"    local v: {dtype}[]\n    if {inside} {{\n      v[] = {right}\n      {d.store(f'y[{at}]', d.value('v[]', dtype, w), '0 < n', w, dtype)}\n    }}"
    promise = f" where all[i] (w[i] {d.one('> 0', '!= 0', '>= 0', '>= 1')})" if d.chance.random() < 0.2 else where(d, "n >= 1")
    return machine(d, f"(x: {dtype}[n], w: {dtype}[n]) -> (y: {dtype}[n]){promise} {{ y[i] = {left} }}", work, body)


def rows(d: Trouble) -> str:
    """A fold over a row, which may be empty, and something made of it."""
    monoid = d.one("sum", "max", "min", "max", "prod")
    update, unit = UNITS[monoid]
    work, at, inside, _ = grid(d, "R")
    x = f"x[{at}, k]"
    body, mine = d.pair("x[r, k]", x, "f32", "a", "a")
    counted = d.guard("", x, "f32", "a")
    turn = f"q[] {update} {mine}" + (f" if {counted}" if counted else "")
    if d.chance.random() < 0.15:
        truth = d.truth("f32")
        body = f"({body} if {truth.format(e='x[r, k]', w='a')} else {unit})"
        turn = d.one(
            f"q[] {update} {mine} if {truth.format(e=x, w='a')}", f"q[] {update} ({mine} if {truth.format(e=x, w='a')} else {unit})"
        )
    first = unit
    loop = d.one("for k < M", "for k < M", "for k < M", "for k < M - 0")
    after, done = after_fold(d, monoid)
    extra = ""
    if d.now(0.7):
        first, loop = f"x[{at}, 0]", loop  # right for maxima and minima of what is not empty
    if d.now(0.5):
        extra = f"      q[] holds {d.value(f'{monoid}[k < M] ' + wrap(mine), 'f32', 'a', cells=False)}\n"
    promise = where(d, "M >= 1", "M >= 1", "R >= 1")
    text = f"""    local q: f32[]
    if {inside} {{
      q[] = {first}
      {loop} {{ {turn} }}
{extra}      {d.store(f"y[{at}]", done, "0 <= M", "q[]", "f32")}
    }}"""
    equation = (
        f"\n  s[r] = {monoid}[k] {wrap(body)}\n  y[r] = {after} + 0*a\n"
        if d.chance.random() < 0.5
        else f" y[r] = {after.replace('s[r]', f'({monoid}[k] {wrap(body)})')} + 0*a "
    )
    return machine(d, f"(x: f32[R, M], a: f32) -> (y: f32[R]){promise} {{{equation}}}", work, text)


def after_fold(d: Trouble, monoid: str) -> tuple[str, str]:
    """What is stored of a fold, as the equation and the program say it."""
    mine, theirs = d.pair("s[r]", "q[]", "f32", "a", "a")
    shape = d.one(
        "{}",
        "{}",
        "{} + a",
        "{}*2",
        "exp({})",
        "{} - a",
        "1/{}",
        "max({}, a)",
        "-{}",
        "{}*a",
        "({} if a > 0 else 0)",
        "exp({} - {})",
        "{} - {}",
    )
    return shape.replace("{}", wrap(mine)), shape.replace("{}", wrap(theirs))


def softmax(d: Trouble) -> str:
    """Two folds, the second one of differences from the first."""
    work, at, inside, _ = grid(d, "R")
    x = f"x[{at}, k]"
    mine, theirs = d.pair("x[r, k] - m[r]", f"{x} - m0[]", "f32", "x[r, k]", x)
    body = d.one("exp({})", "exp({})", "{}", "{}*{}", "(f32(1) if {} >= 0 else 0)", "({} if {} < 0 else 0)")
    mine, theirs = wrap(mine), wrap(theirs)
    start = d.one("-inf", "-inf", "-inf", f"x[{at}, 0]", "0")
    counted = d.guard("", x, "f32", "m0[]")
    promise = where(d, "M >= 1", "M >= 1")
    kind = d.one("s[r]", "m[r] + log(s[r])", "m[r] + s[r]", "1/s[r]", "s[r] + 0*m[r]", "s[r] - m[r] + m[r]")
    last = d.value(kind.replace("m[r]", "m0[]").replace("s[r]", "s0[]"), "f32", "m0[]")
    return machine(
        d,
        f"(x: f32[R, M]) -> (y: f32[R]){promise} {{\n  m[r] = max[k] x[r, k]\n  s[r] = sum[k] {body.replace('{}', mine)}\n  y[r] = {kind}\n}}",
        work,
        f"""    local m0: f32[]
    local s0: f32[]
    if {inside} {{
      m0[] = {start}
      for k < M {{ m0[] max= {d.value(x, "f32")} }}
      s0[] = 0
      for k < M {{ s0[] += {body.replace("{}", theirs)}{f" if {counted}" if counted else ""} }}
      {d.store(f"y[{at}]", last, "0 <= M", "m0[]", "f32")}
    }}""",
    )


def integers(d: Trouble) -> str:
    """A fold of integers at their width."""
    dtype = d.one(*WHOLE)
    monoid = d.one("sum", "max", "min", "sum")
    update, unit = UNITS[monoid]
    unit = {"max": str(LEAST[dtype]), "min": str(ENDS[dtype])}.get(monoid, unit)
    work, at, inside, _ = grid(d, "R")
    x = f"x[{at}, k]"
    mine, theirs = d.pair("x[r, k]", x, dtype, "a", "a")
    counted = d.guard("", x, dtype, "a")
    after, done = d.pair(f"({monoid}[k] {wrap(mine)})", "q[]", dtype, "a", "a")
    start = d.one(unit, unit, unit, "0", f"x[{at}, 0]")
    wide = d.one(dtype, dtype, dtype, "i64")
    if wide != dtype:
        theirs, done, start = f"i64({theirs})", f"{dtype}({done})", start if start.lstrip("-").isdecimal() else f"i64({start})"
    promise = where(d, "M >= 1", "M >= 1", "all[i, k] (x[i, k] >= 0)", "a >= 1") if dtype != "bool" else ""
    return machine(
        d,
        f"(x: {dtype}[R, M], a: {dtype}) -> (y: {dtype}[R]){promise} {{ y[r] = {after} + 0*a }}",
        work,
        f"""    local q: {wide}[]
    if {inside} {{
      q[] = {start}
      for k < M {{ q[] {update} {theirs}{f" if {counted}" if counted else ""} }}
      {d.store(f"y[{at}]", done, "0 <= M", d.one("q[]" if wide == dtype else "a", "a"), dtype)}
    }}""",
    )


def gather(d: Trouble) -> str:
    """What an index of the data names."""
    dtype = d.one("i32", "i32", "u32", "i64", "u8")
    work, at, inside, _ = grid(d)
    z = f"z[{at}]"
    place, mine = d.one("{}", "{}", "{} + 1", "{}*2", "{} - 1", "n - 1 - {}", "{} // 2", "({} + n) % n"), z
    low = d.one("0", "0", "1")
    promise = d.one(
        f" where all[i] (z[i] >= {low} and i64(z[i]) < i64(n))",
        f" where all[i] (z[i] >= {low} and i64(z[i]) < i64(n))",
        " where all[i] (z[i] >= 0)",
        " where n >= 1",
        "",
    )
    fill = d.one("0", "0", "inf", "-inf", "1")
    index, theirs = place.format("z[i]"), place.format(d.value(z, dtype, z, cells=False) if d.now(0.6) else mine)
    read, equation = d.one(
        (f"x[{theirs}]", f"x[{index}]"),
        (f"x[{theirs} | {fill}]", f"x[{index} | {fill}]"),
        (f"x[{theirs} | {fill}]", f"x[{index} | {fill}]"),
        (f"x[min({theirs}, n - 1)]", f"x[min({index}, n - 1)]"),
        (f"(x[{theirs}] if {theirs} >= 0 and i64({theirs}) < i64(n) else {fill})", f"x[{index} | {fill}]"),
        (f"(x[{theirs}] if i64({theirs}) < i64(n) else {fill})", f"x[{index} | {fill}]"),
        (f"(x[{z}] if f32({z}) < f32(n) and f32({z}) >= 0 else {fill})", f"x[z[i] | {fill}]"),
    )
    after, done = d.pair(equation, read, "f32", "x[i]", f"x[{at}]")
    return machine(
        d,
        f"(x: f32[n], z: {dtype}[n]) -> (y: f32[n]){promise} {{ y[i] = {after} }}",
        work,
        "    " + d.store(f"y[{at}]", done, inside, *d.one((z, dtype), (f"x[{at}]", "f32"))),
    )


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


MONOIDS = (
    ("monoid top(v: f32, c: f32) {\n  unit    (-inf, 0)\n  lift    (x) = (x, 1)\n  combine (a, b) = (max(a.v, b.v), a.c + b.c)\n}\n\n", "top", "top(-inf, 0)", "top(X, 1)", "Q.v"),
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


def negative(d: Trouble) -> str:
    """Grids, loops, tensors and workspaces whose extents may be below 0."""
    less = d.one("1", "2", "1", "3")
    dtype = "f32"
    match d.chance.randrange(5):
        case 0:
            mine, theirs = d.pair("x[i, j]", "x[a, b]", dtype)
            return machine(
                d,
                f"(x: f32[n, m]) -> (y: f32[n - {less}, m - {less}]){where(d, f'n >= {less}', f'm >= {less}')} {{ y[i, j] = {mine} }}",
                f"work grid = (a: n - {less}, b: m - {less}), block = (t: 1)",
                "    " + d.store("y[a, b]", theirs, "t == 0", "x[a, b]", dtype),
            )
        case 1:
            value = d.one("0", f"f32(n - {less})", f"f32(max(n - {less}, 0))", f"(sum[k < n - {less}] 1)")
            mine = d.one(f"(sum[k < n - {less}] 1)", f"(sum[k < n - {less}] x[k])", f"f32(max(n - {less}, 0))", f"f32(n) - {less}")
            turns = d.one(f"n - {less}", f"n - {less}", f"max(n - {less}, 0)", "n")
            body = f"    local q: f32[]\n    q[] = 0\n    for k < {turns} {{ q[] += {d.one('1', 'x[k]', '1')} }}\n    {d.store('y[]', d.one('q[]', 'q[]', value if 'sum' not in value else 'q[]'), 't == 0', 'q[]', dtype)}"
            return machine(
                d,
                f"(x: f32[n]) -> (y: f32[]){where(d, f'n >= {less}')} {{ y[] = {mine} + 0*(sum[k] x[k]) }}",
                "work grid = (g: 1), block = (t: 1)",
                body,
            )
        case 2:
            guard = d.one("t == 0", f"a == 0 and b == {d.one('0', '0', f'm - {less} - 1')}")
            return machine(
                d,
                f"(x: f32[n], z: f32[m]) -> (q: f32[]){where(d, 'n >= 1', f'n >= {less} + 1', f'm >= {less} + 1')} {{ q[] = 0*((sum[i] x[i]) + (sum[j] z[j])) }}",
                f"work grid = (a: n - {less}, b: m - {less}), block = (t: 1)",
                f"    q[] = 0 if {guard}",
            )
        case 3:
            turns = f"ceil((n - {less}) / 2)"
            return machine(
                d,
                f"(x: f32[n]) -> (y: f32[n - {less}]){where(d, f'n >= {less}')} {{ y[i] = x[i + {d.one(less, '0', less, f'{less}')}] }}",
                f"work grid = (g: {d.one(turns, turns, f'n - {less}', 'ceil(n / 2)')}), block = (t: 2)",
                "    "
                + d.store(
                    "y[g*2 + t]", d.value(f"x[g*2 + t + {less}]", dtype), f"g*2 + t < n - {less}", f"x[g*2 + t + {less}]", dtype
                ),
            )
    fill = d.one(f"w[h] = x[h + {less}] if u == 0", "w[h] = x[h] if u == 0")
    return (
        f"op f(x: f32[n]) -> (y: f32[n]){where(d, f'n >= {less} + 1', 'n >= 1')} {{ y[i] = x[i + {less} | 0] }}\n\nmachine m : f {{\n  program {{\n    workspace w: f32[n - {less}]\n"
        f"    launch (grid = (h: n - {less}), block = (u: 1)) {{ {fill} }}\n"
        f"    launch (grid = (g: n), block = (t: 1)) {{ y[g] = {d.one(f'w[g] if g < n - {less} else 0', 'w[g | 0]', f'(w[g] if g < n - {less} else 0*w[0])', f'(w[min(g, n - {less} - 1)] if g < n - {less} else 0)')} }}\n  }}\n}}\n"
    )


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


KINDS = (
    elementwise,
    elementwise,
    rows,
    rows,
    softmax,
    integers,
    integers,
    gather,
    monoids,
    monoids,
    negative,
    carried,
    narrowed,
    prefixes,
)
