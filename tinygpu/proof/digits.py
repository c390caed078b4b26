"""Goals about one point whose numerals have sizes for radices, or about powers of two, which are hard for solvers: true by their digits.

Comes in: a goal, the ranges of its variables, hypotheses. Goes out: whether it is seen to hold. The one idea: two values are one where their
indices are, by rules that are theorems of the integers; what is tested is only put in order, unless that is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.decide import digits_hold, holds
from tinygpu.category.known import Known
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import INDEX, TRUE, App, Axis, Fold, Term, conjunction, conjuncts, memoised, rebuild, select, variables
from tinygpu.category.text import sorting
from tinygpu.obligations.bijection import PRIME, stretched


def by_digits(goal: Term, extents: Mapping[str, Term], hypotheses: tuple[Term, ...]) -> bool:
    """Whether a goal about one point, by numerals whose radices are sizes, or about a power of two, is true by bounds.

    >>> from tinygpu.category.term import Var
    >>> i, j, n, m = map(Var, "ijnm")
    >>> by_digits((i * m + j) // m < n, {"i": n, "j": m}, ())
    True
    """
    if not stretched(goal) or any(name.endswith(PRIME) for name in variables(goal)):
        return False
    region = Region(tuple(Axis(name, extent) for name, extent in extents.items()), hypotheses)
    parts = conjuncts(goal)
    known = Known.at(region)
    return all(holds(part, region) or digits_hold(part, known) or one(part, region) for part in parts) or all(
        one(part, region) for part in conjuncts(simplify(goal, region))
    )


def one(part: Term, region: Region) -> bool:
    """Whether an equation has the same on both sides."""
    if not isinstance(part, App) or part.op != "eq":
        return False
    both = gathered(part, region)  # together, as they have much in common
    return both.args[0] == both.args[1] if isinstance(both, App) else both == TRUE


@memoised
def gathered(term: Term, region: Region) -> Term:
    """The same value with simple indices, and one condition for what is chosen under several: `(a if c else z) if d else z` is
    `a if c and d else z`, in one order.

    >>> from tinygpu.category.region import EVERYWHERE
    >>> from tinygpu.category.term import TRUE, Read, Var, lift
    >>> a, z, c, d = Var("a", "f32"), Var("z", "f32"), Var("c", "bool"), Var("d", "bool")
    >>> one, other = (gathered(select(p, select(q, a, z), z), EVERYWHERE) for p, q in ((c, d), (d, c)))
    >>> one == other, one == gathered(select(c, select(d, a, z), a), EVERYWHERE)
    (True, False)
    >>> i, four = Var("i"), Region((Axis("i", lift(4)),))
    >>> x = [Fold("sum", (Axis("i", lift(8)),), TRUE, Read("x", (at,), "f32"), "f32") for at in (i // 4, lift(0))]
    >>> gathered(x[0], four) == gathered(x[1], four)  # that i is another one
    False
    """
    if term.dtype == INDEX or isinstance(term, Fold):  # whose axes may have names of others
        return simplify(term, region)
    term = rebuild(term, lambda t: gathered(t, region))
    match term:
        case App("select", (condition, then, otherwise)):
            parts = conjuncts(condition)
            match then:
                case App("select", (further, inner, same)) if same == otherwise:
                    parts, then = (*parts, *conjuncts(further)), inner
            return select(conjunction(*sorted(dict.fromkeys(parts), key=sorting)), then, otherwise)
    return term
