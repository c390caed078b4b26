"""Programs whose threads work together, and machines that are derived, with room for trouble at every term.

Comes in: a `Trouble`. Goes out: a text. The one idea: each function is a program that is right when no trouble is drawn.
"""

from __future__ import annotations

from tests.meaning.alone import UNITS, machine, where
from tests.meaning.trouble import WHOLE, Trouble, wrap


def neighbours(d: Trouble) -> str:
    """A block's tile in shared memory, read by another thread."""
    dtype = d.one("f32", "f32", "i32", "u8")
    fill = d.one("0", "0", "0", "1")
    x = "x[g*4 + t]"
    load = d.of(
        f"s[t] = {x} if g*4 + t < n else {fill}; s[t] = x[g*4 + t | {fill}]; s[t] = {x} if g*4 + t < n; s[t] = {d.value(x, dtype)} if g*4 + t < n else {fill}"
    )
    read = d.one("s[3 - t]", "s[3 - t]", "s[t ^ 1]", "s[(t + 1) % 4]")
    where_ = {"s[3 - t]": "i // 4*4 + 3 - i % 4", "s[t ^ 1]": "i // 2*2 + 1 - i % 2", "s[(t + 1) % 4]": "i // 4*4 + (i + 1) % 4"}[
        read
    ]
    guarded = "barrier"
    if d.now(0.5):
        guarded = f"if {d.truth(dtype).format(e='x[0]', w='x[0]')} {{ barrier }}"
    mine, theirs = d.pair(f"x[{where_} | {fill}]", d.value(read, dtype, "s[t]"), dtype, "x[i]", x)
    promise = where(d, "n % 4 == 0", "n >= 1")
    return machine(
        d,
        f"(x: {dtype}[n]) -> (y: {dtype}[n]){promise} {{ y[i] = {mine} + 0*x[i] }}",
        "work grid = (g: ceil(n / 4)), block = (t: 4)",
        f"    shared s: {dtype}[4]\n    {load}\n    {guarded}\n    {d.store('y[g*4 + t]', theirs, 'g*4 + t < n', d.one('s[t]', 's[3 - t]', x), dtype)}",
    )


def elected(d: Trouble) -> str:
    """One thread of a block computes what all need."""
    x = "x[g, k]"
    monoid = d.one("sum", "max", "min")
    update, unit = UNITS[monoid]
    mine, theirs = d.pair("x[r, k]", x, "f32")
    who = d.one("t == 0", "t == 0", f"t == 0 and {d.truth('f32').format(e='x[g, 0]', w='x[g, 0]')}", "t < 1")
    after, done = d.pair("s[r]", "c[0]", "f32")
    shape = d.one("{0} + x[r, j]", "x[r, j] - {0}", "{0}", "x[r, j] if x[r, j] >= {0} else 0", "x[r, j]/{0}", "exp(x[r, j] - {0})")
    promise = where(d, "M >= 1", "M >= 1")
    return machine(
        d,
        f"(x: f32[R, M]) -> (y: f32[R, M]){promise} {{\n  s[r] = {monoid}[k] {wrap(mine)}\n  y[r, j] = {shape.format(after)}\n}}",
        "work grid = (g: R), block = (t: 4)",
        f"""    shared c: f32[1]
    local q: f32[]
    if {who} {{
      q[] = {d.one(unit, unit, unit, "0")}
      for k < M {{ q[] {update} {theirs} }}
      c[0] = q[]
    }}
    barrier
    for j < ceil(M / 4) {{ {d.store("y[g, j*4 + t]", shape.replace("x[r, j]", "x[g, j*4 + t]").format(done), "j*4 + t < M", d.one("c[0]", "x[g, j*4 + t]"), "f32")} }}""",
    )


