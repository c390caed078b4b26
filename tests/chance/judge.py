"""What the prover says of a program, against all small sizes.

Comes in: a program. Goes out: `proved`; `refuted` (it misbehaves somewhere, and the prover has a model against a claim); `unknown` (it
misbehaves, and the prover has none); `missed` (nothing that was run goes wrong, and the checker neither proves nor refutes it); or `unsound`
(proved, and it misbehaves).
The one idea: brute force shares nothing with the prover; a proof that a run contradicts is wrong, whatever the reason.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.chance.machines import Drawn
from tests.program.agree import disagreements
from tinygpu.category.evaluate import evaluate
from tinygpu.obligations.obligation import Gap
from tinygpu.program.fault import SimulationBudget
from tinygpu.program.sizes import sizes_to_try, text_of
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, Unknown, check
from tinygpu.proof.kernel import Proof, prove
from tinygpu.proof.replay import replay

BUDGET = 3_000_000  # at first: most need far less, and what is left open and right gets the whole
BOXES = {0: 1, 1: 20, 2: 5, 3: 3, 4: 2}  # number of sizes: all of them below this are run
TILED = 4  # further sizes, around the boundaries of tiles
HARDWARE = ("TG304", "TG4")  # blocks that are not whole warps, or too large
KINDS = ("proved", "refuted", "unknown", "missed", "unsound")


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on a program; `why` is what is open, or what went wrong in a run."""

    drawn: Drawn
    kind: str
    why: str = ""

    @property
    def wrong(self) -> bool:
        """Whether the checker is: it proved what misbehaves, or refuted what the compiler made and the hardware can run."""
        impossible = self.why.startswith(HARDWARE)
        return self.kind == "unsound" or (self.kind == "refuted" and self.drawn.derived and not impossible)


def judge(drawn: Drawn) -> Judged:
    """`program → verdict`. Only where no run goes wrong and there is no proof, the whole checker is asked, with its whole budget."""
    found = prove(drawn.program, BUDGET, hasty=True)
    wrong = misbehaviour(drawn.program)
    match found:
        case Proof():
            return Judged(drawn, "unsound" if wrong else "proved", wrong)
        case (first, *_) if wrong:
            kind = "refuted" if any(one.model is not None for one in found) else "unknown"
            return Judged(drawn, kind, f"{first.claim.code} {wrong}")
    for one in found:
        if one.claim.code.startswith(HARDWARE) and one.model is not None:
            return Judged(drawn, "refuted", f"{one.claim.code} {one.claim.title}")
    for one in found:
        if isinstance(one.claim, Gap) and one.claim.code == "TG501":  # no budget follows what has no closed form, or is too large
            return Judged(drawn, "missed", f"{one.claim.code} {one.claim.title}")
    match check(drawn.program):
        case Refutation(diagnostic=diagnostic):
            return Judged(drawn, "refuted", f"{diagnostic.code} {diagnostic.title}")
        case Proof():
            return Judged(drawn, "proved")
        case Unknown(diagnostics=said):
            return Judged(drawn, "missed", "; ".join(f"{d.code} {d.title}" for d in said))


def misbehaviour(program: Program) -> str:
    """What goes wrong at any of the sizes that are run, or nothing. Inputs, and the order of threads, differ from run to run."""
    for number, sizes in enumerate(sizes_of(program)):
        try:
            found = disagreements(program, sizes, number, number if number % 2 else None)
        except (SimulationBudget, ZeroDivisionError):
            continue
        seen = found[0] if found else replay(program, sizes, number, edge=True) if number % 8 == 5 else None
        if seen:
            return f"at {text_of(sizes)}: {seen}"
    return ""


def sizes_of(program: Program) -> Iterator[dict[str, int]]:
    """Every size below a bound that the preconditions allow, and some around the boundaries of tiles."""
    names = program.op.sizes
    for row in itertools.product(range(BOXES.get(len(names), 2)), repeat=len(names)):
        sizes = dict(zip(names, row, strict=True))
        if all(evaluate(guard, sizes) for guard in program.where):
            yield sizes
    yield from (s for s in sizes_to_try(program, TILED, 1 << 12) if math.prod(n + 1 for n in s.values()) <= 1 << 13)


def table(results: Sequence[Judged]) -> str:
    """Counts by kind of machine, legal ones (derived) apart."""
    rows = sorted({r.drawn.kind for r in results})
    lines = [f"{'':14}{'machines':>10}" + "".join(f"{kind:>10}" for kind in KINDS)]
    for row in (*rows, ""):
        mine = Counter(r.kind for r in results if row in ("", r.drawn.kind))
        lines.append(f"{row or 'all':14}{mine.total():>10}" + "".join(f"{mine[kind]:>10}" for kind in KINDS))
    return "\n".join(lines)
