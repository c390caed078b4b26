"""What a proof says, in sentences: for which sizes, by how many obligations, with which numerics.

Comes in: a proof. Goes out: lines for the terminal and for the docstring of the emitted module.
The one idea: the verdict never claims more than was proved, so the assumptions stand beside it.
"""

from __future__ import annotations

from collections import Counter

from tinygpu.category.term import FLOATS, App, Fold, text, walk
from tinygpu.program.step import Assign, Program, steps
from tinygpu.proof.kernel import Proof


def sizes(program: Program) -> str:
    """For which sizes a machine holds.

    >>> from tinygpu.category.term import Var
    >>> from tinygpu.model.op import Op
    >>> sizes(Program("m", Op("o", ("M", "N"), (), (), (), ()), (), (Var("M") >= 1,)))
    'all M, N with M >= 1'
    """
    if not program.op.sizes:
        return "its one size"
    where = f" with {' and '.join(map(text, program.where))}" if program.where else ""
    data = f", assuming {' and '.join(map(text, program.op.promises))}" if program.op.promises else ""
    return f"all {', '.join(program.op.sizes)}{where}{data}"


def methods(proof: Proof) -> str:
    """How the obligations were discharged.

    `30 obligations: 11 by structure, 17 by z3, 2 by model`
    """
    count = Counter(t.method for t in proof.theorems)
    return f"{len(proof.theorems)} obligations: " + ", ".join(f"{n} by {m}" for m, n in sorted(count.items()))


def numerics(program: Program) -> str:
    """What equality of floats means for this machine."""
    if not any(t.dtype in FLOATS for t in program.op.tensors):
        return "Integers are exact, modulo the width of their type."
    ours = [s.value for launch in program.launches for s in steps(launch.body) if isinstance(s, Assign)]
    theirs = [e.value for e in program.op.equations]
    folds = any(isinstance(t, Fold) for value in theirs for t in walk(value))
    order = "folds may be reassociated" if folds else "every element is evaluated as the equation is written"
    casts = sorted({t.dtype for v in ours for t in walk(v) if isinstance(t, App) and t.op == "cast" and t.dtype in FLOATS})
    rounding = f"; casts to {', '.join(casts)} are those of the equation" if casts else ""
    if any(
        s.atomic and s.value.dtype in FLOATS for launch in program.launches for s in steps(launch.body) if isinstance(s, Assign)
    ):
        order += ", and atomic updates come in another order at every call"
    return f"Over the reals: {order}; products and sums may be contracted{rounding}. NaN is outside of the statement."


def on_cpu(proof: Proof) -> str:
    """What is said of a CPU kernel that is made of a program of its own."""
    return f"On the CPU one thread does what a block's threads do together: a program of its own, proved too ({methods(proof)})."


def facts(proof: Proof) -> tuple[str, ...]:
    """The paragraph of an emitted docstring."""
    return (
        f"Proved for {sizes(proof.program)}: {methods(proof)}.",
        numerics(proof.program),
        f"Proof {proof.digest[:16]}.",
    )
