"""Reading programs: what is understood, and every mistake with its code, the place it points at, and a fix."""

from __future__ import annotations

import pytest

from tests.program.library import HERE, TEXTS, machines
from tests.program.library import program as one
from tinygpu.category.layout import Layout
from tinygpu.category.term import App, Const, Read, Var, text
from tinygpu.derive.derive import derive
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.program.call import Sync
from tinygpu.program.read import reread
from tinygpu.program.render import render_machine
from tinygpu.program.space import LOCAL, SHARED, WORKSPACE
from tinygpu.program.step import Array, Assign, For, Program, steps
from tinygpu.record import replace

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


def test_a_loop_over_listed_values_is_its_body_for_each() -> None:
    listed = program("local p: f32[8]\nfor d in (4, B, 1) { for u < d in register { p[u] += p[u + d] } }", "param B = 2\n")
    by_hand = "".join(f"for u < {d} in register {{ p[u] += p[u + {d}] }}\n" for d in (4, 2, 1))
    assert listed.launches == program(f"local p: f32[8]\n{by_hand}").launches
    assert program("for d in () { y[d] = 0 }\ny[t] = 0").launches == program("y[t] = 0").launches


STEPS = "op o(x: f32[n]) -> (y: f32[n]) {{ y[i] = x[i] }}\nparam T = 2\nmachine m : o {{ program {{ workspace w: f32[9]\n{}\n}} }}"
TURN = (
    "launch (grid = (g: {t} + 1), block = (k: 4)) {{ local v: f32[]\nfor d in (2, 1) {{ v[] = x[{t} + d] }}\nw[{t} + k] = v[] }}\n"
)


@pytest.mark.parametrize(
    ("loop", "turns"),
    [("t < T", (0, 1)), ("t in (0, 3)", (0, 3)), ("t in 1 .. 2*T", (1, 2, 3)), ("s < 2, t < 1", (0, 0)), ("t in 2 .. 2", ())],
)
def test_launches_in_a_loop_are_those_of_each_turn(loop: str, turns: tuple[int, ...]) -> None:
    last = TURN.format(t=5)
    looped = one(STEPS.format(f"for {loop} {{ {TURN.format(t='t')} }}\n{last}"))
    assert looped == one(STEPS.format("".join(TURN.format(t=t) for t in turns) + last))


def test_loops_of_one_name_are_two() -> None:
    here = TURN.format(t="t").replace("g: t + 1", "g: n")
    made = one(STEPS.format(f"for t < n {{ {here}\nfor s < n {{ {here} }} }}\nfor t < n {{ {here} }}"))
    names = [[a.name for a in launch.turns] for launch in made.launches]
    assert names == [["t"], ["t", "s"], ["t2"]] and reread(made) == made


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("for t in 1 .. n { LAUNCH }", "TG157"),
        ("for t < n { launch (grid = (g: t), block = (k: 4)) { w[k] = 0 } }", "TG154"),
        ("for t < 2 { workspace u: f32[4]\nLAUNCH }", "TG153"),
        ("for t < 2 { w[0] = 0\nLAUNCH }", "TG157"),
        ("for t < x[0] { LAUNCH }", "TG101"),
        ("for t < 2 in vector { LAUNCH }", "TG157"),
        ("for n < 2 { LAUNCH }", "TG103"),
        ("launch (grid = (), block = (k: 4)) { for t < 2 { LAUNCH } }", "TG157"),
        ("for t < 2 { for t < 2 { LAUNCH } }", "TG103"),
        ("for t < 3000 { LAUNCH }", "TG161"),
    ],
)
def test_what_stands_around_launches_and_may_not(body: str, code: str) -> None:
    with pytest.raises(TinygpuError) as caught:
        one(STEPS.format(body.replace("LAUNCH", TURN.format(t=0))))
    assert caught.value.diagnostics[0].code.startswith(code)


STRANGE = (HERE / "strange.tgpu").read_text(encoding="utf-8")
ALL = {**TEXTS, "strange": STRANGE, "one_launch": STRANGE.partition("    launch (grid = (), block")[0] + "} }"}


@pytest.mark.parametrize("name", ALL)
def test_the_text_of_a_program_reads_back_to_it(name: str) -> None:
    made = one(ALL[name])
    again = one(ALL[name].partition("machine")[0] + render_machine(made))
    assert replace(again, name=made.name) == made


def test_each_step_is_what_the_text_says() -> None:
    strange = one(STRANGE)
    body = tuple(steps(strange.launches[0].body))
    assert [s.scope for s in body if isinstance(s, Sync)] == ["warp", "block"]
    assert [s.target for s in body if isinstance(s, Assign) and s.atomic] == ["one"]
    assert strange.workspaces[1] == Array("flags", "bool", (Const(2), Var("n")), WORKSPACE)
    assert [text(w.extents[0]) for w in strange.workspaces] == ["ceil(n / 8)", "2"]
    assert strange.shared["two"].layout == Layout(swizzle=(2, 1, 3))
    assert one(TEXTS["transpose_padded"]).shared["s"] == Array("s", "f32", (Const(32), Const(32)), SHARED, Layout(pad=1))
    *_, flags, part, _, most = (s for s in body if isinstance(s, Assign))
    assert part.value == App("shuffle_xor", (Const(2.0, "f32"), Const(1)), "f32")
    assert flags.value == App("shuffle_xor", (Var("t") < 3, Const(1)), "bool")
    assert isinstance(most.value, App) and (most.value.op, most.update, text(most.guard)) == ("select", "max", "g < 1")
    assert [(s.axis.extent, s.axis.sort) for s in body if isinstance(s, For)] == [(Var("n"), "time"), (Const(2), "register")]
    last = strange.launches[-1].body[0]
    assert isinstance(last, Assign) and last.value == Read("s", (), "f32")


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
    "for j < t in register { y[j] = 0 }": ("TG154", "t"),
    "for j < h[t] { y[j] = 0 }": ("TG119", "h[t]"),
    "for j < i32(x[t]) { y[t] = 0 }": ("TG154", "i32(x[t])"),
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
    "launch (grid = (), block = ()) { local s: f32[4] }\nlaunch (grid = (), block = ()) { local s: f32[]\nshared s: f32[4] }": (
        "TG102",
        "shared s: f32[4]",
    ),
    "workspace s: f32[4]\nlaunch (grid = (), block = ()) { local s: f32[] }": ("TG102", "local s: f32[]"),
    "launch (grid = (), block = ()) { y[0] = c[0] }\nlaunch (grid = (), block = ()) { c[0] = 0 }": ("TG116", "c[0]"),
    "for j < 2 { local v: f32[] }\nv[] = 0": ("TG101", "v[]"),
    "y[t] holds 0": ("TG160", "y[t] holds 0"),
    "wait n": ("TG101", "n"),
    "wait 16": ("TG183", "wait 16"),
    "async y[t] = x[t]": ("TG183", "async y[t] = x[t]"),
    "shared s: f32[4]\nasync s[t] += x[t]": ("TG183", "async s[t] += x[t]"),
    "shared s: f32[4]\nasync s[t] = a": ("TG183", "async s[t] = a"),
    "shared s: f32[4], r: f32[4]\nasync s[t] = r[t]": ("TG183", "async s[t] = r[t]"),
    "shared s: f32[4]\ncopy async s[j] = x[j | 0] by w": ("TG175", "copy async s[j] = x[j | 0] by w"),
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
    assert [d.code for d in mistakes("x[t] = 0\nwait 16\ny[t] = q")] == ["TG150", "TG183", "TG101"]
