"""What CPUs do, as data: one TOML file each, every number with the page it comes from, or with the word that it is an assumption.

Comes in: a name (`cpu-avx512`) or the path of a file, and numbers that overrule some of it. Goes out: peaks. The one idea: nobody knows which CPU is there, so a file says what is assumed and
where from, anybody may say otherwise, and `cpu-any` is above all of them: a bound of it is one of every machine.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tinygpu.diagnostic import TinygpuError
from tinygpu.hardware.arch import HERE
from tinygpu.record import dataclass, replace

LEADS, OWN = "cpu-", ".toml"  # how a name begins, and how the path of somebody's own file ends
ANY = "cpu-any"
X86 = ("x86_64", "AMD64")


@dataclass(frozen=True, slots=True)
class Processor:
    """Peaks of a CPU: cores, clocks a second, bytes of a vector register and how many there are; of a core and clock, vector instructions on floating-point numbers, vectors loaded
    and stored; bytes a second of memory; bytes that caches may hold from one run to the next."""

    name: str
    cores: int
    clock_hertz: int
    vector_bytes: int
    vector_registers: int
    pipes: int
    loads: int
    stores: int
    memory_bytes_per_second: int
    cache_bytes: int

    def lanes(self, item: int) -> int:
        """Numbers of so many bytes in a register.

        >>> [processor_named("cpu-avx2").lanes(item) for item in (2, 4, 8)]
        [16, 8, 4]
        """
        return max(1, self.vector_bytes // item)

    @property
    def register_bytes(self) -> int:
        """Bytes that all vector registers of a core hold.

        >>> processor_named("cpu-avx512").register_bytes
        2048
        """
        return self.vector_bytes * self.vector_registers

    def clocks(self, cores: int) -> int:
        """Clocks a second of at most so many cores."""
        return min(self.cores, max(cores, 1)) * self.clock_hertz


PEAKS = tuple(Processor.__annotations__)[1:]


def processors() -> tuple[str, ...]:
    """The names that are known.

    >>> processors()
    ('cpu-any', 'cpu-avx2', 'cpu-avx512')
    """
    return tuple(sorted(LEADS + path.stem.removeprefix("processor_") for path in HERE.glob("processor_*.toml")))


def processor_named(name: str) -> Processor:
    """A CPU by its name, or by the path of a file that says what it does. Raises TG905 where there is none, or the file says something else."""
    if name.endswith(OWN):
        return _read(Path(name))
    if name not in processors():
        raise TinygpuError.of("TG905", f"there is no CPU {name}", help=f"the CPUs are {', '.join(processors())}")
    return _read(HERE / f"processor_{name.removeprefix(LEADS)}.toml")


@cache
def _read(path: Path) -> Processor:
    import tomllib

    try:
        said: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))["processor"]
        return overruled(
            Processor(**dict.fromkeys(PEAKS, 1), name=str(said["name"])), {n: said[n] for n in said if n != "name"}, PEAKS
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        help = f"it has a [processor] with {', '.join(('name', *PEAKS))}, as the files of tinygpu/hardware have"
        raise TinygpuError.of("TG905", f"{path.name} says nothing of a CPU: {error}", help=help) from None


def overruled(one: Processor, given: Mapping[str, Any], needed: tuple[str, ...] = ()) -> Processor:
    """A CPU with some of its peaks as they are given. Raises TG905 for a peak that none is, for one that is no number above 0, or for one that is needed and not given.

    >>> overruled(processor_named("cpu-avx2"), {"cores": "2", "clock_hertz": 3.5e9}).clocks(4)
    7000000000
    """
    wrong = next((n for n in given if n not in PEAKS), None)
    if wrong or (missing := [n for n in needed if n not in given]):
        title = f"a CPU has no peak {wrong}" if wrong else f"the peak {missing[0]} is not given"
        raise TinygpuError.of("TG905", title, help=f"its peaks are {', '.join(PEAKS)}")
    found = dict[str, Any]()
    for peak, value in given.items():
        try:
            found[peak] = int(float(value))
        except (ValueError, OverflowError, TypeError):
            found[peak] = 0
        if found[peak] < 1:
            raise TinygpuError.of("TG905", f"the peak {peak} is {value}", help="peaks are numbers above 0: cores=8 clock_hertz=4e9")
    return replace(one, **found)


def here() -> Processor | None:
    """What the CPU that is here does at most; None where not even that is known."""
    return overruled(processor_named(ANY), {"cores": os.cpu_count() or 1024}) if platform.machine() in X86 else None
