"""The laws of the one style: read back it is the same tree, formatted again the same text, and no comment is lost.

Comes in: the examples, what the grammar gives by chance, comments at random places. Goes out: nothing, or a text that breaks a law.
The one idea: the examples are written in the style, so a change of style is seen as a difference of texts.
"""

from __future__ import annotations

import random
import re
from contextlib import suppress
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.front.grown import grown
from tests.syntax.texts import EXAMPLES, bare, expression, nodes, step
from tinygpu.diagnostic import TinygpuError
from tinygpu.record import fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.expression import LEVELS
from tinygpu.syntax.format import WIDTH, format_expr, format_file, format_statements
from tinygpu.syntax.lexer import scan
from tinygpu.syntax.parse import parse


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_examples_are_in_the_style(name: str) -> None:
    assert format_file(parse(EXAMPLES[name])) == EXAMPLES[name]


def read_back(wanted: tree.File) -> None:
    """Also where parentheses are missing in the tree: those that are needed are put in."""
    written = format_file(wanted)
    assert bare(parse(written)) == bare(wanted), written
    again = format_file(parse(written))
    assert format_file(parse(again)) == again


@pytest.mark.parametrize("rule", ["_statement", "start"])
def test_what_the_grammar_gives_is_read_back(rule: str) -> None:
    read = 0
    for seed in range(200):
        text = grown(random.Random(seed), rule, 2 + seed % 6)
        with suppress(TinygpuError):  # a name in the place of a word, and the like
            file = parse(text if rule == "start" else step(text))
            read += 1
        read_back(file)
    assert read > 150


def test_any_tree_of_an_expression_is_read_back() -> None:
    """Nodes of the examples and of every operator, with parts of others: what a program could build."""
    small = [
        bare(expression(text))
        for text in (*(f"(a {op} (b))" for op in LEVELS), "-a", "~a", "not a", "a if b else c", "(a, b)", "a.m", "12")
    ]
    pool = [*small * 4, *(n for text in EXAMPLES.values() for n in nodes(bare(parse(text))) if isinstance(n, get_args(tree.Expr)))]
    pool = [n for n in pool if not isinstance(n, tree.Sized)]
    for seed in range(1000):
        chance = random.Random(seed)
        read_back(tree.File((tree.Param("p", mixed(chance, [mixed(chance, pool) for _ in range(3)])),)))


def mixed(chance: random.Random, pool: list[tree.Expr]) -> tree.Expr:
    """A node with other parts."""

    def other(part: Any) -> Any:
        if isinstance(part, tuple) and all(isinstance(one, get_args(tree.Expr)) for one in part):
            return tuple(map(other, part))
        return chance.choice(pool) if isinstance(part, get_args(tree.Expr)) and not isinstance(part, tree.Sized) else part

    node = chance.choice(pool)
    return replace(node, **{f.name: other(getattr(node, f.name)) for f in fields(node) if f.name != "span"})


@given(st.sampled_from(sorted(EXAMPLES)), st.lists(st.integers(0, 10_000), min_size=1, max_size=6))
def test_comments_anywhere(name: str, places: list[int]) -> None:
    """A comment (and so a newline) at any place where a line may end: none is lost, their order stays, the tree is the same."""
    text = EXAMPLES[name]
    words = [t for t in scan(text) if t.kind not in ("_NL", "COMMENT")]
    ends = sorted({words[p % len(words)].end for p in places}, reverse=True)
    for number, end in enumerate(ends):
        if _may_end_a_line(text, end):
            text = f"{text[:end]}  # comment {number}\n{text[end:]}"
    before = parse(text)
    formatted = format_file(before)
    after = parse(formatted)
    assert after == before
    assert sorted(c.text for c in after.comments) == sorted(c.text for c in before.comments)
    assert format_file(after) == formatted


def _may_end_a_line(text: str, end: int) -> bool:
    words = [t for t in scan(text[:end]) if t.kind not in ("_NL", "COMMENT", "$END")]
    depth = sum(t.kind in ("(", "[") for t in words) - sum(t.kind in (")", "]") for t in words)
    return depth > 0 or words[-1].text in (",", "+", "-", "=", "{", "if", "else", "and", "->", "*")


def test_comments_stay_where_they_are() -> None:
    text = """\
# of the file

# of the op
op f(
  x: f32[n],  # the input
  # of y
  y: f32[n]
) -> (
  z: f32[n]  # the output
) {
  # of the equation
  z[i] = x[i] + y[i]  # its end
  # of the brace
}  # behind

machine m : f {  # a head
  work    grid = (g),       # a level
          block = (t: 256)  # another

  compute i = (g, t)
  # the last
}

# the end
"""
    assert format_file(parse(text)) == text


def test_two_comments_on_one_row() -> None:
    text = "param p = (1 + # one\n 2) # two\n"
    assert format_file(parse(text)) == "# one\nparam p = (1 + 2)  # two\n"


def test_blank_lines() -> None:
    text = "param a = 1\n\n\n\nparam b = 2\nop f(x: f32) -> (y: f32[]) {\n\n  y[] = x\n\n\n  z[] = x\n\n}\nparam c = 3"
    wanted = "param a = 1\n\nparam b = 2\n\nop f(x: f32) -> (y: f32[]) {\n  y[] = x\n\n  z[] = x\n}\n\nparam c = 3\n"
    assert format_file(parse(text)) == wanted


def test_parentheses_only_where_needed() -> None:
    a, b, c = tree.Name("a"), tree.Name("b"), tree.Cell("c", ())
    assert format_expr(tree.Binary("-", a, tree.Binary("-", b, c))) == "a - (b - c[])"
    assert format_expr(tree.Binary("*", tree.FoldExpr("sum", (tree.Binder("k"),), a), b)) == "(sum[k] a) * b"
    assert format_expr(tree.Unary("-", tree.Binary("*", a, b))) == "-(a*b)"
    assert format_expr(tree.Binary("+", tree.Binary("*", a, tree.Number("64")), tree.Binary("*", a, c))) == "a*64 + a * c[]"


def test_long_lines_are_broken_and_mean_the_same() -> None:
    terms = " + ".join(f"weight_{k} * x[row*stride + {k}, column]" for k in range(12))
    tensors = ", ".join(f"argument_{k}: f32[n, m]" for k in range(9))
    text = f"op f({tensors}) -> (y: f32[n]) {{ y[i] = {terms} }}\nmachine m : f {{ compute i = (g, t), j = ({', '.join('abcdefg' * 6)}) }}"
    formatted = format_file(parse(text))
    assert parse(formatted) == parse(text)
    assert max(map(len, formatted.splitlines())) <= WIDTH
    assert format_file(parse(formatted)) == formatted
    assert len(re.findall(r"^  argument_\d: f32\[n, m\],?$", formatted, re.MULTILINE)) == 9


def test_a_block_of_one_step_stands_on_one_line_if_it_fits() -> None:
    body = (tree.Assign(tree.Cell("acc", (tree.Name("r"),)), tree.Number("0")),)
    loop = tree.For("r", tree.Number("8"), body, "register")
    assert format_statements((loop,)) == "for r < 8 in register { acc[r] = 0 }\n"
    assert format_statements((tree.For("r", tree.Number("8"), body * 2),)) == "for r < 8 {\n  acc[r] = 0\n  acc[r] = 0\n}\n"
