"""Tiles: the box of a tensor that a block needs at once, and how its local indices stand to those of the tensor.

Comes in: the index terms of an access, and which factors are inside the tile. Goes out: for each axis its extent, its origin, and both ways
between local and global. The one idea: what the factors inside add to an index is the local index; side by side `global = origin + local`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.category.layout import PLAIN, Layout
from tinygpu.category.linear import Polynomial, number, plus, polynomial, term_of
from tinygpu.category.owner import Arrow
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import Axis, Const, Read, Term, Var, lift, substitute, text, variables
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field

BLOCK = "block"
TENSOR = "tensor_copy"  # the unit that copies a box at once, which a ring tells of


@dataclass(frozen=True, slots=True)
class Side:
    """One axis of a tile. `digits` are `(factor, extent, step in the tensor, step in the tile)` where factors outside the tile stand
    between those inside; else there are none."""

    name: str
    extent: int
    origin: Term
    digits: tuple[tuple[str, int, Term, int], ...] = ()

    def outside(self, local: Term) -> Term:
        """The index in the tensor of a local index."""
        if not self.digits:
            return simplify(self.origin + local)
        return simplify(sum((local // here % extent * there for _, extent, there, here in self.digits), self.origin))

    def inside(self, index: Term) -> Term:
        """The local index of an index that the tile holds."""
        if not self.digits:
            return simplify(index - self.origin)
        return sum((Var(name) * here for name, _, _, here in self.digits), lift(0))


@dataclass(frozen=True, slots=True)
class Sought:
    """Which reads a stage serves: those of `tensor` at `pattern`: at each axis an index of the equation, or `""` for any term. `name` stands
    for the tile in values; `at` is where it is filled, a loop or `block`."""

    tensor: str
    pattern: tuple[str, ...]
    at: str
    name: str

    def finds(self, read: Read) -> bool:
        """Whether it is one of them, its indices as its equation writes them."""
        names = (t.name if isinstance(t, Var) else None for t in read.index)
        return read.tensor == self.tensor and all(p in ("", n) for p, n in zip(self.pattern, names, strict=True))


@dataclass(frozen=True, slots=True)
class Stage(Sought):
    """A tile in shared memory and the copy machine that fills it, once a block (`at` is `block`) or in each turn of a loop.

    `order` lists the tensor's axes as the tile's, slowest first. `owner : D → the sides of the tile` is the copy's assignment, and `block` the factors that its
    thread number has in it; of a `ring` so many tiles take turns, copied `by` a unit of its own where it has a name, and by threads so that they land `later`. Without a `fill` the equations do not say what lies outside the tensor.
    """

    sides: tuple[Side, ...]
    order: tuple[int, ...]
    block: tuple[Axis, ...]
    owner: Arrow
    layout: Layout = PLAIN
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    ring: int = 0
    by: str = ""
    later: bool = False

    def outside(self, local: Sequence[Term]) -> tuple[Term, ...]:
        """The element of the tensor that a point of the tile holds."""
        return tuple(side.outside(term) for side, term in zip(self.sides, local, strict=True))


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of a launch as a tile sees them: all of them with their extents, and the names of those inside."""

    axes: tuple[Axis, ...]
    inner: frozenset[str]

    def parts(self, term: Term) -> tuple[Term, Mapping[str, Term]] | str:
        """`origin, {factor inside: its step}` of an index term, or the reason why it has none."""
        steps: dict[str, Polynomial] = {}
        for monomial, step in polynomial(simplify(term, Region(self.axes))).items():
            names = frozenset().union(*map(variables, monomial)) & self.inner
            inside = [atom for atom in monomial if variables(atom) & self.inner]
            if names and (len(inside) > 1 or not isinstance(inside[0], Var)):
                return f"{text(term)} does not grow evenly with {', '.join(sorted(names))}"
            if names:
                (name,) = names
                steps[name] = plus(steps.get(name, {}), {tuple(a for a in monomial if a not in inside): step})
        for axis in self.axes:
            if axis.name in steps and not isinstance(axis.extent, Const):
                return f"{axis.name} runs over {text(axis.extent)}"
        origin = simplify(substitute(term, dict.fromkeys(steps, Const(0))), Region(self.axes))
        return origin, {name: term_of(step) for name, step in steps.items()}

    def extent(self, name: str) -> int:
        """The extent of a factor inside."""
        return next(number(polynomial(a.extent)) or 0 for a in self.axes if a.name == name)


def side(name: str, terms: Sequence[Term], factors: Factors) -> Side | str:
    """The smallest side that holds an index for all its terms, the factors inside merged in order, or the reason why there is none.

    >>> factors = Factors((Axis("b", Var("B")), Axis("t", Const(8))), frozenset("t"))
    >>> side("i", [Var("b") * 8 + Var("t") - 1, Var("b") * 8 + Var("t") + 1], factors).extent
    10
    """
    found = [factors.parts(term) for term in dict.fromkeys(terms)]
    base, low, high = lift(0), 0, 0
    for place, one in enumerate(found):
        if isinstance(one, str):
            return one
        origin, given = one
        steps = {f: int(step.value) for f, step in given.items() if isinstance(step, Const)}
        if len(steps) < len(given) and len(found) > 1:
            return f"it grows by {', '.join(text(s) for s in given.values() if not isinstance(s, Const))}"
        base = base if place else origin
        shift = number(polynomial(origin - base))
        if shift is None:
            return f"it would hold what is around {text(base)} and around {text(origin)}"
        reach = [step * (factors.extent(f) - 1) for f, step in steps.items()]
        below, above = shift + sum(min(0, r) for r in reach), shift + sum(max(0, r) for r in reach)
        low, high = (min(low, below), max(high, above)) if place else (below, above)
    if len(found) == 1 and not isinstance(found[0], str) and (merged := _merged(found[0][1], factors)):
        return Side(name, merged[-1][1] * merged[-1][3], base, merged)
    return Side(name, high - low + 1, simplify(base + low))


def _merged(steps: Mapping[str, Term], factors: Factors) -> tuple[tuple[str, int, Term, int], ...]:
    """The digits of a side between which factors outside stand, fastest first; none where all lie side by side."""
    digits: list[tuple[str, int, Term, int]] = []
    here, known = 1, {name: int(step.value) for name, step in steps.items() if isinstance(step, Const)}
    for name in sorted(steps, key=lambda f: (f not in known, known.get(f, 0))):
        extent = factors.extent(name)
        digits.append((name, extent, steps[name], here))
        here *= extent
    overlap = any(known[name] < local for name, _, _, local in digits if name in known)  # then the box is smaller
    return tuple(digits) if not overlap and any(step != Const(local) for _, _, step, local in digits) else ()
