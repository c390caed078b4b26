"""Which term of the equation's fold a term of the program's is, by what both read.

    A[e(k)] = A[f(d)], B[g(k)] = B[h(d)], …   ↦   k = φ(d)

Comes in: a part of the program's value and the fold of the equation. Goes out: an arrow φ between their axes, or nothing. The one idea: reads of
one tensor that are one element make equations, and what these say together goes before what one of them suggests; of several pairings that one
is right after which the fold reads what the part reads. Nothing of it is trusted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from tinygpu.category.linear import Monomial, as_written, plus, polynomial, solve, without
from tinygpu.category.regroup import Equations, merged, paired
from tinygpu.category.term import INDEX, App, Fold, Read, Term, Var, conjuncts, reads, substitute, tensors, variables, walk


def arrow(part: Fold, wanted: Fold) -> tuple[Term, ...] | None:
    """The arrow that the reads of two folds suggest: for each axis of the wanted one a term over the axes of and around `part`.

    Where nothing is read, or what is read tells nothing, as many axes are the same axes in order.
    """
    best: tuple[tuple[int, int], tuple[Term, ...]] | None = None
    binders = {a.name for a in wanted.axes}
    inner = {a.name for t in (*walk(part.body), *walk(part.guard)) if isinstance(t, Fold) for a in t.axes}
    hidden = inner - {a.name for a in part.axes}  # names of folds inside, which mean nothing here
    ours, theirs = (frozenset(_read(f)) for f in (part, wanted))
    elements = {_element(r) for r in ours}
    for choice in _choices(part, wanted):
        found: dict[str, Term] = {}
        agreed = _told(choice, found, binders, hidden)
        bounded = _bounded(part, found)
        for axis in wanted.axes:
            ends = (
                *bounded,
                *_bounded(part, {}),
            )  # where all that is there is told, one number may be two axes: of `k <= i` the `k == i`
            term = next((x for x, end in ends if polynomial(end) == polynomial(axis.extent)), None)
            if axis.name not in found and term is not None:
                found[axis.name] = term
                agreed = _told(choice, found, binders, hidden)
                bounded = _bounded(part, found)
        if binders <= set(found):
            apart = len(elements ^ {_element(r, found) for r in theirs})  # what only one of them reads then
            if best is None or (-apart, agreed) > best[0]:
                best = (-apart, agreed), tuple(found[a.name] for a in wanted.axes)
            if not apart:
                break
    return best[1] if best else None


def _read(fold: Fold) -> list[Read]:
    """What a fold reads; and what its guard compares with data, as if that were an index: `key[i] == c` tells `c` as `h[c]` does."""
    found = [*reads(fold.body), *reads(fold.guard)]
    for part in conjuncts(fold.guard):
        match part:
            case App("eq", (a, b)):
                for data, other in ((a, b), (b, a)):
                    if reads(data) and not reads(other):
                        found.append(Read(f"{','.join(sorted(tensors(data)))} ==", (other,), other.dtype))
    return found


def _element(read: Read, bind: Mapping[str, Term] | None = None) -> tuple[str, tuple[frozenset[tuple[Monomial, int]], ...]]:
    """Which element of which tensor is read, where something stands for the axes."""
    return read.tensor, tuple(frozenset(polynomial(substitute(i, bind or {})).items()) for i in read.index)


def _told(choice: list[tuple[Read, Read]], found: dict[str, Term], binders: set[str], hidden: set[str]) -> int:
    """What pairs of reads tell of the axes, into `found`; and how many indices agree then. What is linear, alone or with the digits of one
    number together, is told before what only has the same form: a part of `c // 4` is no part of `t // 16`."""
    while True:  # an axis may stand beside one that another read tells
        pairs = [(substitute(t, found), here) for ours, theirs in choice for here, t in zip(ours.index, theirs.index, strict=True)]
        told = next(_telling([*pairs, *_numbers(pairs, binders)], binders - set(found), hidden), None)
        if told is None:
            return sum(polynomial(here) == polynomial(there) for there, here in pairs)
        found.update([told])


def _telling(pairs: Equations, unknown: set[str], hidden: set[str]) -> Iterator[tuple[str, Term]]:
    """The axes that an equation alone tells, and what they are."""
    for way in (partial(solve, only=False), like):
        for there, here in pairs:
            names = variables(there) & unknown
            if len(names) == 1:
                (name,) = names
                point = way(there, here, name)
                if point is not None and not variables(point) & hidden:
                    yield name, point


def _numbers(pairs: Equations, binders: set[str]) -> Equations:
    """What digits of one number are together: of `k // N = b` and `k % N = r`, `k = b·N + r`."""
    apart = [
        (there, here) for there, here in dict.fromkeys(pairs) if variables(there) & binders and any(map(_divides, walk(there)))
    ]
    if len(apart) < 2:
        return []
    alone: Equations = []
    for there, here in apart:
        form = polynomial(there)
        rest = {m: c for m, c in form.items() if not any(variables(atom) & binders for atom in m)}
        alone.append((as_written(without(form, *rest)), as_written(plus(polynomial(here), rest, -1))))
    return [
        pair for pair in (*paired(*zip(*alone, strict=True)), *merged(alone)) if pair not in alone
    ]  # digits of one number there too


def _divides(term: Term) -> bool:
    return isinstance(term, App) and term.op in ("floordiv", "mod")


def _bounded(part: Fold, found: dict[str, Term]) -> list[tuple[Term, Term]]:
    """The numbers of a fold's terms that no axis is told by, and where they end: `c*32 + t < n` in its guard, and its axes."""
    ends = [c.args for c in conjuncts(part.guard) if isinstance(c, App) and c.op == "lt" and c.args[0].dtype == INDEX]
    ends += [(Var(a.name), a.extent) for a in part.axes]
    told = frozenset[str]().union(*map(variables, found.values()))
    return [(x, end) for x, end in ends if variables(x) & {a.name for a in part.axes} - told]


def like(pattern: Term, term: Term, name: str) -> Term | None:
    """What `name` is where `pattern` has the form of `term`: first-order matching, for indices that are not linear.

    >>> from tinygpu.category.term import text
    >>> k, c = Var("k"), Var("c")
    >>> text(like(k * k % 7, (c * 2) * (c * 2) % 7, "k"))
    'c*2'
    """
    match pattern, term:
        case Var(own), _ if own == name:
            return term
        case App("add" | "sub" | "neg", _, "index"), _ if (point := solve(pattern, term, name, only=False)) is not None:
            return point  # a sum in another order
        case App(op, args), App(other, terms) if op == other and len(args) == len(terms):
            found = {like(p, t, name) for p, t in zip(args, terms, strict=True) if name in variables(p)}
            return found.pop() if len(found) == 1 else None
    return None


def _choices(part: Fold, wanted: Fold) -> Iterator[list[tuple[Read, Read]]]:
    """Ways to pair the reads of the wanted fold with reads of ours: for each, the first of its tensor, or the second, …"""
    ours = _read(part)
    theirs = [r for r in _read(wanted) if variables(r) & {a.name for a in wanted.axes}]
    for shift in range(max((sum(o.tensor == t.tensor for o in ours) for t in theirs), default=1)):
        pairs = []
        for position, their in enumerate(theirs):
            same = [o for o in ours if o.tensor == their.tensor and len(o.index) == len(their.index)]
            earlier = sum(t.tensor == their.tensor for t in theirs[:position])
            if same:
                pairs.append((same[(shift + earlier) % len(same)], their))
        yield pairs
