"""What a proof says, in sentences: for which sizes, by how many obligations, with which numerics.

Comes in: a proof. Goes out: lines for the terminal and for the docstring of the emitted module.
The one idea: the verdict never claims more than was proved, so the assumptions stand beside it.
"""

from __future__ import annotations

from collections import Counter

from tinygpu.category.term import text
from tinygpu.hardware.arch import CPU
from tinygpu.model.choice import Choice
from tinygpu.model.pipeline import Claimed, Pipeline
from tinygpu.obligations.values import where_defined
from tinygpu.program.render import standalone
from tinygpu.program.step import Program
from tinygpu.proof.assumed import numerics_of
from tinygpu.proof.axioms import own_instructions
from tinygpu.proof.certificate import program_text, sha
from tinygpu.proof.kernel import Proof
from tinygpu.proof.pipeline import taken_for_numbers

NAMED = 32  # digits of the hash of its program, which a certificate has too, that a module names
INTRODUCES = "The program, for `tinygpu replay`:"  # in the docstring of a launcher, what follows is its program as a spec


def sizes(program: Program) -> str:
    """For which sizes a machine holds.

    >>> from tinygpu.category.term import Var
    >>> from tinygpu.model.op import Op
    >>> sizes(Program("m", Op("o", ("M", "N"), (), (), (), ()), (), (Var("M") >= 1,)))
    'all M, N with M >= 1'
    """
    partial = ", wherever the equation has a value" if where_defined(program.op) else ""
    if own := own_instructions(program):
        partial += (
            f", where {' and '.join(own)} {'do what their declarations say' if len(own) > 1 else 'does what its declaration says'}"
        )
    if not program.op.sizes:
        return f"its one size{partial}"
    where = f" with {' and '.join(map(text, program.where))}" if program.where else ""
    data = f", assuming {' and '.join(map(text, program.op.promises))}" if program.op.promises else ""
    return f"all {', '.join(program.op.sizes)}{where}{data}{partial}"


def stated_for(one: Claimed) -> str:
    """For which sizes a theorem, a lemma, a choice or a pipeline holds, and where."""
    if not isinstance(one, Choice | Pipeline):
        return one.sizes
    between = taken_for_numbers(one) if isinstance(one, Pipeline) else ()
    partial = ", wherever the equation has a value" if where_defined(one.op) else ""
    return f"{one.sizes}{numbers(between)}{partial}"


def between_calls(one: Choice | Pipeline) -> tuple[str, ...]:
    """The sentence of what stands between calls and is taken for a number, if there is any."""
    between = taken_for_numbers(one) if isinstance(one, Pipeline) else ()
    said = f"It holds{numbers(between).removeprefix(',')}: who takes {' or '.join(between)} is proved for numbers."
    return (said,) if between else ()


def numbers(between: tuple[str, ...]) -> str:
    """What is said of values that are taken for numbers.

    >>> numbers(("m",)), numbers(("m", "s")), numbers(())
    (', where m is a number', ', where m and s are numbers', '')
    """
    said = " and ".join(between)
    return f", where {said} {'are numbers' if len(between) > 1 else 'is a number'}" if between else ""


def methods(proof: Proof) -> str:
    """How the obligations were discharged, those that say the same of several places in the text once: so they are as many for a program
    that was derived as for one that is given.

    `30 obligations: 11 by structure, 17 by z3, 2 by model`
    """
    found = {
        (c.kind, c.code, getattr(c, "hypotheses", ()), getattr(c, "goal", None)): t.method
        for t in proof.theorems
        for c in (t.claim,)
    }
    count = Counter(found.values())
    return f"{len(found)} obligations: " + ", ".join(f"{n} by {m}" for m, n in sorted(count.items()))


def on_cpu(proof: Proof) -> str:
    """What is said of a CPU kernel that is made of a program of its own."""
    if proof.program.arch == CPU:
        return f"The kernel is made of the same without panels, which it lays out by itself: proved too ({methods(proof)})."
    return f"On the CPU one thread does what a block's threads do together: a program of its own, proved too ({methods(proof)})."


def facts(proof: Proof) -> tuple[str, ...]:
    """The paragraph of an emitted docstring."""
    return (
        f"Proved for {sizes(proof.program)}: {methods(proof)}.",
        numerics_of(proof.program).sentence,
        f"Certificate {sha(program_text(proof.program))[:NAMED]}.",
    )


def spelled_out(proof: Proof, *beside: Proof) -> tuple[str, ...]:
    """The program as a spec of its own, with those that were proved beside it, for who wants to prove it again."""
    if not proof.program.op.source:
        return ()
    return (f"\n{INTRODUCES}\n\n{standalone(proof.program, tuple(p.program for p in beside))}",)
