"""Onto and one-to-one, for families of arrows into one box.

    onto:        every target point k in the guard is φₚ(w) for some part p, with the witness w = φₚ⁻¹(k)
    one-to-one:  φₚ(d) = φ_q(d')  ⊢  p = q and d = d'
    monotone:    d before d'  ⊢  φ(d) before φ(d'), in the order of loops
    first:       ⊢  φₚ(d) before φ_q(d'), where part p is combined before q

Comes in: the parts (points and terms) and the target. Goes out: these formulas, which cover, once and fold share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tinygpu.category.linear import as_written, plus, polynomial
from tinygpu.category.preimage import preimage
from tinygpu.category.region import Region, ranges
from tinygpu.category.settle import settle, within
from tinygpu.category.simplify import Binding, simplify
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FALSE,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Term,
    Var,
    conjunction,
    disjunction,
    equal,
    exchange,
    negation,
    outside,
    substitute,
    variables,
    walk,
)
from tinygpu.record import dataclass, replace

FEW = 4  # digits of an image, two of which are no question for a solver
PRIME = "~"  # marks the second of two points; no name of a program or of an earlier iteration ends in it


@dataclass(frozen=True, slots=True)
class Part:
    """An arrow from the box `axes | guard` into the target, by one term for each axis of the target."""

    axes: tuple[Axis, ...]
    guard: tuple[Term, ...]
    terms: tuple[Term, ...]

    @property
    def facts(self) -> tuple[Term, ...]:
        return ranges(self.axes) + self.guard

    def renamed(self, suffix: str) -> Part:
        """The same arrow at another point."""
        names = {a.name: Var(a.name + suffix) for a in self.axes}
        axes = tuple(Axis(a.name + suffix, substitute(a.extent, names), a.sort, a.span) for a in self.axes)
        return Part(axes, tuple(substitute(g, names) for g in self.guard), tuple(substitute(t, names) for t in self.terms))

    def branches(self) -> Iterator[Part]:
        """The arrow on each side of the choices in its terms, which is a formula that can be turned round.

        >>> from tinygpu.category.term import select, text
        >>> i, n = Var("i"), Var("n")
        >>> ends = Part((Axis("i", n * 2),), (), (select(i < n, i, n * 3 - 1 - i),))
        >>> [(text(*branch.guard), text(*branch.terms)) for branch in ends.branches()]
        [('i < n', 'i'), ('not i < n', 'n*3 - 1 - i')]
        """
        choice = next((t for term in self.terms for t in outside(term) if isinstance(t, App) and t.op == "select"), None)
        if choice is None:
            yield self
            return
        condition, then, otherwise = choice.args
        for side, chosen in ((condition, then), (negation(condition), otherwise)):
            terms = tuple(exchange(term, {choice: chosen}) for term in self.terms)
            yield from replace(self, guard=(*self.guard, side), terms=terms).branches()


def onto(parts: tuple[Part, ...], target: tuple[Term, ...], extents: dict[str, Term], promises: tuple[Term, ...] = ()) -> Term:
    """The goal that `target` is reached: by the witness of one of the parts."""
    ways = []
    for part in (branch for one in parts for branch in one.branches()):
        witness = preimage(part.terms, part.axes, target, conjunction(*part.guard), promises)
        inside = [substitute(within(Var(a.name), a.extent), witness) for a in part.axes]
        guard = [substitute(of_image(g, part, target), witness) for g in needed(part)]
        lands = [equal(substitute(t, witness), k) for t, k in zip(part.terms, target, strict=True)]
        ways.append(settle(conjunction(*inside, *guard, *lands), extents))
    return disjunction(*ways)


def needed(part: Part) -> tuple[Term, ...]:
    """The guards of an arrow that its ranges and its other guards do not tell: of the steps of a window, `t − d ≥ 0` and `t − d − e ≥ 0`, the last.

    >>> d, e, t = Axis("d", Const(2)), Axis("e", Const(2)), Var("t")
    >>> needed(Part((d, e), (t - Var("d") * 2 >= 0, t - Var("d") * 2 - Var("e") >= 1), ())) == (t - Var("d") * 2 - Var("e") >= 1,)
    True
    """
    guard, box = list(part.guard), Region(part.axes)
    for one in part.guard if len(part.guard) > 1 else ():
        rest = [g for g in guard if g is not one]
        if box.under(*rest).settled(one) == TRUE:
            guard = rest
    return tuple(guard)


def of_image(guard: Term, part: Part, target: tuple[Term, ...]) -> Term:
    """What a guard says of the point that lands on a target, said of the target where that is the same number: of `t − d − e` by `t − d − e − 1 = k`.

    >>> from tinygpu.category.term import text
    >>> d, t, k = Var("d"), Var("t"), Var("k")
    >>> text(of_image(t - d * 2 >= 1, Part((Axis("d", Const(2)),), (), (t - d * 2 - 1,)), (k,)))
    'k + 1 >= 1'
    """
    names = {a.name for a in part.axes}
    match guard:
        case App(op, (a, b)) if op in COMPARISONS and a.dtype == INDEX:
            for term, point in zip(part.terms, target, strict=True):
                rest = plus(polynomial(a), polynomial(term), -1)
                if variables(a) & names and not variables(as_written(rest)) & names:
                    return App(op, (as_written(plus(rest, polynomial(point))), b), BOOL)
    return guard


def collisions(parts: tuple[Part, ...], context: Region) -> Iterator[tuple[int, int, tuple[Term, ...], Term]]:
    """For each pair of parts `(p, q, hypotheses, goal)`: two points with one image are one point of one part.

    Where strides depend on the sizes, which is hard for solvers, and an inverse is seen to be one, it is that: `φ⁻¹(φ(d)) = d`. So it is
    for two parts of many digits.
    """
    for p, first in enumerate(parts):
        for q, second in enumerate(parts[: p + 1]):
            if p == q and any(map(stretched, first.terms)) and inverse(first, context) is not None:
                yield p, q, context.facts + first.facts, TRUE
                continue
            other = second.renamed(PRIME)
            meet = tuple(equal(a, b) for a, b in zip(first.terms, other.terms, strict=True))
            hypotheses = context.facts + first.facts + other.facts + meet
            if p == q:
                same = conjunction(*(equal(Var(a.name), Var(a.name + PRIME)) for a in first.axes))
                if same != Const(True, BOOL):
                    yield p, q, hypotheses, same
            else:
                many = min(len(first.axes), len(second.axes)) > FEW
                yield p, q, hypotheses, TRUE if many and apart(first, other, context) else FALSE


def stretched(term: Term) -> bool:
    """Whether an index multiplies two that are no numbers, or is made of a power of two."""
    products = (t for t in walk(term) if isinstance(t, App) and (t.op == "shl" or (t.op == "mul" and t.dtype == INDEX)))
    return any(t.op == "shl" or not any(isinstance(a, Const) for a in t.args) for t in products)


@lru_cache(maxsize=256)  # the machines of a spec have many in common
def inverse(part: Part, context: Region) -> Binding | None:
    """The point of an arrow by its image `0~, 1~, …` where that alone is seen to tell it, so that no two points have one image; else None."""
    image = tuple(Var(f"{n}{PRIME}") for n in range(len(part.terms)))
    witness = preimage(part.terms, part.axes, image, conjunction(*part.guard))
    goal = given_back(witness, part.axes, dict(zip((i.name for i in image), part.terms, strict=True)))
    known = context.inside(*part.axes).under(*part.guard)
    return witness if known.settled(goal) == TRUE or simplify(goal, known) == TRUE else None


def met(goal: Term, first: Part, second: Part, context: Region) -> Term:
    """What is left of a goal about two points with one image, those of `second` primed, where the image tells that one: `d' = φ'⁻¹(φ(d))`."""
    witness = inverse(second, context)
    if witness is None:
        return goal
    image = {f"{n}{PRIME}": term for n, term in enumerate(first.terms)}
    there = {name + PRIME: substitute(term, image) for name, term in witness.items()}
    known = context.inside(*first.axes).under(*first.guard)
    return known.settled(simplify(substitute(goal, there), known))


def apart(first: Part, second: Part, context: Region) -> bool:
    """Whether no point of one arrow has an image of another, where its inverse tells: `φ(φ⁻¹(φ'(d'))) = φ'(d')` never holds."""
    witness = inverse(first, context)
    if witness is None:
        return False
    image = {f"{n}{PRIME}": term for n, term in enumerate(second.terms)}
    there = {name: substitute(term, image) for name, term in witness.items()}
    same = conjunction(*(equal(substitute(t, there), u) for t, u in zip(first.terms, second.terms, strict=True)))
    return context.inside(*second.axes).under(*second.guard).settled(same) == FALSE


def given_back(witness: Mapping[str, Term], axes: tuple[Axis, ...], image: Mapping[str, Term]) -> Term:
    """The goal that a witness is the point whose image it is given. One that speaks of the point is none."""
    if any(variables(witness[a.name]) & {b.name for b in axes} for a in axes):
        return FALSE
    return conjunction(*(equal(substitute(witness[a.name], image), Var(a.name)) for a in axes))


def before(here: tuple[Term, ...], there: tuple[Term, ...]) -> Term:
    """That a point comes before another in the order of loops, the first axis outermost."""
    found: Term = FALSE
    for a, b in reversed(list(zip(here, there, strict=True))):
        found = disjunction(a < b, conjunction(equal(a, b), found))
    return found


def first(part: Part, other: Part, context: Region) -> tuple[tuple[Term, ...], Term]:
    """`(hypotheses, goal)`: every point of `part` has its image before those of `other`."""
    later = other.renamed(PRIME)
    return context.facts + part.facts + later.facts, before(part.terms, later.terms)


def monotone(part: Part, context: Region) -> Iterator[tuple[tuple[Term, ...], Term]]:
    """For each axis `(hypotheses, goal)`: of two points that differ first in it, the later one's image comes later."""
    other = part.renamed(PRIME)
    goal = before(part.terms, other.terms)
    equals: tuple[Term, ...] = ()
    for axis in part.axes:
        here, there = Var(axis.name), Var(axis.name + PRIME)
        yield context.facts + part.facts + other.facts + (*equals, here < there), goal
        equals += (equal(here, there),)
