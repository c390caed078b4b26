"""Random machines, many of them: `python -m tests.chance [count] [seed] [result.json]`.

Comes in: how many, and where to start. Goes out: every machine that is unsound or missed, with its text, then a table; the exit code is 1
if one is unsound, or if a derived one is refuted. The one idea: batches of their own seeds, so that a run may be cut anywhere and said in full.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.chance.judge import KINDS, Judged, judge, table
from tests.chance.machines import Drawn, machines
from tinygpu.program.render import render

BATCH = 250


def batch(number: int, count: int) -> list[Judged]:
    """The verdicts on that many machines of one seed."""
    results: list[Judged] = []

    @seed(number)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(machines())
    def look(drawn: Drawn) -> None:
        results.append(judge(drawn))

    look()
    return results


def summary(results: list[Judged], first: int, seconds: float) -> dict[str, object]:
    """What is kept of a run."""
    legal = [r for r in results if r.kind in ("proved", "missed")]
    return {
        "command": f"python -m tests.chance {len(results)} {first}",
        "machines": len(results),
        **{kind: sum(r.kind == kind for r in results) for kind in KINDS},
        "derived": sum(r.drawn.derived for r in results),
        "derived and proved": sum(r.drawn.derived and r.kind == "proved" for r in results),
        "unknown of legal": round(sum(r.kind == "missed" for r in legal) / max(1, len(legal)), 4),
        "by kind": {
            kind: {k: sum(r.drawn.kind == kind and r.kind == k for r in results) for k in KINDS}
            for kind in sorted({r.drawn.kind for r in results})
        },
        "seconds": round(seconds),
        "date": time.strftime("%Y-%m-%d"),
    }


def main(arguments: list[str]) -> int:
    """The run, printed as it goes."""
    count, first = (int(a) for a in (arguments + ["1000", "0"][len(arguments) :])[:2])
    results: list[Judged] = []
    start = time.perf_counter()
    while len(results) < count:
        for result in batch(first + len(results) // BATCH, min(BATCH, count - len(results))):
            results.append(result)
            if result.wrong or result.kind == "missed":
                print(f"── {result.kind}: {result.drawn.kind} {result.drawn.done}\n{result.why}", flush=True)
                print(result.drawn.text if not result.drawn.done else render(result.drawn.program), flush=True)
        print(f"{len(results)} machines, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        if len(arguments) > 2:
            Path(arguments[2]).write_text(json.dumps(summary(results, first, time.perf_counter() - start), indent=2) + "\n")
    print(table(results))
    return int(any(r.wrong for r in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
