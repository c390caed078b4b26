"""Folds and scans across the grid: what one launch leaves of them, and how later launches go on.

Comes in: an equation with its owner on one work object. Goes out: the grid factors of each fold, the workspace of their partial
values, and the equation that is left. The one idea: a fold over (g, c) is a fold over g of folds over c, so the equation that a
later launch evaluates is the same one with the inner folds read from a workspace, and `g` an index of it. A scan takes three launches:
what each block has, what comes before each block, and the blocks again on top of that.

    part[g] = ⊕[k in block g] b(k)      before[g] = ⊕[h < g] part[h]      y[i] = before[g] ⊕ the block's own prefix

The second launch is a scan too, of one value for each block, so it is placed and derived like any other.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.monoid import as_monoid, has_atomic
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var, conjunction, rebuild, substitute, variables, walk
from tinygpu.diagnostic import Label
from tinygpu.model.machine import Phase
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.model.prefix import Prefix, scans
from tinygpu.model.problems import Problems, listing
from tinygpu.record import replace


def outermost(term: Term) -> tuple[Fold, ...]:
    """The folds of a term that stand in no other fold, each once."""
    if isinstance(term, Fold):
        return (term,)
    if isinstance(term, App):
        return tuple(dict.fromkeys(f for arg in term.args for f in outermost(arg)))
    return ()


def factors(phase: Phase, fold: Fold) -> tuple[Axis, ...]:
    """The factors that a fold runs over, by the owner of its equation."""
    terms = phase.owner.by_axis
    names = frozenset().union(*(variables(terms[a.name]) for a in fold.axes))
    return tuple(a for a in phase.owner.domain.axes if a.name in names)


def folded(phase: Phase) -> dict[str, Axis]:
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
    return tuple(t for fold in outermost(phase.equation.value) for t in walk(fold.body) if isinstance(t, Fold))


def incomplete(phase: Phase) -> tuple[Axis, ...]:
    """The grid factors that an equation's folds leave open."""
    if phase.before:
        return ()
    return tuple(a for a in folded(phase).values() if a.sort == "grid" and phase.ways.get(a.name) != "atomic")


def partial(phase: Phase, fresh: Callable[[str], str]) -> Phase:
    """The phase with a workspace for each outermost fold that it leaves open."""
    names = tuple(fresh(f"{phase.equation.target}_part") if left(phase, f) else "" for f in outermost(phase.equation.value))
    return replace(phase, parts=names)


def workspaces(phase: Phase) -> tuple[Tensor, ...]:
    """The workspaces of a phase: over the axes of its output, then over the grid factors."""
    folds = zip(outermost(phase.equation.value), phase.parts, strict=False)
    axes, along = phase.equation.axes, scans(phase)
    shapes = ((fold, name, (*without(axes, along.get(fold)), *left(phase, fold))) for fold, name in folds if name)
    return tuple(Tensor(name, fold.dtype, tuple(a.extent for a in shape), "workspace", fold.span) for fold, name, shape in shapes)


def without(axes: tuple[Axis, ...], one: Prefix | None) -> tuple[Axis, ...]:
    """The axes of an equation, but for that along which a scan goes."""
    return tuple(a for a in axes if one is None or a.name != one.bound)


def continued(phase: Phase) -> Equation:
    """The equation that is left: each fold that was begun goes on over the grid factors, now indices of the equation."""
    begun = {f: n for f, n in zip(outermost(phase.equation.value), phase.parts, strict=False) if n}

    def change(term: Term) -> Term:
        if not isinstance(term, Fold) or term not in begun:
            return rebuild(term, change) if isinstance(term, App) else term
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
    place = Label(phase.equation.span, f"{target} is computed here")
    title = f"{target} cannot be combined by atomic updates"
    other = f"fold the rest in another launch: launch … {{ … }}, which goes on over {listing(clause.factors)}"
    if target not in (t.name for t in op.outputs):
        reason = f"{target} is an intermediate, and other equations need it whole"
    elif not isinstance(value, Fold):
        reason = "something follows the fold, and has to wait for all blocks"
    elif any(a.name in atomic(phase) for fold in nested(phase) for a in factors(phase, fold)):
        reason = "this fold stands in another one, which has to wait for all blocks"
        other = f"take {listing(clause.factors)} out of the grid, or compute the fold by an equation of its own"
    elif not has_atomic(value.monoid, value.dtype):
        reason = f"there is no atomic {value.monoid} of {value.dtype}"
    elif as_monoid(value.monoid).unit(value.dtype) is None:
        reason = f"{value.monoid} over {value.dtype} has no unit that the output could start from"
    else:
        return
    problems.add("TG534", title, clause.span, reason, place, help=other)


