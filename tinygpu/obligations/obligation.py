"""What has to be proved: one formula, one sentence, the code it fails with, the spans it comes from.

Comes in: what the property files of this folder yield. Goes out: quantifier-free statements `hypotheses ⊢ goal` over integers,
with every free variable a size, an axis of the work or of a loop, or a binder. The one idea: a property that nobody could
state is a `Gap`, which is never proved, so silence cannot be success.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.category.term import Term
from tinygpu.diagnostic import Label
from tinygpu.record import dataclass, field

Forms: TypeAlias = tuple[Term, ...]  # for messages: the program's value and the equation's, where a claim is about two
Meant: TypeAlias = tuple[tuple[str, Term], ...]  # and what the symbols in it stand for


@dataclass(frozen=True, slots=True)
class Obligation:
    """`hypotheses ⊢ goal`. `kind` is the property's file, `title` what is wrong where it fails. Two are one whatever messages say of them."""

    kind: str
    code: str
    title: str
    sentence: str
    hypotheses: tuple[Term, ...]
    goal: Term
    labels: tuple[Label, ...] = ()
    help: str = ""
    forms: Forms = field(default=(), compare=False, repr=False)
    meant: Meant = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Gap:
    """A property that could not be stated as formulas, and why. The verdict is at best `unknown`."""

    kind: str
    code: str
    title: str
    reason: str
    labels: tuple[Label, ...] = ()
    forms: Forms = field(default=(), compare=False, repr=False)
    meant: Meant = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Inhabited:
    """Some point satisfies the hypotheses: a proof about nothing is no proof."""

    kind: str
    code: str
    title: str
    sentence: str
    hypotheses: tuple[Term, ...]
    labels: tuple[Label, ...] = ()
    help: str = ""
    meant: Meant = field(default=(), compare=False, repr=False)


Claim: TypeAlias = Obligation | Inhabited | Gap
