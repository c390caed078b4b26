"""What is named in a tree, and small trees made of others.

Comes in: a part of a syntax tree. Goes out: the names that something in it declares, and how far what is indexed goes. The one idea: nothing
may hide anything, so of each name it is enough to know what it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

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
            case tree.Cells(names):
                yield from ((name, "an index", node.span) for name in names)
            case tree.Binding(indices):
                yield from ((name, "an index", node.span) for name in indices)
            case tree.Own(_, factors) | tree.Level(factors=tree.Group(factors)):
                yield from ((one.name, "a factor", one.span) for one in factors if isinstance(one, tree.Name))
            case (
                tree.Binder(name)
                | tree.Sized(name)
                | tree.For(name)
                | tree.Turn(name)
                | tree.Array(_, name)
                | tree.Fragment(name)
                | tree.Param(name)
            ):
                kinds = {
                    tree.Binder: "an index",
                    tree.Sized: "a factor",
                    tree.For: "a loop",
                    tree.Turn: "a loop",
                    tree.Array: "an array",
                    tree.Fragment: "an array",
                }
                yield name, kinds.get(type(node), "a param"), node.span


def wholes(part: object) -> Iterator[tree.Name]:
    """Where a tree names an op, or what else is called as a whole, which is no term."""
    for node in nodes(part):
        match node:
            case tree.Machine(ops=ops, via=via):
                yield from (n for n in (*ops, via) if n is not None)
            case tree.Op(parts=several):
                yield from several
            case tree.Theorem(_, left, right):
                yield from (left, right)
            case tree.Gradient(op, by):
                yield from (op, *by)
            case tree.Choice(op=op, branches=branches):
                yield from (op, *(b.machine for b in branches))
            case tree.Turned(op=op, by=by):
                yield from (n for n in (op, by) if n is not None)
            case tree.Scheme(op=op):
                yield op


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


def in_array(
    index: tuple[tree.Expr, ...], shape: tuple[tree.Expr, ...], extents: Mapping[str, tree.Expr], sizes: Collection[str]
) -> tree.Expr | None:
    """Where a cell is one of its array, as far as that is not sure; None where it always is. `extents` is how far names go."""

    def natural(node: object) -> bool:
        """Whether a part of an index is never negative where those below it are not."""
        if isinstance(node, tree.Name):
            return node.name in extents or node.name in sizes
        return isinstance(node, tree.Number | tree.Group) or (isinstance(node, tree.Binary) and node.op in ("+", "*", "//", "%"))

    found: tree.Expr | None = None
    for place, extent in zip(index, shape, strict=False):
        if isinstance(place, tree.Name) and extents.get(place.name) == extent:
            continue
        if isinstance(place, tree.Number) and isinstance(extent, tree.Number) and place.value < extent.value:
            continue
        if not all(map(natural, nodes(place))):
            found = both(found, tree.Binary("<=", tree.Number("0"), place, span=place.span))
        found = both(found, tree.Binary("<", place, extent, span=place.span))
    return found


def boxed(copy: tree.Copy, shapes: Mapping[str, Collection[tuple[tree.Expr, ...]]]) -> tuple[tree.Copy, dict[str, tree.Expr]]:
    """A copy with the ranges of its left side in its `box`, and how far each name there goes: as it says, or as the array that it stands at.

    >>> from tinygpu.syntax.parse import parse
    >>> file = parse("machine m : f { program { copy s[r < 64, c] = x[r, c] } }")
    >>> copy, found = boxed(file.declarations[0].clauses[0].body[0], {"s": [(tree.Number("128"), tree.Number("16"))]})
    >>> copy.step.target.index, [str(one.name) for one in copy.box], found
    ((Name(name='r'), Name(name='c')), ['r'], {'r': Number(text='64'), 'c': Number(text='16')})
    """
    target = copy.step.target
    places = [tree.ranged(place) for place in target.index]
    box = tuple(tree.Turn(p.name, p.bound, span=p.span) for p in places if p and p.bound is not None and p.relation == "<")
    plain = {one.name: tree.Name(one.name, span=one.span) for one in box}
    index = tuple(plain.get(p.name, i) if p and p.relation == "<" else i for p, i in zip(places, target.index, strict=True))
    shape = next(iter(shapes.get(target.name, ())), ())
    found = {p.name: extent for p, extent in zip(places, shape, strict=False) if p}
    found |= {one.name: one.extent for one in box}
    return replace(copy, step=replace(copy.step, target=replace(target, index=index)), box=(*copy.box, *box)), found
