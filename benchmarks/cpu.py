"""The CPU kernels of shipped machines against numpy's best in-place form: `python -m benchmarks.cpu`.

Comes in: specs, cases below, `--rounds`, `--only`. Goes out: a table, and `benchmarks/results/cpu.json`.
The one idea: every case is first compared with the equation as numpy computes it, so nothing wrong is ever called fast.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.rounds import Race, machine, race
from tinygpu.emit.cpu import cpu_name, cpu_source
from tinygpu.model.elaborate import elaborate
from tinygpu.program.derive import derive
from tinygpu.program.step import Program
from tinygpu.syntax.parse import parse

ROOT = Path(__file__).resolve().parent.parent
SIZE = 1 << 24
SIDE = 1 << 12
Array = np.ndarray[Any, np.dtype[np.float32]]
Peer = Callable[[dict[str, Any], Array], Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A machine of a spec, the extents of its sizes, numpy's in-place form, and the ratio to reach (0: none is asked)."""

    name: str
    spec: str
    machine: str
    sizes: dict[str, int]
    peer: Peer
    goal: float
    note: str = ""


def f(value: float) -> np.float32:
    return np.float32(value)


def _saxpy(i: dict[str, Any], z: Array) -> None:
    np.multiply(i["x"], f(i["a"]), out=z)
    np.add(z, i["y"], out=z)


def _gelu_tanh(i: dict[str, Any], y: Array) -> None:
    x = i["x"]
    np.multiply(x, x, out=y)
    np.multiply(y, f(0.044715), out=y)
    np.add(y, f(1), out=y)
    np.multiply(y, x, out=y)
    np.multiply(y, f(0.7978845608028654), out=y)
    np.tanh(y, out=y)
    np.add(y, f(1), out=y)
    np.multiply(y, x, out=y)
    np.multiply(y, f(0.5), out=y)


_SPARE: dict[int, tuple[Array, Array]] = {}


def _gelu_erf(i: dict[str, Any], y: Array) -> None:
    """numpy has no erf: the rational form 7.1.26 of Abramowitz and Stegun (1.5e-7), in place."""
    x = i["x"]
    t, e = _SPARE.setdefault(x.size, (np.empty_like(x), np.empty_like(x)))
    np.abs(x, out=t)
    np.multiply(t, f(0.3275911 * 0.7071067811865476), out=t)
    np.add(t, f(1), out=t)
    np.divide(f(1), t, out=t)
    np.multiply(x, x, out=e)
    np.multiply(e, f(-0.5), out=e)
    np.exp(e, out=e)
    np.multiply(t, f(1.061405429), out=y)
    for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        np.add(y, f(coefficient), out=y)
        np.multiply(y, t, out=y)
    np.multiply(y, e, out=y)
    np.subtract(f(1), y, out=y)
    np.copysign(y, x, out=y)
    np.add(y, f(1), out=y)
    np.multiply(y, x, out=y)
    np.multiply(y, f(0.5), out=y)


def _silu_mul(i: dict[str, Any], z: Array) -> None:
    np.negative(i["x"], out=z)
    np.exp(z, out=z)
    np.add(z, f(1), out=z)
    np.divide(i["x"], z, out=z)
    np.multiply(z, i["y"], out=z)


LINE, PLANE, SQUARE = {"n": SIZE}, {"M": SIDE, "N": SIDE}, {"M": 1024, "N": 1024, "K": 1024}
CASES = (
    Case("copy", "copy", "copy_v4[T=f32]", LINE, lambda i, o: np.copyto(o, i["x"]), 0.95),
    Case("saxpy", "saxpy", "saxpy_v4", LINE, _saxpy, 0.95, "two calls of numpy"),
    Case("bias", "elementwise", "rows_v4[op=bias_rows]", PLANE, lambda i, o: np.add(i["x"], i["b"][:, None], out=o), 0.95),
    Case("relu", "relu", "relu_v4[op=relu, T=f32]", LINE, lambda i, o: np.maximum(i["x"], f(0), out=o), 0.95),
    Case("gelu, tanh", "gelu", "gelu_v4[op=gelu_tanh]", LINE, _gelu_tanh, 2.0),
    Case("gelu, erf", "gelu", "gelu_v4[op=gelu_erf]", LINE, _gelu_erf, 2.0, "numpy has no erf: a rational form with exp"),
    Case("silu * y", "silu_mul", "silu_mul_v4", LINE, _silu_mul, 2.0),
    Case("row sum", "rows", "rows_thread_v4[op=row_sum]", {"R": SIDE, "N": SIDE}, lambda i, o: np.add.reduce(i["x"], axis=1, out=o), 0.0),
    Case("row max", "rows", "rows_thread_v4[op=row_max]", {"R": SIDE, "N": SIDE}, lambda i, o: np.max(i["x"], axis=1, out=o), 0.0),
    Case("matvec", "matvec", "matvec_v4", {"M": SIDE, "N": SIDE, "K": SIDE}, lambda i, o: np.matmul(i["A"], i["x"], out=o), 0.0),
    Case("matmul", "matmul", "matmul_tile", SQUARE, lambda i, o: np.matmul(i["A"], i["B"], out=o), 0.4, "register tile, 1024 x 1024 x 1024"),
)  # fmt: skip


