"""The line above each machine, family, theorem and choice: its verdict, its time, its cost. And the outline of a text.

Comes in: what is known of a text. Goes out: lines and symbols for an editor. The one idea: a declaration that cannot be read still has its last verdict above it, and that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from tinygpu.lsp.place import Page
from tinygpu.lsp.state import State, heads
from tinygpu.lsp.verdicts import Shown
from tinygpu.syntax import tree
from tinygpu.syntax.node import Node

SHOW = "tinygpu.show"  # a command of the client's: nothing happens where it knows none
KINDS: dict[object, types.SymbolKind] = {
    tree.Op: types.SymbolKind.Function,
    tree.Machine: types.SymbolKind.Class,
    tree.Choice: types.SymbolKind.Enum,
    tree.Pipeline: types.SymbolKind.Enum,
    tree.Monoid: types.SymbolKind.Struct,
    tree.Param: types.SymbolKind.Constant,
    tree.Def: types.SymbolKind.Function,
    tree.Theorem: types.SymbolKind.Property,
    tree.Gradient: types.SymbolKind.Property,
    tree.Lemma: types.SymbolKind.Property,
    tree.Scheme: types.SymbolKind.Property,
    tree.Instruction: types.SymbolKind.Interface,
}
WITHIN: dict[object, types.SymbolKind] = {
    tree.TensorDecl: types.SymbolKind.Array,
    tree.Equation: types.SymbolKind.Variable,
    tree.View: types.SymbolKind.Variable,
    tree.Turned: types.SymbolKind.Method,
    tree.LaunchClause: types.SymbolKind.Method,
    tree.Stage: types.SymbolKind.Field,
}


def lenses(state: State, page: Page) -> list[types.CodeLens]:
    """A line for each declaration that has a verdict, or will have one."""
    by: dict[str, list[Shown]] = {}
    for one in state.verdicts.values():
        by.setdefault(one.name, []).append(one)
    found = []
    for name, start, end in heads(page.text):
        if line := lens_line(state, name, by.get(name, [])):
            found.append(types.CodeLens(page.range(start, end), types.Command(line, SHOW, arguments=[state.uri, name])))
    return found


def lens_line(state: State, name: str, found: list[Shown]) -> str:
    """`proved · all n · 13 obligations · 0.11 s · moves 50.3 MB`; of several dtypes how many have which verdict."""
    now = [one for one in found if state.current(one)]
    before = [one for one in found if not state.current(one)]
    waiting = sum(re.split(r"[\[ ]", title)[0] == name for title in state.missing)
    parts = [counted(state, now)] if now else []
    parts += [f"proving {f'{waiting} more ' * bool(now)}…"] if waiting else []
    parts += [f"{'not read · ' * (not waiting)}before this edit {counted(state, before)}"] if before and not now else []
    return " · ".join(parts)


def counted(state: State, found: list[Shown]) -> str:
    """One verdict with its cost; of several `3 proved, 1 refuted · 0.52 s`."""
    if len(found) == 1:
        return " · ".join(part for part in (found[0].line, state.costs.get(found[0].key, "")) if part)
    words = [one.word for one in found]
    said = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    kept = all(one.kept for one in found)
    return f"{said} · {'kept' if kept else f'{sum(one.seconds for one in found):.2f} s'}"


def outline(state: State, page: Page) -> list[types.DocumentSymbol]:
    """The declarations, with what stands in each."""
    return [symbol for one in state.document.tree.declarations if (symbol := _symbol(one, state, page))]


def _symbol(one: tree.Declaration, state: State, page: Page) -> types.DocumentSymbol | None:
    kind = KINDS.get(type(one))
    if kind is None or isinstance(one, tree.Import):
        return None
    start = state.document.names.defined.get((-1, one.name), one.span.start)
    whole, place = page.span(one.span), page.range(start, start + len(one.name))
    if not (one.span.start <= start <= one.span.end):
        place = types.Range(whole.start, whole.start)
    about = " ".join(page.text[one.span.start : one.span.end].partition("{")[0].split())[:80]
    return types.DocumentSymbol(one.name, kind, whole, place, about, children=list(_inside(one, page)))


def _inside(one: tree.Declaration, page: Page) -> Iterator[types.DocumentSymbol]:
    """The tensors and equations of an op, the launches and stages of a machine."""
    match one:
        case tree.Op(inputs=inputs, outputs=outputs, equations=equations):
            rows: tuple[object, ...] = (*inputs, *outputs, *equations)
        case tree.Pipeline(inputs=inputs, outputs=outputs, calls=calls):
            rows = (*inputs, *outputs, *calls)
        case tree.Monoid(components=components):
            rows = components
        case tree.Machine(clauses=clauses):
            rows = clauses
        case _:
            rows = ()
    for row in rows:
        kind = WITHIN.get(type(row))
        if kind is not None and isinstance(row, Node):
            text = " ".join(re.split(r"[{\n]", page.text[row.span.start : row.span.end])[0].split())
            yield types.DocumentSymbol(text[:60] or "…", kind, page.span(row.span), page.span(row.span))
