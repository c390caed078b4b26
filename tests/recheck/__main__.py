"""What the runs on reals see: `python -m tests.recheck [mutants] [machines] [seed] [result.json] [processes]`.

Comes in: so many mutants of the library and random machines, the wrong specs, and the programs that once were proved and wrong. Goes out: a table over those
that the prover refutes: seen by the runs, or not, and each that is not, with its text. The one idea: the runs are the second checker, so they are measured.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase, seed, settings

from tests.chance.judge import HARDWARE
from tests.chance.machines import Drawn
from tests.chance.machines import machines as drawn_machines
from tests.mutants.survey import by_layers, every, programs
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.render import render
from tinygpu.program.standalone import standalone
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, check
from tinygpu.recheck.agreement import Disagreement
from tinygpu.recheck.run import rerun

ROOT = Path(__file__).resolve().parent.parent.parent
BUDGET = 3_000_000
BATCH = 250
Given = tuple[str, str, Program]  # a family, a name, a program
Text = tuple[str, str, str]  # which a process of its own reads: monoids of a file are known where it is read


def given(mutants: int, machines: int, seed: int) -> Iterator[Given]:
    """The programs that are compared."""
    for family, folder in (("wrong specs", "tests/wrong"), ("once proved", "tests/meaning/unsound")):
        for path in sorted((ROOT / folder).glob("*.tgpu")):
            try:
                yield from ((family, path.stem, pipeline.program(m)) for m in pipeline.load(path).machines)
            except TinygpuError:
                continue  # it never becomes a program
    for one in islice(by_layers(every(programs()), seed), mutants):
        yield "mutants", f"{one.machine}: {one.mutant.done}", one.mutant.program
    for begin in range(0, machines, BATCH):
        yield from by_chance(min(BATCH, machines - begin), seed + begin)


def by_chance(count: int, start: int) -> list[Given]:
    """So many random machines."""
    found: list[Given] = []

    @seed(start)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @hypothesis.given(drawn_machines())
    def look(drawn: Drawn) -> None:
        found.append(("random machines", f"{drawn.kind}: {drawn.done}\n{render(drawn.program)}", drawn.program))

    look()
    return found


def texts(found: Iterator[Given]) -> Iterator[Text]:
    """The same as texts; what has none is said, and left out."""
    for family, name, program in found:
        try:
            yield family, name, standalone(program)
        except TinygpuError as error:
            print(f"{family}: {name}: no text: {error}", flush=True)


def compared(one: Text) -> tuple[str, str, str]:
    """`program → family, name, whether runs see that it is wrong`; empty where the prover does not refute it."""
    family, name, text = one
    try:
        program = pipeline.program(pipeline.load_text(text).machines[0])
        found = check(program, BUDGET)
        if not isinstance(found, Refutation):
            return family, name, ""
        if found.diagnostic.code.startswith(HARDWARE):
            return family, name, "what the hardware has no room for"
        if isinstance(rerun(program), Disagreement):
            return family, name, "the runs"
        return family, name, "not seen"
    except (RecursionError, TinygpuError) as error:
        return family, name, f"not compared: {type(error).__name__}"


def main(arguments: list[str]) -> int:
    """The comparison, kept as it goes."""
    mutants, machines, start = (int(a) for a in (*arguments[:3], *("200", "200", "0")[len(arguments) :]))
    kept = Path(arguments[3]) if len(arguments) > 3 else None
    processes = int(arguments[4]) if len(arguments) > 4 else 1
    table: dict[str, Counter[str]] = {}
    only: list[str] = []
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for number, (family, name, who) in enumerate(pool.map(compared, texts(given(mutants, machines, start)), chunksize=4), 1):
            table.setdefault(family, Counter())[who or "not refuted"] += 1
            if who.startswith("not"):
                only.append(f"{family}: {name}: {who}")
                print(only[-1], flush=True)
            if kept and number % 50 == 0:
                kept.write_text(json.dumps({"compared": number, "table": table, "only": only}, indent=1) + "\n", encoding="utf-8")
    result = {"command": f"python -m tests.recheck {mutants} {machines} {start}", "table": table, "only": only}
    if kept:
        kept.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(table, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
