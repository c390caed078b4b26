"""What the assembler makes of every shipped kernel, without a GPU: `python -m benchmarks.gate`.

Comes in: the specs, `--only TEXT`. Goes out: a table, and of a whole run `benchmarks/results/gate.json`: registers, memory, instructions.
The one idea: what is counted in machine code and in banks is no estimate, so a change of the emitter shows here before it runs anywhere.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.machine_code import Report, assembled, compile_ptx, count, innermost, loops, missing, plain_loads, share, slow
from tinygpu import pipeline
from tinygpu.cost.measure import measure
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cuda import block_threads
from tinygpu.hardware.arch import CPU
from tinygpu.program.step import Array, Program, steps
from tinygpu.run.gate import Arch, loaded
from tinygpu.schedule.contract import dynamic_bytes

ROOT = Path(__file__).resolve().parent.parent
ARCHITECTURES: tuple[Arch, ...] = ((8, 0), (9, 0, "a"))
SIZE = 256  # of every size, where banks are counted
COLUMNS = {
    "registers": "regs",
    "spill_bytes": "spill",
    "stack_bytes": "stack",
    "local_bytes": "local",
    "shared_bytes": "shared",
    "lds_128": "LDS.128",
    "sts_128": "STS.128",
    "ldg_128": "LDG.128",
    "stg_128": "STG.128",
    "bar": "BAR",
    "shfl": "SHFL",
    "atom": "ATOM",
    "ffma_share": "FFMA",
    "bank_ways": "ways",
    "plain_loads": "LDG",
    "loop": "loop",
    "loop_each": "int/mem",
    "loop_checks": "ISETP",
    "loop_long": ".X",
    "divisions": "div",
    "compile_s": "s",
}


def rows(spec: str, arch: Arch) -> list[dict[str, Any]]:
    """A row for each launch of each machine of a spec, as its kernel for 32-bit indices and wide accesses."""
    machines = pipeline.load(ROOT / "specs" / f"{spec}.tgpu").machines
    programs = [unpack(pipeline.program(m)) for m in machines if m.arch != CPU]
    kernels, spent = [], []
    for program in programs:
        space = loaded(program)
        for number in range(len(program.launches)):
            start = time.perf_counter()
            (text,) = compile_ptx(space, program, number, (arch,), 32, True)
            kernels.append((program.name, text))
            spent.append(time.perf_counter() - start)
    start = time.perf_counter()
    reports = assembled(kernels, arch) if kernels else ()
    each = (time.perf_counter() - start) / max(1, len(kernels))
    found: list[dict[str, Any]] = []
    for program in programs:
        mine = reports[len(found) : len(found) + len(program.launches)]
        ways = banks(program)
        absent = missing(mine, program)
        for number, report in enumerate(mine):
            seconds = spent[len(found)]
            found.append(row(spec, program, number, report, ways, absent) | {"compile_s": round(seconds + each, 2)})
    return found


def banks(program: Program) -> dict[str, int]:
    """Shared array → the most turns that a warp's access to it takes; accesses whose index is data are left out."""
    found: dict[str, int] = {}
    for line in measure(program, dict.fromkeys(program.op.sizes, SIZE)).lines:
        if line.shared and line.tally is not None and line.tally.worst is not None:
            found[line.array] = max(line.tally.worst, found.get(line.array, 0))
    return found


def row(spec: str, program: Program, number: int, report: Report, ways: dict[str, int], absent: tuple[str, ...]) -> dict[str, Any]:
    """The numbers of one kernel. Shared memory is what the assembler knows and what the launch gives."""
    launch = program.launches[number]
    here = {name: turns for name, turns in ways.items() if name in names(program, number)}
    return {
        "spec": spec,
        "machine": program.name,
        "launch": number + 1,
        "arch": report.arch,
        "threads": block_threads(launch),
        "registers": report.registers,
        "spill_bytes": report.spill_bytes,
        "stack_bytes": report.stack_bytes,
        "local_bytes": report.local_bytes,
        "shared_bytes": report.shared_bytes + dynamic_bytes(launch),
        "lds_128": report.wide(stores=False, bytes=16, shared=True),
        "sts_128": report.wide(stores=True, bytes=16, shared=True),
        "ldg_128": report.wide(stores=False, bytes=16),
        "stg_128": report.wide(stores=True, bytes=16),
        "bar": report.count("BAR"),
        "shfl": report.count("SHFL"),
        "atom": report.count("ATOM", "RED."),
        "instructions": len(report.instructions),
        "ffma_share": round(share(report.hot_loop()), 2),
        "bank_ways": max(here.values(), default=0),
        "bank_ways_of": here,
        **in_loops(report),
        "refused": [*report.refused(), *absent],
        "slow": list(slow(report, program, number)),
    }


