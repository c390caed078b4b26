"""The verdict on a theorem: proved, refuted by a case, or unknown with what is missing.

Comes in: a `Theorem`. Goes out: `Proved`, or a message. The one idea: of what the laws do not reach an evaluation at small sizes says whether it is false; and what is proved is
evaluated, too, so that a law that is wrong would have to agree with the equations.
"""

from __future__ import annotations

from math import isfinite
from typing import TypeAlias

from tinygpu.algebra.lemma import Meaning
from tinygpu.algebra.lemma import prove as lemma_proved
from tinygpu.algebra.refute import difference, tried
from tinygpu.algebra.theorem import MARK, Missing, Proved, prove
from tinygpu.category.term import Term, Var, text
from tinygpu.diagnostic import Diagnostic, Label
from tinygpu.model.lemma import GIVEN, SIZE, Lemma
from tinygpu.model.theorem import Theorem
from tinygpu.proof.kernel import BUDGET
from tinygpu.record import replace

Known: TypeAlias = Proved | Meaning
LONGEST = 300  # characters of a form


def judged(one: Theorem | Lemma, budget: int = BUDGET) -> Known | Diagnostic:
    """What is proved, or the message of a refutation or of what is missing."""
    return _meant(one, budget) if isinstance(one, Lemma) else _same(one, budget)


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


def _meant(lemma: Lemma, budget: int) -> Meaning | Diagnostic:
    found = lemma_proved(lemma, lemma.carrier, budget)
    other = difference(Theorem(lemma.name, lemma.folded, lemma.op, (Var(SIZE) >= 1,)))
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
    theorem = found.theorem
    if found.claim is not None:
        helps = tuple(help for help in (getattr(found.claim, "help", ""),) if help)
        return Diagnostic("TG561", f"not proved: {found.reason}", labels, "unknown", helps=helps)
    notes = tuple(f"{op.name}: {_short(form)}" for op, form in zip((theorem.left, theorem.right), found.forms, strict=False))
    title = f"not proved that {theorem.left.name} is {theorem.right.name}: {found.reason}"
    small = "no small size tells them apart" if next(tried(theorem), None) else "no size is small enough to evaluate both sides"
    help = f"{small}; what is between the two forms is a law that is missing"
    if not found.forms:
        help = "theorems are about floats as numbers, and look into a fold of a monoid where a lemma says what it means: lemma NAME[k] (x[k]) is { … }"
    return Diagnostic("TG560", title, labels, "unknown", notes=notes, helps=(help,))


def _short(form: Term) -> str:
    said = text(form).replace(MARK, "")
    return said if len(said) <= LONGEST else f"{said[:LONGEST]} …"
