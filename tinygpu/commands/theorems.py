"""Theorems, lemmas, choices and pipelines, as `check` needs them: those of some specs, with their verdicts.

Comes in: loaded specs and names. Goes out: a line for each theorem, its messages, its row for a machine that reads. The one idea: a theorem is checked as a machine is, by what it
says alone, and its verdict is one of the same three words.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tinygpu.category.deadline import TIME
from tinygpu.category.term import Const, text
from tinygpu.commands.common import how_long
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.model.choice import Choice
from tinygpu.model.pipeline import Claimed, Pipeline
from tinygpu.record import dataclass, field

if TYPE_CHECKING:
    from tinygpu.algebra.verdict import Known
    from tinygpu.pipeline import Loaded


@dataclass(frozen=True, slots=True)
class Believed:
    """A theorem, a choice or a pipeline, and what came of checking it; where it is proved, by how many instances of laws, with how many obligations beside. One that is
    `kept` is the verdict of an earlier process."""

    path: str
    theorem: Claimed
    word: str
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    found: Known | None = field(default=None, repr=False)
    counts: tuple[int, int] = (0, 0)
    kept: bool = False

    @property
    def heading(self) -> str:
        """What it is, and of what."""
        return heading(self.theorem)

    @property
    def kind(self) -> str:
        """A lemma is a theorem here."""
        return {Choice: "choice", Pipeline: "pipeline"}.get(type(self.theorem), "theorem")

    @property
    def row(self) -> dict[str, object]:
        """As plain data."""
        one, (laws, obligations) = self.theorem, self.counts
        found: dict[str, object] = {
            "verdict": self.word,
            "seconds": round(self.seconds, 4),
            **({"kept": True} if self.kept else {}),
        }
        if isinstance(one, Choice):
            cases = [{"machine": b.machine.name, "where": [text(guard) for guard in b.where]} for b in one.branches]
            return {"file": self.path, "choice": one.name, "op": one.said, **found, "obligations": obligations, "cases": cases}
        if isinstance(one, Pipeline):
            calls = [
                {"op": c.to.op.family, "by": c.to.title, "given": list(map(shown, c.given)), "made": list(c.made)}
                for c in one.calls
            ]
            return {"file": self.path, "pipeline": one.name, **found, "obligations": obligations, "calls": calls}
        return {"file": self.path, "theorem": one.name, "about": one.said, **found, "laws": laws, "obligations": obligations}


def shown(given: str | Const) -> str:
    """A tensor's name, or a number."""
    return given if isinstance(given, str) else text(given)


def stated(specs: Iterable[Loaded], names: Sequence[str]) -> tuple[tuple[Loaded, Claimed], ...]:
    """The lemmas, theorems, choices and pipelines of some specs: all, or those of these names or of these ops, and whom they call."""
    every = [(spec, one) for spec in specs for one in spec.spec.stated]
    found = [one for _, one in every if not names or {one.name, *one.said.split(" == ")} & {*names}]
    for one in found:
        found += [other for other in (one.joined if isinstance(one, Pipeline) else ()) if other not in found]
    return tuple((s, one) for s, one in every if one in found)


def alone(stated: Iterable[tuple[Loaded, Claimed]]) -> list[str]:
    """The names that are asked for alone: a choice or a pipeline is asked for with its machines."""
    return [one.name for _, one in stated if not isinstance(one, Choice | Pipeline)]


def judge(path: str, theorem: Claimed, budget: int | None = None, limit: float = TIME) -> Believed:
    """Check one theorem, timed, in at most so many seconds."""
    from tinygpu import pipeline
    from tinygpu.proof.kernel import BUDGET

    start = time.perf_counter()
    try:
        found = pipeline.believed(theorem, BUDGET if budget is None else budget, limit)
    except TinygpuError as error:
        return Believed(path, theorem, "unknown", error.diagnostics, time.perf_counter() - start)
    except Exception as error:
        error.add_note(f"while checking {theorem.name} of {path}")
        raise
    seconds = time.perf_counter() - start
    if isinstance(found, Diagnostic):
        return Believed(path, theorem, found.verdict, (found,), seconds)
    counts = sum(n for _, n in found.laws), len(found.claims)
    return Believed(path, theorem, "proved", getattr(found, "dead", ()), seconds, found, counts)


def heading(theorem: Claimed) -> str:
    """`flash : attention == attention_flash`, `welford : lemma`, `softmax_any : softmax`."""
    return f"{theorem.name} : {theorem.said}"


def line(one: Believed, width: int) -> str:
    """`proved   flash : attention == attention_flash    all Q, K, D, E  (14 laws, 3 obligations, 0.03 s)`."""
    said = f"{one.word:<8} {heading(one.theorem):<{width}}"
    if one.word != "proved":
        return f"{said}  {one.diagnostics[0].headline}{'  (kept)' * one.kept}" if one.diagnostics else said
    from tinygpu.proof.summary import stated_for

    laws, obligations = one.counts
    return f"{said}  {stated_for(one.theorem)}  ({f'{laws} laws, ' if one.kind == 'theorem' else ''}{obligations} obligations, {how_long(one)})"


def reasons(one: Believed) -> list[str]:
    """How often which law, and each obligation beside them with how it was settled."""
    from tinygpu.algebra.certificate import laws
    from tinygpu.proof.certificate import entries

    if one.found is None:
        return []
    return [f"{e.sentence}  [{e.method}]" for e in (*laws(one.found), *entries(one.found.claims))]
