"""Mutants, many of them: `python -m tests.mutants [count] [seed]`.

Comes in: how many, and a seed. Goes out: what is unknown or unsound, with its program, then a table; the exit code is 1 if something is unsound.
The one idea: the sample of the tests, as large as somebody has time for.
"""

from __future__ import annotations

import sys

from tests.mutants.survey import Found, sample, table, verdict
from tinygpu.program.render import render


def main(arguments: list[str]) -> int:
    """The run, printed as it goes."""
    count, seed = (int(a) for a in (*arguments[:2], *("1000", "0")[len(arguments) :]))
    results: list[Found] = []
    for source, mutant in sample(count, seed):
        found = verdict(source, mutant)
        results.append(found)
        if found.kind in ("unknown", "unsound"):
            print(f"── {found.kind} {source}, {mutant.done}: {found.why}\n{render(mutant.program)}", flush=True)
    print(table(results))
    return int(any(r.kind == "unsound" for r in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
