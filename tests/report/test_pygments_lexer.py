"""The lexer gives back every letter, and colours what the grammar of editors colours."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number

from tinygpu.report.pygments_lexer import TOKENS, TgpuLexer

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", sorted((ROOT / "specs").glob("*.tgpu")), ids=lambda p: p.stem)
def test_what_is_coloured_is_the_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tokens = list(TgpuLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(part for _, part in tokens) == text
    assert not [part for kind, part in tokens if kind is Error]


def test_the_words_have_their_colours() -> None:
    text = (
        "# C = A·B\nop f(A: f32[n]) -> (C: f32[n]) { C[i] = sum[k < 4] max(A[i], 0x1F) }\n  work grid = (work), block = (t: 32)\n"
    )
    found = [(kind, part) for kind, part in TgpuLexer().get_tokens(text) if part.strip()]
    assert (Comment.Single, "# C = A·B") in found and (Keyword.Declaration, "op") in found and (Name.Function, "f") in found
    assert (Keyword.Type, "f32") in found and (Keyword.Pseudo, "sum") in found and (Number, "0x1F") in found
    assert [kind for kind, part in found if part == "work"] == [Keyword, Name]  # a clause, and somebody's name


def test_every_scope_of_the_grammar_has_a_colour_and_every_colour_a_scope() -> None:
    grammar = (ROOT / "grammar" / "tgpu.tmLanguage.json").read_text(encoding="utf-8")
    used = {name.removesuffix(".tgpu") for name in re.findall(r'"name": "([\w.-]+\.tgpu)"', grammar)}
    assert used == TOKENS.keys()
    json.loads(grammar)
