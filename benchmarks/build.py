"""How much longer building takes than checking: `python -m benchmarks.build [SPEC …]`. Whole processes, each begun with nothing known.

Comes in: specs, all machines of `specs/` where none is named. Goes out: a table, the worst first. The one idea: both commands are measured in the seconds
that processors work for them, so what else a machine does changes neither.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.check import ENVIRONMENT, ROOT

MOST = 3.0  # times what a check takes
LONGEST = 20.0  # seconds


@dataclass(frozen=True, slots=True)
class Row:
    """The processors' seconds of both commands for one spec, and the seconds that pass while it is built."""

    spec: str
    check: float
    build: float
    passed: float

    @property
    def ratio(self) -> float:
        """
        >>> Row("saxpy", 0.5, 1.0, 0.8).ratio
        2.0
        """
        return self.build / self.check

    @property
    def reached(self) -> bool:
        """
        >>> Row("saxpy", 0.5, 1.0, 0.8).reached, Row("saxpy", 0.5, 2.0, 0.8).reached
        (True, False)
        """
        return self.ratio <= MOST and self.passed <= LONGEST


def spent(words: Sequence[str]) -> tuple[float, float]:
    """The seconds that processors work for a command of tinygpu and all processes that it begins, and those that pass. Raises
    RuntimeError where it does not end well."""
    start = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "tinygpu", *words], cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"tinygpu {' '.join(words)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start


def measured(path: Path) -> Row:
    """One spec, checked and built."""
    with tempfile.TemporaryDirectory() as folder:
        check, _ = spent(("check", str(path)))
        build, passed = spent(("build", str(path), "-o", folder))
    return Row(path.relative_to(ROOT).as_posix(), check, build, passed)


def main(paths: Sequence[str]) -> None:
    """Measure, print."""
    library = (path for path in sorted((ROOT / "specs").rglob("*.tgpu")) if "\nmachine " in path.read_text(encoding="utf-8"))
    specs = [Path(p).resolve() for p in paths] or [*library]
    rows = sorted(map(measured, specs), key=lambda row: row.ratio, reverse=True)
    print(f"{'':40} {'check':>7} {'build':>7} {'passed':>7} {'ratio':>6}")
    for row in rows:
        print(f"{row.spec:40} {row.check:7.2f} {row.build:7.2f} {row.passed:7.2f} {row.ratio:6.2f} {'' if row.reached else '>'}")
    check, build = sum(row.check for row in rows), sum(row.build for row in rows)
    middle = statistics.median(row.ratio for row in rows)
    print(f"{'all':40} {check:7.2f} {build:7.2f} {'':7} {build / check:6.2f}")
    print(f"{sum(not row.reached for row in rows)} of {len(rows)} above {MOST:g} or {LONGEST:g} s, median {middle:.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
