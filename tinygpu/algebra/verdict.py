"""The verdict on a theorem, and on a machine that goes by one: proved, refuted by a case, or unknown with what is missing.

Comes in: a `Theorem`. Goes out: `Proved`, or a message. The one idea: of what the laws do not reach an evaluation at small sizes says whether it is false; and what is proved is
evaluated, too, so that a law that is wrong would have to agree with the equations.
"""

from __future__ import annotations

from functools import lru_cache
from math import isfinite
from typing import TypeAlias

from tinygpu.algebra.differences import as_sides, corrected, drawn
from tinygpu.algebra.gradient import differentiated
from tinygpu.algebra.lemma import Meaning
from tinygpu.algebra.lemma import prove as lemma_proved
from tinygpu.algebra.refute import cases, difference, tried
from tinygpu.algebra.theorem import Missing, Proved, prove, spoken
from tinygpu.category.evaluate import number
from tinygpu.category.operation import FUNCTION
from tinygpu.category.term import Term, Var
from tinygpu.diagnostic import Case, Diagnostic, Label, TinygpuError
from tinygpu.model.choice import Choice
from tinygpu.model.gradient import Gradient
from tinygpu.model.lemma import GIVEN, SIZE, Lemma
from tinygpu.model.op import Op
from tinygpu.model.pipeline import Claimed, Pipeline
from tinygpu.model.theorem import Theorem
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, Unknown, Verdict, check
from tinygpu.proof.choice import Covered, cases_at, covered
from tinygpu.proof.kernel import BUDGET
from tinygpu.proof.pipeline import Linked, linked, looked_at
from tinygpu.record import replace

Known: TypeAlias = Proved | Meaning | Covered | Linked
LONGEST = 300  # characters of a form
NOWHERE = "no size is small enough to evaluate both sides, or no data there are as promised"


def known(theorem: Theorem, budget: int = BUDGET) -> Proved | Diagnostic:
    """What is proved of a theorem that machines go by, or the message that it is not."""
    found = _same(theorem, budget)
    if isinstance(found, Proved):
        return found
    title = f"{theorem.left.family} is computed as {theorem.right.family} by the theorem {theorem.name}, and that is not proved: {found.title}"
    return replace(found, code="TG565", title=title)


def check_both(program: Program, budget: int = BUDGET) -> Verdict:
    """The verdict on a program that computes the right side of a theorem, called as the left one: on the theorem, and then on the program."""
    found = known(program.op.via, budget) if program.op.via else None
    if not isinstance(found, Diagnostic):
        return check(program, budget)
    return Refutation(program, found) if found.verdict == "refuted" else Unknown(program, (found,))


def insist(op: Op) -> None:
    """Raises TinygpuError for an op that is computed by a theorem which is not proved."""
    found = known(op.via) if op.via is not None else None
    if isinstance(found, Diagnostic):
        raise TinygpuError(found)


def judged(one: Claimed, budget: int = BUDGET) -> Known | Diagnostic:
    """What is proved, or the message of a refutation or of what is missing."""
    match one:
        case Choice():
            return covered(one, budget)
        case Pipeline():
            return linked(one, budget)
        case Lemma():
            return _meant(one, budget)
        case Gradient():
            return _changes(one, budget)
    return _same(one, budget)


@lru_cache(maxsize=64)  # of a theorem machines ask again
def _same(theorem: Theorem, budget: int) -> Proved | Diagnostic:
    found, other = prove(theorem, budget), difference(theorem)
    names = (theorem.left.name, theorem.right.name)
    labels = (Label(theorem.span, "this theorem"),)
    if other is not None:
        if isinstance(found, Proved):
            raise AssertionError(f"{theorem.name} is proved, and false")
        notes = (f"the last row has two values: by {names[0]}, and by {names[1]}",)
        if not isfinite(other.values[1]):
            return Diagnostic("TG561", f"{names[1]} has no value where {names[0]} has one", labels, "refuted", other.case, notes)
        return Diagnostic("TG560", f"{names[0]} and {names[1]} compute different values", labels, "refuted", other.case, notes)
    return found if isinstance(found, Proved) else _missing(found, labels)


def as_theorem(lemma: Lemma) -> Theorem:
    """A lemma as a theorem: the fold over something, and what it means."""
    return Theorem(lemma.name, lemma.folded, lemma.op, (Var(SIZE) >= 1,))


