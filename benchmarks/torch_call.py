"""What a call through an operator of torch costs beside one of its launcher: `python -m benchmarks.torch_call`.

Comes in: launchers with one array to seven, of sizes at which a call is all there is. Goes out: a table, and `benchmarks/results/torch_call.json`. The one idea: both ways are timed
in turns, in one process, and the fastest turn of each counts, so what is compared is work and not the load of a host.

    by the operator  =  by the launcher  +  what torch's dispatcher, and autograd where it is told of gradients, take for themselves
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
SPECS = RESULTS.parents[1] / "specs"
GOAL = 25.0  # µs
TURNS, CALLS = 40, 200


def built(spec: str, machine: str) -> Any:
    """The launcher of a shipped machine."""
    import tinygpu

    found = next(m for m in tinygpu.load(SPECS / f"{spec}.tgpu").machines if m.title == machine)
    return tinygpu.build(tinygpu.check(found), found)  # type: ignore[arg-type]


def fastest(ways: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Of each way the seconds of a call in its fastest turn."""
    found = dict.fromkeys(ways, float("inf"))
    for _ in range(TURNS):
        for name, call in ways.items():
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            found[name] = min(found[name], (time.perf_counter() - start) / CALLS)
    return found


def cases() -> dict[str, dict[str, Callable[[], object]]]:
    """By name the ways to make one call: the launcher with arrays of numpy, with tensors, and the operator."""
    import torch

    from tinygpu.torch import register

    softmax, gradient = built("softmax_cpu", "softmax_core"), built("gradients", "grad_rows[op=softmax_grad]")
    adamw, norm = built("optimisers", "optimiser_v4[op=adamw]"), built("norm_cpu", "norm_core[op=layernorm]")
    x, w, b = torch.randn(4, 16), torch.randn(16), torch.randn(16)
    rate, weights = (0.001, 0.9, 0.99, 1e-8, 0.01, 0.1, 0.1), [torch.rand(64) for _ in range(4)]
    found: dict[str, dict[str, Callable[[], object]]] = {}
    for name, launcher, given, more, options in (
        ("softmax", softmax, (x,), {}, {"name": "softmax_call"}),
        ("softmax, with its gradient told", softmax, (x,), {}, {"name": "softmax_told", "backward": gradient}),
        ("layer norm", norm, (x, w, b, 1e-5), {}, {}),
        ("AdamW, in place", adamw, (*weights, *rate), {"out": tuple(weights[:3])}, {}),
    ):  # fmt: skip
        op = register(launcher, "benchmarks", **options)
        plain = tuple(one.numpy() if isinstance(one, torch.Tensor) else one for one in given)
        out = {key: tuple(one.numpy() for one in value) for key, value in more.items()}
        found[name] = {
            "numpy": partial(launcher, *plain, **out),
            "tensors": partial(launcher, *given, **more),
            "operator": partial(op, *given),
        }
        if "backward" in options:
            found[name.replace("told", "asked for")] = found[name] | {"operator": partial(op, x.clone().requires_grad_())}
    return found


def main() -> int:
    import torch

    rows, missed = list[dict[str, Any]](), list[str]()
    print(f"{'µs of a call':34} {'numpy':>8} {'tensors':>8} {'operator':>8} {'more':>6} {'ratio':>6}")
    for name, ways in cases().items():
        found = {way: seconds * 1e6 for way, seconds in fastest(ways).items()}
        more, ratio = found["operator"] - found["numpy"], found["operator"] / found["numpy"]
        print(f"{name:34} {found['numpy']:8.1f} {found['tensors']:8.1f} {found['operator']:8.1f} {more:6.1f} {ratio:6.2f}")
        rows.append({"case": name} | {f"{way}_us": round(value, 1) for way, value in found.items()} | {"more_us": round(more, 1)})
        missed += [name] if more > GOAL else []
    result = {"date": time.strftime("%Y-%m-%d"), "command": "python -m benchmarks.torch_call", "torch": torch.__version__, "goal_us": GOAL, "missed": missed, "rows": rows}  # fmt: skip
    (RESULTS / "torch_call.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"more than {GOAL:g} µs more than the launcher: {', '.join(missed) or 'none'}")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
