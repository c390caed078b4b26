"""How long checking takes: `python -m benchmarks.check`. Whole processes, interleaved with `python -c "import z3"`, medians and ratios.

Comes in: the specs, and three programs of which a barrier was taken out. Goes out: a table, and `benchmarks/results/check.json`.
The one idea: a ratio within one run means something on any machine; a rejection is timed against the proof of the whole program, both by
their fastest rounds, as the work is the same every time and all else is somebody else's.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.broken import VARIANTS, texts
from benchmarks.rounds import processor

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 9
DUELS = 25  # rounds of a rejection against a proof: they differ by a few percent, and a host by more
REFUTED = 1  # the exit code of `tinygpu check`
# compiled modules are kept, as they are for whoever installed tinygpu
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPATH": str(ROOT)}
PROBE = "import sys, tinygpu.cli; code = tinygpu.cli.main(['check', sys.argv[1]]); print(sorted({'numba', 'sympy', 'numpy'} & set(sys.modules)))"
BUILD = """
import time
from tinygpu import pipeline
machine = pipeline.load("specs/matmul.tgpu").matmul_tile
proof = pipeline.check(machine)
start = time.perf_counter()
text = pipeline.module("matmul", [pipeline.built(proof, machine)])
print(time.perf_counter() - start)
"""


@dataclass(frozen=True, slots=True)
class Goal:
    """At most so many times `import z3`, or at most so many seconds."""

    most: float
    unit: str = "s"
    note: str = ""

    def reached(self, seconds: float, base: float) -> bool:
        """
        >>> Goal(4, "× z3").reached(0.3, 0.1), Goal(0.2).reached(0.3, 0.1)
        (True, False)
        """
        return (seconds / base if self.unit == "× z3" else seconds) <= self.most

    def __str__(self) -> str:
        return f"≤ {self.most:g} {self.unit}{f' ({self.note})' if self.note else ''}"


BASE = "import z3"
LIBRARY = "check all of specs/"
EMITTED = "build matmul_tile to text"
SMALL: dict[str, tuple[tuple[str, ...], Goal | None]] = {
    BASE: (("-c", "import z3"), None),
    "check saxpy (elementwise)": (("saxpy",), Goal(4, "× z3", "five machines")),
    "check saxpy_v4 alone": (("saxpy", "--machine", "saxpy_v4"), Goal(4, "× z3")),
    "check matmul": (("matmul",), Goal(2)),
}
TOGETHER: dict[str, tuple[tuple[str, ...], Goal | None]] = {
    BASE: (("-c", "import z3"), None),
    "check transpose": (("transpose",), Goal(1.5)),
    "check full sum": (("total", "--machine", "total"), Goal(1.5)),
    "check row sum": (("row_sum", "--machine", "row_sum"), Goal(1.5)),
    "check softmax": (("softmax",), Goal(1.5)),
    "check layernorm": (("norm", "--machine", "layernorm"), Goal(1.5)),
    "check rmsnorm": (("norm", "--machine", "rmsnorm"), Goal(1.5)),
    "check add, rmsnorm": (("norm", "--machine", "add_rmsnorm"), Goal(1.5)),
    "check staged product, 16 × 16": (("matmul_shared", "--machine", "matmul_16x16"), Goal(5)),
    "check staged products, all": (("matmul_shared",), Goal(5)),
    "check convolution": (("convolution_shared",), Goal(5)),
    "check scan": (("scan",), Goal(5)),
    "check histogram": (("histogram",), Goal(5)),
}
GOALS = {name: goal for name, (_, goal) in (SMALL | TOGETHER).items()} | {LIBRARY: Goal(90), EMITTED: Goal(0.3)}


def command(words: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of python: of `tinygpu check`, where they are not given.

    >>> command(("saxpy", "--machine", "saxpy_v4"))
    ('-m', 'tinygpu', 'check', 'specs/saxpy.tgpu', '--machine', 'saxpy_v4')
    """
    return words if words[0] == "-c" else ("-m", "tinygpu", "check", f"specs/{words[0]}.tgpu", *words[1:])


