"""The generators: the few arrows that all others are composed of, each with its inverse and the guard that it brings.

Comes in: axes, boxes, and hypotheses over the sizes (`where`). Goes out: arrows that are one-to-one or onto by structure.
The one idea: what is built from these never has to be proved again. Hypotheses only drop guards that they make redundant.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.arrow import Arrow
from tinygpu.category.box import Box
from tinygpu.category.simplify import holds, simplify
from tinygpu.category.term import TRUE, Axis, Term, Var, ceildiv, conjuncts, lift, text, variables
from tinygpu.record import replace


def split(axis: Axis, by: Term | int, outer: str, inner: str, where: Term = TRUE) -> Arrow:
    """`split(n; B) : [i < n] → [q < ⌈n/B⌉, r < B | q·B + r < n]`, `i ↦ (i // B, i % B)`. Iso; the guard is gone where `B ∣ n`.

    >>> from tinygpu.category.box import box
    >>> print(split(box(i=Var("n")).axis("i"), 4, "q", "r"))
    [i < n] → [q < ceil(n / 4), r < 4 | q*4 + r < n] : (i // 4, i % 4)  iso
    >>> print(split(box(i=Var("n") * 4).axis("i"), 4, "q", "r"))
    [i < n*4] → [q < n, r < 4] : (i // 4, i % 4)  iso
    """
    by, i = lift(by), Var(axis.name)
    whole = Var(outer) * by + Var(inner)
    extent = simplify(ceildiv(axis.extent, by), Box((), where))
    axes = Box((replace(axis, name=outer, extent=extent), replace(axis, name=inner, extent=by)))
    inside = simplify(whole < axis.extent, axes.guarded(where))
    codomain = axes if inside == TRUE else axes.guarded(whole < axis.extent)
    return Arrow(Box((axis,)), codomain, (i // by, i % by), (whole,), mono=True, epi=True)


def merge(axis: Axis, by: Term | int, outer: str, inner: str, where: Term = TRUE) -> Arrow:
    """`merge(n; B) : [q, r | q·B + r < n] → [i < n]`, `(q, r) ↦ q·B + r`: the inverse of the split.

    >>> from tinygpu.category.box import box
    >>> print(merge(box(i=12).axis("i"), 4, "q", "r"))
    [q < 3, r < 4] → [i < 12] : (q*4 + r)  iso
    """
    return ~split(axis, by, outer, inner, where)


def permute(domain: Box, *names: str) -> Arrow:
    """`X → X` with its axes in another order. Iso.

    >>> from tinygpu.category.box import box
    >>> print(permute(box(i=2, j=3), "j", "i"))
    [i < 2, j < 3] → [j < 3, i < 2] : (j, i)  iso
    """
    if sorted(names) != sorted(domain.names):
        raise ValueError(f"{', '.join(names)} is no order of {domain}")
    codomain = Box(tuple(map(domain.axis, names)), domain.guard)
    return Arrow(domain, codomain, codomain.variables, domain.variables, mono=True, epi=True)


def rename(domain: Box, names: Mapping[str, str]) -> Arrow:
    """`X → X` with other names. Iso.

    >>> from tinygpu.category.box import box
    >>> print(rename(box(i=Var("n")), {"i": "t"}))
    [i < n] → [t < n] : (i)  iso
    """
    codomain = domain.rename(names)
    return Arrow(domain, codomain, domain.variables, codomain.variables, mono=True, epi=True)


def pad(axis: Axis, extent: Term | int, where: Term = TRUE) -> Arrow:
    """`pad(n → m) : [i < n] → [i < m]`, `i ↦ i`. Mono, and iso where n = m. Raises ValueError unless n ≤ m is clear.

    >>> from tinygpu.category.box import box
    >>> print(pad(box(i=Var("n")).axis("i"), ceildiv(Var("n"), 4) * 4))
    [i < n] → [i < ceil(n / 4)*4] : (i)  mono
    """
    extent = lift(extent)
    if not holds(_at_most(axis.extent, extent), Box((), where)):
        raise ValueError(f"cannot see that {text(axis.extent)} <= {text(extent)}")
    onto = holds(_at_most(extent, axis.extent), Box((), where)) is True
    i = (Var(axis.name),)
    return Arrow(Box((axis,)), Box((replace(axis, extent=extent),)), i, i, mono=True, epi=onto)


def project(domain: Box, *names: str, where: Term = TRUE) -> Arrow:
    """`X × R → X`: the axes of R forgotten. Epi where R is known to have a point and the guard does not speak of it.

    >>> from tinygpu.category.box import box
    >>> print(project(box(i=Var("n"), r=4), "r"))
    [i < n, r < 4] → [i < n] : (i)  epi
    """
    gone = [a for a in domain.axes if a.name in names]
    kept = tuple(a for a in domain.axes if a.name not in names)
    free = [g for g in conjuncts(domain.guard) if not variables(g) & set(names)]
    codomain = Box(kept).guarded(*free)
    full = all(holds(a.extent >= 1, Box((), where)) for a in gone) and len(free) == len(conjuncts(domain.guard))
    inverse = domain.variables if not gone else None
    return Arrow(domain, codomain, codomain.variables, inverse, mono=not gone, epi=full)


def replicate(codomain: Box, *axes: Axis, where: Term = TRUE) -> Arrow:
    """`X × R → X` from its codomain: what a work factor does that an equation does not mention. Reading along it is a broadcast.

    >>> from tinygpu.category.box import box
    >>> print(replicate(box(i=Var("n")), Axis("t", lift(32), "block")))
    [i < n, t < 32] → [i < n] : (i)  epi
    """
    return project(codomain @ Box(axes), *(a.name for a in axes), where=where)


def affine(domain: Box, codomain: Axis, term: Term) -> Arrow:
    """`X → [0, m)` by a term such as `i·s + k − p` (halo, stride, window). Nothing is claimed; `lands` is its obligation.

    >>> from tinygpu.category.box import box
    >>> halo = affine(box(p=Var("H"), r=3), box(h=Var("H")).axis("h"), Var("p") + Var("r") - 1)
    >>> text(halo.lands)
    'p + r - 1 >= 0 and p + r - 1 < H'
    >>> affine(box(p=Var("H"), r=3), box(h=Var("H") + 2).axis("h"), Var("p") + Var("r")).lands == TRUE
    True
    """
    return Arrow(domain, Box((codomain,)), (term,))


def _at_most(a: Term, b: Term) -> Term:
    return a <= b
