"""The cheapest way to compute some classes of a graph: of each class that is needed one node, and a value that is needed twice is computed once.

    minimize  Σ cost of the nodes that are used        of each class that is needed one node is used; what it needs is needed; nothing needs itself

Comes in: a graph, the classes that are wanted, and what a node costs. Goes out: a node for each class that is needed. The one idea: it is exact, since sharing decides here: a maximum that three sums
read is one pass. With too many nodes for that, each class takes the node that is cheapest by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import z3

from tinygpu.category.deadline import left
from tinygpu.rewrite.graph import Graph, Node

EXACT = 300  # nodes
SECONDS = 8.0  # for the solver
Chosen = Mapping[int, Node]
Cost = Callable[[int, Node], int]


def cheapest(graph: Graph, roots: Iterable[int], cost: Cost, allowed: Callable[[Node], bool]) -> tuple[Chosen, bool]:
    """A node of each class that is needed, and whether there is no cheaper way."""
    roots = [graph.find(r) for r in roots]
    ways = {one: [n for n in nodes if allowed(n)] for one, nodes in graph.nodes.items()}
    greedy = _greedy(graph, ways, cost)
    needed = _below(graph, roots, ways)
    if sum(len(ways[one]) for one in needed) <= EXACT:
        found = _exact(graph, roots, {one: ways[one] for one in needed}, cost)
        if found is not None:
            return found, True
    return _reached(graph, roots, greedy), False


def _below(graph: Graph, roots: list[int], ways: Mapping[int, list[Node]]) -> dict[int, None]:
    """The classes that may be needed."""
    met: dict[int, None] = {}
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if one not in met:
            met[one] = None
            waiting += [graph.find(c) for _, below in ways[one] for c in below]
    return met


def _greedy(graph: Graph, ways: Mapping[int, list[Node]], cost: Cost) -> Chosen:
    """Of each class the node that is cheapest with all that it needs, which is counted again wherever it is needed."""
    best: dict[int, tuple[int, Node]] = {}
    again = True
    while again:
        again = False
        for one, nodes in ways.items():
            for node in nodes:
                below = [graph.find(c) for c in node[1]]
                if all(c in best for c in below):
                    total = cost(one, node) + sum(best[c][0] for c in below)
                    if one not in best or total < best[one][0]:
                        best[one], again = (total, node), True
    return {one: node for one, (_, node) in best.items()}


def _reached(graph: Graph, roots: list[int], chosen: Chosen) -> Chosen:
    met: dict[int, Node] = {}
    waiting = list(roots)
    while waiting:
        one = graph.find(waiting.pop())
        if one not in met:
            met[one] = chosen[one]
            waiting += chosen[one][1]
    return met


def _exact(graph: Graph, roots: list[int], ways: Mapping[int, list[Node]], cost: Cost) -> Chosen | None:
    """By the solver; None where it takes too long."""
    solver = z3.Optimize()
    solver.set("timeout", int(1000 * min(SECONDS, left())))
    needed = {one: z3.Bool(f"needed {one}") for one in ways}
    level = {one: z3.Int(f"level {one}") for one in ways}
    used = {(one, n): z3.Bool(f"used {one} {n}") for one, nodes in ways.items() for n in range(len(nodes))}
    for one, nodes in ways.items():
        solver.add(z3.Implies(needed[one], z3.Or([used[one, n] for n in range(len(nodes))])))
        for n, (_, below) in enumerate(nodes):
            for child in {graph.find(c) for c in below}:
                solver.add(z3.Implies(used[one, n], z3.And(needed[child], level[one] > level[child])))
    solver.add(*(needed[root] for root in roots))
    solver.minimize(z3.Sum([z3.If(flag, cost(one, ways[one][n]), 0) for (one, n), flag in used.items()]))
    if solver.check() != z3.sat:
        return None
    model = solver.model()
    chosen = {one: ways[one][n] for (one, n), flag in used.items() if z3.is_true(model.eval(flag))}
    return _reached(graph, roots, chosen)
