"""What stands in a part of a kernel's text.

Comes in: a node of Python's syntax. Goes out: the names in it, and all that tells what it changes. The one idea: it is asked of each loop, and of those
around it, so a statement is looked at once.
"""

from __future__ import annotations

import ast
from functools import lru_cache

KINDS = (ast.Name, ast.Subscript, ast.Call, ast.Attribute, ast.arg, ast.FunctionDef)
EMPTY = (ast.expr_context, ast.operator, ast.Constant)


def names_in(node: ast.AST) -> frozenset[str]:
    """The names that stand in a part of the text."""
    return frozenset(n.id for n in parts_of(node) if isinstance(n, ast.Name))


def stored_in(node: ast.AST) -> frozenset[str]:
    """The names that are given something in a part of the text."""
    return frozenset(n.id for n in parts_of(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def parts_of(node: ast.AST) -> tuple[ast.AST, ...]:
    """The names, elements, calls, attributes, parameters and functions in a part of the text."""
    return _of_statement(node) if isinstance(node, ast.stmt) else _parts(node)


@lru_cache(maxsize=1 << 12)
def changing(stmt: ast.stmt) -> tuple[ast.AST, ...]:
    """Those of its parts that may change something: names and elements that are stored, calls, and attributes."""
    return tuple(
        n for n in parts_of(stmt) if isinstance(n, (ast.Call, ast.Attribute)) or isinstance(getattr(n, "ctx", None), ast.Store)
    )


@lru_cache(maxsize=1 << 12)  # of each loop it is asked, and of those around it
def _of_statement(stmt: ast.stmt) -> tuple[ast.AST, ...]:
    return _parts(stmt)


def _parts(node: ast.AST) -> tuple[ast.AST, ...]:
    found: list[ast.AST] = [node] if isinstance(node, KINDS) else []
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, EMPTY):
            found += parts_of(child)
    return tuple(found)
