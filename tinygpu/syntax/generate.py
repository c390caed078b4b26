"""Lark's LALR(1) tables in the form that `tables` keeps and `automaton` runs.

Comes in: `grammar/tgpu.lark`. Goes out: `Tables`, the same for the same grammar whatever order Lark's sets have.
The one idea: states are renumbered in the order in which a walk from the start meets them, symbols taken in sorted order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from tinygpu.syntax.tables import Rule, Tables, read_grammar_file


class _Newlines:
    """Lark asks for a filter where a kind of token may be dropped; the shipped reader has its own in `lexer`."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Any]) -> Iterator[Any]:
        yield from stream


def lark_parser(postlex: Any = None) -> Any:
    """Lark's own parser of the grammar, strict: a conflict or two words that cannot be told apart are errors."""
    from lark import Lark

    return Lark(read_grammar_file("tgpu.lark"), parser="lalr", lexer="contextual", strict=True, postlex=postlex or _Newlines())


def generate(lark: Any = None) -> Tables:
    """`tgpu.lark → Tables`, of a parser that Lark has made of it already, if there is one."""
    from lark.lexer import PatternStr

    lark = lark or lark_parser()
    table = lark.parser.parser._parse_table
    literal = {t.name: t.pattern.value for t in lark.terminals if isinstance(t.pattern, PatternStr)}
    patterns = {t.name: t.pattern.value for t in lark.terminals if t.name not in literal and not t.name.startswith("__")}
    rules = sorted({_rule(rule) for rule in lark.rules}, key=_rule_key)
    number = {_rule_key(rule): n for n, rule in enumerate(rules)}
    rows, order = _rows(table, literal, number)
    words = sorted(literal.values(), key=lambda w: (-len(w), w))
    reserved = frozenset(w for w in words if w[0].isalpha() and not re.fullmatch(patterns["NAME"], w))
    folds = frozenset(re.findall("[a-z_]+", patterns["FOLD"].partition(")")[0]))
    return Tables(rows, order[table.end_states["start"]], tuple(rules), patterns, tuple(words), reserved, folds)


def _rows(table: Any, literal: dict[str, str], number: dict[Any, int]) -> tuple[tuple[dict[str, int], ...], dict[Any, int]]:
    """The actions by canonical state numbers, and that numbering."""
    start = table.start_states["start"]
    order: dict[Any, int] = {start: 0}
    queue, rows = [start], []
    for state in queue:
        row: dict[str, int] = {}
        for symbol, (action, target) in sorted(table.states[state].items()):
            name = literal.get(symbol) or (symbol if symbol.isupper() or symbol == "_NL" else f":{symbol}")
            if action.name == "Shift":
                if target not in order:
                    order[target] = len(order)
                    queue.append(target)
                row[name] = order[target]
            else:
                row[name] = -1 - number[_rule_key(_rule(target))]
        rows.append(row)
    return tuple(rows), order


def _rule_key(rule: Rule) -> tuple[str, int, str, bool, tuple[int, ...]]:
    return (rule.head, rule.size, rule.name or "", rule.single, rule.parts)


def _rule(rule: Any) -> Rule:
    """What a reduction does, from Lark's rule and its options."""
    absent = _absent(rule.options.empty_indices, len(rule.expansion))
    parts: list[int] = []
    for position, symbol in enumerate(rule.expansion):
        parts += [-1] * absent[position]
        if rule.options.keep_all_tokens or not (symbol.is_term and symbol.filter_out):
            parts.append(2 * position + (not symbol.is_term and symbol.name.startswith("_")))
    parts += [-1] * absent[-1]
    head = str(rule.origin.name)
    name = rule.alias or (None if head.startswith("_") else head)
    return Rule(f":{head}", len(rule.expansion), name, bool(rule.options.expand1 and not rule.alias), tuple(parts))


def _absent(empty: Iterable[bool] | None, size: int) -> list[int]:
    """How many absent parts stand before each symbol, and after the last."""
    counts = [0]
    for is_absent in empty or (False,) * size:
        if is_absent:
            counts[-1] += 1
        else:
            counts.append(0)
    return counts
