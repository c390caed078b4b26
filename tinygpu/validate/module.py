"""A module's text as a tree: what stands at its top, and where.

Comes in: the text. Goes out: its functions, its other statements by the name they give, and spans of nodes for diagnostics.
The one idea: at the top every name is given once, so that a name in a kernel or launcher means what is found here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.record import dataclass


@dataclass(frozen=True)
class Module:
    """The tree of a module's text; `file` is what diagnostics call it."""

    text: str
    tree: ast.Module
    file: str = ""

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """The functions at the top, by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    @cached_property
    def values(self) -> dict[str, ast.Assign | ast.AnnAssign]:
        """The statements at the top that give one name a value."""
        return {name: node for node in self.tree.body for name in _given(node)}  # type: ignore[misc]

    @cached_property
    def names(self) -> frozenset[str]:
        """What is given a meaning at the top."""
        return frozenset(name for node in self.tree.body for name in names_of(node))

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    @cached_property
    def lines(self) -> list[str]:
        """The text line by line."""
        return self.text.split("\n")

    def span(self, node: ast.AST) -> Span:
        """Where a node stands."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end = getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None) or 0
        column, end = self._column(line, column), self._column(end_line, end)
        start, stop = self._starts[line - 1] + column, self._starts[end_line - 1] + end
        return Span(self.file, start, stop, line, column + 1, end_line, end + 1)

    def _column(self, line: int, offset: int) -> int:
        """`ast` counts bytes of UTF-8; people count characters."""
        whole = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset if whole.isascii() else len(whole.encode()[:offset].decode())

    def wrong(self, code: str, title: str, node: ast.AST, says: str, *notes: str, known: bool = True) -> Diagnostic:
        """A diagnostic at a node: what it does, and as notes what was wanted. It is unknown, and no error, where a bound was not shown."""
        return Diagnostic(code, title, (Label(self.span(node), says),), "error" if known else "unknown", notes=notes)


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement at the top gives a meaning."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [a.asname or a.name for a in aliases]
    return []


def _given(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id


def read(text: str, file: str = "") -> Module:
    """`text → module`. Raises SyntaxError."""
    return Module(text, ast.parse(text), file)
