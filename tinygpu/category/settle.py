"""What intervals decide about index terms, without a solver.

Comes in: index terms over axes with known extents. Goes out: comparisons decided true or false, and terms with their decided
conditions gone. The one idea: `a < b` is the sign of the smallest value of `b − a − 1`, and a linear form takes its smallest
value at a corner of the box.
"""

from __future__ import annotations

from math import inf

from tinygpu.category.affine import Linear, joined, linear
from tinygpu.category.known import Extents, Known, inert
from tinygpu.category.linear import divide, polynomial, term_of
from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FALSE,
    FLOATS,
    FOLDED,
    INDEX,
    TRUE,
    App,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    lift,
    negation,
    plain,
    rebuild,
    select,
    total,
    variables,
    whole,
)


def smallest(form: Linear, known: Known) -> int | None:
    """The smallest value of a linear form over the box `0 ≤ x < extents[x]`, if that is a number; variables are at least 0.

    >>> smallest(linear(Var("n") - Var("i") - 1), Known.of({"i": Var("n")}))
    0
    """
    for _ in range(len(form.parts) + 1):
        negative = next(((a, c) for a, c in form.parts if c < 0), None)
        if negative is None:
            return form.constant if all(_natural(atom, known) for atom, _ in form.parts) else None
        bound = _largest(negative[0], known)
        if bound is None:
            return None
        form = form.without(negative[0]).plus(linear(bound), negative[1])
    return None


def nonnegative(form: Linear, known: Known, inside: bool = False) -> bool:
    """Whether a form is at least 0 everywhere: by its smallest value, or because it exceeds a known one.

    `inside` of a term, where every step goes to smaller terms, it must exceed a known one by a number.

    >>> i, n = Var("i"), Var("n")
    >>> nonnegative(linear(n - i), Known.of({}, frozenset({i < n})))
    True
    """
    below = {atom for atom, c in form.parts if c < 0}
    for name in [a.name for a in below if isinstance(a, Var) and a.name in known.extents]:
        below.update(atom for atom, _ in linear(known.extents[name]).parts)
    # only a fact that is negative where the form is, or becomes as its axes end, can make up for it
    helpful = (f for f in known.forms if (form.constant < 0 and f.constant < 0) or any(c < 0 and a in below for a, c in f.parts))
    for beyond in (form, *(form.plus(fact, -1) for fact in helpful)):
        if inside and beyond is not form:
            low = None if beyond.parts else beyond.constant
        else:
            low = smallest(beyond, known)
        if low is not None and low >= 0:
            return True
    return False


