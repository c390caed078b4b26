"""Spans: who does what, as `work ← D → compute`, and pullbacks, by which they are made and composed.

Comes in: a work box, the axes that a thread has for itself, and the owner arrow of each index in terms of factors.
Goes out: D with `active` (which work points take part) and `owner` (which compute point is theirs).
The one idea: equal names are the identification, so the pullback over shared factors is the union of two lists of axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from tinygpu.category.arrow import Arrow, identity
from tinygpu.category.box import UNIT, Box
from tinygpu.category.generators import permute, replicate
from tinygpu.category.simplify import simplify
from tinygpu.category.term import TRUE, Term, conjunction, conjuncts, equal
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Assignment:
    """`active : D ↪ work × own` and `owner : D → compute`, from one D. `absent` are the factors that the equation does not mention."""

    active: Arrow
    owner: Arrow
    absent: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.active.domain != self.owner.domain:
            raise ValueError(f"{self.active.domain} is not {self.owner.domain}")

    @property
    def domain(self) -> Box:
        """D: the common refinement, guarded."""
        return self.active.domain

    @property
    def guard(self) -> Term:
        """Which work points contribute."""
        return self.domain.guard

    @property
    def stores(self) -> Term:
        """Which of them store: those that contribute and are the first of their replicas."""
        first = (equal(v, 0) for a, v in zip(self.domain.axes, self.domain.variables, strict=True) if a.name in self.absent)
        return conjunction(self.guard, *first)


def assign(work: Box, own: Box, owners: Sequence[Arrow], where: Term = TRUE) -> Assignment:
    """`work × own ← D → compute`: each owner is `factors → indices`, and its factors are found by name. Raises ValueError for others.

    >>> from tinygpu.category.box import box
    >>> from tinygpu.category.digits import digits
    >>> from tinygpu.category.term import Axis, Var, ceildiv, lift, text
    >>> g, t, w, v = Axis("g", ceildiv(Var("n"), 128)), Axis("t", lift(32)), Axis("w", lift(2)), Axis("v", lift(4))
    >>> span = assign(Box((g, t, w)), Box((v,)), [digits(box(i=Var("n")).axis("i"), (g, t, v))])
    >>> text(span.guard), text(span.stores), span.absent
    ('(g*32 + t)*4 + v < n', '(g*32 + t)*4 + v < n and w == 0', ('w',))
    >>> span.active.mono, span.owner.epi, span.owner.mono
    (True, True, False)
    """
    carried = work @ own
    phase = reduce(lambda f, g: f @ g, owners, identity(UNIT))
    used = phase.domain
    if strange := [a for a in used.axes if a.name not in carried.names or carried.axis(a.name).extent != a.extent]:
        raise ValueError(f"{', '.join(a.name for a in strange)} are not carried by {carried}")
    rest = tuple(a for a in carried.axes if a.name not in used.names)
    chosen = Box(tuple(carried.axis(n) for n in used.names), used.guard)
    forget = replicate(chosen, *rest, where=where)
    order = permute(forget.domain, *carried.names)
    domain = Box(carried.axes, conjunction(carried.guard, used.guard))
    owner = (~order).restrict(*conjuncts(carried.guard)) >> forget >> phase
    active = Arrow(domain, carried, domain.variables, domain.variables, mono=True, epi=domain.guard == carried.guard)
    return Assignment(
        active, Arrow(domain, owner.codomain, owner.terms, owner.inverse, owner.mono, owner.epi), tuple(a.name for a in rest)
    )


def pullback(f: Arrow, g: Arrow) -> tuple[Arrow, Arrow]:
    """The pullback of `f : X → Z` and `g : Y → Z`, on disjoint names: `D → X` and `D → Y` from `{(x, y) | f(x) = g(y)}`.

    >>> from tinygpu.category.box import box
    >>> from tinygpu.category.generators import pad, rename
    >>> from tinygpu.category.term import Var
    >>> wide = identity(box(i=8))
    >>> narrow = rename(box(j=5), {"j": "i"}) >> pad(box(i=5).axis("i"), 8)
    >>> left, right = pullback(rename(box(k=8), {"k": "i"}), narrow)
    >>> print(left)
    [k < 8, j < 5 | k == j] → [k < 8] : (k)  mono
    """
    if f.codomain.axes != g.codomain.axes:
        raise ValueError(f"{f.codomain} is not {g.codomain}")
    both = f.domain @ g.domain
    meet = (equal(a, b) for a, b in zip(f.terms, g.terms, strict=True))
    domain = both.guarded(*conjuncts(simplify(conjunction(*meet), both)))
    to_x = Arrow(domain, f.domain, f.domain.variables, mono=g.mono, epi=g.epi and _same_codomain(f, g))
    to_y = Arrow(domain, g.domain, g.domain.variables, mono=f.mono, epi=f.epi and _same_codomain(f, g))
    return to_x, to_y


def _same_codomain(f: Arrow, g: Arrow) -> bool:
    return f.codomain == g.codomain


def compose(first: tuple[Arrow, Arrow], second: tuple[Arrow, Arrow]) -> tuple[Arrow, Arrow]:
    """Spans `X ← D → Y` and `Y ← E → Z` make `X ← D ×_Y E → Z`: guards flow down by themselves."""
    to_d, to_e = pullback(first[1], second[0])
    return to_d >> first[0], to_e >> second[1]
