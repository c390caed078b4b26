"""The long run: `python -m tests.front --seconds 600`. `--seed N --count 1` makes one input again, which then lies in the folder.

Comes in: a time or a count, the first number, a folder. Goes out: how many inputs came how far, and every cause of a finding; the status
is 1 where there is one. The one idea: the same numbers are the same inputs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from tests.front.fuzz import fuzz

parser = argparse.ArgumentParser(prog="python -m tests.front", description="mutated and grown specs at every door, for a while")
parser.add_argument("--seconds", type=float, default=600.0)
parser.add_argument("--count", type=int, default=1 << 60)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--folder", type=Path, default=None, help="where inputs that found something are kept")
chosen = parser.parse_args()
folder = chosen.folder or Path(tempfile.mkdtemp(prefix="front-"))
folder.mkdir(parents=True, exist_ok=True)
end = time.monotonic() + chosen.seconds
score = fuzz(
    range(chosen.seed, chosen.seed + chosen.count), folder, lambda said: print(said, flush=True), lambda: time.monotonic() < end
)
print(f"\n{score.stages.total()} inputs: " + ", ".join(f"{n} {stage}" for stage, n in score.stages.most_common()))
slowest = f"slowest {score.slowest[0]} s (input {score.slowest[1]}); memory {score.peak >> 10} MiB"
print(f"{slowest}; {len(score.findings)} causes in {folder}")
raise SystemExit(bool(score.findings))
