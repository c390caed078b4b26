"""Every integer that a kernel's text computes fits the type it is computed in, for 32-bit and for 64-bit indices.

    limits(sizes) ≤ W, W ≥ 2³¹ − 1  ⊢  −W − 1 ≤ t ≤ W        signed;  0 ≤ t ≤ 2·W + 1 unsigned;  0 ≤ t < 2³² for words

Comes in: index terms of the text, where they are computed, and the terms that the launcher compares with the largest index.
Goes out: whether each is seen, or proved, to fit. The one idea: W is a variable, so one proof is for both widths; the bounds come from
intervals, which the launcher's limits are compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import z3

from tinygpu.category.bounds import range_of
from tinygpu.category.decide import decided
from tinygpu.category.known import Known, apart, over
from tinygpu.category.linear import Polynomial, as_written, constant, number, plus, polynomial
from tinygpu.category.term import BOOL, INDEX, App, Axis, Const, Read, Term, Var, conjunction, conjuncts, exchange, reads, walk
from tinygpu.obligations.facts import instances
from tinygpu.proof.kernel import ask
from tinygpu.record import dataclass, field
from tinygpu.validate.ends import Ends, upper_guards, whole_guards
from tinygpu.validate.limits import capped, plainly, starts, swept, taken_away, together
from tinygpu.validate.same import BUDGET, Here, canonical

LEAST, LONG = 2**31 - 1, 2**63 - 1  # the largest index where indices have 32 bits, and where they have 64
WORD = 2**32 - 1
LARGEST = Var("largest index")
RANGES = {  # lowest and highest, each as (factor of W, constant)
    "ix": ((-1, -1), (1, 0)),
    "u32": ((0, 0), (0, WORD)),
    "natural": ((0, 0), (1, 0)),
    "positive": ((0, 1), (1, 0)),
    "lane": ((0, 0), (0, 31)),
    "cpu": ((-1, -(2**32)), (1, WORD)),
}

NAMED = {
    "ix": "an index of the kernel's type",
    "u32": "an unsigned number of 32 bits",
    "natural": "at least 0",
    "positive": "at least 1",
    "lane": "a number of lanes below 32",
}


@dataclass(slots=True)
class Width:
    """What the launcher sees to: `limits` are at most the largest index, which is at least `least`."""

    limits: tuple[Term, ...]
    least: int = LEAST
    forms: tuple[Polynomial, ...] = ()
    atoms: tuple[frozenset[Term], ...] = ()
    known: dict[tuple[Term, str, Here], bool | None] = field(default_factory=dict)

    @staticmethod
    @lru_cache(maxsize=8)
    def of(limits: tuple[Term, ...], least: int = LEAST) -> Width:
        """The same object for the same limits, with all that it knows: the machines of a spec compute many indices alike."""
        return Width(limits, least)

    def __post_init__(self) -> None:
        forms = (polynomial(form) for t in self.limits for form in (t, canonical(t)))
        self.forms = tuple({frozenset(form.items()): form for form in forms}.values())
        self.atoms = tuple(frozenset(atom for m in form for atom in m) for form in self.forms)
        if any(isinstance(t, Const) and t.value > self.least for t in self.limits):
            self.least = LONG  # no call takes the kernel whose indices have 32 bits

    def fits(self, term: Term, kind: str, here: Here, quick: bool = False) -> bool:
        """Whether a term is in the range of that kind at every point of a place; `quick` does not ask the solver."""
        if isinstance(term, Const):
            low, high = RANGES[kind]
            return self._end_of(low) <= int(term.value) <= self._end_of(high)
        if isinstance(term, App) and term.op in ("min", "max") and all(self.fits(part, kind, here, True) for part in term.args):
            return True  # as it is one of them
        key = (term, kind, here)  # all of it: that an extent is at least 1 may come from an axis or a guard that the term has not
        if key not in self.known:
            known = here.known
            plain = together(plainly(term, known), known), kind, here
            said = promised(*plain)
            self.known[key] = self.seen(*plain) or (said != plain and self.seen(*said)) or None
        if self.known[key] is None and not quick:
            known = here.known
            self.known[key] = self._proved(together(plainly(term, known), known), kind, here)
        return bool(self.known[key])

    def limited(self, count: Term) -> bool:
        """Whether a number of elements is at most the largest index.

        >>> n, m = Var("n"), Var("m")
        >>> width = Width((n * m,))
        >>> width.limited(m * n), width.limited(m * n + 1), width.limited(m * n * 2), width.limited(Const(4096))
        (True, False, False, True)
        """
        form = polynomial(canonical(count))
        return any(over(limit, form) for limit in (*self.forms, constant(self.least)))

    def inside(self, first: Term, last: Term, size: Term, here: Here) -> bool:
        """Whether `0 ≤ first` and `last < size` at every point of a place."""
        known = here.known
        ends = Ends(known, whole_guards(here.guards, known))
        low, tops = ends.low(first), [ends.high(last)]
        if (more := apart(polynomial(last), polynomial(first))) and (top := ends.high(first)) is not None:
            tops.append(plus(top, constant(more)))  # what a guard says of the last one may not be seen in its form
        most = plus(polynomial(size), constant(1), -1)
        if (
            low is not None
            and ends.known.positive(low)
            and any(t is not None and decided(as_written(plus(most, t, -1)) >= 0, known) for t in tops)
        ):
            return True
        return here.holds(conjunction(first >= 0, last < size))

    def seen(self, term: Term, kind: str, here: Here) -> bool:
        """By bounds: those of intervals, those of guards and of forms, those of axes that are swept; first all with what is soon seen."""
        ends = Ends(here.known, upper_guards(here.guards))
        known, form, (least, most) = ends.known, polynomial(canonical(term)), RANGES[kind]

        def inside(low: Polynomial | None, high: Polynomial | None, long: bool) -> bool:
            if low is None or high is None:
                return False
            return self._above(low, least, known) and self._below(high, most, known, long)

        quick = range_of(form, known)
        if inside(*quick, False):
            return True
        low, high = ends.low(term), ends.high(term)
        down, up, bounds = swept(form, known, -1), swept(form, known, 1), [(low, high)]
        if down != form or up != form:
            bounds.insert(0, (low if down == form else range_of(down, known)[0], high if up == form else range_of(up, known)[1]))
        return any(inside(*both, long) for long in (False, True) for both in bounds if long or both != quick)

    def _end_of(self, end: tuple[int, int]) -> int:
        """An end of a range where the largest index is the least that it may be."""
        return end[0] * self.least + end[1]

    def _with(self, form: Polynomial, sign: int) -> Iterator[Polynomial]:
        """The limits with all of the atoms that a form adds, or takes away, alone: no other can be as large, or make up for it."""
        more, less = (frozenset(atom for m, c in form.items() if c * s > 0 for atom in m) for s in (sign, -sign))
        needed = more - less
        return (limit for limit, atoms in zip(self.forms, self.atoms, strict=True) if needed <= atoms)

    def _above(self, low: Polynomial, end: tuple[int, int], known: Known) -> bool:
        lowest = number(low)
        if lowest is not None:
            return lowest >= self._end_of(end)
        if known.positive(plus(low, constant(self._end_of(end)), -1)):
            return True
        above = plus(low, constant(end[1]), -1)  # of −W + b the W is at least a limit
        return end[0] == -1 and any(known.positive(plus(form, above)) for form in self._with(above, -1))

    def _below(self, high: Polynomial, end: tuple[int, int], known: Known, long: bool = True) -> bool:
        """Whether `high ≤ a·W + b`: a number, or at most a limit and `b`, twice a limit; each limit is looked at for `long`, or only soon seen."""
        bounded = capped(high, known)
        if bounded != high and self._below(bounded, end, known, long):
            return True
        highest = number(high)
        if highest is not None:
            return highest <= self._end_of(end)
        if end[0] == 0:
            return False
        over = plus(high, constant(end[1] + (end[0] - 1) * self.least), -1)  # of 2·W + 1 one W is at least 2³¹ − 1
        if any(known.positive(plus(form, least, -1)) for form in self._with(high, 1) for least in (high, over)):
            return True
        beyond = [plus(form, high, -1) for form in starts(self.limits, known)] if long else []
        return any(decided(as_written(rest) >= 0, known) for rest in sorted(beyond, key=taken_away))

    def _proved(self, term: Term, kind: str, here: Here) -> bool:
        """By the solver, which is told that nothing the launcher compares is larger than the largest index."""
        given = tuple(App("le", (t, LARGEST), BOOL) for t in self.limits) + (App("le", (Const(self.least), LARGEST), BOOL),)
        (a, b), (c, d) = RANGES[kind]
        goal = conjunction(LARGEST * a + b <= term, term <= LARGEST * c + d)
        return ask(here.about(term) + given, goal, BUDGET)[0] == z3.unsat


class Unasked(Width):
    """Of expressions that are only read, whatever they fit."""

    def fits(self, term: Term, kind: str, here: Here, quick: bool = False) -> bool:
        return True


def promised(term: Term, kind: str, here: Here) -> tuple[Term, str, Here]:
    """The term where each element of data that a promise says to be below an extent is an axis of that extent."""
    if not reads(term):
        return term, kind, here
    as_axes: dict[Term, Term] = {}
    for cast in (t for t in walk(term) if isinstance(t, App) and t.op == "cast" and t.dtype == INDEX and reads(t)):
        (element,) = cast.args
        for fact in (f for p in here.promises if isinstance(element, Read) for f in instances(p, (element,))):
            match fact:
                case App("or", (App("not", (inside,)), body)) if here.holds(inside):
                    ends = [_index(part, here) for part in conjuncts(body)]
                    tops = [b for part in ends for a, b in [part.args] if part.op == "lt" and a == cast and not reads(b)]  # type: ignore[union-attr]
                    if tops and (Const(0) <= cast) in ends:
                        as_axes[cast] = Var(f"data {len(as_axes)}")
                        here = here.inside(Axis(f"data {len(as_axes) - 1}", tops[0]))
                        break
    return exchange(term, as_axes), kind, here


def _index(part: Term, here: Here) -> Term:
    """A comparison of an element of data, of integers of its dtype, as one of indices."""
    match part:
        case App("lt" | "le" as op, (a, b), dtype) if a.dtype == "i32":
            sides: list[Term] = []
            for side in (a, b):
                match side:
                    case Const(int(value)):
                        sides.append(Const(value))
                    case App("cast", (Var() as size,)) if here.holds(size <= LEAST):
                        sides.append(size)
                    case _:
                        sides.append(App("cast", (side,), INDEX))
            return App(op, tuple(sides), dtype)
    return part
