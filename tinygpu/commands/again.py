"""The obligations of subjects, stated again from their programs and asked of both solvers, each formula once, on every core.

Comes in: subjects. Goes out: for each its obligations, with who proved them, and what runs of it say. The one idea: a formula goes to the
solvers as text, so those of all machines are one set, and the answer to one serves every machine that it stands in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from typing import TypeVar

from tinygpu import pipeline
from tinygpu.algebra.certificate import laws
from tinygpu.algebra.verdict import evaluated, judged
from tinygpu.category.smtlib import name_of
from tinygpu.commands.common import prepare
from tinygpu.commands.subjects import INVALID, Subject
from tinygpu.commands.together import processes
from tinygpu.diagnostic import Diagnostic
from tinygpu.model.choice import Choice
from tinygpu.model.pipeline import Claimed, Pipeline
from tinygpu.obligations import claims_of
from tinygpu.obligations.obligation import Claim, Gap, Inhabited
from tinygpu.program.step import Program
from tinygpu.proof.certificate import formula, sha
from tinygpu.proof.summary import NAMED
from tinygpu.recheck import Agreement, Disagreement
from tinygpu.recheck.run import rerun
from tinygpu.recheck.solve import Answer, answer, numbered
from tinygpu.record import dataclass

T = TypeVar("T")
R = TypeVar("R")
Question = tuple[str, bool]  # a formula, and whether it is a model that is wanted
FAILS = "TG911"
FEW = 30  # formulas that are not worth another process


@dataclass(frozen=True, slots=True)
class Stated:
    """An obligation that was stated again: a gap has no text, nor have the laws of a theorem, whose instances the prover has `made` again."""

    kind: str
    code: str
    sentence: str
    text: str
    exists: bool = False
    made: bool = False

    @property
    def formula(self) -> str:
        return name_of(self.text) if self.text else ""

    @property
    def question(self) -> Question:
        """What is asked; formulas that differ in names alone are one question."""
        return numbered(self.text), self.exists


# with who proved it: `both`, `z3`, `cvc5`, `laws`, nobody, or `false` where somebody has a counterexample
Proved = tuple[tuple[Stated, str], ...]
Runs = Agreement | Disagreement | None  # None: none were asked for


@dataclass(frozen=True, slots=True)
class Statement:
    """What is asked of a subject: its own obligations, which its certificate has, those of the theorem that it goes by, and what runs say."""

    own: tuple[Stated, ...]
    beside: tuple[Stated, ...]
    runs: Runs


@dataclass(frozen=True, slots=True)
class Replayed:
    """A subject with its obligations, what does not agree, and what runs say."""

    subject: Subject
    obligations: Proved
    problems: tuple[Diagnostic, ...]
    runs: Runs = None

    @property
    def certificate(self) -> str:
        """`valid`, `invalid` or `none`."""
        return "invalid" if self.problems else "valid" if self.subject.certificate or self.subject.promised else "none"

    @property
    def word(self) -> str:
        """`replayed` where all obligations were proved again and the certificate, if there is one, is of this program."""
        again = {by for _, by in self.obligations} <= {"both", "z3", "cvc5", "laws"}
        return "replayed" if again and not self.problems else "open" if not self.problems else "invalid"

    @property
    def unrun(self) -> bool:
        """Whether runs were asked for, and none was small enough."""
        return isinstance(self.runs, Agreement) and not self.runs.runs


def who(one: Stated, found: Answer | None) -> str:
    """Which solvers proved it."""
    if found is None:
        return "laws" if one.made else ""
    if "false" in (found.z3, found.cvc5):
        return "false"
    by = [name for name in ("z3", "cvc5") if getattr(found, name) == "proved"]
    return "both" if len(by) == 2 else "".join(by)


def replay_all(found: Sequence[Subject], jobs: int, run: bool, now: Callable[[str], None]) -> tuple[Replayed, ...]:
    """State, ask, compare, and run where that is wanted."""
    jobs = processes(jobs)
    statements: list[Statement] = []
    for statement in spread(stated, [(s.text, run) for s in found], jobs, 2):
        statements.append(statement)
        now(f"stating machines ({len(statements)} of {len(found)})")
    questions = list(dict.fromkeys(o.question for s in statements for o in (*s.own, *s.beside) if o.text))
    answers: dict[Question, Answer] = {}
    for question, reply in zip(questions, spread(asked, questions, jobs, FEW), strict=True):
        answers[question] = reply
        now(f"asking formulas ({len(answers)} of {len(questions)})")

    def proved(every: Sequence[Stated]) -> Proved:
        return tuple((o, who(o, answers.get(o.question) if o.text else None)) for o in every)

    return tuple(
        Replayed(subject, proved((*one.own, *one.beside)), compared(subject, one.own), one.runs)
        for subject, one in zip(found, statements, strict=True)
    )


def asked(question: Question) -> Answer:
    """Both solvers on one formula."""
    return answer(*question)


def stated(task: tuple[str, bool]) -> Statement:
    """The obligations of a program, a theorem, a lemma or a choice that is given as text, and where that is wanted what runs of it say."""
    text, run = task
    spec = pipeline.load_text(text).spec
    if (one := spec.about) is not None:
        return Statement(believed(one), called(one), Agreement(*evaluated(one)) if run else None)
    (machine,) = spec.machines
    program, via = pipeline.program(machine), machine.op.via
    return Statement(states(program), believed(via) if via else (), rerun(program) if run else None)


def believed(one: Claimed) -> tuple[Stated, ...]:
    """The laws that a theorem goes by, and the obligations beside them; where it is not proved, that."""
    found = judged(one)
    if isinstance(found, Diagnostic):
        return (Stated("theorem", found.code, found.title, ""),)
    made = (Stated(e.kind, e.code, e.sentence, "", made=True) for e in laws(found))
    return tuple(dict.fromkeys((*made, *(_stated(held.claim) for held in found.claims))))


def called(one: Claimed) -> tuple[Stated, ...]:
    """The obligations of whom a choice or a pipeline calls: that calls fit says nothing of what they compute."""
    if not isinstance(one, Choice | Pipeline):
        return ()
    whole = [(*believed(other), *called(other)) for other in (one.joined if isinstance(one, Pipeline) else ())]
    whole += [(*(believed(m.op.via) if m.op.via else ()), *states(pipeline.program(m))) for m in one.machines]
    return tuple(dict.fromkeys(chain.from_iterable(whole)))


def states(program: Program) -> tuple[Stated, ...]:
    """The obligations of a program, each once."""
    return tuple(dict.fromkeys(map(_stated, claims_of(program))))


def _stated(claim: Claim) -> Stated:
    if isinstance(claim, Gap):
        return Stated(claim.kind, claim.code, claim.reason, "")
    return Stated(claim.kind, claim.code, claim.sentence, formula(claim), isinstance(claim, Inhabited))


def failures(replayed: Replayed) -> tuple[Diagnostic, ...]:
    """What no solver proves again, or one of them has a counterexample to; and what a run showed."""
    found = []
    for one, by in replayed.obligations:
        what = (
            "not proved again:"
            if one.kind == "theorem"
            else "no formula states"
            if not one.text
            else "a solver has a counterexample to"
            if by == "false"
            else "not proved again:"
        )
        if by in ("", "false"):
            title = f"{what} {one.kind} ({one.code}) of {replayed.subject.machine}: {one.sentence}"
            found.append(Diagnostic(FAILS, title, verdict="refuted" if by else "unknown"))
    if isinstance(replayed.runs, Disagreement):
        title = f"a run of {replayed.subject.machine} is not what its equation says, {replayed.runs}"
        found.append(Diagnostic(FAILS, title, verdict="refuted"))
    return tuple(found)


def compared(subject: Subject, stated: Sequence[Stated]) -> tuple[Diagnostic, ...]:
    """What a certificate, or the hash of a program that a module names, says otherwise than the program."""
    certificate = subject.certificate
    if subject.promised:
        own = sha(subject.text)[:NAMED]
        title = f"{subject.machine} in {subject.path} names the certificate {subject.promised}"
        note = f"that of the program which stands there is {own}"
        return () if own == subject.promised else (Diagnostic(INVALID, title, notes=(note,)),)
    if certificate is None or subject.problems:
        return subject.problems
    ours = [(s.kind, s.code, s.formula, s.sentence) for s in stated]
    theirs = [(*e.claim, e.sentence) for e in certificate.obligations]
    missed, beside = Counter(ours) - Counter(theirs), Counter(theirs) - Counter(ours)
    found = [f"the program needs {_shown(claim)}, which is not in it" for claim in sorted(missed)]
    found += [f"its {_shown(claim)}, is none of the program's, or once too often" for claim in sorted(beside)]
    if not found and ours != theirs:
        found = ["its obligations are in another order"]
    title = f"the certificate of {subject.machine} is not one of its program"
    return (Diagnostic(INVALID, title, notes=tuple(found[:5])),) if found else ()


def _shown(claim: tuple[str, str, str, str]) -> str:
    kind, code, formula, sentence = claim
    return f"{kind} ({code}), formula {formula}: {sentence}"


def spread(work: Callable[[T], R], items: Sequence[T], jobs: int, few: int) -> Iterator[R]:
    """`work` of every item, in order, in several processes where there are more than a few."""
    if jobs < 2 or len(items) <= few:
        yield from map(work, items)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), prepare) as pool:
        yield from pool.map(work, items, chunksize=max(1, min(8, len(items) // (4 * jobs))))
