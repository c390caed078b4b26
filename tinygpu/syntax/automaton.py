"""The LALR(1) automaton: words to a value, by the tables of the grammar.

Comes in: words, and a function for each rule. Goes out: what the function of the whole file gave, or `Unexpected`.
The one idea: two stacks and one table; no recursion, so the depth of a text cannot exhaust Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tinygpu.syntax.lexer import WORD, Token
from tinygpu.syntax.tables import END, Rule, Tables

DEPTH = 120  # what every later stage may descend into by recursion
OPEN = 8 * DEPTH  # what is begun and not ended; a level of nesting begins at most eight parts

Build = Callable[[str, list[Any], int, int], Any]


class Unexpected(Exception):
    """A word that cannot stand where it stands."""

    def __init__(self, token: Token, stack: list[int], too_deep: bool = False):
        super().__init__(token.text)
        self.token, self.stack, self.too_deep = token, stack, too_deep


class Item:
    """A value on the stack, the characters it was read from, and its depth."""

    __slots__ = ("depth", "end", "start", "value")

    def __init__(self, value: Any, start: int, end: int, depth: int):
        self.value, self.start, self.end, self.depth = value, start, end, depth


def symbol(token: Token, row: dict[str, int], tables: Tables) -> str:
    """The grammar's symbol of a word: a word is a keyword where its text may stand, and always if it is reserved."""
    if token.kind != WORD:
        return token.kind
    if token.text in row or token.text in tables.reserved:
        return token.text
    return "FOLD" if token.text in tables.folds else "NAME"


def run(tokens: Iterable[Token], tables: Tables, build: Build) -> Any:
    """The value of the whole text."""
    states, items = [0], [Item(None, 0, 0, 0)]
    for token in tokens:
        name = symbol(token, tables.rows[states[-1]], tables)
        while True:
            action = tables.rows[states[-1]].get(name)
            if action is None:
                raise Unexpected(token, states)
            if action >= 0:
                states.append(action)
                items.append(Item(token, token.start, token.end, 0))
                if len(states) > OPEN:
                    raise Unexpected(token, states, too_deep=True)
                break
            _reduce(tables.rules[-1 - action], states, items, tables, build, token)
            if items[-1].depth > DEPTH:
                raise Unexpected(token, states, too_deep=True)
            if name == END and states[-1] == tables.end:
                return items[-1].value
    raise AssertionError("a text ends with its end")


def _reduce(rule: Rule, states: list[int], items: list[Item], tables: Tables, build: Build, ahead: Token) -> None:
    """Replace the right side of a rule, on top of the stacks, by what the rule builds."""
    parts = items[len(items) - rule.size :]
    del states[len(states) - rule.size :], items[len(items) - rule.size :]
    start, end = (parts[0].start, parts[-1].end) if parts else (ahead.start, ahead.start)
    children: list[Any] = []
    for part in rule.parts:
        if part < 0:
            children.append(None)
        elif part & 1:
            children += parts[part >> 1].value
        else:
            children.append(parts[part >> 1].value)
    depth = max((part.depth for part in parts), default=0)
    if rule.name is None:
        value: Any = children
    elif rule.single and len(children) == 1:
        value = children[0]
    else:
        value = build(rule.name, children, start, end)
        depth += type(value) is not tuple  # a list is no level of its own
    states.append(tables.rows[states[-1]][rule.head])
    items.append(Item(value, start, end, depth))