def launches(d: Trouble) -> str:
    """Parts that one launch leaves in a workspace, and the next one combines."""
    monoid = d.one("sum", "max", "min")
    update, unit = UNITS[monoid]
    mine, theirs = d.pair("x[i]", "x[k*3 + g]", "f32")
    extent = d.one("3", "3", "3", "n", "n - 1")
    guard = d.guard("k*3 + g < n", "x[k*3 + g]", "f32")
    store = d.store("w[g]", d.value("q[]", "f32"), "t == 0", "q[]", "f32")
    after, done = d.pair(f"({monoid}[i] {wrap(mine)})", "c[]", "f32", "a", "a")
    header = "".join(f"      {line}\n" for line in d.header)
    promise = where(d, "n >= 1", "n >= 1")
    return f"""op f(x: f32[n], a: f32) -> (y: f32[]){promise} {{ y[] = {after} + 0*a }}

machine m : f {{
  program {{
    workspace w: f32[{extent}]
    launch (grid = (g: 3), block = (t: 1)) {{
{header}      local q: f32[]
      q[] = {unit}
      for k < ceil(n / 3) {{ q[] {update} {theirs} if {guard} }}
      {store}
    }}
    launch (grid = (), block = (o: 1)) {{
      local c: f32[]
      c[] = {unit}
      for h < {d.one("3", "3", "3", "min(n, 3)", "2")} {{ c[] {update} w[h] }}
      y[] = {done if "u0" not in done else "c[]"}
    }}
  }}
}}
"""


def atomic(d: Trouble) -> str:
    """A sum or a count that all threads update."""
    dtype, monoid, update = d.one(
        ("f32", "sum", "+="), ("i32", "sum", "+="), ("u32", "sum", "+="), ("i32", "max", "max="), ("i64", "sum", "+=")
    )
    start = {"sum": "0", "max": str(-(2**31))}[monoid]
    mine, theirs = d.pair("x[i]", "x[g*4 + t]", dtype)
    counted = d.guard("g*4 + t < n", "x[g*4 + t]", dtype)
    if d.now(0.6):
        truth = d.truth(dtype)
        mine, counted = (
            f"({mine} if {truth.format(e='x[i]', w='x[i]')} else {start})",
            f"{counted} and {truth.format(e='x[g*4 + t]', w='x[g*4 + t]')}",
        )
    first = d.of(
        "launch (grid = (), block = (o: 1)) { y[] = START }; launch (grid = (), block = (o: 1)) { y[] = START }; "
        "launch (grid = (), block = (o: 1)) { y[] = START if n > 0 }; launch (grid = (z: n), block = (o: 1)) { y[] = START if z == 0 }"
    )
    header = "".join(f"      {line}\n" for line in d.header)
    promise = where(d, "n >= 1", "n >= 1")
    if monoid == "max" and not promise:
        promise = " where n >= 1"
    return f"""op f(x: {dtype}[n]) -> (y: {dtype}[]){promise} {{ y[] = {monoid}[i] {wrap(mine)} }}

machine m : f {{
  program {{
    {first.replace("START", start)}
    launch (grid = (g: ceil(n / 4)), block = (t: 4)) {{
{header}      atomic y[] {update} {theirs} if {counted}
    }}
  }}
}}
"""


def histogram(d: Trouble) -> str:
    """Elements that are added where the data says."""
    dtype = d.one("i32", "u32", "u8", "i64")
    promise = " where n <= 100, S <= 100" + d.of(
        ", all[i] (0 <= z[i] and i64(z[i]) < i64(S)); , all[i] (0 <= z[i] and i64(z[i]) < i64(S)); , all[i] (z[i] >= 0); "
    )
    index = d.one("z[g*4 + t]", "z[g*4 + t]", d.value("z[g*4 + t]", dtype, cells=False))
    guard = d.of(
        "g*4 + t < n; g*4 + t < n; g*4 + t < n and z[g*4 + t] >= 0 and i64(z[g*4 + t]) < i64(S); g*4 + t < n and f32(z[g*4 + t]) < f32(S); "
        "g*4 + t < n and z[g*4 + t] >= 0 and i64(z[g*4 + t]) + 1 <= i64(S)"
    )
    return f"""op f(x: f32[n], z: {dtype}[n]) -> (y: f32[S]){promise} {{ y[s] = sum[i] (x[i] if i64(z[i]) == i64(s) else 0) }}

machine m : f {{
  program {{
    launch (grid = (o: S), block = (p: 1)) {{ y[o] = 0 }}
    launch (grid = (g: ceil(n / 4)), block = (t: 4)) {{ atomic y[{index}] += {d.value("x[g*4 + t]", "f32", cells=False)} if {guard} }}
  }}
}}
"""


