"""Memory that a process keeps between two questions to a solver.

Goes out: a setting of the C library. The one idea: every question has a context of its own, and what one frees the next one needs; but
the library gives it back to the system, and fetching its pages again takes ten times as long as all else about a context.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache

TRIM_THRESHOLD, TOP_PAD, KEPT = -1, -2, 64 << 20  # glibc's numbers of two options, and bytes: two contexts


@cache
def roomy() -> None:
    """Lets the C library keep so much; best before much is allocated."""
    with suppress(AttributeError):  # another library has no such options, and only time is lost
        ctypes.pythonapi.mallopt(TOP_PAD, KEPT)
        ctypes.pythonapi.mallopt(TRIM_THRESHOLD, 2 * KEPT)
