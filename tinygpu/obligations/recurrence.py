"""Loops in closed form: what a cell holds before iteration x, and after the loop.

    new(f) without the previous value          →  after the loop, the value of the last iteration
    new(f) = previous(f) ⊕ contributions       →  old(f) ⊕ the fold of the contributions over the iterations
    new(f) = value if f == e(x) else previous  →  the value at x = e⁻¹(f), or old(f)
    new(f) = value if x < b else previous(f)       →  the value at the last x of those, or old(f)
    new(f) = v if v > previous(f) else previous(f)  →  a maximum

Comes in: the value of a cell at the end of an iteration, over that at the start. Goes out: two closed forms, or None. Only `previous(f)` is the cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.bounds import divided
from tinygpu.category.corner import at_corner
from tinygpu.category.known import Known, nonnegatives
from tinygpu.category.linear import ONE, as_written, constant, number, plus, polynomial, solve, stride, without
from tinygpu.category.monoid import Monoid, monoids_on
from tinygpu.category.settle import within
from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    exchange,
    fresh,
    memoised,
    rebuild,
    select,
    substitute,
    tensors,
    variables,
    walk,
)
from tinygpu.obligations.anew import after, before
from tinygpu.obligations.made import opened
from tinygpu.obligations.shape import combine, flatten
from tinygpu.obligations.signs import summed, without_units
from tinygpu.record import replace

UNSOLVED = "!"  # a cell whose loop has no closed form


def mentions(term: Term, tensor: str) -> bool:
    """Whether a term reads `tensor`."""
    return tensor in tensors(term)


def one_point(fold: Fold) -> Fold:
    """Law 2: an axis that the guard fixes is no axis. `⊕[x < n, x == s] b` is `b at x = s if 0 <= s < n`.

    >>> from tinygpu.category.term import lift
    >>> x, f = Var("x"), Var("f")
    >>> fold = Fold("sum", (Axis("x", lift(8)),), App("eq", (f, x), "bool"), Read("a", (x,), "f32"), "f32")
    >>> one_point(fold).axes, one_point(fold).body
    ((), Read(tensor='a', index=(Var(name='f', dtype='index'),), dtype='f32'))
    """
    fold = fresh(fold, {name for a in fold.axes for name in variables(a.extent)})  # an extent becomes a guard
    for axis in fold.axes:
        if (point := place(fold.guard, axis.name)) is not None:
            return _at(fold, axis, point)
    return fold


def place(condition: Term, name: str) -> Term | None:
    """The only point of an axis where a condition may hold, `x` of `x == s` and of `0 ≤ a − n·x < n`; None where it is not seen to be one.

    >>> from tinygpu.category.settle import within
    >>> from tinygpu.category.term import lift, text
    >>> text(place(within(Var("f") - Var("x") * 8, lift(8)), "x")), place(within(Var("f") - Var("x") * 8, lift(9)), "x")
    ('f // 8', None)
    """
    parts = conjuncts(condition)
    for part in parts:
        match part:
            case App("eq", (a, b)) if (point := solve(a, b, name)) is not None:
                return point
            case App("lt", (a, Const(int(n)))) if n > 0 and App("le", (Const(0), a), part.dtype) in parts:
                form, own = polynomial(a), (Var(name),)
                others = as_written(without(form, own))
                if form.get(own) == -n and name not in variables(others):
                    return others // n
    return None


def _at(fold: Fold, axis: Axis, point: Term) -> Fold:
    """The fold without an axis that has one point."""
    bind = {axis.name: point}
    guard, rest = conjunction(within(point, axis.extent), substitute(fold.guard, bind)), (x for x in fold.axes if x is not axis)
    return one_point(replace(fold, axes=tuple(rest), guard=guard, body=substitute(fold.body, bind)))


def over(fold: Fold, axis: Axis) -> Fold:
    """The fold of a fold over one more axis, outermost (Fubini). A binder of an earlier loop of that name is another one."""
    inner = fresh(fold, {axis.name, *variables(axis.extent)})
    return one_point(Fold(inner.monoid, (axis, *inner.axes), inner.guard, inner.body, inner.dtype, inner.span))


def close(axis: Axis, previous: Read, new: Term, old: Term) -> tuple[Term, Term] | None:
    """`(value before iteration x, value after the loop)` of one cell, both over its formals; None where no form fits.

    `new` is the value after an iteration; in it `previous`, a read at the formals, stands for the value before; `old` is the value
    before the loop.
    """
    x, new = axis.name, summed(without_units(opened(new, previous.tensor), previous), previous.tensor)
    if not mentions(new, previous.tensor):
        if x not in variables(new):
            return select(Var(x) > 0, new, old), select(axis.extent > 0, new, old)
        return before(axis, new, old), after(axis, new, old)
    if new == previous:
        return old, old
    match new:
        case App("select", (condition, value, rest)):
            return _close_guarded(axis, previous, condition, value, rest, old)
    return _close_fold(axis, previous, new, old)


def at_home(term: Term, condition: Term, previous: Read) -> Term:
    """The term where a condition holds: reads of `previous` at what the condition says the formals are become `previous` itself."""
    same = (part.args for part in conjuncts(condition) if isinstance(part, App) and part.op == "eq")
    pins = {b: a for pair in same for a, b in (pair, pair[::-1])}
    pinned = tuple(pins.get(formal, formal) for formal in previous.index)

    @memoised
    def put(t: Term) -> Term:
        return previous if isinstance(t, Read) and t.tensor == previous.tensor and t.index == pinned else rebuild(t, put)

    return put(term)


def _close_guarded(axis: Axis, previous: Read, condition: Term, value: Term, rest: Term, old: Term) -> tuple[Term, Term] | None:
    x, name = axis.name, previous.tensor
    if x not in variables(condition) and not mentions(condition, name):
        yes, no = close(axis, previous, at_home(value, condition, previous), old), close(axis, previous, rest, old)
        return (select(condition, yes[0], no[0]), select(condition, yes[1], no[1])) if yes and no else None
    if mentions(condition, name):
        extreme = larger(condition, previous, value) if rest == previous else ""
        return _close_fold(axis, previous, App(extreme, (previous, value), previous.dtype), old) if extreme else None
    if rest != previous:
        return _close_chosen(axis, previous, select(condition, value, rest), old)
    if mentions(value, name):
        if (found := _close_fold(axis, previous, value, old, condition)) is not None:
            return found
        match value:
            case App("select", (further, inner, same)) if same == previous:
                return _close_guarded(axis, previous, conjunction(condition, further), inner, previous, old)
    if (point := place(condition, x)) is not None:  # one iteration writes the cell, and sees what it was before the loop
        value = _begun(at_home(value, condition, previous), previous, old)
        there, written = (substitute(t, {x: point}) for t in (condition, value))
        before, after = (conjunction(within(point, end), there) for end in (Var(x), axis.extent))
        return None if mentions(value, name) else (select(before, written, old), select(after, written, old))
    return None if mentions(value, name) else _close_last(axis, previous, condition, value, old)


def _begun(value: Term, previous: Read, old: Term) -> Term:
    """The value with what was there before the loop for `previous`; as it is where a binder in it has a name of that."""
    bound = {a.name for t in walk(value) if isinstance(t, Fold) for a in t.axes}
    return value if bound & variables(old) else exchange(value, {previous: old})


def _close_last(axis: Axis, previous: Read, condition: Term, value: Term, old: Term) -> tuple[Term, Term] | None:
    """A cell that is written again and again, or a slot of a ring, `(x + c) % n == f`: what it holds is of the last iteration that fell on it,
    `y = w−1 − (w−1 + c − f) % n` of those before w; a guard `x < b` ends the writing, a guard `x ≥ b` begins it."""
    x, parts = axis.name, conjuncts(condition)
    slots = [slot for part in parts if (slot := _slot(part, x)) is not None]
    part, e, f, n = slots[0] if slots else (TRUE, Const(0), Const(0), 1)
    found = [ends(other, x) for other in parts if other != part and x in variables(other)]
    if not slots and (None in found or not found):
        return None
    stops = [] if None in found else [end for several in found for end in several or ()]
    # an iteration that other guards kept from writing leaves what an earlier one wrote, which is not followed
    rest = Read(f"{previous.tensor} ring{UNSOLVED}", (*previous.index, Var(x)), previous.dtype) if None in found else old

    def before(now: Term, stops: Sequence[Term]) -> Term:
        """What the iterations before one left: where the writing ends later, those before that end."""
        if stops:
            end, *further = stops
            later = plus(polynomial(end), polynomial(now), -1)
            if at_corner(later, Known.of({x: axis.extent})):
                return before(now, further)
            return before(end, further) if number(later) else select(now <= end, before(now, further), before(end, further))
        last = now - 1 - (substitute(e, {x: now - 1}) - f) % n if slots else now - 1
        there = conjunction(last >= 0, substitute(condition, {x: last}))
        otherwise = old if rest == old else select(last < 0, old, substitute(rest, {x: now}))
        return select(there, substitute(value, {x: last}), otherwise)

    return before(Var(x), stops), before(axis.extent, stops)


def _slot(part: Term, x: str) -> tuple[Term, Term, Term, int] | None:
    """`(x + c) % n == f` with its sides `x + c` and f, and n."""
    match part:
        case App("eq", (App("mod", (e, Const(int(n)))), f)) | App("eq", (f, App("mod", (e, Const(int(n)))))) if n > 0:
            pace, others = stride(polynomial(e), x)
            if pace == ONE and x not in variables(as_written(others)) | variables(f):
                return part, e, f, n
    return None


def ends(guard: Term, x: str) -> list[Term] | None:
    """Where a guard that holds between two points ends, the `b` of `x < b`; None of another one.

    >>> from tinygpu.category.term import text
    >>> x, n = Var("x"), Var("n")
    >>> [[text(b) for b in ends(g, "x")] for g in (x + 1 < n, x * 2 <= n, x >= n)], ends(x < n % x, "x")
    ([['n - 1'], ['ceil((n + 1) / 2)'], []], None)
    """
    found: list[Term] = []
    for form in nonnegatives(guard):
        pace, rest = stride(form, x)
        if pace is None or (c := number(pace)) is None:
            return None
        if c < 0:
            found.append(as_written(divided("ceildiv", plus(rest, ONE), constant(-c))))
    return found if nonnegatives(guard) else None


def _close_fold(axis: Axis, previous: Read, new: Term, old: Term, guard: Term = TRUE) -> tuple[Term, Term] | None:
    """`new`, which combines, where a guard holds: `p ⊕ v if g else p` is `p ⊕ (v if g else unit)`."""
    for monoid in monoids_on(new.dtype):
        operands = flatten(monoid.op, new)
        parts = [p for p in operands if p != previous]
        if len(parts) != len(operands) - 1 or any(mentions(p, previous.tensor) for p in parts):
            continue
        if not monoid.commutative and (operands[0] != previous or len(parts) > 1):
            continue  # the contributions of an iteration come after those of the earlier ones, and before those of the next
        folds = [
            p if guard == TRUE and isinstance(p, Fold) and p.monoid == monoid else Fold(monoid, (), guard, p, new.dtype)
            for p in parts
        ]
        earlier = f"{axis.name}'"
        past = [over(_earlier(f, axis.name, earlier), Axis(earlier, axis.extent, axis.sort)) for f in folds]
        every = [over(f, axis) for f in folds]
        return combine(monoid.op, new.dtype, old, *past), combine(monoid.op, new.dtype, old, *every)
    return None


def larger(condition: Term, previous: Read, value: Term) -> str:
    """`max` where a condition says that the value is larger than the one before, `min` where smaller; then `v if v > p else p` is it.

    >>> p, v = Read("p", (), "f32"), Read("x", (), "f32")
    >>> larger(App("gt", (v, p), "bool"), p, v), larger(App("ge", (p, v), "bool"), p, v), larger(App("eq", (p, v), "bool"), p, v)
    ('max', 'min', '')
    """
    match condition:
        case App("gt" | "ge" | "lt" | "le" as op, (a, b)) if {a, b} == {value, previous} and not mentions(value, previous.tensor):
            return "max" if (op in ("gt", "ge")) == (a == value) else "min"
    return ""


def _close_chosen(axis: Axis, previous: Read, new: Term, old: Term) -> tuple[Term, Term] | None:
    """`p ⊕ v if c else p ⊕ w` is `p ⊕ (v if c else w)`."""
    for monoid in monoids_on(new.dtype):
        if (added := contributed(new, monoid, previous)) is not None:
            return _close_fold(axis, previous, App(monoid.op, (previous, added), new.dtype), old)
    return None


@memoised
def contributed(new: Term, monoid: Monoid, previous: Read) -> Term | None:
    """`v` with `new = previous ⊕ v`, by its choices; None where it has none."""
    unit = monoid.unit(new.dtype)
    match new:
        case _ if new == previous:
            return unit
        case App("select", (condition, *branches)) if not mentions(condition, previous.tensor):
            yes, no = (contributed(branch, monoid, previous) for branch in branches)
            return None if yes is None or no is None else select(condition, yes, no)
        case App(op, (first, second), dtype) if op == monoid.op:
            if mentions(first, previous.tensor) == mentions(second, previous.tensor):
                return None
            inside, other = (first, second) if mentions(first, previous.tensor) else (second, first)
            added = contributed(inside, monoid, previous) if inside is first or monoid.commutative else None
            return None if added is None else other if added == unit else App(op, (added, other), dtype)
    return None


def _earlier(fold: Fold, name: str, earlier: str) -> Fold:
    """The contribution of an earlier iteration. That it is earlier is a guard, so that no extent speaks of a binder."""
    renamed = substitute(fold, {name: Var(earlier)})
    assert isinstance(renamed, Fold)
    renamed = fresh(renamed, {name, earlier})
    return replace(renamed, guard=conjunction(Var(earlier) < Var(name), renamed.guard))
