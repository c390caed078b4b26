"""Inputs thrown at workers: what came of each, and what is wrong, once for each cause.

Comes in: numbers of inputs. Goes out: a `Score`. The one idea: a worker that does not answer in time, or dies, is a finding about its input and is
replaced; the fuzzer itself never fails.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.front.texts import ROOT, text_of

PATIENCE = 90  # seconds on the wall for one input: the machine may be busy


@dataclass
class Score:
    """How many inputs came how far; the slowest; the most memory; and for each cause the first input and what it says."""

    stages: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, 0)
    peak: int = 0
    findings: dict[str, tuple[int, str]] = field(default_factory=dict)

    def note(self, seed: int, answer: dict[str, Any]) -> bool:
        """One more answer; whether it is a cause that was not seen before."""
        self.stages[answer["stage"]] += 1
        self.slowest = max(self.slowest, (round(answer.get("seconds", 0.0), 2), seed))
        self.peak = max(self.peak, answer.get("peak", 0))
        return "wrong" in answer and self.findings.setdefault(cause(answer), (seed, answer["wrong"]))[0] == seed


def cause(answer: dict[str, Any]) -> str:
    """What two findings of one cause have in common: where it was raised, or what was said."""
    places = re.findall(r"(tinygpu/\S+\.py)\", line (\d+)", answer["wrong"])
    said = f"{':'.join(places[-1])} {answer['wrong'].splitlines()[-1][:80]}" if places else answer["wrong"][:100]
    return f"{answer['stage']} {said}"


class Worker:
    """A process, its input and its output."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def ask(self, seed: int, data: bytes) -> dict[str, Any]:
        """What the worker says of an input; `killed` where it says nothing."""
        path, errors = self.folder / "input.tgpu", self.folder / "stderr"
        path.write_bytes(data)
        if self.process is None:
            env = {**os.environ, "PYTHONPATH": str(ROOT), "TINYGPU_CACHE": str(self.folder / "cache"), "PYTHONHASHSEED": "0"}
            command, pipe = [sys.executable, "-m", "tests.front.worker"], subprocess.PIPE
            self.process = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=errors.open("w"), text=True, env=env)
            assert self.hear() == "ready", errors.read_text()
        assert self.process.stdin is not None
        print(f"{seed} {path}", file=self.process.stdin, flush=True)
        said = self.hear()
        if said.startswith("{"):
            return dict(json.loads(said))
        code = self.process.poll()
        self.end()
        why = f"died with {code}" if code is not None else f"no answer in {PATIENCE} s"
        return {"stage": "killed", "wrong": f"{why} on {seed}\n{errors.read_text()[-2000:]}"}

    def hear(self) -> str:
        """One line, or nothing where none comes in time."""
        assert self.process is not None and self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
        return self.process.stdout.readline().strip() if ready else ""

    def end(self) -> None:
        """The process is over."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


def fuzz(
    seeds: Iterable[int], folder: Path, found: Callable[[str], object] = lambda _: None, go_on: Callable[[], bool] = lambda: True
) -> Score:
    """Inputs by number, as long as `go_on` says so; `found` hears of each new cause, whose input lies in the folder."""
    score, worker = Score(), Worker(folder)
    try:
        for seed in seeds:
            if not go_on():
                break
            data = text_of(seed)
            answer = worker.ask(seed, data)
            if score.note(seed, answer):
                (folder / f"found_{seed}.tgpu").write_bytes(data)
                found(f"\n=== input {seed}: {cause(answer)}\n{answer['wrong']}")
    finally:
        worker.end()
    return score