def program(case: Case) -> Program:
    """The program of the case's machine."""
    path = ROOT / "specs" / f"{case.spec}.tgpu"
    machines = {m.title: m for m in elaborate(parse(path.read_text(encoding="utf-8"), str(path))).machines}
    if case.machine not in machines:
        raise SystemExit(f"{case.spec}.tgpu has no machine {case.machine}; it has {', '.join(machines)}")
    return derive(machines[case.machine])


def kernel(built: Program) -> Callable[..., None]:
    """The emitted module, executed: its entry."""
    names: dict[str, Any] = {}
    exec(compile(cpu_source(built), built.name, "exec"), names)  # our own text, as a user's import would run it
    return names[cpu_name(built)]  # type: ignore[no-any-return]


def run(case: Case, rounds: int) -> dict[str, Any]:
    """Arrays, a comparison, a race: one row of the table."""
    built = program(case)
    op, sizes = built.op, {name: case.sizes[name] for name in built.op.sizes}
    chance = np.random.default_rng(0)
    extents = {t.name: tuple(sizes[e.name] for e in t.shape) for t in op.tensors}  # type: ignore[union-attr]
    inputs: dict[str, Any] = {
        t.name: chance.standard_normal(extents[t.name], dtype=np.float32) if t.shape else 1.5 for t in op.inputs
    }
    output = op.outputs[0]
    mine, theirs = np.ones(extents[output.name], np.float32), np.ones(extents[output.name], np.float32)
    entry = kernel(built)
    arguments = [*(inputs[t.name] for t in op.inputs), mine, *sizes.values()]
    start = time.perf_counter()
    entry(*arguments)
    compiled = time.perf_counter() - start
    case.peer(inputs, theirs)
    if not np.allclose(mine, theirs, rtol=1e-3, atol=1e-3):
        raise SystemExit(f"{case.name}: the kernel and numpy differ by {np.abs(mine - theirs).max()}")
    result = race(lambda: entry(*arguments), lambda: case.peer(inputs, theirs), rounds)
    return row(case, result, compiled)


def row(case: Case, result: Race, compiled: float) -> dict[str, Any]:
    milliseconds = [sorted(t)[len(t) // 2] * 1e3 for t in (result.ours, result.theirs)]
    return {
        "case": case.name,
        "machine": case.machine,
        "sizes": case.sizes,
        "ours_ms": round(milliseconds[0], 3),
        "numpy_ms": round(milliseconds[1], 3),
        "ratio": round(result.ratio, 2),
        "ratio_of_best": round(result.best, 2),
        "goal": case.goal,
        "first_call_s": round(compiled, 2),
        "note": case.note,
    }


def table(rows: list[dict[str, Any]], facts: dict[str, Any]) -> str:
    """The rows, and under them what they were measured on."""
    lines = ["case         ours ms   numpy ms   ratio   of best   goal   machine"]
    for r in rows:
        goal = f"{r['goal']:.2f}" if r["goal"] else ""
        numbers = f"{r['ours_ms']:10.2f} {r['numpy_ms']:10.2f} {r['ratio']:7.2f} {r['ratio_of_best']:9.2f} {goal:>6}"
        lines.append(f"{r['case']:<10}{numbers}   {r['machine']}{'  (' + r['note'] + ')' if r['note'] else ''}")
    lines.append(
        f"{facts['processor']}, {facts['cores']} cores, load {facts['load']:.1f}; numpy {facts['numpy']} on {facts['blas']}; numba {facts['numba']}"
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the cases, write the JSON, print the table last."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cpu", description="CPU kernels against numpy, f32, in turns")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each case (default: 15)")
    parser.add_argument("--only", default="", help="only the cases whose name contains this")
    chosen = parser.parse_args(arguments)
    facts = machine()
    rows = []
    for case in CASES:
        if chosen.only in case.name:
            rows.append(run(case, chosen.rounds))
            print(f"{case.name}: {rows[-1]['ratio']}", file=sys.stderr, flush=True)
    if not chosen.only:
        folder = ROOT / "benchmarks" / "results"
        folder.mkdir(exist_ok=True)
        (folder / "cpu.json").write_text(
            json.dumps({"measured_on": facts, "rounds": chosen.rounds, "cases": rows}, indent=1) + "\n"
        )
    print(table(rows, facts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
