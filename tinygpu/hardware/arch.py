"""What an architecture allows, as data: one TOML file each, every number with the page it comes from.

Comes in: a name (`sm_90a`, `cpu`), or nothing for the least common GPU. Goes out: its limits.
The one idea: the least common architecture is the pointwise minimum, so a machine that names none fits all of them.
"""

from __future__ import annotations

import tomllib
from dataclasses import fields
from functools import cache
from importlib.resources import files

from tinygpu.record import dataclass

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")  # GPUs
CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Arch:
    """The limits of one architecture; bytes and counts."""

    name: str
    threads_per_block: int
    threads_per_multiprocessor: int
    blocks_per_multiprocessor: int
    registers_per_thread: int
    registers_per_block: int
    shared_bytes_per_block: int
    shared_bytes_per_block_opt_in: int
    blocks_per_cluster: int
    grid_x: int
    grid_y: int
    block_z: int
    warp: int


@cache
def arch_named(name: str) -> Arch:
    """The limits of an architecture; `sm_90a` and `sm_100f` have those of `sm_90` and `sm_100`; the empty name has the least.

    >>> arch_named("sm_90a").blocks_per_cluster, arch_named("").threads_per_multiprocessor
    (8, 1024)
    """
    if not name:
        every = [arch_named(a) for a in ARCHITECTURES]
        least = {f.name: min(getattr(a, f.name) for a in every) for f in fields(Arch) if f.name != "name"}
        return Arch("every architecture", **least)
    base = name.rstrip("af") if name != CPU else name
    data = tomllib.loads(files("tinygpu.hardware").joinpath(f"{base}.toml").read_text())
    return Arch(name, **data["limits"])


def known(name: str) -> bool:
    """Whether an architecture is one of ours."""
    return name == CPU or name.rstrip("af") in ARCHITECTURES
