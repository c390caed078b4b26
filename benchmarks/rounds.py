"""Two functions raced in turns, and what there is to know about the machine that they ran on.

Comes in: callables. Goes out: times in seconds, and facts for the JSON file: processor, versions, BLAS kernel, load.
The one idea: one of ours, one of theirs, again and again; the ratio of the medians is what is reported, and the spread beside it.
"""

from __future__ import annotations

import ctypes
import datetime
import importlib.metadata
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

FEWEST = 5  # rounds of which a median is worth reporting


@dataclass(frozen=True, slots=True)
class Race:
    """Seconds of each round."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """How many times faster ours is: the peer's median time over our median time.

        >>> Race((1.0, 1.0, 4.0), (2.0, 2.0, 2.0)).ratio
        2.0
        """
        return statistics.median(self.theirs) / statistics.median(self.ours)

    @property
    def best(self) -> float:
        """The same of the fastest rounds: what is left when nobody disturbs."""
        return min(self.theirs) / min(self.ours)

    @property
    def spreads(self) -> tuple[float, float]:
        """Ours and theirs: how far apart the quartiles are, as a share of the median.

        >>> Race((1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 2.0, 3.0)).spreads
        (0.0, 0.25)
        """
        return spread(self.ours), spread(self.theirs)


def spread(times: tuple[float, ...]) -> float:
    """The distance of the quartiles over the median; 0 for a single time."""
    if len(times) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    return (high - low) / middle


def race(ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int, seconds: float = float("inf")) -> Race:
    """Each once to warm up, then `rounds` of both in turns; after `seconds` at least FEWEST of them."""
    ours()
    theirs()
    times: tuple[list[float], list[float]] = ([], [])
    begun = time.perf_counter()
    for done in range(rounds):
        if done >= FEWEST and time.perf_counter() - begun > seconds:
            break
        for function, into in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            function()
            into.append(time.perf_counter() - start)
    return Race(tuple(times[0]), tuple(times[1]))


def as_shipped(module: str) -> None:
    """Begin again as a process without variables that choose the kernels of OpenBLAS, so that the peer is numpy as it ships; or with those
    that `--blas` names. Its threads sleep when a call is over: they would wait for the next one, a tenth of a second long, on the core
    that the other's call needs."""
    chosen = {"OPENBLAS_CORETYPE": sys.argv[sys.argv.index("--blas") + 1]} if "--blas" in sys.argv[:-1] else {}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    wanted = kept | chosen | {"OPENBLAS_THREAD_TIMEOUT": "16"}  # 2¹⁶ cycles
    if wanted != dict(os.environ):
        os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], wanted)


def machine() -> dict[str, Any]:
    """Date, processor, cores, load, versions, and the kernel that numpy's BLAS picked."""
    versions = {name: importlib.metadata.version(name) for name in ("numpy", "numba", "llvmlite")}
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        **versions,
        "blas": blas(),
    }


def processor() -> str:
    """The name of the processor, as the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def blas() -> str:
    """Name and core of numpy's BLAS, such as `scipy-openblas 0.3.31 SkylakeX`; the core is `unknown` where the library does not say."""
    try:
        build: Any = np.show_config(mode="dicts")
        found = build["Build Dependencies"]["blas"]
        name = f"{found.get('name', 'blas')} {found.get('version', '')}".strip()
    except (KeyError, TypeError):
        name = "blas"
    return f"{name} {_openblas_core() or 'unknown'}"


def _openblas_core() -> str | None:
    """The core as OpenBLAS itself names it, asked of the library that numpy has loaded."""
    folder = Path(np.__file__).parent.parent / "numpy.libs"
    for library in sorted(folder.glob("*openblas*")):
        loaded = ctypes.CDLL(str(library))
        for symbol in (
            "scipy_openblas_get_corename64_",
            "scipy_openblas_get_corename",
            "openblas_get_corename64_",
            "openblas_get_corename",
        ):
            if hasattr(loaded, symbol):
                function = getattr(loaded, symbol)
                function.restype = ctypes.c_char_p
                return str(function().decode())
    return None
