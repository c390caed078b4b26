"""Programs that come near an edge which is seldom met: sums of infinities, updates of what an earlier launch left, extents that divide, ghosts under
tests, places that are computed.

Comes in: a `Trouble`. Goes out: a text. The one idea: each function is a program that is right when no trouble is drawn.
"""

from __future__ import annotations

from tests.meaning.alone import grid, machine, where
from tests.meaning.trouble import Trouble


def endless_sums(d: Trouble) -> str:
    """A sum, a product or a maximum of terms of which some are infinite."""
    work, at, inside, _ = grid(d, "R")
    update, unit, word = d.one(("+=", "0", "sum"), ("+=", "0", "sum"), ("*=", "1", "prod"), ("max=", "-inf", "max"))
    term = d.of(
        "(inf if X > 0 else X); (-inf if X > 0 else 1); (inf if X > 0 else -inf); (inf if X > 0 else 0); (X if X < 2 else inf); max(X, -inf)"
    )
    term = "(inf if X > 0 else X)" if word == "prod" else term
    mine = f"({word}[k] {term.replace('X', 'x[r, k]')})"
    shape = d.of(
        "S; S; min(max(S, w[r]), w[r]); (w[r] if S == S else 7); (w[r] if S > 0 else w[r] + 1); 1/S; (S if w[r] > 0 else 0)"
    )
    other = d.one(shape, shape, shape, f"{shape} + 0*S", "w[r]", "w[r] + 0*(sum[k] x[r, k])")
    done = d.store(f"y[{at}]", shape.replace("S", "s[]").replace("w[r]", f"w[{at}]"), inside, d.one("s[]", f"w[{at}]"), "f32")
    return machine(
        d,
        f"(x: f32[R, M], w: f32[R]) -> (y: f32[R]){where(d, 'M >= 1')} {{ y[r] = {other.replace('S', mine)} + 0*w[r] }}",
        work,
        f"""    local s: f32[]
    s[] = {unit}
    if {inside} {{ for k < M {{ s[] {update} {term.replace("X", f"x[{at}, k]")} }} }}
    {done}""",
    )


def updates(d: Trouble) -> str:
    """An output or a workspace that one launch stores, and later ones update, all of it or a part."""
    first = d.one("g < n", "g < n", "g < n", "g < n - 1", "x[g] > 0")
    start, update, mine = d.one(("0", "+= x[g]", "x[i]"), ("x[g]", "+= w[g]", "x[i] + w[i]"), ("1", "*= x[g]", "x[i]"), ("-inf", "max= x[g]", "x[i]"), ("w[g]", "max= x[g]", "max(w[i], x[i])"))  # fmt: skip
    how = d.one("", "", "atomic ")
    if how and "*=" in update:
        how = ""
    second = d.guard(d.one("g < n", "g < n", "g < n", "g > 0"), "x[g]", "f32", "w[g]", cells=False)
    space = d.chance.random() < 0.4
    name = "s" if space else "y"
    stores = [f"{name}[g] = {start} if {first}", f"{how}{name}[g] {update} if {second}"]
    if d.chance.random() < 0.15:
        stores.reverse()
    if space:
        stores.append("y[g] = s[g]")
    launch = "    launch (grid = (g: n), block = (t: 1)) {{ {} }}\n"
    return (
        f"op f(x: f32[n], w: f32[n]) -> (y: f32[n]){where(d, 'n >= 1')} {{ y[i] = {mine} + 0*w[i] }}\n\nmachine m : f {{\n  program {{\n"
        + ("    workspace s: f32[n]\n" if space else "")
        + "".join(launch.format(one) for one in stores)
        + "  }\n}\n"
    )


