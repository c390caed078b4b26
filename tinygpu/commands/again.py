"""The obligations of subjects, stated again from their programs and asked of both solvers, each formula once, on every core.

Comes in: subjects. Goes out: for each its obligations, and the claims of the independent checker, with who proved them. The one idea: a
formula goes to the solvers as text, so those of all machines are one set, and the answer to one serves every machine that it stands in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

from tinygpu import pipeline
from tinygpu.category.heap import roomy
from tinygpu.commands.rewritten import differs
from tinygpu.commands.subjects import INVALID, Subject
from tinygpu.commands.together import processes
from tinygpu.diagnostic import Diagnostic
from tinygpu.obligations import state
from tinygpu.obligations.obligation import Gap, Inhabited
from tinygpu.program.step import Program
from tinygpu.program.unpack import unpack
from tinygpu.proof.certificate import formula, hash_of
from tinygpu.proof.smtlib import name_of
from tinygpu.proof.summary import NAMED
from tinygpu.recheck.agreement import Agreement, Disagreement
from tinygpu.recheck.run import rerun
from tinygpu.record import dataclass, replace
from tinygpu.replay import check, smt
from tinygpu.replay.ir import Inhabited as Exists
from tinygpu.replay.ir import Open
from tinygpu.replay.read import Unread, read
from tinygpu.replay.solve import Answer, answer, numbered

T = TypeVar("T")
R = TypeVar("R")
Question = tuple[str, bool]  # a formula, and whether it is a model that is wanted
FAILURES = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
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

    @property
    def question(self) -> Question:
        """What is asked; formulas that differ in names alone are one question."""
        return numbered(self.text), self.exists


@dataclass(frozen=True, slots=True)
class Statement:
    """Of one program the obligations, the claims of the independent checker, why it left something open (None: it was not asked), and
    what runs say."""

    obligations: tuple[Stated, ...]
    claims: tuple[Stated, ...] = ()
    open: tuple[str, ...] | None = None
    runs: Agreement | Disagreement | None = None


Proved = tuple[
    tuple[Stated, str], ...
]  # with who proved it: `both`, `z3`, `cvc5`, nobody, or `false` where somebody has a counterexample


@dataclass(frozen=True, slots=True)
class Replayed:
    """A subject with its obligations and the claims of the independent checker, and what does not agree; `wrong` is what a run showed,
    where a solver has a counterexample to such a claim."""

    subject: Subject
    obligations: Proved
    problems: tuple[Diagnostic, ...]
    claims: Proved = ()
    open: tuple[str, ...] | None = None
    wrong: Diagnostic | None = None
    runs: Agreement | Disagreement | None = None

    @property
    def certificate(self) -> str:
        """`valid`, `invalid` or `none`."""
        return "invalid" if self.problems else "valid" if self.subject.certificate or self.subject.promised else "none"

    @property
    def word(self) -> str:
        """`replayed` where all obligations were proved again and the certificate, if there is one, is of this program."""
        again = {by for _, by in self.obligations} <= {"both", "z3", "cvc5"}
        return "replayed" if again and not self.problems else "open" if not self.problems else "invalid"

    @property
    def twice(self) -> bool:
        """Whether the independent checker proved the machine too, with both solvers."""
        return self.open == () and bool(self.claims) and all(by == "both" for _, by in self.claims)

    @property
    def left(self) -> tuple[str, ...]:
        """What the independent checker leaves open: what it could not state, and its claims that no solver proves.

        A counterexample to a claim is none to the machine: the claim may say more than the machine needs. A run decides, see `wrong`.
        """
        unshown = (f"{c.kind} ({c.code}): {c.sentence}" for c, by in self.claims if by in ("", "false"))
        return (*(self.open or ()), *dict.fromkeys(unshown))


def who(found: Answer | None) -> str:
    """Which solvers proved it."""
    if found is None:
        return ""
    if "false" in (found.z3, found.cvc5):
        return "false"
    return {(True, True): "both", (True, False): "z3", (False, True): "cvc5"}.get(
        (found.z3 == "proved", found.cvc5 == "proved"), ""
    )


def replay_all(found: Sequence[Subject], jobs: int, checker: bool, now: Callable[[str], None]) -> tuple[Replayed, ...]:
    """State, ask, compare."""
    jobs = processes(jobs)
    statements: list[Statement] = []
    for statement in spread(stated, [(s.text, checker) for s in found], jobs, 2):
        statements.append(statement)
        now(f"stating machine {len(statements)} of {len(found)}")
    questions = list(dict.fromkeys(o.question for s in statements for o in (*s.obligations, *s.claims) if o.text))
    answers: dict[Question, Answer] = {}
    for question, reply in zip(questions, spread(asked, questions, jobs, FEW), strict=True):
        answers[question] = reply
        now(f"asking formula {len(answers)} of {len(questions)}")
    out = []
    for subject, s in zip(found, statements, strict=True):
        ours, theirs = (tuple((o, who(answers.get(o.question))) for o in several) for several in (s.obligations, s.claims))
        wrong = None
        if any(by == "false" for _, by in theirs):
            now(f"running {subject.machine}")
            wrong = run_of(subject.program)
        out.append(Replayed(subject, ours, compared(subject, s.obligations), theirs, s.open, wrong, s.runs))
    return tuple(out)


def run_of(program: Program) -> Diagnostic | None:
    """What goes wrong in a run of a program at small sizes; None where nothing does."""
    from tinygpu.proof.counterexample import find

    found = find(program, ())
    return found.diagnostic if found else None


def asked(question: Question) -> Answer:
    """Both solvers on one formula."""
    return answer(*question)


def stated(task: tuple[str, bool]) -> Statement:
    """The obligations of a program that is given as text, and where that is wanted the claims of the independent checker."""
    text, checker = task
    (machine,) = pipeline.load_text(text).machines
    program = pipeline.program(machine)
    obligations = states(program)
    if not checker:
        return Statement(obligations)
    runs = rerun(program)
    try:
        return Statement(obligations, *independent(text), runs)
    except FAILURES as error:  # whatever fails in the second checker says nothing of what the first one proved
        return Statement(obligations, (), (f"it failed with {type(error).__name__}: {error}"[:200],), runs)


def states(program: Program) -> tuple[Stated, ...]:
    """The obligations of a program, each once."""
    found: dict[Stated, None] = {}
    for claim in state(program):
        if isinstance(claim, Gap):
            found[Stated(claim.kind, claim.code, claim.reason, "")] = None
        else:
            found[Stated(claim.kind, claim.code, claim.sentence, formula(claim), isinstance(claim, Inhabited))] = None
    return tuple(found)


def independent(text: str) -> tuple[tuple[Stated, ...], tuple[str, ...]]:
    """The claims of the checker that shares nothing with the prover, and the reasons of what it leaves open."""
    (machine,) = read(text)
    if isinstance(machine, Unread):
        return (), (machine.reason,)
    said = tuple(dict.fromkeys(check.state(machine)))
    reasons = dict.fromkeys(f"{s.kind} ({s.code}): {s.reason}" for s in said if isinstance(s, Open))
    claims = (Stated(s.kind, s.code, s.sentence, smt.text(s), isinstance(s, Exists)) for s in said if not isinstance(s, Open))
    return tuple(dict.fromkeys(claims)), tuple(reasons)


def validated(found: Sequence[Subject]) -> dict[str, tuple[Diagnostic, ...]]:
    """For each module what is wrong with it. It is what this version writes for the programs that it names, to the character, or it is not
    looked at further; then its launchers and kernels are followed along these programs."""
    from tinygpu.validate.check import Expected, validate
    from tinygpu.validate.cpu import findings

    modules: dict[str, list[Subject]] = {}
    for s in found:
        if s.promised:
            modules.setdefault(s.path, []).append(s)
    out: dict[str, tuple[Diagnostic, ...]] = {}
    for path, several in modules.items():
        if other := differs(several[0].module, path):
            out[path] = (other,)
            continue
        text, expected = several[0].module, [Expected(s.machine, unpack(s.program), s.alone or s.program) for s in several]
        on_gpu = validate(text, expected, path)
        on_cpu = findings(text, expected, path) if not on_gpu else ()
        out[path] = (*on_gpu, *(replace(d, verdict="unknown") if d.verdict == "note" else d for d in on_cpu))
    return out


def compared(subject: Subject, stated: Sequence[Stated]) -> tuple[Diagnostic, ...]:
    """What a certificate, or the hash that a module names, says otherwise than the program."""
    certificate = subject.certificate
    if subject.promised:
        own = hash_of(subject.text, ((s.kind, s.code, s.formula) for s in stated))[:NAMED]
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
        roomy()
        yield from map(work, items)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), roomy) as pool:
        yield from pool.map(work, items, chunksize=max(1, min(8, len(items) // (4 * jobs))))