def seconds(words: tuple[str, ...], status: int = 0) -> float:
    """The wall time of one process. Raises RuntimeError where it does not end as it should."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, env=ENVIRONMENT)
    spent = time.perf_counter() - start
    if done.returncode != status:
        raise RuntimeError(f"{' '.join(words)} ended with {done.returncode}, not {status}:\n{done.stdout}{done.stderr}")
    return spent


def interleaved(commands: dict[str, tuple[tuple[str, ...], int]], rounds: int) -> dict[str, list[float]]:
    """The times of each command, one after the other, round by round."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, (words, status) in commands.items():
            times[name].append(seconds(words, status))
    return times


def rejections(rounds: int) -> dict[str, dict[str, float]]:
    """For each broken program the seconds of its refutation, and of the proof of the program that is whole."""
    with tempfile.TemporaryDirectory() as folder:
        commands: dict[str, tuple[tuple[str, ...], int]] = {}
        for number, variant in enumerate(VARIANTS):
            for word, text in zip(("whole", "broken"), texts(variant), strict=True):
                path = Path(folder) / f"{word}_{number}.tgpu"
                path.write_text(text, encoding="utf-8")
                commands[f"{word} {variant.name}"] = ("-m", "tinygpu", "check", str(path)), REFUTED if word == "broken" else 0
        times = {name: min(t) for name, t in interleaved(commands, rounds).items()}
    return {v.name: {"proof": times[f"whole {v.name}"], "rejection": times[f"broken {v.name}"]} for v in VARIANTS}


def measured(rounds: int, library: bool) -> tuple[dict[str, float], dict[str, float]]:
    """The median seconds of everything, and the seconds of `import z3` that each is compared with."""
    times: dict[str, float] = {}
    bases: dict[str, float] = {}
    for group, count in ((SMALL, rounds), (TOGETHER, max(1, rounds // 3))):
        found = interleaved({name: (command(words), 0) for name, (words, _) in group.items()}, count)
        medians = {name: statistics.median(t) for name, t in found.items()}
        bases |= dict.fromkeys(medians, medians[BASE])
        times |= {name: value for name, value in medians.items() if name not in times}
    if library:
        times[LIBRARY] = seconds(("-m", "tinygpu", "check", "specs/*.tgpu"))
    done = subprocess.run([sys.executable, "-c", BUILD], cwd=ROOT, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    times[EMITTED] = float(done.stdout.split()[-1])
    return times, bases | dict.fromkeys((LIBRARY, EMITTED), times[BASE])


def imported() -> str:
    """Those of the heavy modules that a check imports."""
    words = [sys.executable, "-c", PROBE, "specs/saxpy.tgpu"]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout.splitlines()[-1]


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check", description="how long checking takes, as whole processes")
    parser.add_argument("--quick", action="store_true", help="one round, without the whole library, and no file is written")
    quick = parser.parse_args(arguments).quick
    times, bases = measured(1 if quick else ROUNDS, not quick)
    refused = rejections(1 if quick else DUELS)
    print(f"{'':32} {'seconds':>8} {'× z3':>6}   goal")
    for name, value in times.items():
        goal = GOALS.get(name)
        mark = " " if goal is None or goal.reached(value, bases[name]) else ">"
        print(f"{name:32} {value:8.2f} {value / bases[name]:6.1f} {mark} {goal or ''}")
    print(f"\n{'rejected':42} {'seconds':>8} {'proof':>8} {'ratio':>6}   goal")
    for name, pair in refused.items():
        ratio = pair["rejection"] / pair["proof"]
        print(f"{name:42} {pair['rejection']:8.2f} {pair['proof']:8.2f} {ratio:6.2f} {' ' if ratio <= 1 else '>'} ≤ 1")
    print("heavy modules that check imports:", imported())
    if not quick:
        write(times, bases, refused)


def write(times: dict[str, float], bases: dict[str, float], refused: dict[str, dict[str, float]]) -> None:
    """The file of results."""
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "z3": version("z3-solver"),
        "seconds": {name: round(value, 3) for name, value in times.items()},
        "ratio to import z3": {name: round(value / bases[name], 2) for name, value in times.items()},
        "goals": {name: str(goal) for name, goal in GOALS.items() if goal},
        "missed": [name for name, goal in GOALS.items() if goal and not goal.reached(times[name], bases[name])],
        "rejections": {
            name: {**{k: round(v, 3) for k, v in pair.items()}, "ratio": round(pair["rejection"] / pair["proof"], 2)}
            for name, pair in refused.items()
        },
    }
    out = ROOT / "benchmarks" / "results" / "check.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
