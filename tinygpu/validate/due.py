"""The steps of a program as they are due, and in words.

Comes in: steps. Goes out: those that a kernel's text has to do, one line for each. The one idea: every guard is a condition around its
step, declarations and ghost facts are no steps of a text.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tinygpu.category.monoid import as_monoid
from tinygpu.category.term import TRUE, Read, Term
from tinygpu.program.statement import line
from tinygpu.program.step import Array, Assign, Fact, If, Step, steps
from tinygpu.program.traverse import meets
from tinygpu.record import replace
from tinygpu.validate.typed import Differs


class Missing(Differs):
    """A step of the program that the text does not do."""

    def __init__(self, step: Step, after: ast.stmt | None):
        super().__init__(
            after or ast.Pass(lineno=1, col_offset=0), "is the last that is done here", f"the program goes on: {line(step)}"
        )


def due(wanted: Sequence[Step]) -> list[Step]:
    """Steps that are emitted, those under conditions that always hold without them."""
    out: list[Step] = []
    for step in wanted:
        match step:
            case Array() | Fact():
                continue
            case If(guard, body) if guard == TRUE:
                out += due(body)
            case Assign(guard=guard) if guard != TRUE:
                out.append(If(guard, (replace(step, guard=TRUE),)))
            case _:
                out.append(step)
    return out


def collective(step: Step) -> bool:
    """Whether threads do something together in a step."""
    return any(map(meets, steps((step,))))


def new_value(step: Assign) -> Term:
    """The value that the target gets."""
    if not step.update:
        return step.value
    return as_monoid(step.update).combine(Read(step.target, step.index, step.value.dtype), step.value)
