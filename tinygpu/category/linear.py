"""Polynomials over the integers: the normal form of sums and products of index terms, and the only one.

Comes in: a term. Goes out: its monomials with their coefficients, where what is no sum or product is an atom; and terms again.
The one idea: `by*64 + ty*8 + ri` and `(by*8 + ty)*8 + ri` are one polynomial, so they are one term. Monomials stay in the order in which
they came, so that what is not changed can be written as it stood.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce
from typing import TypeAlias

from tinygpu.category.deadline import look
from tinygpu.category.node import kept
from tinygpu.category.term import INDEX, App, Const, Term, Var, apply, lift, variables
from tinygpu.category.text import sorting

Monomial: TypeAlias = tuple[Term, ...]  # atoms, sorted by their text
Polynomial: TypeAlias = dict[Monomial, int]  # no coefficient is 0; terms keep theirs, so none is changed
ONE: Polynomial = {(): 1}


@kept
def polynomial(term: Term) -> Polynomial:
    """The term as a polynomial in its atoms.

    >>> by, ty = Var("by"), Var("ty")
    >>> polynomial((by * 8 + ty) * 8) == polynomial(by * 64 + ty * 8) == {(by,): 64, (ty,): 8}
    True
    """
    added: list[tuple[Term, int]] = []
    while isinstance(term, App) and term.op in ("add", "sub") and term.dtype == INDEX:  # a sum is as long as it likes
        added.append((term.args[1], 1 if term.op == "add" else -1))
        term = term.args[0]
    return reduce(lambda p, part: plus(p, polynomial(part[0]), part[1]), reversed(added), _atomic(term))


def _atomic(term: Term) -> Polynomial:
    """The polynomial of what is no sum. What is divided, and by what, is in normal form too."""
    match term:
        case Const(int(value)):
            return constant(value)
        case App("neg", (a,), "index"):
            return scaled(polynomial(a), -1)
        case App("mul", (a, b), "index"):
            return times(polynomial(a), polynomial(b))
        case App("floordiv" | "ceildiv" | "mod" as op, args, "index"):
            return {(App(op, tuple(term_of(polynomial(a)) for a in args)),): 1}
    return {(term,): 1}


def constant(value: int) -> Polynomial:
    """The constant polynomial."""
    return {(): value} if value else {}


def number(p: Polynomial) -> int | None:
    """The value of a constant polynomial, None of any other."""
    return p.get((), 0) if len(p) == (() in p) else None


def plus(p: Polynomial, q: Polynomial, scale: int = 1) -> Polynomial:
    """`p + scale·q`."""
    if not p and scale == 1:
        return q
    out = p.copy()
    for monomial, c in q.items():
        if total := out.get(monomial, 0) + scale * c:
            out[monomial] = total
        else:
            out.pop(monomial, None)
    return out


def scaled(p: Polynomial, by: int) -> Polynomial:
    """`by·p`."""
    return {monomial: c * by for monomial, c in p.items()} if by else {}


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    """`p·q`."""
    for one, other in ((p, q), (q, p)):
        if (by := number(one)) is not None:
            return scaled(other, by)
    out: Polynomial = {}
    for m, c in p.items():
        look()
        for n, d in q.items():
            both = _sorted(m + n)
            out[both] = out.get(both, 0) + c * d
    return {monomial: c for monomial, c in out.items() if c}


def replace_atoms(p: Polynomial, change: Callable[[Term], Polynomial]) -> Polynomial:
    """The polynomial with a polynomial in place of each atom."""
    out: Polynomial = {}
    for monomial, c in p.items():
        out = plus(out, reduce(times, map(change, monomial), constant(c)))
    return out


def divide(p: Polynomial, d: Polynomial) -> tuple[Polynomial, Polynomial]:
    """`(q, r)` with `p = q·d + r`, where no monomial of r is a multiple of the leading one of d; constants leave `0 ≤ r < d`.

    >>> i, j, W = Var("i"), Var("j"), Var("W")
    >>> divide(polynomial(i * (W - 2) + j), polynomial(W - 2)) == (polynomial(i), polynomial(j))
    True
    """
    if not d:
        return {}, p
    lead = max(d, key=_order)
    quotient: Polynomial = {}
    rest: Polynomial = {}
    left = dict(p)
    while left:
        top = max(left, key=_order)
        factor, c = _without(top, lead), left[top]
        whole = None if factor is None else c // d[lead]
        if factor is None or not whole or (c % d[lead] and top != ()) or (top == () and c < 0 and c % d[lead]):
            rest[top] = left.pop(top)
            continue
        quotient = plus(quotient, {factor: whole})
        left = plus(left, times({factor: whole}, d), -1)
        if top in left:
            rest[top] = left.pop(top)
    return quotient, rest


def term_of(p: Polynomial, first: Collection[str] = ()) -> Term:
    """The polynomial as a term, in one fixed order: what is added before what is subtracted, high degrees and coefficients first.

    `first` are names that stand to the left in products: axes before sizes.

    >>> from tinygpu.category.text import text
    >>> text(term_of(polynomial(Var("j") - 1 + Var("N") * Var("i") + Var("j")), ["i", "j"]))
    'i*N + j*2 - 1'
    """
    out: Term | None = None
    for monomial in sorted(p, key=lambda m: (p[m] < 0, -len(m), -abs(p[m]), m == (), tuple(map(sorting, m)))):
        factors = sorted(monomial, key=lambda a: variables(a).isdisjoint(first)) if first else monomial  # sorted by their text
        size = abs(p[monomial])
        product = reduce(lambda a, b: App("mul", (a, b)), factors) if factors else Const(size)
        if factors and size != 1:
            product = apply("mul", product, size)
        if out is None:
            out = product if p[monomial] > 0 else _negative(product)
        else:
            out = apply("add" if p[monomial] > 0 else "sub", out, product)
    return lift(0) if out is None else out


def as_written(p: Polynomial) -> Term:
    """The polynomial as a term, in the order in which its monomials came, what is added before what is subtracted, the number last;
    what several products share stands once.

    >>> from tinygpu.category.text import text
    >>> i, j, N = map(Var, "ijN")
    >>> text(as_written(polynomial(j - 1 + N * i + j))), text(as_written(polynomial((i * 8 + 1) * N - j)))
    ('j*2 + N*i - 1', '(i*8 + 1)*N - j')
    """
    first = without(p, ())
    pieces = _collected(first) if any(len(m) > 1 for m in p) else products(first)
    return summed((*sorted(pieces, key=lambda piece: piece[1] < 0), (Const(1), p.get((), 0))))


def products(p: Polynomial) -> Iterator[tuple[Term, int]]:
    """The products of a polynomial and their coefficients, in its order."""
    return ((reduce(lambda a, b: App("mul", (a, b)), m, *([] if m else [Const(1)])), c) for m, c in p.items())


def summed(pieces: Iterable[tuple[Term, int]]) -> Term:
    """`Σ c·product` as it is written, in this order."""
    out: Term = Const(0)
    for product, c in pieces:
        piece = product * abs(c)
        out = out - piece if c < 0 else out + piece
    return out


def _collected(p: Polynomial) -> Iterator[tuple[Term, int]]:
    """The polynomial's products, with their coefficients: those that differ in one factor as a sum times what they share."""
    left = dict(p)
    while left:
        first = next(iter(left))
        shared = [m for place in range(len(first)) if (m := first[:place] + first[place + 1 :])]
        groups = [({rest: c for m, c in left.items() if (rest := _without(m, s)) is not None and len(rest) < 2}, s) for s in shared]
        group, common = max(groups, key=lambda g: len(g[0]), default=({}, ()))
        if len(group) < 2:
            group, common = {(): left[first]}, first
        left = without(left, *(_sorted(rest + common) for rest in group))
        ((product, _),) = products({common: 1})
        sign = -1 if max(group.values()) < 0 else 1
        inner = as_written(scaled(group, sign))
        yield (product, sign * int(inner.value)) if isinstance(inner, Const) else (App("mul", (inner, product)), sign)


