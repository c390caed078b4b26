"""What an architecture allows, as data: one TOML file each, every number with the page it comes from.

Comes in: a name (`sm_90a`, `cpu`), or nothing for the least common GPU. Goes out: its limits; `python -m tinygpu.hardware.arch` writes
`limits.json`, all files as one table, since reading ten files of TOML takes a tenth of a check. The one idea: the least common architecture
is the pointwise minimum, so a machine that names none fits all of them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from tinygpu.record import dataclass

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")  # GPUs
CPU = "cpu"
HERE = Path(__file__).resolve().parent


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
    base = name.rstrip("af") if name != CPU else name
    return Arch(name or "every architecture", **_table()[base])


@cache
def _table() -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = json.loads((HERE / "limits.json").read_text(encoding="utf-8"))
    return table


def table() -> str:
    """What the TOML files say, as the text of `limits.json`; the empty name has the least of the GPUs."""
    import tomllib

    every = {name: tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))["limits"] for name in (*ARCHITECTURES, CPU)}
    least = {limit: min(every[name][limit] for name in ARCHITECTURES) for limit in every[CPU]}
    lines = (f"{json.dumps(name)}: {json.dumps(limits)}" for name, limits in {"": least, **every}.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def known(name: str) -> bool:
    """Whether an architecture is one of ours."""
    return name == CPU or name.rstrip("af") in ARCHITECTURES


if __name__ == "__main__":
    (HERE / "limits.json").write_text(table(), encoding="utf-8")
