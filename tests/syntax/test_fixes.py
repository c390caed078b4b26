"""What messages say exactly how to write: done, the text goes on.

Comes in: texts with one mistake. Goes out: the same texts with the fix of their message.
"""

from __future__ import annotations

import pytest

from tinygpu import pipeline
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.syntax.mistakes import mistakes
from tinygpu.syntax.parse import parse

OP = "op f(x: f32[n]) -> (y: f32[n]) {\n  y[i] = VALUE\n}\n"


def messages(text: str) -> tuple[Diagnostic, ...]:
    try:
        pipeline.load_text(text)
    except TinygpuError as error:
        return error.diagnostics
    return ()


def fixed(text: str) -> str:
    """The text with every fix of its first message, once each."""
    (fix,) = messages(text)[0].fixes
    start, end = fix.place(text) or (0, 0)
    return text[:start] + fix.text + text[end:]


@pytest.mark.parametrize(
    "example",
    [e for m in mistakes() for e in m.examples for w, _ in zip(m.found, m.write, strict=False) if w in e or m.point == "before"],
)
def test_what_is_written_for_a_known_mistake_is_read(example: str):
    for _ in range(4):
        try:
            parse(example)
            break
        except TinygpuError as error:
            (fix,) = error.diagnostics[0].fixes
            start, end = fix.place(example) or (0, 0)
            example = example[:start] + fix.text + example[end:]
    parse(example)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (OP.replace("VALUE", "x[i] + z[i]").replace("x: f32", "zz: f32[n], x: f32"), "zz[i]"),
        (OP.replace("VALUE", "sqr(x[i])"), "sqrt(x[i])"),
        (OP.replace("VALUE", "relu(x[i])"), 'import "std/functions"\nop f'),
        (OP.replace("f32", "float32").replace("VALUE", "x[i]"), "x: f32["),
        (OP.replace("VALUE", "max(x[i], 1.0"), "1.0)"),
        (OP.replace("op f", "opp f").replace("VALUE", "x[i]"), "op f"),
        (OP.replace("VALUE", "x[i]") + "machine m : ff {\n  work grid = (g), block = (t: 32)\n  compute i = (g, t)\n}\n", ": f {"),
    ],
)
def test_a_fix_is_done_in_the_text(text: str, want: str):
    assert want in fixed(text) and want not in text


@pytest.mark.parametrize(
    "rest",
    [
        "",
        "\n# the end\n",
        "\n" + OP.replace("VALUE", "0.0 * x[i]"),
        "\nmachine m : f {\n  work grid = (g), block = (t: 32)\n  compute i = (g, t)\n}\n",
    ],
)
def test_a_brace_that_is_open_is_closed_before_what_follows(rest: str):
    open_ = OP.replace("VALUE", "x[i]").removesuffix("}\n")
    assert messages(open_ + rest)[0].code == "TG003"
    assert fixed(open_ + rest) == open_[:-1] + "\n}\n" + rest
    parse(fixed(open_ + rest))


def test_a_fix_whose_word_is_not_there_is_none():
    (one,) = messages('import "lip"\n' + OP.replace("VALUE", "x[i]"))
    assert all(fix.place("import") is None for fix in one.fixes)