def joined(p: Polynomial, above_nought: Callable[[Term], bool] = lambda t: isinstance(t, Const) and t.value > 0) -> Polynomial:
    """The same number with digits put together: `m·(e // (a·m)) + (e // a) % m` is `e // a`, for numbers a and m above 0, or what else is known to be,
    whatever both are multiplied by; of only some of the higher digits, `m·(e // (a·m) % k) + (e // a) % m` is `(e // a) % (m·k)`.

    >>> i, S = Var("i"), Var("S")
    >>> joined(polynomial(i // 8 * 8 + i // 4 % 2 * 4 + i % 4)) == polynomial(i)
    True
    >>> joined(polynomial(i // 8 * S * 8 + i % 8 * S + S)) == polynomial(i * S + S)
    True
    >>> joined(polynomial(i // (Var("N") * S) * S + i // Var("N") % S), lambda _: True) == polynomial(i // Var("N"))
    True
    """
    for monomial, c in p.items():
        for place, digit in enumerate(monomial):
            match digit:
                case App("mod", (App("floordiv", (e, a)) as inner, m)) if above_nought(a) and above_nought(m):
                    above = e // term_of(times(polynomial(a), polynomial(m)))
                case App("mod", (inner, m)) if above_nought(m):
                    above = inner // m
                case _:
                    continue
            scale = monomial[:place] + monomial[place + 1 :]
            higher = times({_sorted((*scale, above)): c}, polynomial(m))
            if all(p.get(part, 0) == k for part, k in higher.items()):
                rest = plus(without(p, monomial), higher, -1)
                return joined(plus(rest, times({scale: c}, polynomial(inner))), above_nought)
            for other, k in p.items() if not scale else ():
                match other, m:
                    case (App("mod", (whole, Const(int(r)))),), Const(int(n)) if whole == above and k == c * n and r > 0:
                        return joined(plus(without(p, monomial, other), {(inner % (n * r),): c}), above_nought)
    return p


