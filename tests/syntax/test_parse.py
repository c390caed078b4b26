"""What is read: nodes, spans, comments, the rule of newlines, files that cannot be read, and how fast it is.

Comes in: the examples. Goes out: nothing, or a node that is not what its text says.
The one idea: the span of an expression is a text, and that text alone must be read as the same expression.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from tests.syntax.texts import EXAMPLES, bare, expression, nodes, step
from tinygpu.diagnostic import NOWHERE, TinygpuError
from tinygpu.syntax import tree
from tinygpu.syntax.lexer import Source
from tinygpu.syntax.parse import _read_on, parse
from tinygpu.syntax.tree import Assign, Binary, Cell, Compute, For, Group, IfElse, Name, Number, Sized, TensorDecl

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "specs").rglob("*.tgpu"))
X, BELOW = Cell("x", (Name("i"),)), Binary("<", Name("i"), Name("n"))


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_node_has_the_span_of_its_text(name: str) -> None:
    text = EXAMPLES[name]
    lines = text.split("\n")
    for node in nodes(parse(text, "a.tgpu")):
        span = node.span
        assert span is not NOWHERE and span.file == "a.tgpu"
        assert lines[span.line - 1][span.column - 1 :].startswith(text[span.start : span.end].split("\n")[0])
        assert lines[span.end_line - 1][: span.end_column - 1].endswith(text[span.start : span.end].split("\n")[-1])
        if isinstance(node, get_args(tree.Expr)) and not isinstance(node, Sized):
            assert expression(text[span.start : span.end]) == node


SAME = {  # what an expression means, in parentheses
    "a + b * c": "a + (b * c)", "a - b - c": "(a - b) - c", "-a * b": "(-a) * b", "not a == b and c": "(not (a == b)) and c",
    "a if b else b if c else a": "a if b else (b if c else a)", "a ^ b + c": "a ^ (b + c)", "a or b and c": "a or (b and c)",
    "sum[k] a * b + c": "(sum[k] (a * b)) + c", "2 * sum[k] a * b": "2 * (sum[k] (a * b))", "-sum[k] a": "-(sum[k] a)",
}  # fmt: skip


@pytest.mark.parametrize("text", SAME)
def test_levels_of_operators(text: str) -> None:
    """A fold's body is a product."""
    assert bare(expression(text), True) == bare(expression(SAME[text]), True) and expression(text) != expression(SAME[text])


STEPS = {
    "y[i] = x[i] if i < n": Assign(Cell("y", (Name("i"),)), X, "", BELOW),  # a guard is not a choice
    "y[i] += x[i] if i < n else 0": Assign(Cell("y", (Name("i"),)), IfElse(X, BELOW, Number("0")), "sum"),
    "y[i] max= x[i]": Assign(Cell("y", (Name("i"),)), X, "max"),
    "for k < K { }": For("k", Name("K"), ()),
    "for k < 8 in vector { }": For("k", Number("8"), (), "vector"),
    "for d in (2, 1) { }": For("d", None, (), "time", (Number("2"), Number("1"))),
}


@pytest.mark.parametrize("text", STEPS)
def test_steps(text: str) -> None:
    (machine,) = parse(step(text)).declarations
    assert machine.clauses[0].body == (STEPS[text],)  # type: ignore[union-attr]


def test_a_scalar_is_not_an_array_of_rank_0() -> None:
    (op,) = parse("op f(a: f32, s: f32[]) -> (y: f32[n]) { y[i] = a }").declarations
    assert isinstance(op, tree.Op) and op.inputs == (TensorDecl("a", "f32", None), TensorDecl("s", "f32", ()))


def test_a_newline_separates() -> None:
    split = "machine m : f {\n\n compute i = (\n g,\n t)\n  j = g +\n   t\n\n}"
    flat = "machine m : f { compute i = (g, t), j = g + t }"
    assert parse(split) == parse(flat)
    assert parse(split.replace("\n", "\r\n")) == parse("\ufeff" + flat)
    assert isinstance(parse(flat).declarations[0].clauses[0], Compute)  # type: ignore[union-attr]


def test_keywords_are_names_where_none_is_wanted() -> None:
    (machine,) = parse("machine at : op {\n work grid = (by, time, in: 4)\n time by\n}").declarations
    assert machine.clauses[0].levels[0].factors == Group((Name("by"), Name("time"), Sized("in", Number("4"))))  # type: ignore[union-attr]


def test_comments_are_collected() -> None:
    comments = parse("# one\nparam a = 3  # two\n  # three\n").comments
    assert [(c.text, c.own_line, c.span.line) for c in comments] == [("# one", True, 1), ("# two", False, 2), ("# three", True, 3)]


def test_an_empty_text_holds_nothing() -> None:
    assert parse("").declarations == parse("\n # nothing \n").declarations == ()


def test_reading_compiles_nothing() -> None:
    """Start-up is the user's time: no grammar is compiled, and nothing of the messages imported, where a text is right."""
    command = "import sys; from tinygpu.syntax.parse import parse; parse('param a = 3'); print(sorted({'tinygpu.syntax.mistakes', 'tomllib', 'difflib'} & set(sys.modules)))"
    env = {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "[]"


def test_a_name_is_not_longer_than_a_file_may_be_called() -> None:
    assert parse(f"param {'p' * 100} = 1").declarations
    with pytest.raises(TinygpuError) as error:
        parse(f"param {'p' * 101} = 1")
    assert [d.code for d in error.value.diagnostics] == ["TG009"]


# ── read piece by piece ────────────────────────────────────────────────────────────────────────────────────────────


def placed(file: tree.File) -> list[tuple[object, ...]]:
    """The nodes of a file with their places, which equality leaves out."""
    return [(node, node.span) for node in nodes((file.declarations, file.comments))]


def outcome(read: Callable[[Source], tree.File], text: str, path: str = "") -> object:
    """What is read, with its places, or what is said of it."""
    try:
        file = read(Source(text, path))
    except TinygpuError as error:
        return error.diagnostics
    return file, file.span, placed(file)


def by_pieces(source: Source) -> tree.File:
    return parse(source.text, source.file)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", [*SPECS, *EXAMPLES])
def test_a_text_is_what_its_pieces_are(path: str) -> None:
    text = EXAMPLES.get(path) or (ROOT / path).read_text(encoding="utf-8")
    for written in (text, f"\ufeff# one\n\n{text.rstrip()}"):
        assert outcome(by_pieces, written, path) == outcome(_read_on, written, path)


def test_what_an_edit_leaves_where_it_was_is_read_once() -> None:
    text = "param A = 1\nparam B = 2\nparam C = 3\n"
    first, same, moved = (parse(t).declarations for t in (text, text.replace("2", "4"), text.replace("2", "42")))
    assert same[0] is first[0] and same[2] is first[2] and same[1] != first[1]
    assert moved[0] is first[0] and moved[2] == first[2] and moved[2].span.start == first[2].span.start + 1
    assert parse(text, "other.tgpu").declarations[0].span.file == "other.tgpu"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "param A = (1 +\nparam) ",
        "param A = (1 +\nparam B = 2",
        "param A = 1 +\nparam",
        "param A =\nparam B = 1",
        "op f(x: f32[n]) -> (y: f32[n]) {\nop = 1\n}",
        "op f(x: f32[n]) -> (y: f32[n]) {\ny[i] = x[i]\nmachine m : f {}",
        "theorem\nparam A = 1",
    ],
)
def test_a_word_that_begins_declarations_begins_none_inside_of_one(text: str) -> None:
    """What is said of a text is said of the whole."""
    assert outcome(by_pieces, text) == outcome(_read_on, text)
