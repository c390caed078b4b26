"""Arrows: index maps between boxes, with what is known of them by structure.

Comes in: a term for each axis of the codomain, over the axes of the domain and the sizes; the inverse as terms, if there is one.
Goes out: composites, tensors and sums that know by themselves whether they are one-to-one and onto.
The one idea: the inverse is the witness that turns "for all … exists …" into a question without quantifiers.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.box import Box, Point
from tinygpu.category.evaluate import evaluate
from tinygpu.category.simplify import simplify
from tinygpu.category.term import App, Term, conjunction, conjuncts, equal, negation, select, substitute, text
from tinygpu.record import dataclass, replace

OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, slots=True)
class Arrow:
    """`domain → codomain`: `terms` gives each axis of the codomain; `inverse`, where known, each axis of the domain.

    `mono` and `epi` are claims by structure, about the guarded points: False means "not known". An arrow that is both is an iso.
    For a mono the inverse is partial: it is right on the image, and `image` is the sub-box where it is.

    >>> from tinygpu.category.box import box
    >>> from tinygpu.category.generators import merge, split
    >>> f = split(box(i=70).axis("i"), 4, "q", "r")
    >>> print(f)
    [i < 70] → [q < 18, r < 4 | q*4 + r < 70] : (i // 4, i % 4)  iso
    >>> (f >> ~f).normal() == identity(f.domain), (~f >> f).normal() == identity(f.codomain), ~~f == f
    (True, True, True)
    >>> f >> identity(f.codomain) == f == identity(f.domain) >> f
    True
    """

    domain: Box
    codomain: Box
    terms: tuple[Term, ...]
    inverse: tuple[Term, ...] | None = None
    mono: bool = False
    epi: bool = False

    def __post_init__(self) -> None:
        if len(self.terms) != len(self.codomain.axes):
            raise ValueError(f"{len(self.terms)} terms for {self.codomain}")
        if self.inverse is not None and len(self.inverse) != len(self.domain.axes):
            raise ValueError(f"{len(self.inverse)} inverse terms for {self.domain}")

    def __str__(self) -> str:
        kind = "  iso" if self.iso else "  mono" if self.mono else "  epi" if self.epi else ""
        return f"{self.domain} → {self.codomain} : ({', '.join(map(text, self.terms))}){kind}"

    @property
    def iso(self) -> bool:
        """Known to be one-to-one and onto."""
        return self.mono and self.epi

    def __rshift__(self, other: Arrow) -> Arrow:
        """`X → Y` then `Y → Z` is `X → Z`, by substitution. The second may ask for less than the first promises (a weaker guard)."""
        _meet(self.codomain, other.domain)
        whole = conjuncts(self.codomain.guard) == conjuncts(other.domain.guard)
        forth = dict(zip(self.codomain.names, self.terms, strict=True))
        inverse = None
        if self.inverse is not None and other.inverse is not None:
            back = dict(zip(self.codomain.names, other.inverse, strict=True))
            inverse = tuple(substitute(t, back) for t in self.inverse)
        terms = tuple(substitute(t, forth) for t in other.terms)
        return Arrow(self.domain, other.codomain, terms, inverse, self.mono and other.mono, self.epi and other.epi and whole)

    def __matmul__(self, other: Arrow) -> Arrow:
        """`f × g`, side by side on disjoint axes."""
        inverse = None if self.inverse is None or other.inverse is None else self.inverse + other.inverse
        domain, codomain = self.domain @ other.domain, self.codomain @ other.codomain
        return Arrow(domain, codomain, self.terms + other.terms, inverse, self.mono and other.mono, self.epi and other.epi)

    def __invert__(self) -> Arrow:
        """The inverse of an iso; of a mono, the iso from its image back to its domain. Raises ValueError when no inverse is known."""
        if self.inverse is None or not self.mono:
            raise ValueError(f"no inverse is known of {self}")
        return Arrow(self.image, self.domain, self.inverse, self.terms, mono=True, epi=True)

    @property
    def image(self) -> Box:
        """The sub-box of the codomain that a mono hits: where the inverse lies in the domain and comes back."""
        if self.iso:
            return self.codomain
        if self.inverse is None:
            raise ValueError(f"no inverse is known of {self}")
        back = dict(zip(self.domain.names, self.inverse, strict=True))
        returns = (equal(substitute(t, back), v) for t, v in zip(self.terms, self.codomain.variables, strict=True))
        guard = conjunction(self.domain.contains(self.inverse), *returns)
        return self.codomain.guarded(*conjuncts(simplify(guard, self.codomain)))

    @property
    def lands(self) -> Term:
        """The obligation that the arrow is total: a guard over the domain, `true` when it is so by structure."""
        return simplify(self.codomain.contains(self.terms), self.domain)

    def normal(self) -> Arrow:
        """The same arrow with its terms simplified on its boxes."""
        inverse = self.inverse and tuple(simplify(t, self.codomain) for t in self.inverse)
        return replace(self, terms=tuple(simplify(t, self.domain) for t in self.terms), inverse=inverse)

    def restrict(self, *guards: Term) -> Arrow:
        """The arrow on the sub-box of its domain where the guards hold. An iso stays one, onto the guards carried along it."""
        domain = self.domain.guarded(*guards)
        if not self.iso or self.inverse is None:
            return replace(self, domain=domain, epi=self.epi and domain == self.domain)
        back = dict(zip(self.domain.names, self.inverse, strict=True))
        carried = (simplify(substitute(g, back), self.codomain) for g in guards)
        return replace(self, domain=domain, codomain=self.codomain.guarded(*carried))

    def __call__(self, point: Point, sizes: Mapping[str, int]) -> Point:
        """Where a point goes, for given sizes."""
        values = self.domain.at(point, sizes)
        return tuple(evaluate(t, values) for t in self.terms)

    def graph(self, sizes: Mapping[str, int]) -> dict[Point, Point]:
        """Every point of the domain and where it goes, for given sizes, by brute force."""
        return {point: self(point, sizes) for point in self.domain.points(sizes)}


def identity(box: Box) -> Arrow:
    """`X → X`."""
    return Arrow(box, box, box.variables, box.variables, mono=True, epi=True)


def agree(f: Arrow, g: Arrow, sizes: Mapping[str, int]) -> bool:
    """Whether two arrows are equal, for given sizes: the same domain, and the same value at each of its points."""
    return f.graph(sizes) == g.graph(sizes)


def honest(f: Arrow, sizes: Mapping[str, int]) -> bool:
    """Whether everything that an arrow claims is so, for given sizes: it lands, its flags hold, its inverse inverts."""
    graph = f.graph(sizes)
    image, codomain = set(graph.values()), set(f.codomain.points(sizes))
    total = image <= codomain
    one_to_one = len(image) == len(graph)
    undone = f.inverse is None or all(tuple(evaluate(t, f.codomain.at(y, sizes)) for t in f.inverse) == x for x, y in graph.items())
    return total and undone and (one_to_one or not f.mono) and (image == codomain or not f.epi)


def cases(f: Arrow, g: Arrow) -> Arrow:
    """`f + g`, by cases on disjoint sub-boxes of one domain (warp roles, body and tail). Raises ValueError if they are not disjoint by form.

    Where the codomains are disjoint too, a sum of isos is an iso.

    >>> from tinygpu.category.box import box
    >>> from tinygpu.category.term import Var
    >>> x, body = box(i=Var("n")), Var("i") < Var("m")
    >>> both = cases(identity(x.guarded(body)), identity(x.guarded(negation(body))))
    >>> print(both)
    [i < n] → [i < n] : (i)  iso
    """
    if f.domain.axes != g.domain.axes or f.codomain.axes != g.codomain.axes:
        raise ValueError("cases need the same axes")
    apart = splitter(f.domain.guard, g.domain.guard)
    if apart is None:
        raise ValueError(f"not disjoint by form: {text(f.domain.guard)}, {text(g.domain.guard)}")
    terms = tuple(select(apart, a, b) for a, b in zip(f.terms, g.terms, strict=True))
    domain = Box(f.domain.axes, either(f.domain.guard, g.domain.guard))
    beyond = splitter(f.codomain.guard, g.codomain.guard)
    if beyond is None:
        same = f.codomain == g.codomain
        codomain = f.codomain if same else Box(f.codomain.axes, either(f.codomain.guard, g.codomain.guard))
        return Arrow(domain, codomain, terms, epi=f.epi or g.epi if same else f.epi and g.epi)
    codomain = Box(f.codomain.axes, either(f.codomain.guard, g.codomain.guard))
    inverse = None
    if f.inverse is not None and g.inverse is not None:
        inverse = tuple(select(beyond, a, b) for a, b in zip(f.inverse, g.inverse, strict=True))
    return Arrow(domain, codomain, terms, inverse, f.mono and g.mono, f.epi and g.epi)


def opposite(guard: Term) -> Term:
    """The complement of a guard, comparisons turned round: that of `a < b` is `a >= b`."""
    match guard:
        case App(op, args, dtype) if op in OPPOSITE:
            return App(OPPOSITE[op], args, dtype)
    return negation(guard)


def splitter(first: Term, second: Term) -> Term | None:
    """A part of the first guard whose complement is a part of the second: the proof that they are disjoint."""
    others = {opposite(part) for part in conjuncts(second)} | {negation(part) for part in conjuncts(second)}
    return next((part for part in conjuncts(first) if part in others or opposite(part) in conjuncts(second)), None)


def either(first: Term, second: Term) -> Term:
    """The disjunction of two guards: what they share, and where they are complements nothing more."""
    a, b = conjuncts(first), conjuncts(second)
    shared = tuple(part for part in a if part in b)
    left, right = (conjunction(*(part for part in side if part not in shared)) for side in (a, b))
    if left == negation(right) or right == negation(left) or left == opposite(right) or opposite(left) == right:
        return conjunction(*shared)
    if left == right:
        return conjunction(*shared, left)
    return conjunction(*shared, App("or", (left, right), "bool"))


def _meet(first: Box, second: Box) -> None:
    """Whether arrows may be composed between these boxes. Raises ValueError."""
    axes = [(a.name, simplify(a.extent, Box())) for a in first.axes]
    if axes != [(a.name, simplify(a.extent, Box())) for a in second.axes]:
        raise ValueError(f"{first} is not {second}")
    if missing := set(conjuncts(second.guard)) - set(conjuncts(first.guard)):
        raise ValueError(f"{first} does not promise {text(conjunction(*missing))}")
