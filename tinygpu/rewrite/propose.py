"""What is equal to an op and cheaper, as text.

    op ─read→ graph ─laws→ graph ─cheapest→ a node a class ─written→ .tgpu text          nothing here is believed: who asked has the text proved

Comes in: an op, and sizes. Goes out: a `Found`, or nothing where the op itself is as cheap as any. The one idea: the laws are few and know nothing of each other, and what they find together is chosen by
what it costs at these sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial

from tinygpu.algebra.polynomial import Unfollowed
from tinygpu.model.op import Op
from tinygpu.record import dataclass
from tinygpu.rewrite.cost import READ, cost, goes_through
from tinygpu.rewrite.extract import Chosen, cheapest
from tinygpu.rewrite.graph import Graph, Node, Over
from tinygpu.rewrite.read import Reader
from tinygpu.rewrite.rules import LIMIT, saturate, tupled
from tinygpu.rewrite.written import Writer

Told = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Price:
    """What a way to compute an op costs: operations, points that folds go through, and folds."""

    operations: int
    points: int
    folds: int

    def __str__(self) -> str:
        return f"{self.operations:.3g} operations, {self.points:.3g} points in {self.folds} fold{'s' * (self.folds != 1)}"


@dataclass(frozen=True, slots=True)
class Found:
    """Another op: its name and text, what it costs and what the first one does, and whether nothing cheaper is in the graph, whose laws are used up or not."""

    name: str
    text: str
    before: Price
    after: Price
    exact: bool
    complete: bool
    nodes: int


def propose(
    op: Op, sizes: Mapping[str, int], taken: Collection[str], told: Told = lambda _: None, limit: int = LIMIT
) -> Found | None:
    """`op → Found`; None where nothing is cheaper. Raises Unfollowed for an op that has values which no law speaks of."""
    if op.states:
        raise Unfollowed("an op that is defined by induction")
    reader = Reader(op, sizes, Graph(frozenset(op.sizes)))
    reader.outputs()
    graph = reader.graph
    graph.given = False
    complete = saturate(graph, lambda turn, nodes: told(f"laws, round {turn + 1}: {nodes} nodes"), limit)
    told(f"the cheapest of {len(graph)} nodes")
    found, exact = cheapest(graph, reader.roots.values(), partial(cost, reader), partial(stable, graph))
    before, after = as_it_is(op, sizes), priced(reader, found)
    if total(after) >= total(before):
        return None
    writer = Writer(reader, found, "", set(taken))
    writer.name = writer.fresh(f"{op.family}_found")
    return Found(writer.name, writer.text(), before, after, exact, complete, len(graph))


def as_it_is(op: Op, sizes: Mapping[str, int]) -> Price:
    """What the op itself costs, when folds that need one another in nothing are done side by side."""
    reader = Reader(op, sizes, Graph(frozenset(op.sizes)), laws=False)
    reader.outputs()
    tupled(reader.graph)
    reader.graph.rebuild()
    return priced(reader, cheapest(reader.graph, reader.roots.values(), partial(cost, reader), lambda _: True)[0])


def stable(graph: Graph, node: Node) -> bool:
    """Whether a node is none that may be infinite where the op itself is not: an exponential of what nobody took a maximum off."""
    label, below = node
    return (
        label != ("app", "exp")
        or graph.now(node) in graph.own
        or any(n[0] == ("app", "sub") for n in graph.nodes[graph.find(below[0])])
    )


def priced(reader: Reader, chosen: Chosen) -> Price:
    """What is chosen costs together."""
    points = sum(reader.points(names) for one, node in chosen.items() for names in set(goes_through(reader, node)))
    whole = sum(cost(reader, one, node) for one, node in chosen.items())
    folds = sum(isinstance(label, Over) for label, _ in chosen.values())
    return Price(whole - READ * points - folds, points, folds)


def total(price: Price) -> int:
    """What is compared."""
    return price.operations + READ * price.points + price.folds