def without(p: Polynomial, *monomials: Monomial) -> Polynomial:
    """The polynomial less some of its monomials."""
    out = p.copy()
    for monomial in monomials:
        out.pop(monomial, None)
    return out


def stride(p: Polynomial, name: str) -> tuple[Polynomial | None, Polynomial]:
    """What a variable is multiplied by, None where it does not stand linearly; and the monomials in which it does not stand.

    >>> i, n = Var("i"), Var("n")
    >>> stride(polynomial(i * n + i * 2 + 5), "i") == (polynomial(n + 2), constant(5)), stride(polynomial(i // 2), "i")
    (True, (None, {}))
    """
    own = {m: c for m, c in p.items() if any(name in variables(atom) for atom in m)}
    paces = [(_without(m, (Var(name),)), c) for m, c in own.items()]
    linear = all(rest is not None and not any(name in variables(atom) for atom in rest) for rest, _ in paces)
    return {rest: c for rest, c in paces if rest is not None} if linear else None, without(p, *own)


def solve(left: Term, right: Term, name: str, only: bool = True) -> Term | None:
    """The term `s` with `left = right ⇔ name = s`, when `name` stands once and its coefficient divides the rest; with `only=False` the
    coefficient may be 0, and then s is one of many.

    >>> from tinygpu.category.text import text
    >>> text(solve(Var("p") + Var("r") - 1, Var("q"), "r"))
    'q - p + 1'
    >>> text(solve(Var("c") * 2, Var("k") * 4 + 6, "c")), solve(Var("c") * 2, Var("k"), "c")
    ('k*2 + 3', None)
    >>> k, c, D = Var("k"), Var("c"), Var("D")
    >>> text(solve(k * D, c * D * 4 + D, "k", only=False)), solve(k * D, c * D, "k"), solve(k * D, c, "k", only=False)
    ('c*4 + 1', None, None)
    """
    pace, rest = stride(plus(polynomial(left), polynomial(right), -1), name)
    c = number(pace or {})
    if c is None and not only:
        quotient, left_over = divide(scaled(rest, -1), pace or {})
        return None if left_over else as_written(quotient)
    if not c or any(k % c for k in rest.values()):
        return None
    return as_written({m: -k // c for m, k in rest.items()})


def _negative(product: Term) -> Term:
    match product:
        case Const(int(value)):
            return Const(-value)
        case App("mul", (a, Const(int(value)))):
            return App("mul", (a, Const(-value)))
    return App("neg", (product,), INDEX)


def _sorted(monomial: Monomial) -> Monomial:
    return tuple(sorted(monomial, key=sorting)) if len(monomial) > 1 else monomial


def _order(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    # a monomial order (degree, then names), so that division ends
    return len(monomial), tuple(map(sorting, monomial))


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """The monomial divided by another, or None."""
    rest = list(monomial)
    for atom in part:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)