def in_loops(report: Report) -> dict[str, Any]:
    """What the innermost loops do, or the whole kernel where it has none: instructions, accesses to memory, integer arithmetic for each of
    them, comparisons, high words of 64 bits; and divisions of integers in all loops, by what is not known and by numbers."""
    inner = count([i for loop in innermost(report.instructions) for i in loop])
    every = [count(loop) for loop in loops(report.instructions)]
    return {
        "plain_loads": plain_loads(report.instructions),
        "loop": inner.instructions,
        "loop_accesses": inner.accesses,
        "loop_each": inner.each,
        "loop_checks": inner.checks,
        "loop_long": inner.long,
        "divisions": max((c.divisions for c in every), default=0),
        "by_numbers": max((c.by_numbers for c in every), default=0),
    }


def names(program: Program, number: int) -> set[str]:
    """The shared arrays of a launch."""
    return {s.name for s in steps(program.launches[number].body) if (isinstance(s, Array) and s.owner == "block")}


def table(found: Sequence[dict[str, Any]]) -> str:
    """The rows; what is refused is under them."""
    width = max((len(title(r)) for r in found), default=0)
    lines = [f"{'kernel':{width}} {'arch':7}" + "".join(f"{short:>8}" for short in COLUMNS.values())]
    lines += [f"{title(r):{width}} {r['arch']:7}" + "".join(f"{r[name] or '·':>8}" for name in COLUMNS) for r in found]
    lines += [f"REFUSED {title(r)} on {r['arch']}: {', '.join(r['refused'])}" for r in found if r["refused"]]
    lines += [f"slow: {title(r)} on {r['arch']}: {', '.join(r['slow'])}" for r in found if r["slow"]]
    lines.append(total(found))
    lines.append(
        "ways: the most turns that a warp's access to shared memory takes; FFMA: its share of the hot loop; LDG: loads that are not constant;"
        " of the innermost loops: instructions, integer arithmetic for each access, comparisons, high words of 64 bits; div: divisions of"
        " integers in loops; s: compiled and assembled"
    )
    return "\n".join(lines)


def total(found: Sequence[dict[str, Any]]) -> str:
    """The sums that an emitter can be told by."""
    inner, accesses = (sum(r[name] for r in found) for name in ("loop", "loop_accesses"))
    plain, divisions = (sum(r[name] for r in found) for name in ("plain_loads", "divisions"))
    return (
        f"{len(found)} kernels: {sum(r['instructions'] for r in found)} instructions, {inner} in innermost loops for {accesses} accesses"
        f" to memory, {plain} loads from global memory that are not constant, {divisions} divisions of integers in loops"
    )


def title(found: dict[str, Any]) -> str:
    """`total_two[op=total] 2`: the machine, and which of its launches."""
    return f"{found['machine']} {found['launch']}"


def main(arguments: list[str] | None = None) -> int:
    """Compile with two processes, write the JSON, print the table. The status is 1 where something is refused."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gate", description="every kernel of specs/, assembled without a GPU"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only the specs whose name contains this")
    parser.add_argument("--one", action="store_true", help="only sm_80, in one process")
    chosen = parser.parse_args(arguments)
    specs = sorted(path.stem for path in (ROOT / "specs").glob("*.tgpu") if chosen.only in path.stem)
    found: list[dict[str, Any]] = []
    architectures = ARCHITECTURES[:1] if chosen.one else ARCHITECTURES
    with ProcessPoolExecutor(len(architectures), multiprocessing.get_context("spawn")) as pool:
        made = [(spec, pool.submit(rows, spec, arch)) for spec in specs for arch in architectures]
        for spec, future in made:
            found += future.result()
            print(f"{spec}: {len(found)} kernels", file=sys.stderr, flush=True)
    found.sort(key=lambda r: (r["spec"], r["machine"], r["launch"], r["arch"]))
    if not chosen.only and not chosen.one:
        versions = {name: version(name) for name in ("numba-cuda", "nvidia-nvvm", "nvidia-nvjitlink", "nvidia-cuda-nvdisasm")}
        result = {"date": time.strftime("%Y-%m-%d"), "versions": versions, "sizes_of_banks": SIZE, "kernels": found}
        folder = ROOT / "benchmarks" / "results"
        folder.mkdir(exist_ok=True)
        (folder / "gate.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(found))
    return int(any(r["refused"] for r in found))


if __name__ == "__main__":
    raise SystemExit(main())
