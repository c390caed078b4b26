"""Where a trial was made: the processor, its cores, how much else there was to do, and the versions of what made the code.

Comes in: nothing. Goes out: a `Host`. The one idea: a time is a fact about a host at a moment, so both are kept beside it.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

from tinygpu.record import dataclass

TOOLS = ("tinygpu", "numba", "llvmlite", "numpy")


@dataclass(frozen=True, slots=True)
class Host:
    """The name of a processor and how many of its cores may be used; processes that were ready to run, in the mean of a minute; versions; and who worked."""

    cpu: str
    cores: int
    load: float
    toolchain: Mapping[str, str]
    worker: str = ""

    @property
    def loaded(self) -> bool:
        """Whether so much else was done that a time means little."""
        return self.load > self.cores + 1


def here() -> Host:
    """This host, now."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return Host(_processor(), _cores(), load, toolchain(), f"{platform.node()}/{os.getpid()}/{threading.get_ident()}")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def toolchain() -> dict[str, str]:
    """The version of each tool; empty where it is not installed."""
    found = {d.metadata["Name"]: d.version for tool in TOOLS for d in metadata.distributions(name=tool)}
    return {tool: found.get(tool, "") for tool in TOOLS}


@cache
def _processor() -> str:
    table = Path("/proc/cpuinfo")
    lines = table.read_text(encoding="utf-8", errors="replace").splitlines() if table.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()
