"""`python -m tinygpu.replay FILE…`: a table of what is proved a second time.

Comes in: specs whose machines give their programs. Goes out: a line for each machine, then what is open, then the counts; the exit code is 0
where all are re-proved by both solvers.
"""

from __future__ import annotations

import sys
from collections import Counter

from tinygpu.diagnostic import TinygpuError
from tinygpu.replay.check import Report, replay
from tinygpu.syntax.parse import read_text


def verdict(report: Report) -> str:
    """How far a machine is re-proved: by both, by one of them, or open.

    >>> verdict(Report("m", "op", (), ("no program",)))
    'open'
    """
    if report.proved():
        return "both"
    return next((solver for solver in ("z3", "cvc5") if report.proved(solver)), "open")


def main(paths: list[str]) -> int:
    """The table of all machines in the files."""
    counts: Counter[str] = Counter()
    for path in paths:
        try:
            reports = replay(read_text(path), path)
        except TinygpuError as error:
            print(error, file=sys.stderr)
            return 2
        for report in reports:
            counts[verdict(report)] += 1
            print(f"{verdict(report):5} {report.machine} : {report.op}, {len(report.claims)} claims", flush=True)
            for reason in report.open:
                print(f"      open: {reason}")
            for claim in report.claims:
                if (claim.z3, claim.cvc5) != ("proved", "proved"):
                    print(f"      {claim.kind} ({claim.code}), z3 {claim.z3}, cvc5 {claim.cvc5}: {claim.sentence}")
    print(", ".join(f"{name}: {counts[name]}" for name in ("both", "z3", "cvc5", "open")))
    return 0 if set(counts) == {"both"} else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
