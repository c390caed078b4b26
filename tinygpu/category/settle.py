"""What intervals decide about index terms, without a solver.

Comes in: index terms over axes with known extents. Goes out: comparisons decided true or false, and terms with their decided
conditions gone. The one idea: `a < b` is the sign of the smallest value of `b − a − 1`, and a form takes its smallest value at a
corner of the box.
"""

from __future__ import annotations

from tinygpu.category.corner import at_corner
from tinygpu.category.decide import decide
from tinygpu.category.known import Extents, Known
from tinygpu.category.linear import ONE, Polynomial, as_written, constant, divide, joined, plus, polynomial, term_of, without
from tinygpu.category.monoid import as_monoid
from tinygpu.category.node import kept
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FALSE,
    INDEX,
    TRUE,
    App,
    Const,
    Fold,
    Term,
    children,
    conjunction,
    lift,
    negation,
    rebuild,
    select,
    total,
    whole,
)


def settle(term: Term, extents: Extents, given: frozenset[Term] = frozenset()) -> Term:
    """The term with every condition that the box or the given facts decide replaced by its value.

    >>> from tinygpu.category.term import Read, Var, select, text
    >>> i = Var("i")
    >>> text(settle(select(i < 8, Read("x", (i,), "f32"), Const(0.0, "f32")), {"i": Const(8)}))
    'x[i]'
    """
    return _settle(term, Known.of(extents, given))


def _settle(term: Term, known: Known) -> Term:
    if inert(term):
        return term
    key = id(term)  # equal reads may stand in different places of a text
    found = known.settled.get(key)
    if found is None:
        found = known.settled[key] = term, _anew(term, known)  # with the term, as a number is another one's when it is gone
    return found[1]


def _anew(term: Term, known: Known) -> Term:
    if term.dtype == BOOL and (term in known.given or negation(term) in known.given):
        return Const(term in known.given, BOOL)
    match term:
        case App("and", parts) if any(_denied(fact, parts) for fact in known.given):
            return FALSE
        case App(op, (_, _)) if op in COMPARISONS:
            verdict = _compared(term, known)
            if verdict is None and (new := rebuild(term, lambda t: _settle(t, known))) != term:
                term, verdict = new, _compared(new, known)
            return term if verdict is None else Const(verdict, BOOL)
        case App("select", (condition, then, otherwise), _):
            c = _settle(condition, known)
            c = TRUE if climbs(c, known) else c
            if isinstance(c, Const):
                return _settle(then if c.value else otherwise, known)
            no = negation(c)
            return select(c, _settle(then, known.within(c, then)), _settle(otherwise, known.within(no, otherwise)))
        case App("floordiv" | "mod" as op, (a, Const(int(n))), "index") if n > 0:
            return divided(op, _settle(a, known), n, known)
        case App("floordiv" | "mod" as op, (a, n), "index"):
            return parted(op, _settle(a, known), _settle(n, known), known)
        case Fold(monoid, axes, guard, body, dtype, span):
            inside = known.inside(axes)
            guard = _settle(guard, inside)
            body = _settle(body, inside.within(guard, body))
            unit = as_monoid(monoid).unit(dtype)
            if unit is not None and (guard == FALSE or (body == unit and (whole(guard) or total(guard)))):
                return unit  # of nothing, and of units
            return Fold(monoid, axes, guard, body, dtype, span)
        case App("add" | "sub", _, "index"):
            new = rebuild(term, lambda t: _settle(t, known))
            form = polynomial(new)
            sums = joined(form)
            return new if sums == form and not cancels(new) else as_written(sums)
    return rebuild(term, lambda t: _settle(t, known))


def _denied(fact: Term, parts: tuple[Term, ...]) -> bool:
    """Whether a fact says that some of these do not hold together.

    >>> from tinygpu.category.term import Var
    >>> a, b, c = (Var(name, BOOL) for name in "abc")
    >>> _denied(negation(conjunction(a, b)), (a, b, c)), _denied(negation(conjunction(a, b)), (a, c))
    (True, False)
    """
    match fact:
        case App("not", (App("and", together),)):
            return {*together} <= {*parts}
    return False


