"""Random machines, many of them: `python -m tests.chance [count] [seed] [result.json] [processes]`.

Comes in: how many, where to start, and by how many processes. Goes out: every machine that is unsound or missed, with its text, then a table; the exit code is 1
if one is unsound, or if a derived one is refuted. The one idea: batches of their own seeds, so that a run may be cut anywhere and said in full.
"""

from __future__ import annotations

import gc
import json
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.chance.judge import KINDS, Judged, judge, table
from tests.chance.machines import Drawn, machines
from tinygpu.category.heap import roomy
from tinygpu.program.render import render

BATCH = 250


def batch(number: int, count: int) -> list[Judged]:
    """The verdicts on that many machines of one seed."""
    results: list[Judged] = []
    gc.set_threshold(500_000, 50, 50)  # as for a command: many small terms, few cycles
    roomy()

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
    count, first, processes = (int(a) for a in (*arguments[:2], *("1000", "0")[len(arguments) :], *arguments[3:4], "1")[:3])
    results: list[Judged] = []
    start = time.perf_counter()
    sizes = [min(BATCH, count - done) for done in range(0, count, BATCH)]
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
        for found in pool.map(batch, range(first, first + len(sizes)), sizes):
            for result in found:
                if result.wrong or result.kind == "missed":
                    print(f"── {result.kind}: {result.drawn.kind} {result.drawn.done}\n{result.why}", flush=True)
                    print(result.drawn.text if not result.drawn.done else render(result.drawn.program), flush=True)
            results += found
            print(f"{len(results)} machines, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            if len(arguments) > 2:
                kept = json.dumps(summary(results, first, time.perf_counter() - start), indent=2) + "\n"
                Path(arguments[2]).write_text(kept, encoding="utf-8")
    print(table(results))
    return int(any(r.wrong for r in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
