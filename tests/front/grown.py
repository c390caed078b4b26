"""Texts that the grammar itself gives: from a rule, by chance, to a depth.

Comes in: the name of a rule. Goes out: a text that this rule reads. The one idea: Lark has flattened the grammar to plain rules, and below
the depth only the alternatives that end soonest are taken.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from lark import Lark

from tinygpu.syntax.grammar import read_grammar_file

POOL = {
    "NAME": (*"nmkijxyzgtruv", "f32", "f32", "f16", "i32", "bool", "grid", "block", "acc", "saxpy", "matmul", "A", "B", "C", "exp", "cast", "ceil"),
    "NUMBER": ("0", "1", "2", "3", "4", "8", "16", "32", "256", "1024", "0.5", "1e-6", "3000000000"),
    "FOLD": ("sum", "max", "prod", "any", "argmax", "welford", "scan_sum", "logsumexp"),
    "STRING": ('"relu.tgpu"', '"../nothing"', '""', '"/etc/passwd"'),
    "_NL": ("\n", "\n\n"),
}  # fmt: skip
ENDLESS, LONG = 1 << 20, 400


@cache
def grammar() -> Any:
    """Lark's own reading of the rules, without the tables, which take many seconds."""
    return Lark(read_grammar_file("tgpu.lark"), parser="earley", lexer="dynamic")


@cache
def rules() -> dict[str, list[list[Any]]]:
    """Name of a rule → its alternatives, each a row of symbols."""
    found: dict[str, list[list[Any]]] = {}
    for rule in grammar().rules:
        found.setdefault(str(rule.origin.name), []).append(list(rule.expansion))
    return found


@cache
def words() -> dict[str, str]:
    """Name of a terminal that stands for one word → that word."""
    return {t.name: t.pattern.value for t in grammar().terminals if t.pattern.type == "str"}


@cache
def heights() -> dict[str, int]:
    """Name of a rule → how deep the least text of it is."""
    found: dict[str, int] = {}
    while True:
        more = {
            name: min(known)
            for name, rows in rules().items()
            if (known := [h for row in rows if (h := height(row, found)) < ENDLESS])
        }
        if more == found:
            return found
        found = more


def height(row: list[Any], found: dict[str, int]) -> int:
    """How deep the least text of an alternative is; one of a single part is no deeper than that."""
    return (len(row) > 1) + max((0 if s.is_term else found.get(str(s.name), ENDLESS) for s in row), default=0)


def grown(chance: random.Random, rule: str, depth: int) -> str:
    """A text of the rule, of at most about that depth."""
    out: list[str] = []
    grow(chance, rule, depth, out)
    return " ".join(out)


def grow(chance: random.Random, rule: str, depth: int, out: list[str]) -> None:
    """Appends the words of one text of the rule."""
    rows = rules()[rule]
    least = min(height(row, heights()) for row in rows)
    most = max(least, depth if len(out) <= LONG else 0)  # long enough: whatever ends soonest
    row = chance.choice([row for row in rows if height(row, heights()) <= most])
    for symbol in row:
        if symbol.is_term:
            name = str(symbol.name)
            out.append(chance.choice(POOL[name]) if name in POOL else words().get(name, name.lower()))
        else:
            grow(chance, str(symbol.name), depth - (len(row) > 1), out)