def check_reduce(phase: Phase, problems: Problems) -> None:
    """Whether each `reduce` clause speaks of factors of the equation's folds, and of a way that their level has. Says if not."""
    found, target = folded(phase), phase.equation.target
    for clause in phase.reduce:
        for name in clause.factors:
            axis, level = found.get(name), "grid" if clause.by == "atomic" else "block"
            if axis is None:
                title, reason = f"{name} is no factor of a fold of {target}", f"{target} is not folded over {name}"
                known = listing([a.name for a in found.values() if a.sort in ("grid", "block")])
                fix = f"the workers of its folds are {known}" if known else f"each thread folds {target} alone"
            elif scans(phase) and clause.by != "shared":
                title, reason = f"a prefix is not combined by {clause.by}", f"{target} goes along {name} in its order"
                fix = "leave the clause out"
            elif axis.sort != level:
                title = f"{name} cannot be combined by {clause.by}"
                reason = f"{name} is carried by {'the ' if axis.sort in ('grid', 'block') else ''}{axis.sort}"
                fix = WAYS.get(axis.sort, "leave the clause out: the thread folds it by itself")
            else:
                continue
            problems.add("TG535", title, clause.span, reason, Label(phase.equation.span, "in this equation"), help=fix)


WAYS = {
    "block": "threads of a block are combined by shuffle or by shared",
    "grid": "blocks are combined by atomic, or in a further launch",
}


def open_grid(phase: Phase, problems: Problems) -> None:
    """Says that a fold over the grid is not completed."""
    value, target, names = phase.equation.value, phase.equation.target, [a.name for a in incomplete(phase)]
    inner = next((t for t in nested(phase) if left(phase, t)), None)
    fold = inner or next(t for t in outermost(value) if left(phase, t))
    title = f"{fold.monoid} is folded across the grid: its factor {listing(names)} is carried by blocks"
    reason, fix = "blocks of one launch cannot wait for each other", f"let a further launch evaluate {target} too"
    if inner:
        reason = "it stands in another fold, which would have to wait for all blocks"
        fix = f"take {listing(names)} out of the grid, or compute the inner fold by an equation of its own"
    elif not atomic(phase):
        fix = f"a further launch that evaluates {target} goes on with it: launch final {{ work block = ({names[0]}: …) }}"
        if value == fold and has_atomic(fold.monoid, fold.dtype) and as_monoid(fold.monoid).unit(fold.dtype):
            fix = f"reduce {target} over {', '.join(names)} by atomic; or {fix}"
    problems.add("TG533", title, fold.span, reason, Label(phase.span, "placed here"), help=fix)


# ── scans ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def blocks(phase: Phase) -> dict[Fold, tuple[Prefix, Axis]]:
    """The scans that the grid leaves open, each with its factor of the grid."""
    return {f: (one, left(phase, f)[0]) for f, one in scans(phase).items() if left(phase, f)}


def whole(one: Prefix, equation: Equation) -> Fold:
    """The fold of all elements that a prefix goes along: what a block has."""
    axis = one.fold.axes[0]
    along = next(a for a in equation.axes if a.name == one.bound)
    inside = () if along.extent == axis.extent else (Var(axis.name) < axis.extent,)
    return replace(one.fold, guard=conjunction(one.rest, *inside))


def heads(phase: Phase, fresh: Callable[[str], str]) -> tuple[Equation, ...]:
    """The equations of the second launch: what comes before each block, one for each scan."""
    made: list[Equation] = []
    parts = dict(zip(outermost(phase.equation.value), phase.parts, strict=True))
    for fold, (one, grid) in blocks(phase).items():
        around = without(phase.equation.axes, one)
        here, there = (
            Axis(grid.name, grid.extent, "data", grid.span),
            Axis(f"{grid.name} before", grid.extent, "reduction", grid.span),
        )
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
            title = f"the blocks of {last.equation.target} are not those that its scan began with"
            reason, label = "placed otherwise here", Label(first.span, f"{one.bound} is placed so where the scan begins")
            fix = f"place {one.bound} alike in both launches, with the same factor {grid.name} of the grid"
            problems.add("TG538", title, last.span, reason, label, help=fix)
            return False
    return True


def start(phase: Phase, one: Prefix, grid: Axis) -> Term:
    """The first index of a block."""
    terms = phase.owner.by_axis
    zeros: dict[str, Term] = {a.name: Const(0) for a in phase.owner.domain.axes if a.name != grid.name}
    return substitute(terms[one.bound], zeros)


def check_open(phase: Phase, problems: Problems, launches: int) -> bool:
    """Whether a scan that the grid leaves open can go on in later launches. Says if not."""
    scan = scans(phase)
    target, names = phase.equation.target, ", ".join(a.name for a in incomplete(phase))
    folds = [f for f in outermost(phase.equation.value) if left(phase, f)]
    title, place = f"the prefix of {target} goes along blocks: {names} is carried by the grid", Label(phase.span, "placed here")
    if any(f not in scan for f in folds):
        reason, fix = "a fold beside it is left open too", "compute that fold by an equation of its own"
    elif any(len(left(phase, f)) > 1 for f in folds):
        reason, fix = "several factors of the grid carry it", "let one factor of the grid carry it"
    elif launches < 2:
        reason = "blocks of one launch cannot wait for each other"
        fix = f"three launches evaluate {target}: what each block has, what comes before it (placing {names}), and its prefixes"
    else:
        return True
    problems.add("TG533", title, folds[0].span, reason, place, help=fix)
    return False
