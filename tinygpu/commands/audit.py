"""`tinygpu audit`: what a user of proved machines still has to trust.

Comes in: certificates, specs, or emitted modules. Goes out: for each machine and in total, what is taken for granted. The one idea: a proof
is as good as what it rests on, so that is listed by name, with its source, and counted.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.commands.common import PROVED, REFUTED, UNKNOWN, Progress, add_format, show
from tinygpu.diagnostic import Diagnostic
from tinygpu.record import dataclass

if TYPE_CHECKING:
    from tinygpu.commands.again import Replayed
    from tinygpu.commands.subjects import Subject
    from tinygpu.proof.certificate import Certificate

EXAMPLE = "tinygpu audit proofs/"
BY_ALL = (  # trusted by every machine
    "floats are reals: rounding, overflow and NaN are outside of the statement",
    "the statement of the obligations, and the argument that they are enough (docs/trust.md)",
    "symbolic execution of the program (tinygpu/obligations), and the writing of formulas (tinygpu/category, tinygpu/proof)",
    "z3; with cvc5 for what `tinygpu replay` proves again",
    "what is emitted does what the program says, where `tinygpu replay MODULE` does not show it",
    "numba, NVVM, ptxas or nvJitLink (GPU), LLVM (CPU): not verified",
    "the limits of the architectures, from the CUDA C++ Programming Guide, table \"Technical Specifications per Compute Capability\"",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", default=["proofs"], metavar="PATH", help="certificates, specs, emitted modules (proofs)"
    )
    parser.add_argument("--machine", action="append", default=[], metavar="NAME", help="only this machine")
    parser.add_argument(
        "--replay", action="store_true", help="also ask both solvers who could do what, and run each on real numbers"
    )
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="with --replay: how many processes (one for each core)")
    add_format(parser)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What one machine rests on."""

    subject: Subject
    certificate: Certificate
    axioms: tuple[str, ...]
    replayed: Replayed | None = None

    @property
    def alone(self) -> list[str]:
        """The obligations that one solver alone proved again."""
        every = self.replayed.obligations if self.replayed else ()
        return [f"{o.kind} ({o.code}) by {by}: {o.sentence}" for o, by in every if by in ("z3", "cvc5")]

    @property
    def methods(self) -> Counter[str]:
        """How many obligations were settled in which way."""
        return Counter(e.method for e in self.certificate.obligations)


def run(arguments: argparse.Namespace) -> int:
    from tinygpu.commands.subjects import subjects

    with Progress() as now:
        now("reading")
        found = subjects(arguments.paths, Path("proofs"), arguments.machine)
        ledgers, problems = ledgers_of(found, arguments.replay, arguments.jobs, now)
    if arguments.output_format == "json":
        from tinygpu.commands.ledger import as_data
        from tinygpu.report.formats import as_dict

        print(json.dumps(as_data(ledgers, BY_ALL) | {"diagnostics": [as_dict(d) for d in problems]}, indent=2, ensure_ascii=False))
    else:
        from tinygpu.commands.ledger import lines

        print("\n".join(lines(ledgers, BY_ALL)) if ledgers else "nothing here is proved")
        show(problems, arguments.output_format)
    if any(d.verdict == "refuted" for d in problems):
        return REFUTED
    return UNKNOWN if problems else PROVED


def ledgers_of(
    found: Sequence[Subject], again: bool, jobs: int, now: Callable[[str], None]
) -> tuple[list[Ledger], list[Diagnostic]]:
    """The ledger of each machine that is proved, and what is said of the others."""
    from tinygpu.commands.again import replay_all
    from tinygpu.commands.replay import failures
    from tinygpu.proof.assumed import axioms

    replayed: Sequence[Replayed | None] = replay_all(found, jobs, True, now) if again else [None] * len(found)
    ledgers: list[Ledger] = []
    problems: list[Diagnostic] = []
    for subject, one in zip(found, replayed, strict=True):
        problems += (*subject.problems, *(failures(one) if one else ()))
        certificate = subject.certificate if not subject.problems else None
        certificate = certificate or proved(subject)
        if certificate is None:
            problems.append(unproved(subject))
        else:
            ledgers.append(Ledger(subject, certificate, axioms(subject.program), one))
    return ledgers, problems


def unproved(subject: Subject) -> Diagnostic:
    """What is said of a machine without a proof: whether it is wrong, which is shown by `check`."""
    from tinygpu.proof.check import Refutation, check

    verdict = "refuted" if isinstance(check(subject.program), Refutation) else "unknown"
    helps = (f"tinygpu check {subject.path} says why",) if subject.path.endswith(".tgpu") else ()
    return Diagnostic("TG911", f"{subject.machine} of {subject.path} is not proved", verdict=verdict, helps=helps)


def proved(subject: Subject) -> Certificate | None:
    """A certificate made here and now, for what comes without one."""
    from tinygpu.proof.certificate import certify
    from tinygpu.proof.kernel import Proof, prove

    result = prove(subject.program)
    return certify(result) if isinstance(result, Proof) else None
