"""Folds and scans across the grid: what one launch leaves of them, and how later launches go on.

Comes in: an equation with its owner on one work object. Goes out: the prefix folds along its factors; the grid factors of each fold, the
workspace of their partial values, and the equation that is left. The one idea: a fold over (g, c) is a fold over g of folds over c, so the
equation that a later launch evaluates is the same one with the inner folds read from a workspace, and `g` an index of it. A scan takes three
launches: what each block has, what comes before each block, and the blocks again on top of that.

    part[g] = ⊕[k in block g] b(k)      before[g] = ⊕[h < g] part[h]      y[i] = before[g] ⊕ the block's own prefix

The second launch is a scan too, of one value for each block, so it is placed and derived like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from tinygpu.category.monoid import has_atomic
from tinygpu.category.term import (
    TRUE,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    memoised,
    outermost_folds,
    rebuild,
    substitute,
    variables,
    walk,
)
from tinygpu.model.extent import same
from tinygpu.model.machine import Phase
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.model.prefix import Prefix, prefixes
from tinygpu.model.problems import Problems
from tinygpu.record import replace


def scans(phase: Phase, value: Term | None = None) -> dict[Fold, Prefix]:
    """The prefix folds of a phase, or of its value in another form, that run along the factors of their bounds."""
    terms = phase.owner.by_axis
    equation = phase.equation if value is None else replace(phase.equation, value=value)
    found = prefixes(equation).items()
    return {f: one for f, one in found if one.index in terms and same(terms[one.index], substitute(one.end, terms))}


def factors(phase: Phase, fold: Fold) -> tuple[Axis, ...]:
    """The factors that a fold runs over, by the owner of its equation."""
    terms = phase.owner.by_axis
    names = frozenset().union(*(variables(terms[a.name]) for a in fold.axes))
    return tuple(a for a in phase.owner.domain.axes if a.name in names)


def fold_factors(phase: Phase) -> dict[str, Axis]:
    """The factors of all folds of an equation."""
    return {a.name: a for t in walk(phase.equation.value) if isinstance(t, Fold) for a in factors(phase, t)}


def left(phase: Phase, fold: Fold) -> tuple[Axis, ...]:
    """The grid factors of a fold that no atomic update combines, also those of a scan that earlier launches have begun."""
    return tuple(a for a in factors(phase, fold) if a.sort == "grid" and phase.ways.get(a.name) != "atomic")


def atomic(phase: Phase) -> frozenset[str]:
    """The factors that atomic updates combine."""
    return frozenset(name for name, way in phase.ways.items() if way == "atomic")


def nested(phase: Phase) -> tuple[Fold, ...]:
    """The folds that stand in other folds."""
    return tuple(t for fold in outermost_folds(phase.equation.value) for t in walk(fold.body) if isinstance(t, Fold))


def incomplete(phase: Phase) -> tuple[Axis, ...]:
    """The grid factors that an equation's folds leave open."""
    folds = (t for t in walk(phase.equation.value) if isinstance(t, Fold))
    return () if phase.before else tuple(dict.fromkeys(a for fold in folds for a in left(phase, fold)))


def partial(phase: Phase, fresh: Callable[[str], str]) -> Phase:
    """The phase with a workspace for each outermost fold that it leaves open."""
    names = tuple(fresh(f"{phase.equation.target}_part") if left(phase, f) else "" for f in outermost_folds(phase.equation.value))
    return replace(phase, parts=names)


def workspaces(phase: Phase) -> tuple[Tensor, ...]:
    """The workspaces of a phase: over the axes of its output, then over the grid factors."""
    folds = zip(outermost_folds(phase.equation.value), phase.parts, strict=False)
    axes, along = phase.equation.axes, scans(phase)
    shapes = ((fold, name, (*without(axes, along.get(fold)), *left(phase, fold))) for fold, name in folds if name)
    return tuple(Tensor(name, fold.dtype, tuple(a.extent for a in shape), "workspace", fold.span) for fold, name, shape in shapes)


def without(axes: tuple[Axis, ...], one: Prefix | None) -> tuple[Axis, ...]:
    """The axes of an equation, but for that along which a scan goes."""
    return tuple(a for a in axes if one is None or a.name != one.bound)


def continued(phase: Phase) -> Equation:
    """The equation that is left: each fold that was begun goes on over the grid factors, now indices of the equation."""
    begun = {f: n for f, n in zip(outermost_folds(phase.equation.value), phase.parts, strict=False) if n}

    @memoised
    def change(term: Term) -> Term:
        if not isinstance(term, Fold) or term not in begun:
            return term if isinstance(term, Fold) else rebuild(term, change)
        grid = left(phase, term)
        axes = tuple(Axis(a.name, a.extent, "reduction", a.span) for a in grid)
        index = tuple(Var(a.name) for a in (*phase.equation.axes, *grid))
        return Fold(term.monoid, axes, TRUE, Read(begun[term], index, term.dtype, term.span), term.dtype, term.span)

    return replace(phase.equation, value=change(phase.equation.value))


def check_atomic(phase: Phase, op: Op, problems: Problems) -> None:
    """Whether a fold may be combined by atomic updates of an output: it is all there is, and the hardware has them. Says if not."""
    clause = next((r for r in phase.reduce if r.by == "atomic"), None)
    if clause is None:
        return
    target, value = phase.equation.target, phase.equation.value
    words: dict[str, object] = {"target": target, "factors": clause.factors}
    if target not in (t.name for t in op.outputs):
        problems.say("TG534.intermediate", clause.span, phase.equation.span, **words)
    elif not isinstance(value, Fold):
        problems.say("TG534.followed", clause.span, phase.equation.span, **words)
    elif any(a.name in atomic(phase) for fold in nested(phase) for a in factors(phase, fold)):
        problems.say("TG534.nested", clause.span, phase.equation.span, **words)
    elif not has_atomic(value.monoid, value.dtype):
        problems.say("TG534.hardware", clause.span, phase.equation.span, monoid=value.monoid, dtype=value.dtype, **words)
    elif (tensor := op.tensor(target)).strided:
        problems.say("TG165.clause", clause.span, tensor.span, name=target)


