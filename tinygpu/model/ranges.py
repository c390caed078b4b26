"""Over what an index runs: the extent of the axes that it stands at bare, else as far as the reads that it stands in stay inside.

Comes in: an expression and the name of an index. Goes out: the extent, or a message where there is none or two.
The one idea: a plain read decides; a read in a branch of a condition decides only where no plain one does, a padded read last. Where an index
stands bare nowhere, a read at `c*i + rest` tells that i is below `(extent - most of rest) / c`; where none tells, an intermediate is as long as
the output whose equation reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from tinygpu.category.linear import ONE, Polynomial, as_written, divide, plus, polynomial, scaled, stride, times
from tinygpu.category.term import TRUE, App, Const, Fold, Read, Term, children, text, variables
from tinygpu.diagnostic import Span
from tinygpu.model.extent import difference, same
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import Scope
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import Node, nodes, parts

PLAIN, BRANCH, PADDED, ILL = range(4)
Elaborate: TypeAlias = Callable[[tree.Expr, Scope], Term]
Later: TypeAlias = Sequence[tree.Equation | tree.View]  # the equations below one
Extents: TypeAlias = Mapping[str, Term | None]


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An index, bare, at an axis of a tensor; `strength` is PLAIN, BRANCH (under a condition), PADDED (with a fill) or ILL (no such cell).

    `cell` is the read that it is in; the left side of an equation is none.
    """

    extent: Term
    span: Span
    tensor: str
    strength: int
    cell: tree.Cell | None = None


def occurrences(expr: Any, name: str, scope: Scope, strength: int = PLAIN) -> Iterator[Occurrence]:
    """Every place where `name` stands bare at an axis, in the order of the text."""
    inside: list[tuple[Any, int]]
    match expr:
        case tree.IfElse(a, c, b) | tree.Call("where", (c, a, b)):
            inside = [(c, strength), (a, max(strength, BRANCH)), (b, max(strength, BRANCH))]
        case tree.FoldExpr(_, (tree.Binder(own, _, tree.Name(end)),), body, prefix=True) if end == name:  # as far as its terms go
            inside, name = [(body, max(strength, BRANCH))], own
        case tree.FoldExpr(_, binders, _) if name in (b.name for b in binders):  # another one of that name
            inside = [(binders, strength)]
        case tuple():
            inside = [(one, strength) for one in expr]
        case _:
            yield from _in_cell(expr, name, scope, strength) if isinstance(expr, tree.Cell) else ()
            inside = [(one, strength) for one in parts(expr) if isinstance(one, Node | tuple)]
    for one, how in inside:
        yield from occurrences(one, name, scope, how)


def _in_cell(cell: tree.Cell, name: str, scope: Scope, strength: int) -> Iterator[Occurrence]:
    tensor = scope.tensors.get(cell.name)
    if tensor is None or len(tensor.shape) != len(cell.index):
        yield Occurrence(Const(0, UNKNOWN), cell.span, cell.name, ILL, cell)
        return
    for place, extent in zip(cell.index, tensor.shape, strict=True):
        if isinstance(place, tree.Name) and place.name == name:
            yield Occurrence(extent, place.span, cell.name, PADDED if cell.fill else strength, cell)


