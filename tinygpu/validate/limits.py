"""What the limits that a launcher checks say of an integer of a text: that it is at most one of them.

Comes in: limits, and the most that an integer is, over the sizes. Goes out: forms to compare it with. The one idea: an address is computed factor by
factor, so the first factors of a limit are limits too, where the others are at least 1; names that a fact bounds by a number are that number.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from tinygpu.category.decide import decided
from tinygpu.category.known import Known
from tinygpu.category.linear import ONE, Polynomial, as_written, divide, joined, plus, polynomial, scaled, stride, times
from tinygpu.category.term import INDEX, App, Const, Term, exchange, rebuild, walk
from tinygpu.category.walk import operations
from tinygpu.validate.same import canonical


def starts(limits: tuple[Term, ...], known: Known) -> Iterator[Polynomial]:
    """The limits, and of one that is a product the first factors, where the others are at least 1."""
    for limit in (plainly(limit, known) for limit in limits):
        factors = factors_of(limit)
        yield polynomial(limit)
        while len(factors) > 1 and decided(factors[-1] >= 1, known):
            factors = factors[:-1]
            yield reduce(times, map(polynomial, factors))


def factors_of(term: Term) -> tuple[Term, ...]:
    """`a·b·c` as its factors."""
    match term:
        case App("mul", (a, b), "index"):
            return (*factors_of(a), b)
    return (term,)


def plainly(term: Term, known: Known) -> Term:
    """The term with E for each `max(E, 0)` where E is known to be at least 0: a workspace has none below that, whatever its sizes are.

    >>> from tinygpu.category.term import Var, apply, text
    >>> n = Var("n")
    >>> [text(plainly(apply("max", n - 1, 0) * n, Known.of({}, facts))) for facts in (frozenset(), frozenset({n >= 1}))]
    ['max(n - 1, 0)*n', '(n - 1)*n']
    """
    if "max" not in operations(term):
        return term
    most = (t for t in walk(term) if isinstance(t, App) and t.op == "max" and t.args[1] == Const(0))
    return exchange(term, {t: t.args[0] for t in most if decided(canonical(t.args[0]) >= 0, known)})


def together(term: Term, known: Known) -> Term:
    """The term with its digits put together, also those by sizes that are known to be at least 1.

    >>> from tinygpu.category.term import Var, text
    >>> i, m, n = map(Var, "imn")
    >>> [text(together(i // n * n + i % n, Known.of({}, facts))) for facts in (frozenset(), frozenset({n >= 1}))]
    ['i // n*n + i % n', 'i']
    """
    if "mod" not in operations(term):
        return term
    new = rebuild(term, lambda t: together(t, known))
    if not isinstance(new, App) or new.op not in ("add", "sub") or new.dtype != INDEX:
        return new
    form = polynomial(new)
    whole = joined(form, lambda size: known.positive(plus(polynomial(size), ONE, -1)))
    return new if whole == form else as_written(whole)


def capped(high: Polynomial, known: Known) -> Polynomial:
    """At least a polynomial: with the most that a fact says of a name, such as the lanes of a vector, where that is a number.

    >>> from tinygpu.category.term import Var
    >>> lanes, n = Var("lanes"), Var("n")
    >>> capped(polynomial(lanes * n * 2 - lanes), Known.of({}, frozenset({lanes <= 64}))) == polynomial(n * 128 - lanes)
    True
    """
    most = {m: fact.get((), 0) for fact in known.sizes.facts if len(fact) == 2 for m, c in fact.items() if c == -1 and len(m) == 1}
    for monomial, c in high.items():
        for place, atom in enumerate(monomial):
            rest = {monomial[:place] + monomial[place + 1 :]: c}
            if c > 0 and (atom,) in most and known.positive({(atom,): 1}) and known.positive(rest):
                return capped(plus(plus(high, rest, most[atom,]), {monomial: c}, -1), known)
    return high


def swept(p: Polynomial, known: Known, sign: int) -> Polynomial:
    """At least a polynomial, with sign -1 at most: `d·q` is at most `E - 1` for an axis `q < ⌈E / d⌉`, and so is what is less than it.

    >>> from tinygpu.category.term import Var, ceildiv
    >>> q, E = Var("q"), Var("E")
    >>> [swept(polynomial(q * d + 7), Known.of({"q": ceildiv(E, 8)}), 1) == polynomial(E + 6) for d in (8, 4, 9)]
    [True, True, False]
    """
    for name, extent in known.extents.items():
        match extent:
            case App("ceildiv", (end, by)) | App("max", (App("ceildiv", (end, by)), Const(0))):
                pace, rest = stride(p, name)
                times_, left = divide(pace or {}, polynomial(by))
                most = plus(polynomial(end), ONE, -1)
                if not known.positive(plus(polynomial(by), ONE, -1)):
                    continue
                if times_ and not left and known.positive(scaled(times_, sign)):
                    p = plus(rest, times(times_, most))
                elif pace and sign > 0 and known.positive(pace) and known.positive(plus(polynomial(by), pace, -1)):
                    p = plus(rest, most)
    return p


def taken_away(form: Polynomial) -> int:
    """How many monomials of a sum are subtracted: with few of them it is soonest seen to be not negative."""
    return sum(c < 0 for c in form.values())
