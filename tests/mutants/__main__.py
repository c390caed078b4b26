"""What the prover says of mutants, against what a run of them says: `python -m tests.mutants [count] [seed]`.

Comes in: how many, and a seed. Goes out: what is unknown or unsound, with its program, then how many there are of each; the exit code is 1 if
something is unsound. The one idea: the simulator shares nothing with the prover, so where a proof and a run disagree, the proof is wrong.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.mutants.mutate import Mutant, attempts, is_mutant
from tests.program.library import STEMS, disagreements, library
from tinygpu import pipeline
from tinygpu.model.machine import Machine
from tinygpu.program.render import render
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, check
from tinygpu.proof.kernel import Proof
from tinygpu.proof.replay import replay
from tinygpu.simulate.fault import SimulationBudget
from tinygpu.simulate.sizes import sizes_to_try

OWN = Path(__file__).resolve().parent / "programs.tgpu"
BUDGET = 8_000_000
TRIED = 14  # sizes at which a proved mutant is run
VOLUME = 1 << 15


@cache
def machines() -> list[tuple[str, Machine]]:
    """The shipped machines and those of this folder, with the names of their files."""
    return [
        *((stem, machine) for stem in STEMS for machine in library(stem)),
        *((OWN.stem, m) for m in pipeline.load(OWN).machines),
    ]


def verdict(program: Program) -> tuple[str, str]:
    """`refuted` (the counterexample was replayed), `equivalent` (proved, and the simulator agrees), `unknown` or `unsound`; and why."""
    try:
        found = check(program, BUDGET)
    except RecursionError:
        return "unknown", "TG161 its values nest too deeply to be looked at"
    match found:
        case Refutation():
            return "refuted", ""
        case Proof():
            wrong = disagreement(program)
            return "unsound" if wrong else "equivalent", wrong
        case open:
            return "unknown", "; ".join(f"{d.code} {d.title} ({d.notes[0] if d.notes else ''})" for d in open.diagnostics)


def disagreement(program: Program) -> str:
    """Where a run of a program goes wrong, or nothing."""
    for number, sizes in enumerate(sizes_to_try(program, TRIED, VOLUME)):
        try:
            found = disagreements(program, sizes, 0, number if number % 2 else None)
        except (SimulationBudget, ZeroDivisionError):
            continue
        if program.op.states and not found:
            continue  # what a replay sees in floats may be rounding that grew
        if seen := found[0] if found else replay(program, sizes, number, edge=True):
            return f"at {', '.join(f'{name} = {value}' for name, value in sizes.items())}: {seen}"
    return ""


def sample(count: int, seed: int, longest: int = 1 << 20) -> Iterator[tuple[str, Mutant]]:
    """Mutants by chance, each with the name of its file: first a program, then one of its mutants, so that small programs count as much as large ones. Programs of
    more than `longest` steps are left out."""
    chance, found = random.Random(seed), machines()
    made: dict[int, list[Mutant]] = {}
    for _ in range(count):
        which = chance.randrange(len(found))
        source, machine = found[which]
        program = pipeline.program(machine)
        if sum(1 for _ in program.steps) > longest:
            continue
        every = made.setdefault(which, list(attempts(program)))
        while not is_mutant(one := chance.choice(every), program):  # to ask it of all would take longer than the verdicts
            pass
        yield source, one


def judged(count: int, seed: int, longest: int = 1 << 20) -> Iterator[tuple[str, str]]:
    """The verdict on each mutant of a sample; of what is unknown or unsound with the reason and the program."""
    for source, mutant in sample(count, seed, longest):
        kind, why = verdict(mutant.program)
        more = kind in ("unknown", "unsound")
        yield kind, f"{source}, {mutant.done}: {why}\n{render(mutant.program)}" if more else ""


def main(arguments: list[str]) -> int:
    """The run, printed as it goes."""
    count, seed = (int(a) for a in (*arguments[:2], *("1000", "0")[len(arguments) :]))
    counts: Counter[str] = Counter()
    for kind, said in judged(count, seed):
        counts[kind] += 1
        if said:
            print(f"── {kind} {said}", flush=True)
    print(", ".join(f"{many} {kind}" for kind, many in counts.most_common()))
    return int(counts["unsound"] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
