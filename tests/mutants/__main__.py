"""The survey of mutants: `python -m tests.mutants [count] [seed]`; without a count, every mutant of every machine (hours).

Comes in: the two numbers. Goes out: what is unknown or unsound, with its program, then the table; the exit code is 1 if something is unsound.
"""

from __future__ import annotations

import sys

from tests.mutants.mutate import mutants
from tests.mutants.survey import Found, programs, sample, table, verdict
from tinygpu.program.render import render


def main(arguments: list[str]) -> int:
    """The survey, printed as it goes."""
    found = programs()
    if arguments:
        chosen = list(sample(int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0, found))
    else:
        chosen = [(source, mutant) for source, program in found for mutant in mutants(program)]
    results: list[Found] = []
    for source, mutant in chosen:
        result = verdict(source, mutant)
        results.append(result)
        if result.kind in ("unknown", "unsound"):
            print(
                f"{result.kind}: {source}, {mutant.program.name}, {mutant.done}: {result.why}\n{render(mutant.program)}", flush=True
            )
    print(table(results))
    return int(any(r.kind == "unsound" for r in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
