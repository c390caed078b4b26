"""How far the order of what is predicted is that of what is timed: footprints, and the learned model on trials that it has not met.

Comes in: `benchmarks/results/trials.jsonl`, trials that were timed in turns with an incumbent on two cores, each of another kernel: ops and sizes of which there are thirty. Goes out: a table, and `benchmarks/results/ranks.json`. The one idea: the trials are committed, so the figures can be had again without a clock.

    python -m benchmarks.ranks
"""

from __future__ import annotations

import json
import time
from importlib.metadata import version
from pathlib import Path

from tinygpu.tune.learned import FOLDS, correlations, samples

RESULTS = Path(__file__).resolve().parent / "results"
GOAL = 0.75


def main() -> int:
    lines = (RESULTS / "trials.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    names = {row["op"]: row["machine"].split(":")[1].split()[0] for row in rows}
    found = [
        {
            "op": names[place.op],
            "sizes": json.loads(place.sizes),
            "trials": n,
            "footprints": round(before, 2),
            "learned": round(after, 2),
        }
        for place, (n, before, after) in correlations(samples(rows, {})).items()
    ]
    print(f"{'op':16} {'sizes':44} {'trials':>6} {'footprints':>10} {'learned':>8}   goal")
    for row in found:
        mark = " " if row["learned"] >= GOAL else "<"
        print(f"{row['op']:16} {row['sizes']!s:44} {row['trials']:6} {row['footprints']:10.2f} {row['learned']:8.2f} {mark} {GOAL}")
    result = {"date": time.strftime("%Y-%m-%d"), "command": "python -m benchmarks.ranks", "scikit-learn": version("scikit-learn"), "folds": FOLDS, "goal": GOAL,
              "missed": [f"{row['op']} at {row['sizes']}" for row in found if float(row["learned"]) < GOAL], "rank correlation with measured times": found}  # fmt: skip
    (RESULTS / "ranks.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
