"""The verdict on a theorem: proved, refuted by a case, or unknown with what is missing.

Comes in: a `Theorem`. Goes out: `Proved`, or a message. The one idea: of what the laws do not reach an evaluation at small sizes says whether it is false; and what is proved is
evaluated, too, so that a law that is wrong would have to agree with the equations.
"""

from __future__ import annotations

from tinygpu.algebra.refute import difference
from tinygpu.algebra.theorem import MARK, Missing, Proved, prove
from tinygpu.category.term import Term, text
from tinygpu.diagnostic import Diagnostic, Label
from tinygpu.model.theorem import Theorem
from tinygpu.proof.kernel import BUDGET

LONGEST = 300  # characters of a form


def judged(theorem: Theorem, budget: int = BUDGET) -> Proved | Diagnostic:
    """`Theorem → Proved`, or the message of a refutation or of what is missing."""
    found, other = prove(theorem, budget), difference(theorem)
    names = (theorem.left.name, theorem.right.name)
    labels = (Label(theorem.span, "this theorem"),)
    if other is not None:
        if isinstance(found, Proved):
            raise AssertionError(f"{theorem.name} is proved, and false")
        notes = (f"the last row has two values: by {names[0]}, and by {names[1]}",)
        return Diagnostic("TG560", f"{names[0]} and {names[1]} compute different values", labels, "refuted", other.case, notes)
    return found if isinstance(found, Proved) else _missing(found, labels)


def _missing(found: Missing, labels: tuple[Label, ...]) -> Diagnostic:
    theorem = found.theorem
    if found.claim is not None:
        help = getattr(found.claim, "help", "") or "say it of the theorem or of both ops: where N >= 1"
        return Diagnostic("TG561", f"not proved: {found.reason}", labels, "unknown", helps=(help,))
    notes = tuple(f"{op.name}: {_short(form)}" for op, form in zip((theorem.left, theorem.right), found.forms, strict=False))
    title = f"not proved that {theorem.left.name} is {theorem.right.name}: {found.reason}"
    return Diagnostic(
        "TG560",
        title,
        labels,
        "unknown",
        notes=notes,
        helps=("no small size tells them apart; what is between the two forms is a law that is missing",),
    )


def _short(form: Term) -> str:
    said = text(form).replace(MARK, "")
    return said if len(said) <= LONGEST else f"{said[:LONGEST]} …"
