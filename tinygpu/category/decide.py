"""Guards that bounds alone decide: side conditions of simplification, redundant guards, covers of constant tiles.

Comes in: a guard and a box. Goes out: true at every point of it, false at every one, or None where it is not seen.
The one idea: a few exact moves (use a known fact, move a division across, name a remainder) and then bounds. The rest is the solver's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from tinygpu.category.box import Box
from tinygpu.category.facts import Facts, facts
from tinygpu.category.interval import least_positive, range_of
from tinygpu.category.linear import Polynomial, constant, divide, plus, polynomial, term_of, times
from tinygpu.category.term import INDEX, App, Const, Term, apply, conjuncts, text

DEPTH = 3  # moves made one after the other


@lru_cache(maxsize=4096)
def holds(guard: Term, box: Box) -> bool | None:
    """Whether a guard is seen to hold at every point of the box (True), at none (False), or neither (None).

    >>> from tinygpu.category.box import box as a_box
    >>> from tinygpu.category.term import Var, ceildiv, equal
    >>> g, t, n, e, M, N = map(Var, ("g", "t", "n", "e", "M", "N"))
    >>> tiles = a_box(g=n // 256, t=256)
    >>> holds(g * 256 + t < n, tiles), holds(t >= 256, tiles), holds(t < 8, tiles)
    (True, False, None)
    >>> holds(e // N < M, a_box(e=M * N)), holds(n <= ceildiv(n, 4) * 4, Box())
    (True, True)
    >>> holds(ceildiv(n, 4) * 4 <= n, Box()), holds(ceildiv(n, 4) * 4 <= n, Box((), equal(n % 4, 0)))
    (None, True)
    """
    match guard:
        case Const(bool(value)):
            return value
        case _ if guard in conjuncts(box.guard):
            return True
        case App("and" | "or" as op, args):
            found = [holds(arg, box) for arg in args]
            decisive = op == "or"
            return decisive if decisive in found else None if None in found else not decisive
        case App("not", (arg,)):
            inner = holds(arg, box)
            return None if inner is None else not inner
        case App("eq", (App("mod", (x, by)), Const(0))) if multiple(polynomial(x), polynomial(by), facts(box)):
            return True
        case App("lt" | "le" | "gt" | "ge" | "eq" | "ne" as op, (a, b)) if a.dtype == b.dtype == INDEX:
            return _compare(op, polynomial(a), polynomial(b), facts(box))
    return None


def multiple(p: Polynomial, d: Polynomial, known: Facts) -> bool:
    """Whether d is seen to divide p: each monomial, where the facts say what divides its atoms.

    >>> from tinygpu.category.term import Const, Var, equal
    >>> n = Var("n")
    >>> multiple(polynomial(n * 2), polynomial(Const(8)), facts(Box((), equal(n % 4, 0))))
    True
    """
    _, rest = divide(p, d)
    divisors = {z.args[0]: polynomial(z.args[1]) for z in sorted(known.zeros, key=text) if isinstance(z, App)}
    return all(any(not divide(part, d)[1] for part in _divisors(m, c, divisors)) for m, c in rest.items())


def _divisors(monomial: tuple[Term, ...], c: int, divisors: Mapping[Term, Polynomial]) -> Iterator[Polynomial]:
    """Numbers that divide a monomial: with an atom in it replaced by what divides that atom."""
    for atom in monomial:
        if atom in divisors:
            yield times({_others(monomial, atom): c}, divisors[atom])


def _compare(op: str, a: Polynomial, b: Polynomial, known: Facts) -> bool | None:
    if op in ("gt", "ge"):
        return _compare("lt" if op == "gt" else "le", b, a, known)
    up, down = plus(b, a, -1), plus(a, b, -1)
    above, below = plus(up, constant(-1)), plus(down, constant(-1))
    match op:
        case "lt":
            return True if nonnegative(above, known) else False if nonnegative(down, known) else None
        case "le":
            return True if nonnegative(up, known) else False if nonnegative(below, known) else None
    same = False if nonnegative(above, known) or nonnegative(below, known) else None
    if same is None and (not up or (nonnegative(up, known) and nonnegative(down, known))):
        same = True
    return same if op == "eq" or same is None else not same


def nonnegative(p: Polynomial, known: Facts, depth: int = DEPTH) -> bool:
    """Whether `p ≥ 0` is seen to hold at every point of the box."""
    if least_positive(p, known):
        return True
    return depth > 0 and any(nonnegative(q, known, depth - 1) for q in _sufficient(p, known))


def _sufficient(p: Polynomial, known: Facts) -> Iterator[Polynomial]:
    """Polynomials of which each, where not negative, shows that p is not negative."""
    low, _ = range_of(p, known)
    if low is not None and low != p:
        yield low
    for fact in known.known:
        if m := next((m for m in fact if m and p.get(m, 0) * fact[m] > 0), None):
            yield plus(p, fact, -max(1, p[m] // fact[m]))
    for monomial, c in p.items():
        rest, alone = plus(p, {monomial: c}, -1), len(monomial) == 1
        for atom in monomial:
            match atom:
                case App("floordiv" | "ceildiv" as op, (a, b)) if _divides(b, known):
                    if alone and abs(c) == 1:
                        yield _across(op, c, polynomial(a), polynomial(b), rest)
                    yield from _named(op, a, b, {_others(monomial, atom): c}, rest, known)
                case App("mod", (_, b)) if alone and c < 0 and _divides(b, known):
                    yield plus(rest, plus(polynomial(b), constant(-1)), c)
                case App("min" | "max" as op, args) if alone and (c < 0) == (op == "min"):
                    # a minimum is at most either, a maximum at least either
                    yield from (plus(rest, polynomial(arg), c) for arg in args)


def _divides(divisor: Term, known: Facts) -> bool:
    return least_positive(plus(polynomial(divisor), constant(-1)), known)


def _others(monomial: tuple[Term, ...], atom: Term) -> tuple[Term, ...]:
    position = monomial.index(atom)
    return monomial[:position] + monomial[position + 1 :]


def _named(op: str, a: Term, b: Term, scale: Polynomial, rest: Polynomial, known: Facts) -> Iterator[Polynomial]:
    """`k·b·(a // b)` written as `k·(a − a % b)`, and `k·b·⌈a / b⌉` as `k·(a + (−a) % b)`: only the remainder is to be bounded."""
    k, left = divide(scale, polynomial(b))
    if left or not k:
        return
    x, sign = polynomial(a), -1 if op == "floordiv" else 1
    part = x
    if apply("mod", a, b) not in known.zeros:
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
