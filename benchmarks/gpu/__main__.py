"""The benchmark on a GPU: `python -m benchmarks.gpu`. Identity, ceilings, correctness, times against peers, the host's share; the table last.

Comes in: the options of `--help`. Goes out: a table, and `benchmarks/results/gpu-<device>-<date>.json`, which
is written after every stage. The one idea: a clock gives every stage a share of eight minutes, and what matters most is done first.
"""

from __future__ import annotations

import argparse
import re
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.gpu import proxies
from benchmarks.gpu.cases import CASES, GpuCase
from benchmarks.gpu.ceilings import BYTES, ceilings
from benchmarks.gpu.correct import Judge, admits, said
from benchmarks.gpu.device import Gpu, NoGpu
from benchmarks.gpu.host import BATCHES, overheads
from benchmarks.gpu.peers import Library, before_import, libraries, torch_compiled
from benchmarks.gpu.race import Ceilings, race
from benchmarks.gpu.ready import Made, all_made, machines, program, specs
from benchmarks.gpu.run import MINUTES, RESULTS, Run
from benchmarks.gpu.table import table
from benchmarks.gpu.timing import ROUNDS
from tinygpu.record import replace


def with_gpu(run: Run, gpu: Gpu, cases: Sequence[GpuCase], every: Sequence[str], peers: bool, workers: int | None) -> None:
    """All stages, in order of what matters."""
    facts = gpu.identity()
    run.found["gpu"] = facts.facts()
    label = re.sub(r"\W+", "-", facts.name).strip("-").lower()
    run.call(f"gpu-{label}-{run.found['date']}")
    run.write()
    order = [*dict.fromkeys(case.spec for case in cases), *every]
    making = all_made(list(dict.fromkeys(order)), facts.capability, workers)
    before_import()
    found: tuple[Library, ...] = ()
    if peers:
        found, run.found["absent"] = libraries(gpu)
    size = BYTES >> 10 if run.quick else BYTES
    best = run.stage("ceilings", lambda: ceilings(gpu, found, facts.l2_bytes, facts.capability, size))
    limits, run.found["ceilings"] = best or (Ceilings(), {})
    ready: dict[str, list[Made]] = {}
    run.stage("proofs and machine code", lambda: prepare(run, making, ready, {case.spec for case in cases}))
    seed = secrets.randbits(31)
    run.found["correct"] = {"seed": seed, "right": 0, "wrong": {}, "refused": {}, "specs": [], "left": []}
    judge = Judge(seed) if workers != 0 else partial(said, gpu, seed=seed)
    first = [s for s in every if s in ready]
    run.stage("correctness of what is timed", lambda: correctness(run, judge, making, ready, first, "timed"))
    run.stage("times", lambda: timing(run, gpu, cases, ready, found, limits, facts.l2_bytes))
    run.stage("correctness of the rest", lambda: correctness(run, judge, making, ready, every, "correct"))
    if isinstance(judge, Judge):
        judge.close()
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
        out = [run.without and re.search(run.without, m.title) for m in made]
        made = [replace(m, refused="left out by --without") if x else m for m, x in zip(made, out, strict=True)]
        ready[made[0].spec] = made
        proof, code = (sum(m.seconds[k] for m in made) for k in (0, 1))
        run.say(f"{made[0].spec}: {len(made)} machines, proofs {proof:.1f} s, machine code {code:.1f} s")


def of_case(case: GpuCase, ready: dict[str, list[Made]], sizes: dict[str, int]) -> list[Made]:
    """The machines of a case that can be called and take these sizes."""
    by_title = machines(case.spec)
    named = [m for m in ready.get(case.spec, ()) if not m.refused and case.takes(m.title, by_title[m.title].op.name)]
    return [m for m in named if admits(program(m.spec, m.title), sizes)]


def whole(one: Made) -> str:
    """How a machine is called where those of all specs are."""
    return f"{one.title} of {one.spec}"


def timing(run: Run, gpu: Gpu, cases: Sequence[GpuCase], ready: dict[str, list[Made]], peers: tuple[Library, ...], limits: Ceilings, l2: int) -> None:  # fmt: skip
    """One case after the other, while there is time."""
    rows = run.found.setdefault("cases", [])
    for case in cases:
        if run.left("cases") <= 0:
            run.found.setdefault("not_reached", []).append(case.name)
            continue
        sizes = case.small() if run.quick else case.sizes
        every, wrong = of_case(case, ready, sizes), run.found["correct"]["wrong"]
        rows += [{"case": case.name, "machine": m.title, "wrong": wrong[whole(m)]} for m in every if whole(m) in wrong]
        mine = [m for m in every if whole(m) not in wrong]
        if not mine:
            rows.append({"case": case.name, "machine": "none", "wrong": "no machine is ready"})
            continue
        rounds = 2 if run.quick else ROUNDS
        found = run.stage(case.name, lambda c=case, s=sizes, m=mine, n=rounds: race(gpu, c, s, m, peers, limits, l2, n))  # type: ignore[misc]
        rows += found or [{"case": case.name, "machine": "all", "wrong": run.found["failed"][case.name]}]
        if not gpu.alive():
            run.found["dead"] = case.name
            return


def correctness(run: Run, look: Callable[[Made], str], making: Any, ready: dict[str, list[Made]], every: Sequence[str], stage: str) -> None:  # fmt: skip
    """Every machine of these specs that was not looked at before, by one seed."""
    seen = run.found["correct"]
    seen["left"] = []
    for spec in (s for s in every if s not in seen["specs"]):
        while spec not in ready and run.left(stage) > 0:
            made = next(making, None)
            if made is None:
                break
            take(run, made, ready)
        if spec not in ready or run.left(stage) <= 0:
            seen["left"].append(spec)
            continue
        seen["specs"].append(spec)
        for one in ready[spec]:
            why = one.refused or look(one)
            if why:
                seen["refused" if one.refused else "wrong"][whole(one)] = why
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
    run.call("gpu-proxies")
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
    parser.add_argument("--without", default="", metavar="PATTERN", help="no machine in whose title this expression is")
    parser.add_argument(
        "--results", type=Path, default=None, metavar="FOLDER", help="where the file goes (default: benchmarks/results)"
    )
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"the time for all of it (default: {MINUTES:g})")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds: to see that all of it works")
    parser.add_argument("--no-peers", action="store_true", help="ours alone, though other libraries are here")
    parser.add_argument(
        "--workers", type=int, default=None, help="processes that prove and compile (default: one a core, at most 16)"
    )
    chosen = parser.parse_args(arguments)
    run = Run(chosen.minutes, chosen.results or results, chosen.quick, bool(chosen.only), chosen.without)
    cases = proxies.cases_of(chosen.only) if chosen.only else list(CASES)
    every = [spec for spec in specs() if re.search(chosen.only, spec)]
    try:
        gpu = Gpu()
    except NoGpu as error:
        print(without_gpu(run, str(error), cases))
        return 2
    run.watch()
    with_gpu(run, gpu, cases, every, not chosen.no_peers, chosen.workers)
    run.write()
    print(table(run.found))
    print(f"{run.path}, after {run.found['seconds']:.0f} s")
    wrong_rows = any("wrong" in r for r in run.found.get("cases", ()))
    return int(bool(run.found.get("failed") or run.found.get("correct", {}).get("wrong") or wrong_rows))


if __name__ == "__main__":
    raise SystemExit(main())
