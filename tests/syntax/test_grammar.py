"""The grammar has no conflict, the shipped tables are its tables, and the automaton reads as Lark reads.

Comes in: `grammar/`. Goes out: nothing, or the difference. The one idea: Lark is the judge, the shipped reader is the accused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.syntax.examples import EXAMPLES
from tinygpu.syntax.automaton import run
from tinygpu.syntax.build import BUILD
from tinygpu.syntax.generate import generate, lark_parser
from tinygpu.syntax.lexer import Token, scan, significant
from tinygpu.syntax.tables import from_json, load, made_of, read_grammar_file, to_json

SPECS = sorted((Path(__file__).resolve().parents[2] / "specs").glob("*.tgpu"))
TEXTS = {**EXAMPLES, **{path.stem: path.read_text(encoding="utf-8") for path in SPECS}}


def test_tables_survive_their_text() -> None:
    import json

    assert from_json(json.loads(to_json(load()))) == load()


def test_every_rule_has_a_function_and_every_function_a_rule() -> None:
    named = {rule.name for rule in load().rules if rule.name} | {"expr", "disjunction", "conjunction", "negation", "comparison"}
    single = {rule.name for rule in load().rules if rule.single}
    helpers = {"texts", "rules_of", "several", "only"}
    assert {rule.name for rule in load().rules if rule.name and not rule.single} <= set(BUILD)
    assert set(BUILD) - helpers <= named | single


def test_every_word_of_the_grammar_is_read_as_itself() -> None:
    tables = load()
    for word in tables.literals:
        kinds = [token.kind if token.kind != "WORD" else token.text for token in scan(word)]
        assert kinds == [word, "$END"]


def test_the_tables_are_those_of_the_grammar() -> None:
    """They depend on nothing else, so their hash is enough. If it differs: python -m tinygpu.syntax.tables."""
    assert f'"made of":"{made_of()}"' in read_grammar_file("tables.json")


@pytest.mark.sampled
def test_lark_has_these_tables_and_reads_so_too() -> None:
    """Strict Lark also refuses conflicts, and words that it cannot tell apart.

    One test, and not of every run, since Lark needs a minute for its tables. Its sets have another order in each process, and the tables must not.
    """
    lark = lark_parser(Newlines())
    assert to_json(generate(lark)) == read_grammar_file("tables.json")
    for name, text in TEXTS.items():
        ours = run(significant(scan(text), []), load(), lambda rule, parts, start, end: (rule, [_plain(p) for p in parts]))
        assert ours == _plain(lark.parse(_without_idle_newlines(text))), name


def _plain(value: Any) -> Any:
    if isinstance(value, Token):
        return value.text
    if hasattr(value, "children"):
        return (str(value.data), [_plain(child) for child in value.children])
    return str(value) if hasattr(value, "type") else value


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
    assert {word for word in (*load().literals, *load().folds) if word.isidentifier()} <= known
    for name, rule in json.loads(text)["repository"].items():
        assert re.compile(rule["match"].replace("(?<=^|\\{)", "(?<![^{])")), name
