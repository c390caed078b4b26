"""The words of a declaration, and what it declares inside of it.

Comes in: a text, a declaration of its tree. Goes out: its words with their places; which of them name other declarations; its own names, with what each is. The one idea: a node
has a place, and of the names in it the tree has the text, so a name stands where its text is first among the words of its node.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from tinygpu.model.binders import binders, wholes
from tinygpu.syntax import tree
from tinygpu.syntax.grammar import END, shipped_parser
from tinygpu.syntax.lexer import WORD, scan, significant
from tinygpu.syntax.node import Node, nodes
from tinygpu.syntax.reader import walked


class Word(NamedTuple):
    """A word of a text; `dotted` where a `.` stands before it."""

    text: str
    start: int
    end: int
    dotted: bool


def words_of(text: str, one: tree.Declaration) -> Iterator[Word]:
    """The words of a declaration that are no words of the language there."""
    before = ""
    tokens = [token for token in scan(text[: one.span.end], one.span.start) if token.kind not in ("COMMENT", END)]
    doubtful = locals_of(one).keys() & shipped_parser().literals.keys()  # as a factor `by` is
    spoken = {token.start for token, symbol in walked(significant(iter(tokens), [])) if symbol != "NAME"} if doubtful else set()
    for token in tokens:
        if token.kind == WORD and token.start not in spoken:
            yield Word(token.text, token.start, token.end, before == ".")
        before = token.text


def header(words: list[Word], one: tree.Declaration) -> int:
    """Where the name of a declaration stands; that of a lemma is its monoid's."""
    name = getattr(one, "name", "")
    found = (word.start for word in words[:2] if word.text == name and word.start > one.span.start)
    return -1 if isinstance(one, tree.Lemma) else next(found, -1)


def calls(words: list[Word], one: tree.Declaration) -> dict[int, str]:
    """Where a declaration names others: `name`; and where it names the indices of an instruction: `key`."""
    found: dict[int, str] = {}
    starts: dict[str, list[int]] = {}
    for word in words:
        starts.setdefault(word.text, []).append(word.start)

    def first(node: Node, name: str, what: str) -> None:
        places = starts.get(name, [])
        at = bisect_left(places, node.span.start)
        if at < len(places) and places[at] < node.span.end:
            found[places[at]] = what

    found |= {n.span.start: "name" for n in wholes(one)}
    for node in nodes(one):
        match node:
            case tree.Turned(given=given):
                found |= {n.span.start: "key" for n in given if isinstance(n, tree.Naming)}
            case tree.Lemma(name):
                first(node, name, "name")
            case tree.Use(name, indices):
                first(node, name, "name")
                found |= {n.span.start: "key" for n in indices.items if isinstance(n, tree.Sized)}
            case (
                tree.Call(name)
                | tree.FoldExpr(name)
                | tree.Instruct(name)
                | tree.Fragment(instruction=name)
                | tree.Assign(update=name)
            ):
                first(node, name, "name")
    return found


def locals_of(one: tree.Declaration) -> dict[str, str]:
    """What a declaration declares inside of it: each name with what it is."""
    found: dict[str, str] = {}
    for name, kind, _ in binders(one):
        if not (kind == "an index" and name in found):
            found.setdefault(name, kind)
    for node in nodes(one):
        if not (isinstance(one, tree.Pipeline) and isinstance(node, tree.Naming)):  # which is a size of what is called
            for name, kind in _more(node):
                found.setdefault(name, kind)
    if isinstance(one, tree.Param):
        return {}
    return {name.removesuffix(".."): kind for name, kind in found.items()}


def _more(node: object) -> Iterator[tuple[str, str]]:
    """What is declared otherwise than by a binder."""
    match node:
        case tree.Equation(targets):
            inside = nodes(tuple(target.index for target in targets))
            yield from ((one.name, "an index") for one in inside if isinstance(one, tree.Name))
        case tree.Naming(name, _, indices):
            yield name, "a name"
            yield from ((index, "an index") for index in indices)
        case tree.Turned(made=made):
            yield from ((one.name, "a tensor") for one in made)
        case tree.LaunchClause(name):
            yield name, "a launch"
        case tree.Ring(name):
            yield name, "a ring"
        case tree.Def(params=params):
            yield from ((name, "an argument") for name in params)
        case tree.Lemma(index=index, elements=elements):
            yield index, "an index"
            yield from ((one.name, "an argument") for one in elements.items if isinstance(one, tree.Name | tree.Cell))
        case tree.Family(variable):
            yield variable, "a dtype"
        case tree.Lane(digits):
            yield from ((one.name, "a digit") for one in digits.items if isinstance(one, tree.Name | tree.Sized))
