"""What has to be proved: one formula, one sentence, the code it fails with, the spans it comes from.

Comes in: what the property files of this folder yield. Goes out: quantifier-free statements `hypotheses ⊢ goal` over integers,
with every free variable a size, an axis of the work or of a loop, or a binder. The one idea: a property that nobody could
state is a `Gap`, which is never proved, so silence cannot be success.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.category.box import box_facts
from tinygpu.category.term import Axis, Fold, Term, conjuncts, fresh, variables
from tinygpu.diagnostic import Label
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Obligation:
    """`hypotheses ⊢ goal`. `kind` is the property's file, `title` what is wrong where it fails."""

    kind: str
    code: str
    title: str
    sentence: str
    hypotheses: tuple[Term, ...]
    goal: Term
    labels: tuple[Label, ...] = ()
    help: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """A property that could not be stated as formulas, and why. The verdict is at best `unknown`."""

    kind: str
    code: str
    title: str
    reason: str
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Inhabited:
    """Some point satisfies the hypotheses: a proof about nothing is no proof."""

    kind: str
    code: str
    title: str
    sentence: str
    hypotheses: tuple[Term, ...]
    labels: tuple[Label, ...] = ()
    help: str = ""


Claim: TypeAlias = Obligation | Inhabited | Gap


@dataclass(frozen=True, slots=True)
class Point:
    """Where something happens: the axes around it (grid, block, loops, folds) and the guard under which it does."""

    axes: tuple[Axis, ...]
    guard: tuple[Term, ...] = ()

    def under(self, *guards: Term) -> Point:
        """The same point under more guards."""
        more = tuple(part for g in guards for part in conjuncts(g) if part not in self.guard)
        return Point(self.axes, self.guard + more)

    def inside(self, *axes: Axis) -> Point:
        """The same point inside more loops."""
        return Point(self.axes + axes, self.guard)

    @property
    def facts(self) -> tuple[Term, ...]:
        """Everything known at the point."""
        return box_facts(self.axes) + self.guard

    @property
    def extents(self) -> dict[str, Term]:
        return {a.name: a.extent for a in self.axes}

    def opened(self, fold: Fold) -> tuple[Fold, Point]:
        """A fold and the point inside of it, without its guard. Its binders are new to all that is known at the point: of a name that is
        known already more would be known than is true.

        >>> from tinygpu.category.term import TRUE, Const, Var
        >>> k = Axis("k", Var("n"))
        >>> fold, inner = Point((k,), (Var("k") >= 3,)).opened(Fold("sum", (Axis("k", Const(3)),), TRUE, Var("k", "f32"), "f32"))
        >>> [a.name for a in inner.axes]
        ['k', 'k_']
        """
        known = [self.names, *map(variables, self.guard), *(variables(a.extent) for a in self.axes)]
        if any(axis.name in names for axis in fold.axes for names in known):
            fold = fresh(fold, frozenset().union(*known))
        return fold, self.inside(*fold.axes)

    @property
    def names(self) -> frozenset[str]:
        """Of its axes."""
        return frozenset(a.name for a in self.axes)
