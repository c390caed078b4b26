"""Whole calls of shipped machines on the CPU against numpy's best in-place form: `python -m benchmarks.cpu`.

Comes in: the cases, `--only PATTERN`, `--quick`, `--rounds N`. Goes out: a table, and of a whole run `benchmarks/results/cpu.json`.
The one idea: everything is proved and compiled first, two processes at once; then one case after the other is timed alone.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks.case import ROOT, Case, Prepared, prepare, rows
from benchmarks.cases import CASES, WHY
from benchmarks.peers import SPARE
from benchmarks.rounds import FEWEST, as_shipped, machine

SECONDS = 1.5  # for the rounds of one machine, if those are more than the fewest
LOW = 0.2  # below this the table says why


def prepared(cases: Sequence[Case]) -> dict[str, dict[str, Prepared]]:
    """Case → machine → its module, made by two processes."""
    wanted = [(number, title) for number, case in enumerate(cases) for title in case.titles()]
    found: dict[str, dict[str, Prepared]] = {case.name: {} for case in cases}
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        made = [(cases[n].name, pool.submit(prepare_one, cases[n].name, title)) for n, title in wanted]
        for number, (name, future) in enumerate(made, 1):
            ready = future.result()
            found[name][ready.title] = ready
            say(f"prepared {number} of {len(made)}: {ready.title}")
    return found


def prepare_one(name: str, title: str) -> Prepared:
    """For a process of its own, to which a case goes by name."""
    return prepare(next(case for case in CASES if case.name == name), title)


def say(text: str) -> None:
    """Progress, beside the table."""
    print(text, file=sys.stderr, flush=True)


def table(found: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    """The rows, the reasons for the lowest, and what everything was measured on."""
    lines = [
        f"{'case':20} {'machine':44} {'ours ms':>18} {'numpy ms':>18} {'ratio':>7} {'of best':>8} {'plain':>6} {'torch':>6} {'compiled':>8} {'goal':>5}  numpy's form"
    ]
    for r in found:
        start = f"{r['case']:20} {r['machine']:44}"
        if "wrong" in r:
            lines.append(f"{start} WRONG: {r['wrong']}")
            continue
        times = " ".join(f"{r[who + '_ms']:10.2f} ± {100 * r[who + '_spread']:3.0f} %" for who in ("ours", "numpy"))
        mark = " " if r["reached"] else "<"
        note = f" ({r['note']})" if r["note"] else ""
        lines.append(
            f"{start} {times} {r['ratio']:7.2f} {r['ratio_of_best']:8.2f} {r.get('plain_ratio', ''):>6} {r.get('torch_ratio', ''):>6} {r.get('compiled_ratio', ''):>8} {mark}{r['goal']:4.2f}  {r['against']}{note}"
        )
    for r in found:
        if "why" in r:
            lines.append(f"{r['machine']} is at {r['ratio']:.2f}: {r['why']}")
    measured = f"{facts['processor']}, {facts['cores']} cores, load {facts['load']:.1f}"
    lines.append(
        f"{measured}; numpy {facts['numpy']} on {facts['blas']}; numba {facts['numba']}. ± is the distance of the quartiles, "
        "`plain` the ratio to the plain expression, where both make their results: there the goal is of that; `torch` and `compiled` are torch's, "
        "where the extra [bench] is installed."
    )
    return "\n".join(lines)


def with_reasons(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows; those below LOW say why."""
    return [
        {**r, "why": WHY.get(r["machine"], "not looked into yet")} if "wrong" not in r and r["ratio"] < min(LOW, r["goal"]) else r
        for r in found
    ]


def main(arguments: list[str] | None = None) -> int:
    """Prepare, time, write the JSON, print the table last. The status is 1 where a result was wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu", description="whole calls against numpy, f32, in turns")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each machine (default: 15)")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only the cases whose name or spec this expression is in")
    parser.add_argument(
        "--blas", default="", metavar="KERNEL", help="the kernels of OpenBLAS, such as Haswell: its own choice if not given"
    )
    parser.add_argument("--quick", action="store_true", help="every size an eighth, five rounds: to see that all of it works")
    chosen = parser.parse_args(arguments)
    cases = [case for case in CASES if re.search(chosen.only, case.name) or re.search(chosen.only, case.spec)]
    ready = prepared(cases)
    facts = machine()
    found: list[dict[str, Any]] = []
    for case in cases:
        timed = rows(case, ready[case.name], chosen.quick, FEWEST if chosen.quick else chosen.rounds, SECONDS)
        found += timed if chosen.quick else with_reasons(timed)  # a small call is mostly the waking of threads
        SPARE.clear()
        say(f"{case.name}: " + ", ".join(f"{r['machine']} {r.get('ratio', 'wrong')}" for r in found if r["case"] == case.name))
    if not (chosen.only or chosen.quick or chosen.blas):
        folder = ROOT / "benchmarks" / "results"
        folder.mkdir(exist_ok=True)
        text = json.dumps({"measured_on": facts, "rounds": chosen.rounds, "cases": found}, indent=1)
        (folder / "cpu.json").write_text(text + "\n", encoding="utf-8")
    print(table(found, facts))
    return int(any("wrong" in r for r in found))


if __name__ == "__main__":
    as_shipped("benchmarks.cpu")
    raise SystemExit(main())
