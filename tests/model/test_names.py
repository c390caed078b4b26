"""Names for terms: put in, a text with names is the text without them.

Comes in: every spec of the library. Goes out: nothing, or a spec whose terms, given names, are others afterwards.
The one idea: `without_names` is undone by naming what stands anywhere, so naming at random and putting in again has to change nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from tinygpu.diagnostic import TinygpuError
from tinygpu.model.binders import binders
from tinygpu.model.names import without_names
from tinygpu.model.problems import Problems
from tinygpu.pipeline import Refutation, check, load_text
from tinygpu.proof.why import why
from tinygpu.record import fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.node import nodes
from tinygpu.syntax.parse import parse

SPECS = sorted((Path(__file__).resolve().parents[2] / "specs").glob("*.tgpu"))
TERMS = get_args(tree.Expr)


def terms(part: Any, bound: frozenset[str] = frozenset()) -> Iterator[tuple[tree.Expr, frozenset[str]]]:
    """The terms below a part of a tree that may have a name, with the indices that folds around them bind."""
    if isinstance(part, tree.Name | tree.Sized | tree.Binder) or (isinstance(part, tree.Group) and len(part.items) != 1):
        return
    if isinstance(part, TERMS) and not isinstance(part, tree.Number):
        yield part, bound
    if isinstance(part, tree.FoldExpr):
        bound |= {one.name for one in part.binders}
    for one in part if isinstance(part, tuple) else (getattr(part, f.name) for f in fields(part)):
        if isinstance(one, (tuple, *TERMS)):
            yield from terms(one, bound)


def instead(part: Any, old: tree.Expr, new: tree.Expr) -> Any:
    """The first place of a term taken by another one."""
    if part is old:
        return new
    if isinstance(part, tuple):
        return tuple(instead(one, old, new) for one in part)
    if not isinstance(part, tree.Node):
        return part
    return replace(part, **{f.name: instead(getattr(part, f.name), old, new) for f in fields(part)})


def named(part: Any, chance: random.Random, defs: list[tree.Def], written: set[str]) -> Any:
    """A line, step or block with some of its terms named, by a `let` before it or a `def` of the file."""
    if isinstance(part, tuple) and part and isinstance(part[0], (tree.Equation, *get_args(tree.Statement))):
        return tuple(line for one in part for line in named_line(one, chance, defs, written))
    if isinstance(
        part, tree.Machine | tree.ProgramClause | tree.Op | tree.For | tree.If | tree.LaunchStatement | tree.LaunchClause
    ):
        return replace(part, **{f.name: named(getattr(part, f.name), chance, defs, written) for f in fields(part)})
    return tuple(named(one, chance, defs, written) for one in part) if isinstance(part, tuple) else part


def named_line(line: Any, chance: random.Random, defs: list[tree.Def], written: set[str]) -> list[Any]:
    before: list[Any] = []
    if isinstance(line, tree.Equation | tree.Assign | tree.Holds):
        for _ in range(2):
            places = [line.value, getattr(line, "guard", None), line.target.index if not isinstance(line, tree.Equation) else ()]
            found = [
                (t, b)
                for place in places
                if place
                for t, b in terms(place)
                if t is not line.value or len(getattr(line, "targets", "1")) == 1
            ]
            found = [(t, b) for t, b in found if not any(isinstance(n, tree.Cell) and n.name in written for n in nodes(t))]
            if not found:
                break
            term, _ = chance.choice(found)
            name = f"named_{len(defs)}_{chance.randrange(10**9)}"
            free = sorted(
                {n.name for n in nodes(term) if isinstance(n, tree.Name)}
                - {n for n, _, _ in binders(term)}
                - {"inf", "true", "false"}
            )
            if chance.random() < 0.5 and free and not any(isinstance(n, tree.Cell | tree.FoldExpr) for n in nodes(term)):
                defs.append(tree.Def(name, term, tuple(free)))
                line = instead(line, term, tree.Call(name, tuple(map(tree.Name, free))))
            else:
                before.append(tree.Let((tree.Naming(name, term),)))
                line = instead(line, term, tree.Name(name))
    return [*before, named(line, chance, defs, written)]


@pytest.mark.sampled
@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_naming_terms_and_putting_them_in_changes_nothing(path: Path) -> None:
    file = parse(path.read_text(encoding="utf-8"))
    wanted = grouped(without_names(file, Problems())[0].declarations)
    for seed in range(3):
        defs: list[tree.Def] = []
        made, chance = [], random.Random(seed)
        for one in file.declarations:
            written = {n.target.name for n in nodes(one) if isinstance(n, tree.Assign)}
            made.append(named(one, chance, defs, written))
        text = format_file(tree.File((*defs, *made)))
        problems = Problems()
        found, names = without_names(parse(text), problems)
        assert not problems.found and not names.wrong, (text, problems.found)
        assert text.count("named_") >= 2 and grouped(found.declarations) == wanted, text


def grouped(part: Any) -> Any:
    """Without parentheses, which a term that is put in brings or needs not."""
    if isinstance(part, tuple):
        return tuple(map(grouped, part))
    if isinstance(part, tree.Group) and len(part.items) == 1 and not isinstance(part.items[0], tree.Name | tree.Sized):
        return grouped(part.items[0])
    if not isinstance(part, tree.Node):
        return part
    return replace(part, **{f.name: grouped(getattr(part, f.name)) for f in fields(part)})


@pytest.mark.parametrize(("lines", "code"), [
    ("def d(x) = x + x\n" + "\n".join(f"def d{n}(x) = {'d' if n == 0 else f'd{n - 1}'}({'d' if n == 0 else f'd{n - 1}'}(x))" for n in range(6)), "TG161"),
    ("def d5(x) = x + w", "TG101"),
    ("def d5(x, x) = x", "TG102"),
    ("def d5(x) = x\ndef d5(x) = x", "TG102"),
    ("def d5(x) = y5(x)", "TG107"),
    ("def d5(x) = x[0]", "TG107"),
])  # fmt: skip
def test_a_def_that_is_none(lines: str, code: str) -> None:
    with pytest.raises(TinygpuError) as refused:
        load_text(f"{lines}\nop f(x: f32[n]) -> (y: f32[n]) {{ y[i] = d5(x[i] + 1) }}")
    assert {d.code for d in refused.value.diagnostics} == {code}


def test_a_mistake_in_a_def_is_told_where_it_is_called_and_where_it_is_written() -> None:
    with pytest.raises(TinygpuError) as refused:
        load_text("def half(x) = x // 2\ndef both(x) = half(x) + 1\nop f(x: f32[n]) -> (y: f32[n]) {\n  y[i] = both(x[i])\n}")
    (found,) = refused.value.diagnostics
    assert [(label.span.line, label.span.column) for label in found.places] == [(4, 10), (2, 15), (1, 15)]


def test_a_tensor_may_be_an_argument() -> None:
    text = "def step(x, i) = x[i + 1] - x[i]\nop f(a: f32[n + 1]) -> (y: f32[n]) {{ y[i] = {} }}"
    called, written = (load_text(text.format(term)).spec.op("f").equations for term in ("step(a, i)", "a[i + 1] - a[i]"))
    assert called == written


TILES = [  # what a machine says by tiles, and what that is
    ("t[a] = x[g*128 + a - 1 | 2]", "y[g*128 + t0] = t[t0] if g*128 + t0 < n",
     "y[g*128 + t0] = (x[g*128 + t0 - 1] if 0 <= g*128 + t0 - 1 and g*128 + t0 - 1 < n else 2) if g*128 + t0 < n"),
    ("o[a] = y[g*128 + a | 0]", "o[t0] = x[g*128 + t0] if t0 < 3", "y[g*128 + t0] = x[g*128 + t0] if g*128 + t0 < n and t0 < 3"),
    ("o[a] = y[g*128 + a]", "o[t0] = 0", "y[g*128 + t0] = 0"),
    ("o[a, b] = s[a, b | 7]", "o[t0, t0 + 1] = o[t0 + 1, 0]", "s[t0, t0 + 1] = (s[t0 + 1, 0] if t0 + 1 < 128 else 7) if t0 + 1 < 3"),
    ("o[a] = y[a | 0], p = g*128 + t0", "o[p] = p + (p + 1)", "y[g*128 + t0] = (g*128 + t0) + (g*128 + t0 + 1) if g*128 + t0 < n"),
    ("w = x, p = 2 + t0, q = g*128 + p", "y[q + p] = w[q - p]", "y[g*128 + 2 + t0 + 2 + t0] = x[g*128 + 2 + t0 - (2 + t0)]"),
    ("o[a] = y[a | 0]", "o[k[t0]] = 0", "y[k[t0]] = 0 if 0 <= k[t0] and k[t0] < n"),
    ("p = n - t0", "y[g + p] = 0", "y[g + n - t0] = 0"),
    ("o[a] = v[a | 0]", "o[t0] holds x[t0]", "v[t0] holds x[t0]"),
    ("o[a] = y[a | 0]", "atomic o[t0] += 1", "atomic y[t0] += 1 if t0 < n"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "step", "written"), TILES)
def test_a_tile_carries_its_bounds(names: str, step: str, written: str) -> None:
    text = """op f(x: f32[n], k: i32[n]) -> (y: f32[n]) {{ y[i] = x[i] }}
