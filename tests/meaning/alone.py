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
        turn = d.of(
            f"q[] {update} {mine} if {truth.format(e=x, w='a')}; q[] {update} ({mine} if {truth.format(e=x, w='a')} else {unit})"
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
    shape = d.of("{}; {}; {} + a; {}*2; exp({}); {} - a; 1/{}; max({}, a); -{}; {}*a; ({} if a > 0 else 0); exp({} - {}); {} - {}")
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
    d.lawful = start != "-inf"  # any number will do, by a law of functions
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
    promise = " where n <= 100" + d.of(  # what is right at small sizes and wrong at 2³¹ is not for the judge to see
        f", all[i] (z[i] >= {low} and i64(z[i]) < i64(n)); , all[i] (z[i] >= {low} and i64(z[i]) < i64(n)); , all[i] (z[i] >= 0); , n >= 1; "
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


KINDS = (elementwise, elementwise, rows, rows, softmax, integers, integers, gather)
