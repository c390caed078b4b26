"""What it costs to prove machines with free numbers once, and to take their points: `python -m benchmarks.families`.

Comes in: `families.tgpu`. Goes out: a table, and `benchmarks/results/families.json`: of each family its claims, the time of one point that is checked by itself, of the family, of a
point of it, and how many proved candidates that is a minute on one core. The one idea: the points are drawn at random, so that nothing which was asked before answers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from benchmarks.rounds import processor
from tinygpu import pipeline
from tinygpu.model.family import machine_at
from tinygpu.model.free import Skeleton, holds_at
from tinygpu.proof.check import Refutation, Unknown
from tinygpu.proof.family import judged

SPEC = Path(__file__).resolve().parent / "families.tgpu"
RESULTS = Path(__file__).resolve().parent / "results" / "families.json"
LARGEST = 64  # of a number without a largest one
TRIES = 20_000
SINGLES = 5  # points that are checked by themselves
GOAL = 60  # proved candidates a minute


@dataclass(frozen=True, slots=True)
class Row:
    """A family: seconds of a point by itself, of the family, of a point of it; a point that is not legal counts as one that was tried."""

    machine: str
    numbers: str
    claims: int
    single: float
    family: float
    point: float
    proved: int
    tried: int
    a_minute: float


def drawn(skeleton: Skeleton, random: Random) -> Iterator[dict[str, int]]:
    """Random points where all that is asked holds, each once, until hardly any are left."""
    before = set[tuple[int, ...]]()
    for _ in range(TRIES):
        point = tuple(random.randint(one.low, one.high or LARGEST) for one in skeleton.numbers)
        if point not in before and holds_at(skeleton.where, skeleton.numbers, point):
            before.add(point)
            yield skeleton.named(point)


def measured(skeleton: Skeleton, seconds: float, seed: int) -> Row:
    """One family. Raises SystemExit where it is not proved."""
    points, singles = drawn(skeleton, Random(seed)), list[float]()
    for _ in range(SINGLES):
        machine = machine_at(skeleton, next(points))
        start = time.perf_counter()
        pipeline.check(machine)
        singles.append(time.perf_counter() - start)
    start = time.perf_counter()
    found = judged(skeleton)
    whole = time.perf_counter() - start
    if isinstance(found, Refutation | Unknown):
        raise SystemExit(f"{skeleton.title} is not proved")
    times, right = list[float](), 0
    end = time.perf_counter() + seconds
    for numbers in points:
        start = time.perf_counter()
        if start > end:
            break
        right += isinstance(found.point(numbers), pipeline.Proof)
        times.append(time.perf_counter() - start)
    names, claims = " ".join(skeleton.names), len(found.theorems)
    a_minute = 60 * right / sum(times)
    return Row(
        skeleton.title, names, claims, statistics.median(singles), whole, statistics.median(times), right, len(times), a_minute
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machines", nargs="*", metavar="MACHINE")
    parser.add_argument("--seconds", type=float, default=10.0, help="for the points of each family (10)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chosen = [one for one in pipeline.load(SPEC).spec.families if not arguments.machines or one.name in arguments.machines]
    rows = []
    print(
        f"{'family':<10} {'free numbers':<14} {'claims':>6} {'a point':>9} {'the family':>11} {'its point':>10} {'a minute':>9}   proved of tried"
    )
    for skeleton in chosen:
        rows.append(row := measured(skeleton, arguments.seconds, arguments.seed))
        times = f"{row.single:>7.3f} s {row.family:>9.2f} s {row.point:>8.3f} s {row.a_minute:>9.0f}"
        print(f"{row.machine:<10} {row.numbers:<14} {row.claims:>6} {times}   {row.proved} of {row.tried}", flush=True)
    least = min(row.a_minute for row in rows)
    print(f"the slowest: {least:.0f} a minute, {'at least' if least >= GOAL else 'below'} the goal of {GOAL}")
    if not arguments.machines:
        found = {"cpu": processor(), "goal a minute": GOAL, "families": [asdict(row) for row in rows]}
        RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
