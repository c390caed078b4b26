"""Reading programs: what is understood, and every mistake with its code, the place it points at, and a fix."""

from __future__ import annotations

import pytest

from tests.program.library import agrees, edges, machines
from tinygpu.category.term import App, Const, Fold, Read, Var, ceildiv, text
from tinygpu.derive.derive import derive
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.program.render import render
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, Ghost, If, Program

OP = "op o(a: f32, x: f32[n], k: i32[n], h: f16[n]) -> (y: f32[n], c: i32[n]) { y[i] = a * x[i] + f32(h[i])\n c[i] = 2 * k[i] }\n"


def program(body: str, params: str = "") -> Program:
    (machine,) = machines(
        f"{OP}machine m : o {{\n{params}work grid = (g: ceil(n / 4)), block = (t: 4)\nprogram {{\n{body}\n}}\n}}"
    ).values()
    return derive(machine)


def mistakes(body: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(TinygpuError) as caught:
        program(body)
    return caught.value.diagnostics


def test_names_dtypes_and_literals() -> None:
    local, assign = program("local v: f32[2]\nv[1] = a * 2 + f32(t) if t < 3").launches[0].body
    assert local == Array("v", "f32", (Const(2),), LOCAL)
    product = App("mul", (Read("a", (), "f32"), Const(2.0, "f32")), "f32")
    assert assign == Assign("v", (Const(1),), App("add", (product, App("cast", (Var("t"),), "f32")), "f32"), "", Var("t") < 3)


def test_a_select_is_a_value_and_a_guard_is_a_guard() -> None:
    body = (
        program("local v: f32[]\nv[] = x[t] if t < n else 0\nv[] = x[t] if t < n\nv[] = (x[t] if t < n else 0) if g < 1")
        .launches[0]
        .body
    )
    one, two, three = (s for s in body if isinstance(s, Assign))
    assert isinstance(one.value, App) and one.value.op == "select" and one.guard == Const(True, "bool")
    assert isinstance(two.value, Read) and text(two.guard) == "t < n"
    assert isinstance(three.value, App) and three.value.op == "select" and text(three.guard) == "g < 1"


def test_updates_loops_ifs_and_ghosts() -> None:
    source = "local v: f32[]\nv[] = 0\nif g < 2 {\nfor j < n { v[] += x[j] }\nfor u < 2 in register { v[] max= x[u] if u < n }\n}\nv[] holds sum[j] x[j]"
    _, _, branch, ghost = program(source).launches[0].body
    assert isinstance(branch, If) and isinstance(ghost, Ghost) and isinstance(ghost.value, Fold)
    loop, unrolled = branch.body
    assert isinstance(loop, For) and isinstance(unrolled, For)
    assert (loop.axis.extent, loop.axis.sort, unrolled.axis.sort) == (Var("n"), "time", "register")
    (update,) = (s for s in unrolled.body if isinstance(s, Assign))
    assert update.update == "max"


def test_a_loop_over_listed_values_is_its_body_for_each() -> None:
    listed = program("local p: f32[8]\nfor d in (4, B, 1) { for u < d in register { p[u] += p[u + d] } }", "param B = 2\n")
    by_hand = "".join(f"for u < {d} in register {{ p[u] += p[u + {d}] }}\n" for d in (4, 2, 1))
    assert listed.launches == program(f"local p: f32[8]\n{by_hand}").launches
    assert program("for d in () { y[d] = 0 }\ny[t] = 0").launches == program("y[t] = 0").launches


def test_params_are_numbers() -> None:
    body = (
        program("local v: f32[B]\nfor u < B in register { v[u] = x[g*B + u] if g*B + u < n else 0 }", "param B = 8\n")
        .launches[0]
        .body
    )
    assert body[0] == Array("v", "f32", (Const(8),), LOCAL)


def test_one_name_may_serve_two_loops_one_after_the_other() -> None:
    program("local v: f32[]\nfor j < n { v[] = x[j] }\nfor j < 3 { v[] = x[j] if j < n }")


def test_several_launches() -> None:
    source = (
        f"{OP}machine m : o {{ program {{\nlaunch (grid = (g: ceil(n / 4)), block = (t: 4)) {{ y[g*4 + t] = a * x[g*4 + t] + f32(h[g*4 + t]) if g*4 + t < n }}\n"
        "launch (grid = (b: n), block = ()) { c[b] = 2 * k[b] }\n} }"
    )
    (machine,) = machines(source).values()
    made = derive(machine)
    assert [tuple(a.name for a in one.grid) for one in made.launches] == [("g",), ("b",)]
    assert made.launches[0].grid[0].extent == ceildiv(Var("n"), 4)
    assert not any(agrees(made, sizes) for sizes in edges(made, 5))
    again = source.partition("program")[0] + render(made) + "}"
    assert derive(next(iter(machines(again).values()))) == made


MISTAKES = {
    "y[t] = q": ("TG101", "q"),
    "q[t] = x[t]": ("TG101", "q[t]"),
    "y[t] = v[]": ("TG101", "v[]"),
    "for w < q { y[w] = 0 }": ("TG101", "q"),
    "local n: f32[]": ("TG103", "local n: f32[]"),
    "local v: f32[]\nlocal v: f32[2]": ("TG102", "local v: f32[2]"),
    "local v: f31[]": ("TG108", "local v: f31[]"),
    "for t < 3 { y[t] = 0 }": ("TG103", "for t < 3 { y[t] = 0 }"),
    "y[t, t] = 0": ("TG110", "y[t, t]"),
    "y[t] = x[t, 0]": ("TG110", "x[t, 0]"),
    "y[t] = x": ("TG110", "x"),
    "y[t] = y[t]": ("TG116", "y[t]"),
    "y[x[t]] = 0": ("TG119", "x[t]"),
    "y[t] = x[t] * h[t]": ("TG120", "x[t]"),
    "y[t] = h[t]": ("TG121", "h[t]"),
    "c[t] = 0.5": ("TG124", "0.5"),
    "c[t] any= 1": ("TG122", "c[t] any= 1"),
    "y[t] = 0 if x[t]": ("TG123", "x[t]"),
    "local v: f32[0]": ("TG128", "0"),
    "x[t] = 0": ("TG150", "x[t]"),
    "y[t | 0] = 0": ("TG151", "0"),
    "for j < t { y[j] = 0 }": ("TG154", "t"),
    "for j < n { for i < j + 1 { y[j] = 0 } }": ("TG154", "j + 1"),
    "local v: f32[n]": ("TG155", "n"),
    "for v < n in vector { y[v] = 0 }": ("TG155", "n"),
    "y[t] = sum[j] x[j]": ("TG156", "sum[j] x[j]"),
    "y[t] = 0 if (any[j] (x[j] > 0))": ("TG156", "(any[j] (x[j] > 0))"),
    "launch (grid = (b), block = ()) { y[b] = 0 }": ("TG157", "b"),
    "y[t] = 0\nlaunch (grid = (b: n), block = ()) { y[b] = 0 }": ("TG157", "y[t] = 0"),
    "shared s: f32[n]": ("TG155", "n"),
    "shared s: f32[4]\nlocal s: f32[]": ("TG102", "local s: f32[]"),
    "shared n: f32[4]": ("TG103", "shared n: f32[4]"),
    "for j < 2 { shared s: f32[4] }": ("TG153", "shared s: f32[4]"),
    "for d in (2, 1) { shared s: f32[4] }": ("TG153", "shared s: f32[4]"),
    "if g < 1 { shared s: f32[4] }": ("TG153", "shared s: f32[4]"),
    "workspace s: f32[4]": ("TG153", "workspace s: f32[4]"),
    "launch (grid = (), block = ()) { workspace s: f32[4] }": ("TG153", "workspace s: f32[4]"),
    "launch (grid = (), block = ()) { y[0] = 0 }\nworkspace s: f32[4]": ("TG153", "workspace s: f32[4]"),
    "workspace s: f32[q]\nlaunch (grid = (), block = ()) { y[0] = 0 }": ("TG101", "q"),
    "launch (grid = (n: 4), block = ()) { y[0] = 0 }": ("TG103", "n: 4"),
    "launch (grid = (), block = ()) { shared s: f32[4] }\nlaunch (grid = (), block = ()) { y[0] = s[0] }": ("TG101", "s[0]"),
    "launch (grid = (), block = ()) { shared s: f32[4] }\nlaunch (grid = (), block = ()) { s[0] = 0 }": ("TG101", "s[0]"),
    "launch (grid = (), block = ()) { local s: f32[4] }\nlaunch (grid = (), block = ()) { shared s: f32[4] }": (
        "TG102",
        "shared s: f32[4]",
    ),
    "launch (grid = (), block = ()) { y[0] = c[0] }\nlaunch (grid = (), block = ()) { c[0] = 0 }": ("TG116", "c[0]"),
    "for j < 2 { local v: f32[] }\nv[] = 0": ("TG101", "v[]"),
    "y[t] holds 0": ("TG160", "y[t] holds 0"),
    "commit": ("TG109", "commit"),
    "wait 1": ("TG109", "wait 1"),
    "atomic y[t] = 1": ("TG159", "atomic y[t] = 1"),
    "atomic y[t] max= 1": ("TG159", "atomic y[t] max= 1"),
    "atomic c[t] *= 2": ("TG159", "atomic c[t] *= 2"),
    "local v: f32[]\natomic v[] += 1": ("TG159", "atomic v[] += 1"),
    "atomic x[t] += 1": ("TG150", "x[t]"),
    "y[shuffle_xor(t, 1)] = 0": ("TG152", "shuffle_xor(t, 1)"),
    "y[t] = 0 if shuffle_xor(x[t], 1) > 0": ("TG152", "shuffle_xor(x[t], 1)"),
    "if shuffle_xor(x[t], 1) > 0 { y[t] = 0 }": ("TG152", "shuffle_xor(x[t], 1)"),
    "y[t] = (shuffle_xor(x[t], 1) if t < 2 else 0)": ("TG152", "shuffle_xor(x[t], 1)"),
    "y[t] = (1 if shuffle_xor(x[t], 1) > 0 else 0)": ("TG152", "shuffle_xor(x[t], 1)"),
    "y[t] = x[t | shuffle_xor(x[t], 1)]": ("TG152", "shuffle_xor(x[t], 1)"),
    "local v: f32[]\nv[] holds shuffle_xor(x[t], 1)": ("TG152", "shuffle_xor(x[t], 1)"),
    "y[t] = sum[j < n] shuffle_xor(x[t], 1)": ("TG152", "shuffle_xor(x[t], 1)"),
    "y[t] = shuffle_xor(x[t])": ("TG125", "shuffle_xor(x[t])"),
    "y[t] = f32(shuffle_xor(t, 1))": ("TG122", "shuffle_xor(t, 1)"),
    "y[t] = shuffle_xor(x[t], 0.5)": ("TG119", "0.5"),
    "y[t] = shuffle_xor(h[t], 1)": ("TG121", "shuffle_xor(h[t], 1)"),
    "y[t] = shufle_xor(x[t], 1)": ("TG107", "shufle_xor(x[t], 1)"),
    "for d in (2, 1.5) { y[d] = 0 }": ("TG119", "1.5"),
    "for t in (2, 1) { y[t] = 0 }": ("TG103", "for t in (2, 1) { y[t] = 0 }"),
    "for d in (2, 1) { local v: f32[] }": ("TG102", "local v: f32[]"),
    "local v: f32[4] pad 1": ("TG158", "pad 1"),
    "shared s: f32[4] (a)": ("TG158", "shared s: f32[4] (a)"),
    "shared s: f32[4] pad -1": ("TG158", "pad -1"),
    "shared s: f32[4] pad n": ("TG101", "n"),
    "shared s: f32[4] swizzle": ("TG158", "swizzle"),
    "shared s: f32[4] swizzle(1, 2)": ("TG158", "swizzle(1, 2)"),
    "shared s: f32[32, 32] swizzle(3, 2, 0)": ("TG158", "swizzle(3, 2, 0)"),
    "shared s: f32[5, 5] swizzle(2, 30, 2)": ("TG158", "swizzle(2, 30, 2)"),
    "shared s: f32[4] swizzle(0, 2, 2)": ("TG158", "swizzle(0, 2, 2)"),
    "shared s: f32[4] swizzle(2, 20, 20)": ("TG158", "swizzle(2, 20, 20)"),
}


@pytest.mark.parametrize("body", sorted(MISTAKES))
def test_a_mistake_has_its_code_its_place_and_a_fix(body: str) -> None:
    code, place = MISTAKES[body]
    first = mistakes(body)[0]
    span = first.span
    source = f"{OP}machine m : o {{\nwork grid = (g: ceil(n / 4)), block = (t: 4)\nprogram {{\n{body}\n}}\n}}"
    assert (first.code, source[span.start : span.end]) == (code, place)
    assert first.title and (first.helps or code in ("TG101", "TG110", "TG119", "TG123", "TG124", "TG128"))


def test_a_cell_that_is_not_declared_is_offered_a_declaration() -> None:
    assert mistakes("acc[] = 0")[0].helps == ("declare it before: local acc: f32[]",)
    assert mistakes("local acc: f32[]\nac[] = 0")[0].helps == ("did you mean acc?",)


def test_every_mistake_is_reported_at_once() -> None:
    assert [d.code for d in mistakes("x[t] = 0\ncommit\ny[t] = q")] == ["TG150", "TG109", "TG101"]
