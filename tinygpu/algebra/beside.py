"""What a theorem needs beside its laws: claims over sizes and indices, for the solver.

    sizes with the preconditions exist, and the other side's follow          each side of a law          where the left side has a value, the right side has one

Comes in: a `Theorem`, and what a case of it wants. Goes out: claims. The one idea: data can be anything, so what is not seen by form is known only where the left side asks for it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from tinygpu.algebra.laws import Side, named_apart
from tinygpu.algebra.normal import normal
from tinygpu.algebra.polynomial import REAL, Unfollowed, is_truth, ring, written
from tinygpu.algebra.rounding import rounded_within
from tinygpu.algebra.sides import HELPS, MEANT, above, almost, enough, inhabited, seldom_nought
from tinygpu.category.term import (
    BOOL,
    FALSE,
    TRUE,
    App,
    Axis,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    substitute,
    text,
    variables,
    walk,
)
from tinygpu.diagnostic import Label
from tinygpu.model.theorem import Theorem
from tinygpu.obligations.obligation import Claim, Gap, Inhabited, Obligation
from tinygpu.record import dataclass

MARK = "'"  # of an index of an output: no name in a text ends in it
OTHER = "the two sides have other normal forms"


@dataclass(frozen=True, slots=True)
class Case:
    """An output at the points `index` of some axes, with what is known of them."""

    output: str
    index: tuple[Term, ...]
    axes: tuple[Axis, ...]
    facts: tuple[Term, ...]


def about(theorem: Theorem, labels: tuple[Label, ...], whom: str = "the theorem") -> Iterator[Claim]:
    """There are such sizes, and what the right side wants holds for them; `whom` it can be said of, where it does not."""
    given = (*theorem.left.where, *theorem.where)
    title = "no sizes satisfy the preconditions"
    yield Inhabited("theorem", "TG561", title, "some sizes satisfy the preconditions", given, labels)
    known = {part for guard in given for part in conjuncts(guard)}
    for guard in theorem.right.where:
        if not set(conjuncts(guard)) <= known:
            title = f"{theorem.right.name} wants more than {theorem.left.name}"
            help = f"say it of {whom}: where {text(guard)}"
            yield Obligation("theorem", "TG561", title, text(guard), given, guard, labels, help)
    if set(theorem.right.promises) - set(theorem.left.promises):
        yield Gap(
            "theorem", "TG561", "other promises", f"{theorem.right.name} promises more of its data than {theorem.left.name}", labels
        )
    yield from _rounded(theorem, given, labels)


def _rounded(theorem: Theorem, given: tuple[Term, ...], labels: tuple[Label, ...]) -> Iterator[Claim]:
    """The right side is rounded as much as it says, at most."""
    left, right, times = theorem.left, theorem.right, theorem.within
    for name, goal in rounded_within(left, right, times).items() if times is not None else ():
        if goal is None:
            reason = f"there is no bound of {name}, which is made by a function, or by a division by data"
            yield Gap("theorem", "TG567", "nothing says how far rounding goes", reason, labels)
            continue
        said = f"the bound of rounding of {name} is in {right.name} at most {float(times or 0):g} times what it is in {left.name}"
        help = f"both bounds are in what is shown by: tinygpu show FILE {theorem.name}"
        yield Obligation("theorem", "TG567", "it may be rounded more than is said", said, given, goal, labels, help)


def claims_of(
    theorem: Theorem, case: Case, wanted: Iterable[Side], known: Sequence[Side], labels: tuple[Label, ...], mostly: bool = False
) -> Iterator[Claim]:
    """What is wanted at a case, where what is `known` holds, as the left side asks for it: what that one asks for, and a sum that is not 0 is of something. `mostly`: off a set of measure 0."""
    given = (*theorem.left.where, *theorem.where, *_range(case.axes), *case.facts)
    known = [part for s in known for part in (s, *(almost(s) if s.kind == "above" else ())) if s.kind != "something"]
    theirs = {key: (s, names) for s in known for key, names in _told(s, _of_something(s))}
    shapes = {t.name: t.shape for t in theorem.left.inputs}
    sizes = {*theorem.left.sizes}
    for side in wanted:
        facts = (*given, *_range(side.axes), *conjuncts(side.guard))
        goal = enough(side, shapes)
        if goal is None or not _speaks(goal) <= sizes:
            ways = [] if goal is None else [goal]
            ways += [_asked(*theirs[key], names) for key, names in _told(side, _positive(side)) if key in theirs]
            form = _form(side.term) if mostly and side.kind == "unequal" else None
            ways += [way for way in (seldom_nought(form),) if way is not None] if form is not None else []
            goal = App("or", tuple(ways), BOOL) if len(ways) > 1 else ways[0] if ways else None
        sentence = MEANT[side.kind].format(text(side.term)).replace(MARK, "")
        title = OTHER if side.kind == "always" else "a side of the theorem may have no value where the other one has"
        if goal is None:
            yield Obligation("theorem", "TG561", title, sentence, facts, FALSE, labels, HELPS[side.kind])
        elif goal != TRUE:
            yield Obligation("theorem", "TG561", title, sentence, facts, goal, labels, HELPS[side.kind])


def _told(side: Side, boxed: bool) -> Iterator[tuple[tuple[str, Term], tuple[str, ...]]]:
    """What a side is told by, whatever its indices are called, and these in the order in which they stand there; `boxed`, also that its fold is of something, as of a fold of one number the
    value has forgotten the box."""
    bound = {a.name for a in side.axes}
    by_value = [(side.kind, _form)] if side.kind != "something" else []
    by_box = [("something", _box)] if side.kind == "something" or boxed else []
    for kind, told in (*by_value, *by_box):
        if (form := told(side.term)) is not None:
            names = tuple(dict.fromkeys(t.name for t in walk(form) if isinstance(t, Var) and t.name in bound))
            there = told(substitute(side.term, {name: Var(f"%{n}") for n, name in enumerate(names)})) if names else form
            if there is not None:
                yield (kind, there), names


def _of_something(side: Side) -> bool:
    """Whether it is one of a fold over something: a sum over nothing is 0, and a maximum −∞, which is a value, so that nobody who has a maximum asks for it."""
    return isinstance(side.term, Fold) and (side.kind, str(side.term.monoid)) in (
        ("unequal", "sum"),
        ("above", "sum"),
        ("above", "max"),
    )


def _asked(side: Side, names: Sequence[str], there: Sequence[str]) -> Term:
    """That the left side asks for it where its indices are those of there."""
    before, side = side.axes, named_apart(side, {*there})
    new = {old.name: axis.name for old, axis in zip(before, side.axes, strict=True)}
    to: dict[str, Term] = {new[name]: Var(other) for name, other in zip(names, there, strict=True)}
    axes = tuple(Axis(a.name, substitute(a.extent, to)) for a in side.axes)
    inside = _range(tuple(Axis(to[a.name].name, a.extent) for a in axes if a.name in to))  # type: ignore[union-attr]
    return conjunction(*inside, inhabited(tuple(a for a in axes if a.name not in to), substitute(side.guard, to)))


def _range(axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    return tuple(c for a in axes for c in (Var(a.name) >= 0, Var(a.name) < a.extent))


def _speaks(condition: Term) -> set[str]:
    """The indices, sizes and arrays of a condition."""
    return {*variables(condition), *(t.tensor for t in walk(condition) if isinstance(t, Read))}


def _box(term: Term) -> Term | None:
    """What a maximum, or a sum of what is 0 elsewhere, is over; nothing of what is none, or stands where indices of its place say it."""
    if not isinstance(term, Fold):
        return None
    places = [App("cast", (Var(a.name),), REAL) for a in term.axes]
    return _form(Fold("max", term.axes, _inner(term)[0], reduce(lambda p, q: App("add", (p, q), REAL), places), REAL))


def _positive(side: Side) -> bool:
    """Whether it is one of a sum that is above 0 as soon as it is of something."""
    return side.kind in ("unequal", "above") and isinstance(side.term, Fold) and above(_inner(side.term)[1]) == TRUE


def _inner(fold: Fold) -> tuple[Term, Term]:
    """The condition and the body of a fold; a sum of what is 0 elsewhere is one under a condition."""
    try:
        products = ring(fold.body, set()) if str(fold.monoid) == "sum" else {}
    except Unfollowed:
        products = {}
    if len(products) != 1:
        return fold.guard, fold.body
    (product,) = products
    truths = [t.args[0] for t, _ in product if isinstance(t, App) and is_truth(t)]
    return conjunction(fold.guard, *truths), written(tuple(f for f in product if not is_truth(f[0])))


def _form(term: Term) -> Term | None:
    """What a value is told by; nothing of one that is not followed."""
    if isinstance(term, Fold) and str(term.monoid) not in ("sum", "max", "min"):
        return None
    try:
        return normal(term).right
    except Unfollowed:
        return None
