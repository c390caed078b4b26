"""Witnesses: for an arrow given by terms, the point of its domain that a target point should come from.

Comes in: the terms of an arrow, its domain axes, a target. Goes out: a term for every axis. The one idea: a linear form
`Σ cᵢ·xᵢ` whose coefficients are the products of the smaller extents is a number in mixed radix, and its digits are the inverse.
Nothing here is trusted: a wrong witness makes a formula that does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise
from operator import mul

from tinygpu.category.affine import linear
from tinygpu.category.linear import Polynomial, divide, number, plus, polynomial, term_of
from tinygpu.category.settle import solve
from tinygpu.category.term import (
    INDEX,
    App,
    Axis,
    Const,
    Term,
    Var,
    ceildiv,
    conjuncts,
    reads,
    rebuild,
    substitute,
    text,
    variables,
    walk,
)

Equations = list[tuple[Term, Term]]
HIGH, LOW = " high", " low"  # no name of a program ends in these


def preimage(terms: Iterable[Term], axes: tuple[Axis, ...], targets: Iterable[Term], guard: Term) -> dict[str, Term]:
    """`terms(w) = targets` solved for the axes `w`; an axis in no term is what the guard says it equals, or 0.

    >>> from tinygpu.category.term import text, lift, TRUE
    >>> g, t = Var("g"), Var("t")
    >>> w = preimage((g * 256 + t,), (Axis("g", Var("G")), Axis("t", lift(256))), (Var("i"),), TRUE)
    >>> {name: text(term) for name, term in w.items()}
    {'t': 'i % 256', 'g': 'i // 256'}
    """
    known: dict[str, Term] = {}
    equations = merged([*zip(terms, targets, strict=True), *_said(guard, {a.name for a in axes})])
    equations, turns = turned(equations, axes)
    turning = frozenset[str]().union(*(variables(own) for own, _ in turns.values()))
    plain = (*(a for a in axes if a.name not in turning), *turns)
    equations, numbers = numbered(equations, plain)
    equations, halves = halved(equations, (*plain, *numbers))
    waiting = {a.name: a for a in (*plain, *numbers, *halves)}
    while equations:
        equations.sort(key=lambda e: len(variables(e[0]) & set(waiting)))
        term, target = equations.pop(0)
        found = digits(substitute(term, known), target, waiting)
        for name, value in found.items():
            known[name] = value
            del waiting[name]
    for high, low in zip(halves[::2], halves[1::2], strict=True):
        known[high.name[: -len(HIGH)]] = known.pop(high.name, Const(0)) * low.extent + known.pop(low.name, Const(0))
    for one, whole in numbers.items():
        known |= digits(whole, known.pop(one.name, Const(0)), {a.name: a for a in plain if a.name not in known})
    for axis in axes:
        if axis.name not in known:
            known[axis.name] = _from_guard(axis.name, guard, known)
    for digit, (own, whole) in turns.items():
        known |= turned_back(digit, own, whole, {a.name: a for a in axes}, known)
    return known


def _said(guard: Term, names: set[str]) -> Iterator[tuple[Term, Term]]:
    """What a guard says that terms over the axes equal: `t % 32 == 0`."""
    for part in conjuncts(guard):
        match part:
            case App("eq", (a, b)) if a.dtype == INDEX and not reads(part):
                for term, target in ((a, b), (b, a)):
                    if isinstance(term, App) and variables(term) & names and not variables(target) & names:
                        yield term, target


def _same(a: Term, b: Term) -> bool:
    return polynomial(a) == polynomial(b)


def turned(equations: Equations, axes: tuple[Axis, ...]) -> tuple[Equations, dict[Axis, tuple[Term, Term]]]:
    """Axes that stand only in one rotation `(E + …) % n`, where they make a number `E` of at most n values: the digit that the rotation is,
    with E and all that is turned.

    >>> from tinygpu.category.term import text, lift
    >>> y, x, k = map(Var, "yxk")
    >>> new, turns = turned([(y, k), ((x + y * 8) % 32, k)], (Axis("y", lift(4)), Axis("x", lift(32))))
    >>> [text(e) for e, _ in new], [(text(own), text(whole)) for own, whole in turns.values()]
    (['y', 'x turned'], [('x', 'x + y*8')])
    """
    found: dict[Axis, tuple[Term, Term]] = {}
    for turn in dict.fromkeys(t for e, _ in equations for t in walk(e)):
        match turn:
            case App("mod", (whole, Const(int(n)) as places)) if not isinstance(whole, Var):
                away = [(_exchanged(e, {turn: Var("")}), target) for e, target in equations]
                form, elsewhere = linear(whole), frozenset[str]().union(*(variables(e) for e, _ in away))
                own = [a for a in axes if form.coefficient(Var(a.name)) and a.name not in elsewhere]
                rest = form.without(*(Var(a.name) for a in own))
                values = reduce(mul, (a.extent.value if isinstance(a.extent, Const) else n + 1 for a in own), 1)
                if own and values <= n and not variables(rest.term()) & {a.name for a in own}:
                    digit = Axis(f"{' '.join(a.name for a in own)} turned", places)
                    equations = [(_exchanged(e, {turn: Var(digit.name)}), target) for e, target in equations]
                    found[digit] = form.plus(rest, -1).term(), whole
    return equations, found


def turned_back(digit: Axis, own: Term, whole: Term, axes: dict[str, Axis], known: dict[str, Term]) -> dict[str, Term]:
    """The axes of `own` where `whole % n` is a digit: those of the digit less what else is in the rotation."""
    rest = linear(whole).plus(linear(own), -1).term()
    number = known.pop(digit.name, Const(0)) - substitute(rest, known)
    if any(c < 0 for _, c in linear(own).parts):
        own, number = Const(0) - own, Const(0) - number
    return digits(own, number % digit.extent, axes)


def numbered(equations: Equations, axes: tuple[Axis, ...]) -> tuple[Equations, dict[Axis, Term]]:
    """Axes that stand only together, as one number `ty·16 + tx` under `//` and `%`, as one axis each; and the term that it is.

    >>> from tinygpu.category.term import text, lift
    >>> y, x, k, m = map(Var, "yxkm")
    >>> new, whole = numbered([((y * 16 + x) // 32, k), ((y * 16 + x) % 32 * 4, m)], (Axis("y", lift(16)), Axis("x", lift(16))))
    >>> [text(term) for term, _ in new], [(text(a.extent), text(t)) for a, t in whole.items()]
    (['y*16 + x number // 32', 'y*16 + x number % 32*4'], [('256', 'y*16 + x')])
    """
    numbers: dict[Axis, Term] = {}
    names = {a.name for a in axes}
    inside = [t.args[0] for e, _ in equations for t in walk(e) if isinstance(t, App) and t.op in ("floordiv", "mod")]
    for whole in dict.fromkeys(inside):
        mine = variables(whole) & names
        if len(mine) < 2 or any(isinstance(t, App) and t.op in ("floordiv", "mod") for t in walk(whole)):
            continue
        extent: Term = Const(1)
        for axis in axes:
            extent = extent * axis.extent if axis.name in mine else extent
        number = Axis(f"{text(whole)} number", extent)
        new = [(_exchanged(e, {whole: Var(number.name)}), target) for e, target in equations]
        if not any(variables(e) & mine for e, _ in new):
            equations, numbers[number] = new, whole
    return equations, numbers


def halved(equations: Equations, axes: tuple[Axis, ...]) -> tuple[Equations, tuple[Axis, ...]]:
    """Axes that stand in `t // n` and `t % n` alone as two axes each, high and low, of which they are made.

    >>> from tinygpu.category.term import text, lift
    >>> t, k, m = Var("t"), Var("k"), Var("m")
    >>> new, halves = halved([(t // 16, k), (t % 16, m)], (Axis("t", lift(256)),))
    >>> [text(term) for term, _ in new], [text(a.extent) for a in halves]
    (['t high', 't low'], ['16', '16'])
    """
    halves: list[Axis] = []
    for axis in axes:
        x = Var(axis.name)
        divisors = {t.args[1] for e, _ in equations for t in walk(e) if isinstance(t, App) and t.op == "mod" and t.args[0] == x}
        if len(divisors) != 1 or variables(n := divisors.pop()) & {a.name for a in axes}:
            continue
        high, low = Axis(axis.name + HIGH, ceildiv(axis.extent, n)), Axis(axis.name + LOW, n)
        parts: dict[Term, Term] = {x // n: Var(high.name), x % n: Var(low.name), x: Var(high.name) * n + Var(low.name)}
        for t in (t for e, _ in equations for t in walk(e)):
            match t, n:  # x // (n·m) is (x // n) // m
                case App("floordiv", (y, Const(int(wide)))), Const(int(narrow)) if y == x and wide % narrow == 0 < wide - narrow:
                    parts[t] = Var(high.name) // (wide // narrow)
        new = [(_exchanged(e, parts), target) for e, target in equations]
        if not any(axis.name in variables(e) for e, _ in new):
            equations = new
            halves += [high, low]
    return equations, tuple(halves)


def _exchanged(term: Term, parts: dict[Term, Term]) -> Term:
    return parts[term] if term in parts else rebuild(term, lambda t: _exchanged(t, parts))


def merged(equations: Equations) -> Equations:
    """`E // n = q` and `E % n = r` are one equation, `E = q·n + r`; so are `E // (d·m) = q` and `E // d % m = r`."""
    for left, q in equations:
        for right, r in equations:
            match left, right:
                case App("floordiv", (e, n)), App("mod", (f, m)) if e == f and n == m:
                    rest = [x for x in equations if x[0] not in (left, right)]
                    return merged([*rest, (e, q * n + r)])
                case App("floordiv", (e, n)), App("mod", (App("floordiv", (f, d)) as digit, m)) if e == f and _same(n, d * m):
                    rest = [x for x in equations if x[0] not in (left, right)]
                    return merged([*rest, (digit, q * m + r)])
    return equations


def digits(term: Term, target: Term, axes: dict[str, Axis]) -> dict[str, Term]:
    """The axes of an index term as digits of `target`, smallest stride first.

    >>> from tinygpu.category.term import text, lift
    >>> a, b, E = Var("a"), Var("b"), Var("E")
    >>> found = digits((a * 3 + 1) * E + b, Var("k"), {"a": Axis("a", lift(3)), "b": Axis("b", E)})
    >>> {name: text(value) for name, value in found.items()}
    {'b': '(k - E) % E', 'a': '(k - E) // (E*3)'}
    """
    match term:
        case App("min" | "max", (a, b)):  # a clamped index: where the clamp does nothing, it is the index
            return digits(a if variables(a) & set(axes) else b, target, axes)
    strides, rest = split_strides(polynomial(term), axes)
    value = linear(target).plus(linear(term_of(rest)), -1).term() if rest and not _a_digit(rest, strides, axes) else target
    down = [name for name, stride in strides.items() if all(c < 0 for c in stride.values())]
    if strides and len(down) == len(strides):
        strides = {name: plus({}, stride, -1) for name, stride in strides.items()}
        value, down = linear(Const(0) - value).term(), []
    for name in down:  # counted from the other end
        strides[name] = plus({}, strides[name], -1)
        value = linear(value + term_of(strides[name]) * (axes[name].extent - 1)).term()
    # smallest stride first; of equal strides the one with the fewest values, which may be one
    places = sorted(strides, key=lambda name: (_rank(strides[name]), _rank(polynomial(axes[name].extent))))
    within_ = _reduced(value, [number(strides[name]) for name in places])
    out: dict[str, Term] = {}
    base: Polynomial = {(): 1}
    for position, name in enumerate(places):
        value = within_[position] if within_ else value
        # strides that are multiples of a symbolic one are digits of the quotient by it, which keeps the other divisions constant
        ratio = divide(strides[name], base)[0]
        if not number(ratio):
            value, base, ratio = value // (term_of(ratio) if ratio else Const(1)), strides[name], {(): 1}
        digit = value // term_of(ratio)
        last = position == len(places) - 1
        above = None if last else strides[places[position + 1]]
        out[name] = digit if above is None else digit % _radix(strides[name], axes[name].extent, above)
        if name in down:
            out[name] = axes[name].extent - 1 - out[name]
    return out


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


def _from_guard(name: str, guard: Term, known: dict[str, Term]) -> Term:
    for part in conjuncts(guard):
        match part:
            case App("eq", (a, b)):
                point = solve(a, b, name)
                if point is not None:
                    return substitute(point, known)
            case App("lt", (a, Const(int(n)))) if linear(a).coefficient(Var(name)) == -n:  # and 0 <= a: a quotient
                return substitute(linear(a).without(Var(name)).term() // n, known)
    return Const(0)
