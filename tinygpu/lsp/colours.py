"""The colour of each name, by what it is.

Comes in: the names of a text. Goes out: the editor's list of numbers, five a word. The one idea: words of the language are coloured by the TextMate grammar; what only the tree knows, that `i` is an
index and `N` a size, is said here.
"""

from __future__ import annotations

from lsprotocol import types

from tinygpu.lsp.names import Table
from tinygpu.lsp.place import Page

KINDS = {
    "an op": "function",
    "a def": "function",
    "a machine": "class",
    "a choice": "enum",
    "a pipeline": "enum",
    "a monoid": "struct",
    "an instruction": "macro",
    "a theorem": "interface",
    "a lemma": "interface",
    "a scheme": "interface",
    "a param": "enumMember",
    "a size": "typeParameter",
    "a dtype": "type",
    "a tensor": "variable",
    "a view": "variable",
    "an array": "variable",
    "a name": "variable",
    "a ring": "variable",
    "an index": "parameter",
    "an argument": "parameter",
    "a factor": "property",
    "a digit": "property",
    "a loop": "property",
    "a launch": "namespace",
}
LEGEND = types.SemanticTokensLegend(sorted({*KINDS.values()}), ["declaration"])


def tokens(names: Table, page: Page) -> types.SemanticTokens:
    """Each name as its distance from the one before, its length, its kind, and whether it is declared there."""
    data: list[int] = []
    line = start = 0
    for one in names.named:
        kind = KINDS.get(one.kind)
        if kind is None:
            continue
        here, end = page.position(one.start), page.position(one.end)
        declared = one.home == one.start
        step = here.line - line
        data += [
            step,
            here.character - (0 if step else start),
            end.character - here.character,
            LEGEND.token_types.index(kind),
            int(declared),
        ]
        line, start = here.line, here.character
    return types.SemanticTokens(data)
