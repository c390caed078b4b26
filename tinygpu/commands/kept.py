"""Verdicts of earlier processes, as `check --changed` and `--watch` use them.

Comes in: specs and what they state. Goes out: each with its verdict: the one that is kept of exactly this, or a new one, which is then kept. The one idea: a verdict that is kept is
shown as that, and has no proof, so nothing can be built or certified of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinygpu.category.deadline import TIME
from tinygpu.commands import theorems
from tinygpu.commands.families import Proved, check_family
from tinygpu.commands.judged import Facts, Judged, judge, judge_light, with_hash
from tinygpu.commands.theorems import Believed
from tinygpu.model.free import Skeleton
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Claimed
from tinygpu.model.source import said
from tinygpu.pipeline import Loaded
from tinygpu.record import dataclass
from tinygpu.run.verdicts import Kept, recall, remember


@dataclass(frozen=True, slots=True)
class Store:
    """What is kept, for a budget of steps of each obligation; what is not there may take so long."""

    budget: int | None = None
    limit: float = TIME

    def machines(self, machines: Sequence[tuple[Loaded, Machine]], jobs: int) -> Iterator[Judged]:
        """The verdicts of machines, in order."""
        found = [self.machine(spec, machine) for spec, machine in machines]
        rest = [pair for pair, one in zip(machines, found, strict=True) if one is None]
        new = judge_light(rest, self.budget, True, jobs, self.limit)  # begun now
        return (one or self.added(*pair, next(new)) for pair, one in zip(machines, found, strict=True))

    def in_turn(self, machines: Sequence[tuple[Loaded, Machine]]) -> Iterator[Judged]:
        """New verdicts of machines, each as soon as it is there: it is kept, with its hash, when somebody has it."""
        for spec, machine in machines:
            new = judge(spec.path, machine, self.budget, limit=self.limit)
            yield new
            self.added(spec, machine, with_hash(new))

    def machine(self, spec: Loaded, machine: Machine) -> Judged | None:
        """The verdict on a machine that is kept."""
        found = recall(spec, machine, self.budget)
        if found is None:
            return None
        facts = Facts(found.sizes, found.counts[0], found.proof) if found.word == "proved" else None
        return Judged(spec.path, machine, found.word, found.diagnostics, found.seconds, facts, kept=True)

    def added(self, spec: Loaded, machine: Machine, new: Judged) -> Judged:
        """A verdict on a machine, which is kept."""
        facts = new.facts or Facts("", 0)
        counts = (facts.obligations,)
        remember(spec, machine, self.budget, Kept(new.word, new.seconds, facts.sizes, counts, facts.proof, new.diagnostics))
        return new

    def stated(self, spec: Loaded, one: Claimed) -> Believed:
        """The verdict on a theorem, a lemma, a choice or a pipeline."""
        if found := recall(spec, one, self.budget):
            counts = (found.counts[0], found.counts[1])
            return Believed(spec.path, one, found.word, found.diagnostics, found.seconds, None, counts, kept=True)
        new = theorems.judge(spec.path, one, self.budget, self.limit)
        remember(spec, one, self.budget, Kept(new.word, new.seconds, "", new.counts, _hash(spec, new), new.diagnostics))
        return new

    def family(self, spec: Loaded, one: Skeleton) -> Proved:
        """The verdict on a machine with free numbers."""
        if found := recall(spec, one, self.budget):
            rest = (found.sizes, found.counts[0])
            return Proved(spec.path, one, found.word, found.diagnostics, found.seconds, None, *rest, kept=True)
        new = check_family(spec.path, one, self.budget, self.limit)
        remember(
            spec,
            one,
            self.budget,
            Kept(new.word, new.seconds, new.sizes, (new.obligations,), _hash_of_all(spec, new), new.diagnostics),
        )
        return new


def _hash(spec: Loaded, one: Believed) -> str:
    """The hash of what was proved of a theorem."""
    from tinygpu.algebra.certificate import certify

    return certify(one.theorem, one.found, one.theorem.text(spec.spec.tree)).proof if one.found else ""


def _hash_of_all(spec: Loaded, one: Proved) -> str:
    """The hash of what was proved of a family."""
    from tinygpu.proof.certificate import entries, hash_of

    return hash_of(said(spec.spec.tree, one.family.name), (e.claim for e in entries(one.found.theorems))) if one.found else ""
