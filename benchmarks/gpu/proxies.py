"""What can be said without a GPU: every timed kernel compiled for sm_90, and what its machine code shows.

Comes in: the cases. Goes out: a row for each kernel: registers, spills, widths of accesses, the mix of the hot loop, bytes over what is needed.
The one idea: these are counted and not estimated, by the gate that every kernel goes through, and stand in for no time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import gate
from benchmarks.gpu.cases import CASES, GpuCase
from benchmarks.gpu.ready import machines, program
from tinygpu.cost.measure import measure

ARCH = (9, 0, "a")


def rows(
    cases: Sequence[GpuCase], say: Callable[[str], None], left: Callable[[], float]
) -> tuple[list[dict[str, Any]], dict[str, float | None]]:
    """The gate's rows of the machines that are timed, a spec at a time, while there is time; and how often they move each byte."""
    found: list[dict[str, Any]] = []
    ratios: dict[str, float | None] = {}
    for spec in dict.fromkeys(case.spec for case in cases):
        if left() <= 0:
            say(f"no time left for {spec} and what follows")
            break
        timed = {t for case in cases if case.spec == spec for t, m in machines(spec).items() if case.takes(t, m.op.name)}
        found += [r for r in gate.rows(spec, ARCH) if r["machine"] in timed]
        ratios.update(
            {title: bytes_ratio(case, title) for case in cases if case.spec == spec for title in timed if takes(case, title)}
        )
        say(f"compiled {spec}")
    return found, ratios


def takes(case: GpuCase, title: str) -> bool:
    return case.takes(title, machines(case.spec)[title].op.name)


def bytes_ratio(case: GpuCase, title: str) -> float | None:
    """The bytes of all sectors that the machine moves at the sizes of the case, over those of each element once; None where data decides."""
    cost = measure(program(case.spec, title), case.sizes)
    return cost.moved / cost.once if cost.moved is not None and cost.once else None


def table(found: Sequence[dict[str, Any]], ratios: Mapping[str, float | None]) -> str:
    """The gate's own table, then how often each byte is moved."""
    moved = [f"{title:36} {'data decides' if ratio is None else f'{ratio:.3f}'}" for title, ratio in ratios.items()]
    return "\n".join([gate.table(found), "", "bytes moved over bytes that have to be", *moved])


def needed() -> str:
    """What a host needs, and the command."""
    return (
        "No GPU here, so nothing was timed. The benchmark needs a Linux host with an NVIDIA GPU (H100 or H200 for the goals), its driver "
        "(580 or newer, for CUDA 13), and pip install -e '.[cuda]'; torch, Triton and CuPy (cupy-cuda13x) are peers where they are installed.\n"
        "There: python -m benchmarks.gpu"
    )


def cases_of(pattern: str) -> list[GpuCase]:
    """The cases whose name or spec this expression is in."""
    import re

    return [case for case in CASES if re.search(pattern, case.name) or re.search(pattern, case.spec)]
