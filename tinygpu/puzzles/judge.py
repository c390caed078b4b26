"""Whether an answer is right: its op is the puzzle's, its target is proved for all sizes, and does what is wanted.

    text  ⟼  ()  where it is right, else messages

Comes in: a puzzle, and the text of an answer. Goes out: what is left to do. The one idea: nothing is compared with an answer of ours, so any machine that is proved and does what
is wanted is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.cost.measure import measure
from tinygpu.diagnostic import Diagnostic, Label, TinygpuError
from tinygpu.hardware.arch import CPU
from tinygpu.model.choice import Choice
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.model.problems import head
from tinygpu.pipeline import Loaded
from tinygpu.puzzles.conditions import unmet
from tinygpu.puzzles.puzzle import Puzzle, puzzles
from tinygpu.record import replace


def numbered(number: int) -> Puzzle:
    """The puzzle of a number. Raises TG953 for one that is not there."""
    if 1 <= number <= len(puzzles()):
        return puzzles()[number - 1]
    raise TinygpuError.of(
        "TG953", f"there is no puzzle {number}", help=f"they are 1 to {len(puzzles())}: tinygpu puzzle lists them"
    )


def puzzle_of(spec: Loaded) -> Puzzle:
    """The puzzle that a file is an answer to: its target is there. Raises TG953 where there is none."""
    names = {*(machine.name for machine in spec.machines), *(one.name for one in spec.spec.choices)}
    for one in puzzles():
        if one.target in names:
            return one
    raise TinygpuError.of(
        "TG953",
        f"{spec.path or 'this file'} answers no puzzle",
        help="the machine keeps the name that it has in the puzzle, or say the number: tinygpu puzzle 3 check",
    )


def left(puzzle: Puzzle, spec: Loaded) -> tuple[Diagnostic, ...]:
    """What is left to do; nothing where the answer is right. Raises TinygpuError where the machine has no program."""
    machines, choice = _target(puzzle, spec)
    given = pipeline.load_text(puzzle.text, puzzle.file).spec.ops[0]
    for machine in machines:
        if _plain(machine.op) != _plain(given):
            return (_changed(given, machine),)
    found: list[Diagnostic] = []
    if choice is not None:
        verdict = pipeline.believed(choice)
        found += [verdict] if isinstance(verdict, Diagnostic) else []
    for machine in machines:
        judged = pipeline.check(machine)
        match judged:
            case pipeline.Refutation():
                found.append(judged.diagnostic)
            case pipeline.Unknown():
                found += judged.diagnostics
    return tuple(found) or tuple(_wanted(puzzle, machines, choice))


def _target(puzzle: Puzzle, spec: Loaded) -> tuple[tuple[Machine, ...], Choice | None]:
    """The machines that are asked for, and the choice among them. Raises TG954 where the text has them no more."""
    choice = next((one for one in spec.spec.choices if one.name == puzzle.target), None)
    machines = tuple(b.machine for b in choice.branches) if choice else tuple(m for m in spec.machines if m.name == puzzle.target)
    if machines:
        return machines, choice
    title = f"{puzzle.target} is not in {spec.path or 'this text'}"
    raise TinygpuError.of("TG954", title, help=f"puzzle {puzzle.number} asks for it by that name; its body is free")


def _plain(op: Op) -> Op:
    """What an op says, whatever else its file declares."""
    return replace(op.meant, monoids=(), via=None)


def _changed(given: Op, machine: Machine) -> Diagnostic:
    label = Label(head(machine.op.span, f"op {machine.op.family}"), f"the puzzle has another {given.name}")
    title = f"{machine.name} computes another op than the puzzle asks for"
    return Diagnostic("TG955", title, (label,), helps=("leave the op as it is, and change the machine",))


def _wanted(puzzle: Puzzle, machines: tuple[Machine, ...], choice: Choice | None) -> Iterator[Diagnostic]:
    """What the puzzle wants beside the proof and does not get."""
    for machine in machines:
        if machine.arch == CPU:
            yield _not_yet(puzzle, machine, "it is a machine for a CPU, and a puzzle wants one for a GPU")
            return
        if choice is None and machine.where:
            yield _not_yet(puzzle, machine, "it asks more of the sizes than the op does: it has a `where` of its own")
    for want in puzzle.wants:
        sizes = want.at or puzzle.sizes
        for machine in machines if choice is None else _taking(choice, sizes):
            if said := unmet(measure(pipeline.program(machine), sizes), want):
                yield _not_yet(puzzle, machine, said)


def _not_yet(puzzle: Puzzle, machine: Machine, said: str) -> Diagnostic:
    label = Label(head(machine.span, f"machine {machine.name}"), "this machine")
    helps = (f"tinygpu puzzle {puzzle.number} --hint",)
    return Diagnostic("TG956", f"proved, and not yet what is wanted: {said}", (label,), helps=helps)


def _taking(choice: Choice, sizes: Mapping[str, int]) -> list[Machine]:
    """The machine that takes these sizes."""
    return [b.machine for b in choice.branches if all(evaluate(guard, sizes) for guard in b.where)]
