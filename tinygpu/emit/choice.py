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


def cases_of(machines: Sequence[Machine], choices: Sequence[Choice], names: Sequence[str]) -> tuple[Cases, ...]:
    """`choices → what their launchers are made of`. `names` are those of the launchers of the machines, then of the choices. Raises KeyError where a machine of a
    choice is not among these."""
    called = {(m.title, m.op.name): name for m, name in zip(machines, names, strict=False)}
    found: list[Cases] = []
    for name, one in zip(names[len(machines) :], choices, strict=True):
        cases = tuple((b.where, called[b.machine.title, b.machine.op.name]) for b in one.branches)
        found.append(Cases(Program(name, one.op, ()), cases))
    return tuple(found)


def proved(choices: Sequence[Covered]) -> list[Choice]:
    """What is proved. Raises TypeError for anything else."""
    if other := next((one for one in choices if not isinstance(one, Covered)), None):
        raise TypeError(f"a choice that is not proved is not built, and {type(other).__name__} is no proof of one")
    return [one.choice for one in choices]


def summary(choice: Choice) -> str:
    """What a module calls it: `softmax_any : softmax by softmax_warp, softmax_block`."""
    return f"{choice.name} : {choice.op.name} by {', '.join(b.machine.name for b in choice.branches)}"


def chooser_source(one: Cases, choice: Choice, header: tuple[str, ...]) -> str:
    """The table and the function; `header` are paragraphs of the docstring, behind which the cases stand."""
    return launcher_source(one.program, table_of_cases(one), (*header, f"{CASES}\n{choice.cases}"), "chooser")
