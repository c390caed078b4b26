"""What the prover says of mutants, against what a run of them says.

Comes in: mutants, by chance. Goes out: for each one of `refuted` (the counterexample was replayed), `equivalent` (proved, and the simulator agrees),
`unknown`, `unsound`. The one idea: the simulator shares nothing with the prover, so where a proof and a run disagree, the proof is wrong.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutate import Mutant, mutants
from tests.program.library import disagreements
from tinygpu import pipeline
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, check
from tinygpu.proof.kernel import Proof
from tinygpu.proof.replay import replay
from tinygpu.simulate.fault import SimulationBudget
from tinygpu.simulate.sizes import sizes_to_try

ROOT = Path(__file__).resolve().parent.parent.parent
OWN = Path(__file__).resolve().parent / "programs.tgpu"
BUDGET = 3_000_000
TRIED = 14  # sizes at which a proved mutant is run
VOLUME = 1 << 15
KINDS = ("refuted", "equivalent", "unknown", "unsound")


@dataclass(frozen=True, slots=True)
class Found:
    """The verdict on a mutant; `why` is what is open, or where the run disagrees."""

    source: str
    mutant: Mutant
    kind: str
    why: str = ""


def programs() -> list[tuple[str, Program]]:
    """The shipped machines and those of this folder, with the names of their files."""
    paths = [*sorted((ROOT / "specs").glob("*.tgpu")), OWN]
    return [(path.stem, pipeline.program(machine)) for path in paths for machine in pipeline.load(path).machines]


def verdict(source: str, mutant: Mutant) -> Found:
    """`mutant → refuted, equivalent, unknown or unsound`."""
    try:
        found = check(mutant.program, BUDGET)
    except RecursionError:
        return Found(source, mutant, "unknown", "TG161 its values nest too deeply to be looked at")
    match found:
        case Refutation():
            return Found(source, mutant, "refuted")
        case Proof():
            wrong = disagreement(mutant.program)
            return Found(source, mutant, "unsound" if wrong else "equivalent", wrong)
        case open:
            said = "; ".join(f"{d.code} {d.title} ({d.notes[0] if d.notes else ''})" for d in open.diagnostics)
            return Found(source, mutant, "unknown", said)


def disagreement(program: Program) -> str:
    """Where a run of a program goes wrong, or nothing."""
    for number, sizes in enumerate(sizes_to_try(program, TRIED, VOLUME)):
        try:
            found = disagreements(program, sizes, 0, number if number % 2 else None)
        except (SimulationBudget, ZeroDivisionError):
            continue
        seen = found[0] if found else replay(program, sizes, number, edge=True)
        if seen:
            return f"at {', '.join(f'{name} = {value}' for name, value in sizes.items())}: {seen}"
    return ""


def sample(count: int, seed: int, given: Sequence[tuple[str, Program]] | None = None) -> Iterator[tuple[str, Mutant]]:
    """Mutants by chance: first a program, then one of its mutants, so that small programs count as much as large ones."""
    chance = random.Random(seed)
    found = list(programs() if given is None else given)
    made: dict[int, list[Mutant]] = {}
    for _ in range(count):
        which = chance.randrange(len(found))
        if which not in made:
            made[which] = list(mutants(found[which][1]))
        yield found[which][0], chance.choice(made[which])


def table(results: Sequence[Found]) -> str:
    """Counts by file: mutants, refuted, equivalent, unknown, unsound."""
    lines = [f"{'':18}{'mutants':>9}" + "".join(f"{kind:>12}" for kind in KINDS)]
    for source in (*sorted({r.source for r in results}), ""):
        mine = [r for r in results if source in ("", r.source)]
        counts = "".join(f"{sum(r.kind == kind for r in mine):>12}" for kind in KINDS)
        lines.append(f"{source or 'all':18}{len(mine):>9}{counts}")
    return "\n".join(lines)
