"""The benchmark on a GPU: `python -m benchmarks.gpu`. Identity, ceilings, correctness, times against peers, the host's share; the table last.

Comes in: `--only PATTERN`, `--minutes N`, `--quick`, `--no-peers`. Goes out: a table, and `benchmarks/results/gpu-<device>-<date>.json`, which
is written after every stage. The one idea: a clock gives every stage a share of eight minutes, and what matters most is done first.
"""

from __future__ import annotations

import argparse
import json
import re
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.gpu import proxies
from benchmarks.gpu.cases import CASES, GpuCase
from benchmarks.gpu.ceilings import BYTES, ceilings
from benchmarks.gpu.correct import admits, wrong
from benchmarks.gpu.device import Gpu, NoGpu
from benchmarks.gpu.host import BATCHES, overheads
from benchmarks.gpu.peers import Library, before_import, libraries, torch_compiled
from benchmarks.gpu.race import Ceilings, race
from benchmarks.gpu.ready import Made, all_made, machines, program, specs
from benchmarks.gpu.table import table
from benchmarks.gpu.timing import ROUNDS

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
SHARES = {"ready": 0.35, "cases": 0.7, "correct": 0.85, "host": 0.95}  # of the time, by when a stage begins nothing new


class Run:
    """What has been found, the clock, and the file."""

    def __init__(self, minutes: float, results: Path, quick: bool):
        self.begun, self.seconds, self.results, self.quick = time.monotonic(), 60 * minutes, results, quick
        self.found: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "versions": versions(), "quick": quick}
        self.path = results / "gpu.json"

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


def with_gpu(run: Run, gpu: Gpu, cases: Sequence[GpuCase], every: Sequence[str], peers: bool, workers: int | None) -> None:
    """All stages, in order of what matters."""
    facts = gpu.identity()
    run.found["gpu"] = facts.facts()
    label = re.sub(r"\W+", "-", facts.name).strip("-").lower()
    run.path = run.results / ("gpu.json" if run.quick else f"gpu-{label}-{run.found['date']}.json")
    run.write()
    order = [*dict.fromkeys(case.spec for case in cases), *every]
    making = all_made(list(dict.fromkeys(order)), facts.capability, workers)
    before_import()
    found: tuple[Library, ...] = ()
    if peers:
        found, run.found["absent"] = libraries(gpu)
    size = BYTES >> 10 if run.quick else BYTES
    best = run.stage("ceilings", lambda: ceilings(gpu, found, facts.l2_bytes, facts.capability, size))
    limits, run.found["ceilings"] = best or (Ceilings(float("inf"), float("inf")), {})
    ready: dict[str, list[Made]] = {}
    run.stage("proofs and machine code", lambda: prepare(run, making, ready, {case.spec for case in cases}))
    run.stage("correctness of what is timed", lambda: correctness(run, gpu, making, ready, [s for s in every if s in ready]))
    run.stage("times", lambda: timing(run, gpu, cases, ready, found, limits, facts.l2_bytes))
    run.stage("correctness of the rest", lambda: correctness(run, gpu, making, ready, every))
    making.close()  # what is still being proved would take time from the host's share
    run.stage("the host's share", lambda: host(run, gpu, ready, found))
    if any(library.name == "torch eager" for library in found):
        run.stage("torch compiled", lambda: compiled(run, gpu, cases, ready, found, limits, facts.l2_bytes))


def prepare(run: Run, making: Any, ready: dict[str, list[Made]], first: set[str]) -> None:
    """The specs that are timed, as they come; the others are made meanwhile."""
    while not first <= ready.keys() and run.left("ready") > 0:
        made = next(making, None)
        if made is None:
            return
        take(run, made, ready)


def take(run: Run, made: list[Made], ready: dict[str, list[Made]]) -> None:
    if made:
        ready[made[0].spec] = made
        proof, code = (sum(m.seconds[k] for m in made) for k in (0, 1))
        run.say(f"{made[0].spec}: {len(made)} machines, proofs {proof:.1f} s, machine code {code:.1f} s")


def of_case(case: GpuCase, ready: dict[str, list[Made]], sizes: dict[str, int]) -> list[Made]:
    """The machines of a case that can be called and take these sizes."""
    by_title = machines(case.spec)
    named = [m for m in ready.get(case.spec, ()) if not m.refused and case.takes(m.title, by_title[m.title].op.name)]
    return [m for m in named if admits(program(m.spec, m.title), sizes)]


def timing(run: Run, gpu: Gpu, cases: Sequence[GpuCase], ready: dict[str, list[Made]], peers: tuple[Library, ...], limits: Ceilings, l2: int) -> None:  # fmt: skip
    """One case after the other, while there is time."""
    rows = run.found.setdefault("cases", [])
    for case in cases:
        if run.left("cases") <= 0:
            run.found.setdefault("not_reached", []).append(case.name)
            continue
        sizes = case.small() if run.quick else case.sizes
        mine = of_case(case, ready, sizes)
        if not mine:
            rows.append({"case": case.name, "machine": "none", "wrong": "no machine is ready"})
            continue
        rounds = 2 if run.quick else ROUNDS
        found = run.stage(case.name, lambda c=case, s=sizes, m=mine, n=rounds: race(gpu, c, s, m, peers, limits, l2, n))  # type: ignore[misc]
        rows += found or [{"case": case.name, "machine": "all", "wrong": run.found["failed"][case.name]}]


