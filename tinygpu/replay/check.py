"""`replay`: every machine of a text, stated and proved a second time.

Comes in: the text of a spec whose machines give their programs. Goes out: for each machine the claims with the verdicts of both solvers, and
what could not be stated. The one idea: a machine is re-proved when both solvers prove every claim, and nothing is open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.record import dataclass
from tinygpu.replay import laws, schedule, smt, solve, space, wide, width
from tinygpu.replay.access import accesses
from tinygpu.replay.execute import Execution
from tinygpu.replay.ir import Claim, Inhabited, Open, Stated
from tinygpu.replay.judge import Judge
from tinygpu.replay.program import Machine
from tinygpu.replay.read import Unread, read
from tinygpu.replay.stores import stores


@dataclass(frozen=True, slots=True)
class Checked:
    """A claim and what the solvers say of it: proved, false or unknown."""

    kind: str
    code: str
    sentence: str
    z3: solve.Verdict
    cvc5: solve.Verdict


@dataclass(frozen=True, slots=True)
class Report:
    """A machine: its claims, and the reasons of what is open."""

    machine: str
    op: str
    claims: tuple[Checked, ...]
    open: tuple[str, ...]

    def proved(self, *solvers: str) -> bool:
        """Whether all of the given solvers (both, if none is given) proved everything, and there was something to prove."""
        named = solvers or ("z3", "cvc5")
        return bool(self.claims) and not self.open and all(getattr(c, s) == "proved" for c in self.claims for s in named)


def replay(text: str, path: str = "", hints: Mapping[str, object] | None = None) -> tuple[Report, ...]:
    """A report for each machine of the text. `hints` are not used: every witness is found anew."""
    return tuple(report(machine) for machine in read(text, path))


def report(machine: Machine | Unread) -> Report:
    """The report of one machine."""
    if isinstance(machine, Unread):
        return Report(machine.name, machine.op, (), (machine.reason,))
    said = tuple(dict.fromkeys(state(machine)))
    reasons = tuple(dict.fromkeys(f"{s.kind} ({s.code}): {s.reason}" for s in said if isinstance(s, Open)))
    claims = tuple(checked(s) for s in said if not isinstance(s, Open))
    return Report(machine.name, machine.op.name, claims, reasons)


def state(machine: Machine) -> Iterator[Stated | smt.Written]:
    """All claims about a machine."""
    judge = Judge(machine)
    run = Execution.of(machine, judge)
    accesses(run, judge)
    stores(run, judge)
    yield from judge.claims
    for part in (schedule, space, wide, width, laws):
        yield from part.stated(machine)


def checked(claim: Claim | Inhabited | smt.Written) -> Checked:
    """A claim with the verdicts of both solvers."""
    answer = solve.answer(smt.text(claim), isinstance(claim, Inhabited))
    return Checked(claim.kind, claim.code, claim.sentence, answer.z3, answer.cvc5)
