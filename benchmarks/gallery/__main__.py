"""The gallery, judged: `python -m benchmarks.gallery`.

Comes in: `--only PATTERN`, `--rounds N`, `--jobs N`. Goes out: a row for each operation, and of a whole run `benchmarks/results/gallery.json`.
The one idea: everything is proved, built and read back first, by processes of their own; then each is compared and raced alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.case import ROOT
from benchmarks.gallery.judge import Made, against_torch, equal_to_equation, made_at
from benchmarks.gallery.rows import ROWS, Row
from benchmarks.rounds import FEWEST, as_shipped, machine

SECONDS = 1.0  # for the rounds of one operation, if those are more than the fewest
LOW = 0.3  # below this a row says why


def judged(row: Row, ready: Made, rounds: int) -> dict[str, Any]:
    """A row of the table."""
    found: dict[str, Any] = {"name": row.name, "spec": row.spec, "op": row.op, "machine": row.machine, "sizes": dict(row.sizes)}
    found |= {"verdict": ready.verdict, "check_s": round(ready.check_seconds, 2), "obligations": ready.obligations}
    if not ready.text:
        return found | {"problem": ready.problem}
    found |= {"build_s": round(ready.build_seconds, 2)}
    try:
        wrong = equal_to_equation(row, ready)
        other, raced = ("", None) if wrong else against_torch(row, ready, rounds, SECONDS)
    except Exception as error:  # noqa: BLE001  # as above
        wrong, other, raced = f"{type(error).__name__}: {error}", "", None
    found |= {"equal": not (wrong or other), **({"problem": wrong or other} if wrong or other else {})}
    if raced:
        times = [round(statistics.median(t) * 1e3, 3) for t in (raced.ours, raced.theirs)]
        found |= {"ratio": round(raced.ratio, 2), "ours_ms": times[0], "torch_ms": times[1]}
        found |= {"why": row.why or "not looked into yet"} if raced.ratio < LOW else {}
    return found


def line(r: dict[str, Any]) -> str:
    start = f"{r['name']:48} {r['spec'] + ': ' + r['machine']:44} {r['verdict']:8} {r['check_s']:6.2f} {r['obligations']:5}"
    if "build_s" not in r:
        return f"{start}  {r['problem']}"
    times = f"{r['ours_ms']:9.2f} {r['torch_ms']:9.2f} {r['ratio']:6.2f}" if "ratio" in r else ""
    return f"{start} {r['build_s']:6.2f} {'equal' if r['equal'] else 'WRONG':6} {times} {r.get('problem', '')}{r.get('why', '')}"


def summary(found: Sequence[dict[str, Any]]) -> str:
    """How many are proved, built and equal, and the medians."""
    proved, built, equal = (
        sum(map(test, found))
        for test in (lambda r: r["verdict"] == "proved", lambda r: "build_s" in r, lambda r: r.get("equal", False))
    )
    checks, ratios = [r["check_s"] for r in found], [r["ratio"] for r in found if "ratio" in r]
    said = f"{proved} of {len(found)} proved, {built} built, {equal} equal; check {statistics.median(checks):.2f} s in the median, at worst {max(checks):.2f} s"
    return said + (f"; {statistics.median(ratios):.2f} of torch in the median, at least {min(ratios):.2f}" if ratios else "")


def main(arguments: list[str] | None = None) -> int:
    """Prove, build, compare, race, print; the status is 1 where an operation is not proved, built and equal."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gallery", description="the operations of levels 1 and 2 against torch's CPU build"
    )
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each race (default: 15)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only operations whose name or spec this expression is in")
    parser.add_argument("--jobs", type=int, default=2, help="processes that prove (default: 2)")
    chosen = parser.parse_args(arguments)
    numbers = [
        n for n, row in enumerate(ROWS) if re.search(chosen.only, row.name) or re.search(chosen.only, f"{row.spec}:{row.op}")
    ]
    first = {
        (row.spec, row.machine, row.op): n for n, row in reversed([(n, ROWS[n]) for n in numbers])
    }  # several rows may have one machine
    with ProcessPoolExecutor(chosen.jobs, multiprocessing.get_context("spawn")) as pool:
        ready = dict(zip(first, pool.map(made_at, first.values()), strict=True))
    found = []
    for number in numbers:
        found.append(
            judged(ROWS[number], ready[ROWS[number].spec, ROWS[number].machine, ROWS[number].op], max(FEWEST, chosen.rounds))
        )
        print(line(found[-1]), flush=True)
    print(summary(found))
    if not chosen.only:
        text = json.dumps({"measured_on": machine(), "rows": found}, indent=1)
        (ROOT / "benchmarks" / "results" / "gallery.json").write_text(text + "\n", encoding="utf-8")
    return int(not all(r.get("equal") for r in found))


if __name__ == "__main__":
    as_shipped("benchmarks.gallery")
    sys.exit(main())
