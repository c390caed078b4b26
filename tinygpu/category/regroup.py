"""Equations between index terms, in other axes: turned, numbered, halved or listed, so that each is a linear form of axes that stand nowhere else.

Comes in: equations `term = target` and the axes of the terms. Goes out: equations that say the same of fewer or simpler axes, and what the new
axes are made of. The one idea: axes that stand only together, in one rotation or in one number, are one axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import gcd
from operator import mul

from tinygpu.category.evaluate import evaluate
from tinygpu.category.linear import as_written, plus, polynomial, without
from tinygpu.category.term import App, Axis, Const, Term, Var, ceildiv, exchange, reads, text, variables, walk

Equations = list[tuple[Term, Term]]
LISTED = 64  # numbers of an axis that is looked at number by number
HIGH, LOW = " high", " low"  # no name of a program ends in these


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
                away = [(exchange(e, {turn: Var("")}), target) for e, target in equations]
                form, elsewhere = polynomial(whole), frozenset[str]().union(*(variables(e) for e, _ in away))
                own = [a for a in axes if (Var(a.name),) in form and a.name not in elsewhere]
                rest = without(form, *((Var(a.name),) for a in own))
                values = reduce(mul, (a.extent.value if isinstance(a.extent, Const) else n + 1 for a in own), 1)
                if own and values <= n and not variables(as_written(rest)) & {a.name for a in own}:
                    digit = Axis(f"{' '.join(a.name for a in own)} turned", places)
                    equations = [(exchange(e, {turn: Var(digit.name)}), target) for e, target in equations]
                    found[digit] = as_written(plus(form, rest, -1)), whole
    return equations, found


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
        new = [(exchange(e, {whole: Var(number.name)}), target) for e, target in equations]
        if not any(variables(e) & mine for e, _ in new):
            equations, numbers[number] = new, whole
    return equations, numbers


def halved(equations: Equations, axes: tuple[Axis, ...]) -> tuple[Equations, tuple[Axis, ...]]:
    """Axes that stand in `t // n` and `t % n` alone as two axes each, high and low, of which they are made; these again.

    >>> from tinygpu.category.term import text, lift
    >>> t, k, m = Var("t"), Var("k"), Var("m")
    >>> new, halves = halved([(t // 16, k), (t % 16, m)], (Axis("t", lift(256)),))
    >>> [text(term) for term, _ in new], [text(a.extent) for a in halves]
    (['t high', 't low'], ['16', '16'])
    >>> new, halves = halved([(t // 16, k), (t // 8 % 2 * m + t % 8, m)], (Axis("t", lift(256)),))
    >>> [text(term) for term, _ in new], [text(a.extent) for a in halves]
    (['t high high', 't high low*m + t low'], ['32', '8', '16', '2'])
    """
    halves: list[Axis] = []
    whole = list(axes)
    for axis in whole:
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
        new = [(exchange(e, parts), target) for e, target in equations]
        if not any(axis.name in variables(e) for e, _ in new):
            equations = new
            halves += [high, low]
            whole += [high, low]
    return equations, tuple(halves)


def listed(equations: Equations, axes: tuple[Axis, ...]) -> tuple[Equations, dict[str, tuple[tuple[Axis, ...], tuple[int, ...]]]]:
    """Short axes that stand in terms which are no digits of theirs, as on Hilbert's curve: an axis for each such term, and the axis listed by
    what these are, in the order of their rows.

    >>> from tinygpu.category.term import lift
    >>> h, y, x = map(Var, "hyx")
    >>> new, lists = listed([(h // 2, y), ((h // 2 + h) % 2 * 16, x)], (Axis("h", lift(4)),))
    >>> listed([(Var("h") % (Var("h") - 1), y)], (Axis("h", lift(4)),))[1]  # somewhere that has no value
    {}
    >>> [text(term) for term, _ in new], [entries for _, entries in lists.values()]
    (['h listed 0', 'h listed 1*16'], [(0, 1, 3, 2)])
    """
    lists: dict[str, tuple[tuple[Axis, ...], tuple[int, ...]]] = {}
    for axis in axes:
        mine = [(place, polynomial(e)) for place, (e, _) in enumerate(equations) if axis.name in variables(e)]
        owned = {p: {m: c for m, c in form.items() if any(axis.name in variables(atom) for atom in m)} for p, form in mine}
        parts = {place: as_written(form) for place, form in owned.items()}
        extent = int(axis.extent.value) if isinstance(axis.extent, Const) else 0
        plain = all(m == (Var(axis.name),) for form in owned.values() for m in form)
        if plain or not 1 < extent <= LISTED or any(len(variables(part)) > 1 or reads(part) for part in parts.values()):
            continue
        try:
            found = {p: [int(evaluate(part, {axis.name: one})) for one in range(extent)] for p, part in parts.items()}
        except ZeroDivisionError:  # then some entry has no value
            continue
        new, digits, columns = list(equations), [], []
        for place, form in mine:
            values = found[place]
            low, step = min(values), gcd(*(v - min(values) for v in values)) or 1
            column = [(v - low) // step for v in values]
            digit = Axis(f"{axis.name} listed {place}", Const(max(column) + 1))
            rest = as_written(without(form, *owned[place]))
            new[place] = rest + low + Var(digit.name) * step, equations[place][1]
            digits.append(digit)
            columns.append(column)
        rows = [
            reduce(lambda n, one: n * (max(one[1]) + 1) + one[0], zip(row, columns, strict=True), 0)
            for row in zip(*columns, strict=True)
        ]
        if len({*rows}) == len(rows) and max(rows) < LISTED * LISTED:
            numbers = dict(zip(rows, range(extent), strict=True))
            equations, lists[axis.name] = new, (tuple(digits), tuple(numbers.get(row, 0) for row in range(max(rows) + 1)))
    return equations, lists


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


def paired(left: Sequence[Term], right: Sequence[Term]) -> Equations:
    """The equations of two tuples, place by place; digits of one number on either side are that number. Divisors are at least 1 (TG404).

    >>> from tinygpu.category.term import text
    >>> a, b = Var("a"), Var("b")
    >>> [(text(x), text(y)) for x, y in paired((a // 6, a // 3 % 2, a % 3), (b // 6, b // 3 % 2, b % 3))]
    [('a', 'b')]
    """
    places = [Var(f"place {n}") for n, _ in enumerate(left)]
    one, two = (merged([*zip(terms, places, strict=True)]) for terms in (left, right))
    alike = [place for _, place in one] == [place for _, place in two]
    return [(a, b) for (a, _), (b, _) in zip(one, two, strict=True)] if alike else [*zip(left, right, strict=True)]


def _same(a: Term, b: Term) -> bool:
    return polynomial(a) == polynomial(b)
