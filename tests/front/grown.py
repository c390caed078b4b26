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
            name: 1 + min(sizes)
            for name, rows in rules().items()
            if (sizes := [max((found.get(str(s.name), 0) for s in row), default=0) for row in rows if ends(row, found)])
        }
        if more == found:
            return found
        found = more


def ends(row: list[Any], found: dict[str, int]) -> bool:
    """Whether all of a row is known to end."""
    return all(s.is_term or str(s.name) in found for s in row)


def grown(chance: random.Random, rule: str, depth: int) -> str:
    """A text of the rule, of at most about that depth."""
    out: list[str] = []
    grow(chance, rule, depth, out)
    return " ".join(out)


def grow(chance: random.Random, rule: str, depth: int, out: list[str]) -> None:
    """Appends the words of one text of the rule."""
    rows = rules()[rule]
    height = [max((heights().get(str(s.name), 0) for s in row), default=0) for row in rows]
    few = [row for row, h in zip(rows, height, strict=True) if h < depth] or [rows[height.index(min(height))]]
    if len(out) > 400:  # long enough: whatever ends soonest
        few = [rows[height.index(min(height))]]
    for symbol in chance.choice(few):
        if symbol.is_term:
            name = str(symbol.name)
            out.append(chance.choice(POOL[name]) if name in POOL else words().get(name, name.lower()))
        else:
            grow(chance, str(symbol.name), depth - 1, out)