def reached(name: str, body: tree.Expr, scope: Scope, value: Elaborate) -> Iterator[Occurrence]:
    """How far each read of `body` lets `name` go where it is no read at `name` alone; none where a condition decides whether it is made."""
    shapes = {tensor.name: tensor.shape for tensor in scope.tensors.values()}
    quiet = replace(scope.with_indices({name: None}), problems=Problems())
    for item in body.items if isinstance(body, tree.Group) else (body,):
        for read, extents in _reads(value(item, quiet), scope.indices):
            for place, extent in zip(read.index, shapes[read.tensor], strict=True):
                if extent.dtype == UNKNOWN and name in variables(place):
                    yield Occurrence(extent, read.span, read.tensor, PLAIN)
                    continue
                while isinstance(place, App) and place.op == "floordiv":  # a // n is below E where a is below E·n
                    place, by = place.args
                    extent = extent * by
                pace, rest = stride(polynomial(place), name)
                if pace and max(pace.values()) < 0:  # as far from the end as the other way round from the start
                    pace, rest = scaled(pace, -1), plus(polynomial(extent - 1), rest, -1)
                far = most(rest, extents)
                if pace and min(pace.values()) > 0 and far is not None:
                    room = plus(polynomial(extent), far, -1)
                    whole, left = divide(plus(plus(room, pace), ONE, -1), pace)
                    told = as_written(whole) + (as_written(left) // as_written(pace) if left else 0)
                    yield Occurrence(told, read.span, read.tensor, PLAIN)


def _reads(term: Term, extents: Extents) -> Iterator[tuple[Read, Extents]]:
    """The reads that are made wherever the term is asked for, and how far the indices around each go."""
    match term:
        case App("select"):
            return
        case Fold(_, axes, guard, body):
            extents = {**extents, **{axis.name: axis.extent for axis in axes}}
            yield from _reads(body, extents) if guard == TRUE else ()
            return
        case Read() if term.tensor:
            yield term, extents
    for part in children(term):
        yield from _reads(part, extents)


def most(p: Polynomial, extents: Extents) -> Polynomial | None:
    """The largest value of a polynomial over some indices, each multiplied by sizes only; None where it is not seen."""
    for name in sorted({name for monomial in p for atom in monomial for name in variables(atom)} & {*extents}):
        extent, (pace, rest) = extents[name], stride(p, name)
        signs = {c > 0 for c in pace.values()} if pace else set()
        if pace is None or extent is None or len(signs) > 1:
            return None
        p = plus(rest, times(pace, polynomial(extent - 1))) if signs == {True} else rest
    return p


def used(tensor: str, at: int, equations: Later, scope: Scope) -> Iterator[Occurrence]:
    """What the equations after it tell of an axis of an intermediate that they read at a bare index of theirs: the extent of the output's axis."""
    for place, equation in enumerate(equations):
        folded = {binder.name for fold in nodes(equation) if isinstance(fold, tree.FoldExpr) for binder in fold.binders}
        for cell in nodes(equation.value) if isinstance(equation, tree.Equation) else ():
            index = cell.index[at] if isinstance(cell, tree.Cell) and cell.name == tensor and at < len(cell.index) else None
            if isinstance(index, tree.Name) and index.name not in folded:
                for target in equation.targets:
                    output = scope.tensors.get(target.name)
                    for axis, own in enumerate(map(tree.ranged, target.index)):
                        if own is None or own.name != index.name:
                            continue
                        if output is not None and axis < len(output.shape):
                            yield Occurrence(output.shape[axis], index.span, target.name, PLAIN)
                        elif output is None:
                            yield from used(target.name, axis, equations[place + 1 :], scope)


def inferred(
    name: str,
    span: Span,
    body: tree.Expr,
    scope: Scope,
    value: Elaborate,
    later: Iterable[Occurrence] = (),
    said: str = "TG113.bound",
) -> Term | None:
    """The extent that the reads of `body` give to `name`, or those of a condition or of `later` equations; None after a message."""
    found = list(occurrences(body, name, scope)) or list(reached(name, body, scope, value)) or list(later)
    strongest = [o for o in found if o.strength == min((o.strength for o in found), default=PLAIN)]
    if not strongest:
        scope.problems.say(said, span, name=name)
        return None
    first = strongest[0]
    if first.strength == ILL and first.cell is not None:
        if (tensor := scope.tensor(first.tensor, first.span)) is not None:
            scope.wrong_rank(tensor, len(first.cell.index), first.span)
        return None
    if any(o.extent.dtype == UNKNOWN for o in strongest):
        return None  # said already
    for other in strongest[1:]:
        if not same(first.extent, other.extent):
            _two(name, first, other, scope)
            return None
    return first.extent


def checked(name: str, extent: Term, span: Span, tensor: str, body: tree.Expr, scope: Scope) -> None:
    """Says where `body` reads an axis at the bare `name` that is not as long as `extent` (an axis longer by a constant is no mistake)."""
    for other in occurrences(body, name, scope):
        longer = difference(other.extent, extent)
        if other.strength == PLAIN and other.extent.dtype != UNKNOWN and (longer is None or longer < 0):
            _two(name, Occurrence(extent, span, tensor, PLAIN), other, scope)
            return


def _two(name: str, first: Occurrence, second: Occurrence, scope: Scope) -> None:
    turned = swapped(second, first.extent, scope) or swapped(first, second.extent, scope)
    longer, both = difference(first.extent, second.extent), (first.extent, second.extent)
    less = min(both, key=lambda extent: len(text(extent))) if longer is None else both[longer > 0]
    words = {
        "name": name,
        "a": first.extent,
        "b": second.extent,
        "first": first.tensor,
        "second": second.tensor,
        "turned": turned,
        "less": less,
    }
    scope.problems.say("TG112.swapped" if turned else "TG112.reads", second.span, first.span, **words)


def swapped(here: Occurrence, extent: Term, scope: Scope) -> str:
    """Says so where another axis of the read has that extent, and the two indices would fit the other way round."""
    if here.cell is None or not all(isinstance(place, tree.Name) for place in here.cell.index):
        return ""
    names = [place.name for place in here.cell.index if isinstance(place, tree.Name)]
    shape = scope.tensors[here.cell.name].shape
    at = next(n for n, place in enumerate(here.cell.index) if place.span == here.span)
    others = [n for n, other in enumerate(shape) if n != at and names[n] != names[at] and same(other, extent)]
    if len(others) != 1:
        return ""
    (to,) = others
    turned = list(names)
    turned[at], turned[to] = names[to], names[at]
    return f"{names[at]} and {names[to]} look swapped: write {here.cell.name}[{', '.join(turned)}]"
