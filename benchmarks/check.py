"""How long checking takes: `python -m benchmarks.check`. Whole processes, interleaved with `python -c "import z3"`, medians and ratios.

Comes in: the specs. Goes out: a table, and `benchmarks/results/check.json`. The one idea: a ratio within one run means something on any machine.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 9
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
GOALS = {
    "check saxpy (elementwise)": "≤ 4 × import z3 (five machines)",
    "check saxpy_v4 alone": "≤ 4 × import z3",
    "check matmul": "≤ 2 s",
    "check all of specs/": "≤ 60 s",
    "build matmul_tile to text": "≤ 0.3 s",
}


def seconds(*command: str) -> float:
    """The wall time of one process."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True, capture_output=True, env=ENVIRONMENT)
    return time.perf_counter() - start


def interleaved(commands: dict[str, tuple[str, ...]], rounds: int) -> dict[str, float]:
    """The median time of each command, one after the other, round by round."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            times[name].append(seconds(*command))
    return {name: statistics.median(t) for name, t in times.items()}


def main() -> None:
    """Measure, print, write."""
    small = interleaved(
        {
            "import z3": ("-c", "import z3"),
            "check saxpy (elementwise)": ("-m", "tinygpu", "check", "specs/saxpy.tgpu"),
            "check saxpy_v4 alone": ("-m", "tinygpu", "check", "specs/saxpy.tgpu", "--machine", "saxpy_v4"),
            "check matmul": ("-m", "tinygpu", "check", "specs/matmul.tgpu"),
        },
        ROUNDS,
    )
    times = small | interleaved({"check all of specs/": ("-m", "tinygpu", "check", "specs")}, 1)
    built = subprocess.run([sys.executable, "-c", BUILD], cwd=ROOT, check=True, capture_output=True, text=True, env=ENVIRONMENT)
    times["build matmul_tile to text"] = float(built.stdout.split()[-1])
    loaded = subprocess.run(
        [sys.executable, "-c", PROBE, "specs/saxpy.tgpu"], cwd=ROOT, check=True, capture_output=True, text=True, env=ENVIRONMENT
    )
    base = times["import z3"]
    print(f"{'':32} {'seconds':>8} {'× z3':>6}  goal")
    for name, value in times.items():
        print(f"{name:32} {value:8.2f} {value / base:6.1f}  {GOALS.get(name, '')}")
    print("heavy modules that check imports:", loaded.stdout.split("\n")[-2])
    result = {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "z3": version("z3-solver"),
        "seconds": {name: round(value, 3) for name, value in times.items()},
        "ratio to import z3": {name: round(value / base, 2) for name, value in times.items()},
    }
    out = ROOT / "benchmarks" / "results" / "check.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


if __name__ == "__main__":
    main()
