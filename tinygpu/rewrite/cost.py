"""What a value costs at given sizes: operations, and the points that its folds go through.

    cost(node) = operations of the node · points of the indices it speaks of        cost(fold) = also READ · points, once for each set of indices that its values speak of

Comes in: a node. Goes out: a number. The one idea: a value is computed once at each point of the indices that it speaks of, so costs add up over values, and what is shared is paid once.
"""

from __future__ import annotations

from tinygpu.rewrite.graph import INV, MUL, ONE, Graph, Leaf, Node, Over
from tinygpu.rewrite.read import Reader

READ = 4  # operations in whose time an element comes from memory
SLOW = 8  # operations in whose time a function is evaluated
DIVIDE = 4


def cost(reader: Reader, one: int, node: Node) -> int:
    """What a node costs beside what it needs."""
    graph, (label, below) = reader.graph, node
    match label:
        case Leaf():
            return 0
        case ("part", _):
            return 0
        case Over(weighted=weighted):
            speaks = goes_through(reader, node)
            read = sum(READ * reader.points(names) for names in set(speaks))
            each = sum(
                (1 if n == 0 or not weighted or is_one(graph, below[n]) else 2) * reader.points(names)
                for n, names in enumerate(speaks)
            )
            return (
                1 + read + each + (SLOW * reader.points(speaks[0]) if weighted else 0)
            )  # of two that cost the same the one with fewer folds
    operations = (
        len(below) - 1
        if label == MUL
        else DIVIDE
        if label == INV
        else 1
        if label[1] in ("add", "sub", "max", "min", "select", "abs")
        else SLOW
    )
    return operations * reader.points(graph.free[graph.find(one)])


def goes_through(reader: Reader, node: Node) -> tuple[frozenset[str], ...]:
    """The indices whose points a fold goes through for each of its values; what is weighted is so at each point of its weight, too."""
    label, below = node
    if not isinstance(label, Over):
        return ()
    frees = [reader.graph.free[reader.graph.find(c)] for c in below]
    common = label.box.names | (frees[0] if label.weighted else frozenset())
    return tuple(frozenset(common | free) for free in frees)


def is_one(graph: Graph, one: int) -> bool:
    """Whether a class is the number 1."""
    return (ONE, ()) in graph.nodes[graph.find(one)]