machine m : f {{
  work grid = (g: ceil(n / 128)), block = (t0: 128)
  program {{
    shared s: f32[128, 3]
    local v: f32[128]
    {}
  }}
}}"""
    found, wanted = (
        grouped(without_names(parse(text.format(lines)), Problems())[0]) for lines in (f"let {names}\n    {step}", written)
    )
    assert found == wanted, format_file(found)


def test_messages_call_a_term_by_its_name() -> None:
    text = """op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : f {
  work grid = (g: ceil(n / 128)), block = (t0: 128)
  program {
    let i = g*128 + t0
    y[i] = x[i] if i < n + 1
  }
}"""
    machine = load_text(text).machines[0]
    verdict = check(machine)
    assert isinstance(verdict, Refutation)
    said = "\n".join(why(verdict.program, verdict.left, "TG203"))
    assert "x[i] is inside n" in said and "⊢  i < n" in said and "128 +" not in said


def test_arrays_and_loops_on_one_line_are_one_each() -> None:
    one, several = (
        parse(f"machine m : f {{ program {{\n{lines}\n}} }}")
        for lines in (
            "local a: f32[2], b: i32[]\nshared s: f32[4] pad 1\nfor i < 2, j < n + 1, k < 3 in vector { a[i] = 0 }",
            "local a: f32[2]\nlocal b: i32[]\nshared s: f32[4] pad 1\n"
            "for i < 2 in vector { for j < n + 1 in vector { for k < 3 in vector { a[i] = 0 } } }",
        )
    )
    assert without_names(one, Problems())[0] == several and one != several


def test_a_number_may_be_hexadecimal() -> None:
    text = "param B = {}\nop f(x: u32[n + {}]) -> (y: u32[n]) {{ y[i] = x[i + {}] * {} ^ {} }}"
    hexadecimal, decimal = (
        text.format(*words) for words in (("0x80", "0x10", "0xf", "0x85eBcA6b", "0x0"), (128, 16, 15, 2246822507, 0))
    )
    assert load_text(hexadecimal).spec.op("f").equations == load_text(decimal).spec.op("f").equations
    assert "0x85eBcA6b" in format_file(parse(hexadecimal))


def test_a_name_may_not_be_that_of_an_array():
    program = "local s: f32[]\n    let s = g*32 + t\n    y[s] = x[s] if s < n"
    text = "op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }\n\nmachine m : f {\n  work grid = (g: ceil(n / 32)), block = (t: 32)\n"
    with pytest.raises(TinygpuError) as raised:
        load_text(f"{text}  program {{\n    {program}\n  }}\n}}\n")
    assert [d.title for d in raised.value.diagnostics] == ["the name s hides an array of the same name"]
