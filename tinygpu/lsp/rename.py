"""Where a name is declared, where it is used, and another name for it.

Comes in: what is known of a text, an offset. Goes out: places, edits. The one idea: a new name is tried first: the text with it is read, and if anything is wrong in it that was right before, nothing is
renamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from lsprotocol import types

from tinygpu.diagnostic import Diagnostic, Label, Span, TinygpuError
from tinygpu.lsp.elsewhere import User
from tinygpu.lsp.names import FILE, Key, Named
from tinygpu.lsp.place import Page, location, uri_of
from tinygpu.lsp.read import Document, as_document
from tinygpu.model.adjoint import CHANGE
from tinygpu.syntax import tree
from tinygpu.syntax.files import meant
from tinygpu.syntax.grammar import shipped_parser

Others: TypeAlias = Callable[[str, str], Iterable[User]]  # who uses a name of a file
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def nobody(_: str, __: str) -> tuple[User, ...]:
    """No other file is looked at."""
    return ()


def definition(document: Document, page: Page, offset: int) -> types.Location | None:
    """Where the name at an offset is declared, also in another file; of an import its file."""
    around = document.names.around(offset)
    if isinstance(around, tree.Import):
        return location(Span(meant(around.path, document.path)), page.codec)
    one = document.names.at(offset)
    if one is None:
        return None
    if one.home >= 0:
        return types.Location(uri_of(document.path), page.range(one.home, one.home + one.end - one.start))
    declared = document.names.declared.get(one.key[1])
    return location(declared.span, page.codec) if declared is not None else None


def references(document: Document, page: Page, offset: int, declaration: bool, others: Others = nobody) -> list[types.Location]:
    """Every place of the name at an offset, with the one where it is declared or without, and those in other files."""
    one, uri = document.names.at(offset), uri_of(document.path)
    if one is None:
        return []
    found = (n for n in document.names.all(one.key) if declaration or n.start != n.home)
    here = [types.Location(uri, page.range(n.start, n.end)) for n in found]
    there = ((user, Page(user.text, page.codec)) for user in elsewhere(document, one, others))
    return here + [types.Location(uri_of(user.path), its.range(n.start, n.end)) for user, its in there for n in user.places]


def elsewhere(document: Document, one: Named, others: Others) -> list[User]:
    """The other files that use a name, where this file declares it for all."""
    return [*others(document.path, one.key[1])] if one.key[0] == FILE and one.key in document.names.defined else []


def renameable(document: Document, offset: int) -> Named:
    """The name at an offset, if it may have another one. Raises TG936 where it is no name of this text."""
    one = document.names.at(offset)
    if one is None:
        raise TinygpuError.of("TG936", "there is no name here that can be changed", help="names are those that the file declares")
    if one.key not in document.names.defined:
        there = document.names.declared.get(one.key[1])
        help = (
            f"change it in {there.span.file}" if there is not None else "only what the file declares has a name that can be changed"
        )
        raise TinygpuError.of("TG936", f"{one.key[1]} is declared in another file", help=help)
    return one


def edits_of(document: Document, page: Page, offset: int, new: str, others: Others = nobody) -> dict[str, list[types.TextEdit]]:
    """The edits of each file. Raises TG936 for what is no name, and where the text would no longer be right."""
    one = renameable(document, offset)
    grammar = shipped_parser()
    if not NAME.fullmatch(new) or new in grammar.literals or new in grammar.folds:
        help = "names are made of the letters a to z and A to Z, digits and `_`, and no word of the language is one"
        raise TinygpuError.of("TG936", f"{new} is no name", help=help)
    places, words = document.names.all(one.key), changes(document, one.key, new)
    text = document.text
    for place, word in reversed(words):
        text = text[: place.start] + word + text[place.end :]
    after = as_document(text, document.path)
    moved = sum(len(word) - (place.end - place.start) for place, word in words if place.start < places[0].start)
    again, wrong = after.names.at(places[0].start + moved), news(document, after)
    if wrong is None and (again is None or len(after.names.all(again.key)) != len(places)):
        raise TinygpuError.of("TG936", f"{new} is the name of something else where {one.key[1]} stands", help="take another name")
    if wrong is not None:
        label = Label(wrong.span, wrong.title)
        help = f"with it: {wrong.title}"
        raise TinygpuError(Diagnostic("TG936", f"{one.key[1]} cannot be called {new}", (label,), helps=(help,)))
    found = {uri_of(document.path): [types.TextEdit(page.range(place.start, place.end), word) for place, word in words]}
    for user in elsewhere(document, one, others):
        if new in user.names.declared:
            raise TinygpuError.of("TG936", f"{new} is declared in {user.path}, which uses {one.key[1]}", help="take another name")
        its = Page(user.text, page.codec)
        found[uri_of(user.path)] = [types.TextEdit(its.range(place.start, place.end), new) for place in user.places]
    return found


def changes(document: Document, key: Key, new: str) -> list[tuple[Named, str]]:
    """Every place that is another word then, in their order: those of a name, and where it is a tensor of an op with a gradient those of what a number changes by with it."""
    found, table, change = [(place, new) for place in document.names.all(key)], document.names, f"{CHANGE}{key[1]}"
    for gradient in (d for d in table.declarations if isinstance(d, tree.Gradient)):
        spans = {d.name: d.span for d in table.declarations if isinstance(d, tree.Op | tree.Pipeline)}
        there, by = spans.get(gradient.op.name), [spans[name.name] for name in gradient.by if name.name in spans]
        if there is not None and any(there.start <= place.start < there.end for place, _ in found):
            keys = {n.key for n in table.named if n.key[1] == change and any(s.start <= n.start < s.end for s in by)}
            found += [(place, f"{CHANGE}{new}") for one in keys for place in table.all(one)]
    return sorted(dict(found).items(), key=lambda one: one[0].start)


def news(before: Document, after: Document) -> Diagnostic | None:
    """A mistake that was not there before, or that a declaration is gone."""
    known = [one.code for one in before.diagnostics if one.verdict == "error"]
    for one in after.diagnostics:
        if one.verdict == "error":
            if one.code not in known:
                return one
            known.remove(one.code)
    return None
