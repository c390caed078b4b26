"""Machines with their verdicts, as the commands need them.

Comes in: machines. Goes out: each with its verdict, a line for it, an exit code. The one idea: a verdict is one of three words, and an exit code follows from all of them alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tinygpu.category.deadline import TIME
from tinygpu.commands.beside import NOTHING, Asked, Beside
from tinygpu.commands.common import BAD, PROVED, REFUTED, UNKNOWN, how_long
from tinygpu.commands.together import together
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.record import dataclass, replace

if TYPE_CHECKING:
    from tinygpu.model.machine import Machine
    from tinygpu.pipeline import Loaded, Verdict


@dataclass(frozen=True, slots=True)
class Facts:
    """What is said of a proof: for which sizes, by how many obligations, and if that was asked for, the hash of what was proved."""

    sizes: str
    obligations: int
    proof: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A machine and what came of checking it: `proved`, `refuted`, `unknown`, or `error` with the diagnostics of a machine that has no
    program. The verdict itself stays in the process that found it; one that is `kept` is of an earlier process."""

    path: str
    machine: Machine
    word: str
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    facts: Facts | None = None
    verdict: Verdict | None = None
    kept: bool = False
    beside: Beside | None = None  # what else was asked of the verdict, where it was found


def judge(path: str, machine: Machine, budget: int | None = None, hashed: bool = False, limit: float = TIME) -> Judged:
    """Check one machine, timed, in at most so many seconds."""
    from tinygpu import pipeline
    from tinygpu.proof.kernel import BUDGET

    start = time.perf_counter()
    try:
        verdict = pipeline.check(machine, BUDGET if budget is None else budget, limit)
    except TinygpuError as error:
        word = "unknown" if all(d.verdict == "unknown" for d in error.diagnostics) else "error"
        return Judged(path, machine, word, error.diagnostics, time.perf_counter() - start)
    except Exception as error:
        error.add_note(f"while checking {machine.title} of {path}")
        raise
    seconds = time.perf_counter() - start
    if isinstance(verdict, pipeline.Refutation):
        return Judged(path, machine, "refuted", (verdict.diagnostic,), seconds, None, verdict)
    if isinstance(verdict, pipeline.Unknown):
        return Judged(path, machine, "unknown", verdict.diagnostics, seconds, None, verdict)
    from tinygpu.proof.summary import sizes

    found = Judged(path, machine, "proved", (), seconds, Facts(sizes(verdict.program), len(verdict.theorems)), verdict)
    return with_hash(found) if hashed else found


def with_hash(judged: Judged) -> Judged:
    """The same with the hash of what was proved, if it was."""
    from tinygpu import pipeline
    from tinygpu.proof.certificate import certify

    if judged.facts is None or not isinstance(judged.verdict, pipeline.Proof):
        return judged
    return replace(judged, facts=replace(judged.facts, proof=certify(judged.verdict).proof))


def judge_light(
    machines: Sequence[tuple[Loaded, Machine]],
    budget: int | None,
    hashed: bool,
    jobs: int,
    limit: float = TIME,
    asked: Asked = NOTHING,
) -> Iterator[Judged]:
    """Check machines on several cores, in order, and without their verdicts, of which all that is `asked` is made where they are."""
    if min(len(machines), jobs) > 1:
        import tinygpu.proof.check
        import tinygpu.proof.summary  # noqa: F401  # by this process, and not by each that is forked

    def one(number: int) -> tuple[tuple[str, tuple[Diagnostic, ...], float, Facts | None], Beside]:
        spec, machine = machines[number]
        judged = judge(spec.path, machine, budget, hashed, limit)
        return (judged.word, judged.diagnostics, judged.seconds, judged.facts), asked.of(spec, judged)

    def length(number: int) -> int:
        """Of the text of a machine: what is said in many words takes long."""
        return (span := machines[number][1].span).end - span.start

    answers = together(len(machines), one, jobs, length)  # now, and not when the first is waited for: who has threads is not forked
    found = zip(machines, answers, strict=True)
    return (Judged(spec.path, machine, *facts, beside=beside) for (spec, machine), (facts, beside) in found)


def line(judged: Judged, width: int) -> str:
    """`proved   matmul_tile : matmul    all M, K, N    32 obligations    0.31 s`."""
    said = f"{judged.word:<8} {judged.machine.heading:<{width}}"
    if judged.facts is not None:
        said += f"  {judged.facts.sizes}  ({judged.facts.obligations} obligations, {how_long(judged)})"
    elif judged.diagnostics:
        said += f"  {judged.diagnostics[0].headline}{'  (kept)' * judged.kept}"
    return said


def width_of(machines: Iterable[Machine]) -> int:
    """The width of the column of names."""
    return max((len(m.heading) for m in machines), default=0)


def exit_code(words: Iterable[str]) -> int:
    """Bad input before refuted, refuted before unknown, and proved only if all are.

    >>> exit_code(["proved", "unknown"]), exit_code(["refuted", "unknown"]), exit_code(["proved"]), exit_code([])
    (3, 1, 0, 0)
    """
    found = set(words)
    for word, code in (("error", BAD), ("refuted", REFUTED), ("unknown", UNKNOWN)):
        if word in found:
            return code
    return PROVED