def _compared(condition: Term, known: Known) -> bool | None:
    """What is known of a comparison; of two remainders by one number by what is left of their difference, of a least number by all of them."""
    match condition:
        case App("lt" | "le" as op, (a, App("min", ends))):
            found = [decide(App(op, (a, end), BOOL), known) for end in ends]
            return False if False in found else decide(condition, known) if None in found else True
        case App("eq", (App("mod", (a, Const(int(n)))), App("mod", (b, Const(int(m)))))) if n == m > 0:
            apart = divided("mod", a - b, n, known)
            return apart.value == 0 if isinstance(apart, Const) else None
    return decide(condition, known)


def climbs(condition: Term, known: Known) -> bool:
    """Whether a condition says `⌊a/n⌋ < ⌊b/n⌋` where `a + n ≤ b`, or `⌊a/n⌋ < ⌈b/n⌉` where `a < b`. Only choices ask this: a guard that says it
    may help a solver.

    >>> from tinygpu.category.term import Var, ceildiv
    >>> i, n = Var("i"), Var("n")
    >>> climbs(i // 4 < (n + 3) // 4, Known.of({"i": n})), climbs(i // 4 < (n + 2) // 4, Known.of({"i": n}))
    (True, False)
    >>> climbs(i // 4 < ceildiv(n, 4), Known.of({"i": n})), climbs(i // 4 < ceildiv(n, 4), Known.of({"i": n + 1}))
    (True, False)
    """
    match condition:
        case App("and", parts):
            return all(climbs(part, known) for part in parts)
        case App("lt", (App("floordiv", (a, Const(int(n)))), App("floordiv" | "ceildiv" as op, (b, Const(int(m)))))) if n == m > 0:
            beyond = n if op == "floordiv" else 1
            return at_corner(joined(plus(plus(polynomial(b), polynomial(a), -1), constant(beyond), -1)), known)
    return False