def lanes(d: Trouble) -> str:
    """A fold over the lanes of a warp."""
    monoid = d.one("sum", "max", "min")
    update, unit = UNITS[monoid]
    x = "x[g, c*32 + t]"
    mine, theirs = d.pair("x[r, k]", x, "f32")
    guard = d.guard("c*32 + t < M", x, "f32")
    fill = d.one(unit, unit, unit, "0", "-inf", "inf")
    turn = d.one(f"q[] {update} {theirs} if {guard}", f"q[] {update} ({theirs} if {guard} else {fill})")
    steps = d.one("16, 8, 4, 2, 1", "16, 8, 4, 2, 1", "1, 2, 4, 8, 16", "8, 4, 2, 1")
    after, done = d.pair(f"({monoid}[k] {wrap(mine)})", "q[]", "f32")
    exchange = d.one(
        f"q[] {update} shuffle_xor(q[], d)",
        f"q[] {update} shuffle_xor({d.value('q[]', 'f32')}, d)",
        f"q[] {update} shuffle_xor(q[], d) if {d.truth('f32').format(e='q[]', w='q[]')}"
        if d.now()
        else f"q[] {update} shuffle_xor(q[], d)",
    )
    start = d.one(f"q[] = {unit}", f"q[] = {unit}", f"q[] = {unit}", f"q[] = {unit} if t < M")
    promise = where(d, "M >= 1", "M >= 1")
    return machine(
        d,
        f"(x: f32[R, M]) -> (y: f32[R]){promise} {{ y[r] = {after} }}",
        "work grid = (g: R), block = (t: 32)",
        f"    local q: f32[]\n    {start}\n    for c < ceil(M / 32) {{ {turn} }}\n    for d in ({steps}) {{ {exchange} }}\n    {d.store('y[g]', done, 't == 0', 'q[]', 'f32')}",
    )


def tiles(d: Trouble) -> str:
    """A product with fills, on small tiles."""
    fills = [d.one("0", "0", "0", "-inf", "1", "0") for _ in range(2)]
    mine, theirs = d.pair("A[i, k] * B[k, j]", "a[ty, k] * b[k, tx]", "f32")
    promise = where(d, "K % 2 == 0", "K >= 1", "M % 2 == 0")
    return machine(
        d,
        f"(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]){promise} {{ C[i, j] = sum[k] {wrap(mine)} }}",
        "work grid = (by: ceil(M / 2), bx: ceil(N / 2)), block = (ty: 2, tx: 2)",
        f"""    shared a: f32[2, 2]
    shared b: f32[2, 2]
    local q: f32[]
    q[] = 0
    for ko < ceil(K / 2) {{
      a[ty, tx] = {d.value("A[by*2 + ty, ko*2 + tx]", "f32")} if by*2 + ty < M and ko*2 + tx < K else {fills[0]}
      b[ty, tx] = B[ko*2 + ty, bx*2 + tx] if ko*2 + ty < K and bx*2 + tx < N else {fills[1]}
      barrier
      for k < 2 {{ q[] += {theirs} }}
      barrier
    }}
    {d.store("C[by*2 + ty, bx*2 + tx]", "q[]", "by*2 + ty < M and bx*2 + tx < N", "q[]", "f32")}""",
    )


