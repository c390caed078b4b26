"""The parser's tables: `grammar/tgpu.lark` compiled by Lark to LALR(1) actions, kept as `grammar/tables.json`.

Comes in: the grammar. Goes out: `load() → Tables` for every parse, and `python -m tinygpu.syntax.tables`,
which writes the file anew. The one idea: Lark is needed where the grammar changes, so that reading a file starts at once.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from tinygpu.record import dataclass

FOLDERS = tuple(folder / "grammar" for folder in Path(__file__).resolve().parents[1:3])  # of an installed tinygpu, of a checkout
END = "$END"


@dataclass(frozen=True, slots=True)
class Rule:
    """`head → size symbols`; builds `name` (None: its parts are handed on) from `parts`: 2·position + (1 if handed on), or −1 for an absent [x]."""

    head: str
    size: int
    name: str | None
    single: bool
    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """`rows[state][symbol]` is a state (≥ 0) or a rule (−1 − number); state 0 is the start, `end` the state of a whole file.

    Symbols are literals as written (`"->"`, `"by"`), the names of word kinds (`NAME`), and the heads of rules (`:op`).
    """

    rows: tuple[dict[str, int], ...]
    end: int
    rules: tuple[Rule, ...]
    patterns: dict[str, str]
    literals: tuple[str, ...]
    reserved: frozenset[str]
    folds: frozenset[str]


def read_grammar_file(name: str) -> str:
    """The text of a file of `grammar/`. Raises OSError."""
    return (source() / name).read_text(encoding="utf-8")


def source() -> Path:
    """The folder of the grammar."""
    return next((folder for folder in FOLDERS if (folder / "tgpu.lark").is_file()), FOLDERS[-1])


@cache
def load() -> Tables:
    """The shipped tables."""
    return from_json(json.loads(read_grammar_file("tables.json")))


def from_json(data: dict[str, Any]) -> Tables:
    """Tables from what `to_json` gave."""
    rules = tuple(Rule(head, size, name, single, tuple(parts)) for head, size, name, single, parts in data["rules"])
    reserved, folds = frozenset(data["reserved"]), frozenset(data["folds"])
    return Tables(tuple(data["rows"]), data["end"], rules, data["patterns"], tuple(data["literals"]), reserved, folds)


def made_of() -> str:
    """A hash of what the tables depend on: the grammar, and how Lark's tables become ours. Lark takes many seconds to make them."""
    texts = (source() / "tgpu.lark", Path(__file__).parent / "generate.py")
    return hashlib.sha256(b"".join(path.read_bytes() for path in texts)).hexdigest()[:32]


def to_json(tables: Tables) -> str:
    """The tables as text: the same for the same grammar, one state or rule a line."""
    rows = ",\n".join(json.dumps(row, sort_keys=True, separators=(",", ":")) for row in tables.rows)
    rules = ",\n".join(json.dumps([r.head, r.size, r.name, r.single, r.parts], separators=(",", ":")) for r in tables.rules)
    words = f'"patterns":{json.dumps(tables.patterns, sort_keys=True)},\n"literals":{json.dumps(tables.literals)},\n'
    words += f'"reserved":{json.dumps(sorted(tables.reserved))},\n"folds":{json.dumps(sorted(tables.folds))}'
    return f'{{"made of":"{made_of()}",\n"end":{tables.end},\n{words},\n"rows":[\n{rows}],\n"rules":[\n{rules}]}}\n'


def main() -> None:
    """Write `grammar/tables.json` from `grammar/tgpu.lark`."""
    from tinygpu.syntax.generate import generate

    (source() / "tables.json").write_text(to_json(generate()), encoding="utf-8")


if __name__ == "__main__":
    main()
