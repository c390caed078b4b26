"""Names of two ops that become one: sizes that are told, values in between, and what is called alike.

Comes in: an op, and one that takes what it gives. Goes out: the sizes of the second as extents, and new names for what stands between. The one
idea: what is taken and given is public and keeps its name; everything else gives way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from tinygpu.category.text import claimed
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_expr
from tinygpu.syntax.node import nodes, rewritten

T = TypeVar("T")
NAMED = tree.Name | tree.Cell | tree.TensorDecl | tree.Binder | tree.View | tree.Naming


@dataclass(slots=True)
class Extents:
    """What the sizes of an op are where it takes what another one gives; `pairs` are extents with what is there, `constants` are no sizes."""

    constants: set[str]
    sizes: dict[str, tree.Expr] = field(default_factory=dict)
    pairs: list[tuple[tree.Expr, tree.Expr]] = field(default_factory=list)

    def are(self, wanted: Iterable[tree.Expr], given: Iterable[tree.Expr]) -> None:
        """An input's extents are those that are given."""
        for extent, there in zip(wanted, given, strict=True):
            self.pairs.append((extent, there))
            if isinstance(extent, tree.Name) and extent.name not in self.constants:
                self.sizes.setdefault(extent.name, there)

    def rest(self, known: set[str]) -> None:
        """The other sizes of those inputs are the op's own; none of them has a name that is known."""
        names = [n for wanted, _ in self.pairs for n in nodes(wanted) if isinstance(n, tree.Name) and n.name not in self.constants]
        for one in names:
            self.sizes.setdefault(one.name, replace(one, name=claimed(one.name, known, "")))

    def put(self, part: T) -> T:
        """A part of the op with its sizes put in."""
        return rewritten(part, lambda n: self.sizes.get(n.name, n) if isinstance(n, tree.Name) else n)

    @property
    def where(self) -> Iterator[tree.Expr]:
        """That the other extents are equal, too."""
        for extent, there in self.pairs:
            if (wanted := self.put(extent)) != there:
                yield tree.Binary("==", wanted, there, span=extent.span)


def named(*parts: object) -> set[str]:
    """What has a name in parts of a tree: tensors, sizes, indices."""
    return {n.name for n in nodes(parts) if isinstance(n, NAMED)}


def inner(op: tree.Op) -> dict[str, str]:
    """The names that are an op's own: its intermediates, views and lets."""
    outputs = {t.name for t in op.outputs}
    targets = (t.name for line in op.equations if isinstance(line, tree.Equation | tree.View) for t in line.targets)
    return {
        name: name
        for name in (*targets, *(n.name for n in nodes(op.equations) if isinstance(n, tree.Naming)))
        if name not in outputs
    }


def hiding(first: tree.Op, then: tree.Op, public: object) -> tuple[dict[str, str], dict[str, str]]:
    """What values in between are called, those of the first and those of the second: what is given has the name of the op that gives it, and of
    two with one name one has a number. `public` is what the second takes and gives besides."""
    given, mine, theirs = [t.name for t in first.outputs], inner(first), inner(then)
    taken = [t.name for t in then.inputs[: len(given)]]
    outside = named(public, then.equations, then.where) - {*theirs, *taken}
    every = named(first.inputs, first.equations, first.where) - {*given} | outside | {*theirs}
    mine = {name: claimed(name, every, "") if name in outside else name for name in mine}
    mine |= {name: claimed(first.name if len(given) == 1 else name, every, "") for name in given}
    before = named(first.inputs, renamed(first.equations, mine), first.where)
    theirs = {name: claimed(name, every, "") if name in before else name for name in theirs}
    return mine, theirs | dict(zip(taken, (mine[name] for name in given), strict=True))


def renamed(part: T, names: Mapping[str, str]) -> T:
    """A part of an op whose tensors have other names."""

    def change(node: Any) -> Any:
        match node:
            case tree.View(name, tensor):
                return replace(node, name=names.get(name, name), tensor=names.get(tensor, tensor))
            case tree.Name(name) | tree.Cell(name) | tree.Naming(name) if name in names:
                return replace(node, name=names[name])
            case tree.TensorDecl(inplace=other) if other in names:
                return replace(node, inplace=names[other])
        return node

    return rewritten(part, change)


def bounded(line: Any, first: tree.Op, names: Mapping[str, str]) -> Any:
    """A line of the first: what was an output has its extents on the left side."""
    shapes = {t.name: t.shape or () for t in first.outputs}
    if not isinstance(line, tree.Equation):
        return renamed(line, names)
    targets = []
    for target in line.targets:
        extents = shapes.get(target.name, ())
        pairs = zip(target.index, extents, strict=False)
        index = tuple(tree.Binary("<", p, e, span=p.span) if isinstance(p, tree.Name) else p for p, e in pairs)
        targets.append(replace(target, index=index) if len(extents) == len(target.index) else target)
    return renamed(replace(line, targets=tuple(targets)), names)


def kind(one: tree.TensorDecl) -> str:
    """`f32[M, N]`."""
    return one.dtype + ("" if one.shape is None else f"[{', '.join(map(format_expr, one.shape))}]")
