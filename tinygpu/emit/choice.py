"""The launcher of a choice: the same function as those of its machines, behind a table of cases.

Comes in: choices whose cases are proved to be all sizes, each once, and the names of the launchers of their machines. Goes out: Python source of a table and one function. The one idea: of a
choice nothing is computed, so what its launcher has to know of the op is the contract of a program without launches.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.emit.launcher import launcher_source
from tinygpu.model.choice import Choice
from tinygpu.model.machine import Machine
from tinygpu.program.step import Program
from tinygpu.proof.choice import CASES, Covered
from tinygpu.schedule.contract import Cases, table_of_cases


def cases_of(machines: Sequence[Machine], choices: Sequence[Covered], names: Sequence[str]) -> tuple[Cases, ...]:
    """`proved choices → what their launchers are made of`. `names` are those of the launchers of the machines, then of the choices. Raises TypeError for
    what is not proved, and KeyError where a machine of a choice is not among these."""
    called = {(m.title, m.op.name): name for m, name in zip(machines, names, strict=False)}
    found: list[Cases] = []
    for name, one in zip(names[len(machines) :], choices, strict=True):
        if not isinstance(one, Covered):
            raise TypeError(f"a choice that is not proved is not built, and {type(one).__name__} is no proof of one")
        cases = tuple((b.where, called[b.machine.title, b.machine.op.name]) for b in one.choice.branches)
        found.append(Cases(Program(name, one.choice.op, ()), cases))
    return tuple(found)


def summary(choice: Choice) -> str:
    """What a module calls it: `softmax_any : softmax by softmax_warp, softmax_block`."""
    return f"{choice.name} : {choice.op.name} by {', '.join(b.machine.name for b in choice.branches)}"


def chooser_source(one: Cases, choice: Choice, header: tuple[str, ...]) -> str:
    """The table and the function; `header` are paragraphs of the docstring, behind which the cases stand."""
    return launcher_source(one.program, table_of_cases(one), (*header, f"{CASES}\n{choice.cases}"), "chooser")
