"""The grammar compiled by Lark: `python -m tinygpu.syntax.compile` writes `grammar/tgpu.json` from `grammar/tgpu.lark`.

Comes in: the grammar. Goes out: what Lark serialises of its parser, as JSON, under a hash of what it is made of.
The one idea: the same grammar gives the same file, whatever order Lark's sets have in this process.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lark import Lark, Token
from lark.grammar import Rule
from lark.lexer import TerminalDef

from tinygpu.syntax.grammar import read_grammar_file, source


class _Newlines:
    """Lark asks for a filter where a kind of token may be dropped; the shipped reader has its own in `lexer`."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        yield from stream


def compiled(postlex: Any = None) -> Any:
    """The grammar compiled by Lark, strict: a conflict or two words that cannot be told apart are errors."""
    return Lark(read_grammar_file("tgpu.lark"), parser="lalr", lexer="contextual", strict=True, postlex=postlex or _Newlines())


def made_of() -> str:
    """A hash of what the file depends on: the grammar, and how it is written. Lark takes half a minute to make it."""
    texts = (source() / "tgpu.lark", Path(__file__))
    return hashlib.sha256(b"".join(path.read_bytes() for path in texts)).hexdigest()[:32]


def to_json(lark: Any) -> str:
    """What Lark serialises, the same for the same grammar whatever order Lark's sets have; one state or rule a line."""
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


def main() -> None:
    """Write `grammar/tgpu.json` from `grammar/tgpu.lark`."""
    (source() / "tgpu.json").write_text(to_json(compiled()), encoding="utf-8")


if __name__ == "__main__":
    main()
