"""What is asked of a verdict beside its word: a certificate and its formulas, why it is so, notes on a machine.

    found (spec, verdict) → text, made by the process that has the proof; a process that only shows has text

Comes in: a spec and the verdict on one of its machines. Goes out: text and messages, which travel between processes as proofs do not. The one idea: what is wanted of a verdict is made
where it is found, so whoever asks for it has as many processes as who does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from tinygpu.category.deadline import TIME
from tinygpu.commands.theorems import Believed
from tinygpu.diagnostic import Diagnostic
from tinygpu.hardware.arch import CPU
from tinygpu.record import dataclass

if TYPE_CHECKING:
    from tinygpu.commands.judged import Judged
    from tinygpu.pipeline import Loaded
    from tinygpu.proof.certificate import Certificate
    from tinygpu.proof.kernel import Theorem

Formulas = tuple[tuple[str, str], ...]  # names, which are hashes, and texts


@dataclass(frozen=True, slots=True)
class Beside:
    """What was asked for, as far as it was."""

    certificate: str = ""
    formulas: Formulas = ()
    reasons: tuple[str, ...] = ()
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for; `why` is a property, nothing for what is open, None where it is not asked; a certificate may take so many seconds."""

    certify: bool = False
    formulas: bool = False
    why: str | None = None
    notes: bool = False
    limit: float = TIME

    def of(self, spec: Loaded, one: Judged) -> Beside:
        """What is asked for of the verdict on a machine."""
        why = () if self.why is None else tuple(reasons(one, self.why))
        certificate, formulas = self.certified(spec, one)
        return Beside(certificate, formulas, why, noted(one) if self.notes else ())

    def certified(self, spec: Loaded, one: Judged | Believed) -> tuple[str, Formulas]:
        """The text of the certificate of what is proved, and its formulas."""
        if not self.certify or one.word != "proved":
            return "", ()
        certificate, held = of_theorem(spec, one) if isinstance(one, Believed) else of_machine(spec, one, self.limit)
        return certificate.text(), tuple(formulas_of(held)) if self.formulas else ()


NOTHING = Asked()


def of_theorem(spec: Loaded, one: Believed) -> tuple[Certificate, Iterable[Theorem]]:
    """The certificate of a theorem, a choice or a pipeline, and what the kernel showed of it."""
    from tinygpu.algebra.certificate import certify

    assert one.found is not None, "it is proved"
    return certify(one.theorem, one.found, one.theorem.text(spec.spec.tree)), one.found.claims


def of_machine(spec: Loaded, one: Judged, limit: float) -> tuple[Certificate, Iterable[Theorem]]:
    """The same of a machine."""
    from tinygpu import pipeline

    proof = one.verdict
    assert isinstance(proof, pipeline.Proof), "it is proved"
    return pipeline.timely(limit, one.machine, partial(pipeline.certificate, spec, one.machine, proof)), proof.theorems


def formulas_of(held: Iterable[Theorem]) -> Iterable[tuple[str, str]]:
    """Each formula under its hash."""
    from tinygpu.category.smtlib import name_of
    from tinygpu.proof.certificate import formula

    return {name_of(text): text for text in (formula(theorem.claim) for theorem in held)}.items()


def noted(one: Judged) -> tuple[Diagnostic, ...]:
    """The notes on a machine that is proved; they change no verdict."""
    if one.word != "proved" or one.machine.arch == CPU:
        return ()
    from tinygpu.commands.costs import notes_of

    return notes_of(one.machine)


def reasons(judged: Judged, kind: str) -> list[str]:
    """The statements of one property and how each was settled, all properties for `all`; of what is not proved, what did not meet."""
    from tinygpu.category.term import TRUE, conjunction, text
    from tinygpu.pipeline import Proof

    if judged.verdict is None:
        return []
    if not isinstance(judged.verdict, Proof):
        from tinygpu.proof.why import why

        left = [o for o in judged.verdict.left if kind in ("", "all", o.claim.kind)]
        return list(why(judged.verdict.program, left, judged.diagnostics[0].code))
    from tinygpu.proof.words import spoken

    said = []
    for theorem in judged.verdict.theorems if kind else ():
        claim, goal = theorem.claim, getattr(theorem.claim, "goal", TRUE)
        if kind in ("all", claim.kind):
            lines = [f"{getattr(claim, 'sentence', claim.title)}  [{theorem.method}]"]
            if goal != TRUE:
                lines += [f"  {text(conjunction(*getattr(claim, 'hypotheses', ())))}", f"  ⊢ {text(goal)}"]
            said += [spoken(one, claim, judged.machine.op) for one in lines]
    return said or ([f"nothing had to be proved about {kind}"] if kind else [])