def divided(op: str, term: Term, n: int, known: Known) -> Term:
    """`term // n` or `term % n` without the multiples of n, which leave a sum as they are: `(q·n + r) // n = q + r // n`.

    >>> from tinygpu.category.term import Var, equal, text
    >>> q, r, box = Var("q"), Var("r"), Known.of({"r": Const(8)})
    >>> text(divided("floordiv", q * 16 + r + 9, 8, box)), text(divided("mod", q * 16 + r, 8, box))
    ('q*2 + 1 + (r + 1) // 8', 'r')
    >>> text(divided("floordiv", q // 4, 8, box)), text(divided("floordiv", q % 32, 8, box))
    ('q // 32', 'q // 8 % 4')
    >>> text(divided("floordiv", q * 8 + r, 32, box)), text(divided("mod", q * 8 + r, 32, box))
    ('q // 4', 'q % 4*8 + r')
    >>> text(divided("mod", r - 1, 8, box.under(r >= 1))), text(divided("mod", q * 3 + r, 8, box.under(equal(q % 8, 0))))
    ('r - 1', 'r')
    >>> text(divided("mod", q % 32 * 3 + 9, 8, box)), text(divided("mod", q % 12 + 9, 8, box)), text(divided("mod", r // 2 + 3, 8, box))
    ('(q*3 + 1) % 8', '(q % 12 + 1) % 8', 'r // 2 + 3')
    """
    match op, term:
        case "floordiv", App("floordiv", (e, Const(int(a)))) if a > 0:
            return e // (a * n)
        case "floordiv", App("mod", (e, Const(int(m)))) if m > n and m % n == 0:
            return divided("mod", divided("floordiv", e, n, known), m // n, known)
    form = joined(polynomial(term))
    if op == "mod":  # modulo n a remainder by n is the number itself
        for monomial, c in form.items():
            match monomial:
                case (App("mod", (inner, Const(int(m)))),) if m > 0 and m % n == 0:
                    form = plus(without(form, monomial), polynomial(inner), c)
                case (atom,) if App("eq", (atom % n, Const(0)), BOOL) in known.given:
                    form = without(form, monomial)
    high, low = shared(form, n)
    for less in (0, 1) if low.get(()) else (0,):  # (r − 1) % n is r − 1 where r ≥ 1
        if _digit(rest := plus(low, constant(less * n), -1), n, known):
            return as_written(rest) if op == "mod" else as_written(plus(high, constant(less)))
    for g in sorted({abs(c) for m, c in low.items() if m and 1 < abs(c) < n and n % abs(c) == 0}, reverse=True):
        above, digit = shared(low, g)
        if digit != low and _digit(digit, g, known):  # (g·a + r) // n is a // (n / g), where 0 ≤ r < g
            part = as_written(above)
            return part % (n // g) * g + as_written(digit) if op == "mod" else as_written(high) + part // (n // g)
    return as_written(low) % n if op == "mod" else as_written(high) + as_written(low) // n


def shared(form: Polynomial, n: int) -> tuple[Polynomial, Polynomial]:
    """`(q, r)` with `form = q·n + r`: what n divides, and the rest, whose number is less than n."""
    whole, rest = form.get((), 0) // n, form.get((), 0) % n
    high = {m: c // n for m, c in form.items() if m and c % n == 0} | constant(whole)
    return high, {m: c for m, c in form.items() if m and c % n} | constant(rest)


def parted(op: str, term: Term, n: Term, known: Known) -> Term:
    """`term // n` or `term % n` for an n that is no number, where the term is `q·n + r` with `0 ≤ r < n`.

    >>> from tinygpu.category.term import Var, text
    >>> q, r, E, box = Var("q"), Var("r"), Var("E"), Known.of({"r": Var("E")})
    >>> text(parted("floordiv", q * E * 3 + E + r, E, box)), text(parted("mod", q * E + r, E, box))
    ('q*3 + 1', 'r')
    """
    if isinstance(n, Const):
        return divided(op, term, n.value, known) if isinstance(n.value, int) and n.value > 0 else App(op, (term, n), INDEX)
    quotient, rest = divide(polynomial(term), polynomial(n))
    most = plus(plus(polynomial(n), rest, -1), ONE, -1)
    if at_corner(rest, known, inside=True) and at_corner(most, known, inside=True):
        return term_of(quotient) if op == "floordiv" else term_of(rest)
    return App(op, (term, n), INDEX)


def _digit(form: Polynomial, n: int, known: Known) -> bool:
    """Whether a form is at least 0 and less than n."""
    return at_corner(form, known, inside=True) and at_corner(plus(constant(n - 1), form, -1), known, inside=True)


def within(term: Term, extent: Term) -> Term:
    """The guard `0 ≤ term < extent`."""
    return conjunction(App("le", (lift(0), term), BOOL), App("lt", (term, extent), BOOL))


@kept
def inert(term: Term) -> bool:
    """Whether a term has nothing in it that could be decided: no condition, no quotient, no fold, and no sum that is shorter."""
    if cancels(term):
        return False
    if isinstance(term, Fold) or term.dtype == BOOL or (isinstance(term, App) and term.op in ("select", "floordiv", "mod")):
        return isinstance(term, Const)
    return all(map(inert, children(term)))


def cancels(term: Term) -> bool:
    """Whether of the parts of a sum, as it is written, one is taken away again.

    >>> from tinygpu.category.term import Var
    >>> i, j, n = map(Var, "ijn")
    >>> cancels(i * n + (j - i * n)), cancels((i + 1) * n - j), cancels(i + j + i)
    (True, False, False)
    """
    if not isinstance(term, App) or term.op not in ("add", "sub") or term.dtype != INDEX:
        return False
    every = addends(term)
    return -1 in every and len(polynomial(term)) < len(every)


def addends(term: Term, sign: int = 1) -> tuple[int, ...]:
    """The sign of each part of a sum, as it is written."""
    match term:
        case App("add" | "sub" as op, (a, b), "index"):
            return (*addends(a, sign), *addends(b, sign if op == "add" else -sign))
    return (sign,)
