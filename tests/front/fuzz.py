"""Inputs by number, thrown at workers: what came of each, and what is wrong, once for each cause.

Comes in: numbers. Goes out: a `Score`. The one idea: a worker that does not answer in time, or dies, is a finding about its input and is
replaced; the fuzzer itself never fails.
"""

from __future__ import annotations

import json
import os
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
    """How many inputs came how far; the slowest; and for each cause the first input and what it says."""

    stages: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, int] = (0.0, 0)
    peak: int = 0
    findings: dict[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def inputs(self) -> int:
        """How many."""
        return sum(self.stages.values())

    def note(self, seed: int, answer: dict[str, Any]) -> None:
        """One more answer."""
        self.stages[answer["stage"]] += 1
        self.slowest = max(self.slowest, (round(answer.get("seconds", 0.0), 2), seed))
        self.peak = max(self.peak, answer.get("peak", 0))
        if "key" in answer:
            self.findings.setdefault(answer["key"], (seed, answer["text"]))


class Worker:
    """A process, its input and its output."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.process: subprocess.Popen[str] | None = None

    def ask(self, seed: int, data: bytes) -> dict[str, Any]:
        """What the worker says of an input; `killed` where it says nothing."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.front.worker"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(self.folder / "stderr").open("w"),
                text=True,
                env={**os.environ, "PYTHONPATH": str(ROOT), "TINYGPU_CACHE": str(self.folder / "cache"), "PYTHONHASHSEED": "0"},
            )
            assert self.hear() == "ready", (self.folder / "stderr").read_text()
        path = self.folder / "input.tgpu"
        path.write_bytes(data)
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seed} {path}\n")
        self.process.stdin.flush()
        said = self.hear()
        if not said.startswith("{"):
            code = self.process.poll()
            self.end()
            why = f"died with {code}" if code is not None else f"no answer in {PATIENCE} s"
            return {
                "stage": "killed",
                "key": f"killed {why} {seed}",
                "text": f"{why}\n{(self.folder / 'stderr').read_text()[-2000:]}",
            }
        return dict(json.loads(said))

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
    seeds: Iterable[int], folder: Path, go_on: Callable[[Score], bool] = lambda _: True, make: Callable[[int], bytes] = text_of
) -> Score:
    """Inputs by number, as long as `go_on` says so."""
    score, worker = Score(), Worker(folder)
    try:
        for seed in seeds:
            if not go_on(score):
                break
            known = len(score.findings)
            data = make(seed)
            score.note(seed, worker.ask(seed, data))
            if len(score.findings) > known:
                (folder / f"found_{seed}.tgpu").write_bytes(data)
    finally:
        worker.end()
    return score
