"""Conditions that are decided without a solver: what a program does, side conditions of simplification, redundant guards, covers of tiles.

Comes in: a condition and what is known where it stands. Goes out: true at every point, false at every one, or None where it is not seen.
The one idea: `a < b` is `b − a − 1 ≥ 0`, which is seen at a corner of the box, or else by a few exact moves (use a known fact, move a
division across, name a remainder) and bounds. The rest is the solver's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import TYPE_CHECKING

from tinygpu.category.bounds import least, least_positive
from tinygpu.category.corner import at_corner
from tinygpu.category.known import Known, natural
from tinygpu.category.linear import ONE, Monomial, Polynomial, constant, divide, joined, plus, polynomial, scaled, term_of, times
from tinygpu.category.term import COMPARISONS, FLOATS, FOLDED, INDEX, App, Const, Term, apply, text, total

if TYPE_CHECKING:
    from tinygpu.category.region import Region

MOVES = 3  # moves made one after the other
TRIED = 128  # forms that moves lead to: what is seen in the library is seen within a hundred


def holds(guard: Term, region: Region) -> bool | None:
    """Whether a guard is seen to hold at every point of a region (True), at none (False), or neither (None), with `MOVES`.

    >>> from tinygpu.category.region import Region
    >>> from tinygpu.category.term import Axis, Var, ceildiv, equal, lift
    >>> g, t, n, e, M, N = map(Var, ("g", "t", "n", "e", "M", "N"))
    >>> tiles = Region((Axis("g", n // 256), Axis("t", lift(256))))
    >>> holds(g * 256 + t < n, tiles), holds(t >= 256, tiles), holds(t < 8, tiles)
    (True, False, None)
    >>> holds(e // N < M, Region((Axis("e", M * N),))), holds(n <= ceildiv(n, 4) * 4, Region())
    (True, True)
    >>> holds(ceildiv(n, 4) * 4 <= n, Region()), holds(ceildiv(n, 4) * 4 <= n, Region((), (equal(n % 4, 0),)))
    (None, True)
    """
    return decided(guard, Known.at(region))


def decided(guard: Term, known: Known) -> bool | None:
    """The same of what is known somewhere, which remembers it."""
    if guard not in known.decided:
        known.decided[guard] = decide(guard, known, MOVES)
    return known.decided[guard]


def decide(condition: Term, known: Known, moves: int = 0) -> bool | None:
    """Whether a condition holds everywhere (True), nowhere (False), or neither is seen (None), after at most so many moves.

    >>> from tinygpu.category.term import Var
    >>> i, box = Var("i"), Known.of({"i": Const(4)})
    >>> decide(i < 4, box), decide(i < 0, box), decide(App("eq", (i + 1, i), "bool"), box), decide(i < 3, box)
    (True, False, False, None)
    """
    match condition:
        case Const(bool(value)):
            return value
        case _ if condition in known.given:
            return True
        case App("and" | "or" as op, args):
            found = [decide(arg, known, moves) for arg in args]
            decisive = op == "or"
            return decisive if decisive in found else None if None in found else not decisive
        case App("not", (arg,)):
            inner = decide(arg, known, moves)
            return None if inner is None else not inner
        case App(op, (Const(a), Const(b))) if op in COMPARISONS and all(abs(n) in (0, 1, 2, inf) for n in (a, b)):
            return bool(FOLDED[op](a, b))  # type: ignore[arg-type]  # what every dtype has
        case App("eq" | "le" | "ge", (a, b)) if a == b and a.dtype not in FLOATS and total(a):
            return True  # of floats it is a question about the data
        case App("eq", (App("mod", (x, by)), Const(0))) if moves and multiple(polynomial(x), polynomial(by), known):
            return True
        case App(op, (a, b)) if op in COMPARISONS and a.dtype == INDEX == b.dtype:
            return _sign(op, joined(plus(polynomial(b), polynomial(a), -1)), known, moves)
    return None


def digits_hold(condition: Term, known: Known) -> bool:
    """Whether a comparison is seen to hold where each digit that is taken away is the largest there is: a remainder one less than its divisor,
    a quotient as large as a fact says of what is divided.

    >>> from tinygpu.category.term import Var
    >>> x, r, N, M, K = map(Var, "xrNMK")
    >>> rows, columns = N // K, M // K
    >>> known = Known.of({"r": K}, frozenset({x < rows * columns, K >= 1}))
    >>> digits_hold(x // columns * K + r < N, known), digits_hold(x % columns * K + r < M, known), digits_hold(x // columns * K + r < N - 1, known)
    (True, True, False)
    """
    match condition:
        case App("lt" | "le" as op, (a, b)) if a.dtype == INDEX == b.dtype:
            p = plus(plus(polynomial(b), polynomial(a), -1), ONE if op == "lt" else {}, -1)
            for monomial, c in [(m, c) for m, c in p.items() if c < 0 and all(map(natural, m))]:
                for atom, most in ((atom, _digit(atom, known)) for atom in monomial):
                    if most is not None:
                        p = plus(plus(p, {monomial: c}, -1), times({others(monomial, atom): c}, most))
                        break
            return nonnegative(p, known, MOVES)
    return decide(condition, known, MOVES) is True


def _digit(atom: Term, known: Known) -> Polynomial | None:
    """The largest value of a remainder, and of a quotient `a // b` where a fact says `a < q·b`."""
    match atom:
        case App("mod", (_, b)) if _divides(b, known):
            return plus(polynomial(b), ONE, -1)
        case App("floordiv", (a, b)) if _divides(b, known):
            for fact in known.sizes.facts:
                quotient, rest = divide(plus(plus(fact, polynomial(a)), ONE), polynomial(b))
                if not rest and quotient:
                    return plus(quotient, ONE, -1)
    return None


def multiple(p: Polynomial, d: Polynomial, known: Known) -> bool:
    """Whether d is seen to divide p: each monomial, where the facts say what divides its atoms.

    >>> from tinygpu.category.term import Const, Var, equal
    >>> n = Var("n")
    >>> multiple(polynomial(n * 2), polynomial(Const(8)), Known.of({}, frozenset({equal(n % 4, 0)})))
    True
    """
    _, rest = divide(p, d)
    divisors = {z.args[0]: polynomial(z.args[1]) for z in sorted(known.sizes.zeros, key=text) if isinstance(z, App)}
    return all(any(not divide(part, d)[1] for part in _divisors(m, c, divisors)) for m, c in rest.items())


def _divisors(monomial: tuple[Term, ...], c: int, divisors: Mapping[Term, Polynomial]) -> Iterator[Polynomial]:
    """Numbers that divide a monomial: with an atom in it replaced by what divides that atom."""
    for atom in monomial:
        if atom in divisors:
            yield times({others(monomial, atom): c}, divisors[atom])


def _sign(op: str, rise: Polynomial, known: Known, moves: int) -> bool | None:
    """What is known of `a op b` from the form `b − a`."""
    fall = scaled(rise, -1)
    match op:
        case "gt" | "ge":
            return _sign({"gt": "lt", "ge": "le"}[op], fall, known, moves)
        case "lt":
            return True if nonnegative(plus(rise, ONE, -1), known, moves) else False if nonnegative(fall, known, moves) else None
        case "le":
            return True if nonnegative(rise, known, moves) else False if nonnegative(plus(fall, ONE, -1), known, moves) else None
    least, most = nonnegative(rise, known, moves), nonnegative(fall, known, moves)
    if least and most:
        return op == "eq"
    apart = (least and nonnegative(plus(rise, ONE, -1), known, moves)) or (most and nonnegative(plus(fall, ONE, -1), known, moves))
    return op == "ne" if apart else None


def nonnegative(p: Polynomial, known: Known, moves: int = 0) -> bool:
    """Whether `p ≥ 0` is seen to hold at every point: at a corner, or by bounds of what moves make of it."""
    return at_corner(p, known) or (moves > 0 and _bounded(p, known, moves, {}))


def _bounded(p: Polynomial, known: Known, moves: int, tried: dict[frozenset[tuple[Monomial, int]], int]) -> bool:
    """Whether bounds show it after at most so many moves; the same moves in another order lead to what was `tried`."""
    form = frozenset(p.items())
    if tried.get(form, -1) >= moves or len(tried) >= TRIED:
        return False
    tried[form] = moves
    low = least(p, known)
    if low is not None and known.positive(low):
        return True
    return moves > 0 and any(_bounded(q, known, moves - 1, tried) for q in _sufficient(p, low, known))


def _sufficient(p: Polynomial, low: Polynomial | None, known: Known) -> Iterator[Polynomial]:
    """Polynomials of which each, where not negative, shows that p is not negative; the first is its lower bound."""
    if low is not None and low != p:
        yield low
    less = {m for m, c in p.items() if c < 0}
    for fact, negative in zip(known.sizes.facts, known.sizes.negative, strict=True):
        if less.isdisjoint(negative):
            continue  # a fact that takes nothing negative away helps nothing
        if m := next((m for m in fact if m and p.get(m, 0) * fact[m] > 0), None):
            yield plus(p, fact, -max(1, p[m] // fact[m]))
    for monomial, c in p.items():
        rest, alone = plus(p, {monomial: c}, -1), len(monomial) == 1
        for atom in monomial:
            match atom:
                case App("floordiv" | "ceildiv" as op, (a, b)) if _divides(b, known):
                    if alone and abs(c) == 1:
                        yield _across(op, c, polynomial(a), polynomial(b), rest)
                    yield from _named(op, a, b, {others(monomial, atom): c}, rest, known)
                case App("mod", (_, b)) if alone and c < 0 and _divides(b, known):
                    yield plus(rest, plus(polynomial(b), constant(-1)), c)
                case App("min" | "max" as op, args) if alone and (c < 0) == (op == "min"):
                    # a minimum is at most either, a maximum at least either
                    yield from (plus(rest, polynomial(arg), c) for arg in args)


def _divides(divisor: Term, known: Known) -> bool:
    return least_positive(plus(polynomial(divisor), constant(-1)), known)


def others(monomial: Monomial, atom: Term) -> Monomial:
    """The atoms of a monomial without one of them."""
    position = monomial.index(atom)
    return monomial[:position] + monomial[position + 1 :]


def _named(op: str, a: Term, b: Term, scale: Polynomial, rest: Polynomial, known: Known) -> Iterator[Polynomial]:
    """`k·b·(a // b)` written as `k·(a − a % b)`, and `k·b·⌈a / b⌉` as `k·(a + (−a) % b)`: only the remainder is to be bounded."""
    k, left = divide(scale, polynomial(b))
    if left or not k:
        return
    x, sign = polynomial(a), -1 if op == "floordiv" else 1
    part = x
    if apply("mod", a, b) not in known.sizes.zeros:
        part = plus(x, polynomial(apply("mod", term_of(plus({}, x, -sign)), b)), sign)
    yield plus(rest, times(k, part))


def _across(op: str, sign: int, a: Polynomial, d: Polynomial, rest: Polynomial) -> Polynomial:
    """A polynomial that is not negative iff `rest ± (a div d)` is: the division moved to the other side, with nothing lost."""
    more = plus(rest, constant(1))
    match op, sign:
        case "floordiv", 1:  # a // d >= -rest  iff  a >= -rest·d
            return plus(a, times(rest, d))
        case "floordiv", _:  # a // d <= rest  iff  a < (rest + 1)·d
            return plus(plus(times(more, d), constant(-1)), a, -1)
        case "ceildiv", 1:  # ⌈a / d⌉ > -(rest + 1)  iff  a > -(rest + 1)·d
            return plus(plus(a, times(more, d)), constant(-1))
    return plus(times(rest, d), a, -1)  # ⌈a / d⌉ <= rest  iff  a <= rest·d
