"""The grammar has no conflict, the shipped parser is Lark's parser of it, and it reads as Lark reads with words of its own.

Comes in: `grammar/`. Goes out: nothing, or the difference. The one idea: Lark is the judge; the file, the lexer and the words are the accused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.program.library import SPECS
from tests.syntax.texts import EXAMPLES
from tinygpu.syntax.grammar import LEVELLESS, compiled, made_of, read_grammar_file, shipped_parser, to_json
from tinygpu.syntax.lexer import scan, significant
from tinygpu.syntax.parse import BUILD, several
from tinygpu.syntax.reader import at_start, run

TEXTS = {**EXAMPLES, **{path.stem: path.read_text(encoding="utf-8") for path in SPECS}}


def test_every_rule_has_a_row_and_every_row_a_rule() -> None:
    rules = {(rule.alias or str(rule.origin.name), rule.options.expand1 and not rule.alias) for rule in shipped_parser().lark.rules}
    named = {name for name, _ in rules if name[0] != "_"}
    assert {name for name, single in rules if name in named and not single} <= set(BUILD) <= named


def test_what_makes_no_level_is_a_tuple() -> None:
    """The depth of a text is counted in nodes of `tree`."""
    assert {name for name, made in BUILD.items() if made is several} | {"shape", "clauses"} == LEVELLESS


def test_every_word_of_the_grammar_is_read_as_itself() -> None:
    for word in shipped_parser().literals:
        kinds = [token.kind if token.kind != "WORD" else token.text for token in scan(word)]
        assert kinds == [word, "$END"]


def test_the_shipped_parser_is_that_of_the_grammar() -> None:
    """It depends on nothing else, so their hash is enough. If it differs: python -m tinygpu.syntax.grammar."""
    assert f'"made of":"{made_of()}"' in read_grammar_file("tgpu.json")


@pytest.mark.sampled
def test_lark_makes_this_parser_and_reads_so_too() -> None:
    """Strict Lark also refuses conflicts, and words that it cannot tell apart.

    One test, and not of every run, since Lark needs half a minute. Its sets have another order in each process, and the file must not.
    """
    lark = compiled(Newlines())
    for name, text in TEXTS.items():
        assert run(significant(scan(text), []), at_start()) == lark.parse(_without_idle_newlines(text)), name
    assert to_json(lark) == read_grammar_file("tgpu.json")


class Newlines:
    """The rule of newlines once more, from the words of `language.md`; what looks ahead is in `_without_idle_newlines`."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Any]) -> Iterator[Any]:
        depth, last = 0, ""
        for token in stream:
            goes_on = re.fullmatch(r"[-+*/%^<>=!,:|{(\[]+|->|if|else|and|or|not", last)
            if token.type != "_NL" or not (depth or goes_on):
                yield token
            depth += (token in "([") - (token in ")]")
            last = str(token)


def _without_idle_newlines(text: str) -> str:
    text = re.sub(r"#[^\n]*", "", text)
    return re.sub(r"\s*\n\s*}", " }", re.sub(r"\s*\n", "\n", text)).strip()


def test_editors_know_every_word() -> None:
    """The highlighting of editors is written by hand; a new word of the grammar must be put in."""
    import json

    text = read_grammar_file("tgpu.tmLanguage.json")
    assert json.loads(text)["scopeName"] == "source.tgpu"
    known = set(re.findall(r"[a-z_]+", text))
    assert {word for word in (*shipped_parser().literals, *shipped_parser().folds) if word.isidentifier()} <= known
    for name, rule in json.loads(text)["repository"].items():
        assert re.compile(rule["match"].replace("(?<=^|\\{)", "(?<![^{])")), name
