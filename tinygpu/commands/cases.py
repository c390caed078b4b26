"""What `run` runs: machines, and cases of choices, each with the launcher that is called.

Comes in: machines that are proved and built, choices among them. Goes out: a `Run` for each, with the name of its launcher. The one idea: a case is run by the launcher of its choice, at sizes that are
its own, and compared as its machine is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Term, variables
from tinygpu.commands.compared import Run
from tinygpu.commands.data import told
from tinygpu.record import replace

if TYPE_CHECKING:
    from tinygpu.emit.module import Built
    from tinygpu.model.machine import Machine
    from tinygpu.proof.choice import Covered


def runs(
    built: Sequence[Built], asked: Sequence[Machine], choices: Sequence[Covered], names: Sequence[str], usual: Run
) -> Iterator[tuple[Run, str]]:
    """The machines that are asked for, then the cases of choices that may be those of the sizes given. `names` are those of the launchers of what is built, then
    of the choices; `usual` says where, on which data, and for how long."""
    programs = {(b.machine.title, b.machine.op.name): b.program if usual.device == "gpu" else b.cpu or b.program for b in built}
    for one, name in zip(built, names, strict=False):
        if one.machine in asked:
            yield replace(usual, machine=one.machine, program=programs[one.machine.title, one.machine.op.name]), name
    for covered, name in zip(choices, names[len(built) :], strict=True):
        for case in covered.choice.branches:
            machine, program = case.machine, programs[case.machine.title, case.machine.op.name]
            if possible(case.where, told(machine.op, usual.data)):
                named = replace(machine, name=f"{covered.choice.name} by {machine.name}")
                where = tuple(dict.fromkeys((*program.where, *case.needs, *case.where)))
                yield replace(usual, machine=named, program=replace(program, where=where)), name


def possible(where: Sequence[Term], sizes: dict[str, int]) -> bool:
    """Whether nothing that is known of the sizes says that they are others."""
    return all(evaluate(guard, sizes) for guard in where if set(variables(guard)) <= sizes.keys())
