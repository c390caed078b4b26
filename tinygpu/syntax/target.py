"""The words of a target: a machine `on cpu` says `core` and `simd` where one for a GPU says `grid`, `vector` and `shared`.

Comes in: the tree of a machine. Goes out: the same machine in the words of all targets, the words that its target does not have, or back.
The one idea: a core is a block of one thread and a vector register its vector, so nothing behind the tree has to know of a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from tinygpu.diagnostic import Span
from tinygpu.record import fields, is_dataclass, replace
from tinygpu.syntax import tree

T = TypeVar("T")
CPU = "cpu"
LEVELS = {"core": "grid"}
SORTS = {"simd": "vector"}
SPACES = {"core": "shared"}
CELLS = {"core": "register"}  # where something is kept
OTHERS = {
    "grid": "core",
    "block": "core",
    "cluster": "core",
    "vector": "simd",
    "shared": "core",
}  # of a GPU: what a CPU has instead
COLLECTIVE = ("shuffle_xor", "shuffle_up", "shuffle_down", "shuffle_idx")


def common(machine: T) -> T:
    """A machine on cpu in the words of all targets.

    >>> common(tree.Own("simd", ())), common(tree.Level("core", tree.Group(()))).name
    (Own(sort='vector', factors=()), 'grid')
    """

    def words(node: object) -> object:
        match node:
            case tree.Keep(space=space) if space in CELLS:
                return replace(node, space=CELLS[space])
        return _words(node, LEVELS, SORTS, SPACES)

    return _rewritten(machine, words)


def of_cpu(machine: T) -> T:
    """The words of a CPU again; a core has no level below it."""

    def back(node: object) -> object:
        match node:
            case tree.Work(levels) | tree.LaunchStatement(levels=levels):
                return _words(replace(node, levels=tuple(level for level in levels if level.name != "block")), {}, {}, {})
        return _words(node, *({new: old for old, new in words.items()} for words in (LEVELS, SORTS, SPACES)))

    return _rewritten(machine, back)


def strange(machine: tree.Machine) -> Iterator[tuple[str, Span, str]]:
    """The words that the machine's target does not have, with what to write instead."""
    cpu = machine.arch == CPU
    for node in _nodes(machine.clauses):
        match node:
            case tree.Level(word) | tree.Own(word) | tree.For(sort=word) | tree.Array(word) | tree.Stage(space=word):
                instead = OTHERS if cpu else SPACES if isinstance(node, tree.Array | tree.Stage) else {**LEVELS, **SORTS}
                if word in instead:
                    yield word, node.span, f"write {instead[word]}"
            case tree.Keep(space=word) if word in CELLS and not cpu:
                yield word, node.span, f"write {CELLS[word]}"
            case tree.Sync(kind) if cpu and kind.endswith("barrier"):
                yield kind, node.span, "remove it: what one thread does is in order"
            case tree.Call(function) if cpu and function in COLLECTIVE:
                yield function, node.span, "there is no other lane: fold over a factor of simd"


def _words(node: object, levels: Mapping[str, str], sorts: Mapping[str, str], spaces: Mapping[str, str]) -> object:
    match node:
        case tree.Level(name) if name in levels:
            return replace(node, name=levels[name])
        case tree.Own(sort) | tree.For(sort=sort) if sort in sorts:
            return replace(node, sort=sorts[sort])
        case tree.Array(space) | tree.Stage(space=space) if space in spaces:
            return replace(node, space=spaces[space])
    return node


def _rewritten(node: T, change: Callable[[object], object]) -> T:
    """Every node below and then the node itself, changed."""
    if isinstance(node, tuple):
        return tuple(_rewritten(part, change) for part in node)  # type: ignore[return-value]
    if not is_dataclass(node) or isinstance(node, Span | type):
        return node
    parts = {f.name: getattr(node, f.name) for f in fields(node)}
    new = {name: made for name, part in parts.items() if (made := _rewritten(part, change)) is not part and made != part}
    return change(replace(node, **new) if new else node)  # type: ignore[return-value, type-var]


def _nodes(node: object) -> Iterator[object]:
    """A tree's nodes, in order."""
    if isinstance(node, tuple):
        for part in node:
            yield from _nodes(part)
    elif is_dataclass(node) and not isinstance(node, Span | type):
        yield node
        for f in fields(node):
            yield from _nodes(getattr(node, f.name))