def evaluated(one: Claimed) -> tuple[int, int]:
    """How often both sides are evaluated, the cases of a choice, or the values of a pipeline, at how many sizes, before it is said to be proved."""
    if isinstance(one, Choice | Pipeline):
        return (found := sum(1 for _ in (cases_at(one) if isinstance(one, Choice) else looked_at(one)))), found
    if isinstance(one, Gradient):
        every = [tuple(sizes.items()) for sizes, _ in drawn(one)]
        return len(every), len({*every})
    every = [tuple(sizes.items()) for sizes, _ in cases(one if isinstance(one, Theorem) else as_theorem(one))]
    return len(every), len({*every})


def _changes(one: Gradient, budget: int) -> Proved | Diagnostic:
    found, other = differentiated(one, budget), corrected(one)
    labels, names = (Label(one.span, "this gradient"),), " and ".join(b.family for b in one.by)
    if other is not None:
        if isinstance(found, Proved):
            raise AssertionError(f"{one.name} is proved, and false")
        notes = (f"the last row has two values: by differences of {one.op.family}, and by {names}",)
        return Diagnostic("TG569", f"{names} is not the gradient of {one.op.family}", labels, "refuted", other.case, notes)
    return found if isinstance(found, Proved) else _missing(found, labels)


def _meant(lemma: Lemma, budget: int) -> Meaning | Diagnostic:
    found = lemma_proved(lemma, lemma.carrier, budget)
    other = difference(as_theorem(lemma))
    labels = (Label(lemma.span, "this lemma"),)
    if other is not None:
        if isinstance(found, Meaning):
            raise AssertionError(f"the lemma of {lemma.name} is proved, and false")
        case = replace(other, element=other.element.removesuffix(f"{GIVEN}[]")).case
        notes = ("the last row has two values: by the fold, and by what the lemma says",)
        return Diagnostic("TG563", f"a fold of {lemma.name} does not mean this", labels, "refuted", case, notes)
    if isinstance(found, Meaning):
        return found
    return Diagnostic("TG563", f"not proved that a fold of {lemma.name} means this: {found}", labels, "unknown")


def _missing(found: Missing, labels: tuple[Label, ...]) -> Diagnostic:
    one = found.theorem
    sides = (one.left, one.right) if isinstance(one, Theorem) else (one.op, one.whole)
    about = "is" if isinstance(one, Theorem) else "has the gradient"
    code = "TG560" if isinstance(one, Theorem) else "TG569"
    if found.claim is not None:
        helps = tuple(help for help in (getattr(found.claim, "help", ""),) if help)
        case = _beyond(one, found.claim) if isinstance(one, Theorem) else None
        title = f"{found.claim.title}: {found.reason}" if case else f"not proved: {found.reason}"
        return Diagnostic(found.claim.code, title, labels, "refuted" if case else "unknown", case, helps=helps)
    who = [op.name for op in sides] if isinstance(one, Theorem) else ["the adjoint", sides[1].name]
    notes = tuple(f"{name}: {_short(form)}" for name, form in zip(who, found.forms, strict=False))
    title = f"not proved that {sides[0].name} {about} {sides[1].name}: {found.reason}"
    both = one if isinstance(one, Theorem) else as_sides(one)
    small = "no small size tells them apart" if next(cases(both), None) else NOWHERE
    help = f"{small}; what is between the two forms is a law that is missing"
    if not found.forms and isinstance(one, Gradient):
        known = [name for name, row in FUNCTION.items() if row.slope is not None]
        help = f"what is followed are sums, maxima, arithmetic and {', '.join(known)}, and a fold of a monoid where a lemma says what it means"
    elif not found.forms:
        help = "theorems are about floats as numbers, and look into a fold of a monoid where a lemma says what it means: lemma NAME[k] (x[k]) is { … }"
    return Diagnostic(code, title, labels, "unknown", notes=notes, helps=(help,))


def _beyond(theorem: Theorem, claim: Claim) -> Case | None:
    """The smallest sizes at which more is rounded than is said."""
    if not isinstance(claim, Obligation) or claim.code != "TG567":
        return None
    sizes = next((sizes for sizes in tried(theorem) if not number(claim.goal, sizes)), None)
    return Case(tuple((name, (str(n),)) for name, n in sizes.items())) if sizes else None


def _short(form: Term) -> str:
    said = spoken(form)
    return said if len(said) <= LONGEST else f"{said[:LONGEST]} …"
