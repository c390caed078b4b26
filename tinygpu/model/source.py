"""The declarations that an operation was made of, as a text of its own needs them.

Comes in: a file's tree, one of its ops, and the dtype chosen for its family. Goes out: params, monoids, and the op without a family.
The one idea: what was elaborated can be said again, so that whoever holds a proof can read what it is a proof of.
"""

from __future__ import annotations

from typing import Any

from tinygpu.record import fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.node import nodes, rewritten

Declared = tree.Param | tree.Monoid | tree.Op


def source(file: tree.File, op: tree.Op, dtype: str = "") -> tuple[Declared, ...]:
    """The params and monoids of the file, and the op with `dtype` for the variable of its family.

    >>> from tinygpu.syntax.parse import parse
    >>> file = parse("op f[T in {f16, f32}](x: T[n]) -> (y: f32[n]) { y[i] = f32(x[i]) }")
    >>> (plain,) = source(file, file.declarations[0], "f16")
    >>> plain.family, plain.inputs[0].dtype
    (None, 'f16')
    """
    shared = [d for d in file.declarations if isinstance(d, tree.Monoid) or (isinstance(d, tree.Param) and d.value is not None)]
    if op.family is None:
        return (*shared, op)
    variable = op.family.variable

    def change(node: Any) -> Any:
        match node:
            case tree.TensorDecl(dtype=name) if name == variable:
                return replace(node, dtype=dtype)
            case tree.Call(function=name) if name == variable:
                return replace(node, function=dtype)
        return node

    return (*shared, replace(rewritten(op, change), family=None))


def needed(declared: tuple[Declared, ...], *users: object) -> tuple[Declared, ...]:
    """Those of the declarations that are ops, that `users` name, or that one of these names."""
    words = _words((*users, *(d for d in declared if isinstance(d, tree.Op))))
    found: dict[str, Declared] = {}
    while more := [d for d in declared if d.name not in found and (isinstance(d, tree.Op) or d.name in words)]:
        found.update((d.name, d) for d in more)
        words |= _words(tuple(more))
    return tuple(d for d in declared if d.name in found)


def declares(declared: tuple[Declared, ...], dtype: str) -> bool:
    """Whether a dtype stands in the op of these declarations: its tensors have it, or it converts to it."""
    return any(dtype in _words(d) for d in declared if isinstance(d, tree.Op))


def said(file: tree.File, name: str) -> str:
    """The text of a machine with its ops and whatever they name, in the one style, without comments."""
    machine = next(d for d in file.declarations if isinstance(d, tree.Machine) and d.name == name)
    ops = {op.name for op in machine.ops}
    declared = [d for d in file.declarations if isinstance(d, tree.Param | tree.Monoid | tree.Op)]
    mine = needed(tuple(d for d in declared if not isinstance(d, tree.Op) or d.name in ops), machine)
    return format_file(tree.File((*mine, machine)))


def _words(tree_: object) -> set[str]:
    """Every name in a tree."""
    values = [getattr(node, field.name) for node in nodes(tree_) for field in fields(node)]
    return {word for value in values for word in (value if isinstance(value, tuple) else (value,)) if isinstance(word, str)}
