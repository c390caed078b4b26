"""The proof of a theorem, a lemma, a choice or a pipeline as a file: what was stated, the laws that it went by, and the obligations beside them.

Comes in: what is proved, with the text of what it is about. Goes out: a `Certificate`, as of a machine. The one idea: the text is a spec of its own, so whoever has it
proves the theorem again; how many instances of which law that takes is told, and no file can claim it.
"""

from __future__ import annotations

import z3

from tinygpu.algebra.verdict import Known
from tinygpu.category.term import Term
from tinygpu.model.choice import Choice
from tinygpu.model.gradient import Gradient
from tinygpu.model.lemma import Lemma
from tinygpu.model.op import Op
from tinygpu.model.pipeline import Claimed, Pipeline
from tinygpu.model.theorem import Theorem
from tinygpu.proof.assumed import OVER_REALS, Numerics, approximated
from tinygpu.proof.certificate import Certificate, Entry, entries, sha, spoken_all
from tinygpu.proof.summary import between_calls
from tinygpu.record import replace

LAW, BY_LAW = "law", "TG560"
OF_SIZES = "It is about sizes alone: how a machine computes with floats is said of that machine."
SENTENCE = "Over the reals: the two sides are rounded in other places. NaN and infinities are outside of the statement."


def statement(one: Claimed, text: str) -> Certificate:
    """What is certified, without its proof; `text` is the theorem, the lemma or the choice with all that it names."""
    if isinstance(one, Choice | Pipeline):
        where, promises = spoken_all(one.op.where), spoken_all(one.op.promises)
        numerics = Numerics({}, (), False, " ".join((OF_SIZES, *between_calls(one))))
        return Certificate(one.title, one.said, text, where, promises, numerics, (), source=sha(text))
    sides, wanted, made = _sides(one)
    functions = {f for op in sides for f in approximated(op)}
    numerics = Numerics({t.name: OVER_REALS for t in made.outputs}, tuple(sorted(functions)), False, SENTENCE)
    return Certificate(
        one.title, one.said, text, spoken_all(wanted), spoken_all(sides[0].promises), numerics, (), source=sha(text)
    )  # fmt: skip


def _sides(one: Theorem | Gradient | Lemma) -> tuple[tuple[Op, Op], tuple[Term, ...], Op]:
    """The ops that it is about, its preconditions, and the op whose outputs are given."""
    match one:
        case Theorem():
            return (one.left, one.right), (*one.left.where, *one.where), one.left
        case Gradient():
            return (one.op, one.whole), one.op.where, one.whole
    return (one.folded, one.op), (), one.folded


def certify(one: Claimed, found: Known, text: str) -> Certificate:
    """`Proved → Certificate`."""
    solver = f"z3 {z3.get_version_string()}"
    return replace(statement(one, text), obligations=(*laws(found), *entries(found.claims)), solver=solver)


def differs(found: Certificate, one: Claimed) -> tuple[str, ...]:
    """What a certificate says of its theorem otherwise than the theorem does."""
    mine = statement(one, found.program)
    names = ("machine", "op", "preconditions", "promises", "numerics", "source", "kernels")
    return tuple(f"its {name} is not that of {one.name}" for name in names if getattr(found, name) != getattr(mine, name))


def laws(found: Known) -> tuple[Entry, ...]:
    """How often which law."""
    return tuple(Entry(LAW, BY_LAW, f"{name}, {times(n)}", "", LAW) for name, n in found.laws)


def times(n: int) -> str:
    """`once`, `3 times`."""
    return "once" if n == 1 else f"{n} times"
