"""The assignment of one equation: the owner arrow from the factors it uses to its indices, with the guard of its tails.

Comes in: an equation, its placements, the table of factors. Goes out: `owner : D → axes × fold axes`, an iso where the factors say so.
The one idea: each placement is an arrow (digits, merged digits, or a term), and the owner is all of them side by side.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tinygpu.category.decide import holds
from tinygpu.category.linear import polynomial
from tinygpu.category.owner import Arrow, digits, inferred
from tinygpu.category.region import Region, points
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Term, apply, conjuncts, substitute, text, variables, walk
from tinygpu.diagnostic import NOWHERE, Label, Span
from tinygpu.model.extent import same
from tinygpu.model.op import Equation
from tinygpu.model.prefix import Prefix, diagonal
from tinygpu.model.problems import UNKNOWN
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.model.work import Factor, Placement, doubly_placed
from tinygpu.record import dataclass, field, replace

Placed = Mapping[str, Placement | None]  # of each index; None for one that is wrong
CONSTANT = ("block", "register", "vector")


@dataclass(frozen=True, slots=True)
class Setting:
    """What the equations of one machine share: names, factors, hypotheses, the place of its work object.

    `misplaced`: a compute line names no index, and that has been said; then an index without a line is not complained about.

    `inferred` and `used` grow: the extents found so far (and for which equation), the factors that some equation has.
    """

    scope: Scope
    table: Mapping[str, Factor]
    where: Term = TRUE
    place: Span = NOWHERE
    misplaced: bool = False
    inferred: dict[str, tuple[Term, str]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)


def indices(equation: Equation, scope: Scope) -> tuple[Axis, ...]:
    """The axes of an equation, then those of its folds; folds that bind one name share it."""
    axes = {a.name: a for a in equation.axes}
    for term in walk(equation.value):
        for axis in term.axes if isinstance(term, Fold) else ():
            first = axes.setdefault(axis.name, axis)
            if not same(first.extent, axis.extent):
                scope.problems.say("TG112.folds", axis.span, first.span, name=axis.name, a=first.extent, b=axis.extent)
    return tuple(axes.values())


def owner(equation: Equation, placed: Placed, setting: Setting) -> Arrow | None:
    """The owner arrow of an equation; None after a message."""
    axes = {a.name: a for a in indices(equation, setting.scope)}
    along = diagonal(equation, (*placed, *setting.table))  # the indices of prefix folds that run along the factors of another index
    chosen = _chosen(equation, axes, placed, along, setting)
    for one in chosen or ():
        setting.used.update(one.factors)
    if chosen is None or doubly_placed(chosen, setting.scope.problems):
        return None
    arrows = [_arrow(one, axes, equation, setting) for one in chosen]
    whole = [a for a in arrows if a is not None]
    return _side_by_side(whole, tuple(axes.values()), chosen, setting, along) if len(whole) == len(arrows) else None


def _chosen(
    equation: Equation, axes: Mapping[str, Axis], placed: Placed, along: Collection[str], setting: Setting
) -> list[Placement] | None:
    """One placement for each index (merged ones once); None after a message."""
    chosen: list[Placement] = []
    complete = True
    for name, axis in axes.items():
        if name in along:
            continue
        factor = setting.table.get(name)
        own = Placement((name,), (name,), factor.span, (factor.span,)) if factor else None
        one = placed.get(name, own)
        if name in placed and one is None:
            complete = False  # said already
        elif one is None or not set(one.indices) <= set(axes):
            _unplaced(equation, axis, one, axes, setting)
            complete = False
        elif one not in chosen:
            chosen.append(one)
    return chosen if complete else None


def _unplaced(equation: Equation, axis: Axis, one: Placement | None, axes: Collection[str], setting: Setting) -> None:
    if setting.misplaced:
        return
    words = {"name": axis.name, "target": equation.target, "folded": ", folded" if axis.sort == "reduction" else ""}
    if one is not None:
        missing = " and ".join(i for i in one.indices if i not in axes)
        setting.scope.problems.say("TG133.merged", one.span, axis.span, missing=missing, **words)
    else:
        setting.scope.problems.say("TG133.index", setting.place, axis.span, **words)


def _arrow(one: Placement, axes: Mapping[str, Axis], equation: Equation, setting: Setting) -> Arrow | None:
    """`factors → indices` of one placement."""
    targets = tuple(axes[i] for i in one.indices)
    if one.term is not None:
        return _by_term(one, targets[0], setting)
    total = points(targets)
    if not {*one.indices} <= {a.name for a in equation.axes}:
        total = _natural(total, setting.where)
    factors = _with_extents(one, total, equation, setting)
    if factors is None or not _lawful(factors, one, setting):
        return None
    return digits(targets, factors, setting.where)


def _natural(extent: Term, where: Term) -> Term:
    """How far a fold goes, where it is written as a difference: over nothing, where that is negative. Arrays have no such extents."""
    less = any(c < 0 for c in polynomial(extent).values())
    return apply("max", extent, 0) if less and not holds(extent >= 0, Region((), conjuncts(where))) else extent


def _with_extents(one: Placement, total: Term, equation: Equation, setting: Setting) -> tuple[Axis, ...] | None:
    """The factors as axes; the one without an extent covers the index."""
    table = [setting.table[name] for name in one.factors]
    if any(f.extent is not None and f.extent.dtype == UNKNOWN for f in table):
        return None
    open_ = [f for f in table if f.extent is None]
    if len(open_) > 1:
        names, indices = " and ".join(f.name for f in open_), " and ".join(one.indices)
        labels = (Label(f.span, f"{f.name} has no extent") for f in open_)
        example = _example(next((f for f in open_ if f.carried), open_[-1]), total)
        setting.scope.problems.say("TG132.both", one.span, *labels, names=names, indices=indices, example=example)
        return None
    known = tuple(Axis(f.name, f.extent, f.sort, f.span) for f in table if f.extent is not None)
    if not open_:
        return known
    extent = inferred(total, known, setting.where)
    if not _agreed(open_[0], extent, equation, one, setting):
        return None
    return tuple(Axis(f.name, extent if f.extent is None else f.extent, f.sort, f.span) for f in table)


def _example(factor: Factor, extent: Term) -> str:
    """A factor with an extent, as one might write it."""
    return f"{factor.name}: ceil({text(extent)} / 1024)" if factor.sort == "grid" else f"{factor.name}: 4"


def _agreed(factor: Factor, extent: Term, equation: Equation, one: Placement, setting: Setting) -> bool:
    """Whether a factor of the work object gets one extent from all equations; says so if not. Loops may differ."""
    before, target = setting.inferred.setdefault(factor.name, (extent, equation.target))
    if not factor.carried or same(before, extent):
        return True
    words = {"name": factor.name, "before": before, "first": target, "extent": extent, "target": equation.target}
    setting.scope.problems.say("TG137.inferred", factor.span, one.span, **words)
    return False


def _lawful(factors: Iterable[Axis], one: Placement, setting: Setting) -> bool:
    """The rules of the single factors of an index."""
    problems = setting.scope.problems
    before = len(problems)
    for factor in factors:
        name, sort = factor.name, factor.sort
        if sort in CONSTANT and not isinstance(factor.extent, Const):
            message = "TG136.block" if sort == "block" else "TG136.thread"
            problems.say(message, factor.span, name=name, sort=sort, extent=factor.extent)
        elif sort == "vector" and one.term is None and name != one.factors[-1]:
            problems.say("TG135.vector", one.place(name), factor.span, name=name, last=one.factors[-1])
    return len(problems) == before


def _by_term(one: Placement, target: Axis, setting: Setting) -> Arrow | None:
    """An index that is given by a term: nothing is claimed, all of it will be proved."""
    assert one.term is not None
    term = index(one.term, setting.scope.with_indices(dict.fromkeys(setting.table)))
    if term.dtype == UNKNOWN:
        return None
    names = [n for n in setting.table if n in variables(term)]
    setting.used.update(names)
    table = [setting.table[n] for n in names]
    for factor in table:
        if factor.extent is None:
            example = _example(factor, target.extent)
            setting.scope.problems.say("TG138.term", factor.span, one.span, name=factor.name, example=example)
    factors = tuple(Axis(f.name, f.extent, f.sort, f.span) for f in table if f.extent is not None and f.extent.dtype != UNKNOWN)
    if len(factors) < len(table) or not _lawful(factors, one, setting):
        return None
    below = any(isinstance(t, App) and t.op in ("sub", "neg") for t in walk(term))
    return Arrow(Region(factors).under(term >= 0 if below else TRUE, term < target.extent), (target,), (term,))


def _side_by_side(
    arrows: list[Arrow], axes: tuple[Axis, ...], chosen: Iterable[Placement], setting: Setting, along: Mapping[str, Prefix]
) -> Arrow:
    """All placements as one arrow, its domain in the order of the table, its codomain in the order of the equation.

    An index that runs `along` another one is that one; where it is the mirror of it, it has the factors, and the other one mirrors it.
    """
    domain = {a.name: a for arrow in arrows for a in arrow.domain.axes}
    ordered = [n for n in setting.table if n in domain]
    terms = {n: t for arrow in arrows for n, t in arrow.by_axis.items()}
    terms.update({name: terms[one.bound] for name, one in along.items()})
    terms.update({one.bound: substitute(one.end, {one.bound: terms[name]}) for name, one in along.items()})
    spans = {i: one.span for one in chosen for i in one.indices}
    spans.update({name: spans[one.bound] for name, one in along.items()})
    here = Region(tuple(domain[n] for n in ordered)).under(*(part for arrow in arrows for part in arrow.domain.guard))
    return Arrow(here, tuple(replace(a, span=spans[a.name]) for a in axes), tuple(terms[a.name] for a in axes))
