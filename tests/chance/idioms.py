"""Programs as people write them by hand, with everything about them drawn: how many accumulators, how deep a ring, which distances.

Comes in: a hypothesis draw. Goes out: the text of an op and of a machine that gives its program, right or wrong.
The one idea: each number that a writer may get wrong is drawn from the right one and its neighbours, so a good share is right.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

Draw = st.DrawFn
UNITS = {"sum": ("+=", "0", "+"), "max": ("max=", "-inf", "max"), "min": ("min=", "inf", "min")}
ROWS = "(x: f32[R, N]) -> (s: f32[R]) {{ s[r] = {0}[j] x[r, j] }}"


def machine(op: str, work: str, program: str) -> str:
    """The text of a spec with one machine."""
    return f"op o{op}\n\nmachine m : o {{\n  {work}program {{\n{program}\n  }}\n}}\n"


def near(draw: Draw, right: int, least: int = 0) -> int:
    """The right number, or now and then one beside it."""
    return max(least, right + draw(st.sampled_from((0, 0, 0, 0, 0, 0, 1, -1))))


def less(draw: Draw) -> str:
    """`<`, or now and then `<=`."""
    return draw(st.sampled_from(("<", "<", "<", "<", "<", "<=")))


def some(draw: Draw, step: str) -> str:
    """A step that may be missing."""
    return step if draw(st.sampled_from((True,) * 7 + (False,))) else ""


def joined(monoid: str, parts: list[str]) -> str:
    """The parts of a fold, combined."""
    if monoid == "sum":
        return " + ".join(parts)
    text = parts[0]
    for part in parts[1:]:
        text = f"{monoid}({text}, {part})"
    return text


def accumulators(draw: Draw) -> str:
    """A fold in a thread: a prologue, several accumulators, a tail."""
    monoid = draw(st.sampled_from(sorted(UNITS)))
    update, unit, _ = UNITS[monoid]
    threads, many, ahead = draw(st.sampled_from((1, 4, 32))), draw(st.integers(1, 4)), draw(st.integers(0, 3))
    skip, row = near(draw, ahead), f"g*{threads} + t"
    first = f"for p < {ahead} {{ acc[p % {many}] {update} x[{row}, p] if p {less(draw)} N }}" if ahead else ""
    body = f"acc[u] {update} x[{row}, {skip} + c*{near(draw, many, 1)} + u] if {skip} + c*{many} + u {less(draw)} N"
    turns = draw(st.sampled_from((f"ceil(N / {many})", f"N // {many} + 1", f"N // {many}", "N")))
    result = joined(monoid, [f"acc[{u}]" for u in range(near(draw, many, 1) if many > 1 else 1)])
    return machine(
        ROWS.format(monoid),
        f"work grid = (g: ceil(R / {threads})), block = (t: {threads})\n  ",
        f"""    local acc: f32[{many}]
    if {row} < R {{
      {some(draw, f"for u < {many} in register {{ acc[u] = {unit} }}")}
      {first}
      for c < {turns} {{ for u < {many} in register {{ {body} }} }}
      s[{row}] = {result}
    }}""",
    )


def tail(draw: Draw) -> str:
    """A main loop of full chunks and a loop for what is left."""
    chunk, threads = draw(st.integers(2, 5)), draw(st.sampled_from((1, 4, 32)))
    row, start = (
        f"g*{threads} + t",
        draw(st.sampled_from((f"N // {chunk}*{chunk}", f"N // {chunk}*{chunk}", f"N // {chunk}*{chunk} + 1"))),
    )
    left = draw(st.sampled_from((f"N % {chunk}", f"N % {chunk}", f"{chunk}")))
    guard = f" if {start} + q {less(draw)} N" if left == str(chunk) else ""
    return machine(
        ROWS.format("sum"),
        f"work grid = (g: ceil(R / {threads})), block = (t: {threads})\n  ",
        f"""    local acc: f32[]
    if {row} < R {{
      acc[] = 0
      for c < N // {chunk} {{ for u < {near(draw, chunk, 1)} {{ acc[] += x[{row}, c*{chunk} + u] }} }}
      for q < {left} {{ acc[] += x[{row}, {start} + q]{guard} }}
      s[{row}] = acc[]
    }}""",
    )


def ring(draw: Draw) -> str:
    """A ring of slots in shared memory that is filled some rounds before it is read."""
    tile, ahead = draw(st.sampled_from((4, 8, 32))), draw(st.integers(1, 3))
    slots, back = near(draw, ahead + 1, 1), near(draw, ahead, 1)
    mirror = draw(st.booleans())
    seen = f"{tile - 1} - t" if mirror else "t"
    where = f"(c + {ahead})*{tile} + t"
    fills = "\n".join(
        f"    s[{q % slots}, t] = x[r, {q * tile} + t] if {q * tile} + t < N else 0"
        for q in range(draw(st.sampled_from((ahead, ahead, back))))
    )
    return machine(
        f"(x: f32[R, N], w: f32[{tile}]) -> (y: f32[R, N]) {{ y[r, j] = x[r, j // {tile}*{tile} + "
        + (f"({tile - 1} - j % {tile})" if mirror else f"j % {tile}")
        + f" | 0] * w[j % {tile}] }}",
        f"work grid = (r: R), block = (t: {tile})\n  ",
        f"""    shared s: f32[{slots}, {tile}]
{fills}
    {some(draw, "barrier")}
    for c < ceil(N / {tile}) {{
      s[(c + {ahead}) % {slots}, t] = x[r, {where}] if {where} {less(draw)} N else 0
      y[r, c*{tile} + t] = s[c % {slots}, {seen}] * w[t] if c*{tile} + t < N
      {some(draw, "barrier")}
    }}""",
    )


def registers(draw: Draw) -> str:
    """What a thread has loaded in the turn before: differences of neighbours."""
    order = draw(
        st.sampled_from(
            ("before[] = now[]\n      now[] = {0}", "before[] = now[]\n      now[] = {0}", "now[] = {0}\n      before[] = now[]")
        )
    )
    load = f"x[r*1 + 0, k + {near(draw, 1)}] if k + 1 {less(draw)} N else 0"
    return machine(
        "(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 { y[r, j] = (x[r, j + 1] if j + 1 < N else 0) - x[r, j] }",
        "work grid = (r: R), block = (t: 1)\n  ",
        f"""    local before: f32[]
    local now: f32[]
    {some(draw, "before[] = 0")}
    now[] = x[r, 0]
    for k < N {{
      {order.format(load)}
      y[r, k] = now[] - before[]
    }}""",
    )


def butterfly(draw: Draw) -> str:
    """A fold over lanes by shuffles of drawn distances."""
    monoid = draw(st.sampled_from(sorted(UNITS)))
    update, unit, _ = UNITS[monoid]
    width = draw(st.sampled_from((8, 16, 32, 32, 32)))
    right = [d for d in (16, 8, 4, 2, 1) if d < width]
    steps = draw(st.one_of(st.just(right), st.permutations(right), st.lists(st.sampled_from(right), min_size=1, max_size=5)))
    kind = draw(st.sampled_from(("xor", "xor", "xor", "down", "up")))
    who = draw(st.sampled_from(("t == 0", "t == 0", f"t == {width - 1}", "t < 1", "t < 2")))
    rows = 32 // width
    row = f"g*{rows} + w"
    return machine(
        ROWS.format(monoid),
        f"work grid = (g: ceil(R / {rows})), block = (w: {rows}, t: {width})\n  ",
        f"""    local acc: f32[]
    acc[] = {unit}
    for c < ceil(N / {width}) {{ acc[] {update} x[{row}, c*{width} + t] if {row} < R and c*{width} + t {less(draw)} N }}
    for d in ({", ".join(map(str, steps))}) {{ acc[] {update} shuffle_{kind}(acc[], d) }}
    s[{row}] = acc[] if {row} < R and {who}""",
    )


def prefix(draw: Draw) -> str:
    """Prefix sums of a warp, with a carry."""
    steps = draw(
        st.one_of(
            st.just([1, 2, 4, 8, 16]), st.permutations([1, 2, 4, 8, 16]), st.lists(st.sampled_from([1, 2, 4, 8, 16]), max_size=5)
        )
    )
    guard = draw(st.sampled_from((" if t >= d", " if t >= d", " if t >= d", " if t > d", "")))
    last = draw(st.sampled_from(("31", "31", "31", "30")))
    relation = draw(st.sampled_from(("<=", "<=", "<")))
    value = draw(st.sampled_from(("carry[] + v[]", "carry[] + v[]", "carry[] + (v[] - x[r, c*32 + t])")))
    return machine(
        f"(x: f32[R, N]) -> (y: f32[R, N]) {{ y[r, i] = sum[k {relation} i] x[r, k] }}",
        "work grid = (r: R), block = (t: 32)\n  ",
        f"""    local carry: f32[]
    local v: f32[]
    local u: f32[]
    carry[] = 0
    for c < ceil(N / 32) {{
      v[] = x[r, c*32 + t] if c*32 + t {less(draw)} N else 0
      for d in ({", ".join(map(str, steps or [1]))}) {{
        u[] = shuffle_up(v[], d)
        v[] += u[]{guard}
      }}
      y[r, c*32 + t] = {value} if c*32 + t < N
      {some(draw, f"carry[] += shuffle_idx(v[], {last})")}
    }}""",
    )


def tree(draw: Draw) -> str:
    """A tree of sums in shared memory, with barriers of one scope or another, or none."""
    monoid = draw(st.sampled_from(sorted(UNITS)))
    update, unit, _ = UNITS[monoid]
    threads = draw(st.sampled_from((8, 16, 32, 64)))
    halves = [threads >> n for n in range(1, 7) if threads >> n]
    steps = draw(st.sampled_from((halves, halves, halves, halves[::-1], halves[:-1])))
    wait = draw(st.sampled_from(("barrier", "barrier", "barrier", "warp barrier", "")))
    return machine(
        ROWS.format(monoid),
        f"work grid = (r: R), block = (t: {threads})\n  ",
        f"""    shared part: f32[{near(draw, threads, 1)}]
    local acc: f32[]
    acc[] = {unit}
    for c < ceil(N / {threads}) {{ acc[] {update} x[r, c*{threads} + t] if c*{threads} + t < N }}
    part[t] = acc[]
    {some(draw, "barrier")}
    for d in ({", ".join(map(str, steps))}) {{
      part[t] {update} part[t + d] if t {less(draw)} d
      {wait}
    }}
    s[r] = part[0] if t == 0""",
    )


def scatter(draw: Draw) -> str:
    """Counts by atomic updates: of a block in shared memory first, or all in the result."""
    threads, bins, many = draw(st.sampled_from((4, 32))), draw(st.sampled_from((4, 16, 32))), draw(st.integers(1, 3))
    place = f"g*{threads * many} + u*{threads} + t"
    cell, rounds = f"q*{threads} + t", near(draw, -(-bins // threads), 1)
    each = [
        f"for q < {rounds} {{ {step} if {cell} < {bins} }}" for step in (f"count[{cell}] = 0", f"atomic h[{cell}] += count[{cell}]")
    ]
    inside = f"0 <= x[{place}] and x[{place}] {less(draw)} {bins}"
    into = draw(st.sampled_from(("count", "h")))
    add = f"{some(draw, 'atomic ')}{into}[x[{place}]] += {draw(st.sampled_from((1, 1, 1, 2)))} if {inside}"
    body = f"for u < {many} {{ if {place} < n {{ {add} }} }}"
    if into == "count":
        waits = [some(draw, "barrier") for _ in range(2)]
        body = "\n      ".join((f"shared count: i32[{bins}]", each[0], waits[0], body, waits[1], each[1]))
    return machine(
        f"(x: i32[n]) -> (h: i32[{bins}]) {{ h[b] = sum[i] (1 if x[i] == i32(b) else 0) }}",
        "",
        f"""    launch (grid = (), block = (z: {bins})) {{ {some(draw, "h[z] = 0")} }}
    launch (grid = (g: ceil(n / {near(draw, threads * many, 1)})), block = (t: {threads})) {{
      {body}
    }}""",
    )


def causal(draw: Draw) -> str:
    """A fold over the elements up to a place, with a loop that is long enough or not."""
    shift, threads = draw(st.integers(0, 2)), draw(st.sampled_from((1, 4, 32)))
    bound = draw(st.sampled_from((f"k <= i + {shift}", f"k < i + {shift}", f"i <= k + {shift}")))
    here = bound.replace("i", f"(g*{threads} + t)")
    other = draw(st.sampled_from((here, here, here, here.replace("<=", "<"))))
    turns = draw(st.sampled_from(("n", "n", f"min(n, (g + 1)*{threads} + {shift})", f"min(n, g*{threads} + {shift})")))
    loop = (
        f"for k < {turns} {{ acc[] += x[k] if {other} }}"
        if turns == "n"
        else f"for k < n {{ if k < {turns} {{ acc[] += x[k] if {other} }} }}"
    )
    return machine(
        f"(x: f32[n]) -> (y: f32[n]) {{ y[i] = sum[k] (x[k] if {bound} else 0) }}",
        f"work grid = (g: ceil(n / {threads})), block = (t: {threads})\n  ",
        f"""    local acc: f32[]
    if g*{threads} + t < n {{
      {some(draw, "acc[] = 0")}
      {loop}
      y[g*{threads} + t] = acc[]
    }}""",
    )


def tile(draw: Draw) -> str:
    """A tile of a matrix through shared memory, stored turned, with its rows rotated or padded."""
    height, width = draw(st.sampled_from((4, 8))), draw(st.sampled_from((4, 8)))
    turn = draw(st.sampled_from(("{0}", "{0}", f"({{0}} + {{1}}) % {width}")))
    pad = draw(st.sampled_from(("", " pad 1")))
    put = turn.format("tx", "ty")
    got = turn.format(draw(st.sampled_from(("ty2", "ty2", "tx2"))), draw(st.sampled_from(("tx2", "tx2", "ty2"))))
    flat = f"(ty*{width} + tx)"
    ty2, tx2 = f"{flat} // {height}", f"{flat} % {height}"
    got = got.replace("ty2", f"({ty2})").replace("tx2", f"({tx2})")
    row = f"({tx2})"
    return machine(
        "(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }",
        f"work grid = (by: ceil(M / {height}), bx: ceil(N / {width})), block = (ty: {height}, tx: {width})\n  ",
        f"""    shared s: f32[{height}, {width}]{pad}
    s[ty, {put}] = x[by*{height} + ty, bx*{width} + tx] if by*{height} + ty < M and bx*{width} + tx {less(draw)} N else 0
    {some(draw, "barrier")}
    y[bx*{width} + {ty2}, by*{height} + {row}] = s[{row}, {got}] if bx*{width} + {ty2} < N and by*{height} + {row} < M""",
    )


def halo(draw: Draw) -> str:
    """A stencil whose block keeps its elements and their neighbours in shared memory."""
    threads, left, right = draw(st.sampled_from((4, 8, 32))), draw(st.integers(0, 2)), draw(st.integers(0, 2))
    size = near(draw, threads + left + right, 1)
    rounds = near(draw, -(-(threads + left + right) // threads), 1)
    place, cell = f"g*{threads} + q*{threads} + t - {near(draw, left)}", f"q*{threads} + t"
    inside = f"{place} >= 0 and {place} < n"
    return machine(
        f"(x: f32[n]) -> (y: f32[n]) {{ y[i] = x[i - {left} | 0] + x[i + {right} | 0] }}",
        f"work grid = (g: ceil(n / {threads})), block = (t: {threads})\n  ",
        f"""    shared s: f32[{size}]
    for q < {rounds} {{ s[{cell}] = (x[{place}] if {inside} else 0) if {cell} {less(draw)} {size} }}
    {some(draw, "barrier")}
    y[g*{threads} + t] = s[t] + s[t + {near(draw, left + right)}] if g*{threads} + t < n""",
    )


def launches(draw: Draw) -> str:
    """Parts in a workspace, and a second launch that puts them together."""
    monoid = draw(st.sampled_from(sorted(UNITS)))
    update, unit, _ = UNITS[monoid]
    parts, threads = draw(st.integers(1, 5)), draw(st.sampled_from((1, 4, 32)))
    chunk, turns = near(draw, parts, 1), draw(st.sampled_from((f"ceil(N / {parts})", f"ceil(N / {parts})", f"N // {parts}")))
    return machine(
        ROWS.format(monoid),
        "",
        f"""    workspace part: f32[R, {parts}]
    launch (grid = (g: ceil(R / {threads}), p: {parts}), block = (t: {threads})) {{
      local acc: f32[]
      if g*{threads} + t < R {{
        {some(draw, f"acc[] = {unit}")}
        for c < {turns} {{ acc[] {update} x[g*{threads} + t, c*{chunk} + p] if c*{chunk} + p {less(draw)} N }}
        part[g*{threads} + t, p] = acc[]
      }}
    }}
    launch (grid = (h: R), block = (z: 1)) {{
      local whole: f32[]
      whole[] = {unit}
      for q < {near(draw, parts, 1)} {{ whole[] {update} part[h, q] }}
      s[h] = whole[]
    }}""",
    )


def copies(draw: Draw) -> str:
    """Elements moved by indices that are cut and put together in another way."""
    a, b = draw(st.sampled_from((2, 3, 4, 8))), draw(st.sampled_from((2, 4, 8)))
    flat = f"g*{a * b} + {{0}}"
    ways = (
        f"p*{b} + q",
        f"p*{b} + q",
        f"q*{a} + p",
        f"q*{b} + p",
        f"p*{b} + ({b - 1} - q)",
        f"({a - 1} - p)*{b} + q",
        f"p*{b} + (q + p) % {b}",
    )
    put = flat.format(draw(st.sampled_from(ways)))
    got = draw(st.sampled_from((put, put, put, flat.format(draw(st.sampled_from(ways))))))
    return machine(
        "(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] * x[i] }",
        f"work grid = (g: ceil(n / {near(draw, a * b, 1)})), block = (p: {near(draw, a, 1)}, q: {b})\n  ",
        f"    y[{put}] = x[{got}] * x[{put}] if {put} {less(draw)} n" + (f" and {got} < n" if got != put else ""),
    )


IDIOMS: tuple[Callable[[Draw], str], ...] = (
    accumulators, tail, ring, registers, butterfly, prefix, tree, scatter, causal, tile, halo, launches, copies,
)  # fmt: skip


@st.composite
def texts(draw: Draw) -> str:
    """An op and a machine with a program."""
    return draw(st.sampled_from(IDIOMS))(draw)
