"""The survey of mutants: `python -m tests.mutants [count] [seed] [result.json] [processes]`; without a count, all of every machine (a day).

Comes in: how many, the seed of their order, where to keep the result, and by how many processes. Goes out: what is unknown or unsound, with
its program, then the table; the exit code is 1 if something is unsound. The one idea: the order is by layers, and the result is written as it goes, so that
a run may be cut anywhere, says what it has covered, and goes on where it was when it is started again.
"""

from __future__ import annotations

import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

from tests.mutants.survey import KINDS, LAYERS, Found, One, by_layers, every, programs, verdict
from tinygpu.program.render import render

STEP = 20  # mutants between two writings


class Survey:
    """What is known so far, as it is kept: counts, and what is not decided or wrong."""

    def __init__(self, whole: list[One], seed: int, path: Path | None) -> None:
        self.whole, self.path, self.seed = whole, path, seed
        self.met: dict[str, set[Hashable]] = {name: set() for name in LAYERS}
        self.same = 0
        self.counts: dict[str, Counter[str]] = {}
        self.open: dict[str, list[list[str]]] = {"unknown": [], "unsound": []}
        self.before, self.start = 0.0, time.perf_counter()
        if path and path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            if (kept["seed"], kept["mutants in all"]) != (seed, len(whole)):
                raise SystemExit(f"{path} is of another seed or another library: remove it, or name another file")
            self.counts = {name: Counter(row) for name, row in kept["by kind of mutation"].items()}
            self.open = {name: kept[name + " mutants"] for name in self.open}
            self.before = kept["seconds"]

    @property
    def looked_at(self) -> int:
        return sum(sum(row.values()) for row in self.counts.values())

    def meet(self, one: One) -> None:
        """A mutant that is looked at, or whose twin was."""
        for name, layer in LAYERS.items():
            self.met[name].add(layer(one))

    def add(self, one: One, found: Found) -> str:
        """The verdict on a mutant, counted; the sentence that is said of it if it is not decided."""
        self.counts.setdefault(one.kind, Counter())[found.kind] += 1
        if found.kind not in self.open:
            return ""
        self.open[found.kind].append([one.source, one.machine, one.mutant.done, found.why])
        return f"{found.kind}: {one.source}, {one.machine}, {one.mutant.done}: {found.why}"

    def kept(self) -> dict[str, Any]:
        """What is written."""
        total = Counter[str]()
        for row in self.counts.values():
            total.update(row)
        return {
            "command": f"python -m tests.mutants {self.looked_at} {self.seed}",
            "date": time.strftime("%Y-%m-%d"),
            "seconds": round(self.before + time.perf_counter() - self.start),
            "seed": self.seed,
            "mutants in all": len(self.whole),
            "looked at": self.looked_at,
            "left out, the same in text": self.same,
            **{kind: total[kind] for kind in KINDS},
            "covered": {name: [len(self.met[name]), len(set(map(layer, self.whole)))] for name, layer in LAYERS.items()},
            "by kind of mutation": {name: {k: row[k] for k in KINDS if row[k]} for name, row in sorted(self.counts.items())},
            **{name + " mutants": rows for name, rows in self.open.items()},
        }

    def write(self) -> None:
        if self.path:
            fresh = self.path.with_suffix(".new")
            fresh.write_text(lines(self.kept()), encoding="utf-8")
            fresh.replace(self.path)


def lines(kept: dict[str, Any]) -> str:
    """JSON with one line for each row of a table."""
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_rows(value)}" for key, value in kept.items()) + "\n}\n"


def _rows(value: Any) -> str:
    match value:
        case dict() if value:
            return "{\n    " + ",\n    ".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in value.items()) + "\n  }"
        case list() if value:
            return "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
    return json.dumps(value)


def run(whole: list[One], count: int, seed: int, path: Path | None, processes: int = 1) -> Survey:
    """The first `count` programs of the order of a seed, but those that the file at `path` has already."""
    survey = Survey(whole, seed, path)
    known = survey.looked_at
    order = list(islice(apart(whole, seed), count))
    found = verdicts([one for _, one in order[known:]], processes)
    for number, (before, one) in enumerate(order, 1):
        for met in (*before, one):
            survey.meet(met)
        survey.same += len(before)
        if number > known:
            if said := survey.add(one, next(found)):
                print(f"{said}\n{render(one.mutant.program)}", flush=True)
            if number % STEP == 0:
                survey.write()
    survey.write()
    return survey


def verdicts(ones: list[One], processes: int) -> Iterator[Found]:
    """The verdicts on mutants, in their order."""
    if processes == 1:
        yield from map(judged, ones)
        return
    with ProcessPoolExecutor(processes, multiprocessing.get_context("fork")) as pool:
        yield from pool.map(judged, ones, chunksize=4)


def judged(one: One) -> Found:
    """For a process of its own."""
    return verdict(one.source, one.mutant)


def apart(whole: list[One], seed: int) -> Iterator[tuple[list[One], One]]:
    """Mutants in the order of a seed, each of another text than those before it, with those between that are not."""
    texts: dict[str, set[Hashable]] = {}
    same: list[One] = []
    for one in by_layers(whole, seed):
        mine, text = texts.setdefault(one.source, set()), one.text
        if text in mine:
            same.append(one)
            continue
        mine.add(text)
        yield same, one
        same = []


def main(arguments: list[str]) -> int:
    """The survey, printed as it goes."""
    whole = every(programs())
    count = int(arguments[0]) if arguments else len(whole)
    seed, path = int(arguments[1]) if len(arguments) > 1 else 0, Path(arguments[2]) if len(arguments) > 2 else None
    survey = run(whole, count, seed, path, int(arguments[3]) if len(arguments) > 3 else 1)
    print(table(survey))
    return int(bool(survey.open["unsound"]))


def table(survey: Survey) -> str:
    """Counts by the place of the mistake."""
    places: dict[str, Counter[str]] = {}
    for name, row in survey.counts.items():
        places.setdefault(name.partition(":")[0], Counter()).update(row)
        places.setdefault("~", Counter()).update(row)
    rows = [f"{'':32}" + "".join(f"{kind:>12}" for kind in KINDS)]
    for place, row in sorted(places.items()):
        rows.append(f"{place.replace('~', 'all'):32}" + "".join(f"{row[kind]:>12}" for kind in KINDS))
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
