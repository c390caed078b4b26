"""What `run` runs: machines, cases of choices, and pipelines, each with the launcher that is called.

Comes in: machines that are proved and built, choices and pipelines of them. Goes out: a `Run` for each, with the name of its launcher. The one idea: a case is run by the launcher of its choice, at sizes that are
its own, and compared as its machine is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Term, substitute, variables
from tinygpu.commands.compared import Run
from tinygpu.commands.data import told
from tinygpu.model.choice import Choice
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Pipeline
from tinygpu.program.step import Program
from tinygpu.record import replace

if TYPE_CHECKING:
    from tinygpu.emit.module import Built
    from tinygpu.proof.choice import Covered
    from tinygpu.proof.pipeline import Linked


def runs(
    built: Sequence[Built], asked: Sequence[Machine], joined: Sequence[Covered | Linked], names: Sequence[str], usual: Run
) -> Iterator[tuple[Run, str]]:
    """The machines that are asked for, then the cases of choices that may be those of the sizes given, and the pipelines. `names` are those of the launchers of what is built, then
    of what is made of it; `usual` says where, on which data, and for how long."""
    programs = {(b.machine.title, b.machine.op.name): b.program if usual.device == "gpu" else b.cpu or b.program for b in built}
    for made, name in zip(built, names, strict=False):
        if made.machine in asked:
            yield replace(usual, machine=made.machine, program=programs[made.machine.title, made.machine.op.name]), name
    for one, name in zip(joined, names[len(built) :], strict=True):
        if isinstance(one.about, Choice):
            yield from ((case, name) for case in cases(one.about, programs, usual))
        else:
            machine = Machine(one.about.name, one.about.op, ())
            called = tuple((programs[m.title, m.op.name], tuple(sizes.items())) for m, sizes in beneath(one.about, None))
            yield (
                replace(usual, machine=machine, program=Program(name, machine.op, (), where=machine.op.where), called=called),
                name,
            )


def beneath(one: Machine | Choice | Pipeline, sizes: Mapping[str, Term] | None) -> Iterator[tuple[Machine, Mapping[str, Term]]]:
    """The machines that it comes down to, with what their sizes are in those of the one at the top, whose own they are where none are given."""
    match one:
        case Pipeline():
            for call in one.calls:
                yield from beneath(call.to, {n: substitute(extent, sizes) if sizes else extent for n, extent in call.sizes})
        case Choice():
            yield from ((machine, sizes or {}) for machine in one.machines)
        case _:
            yield one, sizes or {}


def cases(choice: Choice, programs: Mapping[tuple[str, str], Program], usual: Run) -> Iterator[Run]:
    """A run for each case that may be that of the sizes."""
    for case in choice.branches:
        machine, program = case.machine, programs[case.machine.title, case.machine.op.name]
        if possible(case.where, told(machine.op, usual.data)):
            named = replace(machine, name=f"{choice.name} by {machine.name}")
            where = tuple(dict.fromkeys((*program.where, *case.needs, *case.where)))
            yield replace(usual, machine=named, program=replace(program, where=where))


def possible(where: Sequence[Term], sizes: dict[str, int]) -> bool:
    """Whether nothing that is known of the sizes says that they are others."""
    return all(evaluate(guard, sizes) for guard in where if set(variables(guard)) <= sizes.keys())