def _largest(atom: Term, known: Known) -> Term | None:
    match atom:
        case Var(name) if name in known.extents:
            return known.extents[name] - 1
        case App("mod", (_, n)) if _positive(n, known):
            return n - 1
        case App("floordiv", (a, Const(int(n)))) if n > 0 and (most := smallest(linear(a).scaled(-1), known)) is not None:
            return Const(-most // n)
    return None


def _positive(term: Term, known: Known) -> bool:
    return nonnegative(linear(term).plus(Linear((), 1), -1), known, inside=True)


def _natural(atom: Term, known: Known) -> bool:
    """Axes, sizes and their Euclidean quotients and remainders are not negative; anything else might be."""
    match atom:
        case Var():
            return True
        case App("mod", (_, n)):
            return _positive(n, known)
        case App("floordiv" | "ceildiv", (a, n)):
            return _positive(n, known) and nonnegative(linear(a), known, inside=True)
        case App("mul" | "add" | "min" | "max", args):
            return all(nonnegative(linear(a), known, inside=True) for a in args)
    return False


def decide(condition: Term, known: Known) -> bool | None:
    """Whether a comparison of index terms holds everywhere on a box (True), nowhere (False), or neither is seen (None).

    >>> i, box = Var("i"), Known.of({"i": Const(4)})
    >>> decide(i < 4, box), decide(i < 0, box), decide(App("eq", (i + 1, i), BOOL), box), decide(i < 3, box)
    (True, False, False, None)
    """
    match condition:
        case Const(bool(value)):
            return value
        case App("eq", (App("mod", (a, Const(int(n)))), App("mod", (b, Const(int(m)))))) if n == m > 0:
            apart = divided("mod", a - b, n, known)
            return None if not isinstance(apart, Const) else apart.value == 0
        case App(op, (Const(a), Const(b))) if op in COMPARISONS and all(abs(n) in (0, 1, 2, inf) for n in (a, b)):
            return bool(FOLDED[op](a, b))  # type: ignore[arg-type]  # what every dtype has
        case App("eq" | "le" | "ge", (a, b)) if a == b and a.dtype not in FLOATS and total(a):
            return True  # of floats it is a question about the data
        case App(op, (a, b)) if op in COMPARISONS and a.dtype == INDEX == b.dtype:
            return _sign(op, joined(linear(b).plus(linear(a), -1)), known)
    return None


def _sign(op: str, rise: Linear, known: Known) -> bool | None:
    """What is known of `a op b` from the form `b − a`."""
    fall, one = rise.scaled(-1), Linear((), 1)
    match op:
        case "gt" | "ge":
            return _sign({"gt": "lt", "ge": "le"}[op], fall, known)
        case "lt":
            return True if nonnegative(rise.plus(one, -1), known) else False if nonnegative(fall, known) else None
        case "le":
            return True if nonnegative(rise, known) else False if nonnegative(fall.plus(one, -1), known) else None
    least, most = nonnegative(rise, known), nonnegative(fall, known)
    if least and most:
        return op == "eq"
    apart = (least and nonnegative(rise.plus(one, -1), known)) or (most and nonnegative(fall.plus(one, -1), known))
    return op == "ne" if apart else None


def settle(term: Term, extents: Extents, given: frozenset[Term] = frozenset()) -> Term:
    """The term with every condition that the box or the given facts decide replaced by its value.

    >>> from tinygpu.category.term import select, Read, text
    >>> i = Var("i")
    >>> text(settle(select(i < 8, Read("x", (i,), "f32"), Const(0.0, "f32")), {"i": Const(8)}))
    'x[i]'
    """
    return _settle(term, Known.of(extents, given))


def _settle(term: Term, known: Known) -> Term:
    if inert(term):
        return term
    if not isinstance(term, App):
        return _anew(term, known)
    key = term if plain(term) else id(term)  # equal reads may stand in different places of a text
    if key not in known.settled:
        known.settled[key] = term, _anew(term, known)  # which lives as long, so the identity is its own
    return known.settled[key][1]


def _anew(term: Term, known: Known) -> Term:
    if term.dtype == BOOL and (term in known.given or negation(term) in known.given):
        return Const(term in known.given, BOOL)
    match term:
        case App(op, (_, _)) if op in COMPARISONS:
            verdict = decide(term, known)
            if verdict is None and (new := rebuild(term, lambda t: _settle(t, known))) != term:
                term, verdict = new, decide(new, known)
            return term if verdict is None else Const(verdict, BOOL)
        case App("select", (condition, then, otherwise), _):
            c = _settle(condition, known)
            c = TRUE if climbs(c, known) else c
            if isinstance(c, Const):
                return _settle(then if c.value else otherwise, known)
            return select(c, _settle(then, known.under(c)), _settle(otherwise, known.under(negation(c))))
        case App("floordiv" | "mod" as op, (a, Const(int(n))), "index") if n > 0:
            return divided(op, _settle(a, known), n, known)
        case App("floordiv" | "mod" as op, (a, n), "index"):
            return parted(op, _settle(a, known), _settle(n, known), known)
        case Fold(monoid, axes, guard, body, dtype, span):
            names = {a.name for a in axes}
            ranges = (*known.extents.items(), *((a.name, a.extent) for a in axes))
            inner = {name: extent for name, extent in ranges if not names & variables(extent)}
            outer = frozenset(g for g in known.given if not names & variables(g))
            guard = _settle(guard, Known.of(inner, outer))
            body = settle(body, inner, outer | frozenset(conjuncts(guard)))
            unit = MONOIDS[monoid].unit(dtype) if monoid in MONOIDS else None
            if unit is not None and (guard == FALSE or (body == unit and (whole(guard) or total(guard)))):
                return unit  # of nothing, and of units
            return Fold(monoid, axes, guard, body, dtype, span)
        case App("add" | "sub", _, "index"):
            new = rebuild(term, lambda t: _settle(t, known))
            form = linear(new)
            sums = joined(form)
            return new if sums == form else sums.term()
    return rebuild(term, lambda t: _settle(t, known))


def climbs(condition: Term, known: Known) -> bool:
    """Whether a condition says `⌊a/n⌋ < ⌊b/n⌋` where `a + n ≤ b`. Only choices ask this: a guard that says it may help a solver.

    >>> i, n = Var("i"), Var("n")
    >>> climbs(i // 4 < (n + 3) // 4, Known.of({"i": n})), climbs(i // 4 < (n + 2) // 4, Known.of({"i": n}))
    (True, False)
    """
    match condition:
        case App("lt", (App("floordiv", (a, Const(int(n)))), App("floordiv", (b, Const(int(m)))))) if n == m > 0:
            return nonnegative(joined(linear(b).plus(linear(a), -1).plus(Linear((), n), -1)), known)
    return False


def divided(op: str, term: Term, n: int, known: Known) -> Term:
    """`term // n` or `term % n` without the multiples of n, which leave a sum as they are: `(q·n + r) // n = q + r // n`.

    >>> from tinygpu.category.term import text
    >>> q, r, box = Var("q"), Var("r"), Known.of({"r": Const(8)})
    >>> text(divided("floordiv", q * 16 + r + 9, 8, box)), text(divided("mod", q * 16 + r, 8, box))
    ('q*2 + 1 + (r + 1) // 8', 'r')
    >>> text(divided("floordiv", q // 4, 8, box)), text(divided("floordiv", q % 32, 8, box))
    ('q // 32', 'q // 8 % 4')
    >>> text(divided("floordiv", q * 8 + r, 32, box)), text(divided("mod", q * 8 + r, 32, box))
    ('q // 4', 'q % 4*8 + r')
    >>> text(divided("mod", r - 1, 8, box.under(r >= 1)))
    'r - 1'
    """
    match op, term:
        case "floordiv", App("floordiv", (e, Const(int(a)))) if a > 0:
            return e // (a * n)
        case "floordiv", App("mod", (e, Const(int(m)))) if m > n and m % n == 0:
            return divided("mod", divided("floordiv", e, n, known), m // n, known)
    form = joined(linear(term))
    if op == "mod":  # modulo n a remainder by n is the number itself
        for atom, c in form.parts:
            match atom:
                case App("mod", (inner, Const(int(m)))) if m > 0 and m % n == 0:
                    form = form.without(atom).plus(linear(inner), c)
                case _ if App("eq", (atom % n, Const(0)), BOOL) in known.given:
                    form = form.without(atom)
    high = Linear(tuple((atom, c // n) for atom, c in form.parts if c % n == 0), form.constant // n)
    low = Linear(tuple((atom, c) for atom, c in form.parts if c % n), form.constant % n)
    for less in (0, 1) if low.constant else (0,):  # (r − 1) % n is r − 1 where r ≥ 1
        if _digit(rest := low.plus(Linear((), less * n), -1), n, known):
            return rest.term() if op == "mod" else high.plus(Linear((), less)).term()
    for g in sorted({abs(c) for _, c in low.parts if 1 < abs(c) < n and n % abs(c) == 0}, reverse=True):
        digit = Linear(tuple((atom, c) for atom, c in low.parts if c % g), low.constant % g)
        rest = low.plus(digit, -1)
        if digit != low and _digit(digit, g, known):  # (g·a + r) // n is a // (n / g), where 0 ≤ r < g
            above = Linear(tuple((atom, c // g) for atom, c in rest.parts), rest.constant // g).term()
            return above % (n // g) * g + digit.term() if op == "mod" else high.term() + above // (n // g)
    return low.term() % n if op == "mod" else high.term() + low.term() // n


def parted(op: str, term: Term, n: Term, known: Known) -> Term:
    """`term // n` or `term % n` for an n that is no number, where the term is `q·n + r` with `0 ≤ r < n`.

    >>> from tinygpu.category.term import text
    >>> q, r, E, box = Var("q"), Var("r"), Var("E"), Known.of({"r": Var("E")})
    >>> text(parted("floordiv", q * E * 3 + E + r, E, box)), text(parted("mod", q * E + r, E, box))
    ('q*3 + 1', 'r')
    """
    if isinstance(n, Const):
        return divided(op, term, n.value, known) if isinstance(n.value, int) and n.value > 0 else App(op, (term, n), INDEX)
    quotient, rest = divide(polynomial(term), polynomial(n))
    r = linear(term_of(rest))
    if nonnegative(r, known, inside=True) and nonnegative(linear(n).plus(r, -1).plus(Linear((), 1), -1), known, inside=True):
        return term_of(quotient) if op == "floordiv" else term_of(rest)
    return App(op, (term, n), INDEX)


def _digit(form: Linear, n: int, known: Known) -> bool:
    """Whether a form is at least 0 and less than n."""
    return nonnegative(form, known, inside=True) and nonnegative(form.scaled(-1).plus(Linear((), n - 1)), known, inside=True)


def within(term: Term, extent: Term) -> Term:
    """The guard `0 ≤ term < extent`."""
    return conjunction(App("le", (lift(0), term), BOOL), App("lt", (term, extent), BOOL))
