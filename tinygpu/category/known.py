"""What is known where an index term stands: the box that it lives on, and facts as linear forms that are not negative.

Comes in: extents of axes, and conditions that hold. Goes out: `Known`. The one idea: a comparison is a form that is at least 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from tinygpu.category.affine import Linear, linear
from tinygpu.category.term import BOOL, COMPARISONS, INDEX, App, Const, Fold, Term, children, conjuncts, kept
from tinygpu.record import dataclass, field

Extents = Mapping[str, Term]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known where a term stands: the extents of axes, facts, and those facts as linear forms that are not negative; and what terms
    are there, by the term or, where it matters which of equal ones it is, by its identity."""

    extents: Extents
    given: frozenset[Term] = frozenset()
    forms: tuple[Linear, ...] = ()
    settled: dict[Term | int, tuple[Term, Term]] = field(default_factory=dict, compare=False, repr=False)
    further: dict[Term, Known] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def of(extents: Extents, given: frozenset[Term] = frozenset()) -> Known:
        """The same object where the same is known, as far as it is remembered."""
        return _known(tuple(extents.items()), given)

    def under(self, condition: Term) -> Known:
        """What is known where a condition holds too."""
        if condition not in self.further:
            self.further[condition] = Known.of(self.extents, self.given.union(conjuncts(condition)))
        return self.further[condition]


@lru_cache(maxsize=512)
def _known(extents: tuple[tuple[str, Term], ...], given: frozenset[Term]) -> Known:
    return Known(dict(extents), given, tuple(form for fact in given for form in _forms(fact)))


def _forms(fact: Term) -> tuple[Linear, ...]:
    """A comparison of index terms as linear forms that are at least 0; the fact keeps them, since it is given again and again."""
    if not isinstance(fact, App) or fact.dtype != BOOL:
        return ()
    found: tuple[Linear, ...] | None = getattr(fact, "_form", None)
    if found is None:
        found = _compared(fact)
        object.__setattr__(fact, "_form", found)
    return found


def _compared(fact: App) -> tuple[Linear, ...]:
    match fact:
        case App("not", (App("lt" | "le" | "gt" | "ge" as op, (a, b)),)):
            return _forms(App({"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}[op], (a, b), BOOL))
        case App(op, (a, b)) if op in COMPARISONS and op != "ne" and a.dtype == INDEX == b.dtype:
            rise = linear(b).plus(linear(a), -1)
            fall = rise.scaled(-1)
            one = Linear((), 1)
            return {
                "lt": (rise.plus(one, -1),),
                "le": (rise,),
                "gt": (fall.plus(one, -1),),
                "ge": (fall,),
                "eq": (rise, fall),
            }[op]
    return ()


@kept
def inert(term: Term) -> bool:
    """Whether a term has nothing in it that could be decided: no condition, no quotient, no fold."""
    if isinstance(term, Fold) or term.dtype == BOOL or (isinstance(term, App) and term.op in ("select", "floordiv", "mod")):
        return isinstance(term, Const)
    return all(map(inert, children(term)))
