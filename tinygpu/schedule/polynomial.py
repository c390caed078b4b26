"""What polynomials say to the layout of loops: where an axis ends, and index terms in one order.

Comes in: index terms and conditions over axes and sizes. Goes out: bounds of axes, and terms in normal form. The one idea: an inequality is a
polynomial above 0, so where the axis stands alone it is the axis' bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tinygpu.category.known import nonnegatives
from tinygpu.category.linear import ONE, Polynomial, constant, plus, polynomial, products, replace_atoms, stride, summed
from tinygpu.category.term import INDEX, App, Const, Term, children, memoised, rebuild


def term(p: Polynomial) -> Term:
    """A term again: what is added before what is subtracted, in a fixed order, the constant last.

    >>> from tinygpu.category.term import Var, text
    >>> text(term(polynomial(1 - Var("n") + Var("i") * Var("n"))))
    'i*n - n + 1'
    """
    last = any(c > 0 for m, c in p.items() if m)
    return summed(products({m: p[m] for m in sorted(p, key=lambda m: (not m and last, p[m] < 0, -len(m), repr(m)))}))


@memoised
def rewrite(t: Term, change: Callable[[Polynomial], Polynomial] = lambda p: p) -> Term:
    """The term with `change` applied to every index polynomial, innermost first, each in its order; values and guards keep their shape."""
    if t.dtype != INDEX:
        return rebuild(t, lambda c: rewrite(c, change))
    return term(change(replace_atoms(polynomial(t), lambda atom: {(rebuild(atom, lambda c: rewrite(c, change)),): 1})))


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


def positive(condition: Term) -> Polynomial | None:
    """`p` with `condition ⇔ p > 0`, for an inequality of index terms.

    >>> from tinygpu.category.term import Var
    >>> positive(Var("i") < Var("n")) == polynomial(Var("n") - Var("i")), positive(Var("i") >= 1) == polynomial(Var("i"))
    (True, True)
    """
    if isinstance(condition, App) and condition.op in ("lt", "le", "gt", "ge"):
        return next((plus(form, ONE) for form in nonnegatives(condition)), None)
    return None


def limit(p: Polynomial | None, name: str) -> tuple[int, Term] | None:
    """What `p > 0` says of an axis: `(-1, top)` for `name < top`, `(1, low)` for `low <= name`; None where it is something else.

    >>> from tinygpu.category.term import Var, text
    >>> [(sign, text(end)) for sign, end in (limit(positive(c), "i") for c in (Var("i") < Var("n"), Var("i") - 2 >= 0))]
    [(-1, 'n'), (1, '2')]
    """
    pace, rest = stride(p or {}, name)
    if pace == constant(-1):
        return -1, term(rest)
    return (1, term(plus(ONE, rest, -1))) if pace == ONE else None


def telling(terms: Iterable[Term], sign: int) -> list[Term]:
    """The lower bounds (sign 1) or upper bounds (sign -1) without those that another one makes idle: it differs by a number.

    >>> from tinygpu.category.term import Var, text
    >>> n = Var("n")
    >>> [text(t) for t in telling((n + 1, n - 1, Const(8)), -1)]
    ['n - 1', '8']
    """
    found = list(dict.fromkeys(terms))

    def idle(t: Term, other: Term) -> bool:
        apart = plus(polynomial(other), polynomial(t), -1)
        return t is not other and set(apart) <= {()} and sign * apart.get((), 0) >= 0

    return [t for t in found if not any(idle(t, other) for other in found)]
