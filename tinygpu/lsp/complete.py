"""What may stand at a place.

Comes in: what is known of a text, an offset. Goes out: names and words, each with what it is. The one idea: the parser is asked what it would take there, so a word is offered only where it may stand;
names are those of the declaration around, of what it computes, and of all files that are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from lark import UnexpectedToken
from lsprotocol import types

from tinygpu.category.term import DTYPES
from tinygpu.lsp.names import kind_of
from tinygpu.lsp.read import Document
from tinygpu.lsp.words import locals_of
from tinygpu.model.call import CALLS
from tinygpu.model.source import computed
from tinygpu.syntax import tree
from tinygpu.syntax.files import of_the_library
from tinygpu.syntax.grammar import END, shipped_parser
from tinygpu.syntax.lexer import NEWLINE, WORD, scan, significant
from tinygpu.syntax.parse import DECLARATION
from tinygpu.syntax.reader import advance, trace

TOP = ("op", "machine", "choice", "pipeline", "theorem", "lemma", "scheme", "monoid", "param", "def", "import", "instruction")
ITEM = types.CompletionItemKind
KINDS: Mapping[str, ITEM] = {
    "an op": ITEM.Function,
    "a def": ITEM.Function,
    "a machine": ITEM.Class,
    "a tensor": ITEM.Variable,
    "a size": ITEM.TypeParameter,
    "an index": ITEM.Field,
    "a factor": ITEM.Property,
    "a param": ITEM.Constant,
    "a monoid": ITEM.Struct,
}


def complete(document: Document, offset: int) -> list[types.CompletionItem]:
    """What may stand at an offset; a word that is begun there is left to the editor."""
    text = document.text
    if any(t.kind in ("COMMENT", "STRING") and t.start < offset <= t.end for t in scan(text, text.rfind("\n", 0, offset) + 1)):
        return []
    begin = offset
    while begin and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
        begin -= 1
    if text[begin - 1 : begin] == ".":
        return [_item(name, "a component", ITEM.Property) for name in components(document, begin)]
    could = accepted(text, begin)
    items = {
        name: _item(name, "a word of the language", ITEM.Keyword) for name in sorted(could) if name.isalpha() and name.islower()
    }
    if could & {"NAME", "FOLD"} or not could:
        for name, kind in names_at(document, begin):
            items.setdefault(name, _item(name, kind, KINDS.get(kind, ITEM.Variable)))
    if "FOLD" in could:
        items |= {name: _item(name, "a fold", ITEM.Operator) for name in shipped_parser().folds}
    if "FOLD" in could or "NUMBER" in could:
        items |= {name: _item(name, "a function", ITEM.Function) for name in CALLS if name.isidentifier()}
        for name, path in of_the_library().items():
            items.setdefault(name, _library(document, name, path))
    if text[:begin].rstrip().endswith((":", "->")):
        items |= {name: _item(name, "a dtype", ITEM.TypeParameter) for name in DTYPES}
    return list(items.values())


def accepted(text: str, offset: int) -> frozenset[str]:
    """What the grammar takes behind the words of a declaration up to an offset; nothing where it cannot read those."""
    begin = max((m.start() for m in DECLARATION.finditer(text, 0, offset)), default=offset)
    line = text.rfind("\n", 0, offset) + 1
    if begin == line and not text[begin:offset].strip().count(" "):
        return frozenset(TOP)
    words = [token for token in significant(scan(text[begin:offset]), []) if token.kind != END]
    try:
        parser = trace(words)
    except UnexpectedToken:
        return frozenset()
    if words and not text[line:offset].strip():
        parser = advance(parser, NEWLINE) or parser
    return shipped_parser().symbols(parser.accepts())


def names_at(document: Document, offset: int) -> Iterator[tuple[str, str]]:
    """The names that are known at a place, each with what it is."""
    around, declared = document.names.around(offset), document.names.declared
    if around is None or isinstance(around, tree.Import):  # it cannot be read now, so its words are what is known of it
        begin = max((m.start() for m in DECLARATION.finditer(document.text, 0, offset)), default=0)
        words = {t.text for t in scan(document.text[begin:offset]) if t.kind == WORD} - shipped_parser().literals.keys()
        found = dict.fromkeys(words, "a name")
        ops = [one for name in words if isinstance(one := declared.get(name), tree.Op)]
    else:
        found, ops = locals_of(around), list(computed(around, declared.values()))
        ops += [one for n in getattr(around, "ops", ()) if isinstance(one := declared.get(n.name), tree.Op)]
    yield from found.items()
    for op in ops:
        yield from locals_of(op).items()
    yield from ((name, kind_of(one)) for name, one in declared.items())


def components(document: Document, offset: int) -> list[str]:
    """What may stand behind a dot: the components of monoids, the operands of instructions; of a declaration that is being written whatever has a type there."""
    if document.names.around(offset) is None:
        begin = max((m.start() for m in DECLARATION.finditer(document.text, 0, offset)), default=0)
        words = list(scan(document.text[begin:offset]))
        return list(dict.fromkeys(a.text for a, b in pairwise(words) if a.kind == WORD and b.text == ":"))
    several = document.names.declared.values()
    monoids = [c.name for one in several if isinstance(one, tree.Monoid) for c in one.components]
    return list(dict.fromkeys((*monoids, *(o.name for one in several if isinstance(one, tree.Instruction) for o in one.operands))))


def _item(name: str, kind: str, what: ITEM) -> types.CompletionItem:
    return types.CompletionItem(name, kind=what, detail=kind)


def _library(document: Document, name: str, path: str) -> types.CompletionItem:
    """A function of the library, with the import that brings it."""
    zero = types.Position(0, 0)
    there = any(isinstance(d, tree.Import) and d.path.removesuffix(".tgpu") == path for d in document.tree.declarations)
    edits = [] if there else [types.TextEdit(types.Range(zero, zero), f'import "{path}"\n')]
    return types.CompletionItem(name, kind=ITEM.Function, detail=f"of {path}", additional_text_edits=edits)
