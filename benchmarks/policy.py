"""How much better the shipped policy proposes than chance: the mean predicted cycles of the best state of a rollout, of 40 rollouts from the identity, on cpu.

Comes in: ops of the library at sizes that the policy was not trained at, two of them such as it has not seen. Goes out: a table, and `benchmarks/results/policy.json`. The one idea: nothing is timed, so the figures are the same on every machine.

    python -m benchmarks.policy
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from tinygpu import pipeline
from tinygpu.tune.moves import Space
from tinygpu.tune.policy import shipped
from tinygpu.tune.train import Lesson, compared

ROOT = Path(__file__).resolve().parent
ROLLOUTS, GOAL = 40, 3.0
CASES = (
    ("matmul", "matmul", {"M": 768, "N": 768, "K": 768}, True),
    ("matmul", "matmul", {"M": 4096, "N": 128, "K": 512}, True),
    ("batched_matmul", "batched_matmul", {"S": 16, "M": 512, "N": 512, "K": 512}, False),
    ("theorems", "attention", {"Q": 1024, "D": 64, "K": 1024, "E": 64}, False),
    ("softmax", "softmax", {"R": 2048, "N": 2048}, False),
    ("transpose", "transpose", {"M": 3000, "N": 1500}, True),
)


def main() -> int:
    rows, missed = [], []
    print(f"{'op':16} {'sizes':48} {'trained on it':>13} {'at random':>10} {'policy':>10} {'times':>6}")
    for stem, name, sizes, known in CASES:
        op = next(op for op in pipeline.load(ROOT.parent / "specs" / f"{stem}.tgpu").spec.ops if op.family == name)
        lesson = Lesson(Space(op, "cpu"), sizes)
        chance, policy = (compared(lesson, weights, ROLLOUTS) for weights in ({}, shipped()))
        rows.append({"op": name, "sizes": sizes, "trained on it": known, "at random": round(chance), "policy": round(policy), "times": round(chance / policy, 1)})  # fmt: skip
        missed += [f"{name} at {sizes}"] if chance < GOAL * policy else []
        print(f"{name:16} {sizes!s:48} {known!s:>13} {chance:10.2g} {policy:10.2g} {chance / policy:6.1f}")
    result = {"date": time.strftime("%Y-%m-%d"), "command": "python -m benchmarks.policy", "rollouts": ROLLOUTS, "goal": GOAL,
              "missed": missed, "mean predicted cycles": rows}  # fmt: skip
    (ROOT / "results" / "policy.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
