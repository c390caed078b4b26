"""The grammar as Lark's parser of it: `grammar/tgpu.lark`, compiled by Lark to LALR(1) and kept serialised as `grammar/tgpu.json`.

Comes in: the grammar, of which `python -m tinygpu.syntax.grammar` writes what Lark serialises. Goes out: Lark's parser and the words of the
language. The one idea: compiling takes Lark half a minute, reading what it compiled some milliseconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from lark import Lark, Tree

from tinygpu.record import dataclass

FOLDERS = tuple(folder / "grammar" for folder in Path(__file__).resolve().parents[1:3])  # of an installed tinygpu, of a checkout
END = "$END"
DEPTH = 120  # what every later stage may descend into by recursion
LEVELLESS = frozenset(
    [
        "tensors",
        "exprs",
        "values",
        "items",
        "binders",
        "block",
        "clauses",
        "order",
        "shape",
        "families",
        "archs",
        "cases",
        "gets",
        "givens",
    ]
)  # make no level


class TooDeep(Exception):
    """A part with more levels than `DEPTH`."""


class Node(Tree):  # type: ignore[misc]
    """What a rule was read as: its name, its parts, where it stands, and how many levels it has."""

    def __init__(self, data: str, children: list[Any], meta: Any = None):
        super().__init__(data, children, meta)
        below = max((part.depth for part in children if isinstance(part, Node)), default=0)
        self.depth: int = below + (data not in LEVELLESS and data[0] != "_")
        if self.depth > DEPTH:
            raise TooDeep


@dataclass(frozen=True, slots=True)
class Grammar:
    """Lark's parser, its name of every literal (`"->"`, `"by"`), the literals that are no names anywhere, and the names of folds."""

    lark: Any
    literals: dict[str, str]
    patterns: dict[str, str]
    reserved: frozenset[str]
    folds: frozenset[str]

    def terminal(self, symbol: str) -> str:
        """What Lark calls a literal or a kind of word."""
        return self.literals.get(symbol, symbol)

    def symbols(self, terminals: set[str]) -> frozenset[str]:
        """What Lark calls so, as it is written."""
        written = {name: text for text, name in self.literals.items()}
        return frozenset(written.get(name, name) for name in terminals)


def read_grammar_file(name: str) -> str:
    """The text of a file of `grammar/`. Raises OSError."""
    return (source() / name).read_text(encoding="utf-8")


def source() -> Path:
    """The folder of the grammar."""
    return next((folder for folder in FOLDERS if (folder / "tgpu.lark").is_file()), FOLDERS[-1])


@cache
def shipped_parser() -> Grammar:
    """The shipped parser."""
    shipped = json.loads(read_grammar_file("tgpu.json"))
    table = shipped["data"]["parser"]["parser"]
    shipped["memo"], table["tokens"] = _by_number(shipped["memo"]), _by_number(table["tokens"])
    table["states"] = {int(state): _by_number(row) for state, row in table["states"].items()}
    shipped["data"]["options"] |= {"tree_class": Node, "propagate_positions": True}
    return of_lark(Lark.load(shipped))


def _by_number(numbered: dict[str, Any]) -> dict[int, Any]:
    """The keys that JSON made texts."""
    return {int(number): value for number, value in numbered.items()}


def of_lark(lark: Any) -> Grammar:
    """The words of the language, from what Lark says of its terminals."""
    literals = {t.pattern.value: t.name for t in lark.terminals if t.pattern.type == "str"}
    patterns = {t.name: t.pattern.value for t in lark.terminals if t.pattern.type == "re"}
    reserved, folds = (frozenset(re.findall("[a-z_]+", patterns[kind].partition(")")[0])) for kind in ("NAME", "FOLD"))
    return Grammar(lark, literals, patterns, reserved & set(literals), folds)


# ── compiled ───────────────────────────────────────────────────────────────────────────────────────────────────────


class _Newlines:
    """Lark asks for a filter where a kind of token may be dropped; the shipped reader has its own in `lexer`."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Any]) -> Iterator[Any]:
        yield from stream


def compiled(postlex: Any = None) -> Any:
    """The grammar compiled by Lark, strict: a conflict or two words that cannot be told apart are errors."""
    return Lark(read_grammar_file("tgpu.lark"), parser="lalr", lexer="contextual", strict=True, postlex=postlex or _Newlines())


def made_of() -> str:
    """A hash of what the file depends on: the grammar, and how it is written."""
    import hashlib

    return hashlib.sha256((source() / "tgpu.lark").read_bytes() + Path(__file__).read_bytes()).hexdigest()[:32]


def to_json(lark: Any) -> str:
    """What Lark serialises, the same for the same grammar whatever order Lark's sets have; one state or rule a line."""
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    _number_states(lark.parser.parser._parse_table)
    data, memo = lark.memo_serialize([TerminalDef, Rule])
    data["options"] = {"parser": "lalr", "lexer": "basic"}  # as every Lark knows them; words come from `lexer`
    data["parser"]["lexer_conf"]["lexer_type"] = "basic"
    text = json.dumps({"made of": made_of(), "data": data, "memo": memo}, separators=(",", ":"))
    return re.sub(r'(?="\d+":\{)', "\n", text) + "\n"


def _number_states(table: Any) -> None:
    """States by the order in which a walk from the start meets them, symbols taken in sorted order."""
    order = {table.start_states["start"]: 0}
    for state in (queue := list(order)):
        for _, (action, target) in sorted(table.states[state].items()):
            if action.name == "Shift" and target not in order:
                order[target] = len(order)
                queue.append(target)
    table.states = {
        order[state]: {s: (a, order[t] if a.name == "Shift" else t) for s, (a, t) in sorted(table.states[state].items())}
        for state in queue
    }
    table.start_states, table.end_states = ({"start": order[ends["start"]]} for ends in (table.start_states, table.end_states))


if __name__ == "__main__":
    (source() / "tgpu.json").write_text(to_json(compiled()), encoding="utf-8")