def derived(d: Trouble) -> str:
    """A machine that gives no program."""
    dtype = d.one("f32", "f32", "f32", *WHOLE)
    monoid = d.one("sum", "max", "min", "prod")
    x = d.value("x[r, k]", dtype, cells=False)
    value = d.value(f"({monoid}[k] {wrap(x)})", dtype, cells=False)
    promise = " where M >= 1" if (dtype in WHOLE and monoid in ("max", "min")) or d.now() else ""
    bound = d.one("k", "k", "k < M", "k <= r") if not promise else "k"
    if bound == "k <= r":
        value = value.replace(f"{monoid}[k]", f"{monoid}[k <= r]")
        value, shape = value, "x: T[R, R]"
    else:
        shape = "x: T[R, M]"
    op = f"op f({shape.replace('T', dtype)}) -> (y: {dtype}[R]){promise if 'R, M' in shape else ''} {{ y[r] = {value} }}\n\n"
    layout = d.one(
        "work grid = (g), block = (t: 4)\n  compute r = (g, t)\n  time k",
        "work grid = (r), block = (t: 32)\n  compute k = (c, t)\n  time c",
        "work grid = (g), block = (t: 4)\n  compute r = (g, t), k = (c, v: 2)\n  time c\n  register v",
        "work grid = (g), block = (t: 2)\n  compute r = (g, t)\n  time k",
    )
    return f"{op}machine m : f {{\n  {layout}\n}}\n"


def staged(d: Trouble) -> str:
    """A derived machine with a tile in shared memory, and a fill."""
    fill = d.one("0", "0", "-inf", "inf", "1")
    mine = d.of(
        "x[i - 1 | F] + x[i + 1 | F]; max(x[i - 1 | F], x[i]); x[i + 1 | F] - x[i]; x[i - 1 | F]*x[i]; (sum[r < 3] (x[i + r - 1 | F])); "
        "(sum[r < 3] (x[i + r - 1 | F]*w[r])); (max[r < 3] (x[i + r - 1 | F]))"
    )
    mine = d.value(mine.replace("F", fill), "f32", "x[i]", cells=False)
    more = " + 0*(sum[r < 3] w[r])"
    stage = d.one("\n  stage x[a] at block in shared", "\n  stage x[a] at block in shared", "")
    return f"op f(x: f32[n], w: f32[3]) -> (y: f32[n]) {{ y[i] = {mine}{more} }}\n\nmachine m : f {{\n  work grid = (g), block = (t: 4)\n  compute i = (g, t)\n  time r{stage}\n}}\n"


def ghosts(d: Trouble) -> str:
    """Two accumulators, with what they hold said."""
    mine, theirs = d.pair("x[r, j]", "x[g, J]", "f32")
    even, odd = theirs.replace("J", "2*c"), theirs.replace("J", "2*c + 1")
    said = d.value("(sum[c < ceil(N / 2)] " + even + ")", "f32", "a", cells=False)
    fact = d.one(f"      even[] holds {said}\n", f"      even[] holds {said}\n", "")
    return machine(
        d,
        f"(x: f32[R, N], a: f32) -> (s: f32[R]) {{ s[r] = (sum[j] {wrap(mine)}) + 0*a }}",
        "work grid = (g: R), block = (t: 1)",
        f"""    local even: f32[]
    local odd: f32[]
    if t == 0 {{
      even[] = 0
      odd[] = 0
      for c < ceil(N / 2) {{
        even[] += {even}
        odd[] += {odd} if {d.guard("2*c + 1 < N", "x[g, 2*c]", "f32")}
      }}
{fact}      {d.store("s[g]", "even[] + odd[]", "0 <= N", "even[]", "f32")}
    }}""",
    )


KINDS = (neighbours, neighbours, elected, launches, atomic, histogram, lanes, tiles, derived, derived, staged, ghosts)
