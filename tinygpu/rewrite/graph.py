"""Equal values, interned: an e-graph. A class is what is known to be one value, a node is one way to compute it from other classes.

Comes in: nodes, and pairs of classes that are equal. Goes out: classes, with all the nodes that are known of them. The one idea: a value stands here once, whatever stands for it, so a law
that is used once is used wherever that value is, and nothing is lost by using it. Indices have names, and a class knows which ones it speaks of, so a law that moves something out of a fold
asks that; no law puts anything in for an index, so nothing can be captured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from tinygpu.algebra.polynomial import REAL
from tinygpu.category.term import TRUE, Axis, Const, Term, variables
from tinygpu.record import dataclass, field

MUL, INV = ("mul",), ("inv",)


@dataclass(frozen=True, slots=True)
class Box:
    """Where a fold goes through: axes, and which of their points count."""

    axes: tuple[Axis, ...]
    guard: Term = TRUE

    @property
    def names(self) -> frozenset[str]:
        return frozenset(a.name for a in self.axes)

    @property
    def outside(self) -> frozenset[str]:
        """The indices that it follows."""
        return variables(self.guard).union(*(variables(a.extent) for a in self.axes)) - self.names


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that no law looks into."""

    term: Term


@dataclass(frozen=True, slots=True)
class Over:
    """`sum`, `max` or `min` of a body; of several, side by side, each by its own; `weighted`: a maximum h, and sums that are weighted by `exp(h - max h)`."""

    kinds: tuple[str, ...]
    box: Box
    weighted: bool = False


Label: TypeAlias = "tuple[str, ...] | Leaf | Over | tuple[str, str, Term]"
Node: TypeAlias = "tuple[Label, tuple[int, ...]]"
ONE = Leaf(Const(1.0, REAL))


@dataclass(slots=True)
class Graph:
    """Classes are numbers. `sizes` are no indices. `own` are the nodes that were made while they were `given`, and not by a law."""

    sizes: frozenset[str] = frozenset()
    above: list[int] = field(default_factory=list)
    nodes: dict[int, dict[Node, None]] = field(default_factory=dict)
    known: dict[Node, int] = field(default_factory=dict)
    free: dict[int, frozenset[str]] = field(default_factory=dict)
    own: set[Node] = field(default_factory=set)
    given: bool = True

    def find(self, one: int) -> int:
        """The class that one is by now."""
        while self.above[one] != one:
            self.above[one] = self.above[self.above[one]]
            one = self.above[one]
        return one

    def __len__(self) -> int:
        return sum(map(len, self.nodes.values()))

    def add(self, label: Label, *children: int) -> int:
        """The class of a node.

        >>> graph = Graph()
        >>> a, b = (graph.add(Leaf(Const(n, REAL))) for n in (2.0, 3.0))
        >>> graph.add(MUL, a, b) == graph.add(MUL, b, graph.add(ONE), a), graph.add(MUL, a, b, graph.add(INV, a)) == b
        (True, True)
        """
        below = tuple(map(self.find, children))
        if label == MUL:
            below = self._factors(below)
            if len(below) < 2:
                return below[0] if below else self.add(ONE)
        if label == INV and below[0] == self.known.get((ONE, ())):
            return below[0]
        node: Node = (label, below)
        if node not in self.known:
            self.known[node] = one = len(self.above)
            self.above.append(one)
            self.nodes[one] = {node: None}
            self.free[one] = self._free(node)
        if self.given:
            self.own.add(node)
        return self.find(self.known[node])

    def _factors(self, below: Iterable[int]) -> tuple[int, ...]:
        """Factors in one order, without ones, products taken apart, and without what is divided by again."""
        out: list[int] = []
        for child in below:
            products = [n for n in self.nodes[child] if n[0] == MUL and child not in n[1] and (n in self.own or not self.given)]
            out += map(self.find, products[0][1]) if products else [child]
        one = self.known.get((ONE, ()))
        out = [c for c in out if one is None or c != self.find(one)]
        for child in tuple(out):
            for _, (turned,) in [n for n in self.nodes[child] if n[0] == INV]:
                if child in out and self.find(turned) in out:
                    out.remove(child)
                    out.remove(self.find(turned))
        return tuple(sorted(out))

    def _free(self, node: Node) -> frozenset[str]:
        label, below = node
        inside = frozenset[str]().union(*(self.free[c] for c in below))
        match label:
            case Leaf(term):
                return variables(term) - self.sizes
            case Over(box=box):
                return (inside - box.names) | (box.outside - self.sizes)
            case ("app", "select", condition):
                return inside | (variables(condition) - self.sizes)
        return inside

    def union(self, a: int, b: int) -> bool:
        """Both are one value; whether that is new."""
        a, b = sorted((self.find(a), self.find(b)))
        if a == b:
            return False
        self.above[b] = a
        self.nodes[a].update(self.nodes.pop(b))
        self.free[a] &= self.free.pop(b)
        return True

    def rebuild(self) -> None:
        """Nodes of the same label on the same classes are one value."""
        again = True
        while again:
            again = False
            self.known = {}
            for one in tuple(self.nodes):
                if one not in self.nodes:
                    continue
                fresh: dict[Node, None] = {}
                for node in map(self.now, tuple(self.nodes[one])):
                    fresh[node] = None
                    other = self.known.setdefault(node, one)
                    if self.find(other) != self.find(one):
                        again = self.union(other, one) or again
                home = self.find(one)
                self.nodes[home] = {**(self.nodes[home] if home != one else {}), **fresh}

        self.own = set(map(self.now, self.own))

    def now(self, node: Node) -> Node:
        """A node on the classes that there are by now."""
        label, below = node[0], tuple(map(self.find, node[1]))
        return label, tuple(sorted(below)) if label == MUL else below

    def every(self) -> Iterator[tuple[int, Node]]:
        """Each class with each of its nodes, as they are now."""
        for one, nodes in tuple(self.nodes.items()):
            for node in tuple(nodes):
                yield one, node
