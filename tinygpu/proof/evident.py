"""What is seen of a formula without a solver: that it follows from ranges, or a point at which hypotheses hold.

Comes in: hypotheses, and a goal. Goes out: whether it is evident; a point that comes to mind. The one idea: what intervals decide is decided at once, and what they do
not decide is left to the kernel's solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tinygpu.category.decide import decided
from tinygpu.category.evaluate import evaluate
from tinygpu.category.known import Known
from tinygpu.category.settle import settle
from tinygpu.category.term import INDEX, TRUE, App, Const, Term, Var, variables
from tinygpu.obligations.bijection import PRIME
from tinygpu.proof.digits import by_digits
from tinygpu.proof.points import as_one


def inhabited(hypotheses: tuple[Term, ...]) -> dict[str, int] | None:
    """A point that comes to mind at which the hypotheses hold: every variable with an extent 0, all others one number, or the least that they may be.

    >>> n, m, i = Var("n"), Var("m"), Var("i")
    >>> inhabited((n % 4 < 1, n >= 1, m >= 8, m >= 1, i >= 0, i < n)), inhabited((n < 1, n >= 1))
    ({'i': 0, 'm': 8, 'n': 4}, None)
    """
    least: dict[str, int] = {}
    for name, low in map(_least, hypotheses):
        least[name] = max(low, least.get(name, 0))
    ranged = {h.args[0].name for h in hypotheses if isinstance(h, App) and h.op == "lt" and isinstance(h.args[0], Var)}
    names = sorted({name for h in hypotheses for name in variables(h)})
    for number in (1, 2, 4, 12, 16, 64, 1024, 65536):
        point = {name: 0 if name in ranged else max(number, least.get(name, 0)) for name in names}
        try:
            if all(evaluate(h, point) for h in hypotheses):
                return point
        except (ValueError, ZeroDivisionError):
            return None
    return None


def _least(hypothesis: Term) -> tuple[str, int]:
    """A variable and a number that a hypothesis says it is at least, if it says that of one."""
    match hypothesis:
        case App("ge", (Var(name), Const(int(low)))):
            return name, low
    return "", 0


@lru_cache(maxsize=1024)  # as of what the solver is asked: the machines of a spec have many in common
def evident(hypotheses: tuple[Term, ...], goal: Term) -> bool:
    """Whether the goal follows from the ranges among the hypotheses alone, or they say that one of the hypotheses is false.

    >>> i = Var("i")
    >>> evident((i >= 0, i < 8), i < 9), evident((i < 8,), i < 9), evident((i >= 0,), i < 9)
    (True, False, False)
    >>> evident((i >= 0, i < 8, App("not", (i < 9,), "bool")), i > 9)
    True
    """
    natural, extents, facts = _ranges(hypotheses)
    if natural is None or not all(v in natural for v in variables(goal) if " " not in v):
        return False
    denied = [h for h in hypotheses if isinstance(h, App) and h.op == "not"]
    if any(decided(h.args[0], Known.of(extents, facts - {h})) for h in denied):
        return True
    if settle(goal, extents, facts) == TRUE:
        return True
    if any(name.endswith(PRIME) for name in variables(goal)):
        one = as_one(goal, extents, hypotheses)
        return one != goal and settle(one, extents, facts) == TRUE
    return by_digits(goal, extents, hypotheses)


@lru_cache(maxsize=256)
def _ranges(hypotheses: tuple[Term, ...]) -> tuple[frozenset[str] | None, Mapping[str, Term], frozenset[Term]]:
    """The variables that are at least 0 (None where another stands in a hypothesis), their extents, and the hypotheses as facts."""
    natural = frozenset(map(_natural, hypotheses))
    named = frozenset[str]().union(*map(variables, hypotheses))
    extents: dict[str, Term] = {}
    for h in hypotheses:
        match h:
            case App("lt", (Var(name, dtype), extent)) if dtype == INDEX and name not in _reached(extent, extents):
                extents[name] = extent  # where two are bounded by each other, the second is a fact alone
    return natural if all(v in natural for v in named if " " not in v) else None, extents, frozenset(hypotheses)


def _reached(term: Term, extents: Mapping[str, Term]) -> set[str]:
    """The variables of a term, and those that their extents speak of."""
    found, left = set[str](), [term]
    while left:
        new = set(variables(left.pop())) - found
        found |= new
        left += [extents[name] for name in new if name in extents]
    return found


def _natural(hypothesis: Term) -> str:
    """The variable that a hypothesis says is at least 0 (or 1), if it says so."""
    match hypothesis:
        case App("le", (Const(int(low)), Var(name))) | App("ge", (Var(name), Const(int(low)))) if low >= 0:
            return name
    return ""
