"""A run of the benchmark: what has been found, the clock, and the file, which is written after every stage.

Comes in: minutes, a folder. Goes out: `Run`. The one idea: what a run has found is never lost, whatever comes after it, and whatever the GPU does.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.gpu.table import table

RESULTS = Path(__file__).resolve().parent.parent / "results"
PACKAGES = (
    "numpy",
    "numba",
    "numba-cuda",
    "cuda-core",
    "cuda-bindings",
    "nvidia-nvvm",
    "nvidia-nvjitlink",
    "torch",
    "triton",
    "cupy-cuda13x",
)
MINUTES = 8.0
GRACE = 45.0  # seconds after which a run is ended that does not end
SHARES = {
    "ready": 0.35,
    "timed": 0.45,
    "cases": 0.75,
    "correct": 0.85,
    "host": 0.95,
}  # of the time, by when a stage begins nothing new


class Run:
    """What has been found, the clock, and the file."""

    def __init__(self, minutes: float, results: Path, quick: bool, part: bool = False, without: str = ""):
        self.begun, self.seconds, self.results, self.quick = time.monotonic(), 60 * minutes, results, quick
        self.found: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "versions": versions(), "quick": quick}
        self.part, self.without = part or quick, without
        self.path = results / "gpu.json"

    def call(self, name: str) -> None:
        """The file, by name; what a run of a part of it has found is a file of its own, and never in the place of a whole one."""
        self.path = self.results / ("gpu.json" if self.part else f"{name}.json")

    def watch(self) -> None:
        """After all the time and some more, what there is is written and said, whatever the GPU is at; and this is the end."""

        def over() -> None:
            self.found.setdefault("failed", {})["the time"] = "was over, and something did not come back"
            self.write()
            print(table(self.found), flush=True)
            os._exit(1)

        timer = threading.Timer(self.seconds + GRACE, over)
        timer.daemon = True
        timer.start()

    def left(self, stage: str) -> float:
        """Seconds until a stage begins nothing new."""
        return SHARES[stage] * self.seconds - (time.monotonic() - self.begun)

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.begun:5.0f} s  {text}", file=sys.stderr, flush=True)

    def write(self) -> None:
        """The file as it stands."""
        self.found["seconds"] = round(time.monotonic() - self.begun, 1)
        self.results.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.found, indent=1) + "\n", encoding="utf-8")

    def stage(self, name: str, work: Callable[[], Any]) -> Any:
        """What a stage gives; None where it fails, which is written down. What the stages before have found stays."""
        self.say(name)
        try:
            return work()
        except Exception as error:  # noqa: BLE001  # one stage that fails leaves the others
            self.found.setdefault("failed", {})[name] = f"{type(error).__name__}: {error}"[:400]
            self.say(f"{name} failed\n{traceback.format_exc()}")
            return None
        finally:
            self.write()


def versions() -> dict[str, str]:
    """Of the packages that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
