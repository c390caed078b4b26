"""What each word of a text is: every name that the specs declare may have another one, and then stands nowhere.

Comes in: specs. Goes out: their names, and the same specs with other names.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from pygls.workspace import PositionCodec

from tests.conftest import ROOT, SHAPES
from tinygpu.lsp.colours import tokens
from tinygpu.lsp.complete import complete
from tinygpu.lsp.hover import hover
from tinygpu.lsp.lenses import lenses, outline
from tinygpu.lsp.place import Page
from tinygpu.lsp.read import as_document
from tinygpu.lsp.rename import changes, definition, news
from tinygpu.lsp.state import State
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

SPECS = sorted((ROOT / "specs").glob("*.tgpu"))
MANY = 4  # names of a spec that are changed


@pytest.mark.sampled
@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_names_may_be_others(path: Path):
    text = path.read_text(encoding="utf-8")
    document = as_document(text, str(path))
    keys = [*document.names.defined]
    for key in keys[:: max(1, len(keys) // MANY)]:
        new, changed = f"zz_{key[1]}", text
        for one, word in reversed(changes(document, key, new)):
            assert text[one.start : one.end] in (key[1], f"d{key[1]}") and word in (new, f"d{new}")
            changed = changed[: one.start] + word + changed[one.end :]
        after = as_document(changed, str(path))
        wrong = news(document, after)
        if wrong is not None:  # what a gradient goes by has no name of its own: it follows the tensor's
            assert (
                wrong.code == "TG568"
                and key[1].startswith("d")
                and any(isinstance(d, tree.Gradient) for d in document.names.declarations)
            ), key
            continue
        assert len(after.names.all((key[0], new))) == len(document.names.all(key)), key


@pytest.mark.parametrize("shape", SHAPES)
def test_every_name_has_one_place_where_it_is_declared(shape: str):
    path = ROOT / "specs" / f"{shape}.tgpu"
    document = as_document(path.read_text(encoding="utf-8"), str(path))
    for one in document.names.named:
        assert one.key in document.names.defined or one.key[1] in document.names.declared, one


BROKEN = """op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }

machine broken : f {
  work grid = (g, block = (t: 32)
}

machine whole : f {
  work grid = (g), block = (t: 32)
  compute i = (g, t)
}
"""


def test_what_is_broken_hides_nothing_else():
    document = as_document(BROKEN, "b.tgpu")
    assert document.broken and [m.name for m in document.loaded.machines] == ["whole"]
    assert {one.code for one in document.diagnostics} == {"TG003"}
    assert document.text[document.loaded.machines[0].span.start :].startswith("machine whole")


@pytest.mark.parametrize(
    "text", ["", "op", "}{", "\0", 'import "nowhere"\n', "op f() -> () {", "# only a comment", "op f(x: f32[n]) ->" * 30]
)
def test_no_text_is_too_bad(text: str):
    document = as_document(text, "bad.tgpu")
    assert document.text == text and len(document.names.named) <= 60
    assert not document.loaded.machines


@pytest.mark.parametrize("name", ["softmax", "by_hand", "steps"])
def test_no_half_written_text_is_too_bad_for_any_question(name: str):
    text, chance = (ROOT / "specs" / f"{name}.tgpu").read_text(encoding="utf-8"), random.Random(name)
    for _ in range(8):
        cut = chance.randrange(len(text))
        half = text[:cut] + chance.choice(["", "}", "{", "x", "(", "=", "#", '"', "𝒙"]) + text[cut + chance.randrange(30) :]
        document, page = as_document(half, "half.tgpu"), Page(half, PositionCodec())
        state = State("half.tgpu", document, half, 1, 1)
        assert page.offset(page.position(cut)) == cut
        complete(document, cut)
        hover(state, cut, [*document.diagnostics])
        definition(document, page, cut)
        assert len(tokens(document.names, page).data) <= 5 * len(document.names.named)
        assert len(outline(state, page)) <= half.count("\n") + 1 and not lenses(state, page)


def test_a_state_has_one_index_in_the_op_and_in_its_machines():
    text = (ROOT / "specs" / "steps.tgpu").read_text(encoding="utf-8")
    document = as_document(text, "steps.tgpu")
    one = document.names.at(text.index("time    t") + 8)
    assert one is not None and document.names.defined[one.key] == text.index("re[t + 1") + 3
    assert one.kind == "an index" and parse(text)


def test_a_word_of_the_language_is_no_name_where_it_is_one():
    text = "op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }\n\nmachine m : f {\n  work grid = (by), block = (t: 32)\n  compute i = (by, t)\n  time\n}\n"
    text = text.replace("  time\n", "").replace("(by, t)", "(by, t, by2: 2)\n  register by2")
    names = as_document(text, "m.tgpu").names
    one = names.at(text.index("(by)") + 1)
    assert one is not None and len(names.all(one.key)) == 2


def test_a_size_that_a_pipeline_says_is_one_of_what_it_calls():
    text = """op a(x: f32[n]) -> (y: f32[n, m]) { y[i, j] = x[i] }

machine ma : a {
  work grid = (g), block = (t: 32)
  compute (i, j) = (g, t)
}

pipeline twice(u: f32[k]) -> (v: f32[k, 4]) {
  v = a(u, m = 4) by ma
}
"""
    document = as_document(text, "p.tgpu")
    assert not [d for d in document.diagnostics if d.verdict == "error"], document.diagnostics
    size = document.names.at(text.index("m = 4"))
    assert size is not None and text[size.start : size.end] == "m" and len(document.names.all(size.key)) == 2
    machine = document.names.at(text.index("by ma") + 3)
    assert machine is not None and machine.kind == "a machine" and machine.home == text.index("ma : a")


SQUARE = """op square(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] * x[i] }
op square_grad(x: f32[n], dy: f32[n]) -> (dx: f32[n]) { dx[i] = 2 * x[i] * dy[i] }
gradient of square is square_grad
"""


@pytest.mark.parametrize("old", ["x", "y"])
def test_a_gradient_follows_the_name_of_its_tensor(old: str):
    document, text = as_document(SQUARE, "square.tgpu"), SQUARE
    at = SQUARE.index(f"{old}: f32")
    for one, word in reversed(changes(document, document.names.at(at).key, "here")):
        text = text[: one.start] + word + text[one.end :]
    assert text == re.sub(rf"\b(d?){old}\b", r"\1here", SQUARE) and news(document, as_document(text, "square.tgpu")) is None
