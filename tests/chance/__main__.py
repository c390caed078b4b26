"""Random machines, many of them: `python -m tests.chance [count] [seed] [result.json] [processes]`.

Comes in: how many, where to start, and by how many processes. Goes out: every machine that is unsound or missed, with its text, then a table; the exit code is 1
if one is unsound, or if a derived one is refuted. The one idea: batches of their own seeds, so that a run may be cut anywhere and said in full.
"""

from __future__ import annotations

import gc
import json
import math
import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

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


def part(number: int, results: list[Judged]) -> dict[str, Any]:
    """What is kept of a batch."""
    return {
        "seed": number,
        "machines": len(results),
        "date": time.strftime("%Y-%m-%d"),
        "derived": sum(r.drawn.derived for r in results),
        "derived and proved": sum(r.drawn.derived and r.kind == "proved" for r in results),
        "by kind": {
            kind: {k: n for k in KINDS if (n := sum(r.drawn.kind == kind and r.kind == k for r in results))}
            for kind in sorted({r.drawn.kind for r in results})
        },
    }


def summary(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The sums over batches, and the batches."""
    total = {kind: sum(found.get(kind, 0) for one in parts for found in one["by kind"].values()) for kind in KINDS}
    machines, numbers = sum(one["machines"] for one in parts), sorted(one["seed"] for one in parts)
    return {
        "command": f"python -m tests.chance {machines} {numbers[0]}",
        "machines": machines,
        **total,
        "derived": sum(one["derived"] for one in parts),
        "derived and proved": sum(one["derived and proved"] for one in parts),
        "unknown of legal": round(total["missed"] / max(1, total["missed"] + total["proved"]), 4),
        "batches": sorted(parts, key=lambda one: int(one["seed"])),
    }


def main(arguments: list[str]) -> int:
    """The run, printed as it goes. Batches that the file of results has are not run again."""
    count, first, processes = (int(a) for a in (*arguments[:2], *("1000", "0")[len(arguments) :], *arguments[3:4], "1")[:3])
    kept = Path(arguments[2]) if len(arguments) > 2 else None
    parts: list[dict[str, Any]] = json.loads(kept.read_text(encoding="utf-8")).get("batches", []) if kept and kept.exists() else []
    had = {one["seed"] for one in parts}
    wanted = [first + n for n in range(math.ceil(count / BATCH)) if first + n not in had]
    sizes = [min(BATCH, count - (number - first) * BATCH) for number in wanted]
    results: list[Judged] = []
    start = time.perf_counter()
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
        for number, found in zip(wanted, pool.map(batch, wanted, sizes), strict=True):
            for result in found:
                if result.wrong or result.kind == "missed":
                    print(f"── {result.kind}: {result.drawn.kind} {result.drawn.done}\n{result.why}", flush=True)
                    print(result.drawn.text if not result.drawn.done else render(result.drawn.program), flush=True)
            results += found
            parts.append(part(number, found))
            print(f"{len(results)} machines, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            if kept:
                kept.write_text(json.dumps(summary(parts), indent=1) + "\n", encoding="utf-8")
    print(table(results))
    return int(any(r.wrong for r in results))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
