"""The obligations of subjects, stated again from their programs and asked of both solvers, each formula once, on every core.

Comes in: subjects. Goes out: for each its obligations with the answers, and what the independent checker says. The one idea: a formula
goes to the solvers as text, so those of all machines are one set, and the answer to one serves every machine that it stands in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from tinygpu.commands.subjects import INVALID, Subject
from tinygpu.diagnostic import Diagnostic
from tinygpu.obligations import state
from tinygpu.obligations.obligation import Gap, Inhabited
from tinygpu.program.step import Program
from tinygpu.program.unpack import unpack
from tinygpu.proof.certificate import formula, hash_of
from tinygpu.proof.smtlib import name_of
from tinygpu.replay.check import Checked, Report, replay
from tinygpu.replay.solve import Answer, answer

Task = tuple[str, bool | None]  # a formula, and whether a model is wanted; or the text of a program
FEW = 30  # formulas that are not worth another process


@dataclass(frozen=True, slots=True)
class Stated:
    """An obligation that was stated again: a gap has no text."""

    kind: str
    code: str
    sentence: str
    text: str
    exists: bool = False

    @property
    def formula(self) -> str:
        return name_of(self.text) if self.text else ""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A subject with its obligations and the claims of the independent checker (whose report is None where it was not asked), each with
    who proved it: `both`, `z3`, `cvc5`, nobody, or `false` where somebody has a counterexample."""

    subject: Subject
    obligations: tuple[tuple[Stated, str], ...]
    problems: tuple[Diagnostic, ...]
    report: Report | None = None

    @property
    def claims(self) -> tuple[tuple[Checked, str], ...]:
        return tuple((c, who(c)) for c in self.report.claims) if self.report else ()

    @property
    def certificate(self) -> str:
        """`valid`, `invalid` or `none`."""
        return "invalid" if self.problems else "valid" if self.subject.certificate or self.subject.promised else "none"

    @property
    def word(self) -> str:
        """`replayed` where all obligations were proved again and the certificate, if there is one, is of this program."""
        again = {by for _, by in self.obligations} <= {"both", "z3", "cvc5"}
        return "replayed" if again and not self.problems else "open" if not self.problems else "invalid"


def who(answer: Answer | Checked) -> str:
    """Which solvers proved it."""
    if "false" in (answer.z3, answer.cvc5):
        return "false"
    return {(True, True): "both", (True, False): "z3", (False, True): "cvc5"}.get(
        (answer.z3 == "proved", answer.cvc5 == "proved"), ""
    )


def replay_all(found: Sequence[Subject], jobs: int, checker: bool, now: Callable[[str], None]) -> tuple[Replayed, ...]:
    """State, ask, compare."""
    stated = []
    for subject in found:
        now(f"stating {subject.machine}")
        stated.append(states(subject.program))
    formulas = list(dict.fromkeys((s.text, s.exists) for several in stated for s in several if s.text))
    tasks: list[Task] = [*((subject.text, None) for subject in found if checker), *formulas]
    results: dict[Task, Answer | Report] = {}
    for done, (task, result) in enumerate(spread(tasks, jobs or cores()), 1):
        results[task] = result
        now(f"task {done} of {len(tasks)}")
    out = []
    for subject, several in zip(found, stated, strict=True):
        by = tuple((s, _who(results.get((s.text, s.exists)))) for s in several)
        own = results.get((subject.text, None))
        out.append(Replayed(subject, by, compared(subject, several), own if isinstance(own, Report) else None))
    return tuple(out)


def _who(answer: Answer | Report | None) -> str:
    return who(answer) if isinstance(answer, Answer) else ""


def states(program: Program) -> tuple[Stated, ...]:
    """The obligations of a program, each once."""
    found: dict[Stated, None] = {}
    for claim in state(program):
        if isinstance(claim, Gap):
            found[Stated(claim.kind, claim.code, claim.reason, "")] = None
        else:
            found[Stated(claim.kind, claim.code, claim.sentence, formula(claim), isinstance(claim, Inhabited))] = None
    return tuple(found)


def validated(found: Sequence[Subject]) -> dict[str, tuple[Diagnostic, ...] | None]:
    """For each module what is wrong with its kernels and launchers, beside the programs that it names; None where that was not decided."""
    from tinygpu.validate.check import Expected, validate

    modules: dict[str, list[Expected]] = {}
    for s in found:
        if s.promised:
            modules.setdefault(s.path, []).append(Expected(s.machine, unpack(s.program), s.alone or s.program))
    said: dict[str, tuple[Diagnostic, ...] | None] = {}
    for path, expected in modules.items():
        try:
            said[path] = validate(Path(path).read_text(encoding="utf-8"), expected, path)
        except NotImplementedError:
            said[path] = None
    return said


def compared(subject: Subject, stated: Sequence[Stated]) -> tuple[Diagnostic, ...]:
    """What a certificate, or the hash that a module names, says otherwise than the program."""
    certificate, ours = subject.certificate, {(s.kind, s.code, s.formula) for s in stated}
    if subject.promised and not (own := hash_of(subject.text, ours)).startswith(subject.promised):
        title = f"{subject.machine} in {subject.path} names the certificate {subject.promised}"
        return (Diagnostic(INVALID, title, notes=(f"that of the program which stands there is {own}",)),)
    if certificate is None or subject.problems:
        return subject.problems
    theirs = {e.claim for e in certificate.obligations}
    found = [
        f"the program needs {kind} ({code}), formula {hash_}, which is not in it" for kind, code, hash_ in sorted(ours - theirs)
    ]
    found += [f"its {kind} ({code}), formula {hash_}, is none of the program's" for kind, code, hash_ in sorted(theirs - ours)]
    title = f"the certificate of {subject.machine} is not one of its program"
    return (Diagnostic(INVALID, title, notes=tuple(found[:5])),) if found else ()


def spread(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[Task, Answer | Report]]:
    """Every task with its result, those that are equal once, in several processes where that pays."""
    every = list(dict.fromkeys(tasks))
    if jobs < 2 or len(every) < FEW:
        yield from zip(every, map(perform, every), strict=True)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from zip(every, pool.map(perform, every, chunksize=4), strict=True)


def perform(task: Task) -> Answer | Report:
    """Both solvers on a formula, or the independent checker on a program."""
    text, exists = task
    return replay(text)[0] if exists is None else answer(text, exists)


def cores() -> int:
    """How many processes may run at once here."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
