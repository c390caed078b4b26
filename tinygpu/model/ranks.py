"""Families over ranks: `op conv[a in {(L), (H, W)}](x: f32[B, C, a..], w: f32[F, C, K_a..]) -> …`. Here they become ops and machines like any other.

    conv ↦ conv_1d, conv_2d       a.. ↦ H, W       K_a.. ↦ KH, KW       f32(K_a) * .. ↦ f32(KH) * f32(KW)       (p_a..) ↦ (pH, pW)

Comes in: the declarations of a file and of all that it imports. Goes out: an op for each list of axes, a machine for each of what it serves, and
messages. The one idea: a part with `..` behind it is written once for each axis, and a name that ends in the family's variable is that of the axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any, TypeAlias

from tinygpu.diagnostic import Span
from tinygpu.model.problems import Problems, counted, head, listing
from tinygpu.record import dataclass, field, fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import Node, nodes

DOTS = ".."
NAMED = frozenset(("name", "tensor", "equation", "at", "inplace", "indices", "order", "factors", "names"))  # fields that hold names
WORDS = tree.Level | tree.Field | tree.LaunchClause | tree.Op | tree.Machine  # of which they are no names of the family
Axes: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rank:
    """What the variable of a family stands for in one of its ops."""

    variable: str
    axes: Axes

    def named(self, name: str) -> str:
        """What a member of the family is called.

        >>> Rank("a", ("H", "W")).named("conv")
        'conv_2d'
        """
        return f"{name}_{len(self.axes)}d"


def without_ranks(declared: Iterable[Any], problems: Problems) -> tuple[Any, ...]:
    """The declarations without families over ranks, and without `..`. Mistakes are added to `problems`.

    >>> from tinygpu.syntax.format import format_file
    >>> from tinygpu.syntax.parse import parse
    >>> file = parse("op f[a in {(L), (H, W)}](x: f32[a..]) -> (y: f32[a..]) { y[i_a..] = 2 * x[i_a..] }")
    >>> print(format_file(tree.File(without_ranks(file.declarations, Problems()))), end="")
    op f_1d(x: f32[L]) -> (y: f32[L]) {
      y[iL] = 2 * x[iL]
    }
    <BLANKLINE>
    op f_2d(x: f32[H, W]) -> (y: f32[H, W]) {
      y[iH, iW] = 2 * x[iH, iW]
    }
    """
    declared = tuple(declared)
    if not any(isinstance(one, tree.Op) and any(f.axes for f in one.families) for one in declared):
        for one in declared:
            _outside(one, problems)
        return declared
    before = len(problems)
    ranks = Ranks(problems, {one.name: one for one in reversed(declared) if isinstance(one, tree.Op)})
    made = tuple(made for one in declared for made in ranks.members(one))
    if len(problems) > before:
        problems.stop()  # what serves a family that is wrong would be complained about, too
    return made


def _outside(declaration: Any, problems: Problems) -> None:
    """Says where there are no axes for `..` to stand for."""
    families = declaration.families if isinstance(declaration, tree.Op) else ()
    if numbers := [(n.span, f.variable) for f in families for n in f.dtypes if isinstance(n, tree.Number)]:
        problems.say("TG028.number", numbers[0][0], variable=numbers[0][1])
        return
    for node in nodes(declaration):
        if isinstance(node, tree.Each | tree.Joined) or any(map(_dotted, _texts(node))):
            machine = isinstance(declaration, tree.Machine)
            problems.say("TG178.served" if machine else "TG178.outside", node.span)


def _texts(node: Any) -> Iterator[str]:
    """The names of a list of names."""
    values = (getattr(node, one.name) for one in fields(node) if one.name in NAMED)
    return (text for value in values if isinstance(value, tuple) for text in value if isinstance(text, str))


def _dotted(text: str) -> bool:
    return text.endswith(DOTS)


@dataclass(slots=True)
class Ranks:
    """The ops of a file by name, and of those that were asked for the ranks that they are there for."""

    problems: Problems
    ops: dict[str, tree.Op]
    found: dict[str, tuple[Rank, ...]] = field(default_factory=dict)

    def members(self, one: Any) -> Iterator[Any]:
        """What a declaration stands for."""
        before, ranks = len(self.problems), self.of(one)
        if not ranks and len(self.problems) == before:
            _outside(one, self.problems)
            yield one
        for rank in ranks:
            yield self.copy(one, rank)

    def of(self, one: Any) -> tuple[Rank, ...]:
        """The ranks of a declaration."""
        if not isinstance(one, tree.Op):
            return self.served(one) if isinstance(one, tree.Machine) else ()
        first = self.ops[one.name]
        if first is one or not any(f.axes for f in (*one.families, *first.families)):
            return self.ranks(one.name)
        place, there = (head(op.span, f"op {op.name}") for op in (one, first))
        self.problems.say("TG102.name", place, there, name=one.name, kind="an op")
        return ()

    def copy(self, one: Any, rank: Rank) -> Any:
        """An op or a machine as it is for one rank. A machine of ops of that rank keeps its name."""
        which, old = "parts" if isinstance(one, tree.Op) else "ops", self.parts(one)
        parts = tuple(replace(p, name=rank.named(p.name)) if self.ranks(p.name) else p for p in old)
        made = Copy(self.problems, rank, {} if isinstance(one, tree.Op) else None).put(replace(one, **{which: ()}), "")
        if isinstance(one, tree.Op):
            made = replace(made, families=tuple(f for f in made.families if not f.axes))
        elif parts == old:
            return replace(made, ops=parts)
        name = rank.named(one.name)
        self.problems.members[type(one), name] = f"in {name}, where {rank.variable} is {listing(rank.axes)}"
        return replace(made, name=name, **{which: parts})

    def parts(self, one: Any) -> tuple[tree.Name, ...]:
        """The ops that a declaration names."""
        return one.ops if isinstance(one, tree.Machine) else one.parts  # type: ignore[no-any-return]

    def ranks(self, name: str) -> tuple[Rank, ...]:
        """The ranks of the family of that name; of an op that is none, nothing."""
        if name not in self.found:
            self.found[name] = ()  # of one that is part of itself, which is said later
            one = self.ops.get(name)
            several = [f for f in one.families if f.axes] if one else []
            if one and one.parts:
                self.found[name] = self.common(one)
            for other in several[1:]:
                self.problems.say("TG178.two", other.span, several[0].span)
            if several:
                self.found[name] = tuple(self.chosen(several[0]))
        return self.found[name]

    def chosen(self, family: tree.Family) -> Iterator[Rank]:
        """The ranks that a family is declared for."""
        met: dict[int, Span] = {}
        for group in family.axes:
            words = tuple(item.name for item in group.items if isinstance(item, tree.Name))
            if len(set(words)) < len(group.items) or not words or family.variable in words:
                self.problems.say("TG178.words", group.span, variable=family.variable)
            elif len(words) in met:
                self.problems.say("TG178.rank", group.span, met[len(words)], count=counted(len(words), "axis"))
            else:
                met[len(words)] = group.span
                yield Rank(family.variable, words)

    def common(self, one: Any) -> tuple[Rank, ...]:
        """The ranks of the families that an op or a machine is made of: the same for all of them."""
        families = [part for part in self.parts(one) if self.ranks(part.name)]
        for other in families[1:]:
            if self.ranks(other.name) != self.ranks(families[0].name):
                self.problems.say("TG178.other", other.span, families[0].span, name=other.name, other=families[0].name)
                return ()
        return self.ranks(families[0].name) if families else ()

    def served(self, machine: tree.Machine) -> tuple[Rank, ...]:
        """The ranks of what a machine serves: those of families, or the one that all the others are of."""
        ranks = self.common(machine)
        if ranks:
            for name in machine.ops:
                if not self.ranks(name.name) and name.name in {*self.ops, *self.every}:
                    self.problems.say("TG178.mixed", name.span, name=name.name)
            return ranks
        dotted = any(isinstance(n, tree.Each | tree.Joined) or any(map(_dotted, _texts(n))) for n in nodes(machine.clauses))
        mine = {self.member(name.name) for name in machine.ops} if dotted else set()
        return tuple(rank for rank in mine if rank) if len(mine) == 1 else ()

    @property
    def every(self) -> dict[str, Rank]:
        """The members of families that are declared as such, by name."""
        return {rank.named(name): rank for name in self.ops for rank in self.ranks(name)}

    def member(self, name: str) -> Rank | None:
        """The rank of an op that is one of a family, or is made of such; None where there is not one."""
        one = self.ops.get(name)
        if one is None:
            return self.every.get(name)
        found = {rank for part in one.parts if part.name != name and (rank := self.member(part.name))}
        return found.pop() if len(found) == 1 else None


@dataclass(slots=True)
class Copy:
    """A declaration as it is for one rank; `made` are its names, with what was written, where no two of these may be the same."""

    problems: Problems
    rank: Rank
    made: dict[str, str] | None

    def put(self, part: Any, axis: str) -> Any:
        """A part at an axis, or outside of all `..`, where it is the empty text."""
        if isinstance(part, tuple):
            return tuple(one for item in part for one in self.items(item, axis))
        if not isinstance(part, Node):
            return part
        if isinstance(part, tree.Joined):
            terms = (self.put(part.value, axis) for axis in self.rank.axes)
            return reduce(lambda a, b: joined(part.op, a, b, part.span), terms)
        if isinstance(part, tree.Family):
            return part
        new = {}
        for name in (one.name for one in fields(part)):
            old = getattr(part, name)
            if name in NAMED and not isinstance(part, WORDS):
                new[name] = self.texts(old, axis, part.span)
            else:
                new[name] = self.put(old, axis)
        return replace(part, **new)

    def items(self, item: Any, axis: str) -> Iterator[Any]:
        """What an item of a list stands for."""
        for one in self.rank.axes if isinstance(item, tree.Each) else (axis,):
            yield self.put(item.value if isinstance(item, tree.Each) else item, one)

    def texts(self, value: Any, axis: str, span: Span) -> Any:
        """A name or a list of names."""
        if isinstance(value, str):
            return self.name(value, axis, span)
        if isinstance(value, tuple) and any(isinstance(text, str) for text in value):
            pairs = [(text.removesuffix(DOTS), self.rank.axes if _dotted(text) else (axis,)) for text in value]
            return tuple(self.name(text, one, span) for text, axes in pairs for one in axes)
        return self.put(value, axis)

    def name(self, name: str, axis: str, span: Span) -> str:
        """A name at an axis: `K_a` is `KH`."""
        stem = "" if name == self.rank.variable else name.removesuffix(f"_{self.rank.variable}")
        made = name if stem == name else stem + axis
        if made != name and not axis:
            self.problems.say("TG178.once", span, name=name)
        elif self.made is not None and (other := self.made.setdefault(made, name)) != name:
            self.problems.say("TG178.same", span, name=name, other=other, made=made)
        return made


def joined(op: str, left: Any, right: Any, span: Span) -> Any:
    """Two terms as one; conditions in a row as people write them."""
    if op in ("and", "or") and isinstance(right, tree.Binary) and right.op == op:
        return replace(right, left=joined(op, left, right.left, span))
    return tree.Binary(op, left, right, span=span)