def divided_extents(d: Trouble) -> str:
    """A fold, a grid or a workspace whose extent is a quotient of sizes."""
    extent = d.of("n // 2; n // m; (n + 1) // 2; ceil(n / 2); n // max(m, 1); (n - 3) // 4 + 1; n % m; min(n, m); max(n - m, 0)")
    turns = d.one(extent, extent, extent, "n // 2", "n")
    needs = where(d, "m >= 1", "n >= 3", "m >= 1")
    again = d.one("", "", "", "0*")
    body = d.one("x[k]", "x[k]", "1", "x[k] + z[0]")
    if d.chance.random() < 0.3:
        return f"""op f(x: f32[n], z: f32[m]) -> (y: f32[n]){needs} {{ y[i] = x[i] + 0*(sum[j] z[j]) }}

machine m_ : f {{
  program {{
    workspace s: f32[{extent}]
    launch (grid = (h: {turns}), block = (u: 1)) {{ s[h] = x[h] }}
    launch (grid = (g: n), block = (t: 1)) {{ y[g] = {d.one(f"s[g] if g < {extent} else x[g]", "x[g]", f"(s[g] if g < {extent} else x[g])")} }}
  }}
}}
"""
    return machine(
        d,
        f"(x: f32[n], z: f32[m]) -> (y: f32[]){needs} {{ y[] = {again}(sum[k < {extent}] {body}) + 0*((sum[i] x[i]) + (sum[j] z[j])) }}",
        "work grid = (g: 1), block = (t: 1)",
        f"    local q: f32[]\n    q[] = 0\n    for k < {turns} {{ q[] += {body} }}\n    y[] = {d.one(again, again, '')}q[]",
    )


def ghosts(d: Trouble) -> str:
    """What is said of an integer, in a place where data decides something, and what is then done with it."""
    work, at, inside, _ = grid(d)
    test = d.of(
        "x[A] > 0; x[A] + f32(z[A]) - x[A] == 0; z[A] == 0; z[A] < 1 and z[A] >= 0; f32(z[A]) == 0; x[A] == x[A]; z[A] >= 0; not (x[A] == x[A])"
    ).replace("A", at)
    said = d.one(f"z[{at}]", f"z[{at}]", "0", f"z[{at}] + 0*z[{at}]", f"max(z[{at}], 0)")
    use = d.one("w[i[]]", "w[i[]]", "w[max(min(i[], 1), 0)]", "w[0]", "w[i[] | 0]")
    first = d.one(f"z[{at}]", f"z[{at}]", "0", f"z[{at}]*1")
    promise = d.one(" where all[i] (z[i] >= 0 and z[i] < 2)", " where all[i] (z[i] >= 0)", "")
    return machine(
        d,
        f"(x: f32[n], z: i32[n], w: f32[2]) -> (y: f32[n]){promise} {{ y[i] = x[i] + 0*f32(z[i]) + 0*w[0] }}",
        work,
        f"""    local i: i32[]
    local v: f32[]
    v[] = 0
    if {inside} {{
      i[] = {first}
      if {test} {{
        i[] holds {said}
        v[] = 0*{use}
      }}
      y[{at}] = x[{at}] + v[]
    }}""",
    )


def places(d: Trouble) -> str:
    """A cell of a few that is found by what data, a choice or a monoid says."""
    work, at, inside, _ = grid(d)
    place = d.one("P % 4", "min(P, 3)", "(1 if P > 1 else 0)", "P").replace("P", d.one("index(z[A])", "index(u8(z[A]))", "index(mon(mon(0), mon(z[A])).k)", "index(z[A] ^ 1)", "index(z[A]*z[A])"))  # fmt: skip
    other = d.one(place, place, place, "0", place.replace(" % 4", " % 2"))
    text = d.one(*("monoid mon(k: u32) {\n  unit    (0)\n  lift    (x) = (x)\n  combine (a, b) = (C)\n}\n\n".replace("C", c) for c in ("a.k + b.k", "a.k + b.k", "max(a.k, b.k)", "a.k ^ b.k", "a.k + b.k + 1")))  # fmt: skip
    promise = d.one("", " where all[i] (z[i] < 4)", " where all[i] (z[i] <= 1)")
    mine = d.one(f"x[{at}]", f"x[{at}]", d.value(f"x[{at}]", "f32"))
    return machine(
        d,
        f"(x: f32[n], z: u32[n]) -> (y: f32[n]){promise} {{ y[i] = x[i] + 0*f32(z[i]) }}",
        work,
        f"""    local a: f32[4]
    if {inside} {{
      for q < 4 {{ a[q] = {d.one("0", "7", f"x[{at}]")} }}
      a[{place.replace("A", at)}] = {mine}
      y[{at}] = a[{other.replace("A", at)}]
    }}""",
        text if "mon(" in place + other else "",
    )


KINDS = (endless_sums, updates, divided_extents, ghosts, places)
