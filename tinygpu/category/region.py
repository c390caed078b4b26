"""Regions: where something is or happens, as the axes around it and the guards it is under, `{ x ∈ ∏ [0, nₐ) | P(x) }`.

Comes in: axes, outermost first, whose extents are terms over the sizes, and guards. Goes out: what is known there. The one idea: a tail is not
a special case, it is a guard; and whoever goes through a program, a claim or a text goes into regions, so that what is known at a place is
collected in one way.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tinygpu.category.settle import settle
from tinygpu.category.term import App, Axis, Fold, Term, Var, children, conjuncts, fresh, lift, negation, variables
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Region:
    """The axes around a place (grid, block, loops, folds) and the guards under which it is reached."""

    axes: tuple[Axis, ...] = ()
    guard: tuple[Term, ...] = ()

    def under(self, *guards: Term) -> Region:
        """The same place under more guards, each once."""
        more = tuple(part for g in guards for part in conjuncts(g) if part not in self.guard)
        return Region(self.axes, self.guard + more)

    def inside(self, *axes: Axis) -> Region:
        """The same place inside more loops."""
        return Region(self.axes + axes, self.guard)

    def within(self, other: Region) -> bool:
        """Whether all that is known at another place is known here."""
        return set(other.guard) <= set(self.guard) and other.extents.items() <= self.extents.items()

    @property
    def facts(self) -> tuple[Term, ...]:
        """Everything known there."""
        return ranges(self.axes) + self.guard

    @property
    def extents(self) -> dict[str, Term]:
        """Of its axes, by name."""
        return {a.name: a.extent for a in self.axes}

    @property
    def names(self) -> frozenset[str]:
        """Of its axes."""
        return frozenset(a.name for a in self.axes)

    def settled(self, term: Term) -> Term:
        """The term with every condition that is decided there replaced by its value.

        >>> Region((Axis("i", Var("n")),)).settled(Var("i") < Var("n"))
        Const(value=True, dtype='bool')
        """
        return settle(term, self.extents, frozenset(self.guard))

    def opened(self, fold: Fold) -> tuple[Fold, Region]:
        """A fold and the region inside of it, without its guard. Its binders are new to all that is known: of a name that is known already
        more would be known than is true.

        >>> from tinygpu.category.term import TRUE
        >>> k = Axis("k", Var("n"))
        >>> fold, inner = Region((k,), (Var("k") >= 3,)).opened(Fold("sum", (Axis("k", lift(3)),), TRUE, Var("k", "f32"), "f32"))
        >>> [a.name for a in inner.axes]
        ['k', 'k_']
        """
        known = [self.names, *map(variables, self.guard), *(variables(a.extent) for a in self.axes)]
        if any(axis.name in names for axis in fold.axes for names in known):
            fold = fresh(fold, frozenset().union(*known))
        return fold, self.inside(*fold.axes)


EVERYWHERE = Region()


def ranges(axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    """`0 ≤ a < n` for every axis.

    >>> from tinygpu.category.term import text
    >>> [text(f) for f in ranges((Axis("i", Var("n")),))]
    ['0 <= i', 'i < n']
    """
    return tuple(fact for a in axes for fact in (lift(0) <= Var(a.name), Var(a.name) < a.extent))


def points(axes: tuple[Axis, ...]) -> Term:
    """How many points axes have: the product of their extents."""
    return prod((axis.extent for axis in axes), start=lift(1))


def operands(term: Term, here: Region) -> Iterator[tuple[Term, Region]]:
    """The terms directly inside of a term, each where it is evaluated: of a choice the branch that is taken, of `and` and `or` from the left
    and no further than it must, of a fold inside of its axes.

    >>> from tinygpu.category.term import BOOL
    >>> i, n = Var("i"), Var("n")
    >>> [where.guard for _, where in operands(App("and", (i > 0, n // i < 4), BOOL), Region())]
    [(), (App(op='gt', args=(Var(name='i', dtype='index'), Const(value=0, dtype='index')), dtype='bool'),)]
    """
    match term:
        case App("select", (condition, then, otherwise)):
            yield from ((condition, here), (then, here.under(condition)), (otherwise, here.under(negation(condition))))
        case App("and" | "or" as op, args):
            for arg in args:
                yield arg, here
                here = here.under(arg if op == "and" else negation(arg))
        case Fold(_, axes):
            yield from ((axis.extent, here) for axis in axes)
            fold, inner = here.opened(term)
            yield from ((fold.guard, inner), (fold.body, inner.under(fold.guard)))
        case _:
            yield from ((child, here) for child in children(term))


def parts(term: Term, point: Region) -> Iterator[tuple[Term, Region]]:
    """The term and everything inside of it, each at the point where it is evaluated: of a choice only the branch that is taken."""
    yield term, point
    for part, where in operands(term, point):
        yield from parts(part, where)
