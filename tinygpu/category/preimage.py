"""Witnesses: for an arrow given by terms, the point of its domain that a target point should come from.

Comes in: the terms of an arrow, its domain axes, a target. Goes out: a term for every axis. The one idea: a linear form
`Σ cᵢ·xᵢ` whose coefficients are the products of the smaller extents is a number in mixed radix, and its digits are the inverse.
Nothing here is trusted: a wrong witness makes a formula that does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise
from math import gcd
from operator import add

from tinygpu.category.evaluate import evaluate
from tinygpu.category.inverse import undone
from tinygpu.category.linear import Polynomial, as_written, divide, number, plus, polynomial, scaled, solve, term_of, times
from tinygpu.category.regroup import HIGH, halved, listed, merged, numbered, turned
from tinygpu.category.term import (
    INDEX,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjuncts,
    reads,
    substitute,
    variables,
    walk,
)

FEW = 32  # numbers of an axis that are tried
BELOW = "below "  # the digit below those of a range; no name of a program ends so


def preimage(
    terms: Iterable[Term], axes: tuple[Axis, ...], targets: Iterable[Term], guard: Term, promises: tuple[Term, ...] = ()
) -> dict[str, Term]:
    """`terms(w) = targets` solved for the axes `w`; an axis in no term is what the guard says it equals, or 0.

    >>> from tinygpu.category.term import text, lift, TRUE
    >>> g, t = Var("g"), Var("t")
    >>> w = preimage((g * 256 + t,), (Axis("g", Var("G")), Axis("t", lift(256))), (Var("i"),), TRUE)
    >>> {name: text(term) for name, term in w.items()}
    {'t': 'i % 256', 'g': 'i // 256'}
    """
    known: dict[str, Term] = {}
    equations = merged([*undone(zip(terms, targets, strict=True), promises), *_said(guard, {a.name for a in axes})])
    equations, turns = turned(equations, axes)
    turning = frozenset[str]().union(*(variables(own) for own, _ in turns.values()))
    plain = (*(a for a in axes if a.name not in turning), *turns)
    equations, numbers = numbered(equations, plain)
    equations, halves = halved(equations, (*plain, *numbers))
    equations, lists = listed(equations, (*plain, *numbers, *halves))
    waiting = {
        a.name: a
        for a in (*plain, *numbers, *halves, *(digit for own, _ in lists.values() for digit in own))
        if a.name not in lists
    }
    while equations:
        equations.sort(key=lambda e: len((variables(e[0]) | variables(e[1])) & set(waiting)))
        term, target = (substitute(t, known) for t in equations.pop(0))
        found = digits(term, target, waiting)
        for name, value in found.items():
            known[name] = value
            del waiting[name]
    for name, (columns, entries) in lists.items():
        row: Term = Const(0)
        for column in columns:
            row = row * column.extent + known.pop(column.name, Const(0))
        known[name] = App("table", (row % len(entries), *map(Const, entries)))  # of a target that is not reached, some number
    for low, high in zip(halves[::-2], halves[-2::-2], strict=True):
        known[high.name[: -len(HIGH)]] = known.pop(high.name, Const(0)) * low.extent + known.pop(low.name, Const(0))
    for one, whole in numbers.items():
        known |= digits(whole, known.pop(one.name, Const(0)), {a.name: a for a in plain if a.name not in known})
    known |= _from_ranges(guard, {a.name: a for a in axes if a.name not in known}, known)
    for axis in axes:
        if axis.name not in known:
            known[axis.name] = _from_guard(axis.name, guard, known, {a.name for a in axes} - known.keys())
    for digit, (own, whole) in turns.items():
        known |= turned_back(digit, own, whole, {a.name: a for a in axes}, known)
    return known


def _said(guard: Term, names: set[str]) -> Iterator[tuple[Term, Term]]:
    """What a guard says that terms over the axes equal: `t % 32 == 0`, `t == 0`."""
    for part in conjuncts(guard):
        match part:
            case App("eq", (a, b)) if a.dtype == INDEX and not reads(part):
                for term, target in ((a, b), (b, a)):
                    if isinstance(term, App | Var) and variables(term) & names and not variables(target) & names:
                        yield term, target


def turned_back(digit: Axis, own: Term, whole: Term, axes: dict[str, Axis], known: dict[str, Term]) -> dict[str, Term]:
    """The axes of `own` where `whole % n` is a digit: those of the digit less what else is in the rotation."""
    rest = as_written(plus(polynomial(whole), polynomial(own), -1))
    number = known.pop(digit.name, Const(0)) - substitute(rest, known)
    if any(c < 0 for m, c in polynomial(own).items() if m):
        own, number = Const(0) - own, Const(0) - number
    return digits(own, number % digit.extent, axes)


def digits(term: Term, target: Term, axes: dict[str, Axis]) -> dict[str, Term]:
    """The axes of an index term as digits of `target`, smallest stride first.

    >>> from tinygpu.category.term import text, lift
    >>> a, b, E = Var("a"), Var("b"), Var("E")
    >>> found = digits((a * 3 + 1) * E + b, Var("k"), {"a": Axis("a", lift(3)), "b": Axis("b", E)})
    >>> {name: text(value) for name, value in found.items()}
    {'b': '(k - E) % E', 'a': '(k - E) // E // 3'}
    """
    match term:
        case App("min" | "max", (a, b)):  # a clamped index: where the clamp does nothing, it is the index
            return digits(a if variables(a) & set(axes) else b, target, axes)
        case App("xor", (a, b)) if bool(own := variables(a) & set(axes)) != bool(variables(b) & set(axes)):
            return digits(a, target ^ b, axes) if own else digits(b, target ^ a, axes)
    strides, rest = split_strides(polynomial(term), axes)
    value = as_written(plus(polynomial(target), rest, -1)) if rest and not _a_digit(rest, strides, axes) else target
    down = [name for name, stride in strides.items() if all(c < 0 for c in stride.values())]
    if strides and len(down) == len(strides):
        strides = {name: plus({}, stride, -1) for name, stride in strides.items()}
        value, down = as_written(scaled(polynomial(value), -1)), []
    for name in down:  # counted from the other end
        strides[name] = plus({}, strides[name], -1)
        value = as_written(polynomial(value + term_of(strides[name]) * (axes[name].extent - 1)))
    # smallest stride first; of equal strides the one with the fewest values, which may be one
    places = sorted(strides, key=lambda name: (_rank(strides[name]), _rank(polynomial(axes[name].extent))))
    if (apart := _apart(value, [(axes[name], strides[name]) for name in places])) is not None:
        return apart | {name: axes[name].extent - 1 - apart[name] for name in down}
    within_ = _reduced(value, [number(strides[name]) for name in places])
    out: dict[str, Term] = {}
    base: Polynomial = {(): 1}
    below = 1
    for position, name in enumerate(places):
        value = within_[position] if within_ else value
        # strides that are multiples of a symbolic one are digits of the quotient by it, which keeps the other divisions constant
        ratio = divide(strides[name], base)[0]
        if not number(ratio):
            value, base, ratio = quotient(value, ratio or {(): 1}, below), strides[name], {(): 1}
        below = number(ratio) or 1
        digit = value // below
        last = position == len(places) - 1
        above = None if last else strides[places[position + 1]]
        out[name] = digit if above is None else remainder(digit, _radix(strides[name], axes[name].extent, above))
        if name in down:
            out[name] = axes[name].extent - 1 - out[name]
    return out


def quotient(value: Term, by: Polynomial, below: int) -> Term:
    """`value // by`, by the stride of the digit below first: then `(k // 4 // T)·T + k // 4 % T = k // 4` is a law of division by T alone.

    >>> from tinygpu.category.term import text
    >>> text(quotient(Var("k"), polynomial(Var("T") * 12), 4))
    'k // 4 // T // 3'
    """
    common = gcd(*by.values())
    first = gcd(common, below)
    for part in (Const(first), term_of({m: c // common for m, c in by.items()}), Const(common // first)):
        value = value if part == Const(1) else value // part
    return value


def remainder(value: Term, by: Term) -> Term:
    """`value % by`, of a multiple of a symbolic number by that number first: its law of division is the one that `quotient` needs.

    >>> from tinygpu.category.term import text
    >>> text(remainder(Var("k"), Var("T") * 4)), text(remainder(Var("k"), Var("T")))
    ('k // T % 4*T + k % T', 'k % T')
    """
    factors = polynomial(by)
    common = gcd(*factors.values()) if number(factors) is None else 1
    if common < 2:
        return value % by
    whole = term_of({m: c // common for m, c in factors.items()})
    return value // whole % common * whole + value % whole


def split_strides(p: Polynomial, axes: dict[str, Axis]) -> tuple[dict[str, Polynomial], Polynomial]:
    """A polynomial as `Σ stride · axis + rest`; what is no such product stays in the rest."""
    strides: dict[str, Polynomial] = {}
    rest: Polynomial = {}
    for monomial, c in p.items():
        mine = [a for a in monomial if isinstance(a, Var) and a.name in axes]
        if len(mine) == 1 and not any(variables(a) & set(axes) for a in monomial if a is not mine[0]):
            others = tuple(a for a in monomial if a is not mine[0])
            strides.setdefault(mine[0].name, {})[others] = c
        else:
            rest[monomial] = c
    return strides, rest


def _reduced(value: Term, strides: list[int | None]) -> list[Term]:
    """What is left of a number for each digit, where a stride is no multiple of the one below it: the digits above are taken away."""
    left: list[Term] = []
    for position in reversed(range(len(strides))):
        s, above = strides[position], strides[position + 1] if position + 1 < len(strides) else 0
        if not s or above is None or s < 0:
            return []
        value = value % above if above and above % s else value
        left.append(value)
    return left[::-1] if any(b % a for a, b in pairwise(strides) if a and b) else []


def _apart(value: Term, places: list[tuple[Axis, Polynomial]]) -> dict[str, Term] | None:
    """Digits of which the highest has a symbolic stride that the numbers below it do not just fill: those are digits of what it leaves.

    >>> from tinygpu.category.term import lift, text
    >>> h, g, r, D = Axis("h", lift(2)), Axis("g", (Var("D") + 7) // 8), Axis("r", lift(8)), Var("D")
    >>> found = _apart(Var("k"), [(r, polynomial(lift(1))), (g, polynomial(lift(8))), (h, polynomial(D))])
    >>> {name: text(digit) for name, digit in found.items()}
    {'r': 'k % D % 8', 'g': 'k % D // 8', 'h': 'k // D'}
    """
    numbers = [number(s) for _, s in places]
    if len(places) < 2 or numbers[-1] is not None or None in numbers[:-1]:
        return None
    (axis, stride), (top, above) = places[-2:]
    if numbers[-2] == 1 or not divide(above, stride)[1] or times(stride, polynomial(axis.extent)) == above:
        return None
    whole, below = term_of(above), [Var(a.name) * term_of(s) for a, s in places[:-1]]
    return digits(reduce(add, below), value % whole, {a.name: a for a, _ in places[:-1]}) | {top.name: value // whole}


def _a_digit(rest: Polynomial, strides: dict[str, Polynomial], axes: dict[str, Axis]) -> bool:
    """Whether a number beside the digits is a digit of its own, so that it need not be taken away before the others are read off."""
    r = number(rest)
    if not r or r < 0:
        return False
    for name, stride in strides.items():
        s, extent = number(stride), axes[name].extent
        above = s and s > r and s % r == 0
        below = s and s > 0 and isinstance(extent, Const) and extent.value > 0 and r % (s * int(extent.value)) == 0
        if not (above or below):
            return False
    return any((number(stride) or 0) > r for stride in strides.values())  # the highest digit is what is left


def _radix(stride: Polynomial, extent: Term, above: Polynomial) -> Term:
    """How many values a digit needs: up to the next stride where that is a multiple, so that overlapping digits still reach everything."""
    s, a = number(stride), number(above)
    if s and a and isinstance(extent, Const) and s < a and a % s == 0 and a // s <= extent.value:
        return Const(a // s)
    return extent


def _rank(p: Polynomial) -> tuple[int, int]:
    """Degree, then the leading coefficient: how large a stride is, as far as its form tells."""
    degree = max(map(len, p), default=0)
    return degree, max((c for m, c in p.items() if len(m) == degree), default=0)


def _from_ranges(guard: Term, axes: dict[str, Axis], known: dict[str, Term]) -> dict[str, Term]:
    """The axes `x` of a guard `v - Σ s·x < n`, where the left side is a number itself: `v` has the digits `x` above one of `n` values.

    >>> from tinygpu.category.term import text
    >>> j, E = Axis("j", Const(16)), Var("E")
    >>> {name: text(value) for name, value in _from_ranges(Var("y") - Var("j") * E < E, {"j": j}, {}).items()}
    {'j': 'y // E'}
    """
    found: dict[str, Term] = {}
    for part in conjuncts(guard):
        match part:
            case App("lt", (a, n)) if axes and a.dtype == INDEX:
                left = {name: axis for name, axis in axes.items() if name not in found}
                strides, rest = split_strides(polynomial(substitute(a, known | found)), left)
                if strides and all(c < 0 for stride in strides.values() for c in stride.values()):
                    below = Axis(BELOW, substitute(n, known | found))
                    own = reduce(add, (Var(name) * term_of(plus({}, stride, -1)) for name, stride in strides.items()), Var(BELOW))
                    found |= digits(own, term_of(rest), {BELOW: below, **left})
                    del found[BELOW]
    return found


def _from_guard(name: str, guard: Term, known: dict[str, Term], unknown: set[str]) -> Term:
    """What a guard says that an axis equals, in terms of what is known; else the least number, mostly 0, that it lets an axis be.

    >>> from tinygpu.category.term import equal, negation
    >>> [_from_guard("h", guard, {}, set()) for guard in (Var("h") >= 3, negation(equal(Var("h"), 0)), Var("n") >= 3)]
    [Const(value=3, dtype='index'), Const(value=1, dtype='index'), Const(value=0, dtype='index')]
    """
    for part in conjuncts(guard):
        match part:
            case App("eq", (a, b)):
                point = solve(a, b, name)
                if point is not None and not variables(point) & unknown:
                    return substitute(point, known)
    alone = [p for p in conjuncts(guard) if variables(p) == {name} and not any(isinstance(t, Read | Fold) for t in walk(p))]
    return Const(next((k for k in range(FEW) if all(evaluate(p, {name: k}) for p in alone)), 0))
