"""How long a state is: as far as the outputs read it, or as what goes on together with it.

    y[i] = u[T, i]        says        u[t, i] has t ≤ T

Comes in: the tree of an op, and the name of a state. Goes out: its extent along time. The one idea: of the two equations of a state neither knows how often
the step is taken; whoever reads it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tinygpu.category.linear import as_written, plus, polynomial
from tinygpu.category.term import Term
from tinygpu.diagnostic import Span
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.ranges import most, used
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes

TOGETHER = " together"  # no name: what goes on together is as long


@dataclass(frozen=True, slots=True)
class Part:
    """One of the two equations of a state: at which `place` of its index stands the time, and its name there, `""` where it is 0."""

    place: int
    time: str
    span: Span

    def without(self, target: tree.Cell) -> tree.Cell:
        """The left side without the time."""
        return replace(target, index=(*target.index[: self.place], *target.index[self.place + 1 :]))

    def timeless(self, name: str, node: Any) -> Any:
        """A cell of the state without the time; anything else as it is."""
        return self.without(node) if isinstance(node, tree.Cell) and node.name == name and self.place < len(node.index) else node

    def bare(self, target: tree.Cell) -> tree.Cell:
        """The left side of a step, at `t`."""
        at = target.index[self.place]
        assert isinstance(at, tree.Binary)
        return replace(target, index=(*target.index[: self.place], at.left, *target.index[self.place + 1 :]))


def part(target: tree.Cell) -> Part | None:
    """What a left side defines of a state; None where it is an ordinary one.

    >>> from tinygpu.syntax.parse import parse
    >>> op = parse("op f(x: f32[n]) -> (y: f32[n]) where T >= 0 { u[0, i] = x[i]\\n u[t + 1, i] = u[t, i]\\n y[i] = u[T, i] }").declarations[0]
    >>> [p and (p.place, p.time) for e in op.equations for p in [part(e.targets[0])]]
    [(0, ''), (0, 't'), None]
    """
    for place, at in enumerate(target.index):
        match at:
            case tree.Number("0"):
                return Part(place, "", at.span)
            case tree.Binary("+", tree.Name(name), tree.Number("1")):
                return Part(place, name, at.span)
    return None


def definitions(op: tree.Op) -> Iterator[tree.Equation]:
    """The equations that say what something is."""
    yield from (e for e in op.equations if isinstance(e, tree.Equation))


def length(name: str, place: int, op: tree.Op, scope: Scope, around: frozenset[str] = frozenset()) -> Term | None:
    """How long a state is: one more than the latest time at which an output reads it, or else the step of another state; None where none does."""
    found: Term | None = None
    for equation, target in ((e, t) for e in definitions(op) for t in e.targets):
        axes = ranges(target, op, scope, around | {name})
        quiet = replace(scope.with_indices(axes), problems=Problems())
        for cell in (c for c in nodes(equation.value) if isinstance(c, tree.Cell) and c.name == name and place < len(c.index)):
            at = index(cell.index[place], quiet)
            last = None if at.dtype == UNKNOWN else most(polynomial(at), axes)
            found = found if last is None else longer(as_written(last) + 1, longer(found, axes.get(TOGETHER)))
    return found


def longer(a: Term | None, b: Term | None) -> Term | None:
    """The longer one of two, where that is seen: sizes are not negative.

    >>> from tinygpu.category.term import Var
    >>> n = Var("n")
    >>> longer(n + 1, n * 2 + 1) == longer(n * 2 + 1, n + 1) == n * 2 + 1
    True
    """
    if a is None or b is None:
        return b if a is None else a
    return a if min(plus(polynomial(a), polynomial(b), -1).values(), default=0) >= 0 else b


def ranges(target: tree.Cell, op: tree.Op, scope: Scope, around: frozenset[str]) -> dict[str, Term]:
    """The indices of a left side whose extents are known before it is read: all of an output's, the time of a state's step, and its length."""
    output, one = scope.tensors.get(target.name), part(target)
    if one is not None and one.time and target.name not in around:
        end = length(target.name, one.place, op, scope, around)
        return {one.time: as_written(polynomial(end - 1)), TOGETHER: end} if end is not None else {}
    if output is not None and output.role == "output":
        pairs = zip(target.index, output.shape, strict=True) if len(output.shape) == len(target.index) else ()
        return {n.name: e for n, e in pairs if isinstance(n, tree.Name)}
    if one is not None:
        return {}
    found: dict[str, Term] = {}  # an intermediate is as long as is written, or as the output that reads it there
    quiet, later = replace(scope, problems=Problems()), tuple(definitions(op))
    for at, own in enumerate(map(tree.ranged, target.index)):
        read = next(used(target.name, at, later, scope), None)
        if own is not None and own.bound is not None:
            found[own.name] = index(own.bound, quiet) + int(own.relation == "<=")
        elif own is not None and read is not None:
            found[own.name] = read.extent
    return found
