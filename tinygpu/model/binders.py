"""What is named in a tree, and small trees made of others.

Comes in: a part of a syntax tree. Goes out: the names that something in it declares, and how far what is indexed goes. The one idea: nothing
may hide anything, so of each name it is enough to know what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tinygpu.diagnostic import Span
from tinygpu.model.bulk import MOST_NODES
from tinygpu.record import fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.grammar import DEPTH
from tinygpu.syntax.node import Node, nodes


def binders(part: object) -> Iterator[tuple[str, str, Span]]:
    """What is named in a tree by anything but `let`: the name, what it is, and where."""
    for node in nodes(part):
        match node:
            case tree.TensorDecl(name, _, shape):
                yield name, "a tensor", node.span
                yield from ((size.name, "a size", size.span) for size in nodes(shape) if isinstance(size, tree.Name))
            case tree.Equation(targets):
                yield from ((target.name, "a tensor", target.span) for target in targets)
                places = (place for target in targets for place in map(tree.ranged, target.index))
                yield from ((place.name, "an index", place.span) for place in places if place is not None)
            case tree.View(name):
                yield name, "a view", node.span
            case tree.MonoidPart(names=tree.Group(items)):
                yield from ((one.name, "an argument", one.span) for one in items if isinstance(one, tree.Name))
            case tree.Binding(indices):
                yield from ((name, "an index", node.span) for name in indices)
            case tree.Own(_, factors) | tree.Level(factors=tree.Group(factors)):
                yield from ((one.name, "a factor", one.span) for one in factors if isinstance(one, tree.Name))
            case tree.Binder(name) | tree.Sized(name) | tree.For(name) | tree.Turn(name) | tree.Array(name) | tree.Param(name):
                kinds = {
                    tree.Binder: "an index",
                    tree.Sized: "a factor",
                    tree.For: "a loop",
                    tree.Turn: "a loop",
                    tree.Array: "an array",
                }
                yield name, kinds.get(type(node), "a param"), node.span


def below(part: object) -> Iterator[object]:
    """The nodes and lists right below a part of a tree."""
    values = part if isinstance(part, tuple) else (getattr(part, one.name) for one in fields(part))  # type: ignore[arg-type]
    return (value for value in values if isinstance(value, Node | tuple))


def both(left: tree.Expr | None, right: tree.Expr | None) -> tree.Expr | None:
    """Two conditions as one."""
    return tree.Binary("and", left, right, span=right.span) if left and right else left or right


def too_large(term: tree.Expr) -> str:
    """In what a term is larger than anybody writes; empty where it is not."""
    rest: list[tuple[object, int]] = [(term, 1)]
    count = 0
    while rest:
        part, depth = rest.pop()
        count += 1
        if count > MOST_NODES or depth > DEPTH:
            return f"more than {MOST_NODES} operations" if count > MOST_NODES else f"more than {DEPTH} levels"
        rest += [(one, depth + isinstance(part, Node)) for one in below(part)]
    return ""


def nest(loops: tree.Loops) -> tree.For:
    """Loops of one line in each other, the first one outermost."""
    first, *others = loops.turns
    body = (nest(replace(loops, turns=tuple(others))),) if others else loops.body
    return tree.For(first.name, first.extent, body, loops.sort, span=loops.span)


def flat(index: tree.Expr) -> tree.Expr:
    """An index, which is a whole number, as one sum: of two names that are sums, `(a + b) + (c - d)` as `a + b + c - d`."""
    match index:
        case tree.Binary("+" | "-" as op, left, tree.Binary("+" | "-" as inner, a, b)) if op == "+":
            return replace(index, op=inner, left=flat(replace(index, left=left, right=a)), right=b)
        case tree.Binary("+" | "-", left, _):
            return replace(index, left=flat(left))
    return index


def ranges(machine: tree.Machine, served: Iterable[tree.Op]) -> tuple[dict[str, set[tuple[tree.Expr, ...]]], dict[str, tree.Expr]]:
    """The shapes that an array of a machine has, and how far its factors and loops go."""
    shapes: dict[str, set[tuple[tree.Expr, ...]]] = {}
    extents: dict[str, tree.Expr] = {}
    for node in nodes((machine, *((op.inputs, op.outputs) for op in served))):
        match node:
            case tree.TensorDecl(name, _, shape) if shape is not None:
                shapes.setdefault(name, set()).add(shape)
            case tree.Array(_, name, _, shape):
                shapes.setdefault(name, set()).add(shape)
            case tree.Sized(name, extent) | tree.Turn(name, extent) | tree.For(name, extent) if extent is not None:
                extents[name] = extent
    return shapes, extents


def standing(term: tree.Expr, at: Span) -> tree.Expr:
    """The term of a name, at the place where the name stands."""
    return replace(term, span=replace(at, origin=term.span))
