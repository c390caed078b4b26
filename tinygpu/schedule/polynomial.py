"""Index terms as polynomials whose atoms are in normal form too, so that two ways to write one address are one value.

Comes in: index terms over axes and sizes. Goes out: sums of monomials with integer coefficients, and terms again.
The one idea: what is not a sum or a product (`//`, `%`, `ceil`, `min`, a gather) is an atom with its own arguments in normal form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tinygpu.category import linear
from tinygpu.category.linear import Monomial as Monomial
from tinygpu.category.linear import Polynomial as Polynomial
from tinygpu.category.linear import plus as plus
from tinygpu.category.linear import replace_atoms
from tinygpu.category.linear import times as times
from tinygpu.category.term import INDEX, App, Const, Term, Var, children, rebuild, variables

ONE: Polynomial = {(): 1}


def polynomial(term: Term) -> Polynomial:
    """The normal form of an index term.

    >>> g, t = Var("g"), Var("t")
    >>> polynomial((g * 4 + t) * 2) == polynomial(t * 2 + g * 8)
    True
    """
    return replace_atoms(linear.polynomial(term), lambda atom: {(rebuild(atom, normal),): 1})


def term(p: Mapping[Monomial, int]) -> Term:
    """A term again: positive monomials first, in a fixed order, the constant last.

    >>> from tinygpu.category.term import text
    >>> text(term(polynomial(1 - Var("n") + Var("i") * Var("n"))))
    'i*n - n + 1'
    """
    out: Term | None = None
    for monomial, c in sorted(
        p.items(),
        key=lambda item: (not item[0] and any(c > 0 for m, c in p.items() if m), item[1] < 0, -len(item[0]), repr(item[0])),
    ):
        piece: Term = Const(abs(c))
        if monomial:
            piece = monomial[0]
            for atom in monomial[1:]:
                piece = piece * atom
            piece = piece * abs(c)
        if out is None:
            out = piece if c > 0 else (Const(c) if not monomial else Const(0) - piece)
        else:
            out = out + piece if c > 0 else out - piece
    return Const(0) if out is None else out


def normal(t: Term) -> Term:
    """A term with every index term inside it in normal form; values and guards keep their shape."""
    return term(polynomial(t)) if t.dtype == INDEX else rebuild(t, normal)


def coefficient(p: Mapping[Monomial, int], name: str) -> Polynomial | None:
    """What `name` is multiplied by; None if it does not stand linearly.

    >>> i, n = Var("i"), Var("n")
    >>> coefficient(polynomial(i * n + i * 2 + 5), "i") == polynomial(n + 2), coefficient(polynomial(i // 2), "i")
    (True, None)
    """
    out: Polynomial = {}
    for monomial, c in p.items():
        holders = [atom for atom in monomial if name in variables(atom)]
        if not holders:
            continue
        if holders != [Var(name)]:
            return None
        rest = list(monomial)
        rest.remove(Var(name))
        out[tuple(rest)] = c
    return out


def without(p: Mapping[Monomial, int], name: str) -> Polynomial:
    """The monomials in which `name` does not stand."""
    return {m: c for m, c in p.items() if not any(name in variables(atom) for atom in m)}


def direct(p: Mapping[Monomial, int], name: str) -> Polynomial | None:
    """What `name` is multiplied by where it stands as itself, atoms that hold it left alone; None for a square or worse.

    >>> i = Var("i")
    >>> direct(polynomial(i * 3 + i // 2), "i"), direct(polynomial(i * i), "i")
    ({(): 3}, None)
    """
    out: Polynomial = {}
    for monomial, c in p.items():
        if Var(name) in monomial:
            rest = list(monomial)
            rest.remove(Var(name))
            if any(name in variables(atom) for atom in rest):
                return None
            out[tuple(rest)] = c
    return out


def divided(p: Mapping[Monomial, int], by: Mapping[Monomial, int]) -> Polynomial | None:
    """`p / by` where `by` is one monomial that divides every monomial of `p`.

    >>> n, k = Var("n"), Var("k")
    >>> divided(polynomial(n * k * 4), polynomial(k * 2)) == polynomial(n * 2), divided(polynomial(n + 1), polynomial(n))
    (True, None)
    """
    if len(by) != 1:
        return None
    ((factors, scale),) = by.items()
    out: Polynomial = {}
    for monomial, c in p.items():
        rest = list(monomial)
        for factor in factors:
            if factor not in rest:
                return None
            rest.remove(factor)
        if c % scale:
            return None
        out[tuple(rest)] = c // scale
    return out


def uses(terms: Iterable[Term]) -> list[Polynomial]:
    """Every largest index term, and those inside its atoms, as polynomials."""
    found: dict[Term, Polynomial] = {}
    stack = list(terms)
    while stack:
        t = stack.pop()
        if t.dtype == INDEX and not isinstance(t, Const):
            if t in found:
                continue
            found[t] = polynomial(t)
            stack.extend(c for monomial in found[t] for atom in monomial for c in children(atom))
        else:
            stack.extend(children(t))
    return list(found.values())


def rewrite(t: Term, change: Callable[[Polynomial], Polynomial]) -> Term:
    """The term with `change` applied to every index polynomial, innermost first."""
    if t.dtype != INDEX:
        return rebuild(t, lambda c: rewrite(c, change))
    out: Polynomial = {}
    for monomial, c in polynomial(t).items():
        product: Polynomial = {(): c}
        for atom in monomial:
            inner = atom if isinstance(atom, Var) else rebuild(atom, lambda x: rewrite(x, change))
            product = times(product, {(inner,): 1})
        out = plus(out, product)
    return term(change(out))


def positive(condition: Term) -> Polynomial | None:
    """`p` with `condition ⇔ p > 0`, for an inequality of index terms.

    >>> positive(Var("i") < Var("n")) == polynomial(Var("n") - Var("i")), positive(Var("i") >= 1) == polynomial(Var("i"))
    (True, True)
    """
    match condition:
        case App(op, (a, b)) if a.dtype == INDEX == b.dtype and op in ("lt", "le", "gt", "ge"):
            low, high = (a, b) if op in ("lt", "le") else (b, a)
            return plus(plus(polynomial(high), polynomial(low), -1), ONE if op in ("le", "ge") else {})
    return None


def telling(terms: Iterable[Term], sign: int) -> list[Term]:
    """The lower bounds (sign 1) or upper bounds (sign -1) without those that another one makes idle: it differs by a number.

    >>> from tinygpu.category.term import text
    >>> n = Var("n")
    >>> [text(t) for t in telling((n + 1, n - 1, Const(8)), -1)]
    ['n - 1', '8']
    """
    found = list(dict.fromkeys(terms))

    def idle(t: Term, other: Term) -> bool:
        apart = plus(polynomial(other), polynomial(t), -1)
        return t is not other and set(apart) <= {()} and sign * apart.get((), 0) >= 0

    return [t for t in found if not any(idle(t, other) for other in found)]