def correctness(run: Run, gpu: Gpu, making: Any, ready: dict[str, list[Made]], every: Sequence[str]) -> None:
    """Every machine of these specs that was not looked at before, all with one seed."""
    nothing: dict[str, Any] = {"seed": secrets.randbits(31), "right": 0, "wrong": {}, "refused": {}, "specs": [], "left": []}
    seen = run.found.setdefault("correct", nothing)
    seen["left"] = []
    for spec in (s for s in every if s not in seen["specs"]):
        while spec not in ready and run.left("correct") > 0:
            made = next(making, None)
            if made is None:
                break
            take(run, made, ready)
        if spec not in ready or run.left("correct") <= 0:
            seen["left"].append(spec)
            continue
        seen["specs"].append(spec)
        for one in ready[spec]:
            judge(seen, gpu, one)


def judge(seen: dict[str, Any], gpu: Gpu, one: Made) -> None:
    """One machine."""
    title = f"{one.title} of {one.spec}"
    if one.refused:
        seen["refused"][title] = one.refused
        return
    try:
        why = wrong(gpu, one, seen["seed"])
    except Exception as error:  # noqa: BLE001  # a launch that fails is wrong
        why = f"{type(error).__name__}: {error}".split("\n")[0][:200]
    if why:
        seen["wrong"][title] = why
    seen["right"] += not why


def host(run: Run, gpu: Gpu, ready: dict[str, list[Made]], peers: tuple[Library, ...]) -> None:
    one = next((m for m in ready.get("saxpy", ()) if m.title == "saxpy_v4" and not m.refused), None)
    if one is not None:
        run.found["host"] = overheads(gpu, one, peers, 3 if run.quick else BATCHES)


def compiled(run: Run, gpu: Gpu, cases: Sequence[GpuCase], ready: dict[str, list[Made]], peers: tuple[Library, ...], limits: Ceilings, l2: int) -> None:  # fmt: skip
    """The cases again, with torch.compile as the only peer, and the fastest machine alone."""
    import torch

    eager = next(library for library in peers if library.name == "torch eager")
    library = torch_compiled(eager, torch)
    for case in cases:
        best = next((r for r in run.found.get("cases", ()) if r["case"] == case.name and "us" in r), None)
        if best is None or case.peers not in library.forms or run.left("host") <= 0:
            continue
        sizes = case.small() if run.quick else case.sizes
        mine = [m for m in of_case(case, ready, sizes) if m.title == best["machine"]]
        (again,) = race(gpu, case, sizes, mine, (library,), limits, l2, 5)
        best["peers"] |= again.get("peers", {})
        run.say(f"compiled: {case.name}")


def without_gpu(run: Run, why: str, cases: Sequence[GpuCase]) -> str:
    """What can be run all the same: machine code for sm_90, counted."""
    run.say(f"no GPU: {why}")
    run.path = run.results / "gpu-proxies.json"
    made = run.stage("machine code for sm_90a", lambda: proxies.rows(cases, run.say, lambda: run.left("host")))
    rows, ratios = made or ([], {})
    run.found |= {"no_gpu": why, "kernels": rows, "bytes_ratio": ratios}
    run.write()
    return f"{proxies.table(rows, ratios)}\n\n{proxies.needed()}\n({why})"


def main(arguments: list[str] | None = None, results: Path = RESULTS) -> int:
    """Everything. The status is 1 where a machine was wrong or a stage failed, 2 where there was no GPU."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu", description="every machine on a GPU, against its memory and its peers"
    )
    parser.add_argument("--only", default="", metavar="PATTERN", help="only the cases and specs in whose name this expression is")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"the time for all of it (default: {MINUTES:g})")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: to see that all of it works")
    parser.add_argument("--no-peers", action="store_true", help="ours alone, though other libraries are here")
    parser.add_argument(
        "--workers", type=int, default=None, help="processes that prove and compile (default: one a core, at most 16)"
    )
    chosen = parser.parse_args(arguments)
    run = Run(chosen.minutes, results, chosen.quick)
    cases = proxies.cases_of(chosen.only) if chosen.only else list(CASES)
    every = [spec for spec in specs() if re.search(chosen.only, spec)]
    try:
        gpu = Gpu()
    except NoGpu as error:
        print(without_gpu(run, str(error), cases))
        return 2
    with_gpu(run, gpu, cases, every, not chosen.no_peers, chosen.workers)
    run.write()
    print(table(run.found))
    print(f"{run.path}, after {run.found['seconds']:.0f} s")
    wrong_rows = any("wrong" in r for r in run.found.get("cases", ()))
    return int(bool(run.found.get("failed") or run.found.get("correct", {}).get("wrong") or wrong_rows))


if __name__ == "__main__":
    raise SystemExit(main())
