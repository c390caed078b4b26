"""What statements change, seen from their form: names, arrays, and whether threads wait in them.

Comes in: statements, and what the names are. Goes out: the names given, the arrays written, barriers.
The one idea: what a loop may change is not known in any of its turns before it is given again, so it is looked for first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from tinygpu.record import dataclass
from tinygpu.validate.typed import Atom, Cells, Number, Pointer, Thing


@dataclass(frozen=True, slots=True)
class Effects:
    """`assigned` are names of the text, `written` arrays of the program."""

    assigned: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    barriers: bool = False


def effects(body: Iterable[ast.stmt], names: Mapping[str, Thing]) -> Effects:
    """What statements may change."""
    assigned: set[str] = set()
    written: set[str] = set()
    barriers = False
    for node in (n for stmt in body for n in ast.walk(stmt)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                assigned.add(name)
                written |= _array(names.get(name))
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                written |= _array(names.get(name))
            case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=first), *_]):
                atom = names.get(name)
                if isinstance(atom, Atom) and atom.what in ("store", "atomic"):
                    written |= _array(names.get(first))
                if isinstance(atom, Atom) and atom.what == "load":
                    assigned.add(first)
            case ast.Attribute(attr="syncthreads" | "syncwarp"):
                barriers = True
    return Effects(frozenset(assigned), frozenset(written), barriers)


def _array(thing: Thing | None) -> set[str]:
    match thing:
        case Number(array=array) | Pointer(array=array) | Cells(array=array) if array:
            return {array}
    return set()


def names_in(node: ast.AST) -> frozenset[str]:
    """All names that stand in a node."""
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
