"""What families save a search: `python -m benchmarks.search`.

Comes in: an op of the library, devices, engines, which are told predictions and no times. Goes out: a table, and `benchmarks/results/search.json`: how many proved candidates that is a minute
on one core, each proved by itself, and of families where its kind has one. The one idea: each is proved in a process of its own, as a search does, which remembers nothing of the one before.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.rounds import processor
from tinygpu import pipeline
from tinygpu.commands.specs import text_of
from tinygpu.hardware.arch import device_named
from tinygpu.tune.bound import Bound, Floor
from tinygpu.tune.engine import ENGINES
from tinygpu.tune.kinds import AFTER, Asked, Kinds, kind_of
from tinygpu.tune.moves import Space
from tinygpu.tune.predict import predicted
from tinygpu.tune.search import CANDIDATE
from tinygpu.tune.state import State
from tinygpu.tune.trial import in_process

SPEC = Path(__file__).resolve().parent.parent / "specs" / "matmul.tgpu"
RESULTS = Path(__file__).resolve().parent / "results" / "search.json"
SIZE = 1024
SECONDS = 5.0  # of a candidate
GOAL, ALONE = 60, 20  # proved candidates a minute: of families, and by themselves


@dataclass(frozen=True, slots=True)
class Row:
    """A search: its candidates, their kinds, those that a family proved, and how many are proved a minute: by themselves, with families, and of these alone."""

    device: str
    engine: str
    tried: int
    proved: int
    kinds: int
    often: int
    families: int
    points: int
    looking: float
    alone: float
    together: float
    in_families: float


def measured(device: str, engine: str, count: int, seed: int) -> Row:
    """One search for machines of a product."""
    spec = pipeline.load(SPEC).spec
    op = next(o for o in spec.ops if o.family == "matmul")
    sizes, there = dict.fromkeys(op.sizes, SIZE), device_named(device)
    space = Space(op, there.arch if there else device, (), tuple(sizes.items()))

    def cost(state: State) -> float:
        return predicted(state, space.of(state), sizes)

    chosen, kinds, seen = ENGINES[engine](space, Random(seed), cost), Kinds(text_of(op)), Counter[State]()
    if isinstance(chosen, Bound) and there:
        chosen.floor = Floor.of(space, text_of(op), sizes, there).seconds
    alone, points, times, texts, proved = 0.0, 0, dict[str, float](), set[str](), Counter[str]()
    while len(texts) < count and (state := chosen.ask()) is not None:
        if (machine := state.text(CANDIDATE)) in texts:
            continue
        texts.add(machine)
        seen[kind_of(state)] += 1
        single = timed(Asked(kinds.text, state), machine)
        alone, proved["alone"] = alone + single["seconds"], proved["alone"] + single["proved"]
        said = timed(asked := kinds.asked(state), machine)
        kinds.said(state, said)
        where = "looking" if asked.now else "points" if asked.family else "others"
        times[where], proved[where] = times.get(where, 0.0) + said["seconds"], proved[where] + said["proved"]
        points += where == "points"
        chosen.tell(state, math.log(cost(state)) if said["proved"] else None)
    minute = 60 * proved["points"] / times["points"] if points else 0.0
    together = 60 * (proved.total() - proved["alone"]) / sum(times.values())
    often = sum(n > AFTER for n in seen.values())
    looking = times.get("looking", 0.0)
    return Row(device, engine, len(texts), proved["alone"], len(seen), often, len(kinds.families), points, looking,
               60 * proved["alone"] / alone, together, minute)  # fmt: skip


def timed(asked: Asked, machine: str) -> dict[str, Any]:
    """Whether it is proved, in how many seconds, and what its process said of a family."""

    def work(say: Callable[..., None]) -> None:
        start = time.perf_counter()
        right = asked.proof(machine, CANDIDATE, say) is not None
        say(proved=right, seconds=time.perf_counter() - start)

    start = time.perf_counter()
    found = in_process(work, SECONDS)
    return {"proved": False, "seconds": time.perf_counter() - start} | found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=200, help="of each search (200)")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows = []
    print(
        f"{'device':<7} {'engine':<8} {'tried':>6} {'proved':>7} {'kinds':>6} {'points':>7} {'alone':>14} {'with families':>14} {'a point':>14}"
    )
    for device, engine in (("cpu", "evolve"), ("cpu", "bound"), ("h100", "beam"), ("h100", "bound")):
        rows.append(row := measured(device, engine, arguments.candidates, arguments.seed))
        rates = " ".join(f"{rate:>5.0f} a minute" for rate in (row.alone, row.together, row.in_families))
        print(f"{row.device:<7} {row.engine:<8} {row.tried:>6} {row.proved:>7} {row.kinds:>6} {row.points:>7} {rates}", flush=True)
    found = {"cpu": processor(), "goals a minute": [GOAL, ALONE], "searches": [asdict(row) for row in rows]}
    RESULTS.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