def check_reduce(phase: Phase, problems: Problems) -> None:
    """Whether each `reduce` clause speaks of factors of the equation's folds, and of a way that their level has. Says if not."""
    found, target, here = fold_factors(phase), phase.equation.target, phase.equation.span
    for clause in phase.reduce:
        for name in clause.factors:
            axis, level = found.get(name), "grid" if clause.by == "atomic" else "block"
            if axis is None:
                known = [a.name for a in found.values() if a.sort in ("grid", "block")]
                message = "TG535.no_factor" if known else "TG535.alone"
                problems.say(message, clause.span, here, name=name, target=target, known=known)
            elif scans(phase) and clause.by != "shared":
                problems.say("TG535.prefix", clause.span, here, name=name, target=target, by=clause.by)
            elif axis.sort != level:
                message = {"block": "TG535.block", "grid": "TG535.grid"}.get(axis.sort, "TG535.thread")
                problems.say(message, clause.span, here, name=name, by=clause.by, sort=axis.sort)


def goes_on(phase: Phase, scan: Collection[Fold], later: int, problems: Problems) -> bool:
    """Whether the folds that the grid leaves open, some of them a scan, can go on in so many later launches that evaluate the equation: a
    scan takes two. Says if not."""
    value, names = phase.equation.value, [a.name for a in incomplete(phase)]
    inner = next((t for t in nested(phase) if left(phase, t)), None)
    folds = [f for f in outermost_folds(value) if left(phase, f)]
    scan = scan if folds else ()
    fold = inner if inner and not scan else folds[0]
    if scan and any(f not in scan for f in folds):
        message = "TG533.beside"
    elif scan and any(len(left(phase, f)) > 1 for f in folds):
        message = "TG533.several"
    elif scan and later < 2:
        message = "TG533.prefix"
    elif scan or (later and not atomic(phase) and not inner):
        return True
    elif inner:
        message = "TG533.nested"
    elif atomic(phase):
        message = "TG533.rest"
    elif value == fold and has_atomic(fold.monoid, fold.dtype):
        message = "TG533.atomic"
    else:
        message = "TG533.further"
    words = {"monoid": fold.monoid, "target": phase.equation.target, "names": names, "first": names[0], "over": ", ".join(names)}
    problems.say(message, fold.span, phase.span, **words)
    return False


# ── scans ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def blocks(phase: Phase) -> dict[Fold, tuple[Prefix, Axis]]:
    """The scans that the grid leaves open, each with its factor of the grid."""
    return {f: (one, left(phase, f)[0]) for f, one in scans(phase).items() if left(phase, f)}


def whole_fold(one: Prefix, equation: Equation) -> Fold:
    """The fold of all elements that a prefix goes along: what a block has."""
    axis = one.fold.axes[0]
    along = next(a for a in equation.axes if a.name == one.bound)
    inside = () if along.extent == axis.extent else (Var(axis.name) < axis.extent,)
    return replace(one.fold, guard=conjunction(one.rest, *inside))


def heads(phase: Phase, fresh: Callable[[str], str]) -> tuple[Equation, ...]:
    """The equations of the second launch: what comes before each block, one for each scan."""
    made: list[Equation] = []
    parts = dict(zip(outermost_folds(phase.equation.value), phase.parts, strict=True))
    for fold, (one, grid) in blocks(phase).items():
        around = without(phase.equation.axes, one)
        here = Axis(grid.name, grid.extent, "data", grid.span)
        there = Axis(f"{grid.name} before", grid.extent, "reduction", grid.span)
        index = tuple(Var(a.name) for a in (*around, there))
        part = Read(parts[fold], index, fold.dtype, fold.span)
        value = Fold(fold.monoid, (there,), Var(there.name) < Var(here.name), part, fold.dtype, fold.span)
        name = fresh(f"{phase.equation.target}_before")
        made.append(Equation(name, (*around, here), value, phase.equation.span))
    return tuple(made)


def known(phase: Phase, number: int) -> Fold:
    """What comes before a block, by the inputs: `⊕[k < first index of the block] b(k)`."""
    one, grid = list(blocks(phase).values())[number]
    return replace(one.fold, guard=conjunction(one.rest, Var(one.index) < start(phase, one, grid)))


def space(head: Equation) -> Tensor:
    """The workspace of what comes before each block."""
    return Tensor(head.target, head.value.dtype, tuple(a.extent for a in head.axes), "workspace", head.span)


def check_blocks(first: Phase, last: Phase, problems: Problems) -> bool:
    """Whether the blocks of the third launch own what those of the first one do. Says if not."""
    for (one, grid), other in zip(blocks(first).values(), [left(last, f) for f in scans(last)], strict=False):
        if len(other) != 1 or other[0] != grid or start(first, one, grid) != start(last, one, other[0]):
            problems.say("TG538.blocks", last.span, first.span, target=last.equation.target, index=one.bound, factor=grid.name)
            return False
    return True


def start(phase: Phase, one: Prefix, grid: Axis) -> Term:
    """The first index of a block."""
    terms = phase.owner.by_axis
    zeros: dict[str, Term] = {a.name: Const(0) for a in phase.owner.domain.axes if a.name != grid.name}
    return substitute(terms[one.index], zeros)
