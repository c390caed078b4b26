"""The messages of elaboration and derivation: each is said somewhere, with the places it points at and the words it leaves open.

Comes in: `grammar/messages.toml`, and the calls of `say` and `refused` in the sources. Goes out: nothing, or a message that nobody says, or says otherwise.
The one idea: what a table and its callers agree on is read off both.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tinygpu.commands.explain import pages
from tinygpu.model.problems import messages

ROOT = Path(__file__).resolve().parents[2]
EVERY = {f"{code}.{name}": parts for code, rows in messages().items() for name, parts in rows.items()}


@cache
def trees() -> list[ast.Module]:
    """The sources that say anything, whole."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tinygpu").rglob("*.py"))]
    return [ast.parse(text) for text in texts if "TG" in text]


def strings(tree: ast.AST) -> set[str]:
    """The names of messages that stand in a tree."""
    found = (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))
    return {text for text in found if re.fullmatch(r"TG\d{3}\.\w+", text)}


def calls() -> Iterator[tuple[str, ast.Call]]:
    """The messages that are said by name, each with its call."""
    for tree in trees():
        for node in ast.walk(tree):
            name = getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""
            if isinstance(node, ast.Call) and name in ("say", "refused"):
                yield from ((name, node) for name in strings(node.args[0]))


def test_what_is_said_is_in_the_table_and_all_of_it_is_said() -> None:
    assert set().union(*map(strings, trees())) == set(EVERY)
    assert set(messages()) <= pages().keys()


def test_each_message_has_a_title_a_place_and_a_help() -> None:
    assert [name for name, parts in EVERY.items() if len(parts) < 3 or not parts[0]] == []


def test_who_says_a_message_fills_its_braces_and_gives_its_places() -> None:
    for name, call in calls():
        given = {word.arg for word in call.keywords}
        open_ = {word for part in EVERY[name] for word in re.findall(r"\{(\w+)\}", part)}
        assert None in given or open_ <= given, f"{name} leaves {open_ - given} open"
        if not any(isinstance(place, ast.Starred) for place in call.args):
            assert len(call.args) - 2 == len(EVERY[name]) - 3, f"{name} points at {len(EVERY[name]) - 3} other places"
