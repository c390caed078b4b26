"""Machines by rules for prefixes on the cores of a CPU: three launches over blocks.

    y[i] = ⊕[k ≤ i] b(k)   ↦   part[g] = ⊕ of block g;   before[g] = ⊕[h < g] part[h];   y[i] = before[g] ⊕ the prefix in its block

Comes in: a launch's equations with a prefix, and the length of a block. Goes out: three launches. The one idea: a prefix is a chain only from block to block, and blocks are few; within one it is a loop that a core has
for itself, whatever is combined.
"""

from __future__ import annotations

from tinygpu.tune.facts import Group, Names
from tinygpu.tune.state import Factor, Nest, ordered

BLOCKS = (4096, 64)  # elements of a block: a long one, and one whose chain a core has ended before the next one waits for it


def blocks(group: Group, names: Names, several: bool, long: int) -> tuple[Nest, ...]:
    """The launches of a group whose prefixes go along one index; none where there are others, or other equations beside it."""
    if len({*group.along.values()}) != 1 or len(group.equations) != 1:
        return ()
    (index,), (equation,) = {*group.along.values()}, group.equations
    block, inside = Factor(names.new(index, "b"), "core"), Factor(names.new(index, "t"), "time", long)
    rows = tuple((row, (Factor(row, "core"),)) for row in group.rows)
    loops = tuple((c, (Factor(c, "time"),)) for c in group.columns if c != index)
    around = (*rows, *loops)
    whole, heads = (*around, (index, (block, inside))), (*around, (block.name, (Factor(block.name, "time"),)))
    turns = tuple(c for c, _ in loops)
    ways = (("parts", whole, inside.name), ("before", heads, block.name), ("last", whole, inside.name))
    named, targets = f"{equation.target}_" if several else "", group.names if several else ()
    return tuple(Nest(targets, cuts, ordered(cuts, (*turns, inner)), (), f"{named}{word}") for word, cuts, inner in ways)
