"""The laws that a search may use, as data: what is found, and what it is equal to.

Comes in: a graph. Goes out: the same graph with what is equal put together, until nothing is new or the limit is reached. The one idea: a law is two patterns, in which `k`, `f`, `h` stand for
any value, folds of one law go through one box, and a product is of any number of factors in any order. No law says softmax; none of them is believed, since what comes out is proved.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TypeAlias

from tinygpu.category.deadline import look
from tinygpu.record import dataclass
from tinygpu.rewrite.graph import INV, MUL, Box, Graph, Node, Over

Bound: TypeAlias = Mapping[str, int]
ROUNDS = 12
LIMIT = 400  # nodes


@dataclass(frozen=True, slots=True)
class Rule:
    """`left = right`. What is `apart` does not speak of the indices of the box; what is `bare` is no difference."""

    name: str
    left: str
    right: str
    apart: str = ""
    bare: str = ""


RULES = (
    Rule("linear", "sum(k * f)", "k * sum(f)", apart="k"),
    Rule("stabilised", "sum(exp(h) * f)", "exp(max(h)) * sum(exp(h - max(h)) * f)", bare="h"),
    Rule("semidirect", "sum(exp(h - max(h)) * f)", "weighted(h, f)"),
)


def saturate(graph: Graph, told: Callable[[int, int], None] = lambda *_: None, limit: int = LIMIT) -> bool:
    """Uses every law wherever it can be used; whether nothing is left that is new. `told` hears of each round and of how many nodes there are."""
    for turn in range(ROUNDS):
        look()
        told(turn, len(graph))
        new = False
        for rule in RULES:
            for found, bound, box in tuple(matches(graph, rule)):
                new = graph.union(found, build(graph, parsed(rule.right), bound, box)) or new
            graph.rebuild()
        for joined in (tupled, cancelled):
            new = joined(graph) or new
            graph.rebuild()
        if not new:
            return True
        if len(graph) > limit:
            return False
    return False


def matches(graph: Graph, rule: Rule) -> Iterator[tuple[int, Bound, Box]]:
    """Where the left side of a law stands: the class, what its letters are, and the box."""
    for one, (label, _) in graph.every():
        if isinstance(label, Over) and not label.weighted and len(label.kinds) == 1:
            for bound in match(graph, parsed(rule.left), one, {}, label.box):
                apart = rule.apart and graph.free[graph.find(bound[rule.apart])] & label.box.names
                plain = rule.bare and any(n[0] == ("app", "sub") for n in graph.nodes[graph.find(bound[rule.bare])])
                if not apart and not plain:
                    yield one, bound, label.box


@cache
def parsed(pattern: str) -> ast.expr:
    """A pattern is an expression of Python."""
    return ast.parse(pattern, mode="eval").body


def match(graph: Graph, pattern: ast.expr, one: int, bound: Bound, box: Box) -> Iterator[Bound]:
    """What the letters of a pattern may be, so that it is a value of this class."""
    one = graph.find(one)
    match pattern:
        case ast.Name(letter):
            if graph.find(bound.get(letter, one)) == one:
                yield {**bound, letter: one}
        case ast.BinOp(first, ast.Mult(), ast.Name(rest)):
            yield from _product(graph, first, rest, one, bound, box)
        case ast.BinOp(first, ast.Sub(), second):
            yield from _all(graph, ("app", "sub"), [first, second], one, bound, box)
        case ast.Call(ast.Name("sum" | "max" as kind), [body]):
            yield from _all(graph, Over((kind,), box), [body], one, bound, box)
        case ast.Call(ast.Name(name), arguments):
            yield from _all(graph, ("app", name), arguments, one, bound, box)


def _all(graph: Graph, label: object, parts: list[ast.expr], one: int, bound: Bound, box: Box) -> Iterator[Bound]:
    for own, below in tuple(graph.nodes[one]):
        if own == label and len(below) == len(parts):
            found: list[Bound] = [bound]
            for part, child in zip(parts, below, strict=True):
                found = [more for b in found for more in match(graph, part, child, b, box)]
            yield from found


def _product(graph: Graph, first: ast.expr, rest: str, one: int, bound: Bound, box: Box) -> Iterator[Bound]:
    """A product of one factor, or of all that are apart from the box, and the others."""
    ways = [below for label, below in tuple(graph.nodes[one]) if label == MUL]
    if isinstance(first, ast.Name):
        for below in ways or [(one,)]:
            apart = [c for c in below if not graph.free[graph.find(c)] & box.names]
            if apart:
                others = [c for c in below if c not in apart]
                yield {**bound, first.id: graph.add(MUL, *apart), rest: graph.add(MUL, *others)}
        return
    for below in (*ways, (one,)):
        for place, child in enumerate(below):
            for found in match(graph, first, child, bound, box):
                yield {**found, rest: graph.add(MUL, *below[:place], *below[place + 1 :])}


def build(graph: Graph, pattern: ast.expr, bound: Bound, box: Box) -> int:
    """The class of a pattern."""
    match pattern:
        case ast.Name(letter):
            return graph.find(bound[letter])
        case ast.BinOp(a, ast.Mult(), b):
            return graph.add(MUL, build(graph, a, bound, box), build(graph, b, bound, box))
        case ast.BinOp(a, ast.Sub(), b):
            return graph.add(("app", "sub"), build(graph, a, bound, box), build(graph, b, bound, box))
        case ast.Call(ast.Name("sum" | "max" as kind), [body]):
            return graph.add(Over((kind,), box), build(graph, body, bound, box))
        case ast.Call(ast.Name("weighted"), [h, f]):
            whole = graph.add(Over(("max", "sum"), box, weighted=True), build(graph, h, bound, box), build(graph, f, bound, box))
            return graph.add(("part", "1"), whole)
        case ast.Call(ast.Name(name), arguments):
            return graph.add(("app", name), *(build(graph, a, bound, box) for a in arguments))
    raise ValueError(ast.dump(pattern))


# ── folds side by side ─────────────────────────────────────────────────────────────────────────────────────────────


def tupled(graph: Graph) -> bool:
    """All folds through one box that need one another in nothing, as one; those that are weighted by the same maximum, as one, with the maximum. So many are there as are
    asked for: a law that made each pair of them would never end."""
    new = False
    for (box, h), members in _groups(graph).items():
        each = sorted(members)
        if h is None:
            whole = graph.add(Over(tuple(kind for kind, _ in each), box), *(body for _, body in each))
        else:
            whole = graph.add(Over(("max", *(kind for kind, _ in each)), box, weighted=True), h, *(f for _, f in each))
            new = graph.union(graph.add(Over(("max",), box), h), graph.add(("part", "0"), whole)) or new
        for place, member in enumerate(each, h is not None):
            new = graph.union(members[member], graph.add(("part", str(place)), whole)) or new
    return new


def cancelled(graph: Graph) -> bool:
    """Products in products, and what divides one, factor by factor: there `a / a` goes away."""
    new = False
    for one, (label, below) in graph.every():
        if label == MUL:
            new = graph.union(one, graph.add(MUL, *below)) or new
        elif label == INV and any(inner == MUL for inner, _ in graph.nodes[graph.find(below[0])]):
            new = graph.union(one, inverse(graph, below[0])) or new
    return new


def _groups(graph: Graph) -> dict[tuple[Box, int | None], dict[tuple[str, int], int]]:
    """What is done together, by the box and by the maximum that it is weighted by: of each kind and body the class. What needs a fold through the box is left out."""
    found: dict[tuple[Box, int | None], dict[tuple[str, int], int]] = {}
    for one, (label, below) in graph.every():
        match label:
            case Over(box=box, weighted=True) if len(below) == 2:
                h, f = map(graph.find, below)
                if depth(graph, f, box) == 0:
                    found.setdefault((box, h), {})["sum", f] = graph.add(("part", "1"), one)
            case Over((kind,), box):
                (body,) = map(graph.find, below)
                if depth(graph, body, box) == 0:
                    found.setdefault((box, None), {})[kind, body] = one
    return {key: members for key, members in found.items() if len(members) > (key[1] is None)}


def depth(graph: Graph, one: int, box: Box) -> int:
    """How many folds through a box stand inside of each other in a value, as it needs the fewest."""
    known: dict[int, int] = {}

    def least(one: int) -> int:
        one = graph.find(one)
        if one not in known:
            known[one] = ROUNDS  # of what needs itself
            known[one] = min((deep(n) for n in graph.nodes[one]), default=0)
        return known[one]

    def deep(node: Node) -> int:
        label, below = node
        inner = max(map(least, below), default=0)
        return inner + (isinstance(label, Over) and label.box == box)

    return least(one)


def inverse(graph: Graph, one: int) -> int:
    """`1 / a`; of a product factor by factor, of what divides itself."""
    one = graph.find(one)
    products = [n[1] for n in graph.nodes[one] if n[0] == MUL and one not in n[1] and (n in graph.own or not graph.given)]
    return graph.add(MUL, *(_turned(graph, c) for c in products[0])) if products else _turned(graph, one)


def _turned(graph: Graph, one: int) -> int:
    undone = [below[0] for label, below in graph.nodes[graph.find(one)] if label == INV]
    return graph.find(undone[0]) if undone else graph.add(INV, one)
