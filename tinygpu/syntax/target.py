"""The words of a target: a machine `on cpu` says `core` and `simd` where one for a GPU says `grid`, `vector` and `shared`.

Comes in: the tree of a machine. Goes out: the same machine in the words of all targets, the words that its target does not have, or back.
The one idea: a core is a block of one thread and a vector register its vector, so nothing behind the tree has to know of a CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from tinygpu.diagnostic import Span
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes, rewritten

T = TypeVar("T")
CPU = "cpu"
ARCHITECTURES = ("cpu", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f",
                 "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f")  # fmt: skip
Words = Mapping[str, str]
LEVELS: Words = {"core": "grid"}
SORTS: Words = {"simd": "vector"}
SIMD = (4, 8, 16)  # numbers that a factor of simd may have
SPACES: Words = {"core": "shared"}
CELLS: Words = {"core": "register"}  # where something is kept
Table = Mapping[type, tuple[str, Words]]  # the field of a node that says such a word, and what it says instead
COMMON: Table = {
    tree.Level: ("name", LEVELS),
    tree.Own: ("sort", SORTS),
    tree.For: ("sort", SORTS),
    tree.Array: ("space", SPACES),
    tree.Stage: ("space", SPACES),
    tree.Keep: ("space", CELLS),
}
OWN: Table = {made: (field, {word: own for own, word in words.items()}) for made, (field, words) in COMMON.items()}
# of a GPU: what a CPU has instead
OTHERS = {"grid": "core", "block": "core", "cluster": "core", "vector": "simd", "shared": "core"}
COLLECTIVE = ("shuffle_xor", "shuffle_up", "shuffle_down", "shuffle_idx")


def common(machine: T) -> T:
    """A machine on cpu in the words of all targets.

    >>> common(tree.Own("simd", ())), common(tree.Level("core", tree.Group(()))).name
    (Own(sort='vector', factors=()), 'grid')
    """
    return rewritten(machine, lambda node: _said(node, COMMON))


def of_cpu(machine: T) -> T:
    """The words of a CPU again; a core has no level below it."""

    def change(node: Any) -> Any:
        if isinstance(node, tree.Work | tree.LaunchStatement):
            return replace(node, levels=tuple(level for level in node.levels if level.name != "block"))
        return _said(node, OWN)

    return rewritten(machine, change)


def _said(node: Any, table: Table) -> Any:
    """A node with its word replaced, if it says one of these."""
    field, words = table.get(type(node), ("", {}))
    word = getattr(node, field, "")
    return replace(node, **{field: words[word]}) if word in words else node


def strange(machine: tree.Machine) -> Iterator[tuple[str, Span, str]]:
    """The words that the machine's target does not have, with what to write instead."""
    cpu = machine.arch == CPU
    parts = (part for part in machine.clauses if isinstance(part, tree.LaunchClause))
    clauses = (*machine.clauses, *(clause for part in parts for clause in part.clauses))
    for node in nodes(machine.clauses):
        match node:
            case tree.Level(word) | tree.Own(word) | tree.For(sort=word) | tree.Array(word) | tree.Stage(space=word):
                instead = OTHERS if cpu else SPACES if isinstance(node, tree.Array | tree.Stage) else {**LEVELS, **SORTS}
                if word in instead:
                    yield word, node.span, f"write {instead[word]}"
            case tree.Keep(space=word) if word in CELLS and not cpu:
                yield word, node.span, f"write {CELLS[word]}"
            case tree.Stream() if not cpu and node in clauses:  # and not a step
                yield "stream", node.span, "leave it out: what is stored once leaves the caches first"
            case tree.Prefetch() if not cpu:
                yield "prefetch", node.span, "stage a tile with a ring of slots and async copies, or say it in a program"
            case tree.Sync(kind) if cpu and kind.endswith("barrier"):
                yield kind, node.span, "remove it: what one thread does is in order"
            case tree.Call(function) if cpu and function in COLLECTIVE:
                yield function, node.span, "there is no other lane: fold over a factor of simd"
