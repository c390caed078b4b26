"""Verdicts as an editor shows them: of each machine, family, theorem and choice of a spec.

Comes in: a spec. Goes out: for each of what it states a `Shown`: the one that is kept at once, the others as they come. The one idea: it is what `check --changed` finds, in as many words as
fit above a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tinygpu.commands.families import Proved
from tinygpu.commands.judged import Judged
from tinygpu.commands.kept import Store
from tinygpu.commands.theorems import Believed, heading
from tinygpu.commands.together import cores
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.hardware.arch import CPU
from tinygpu.model.free import Skeleton
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Loaded
from tinygpu.proof.summary import stated_for
from tinygpu.record import dataclass
from tinygpu.run.verdicts import Subject, key_of, recall

FEW = 4  # machines that this process proves by itself, as it knows what solvers have answered before
Verdict: TypeAlias = Judged | Believed | Proved


@dataclass(frozen=True, slots=True)
class Shown:
    """A verdict: of which declaration, `heading` tells it from those of its other dtypes, `key` from those of other texts; `said` is for which sizes, by how much."""

    name: str
    heading: str
    key: str
    word: str
    said: str
    seconds: float
    diagnostics: tuple[Diagnostic, ...] = ()
    kept: bool = False

    @property
    def line(self) -> str:
        """`proved · all n · 13 obligations · 0.11 s`; `refuted · TG203 x is read outside its shape · kept`."""
        about = self.said or (self.diagnostics[0].headline if self.diagnostics else "")
        return " · ".join(part for part in (self.word, about, "kept" if self.kept else f"{self.seconds:.2f} s") if part)


@dataclass(frozen=True, slots=True)
class Cost:
    """What the machine of a key costs, in words."""

    key: str
    said: str


@dataclass(frozen=True, slots=True)
class Job:
    """A text of which that is to be proved which has no verdict yet, and the costs told but for those of the keys that were `counted`."""

    uri: str
    number: int
    path: str
    text: str
    counted: frozenset[str] = frozenset()


def subjects(spec: Loaded) -> dict[str, Subject]:
    """What a spec states, by what it is and of what."""
    found: dict[str, Subject] = {machine.heading: machine for machine in spec.machines}
    found |= {family.heading: family for family in spec.spec.families}
    return found | {heading(one): one for one in spec.spec.stated}


def recalled(spec: Loaded) -> dict[str, Shown | None]:
    """The verdicts that are kept; None for what has to be proved."""
    return {title: _kept(spec, title, one) for title, one in subjects(spec).items()}


def _kept(spec: Loaded, title: str, one: Subject) -> Shown | None:
    there = recall(spec, one, None)
    if there is None:
        return None
    sizes = there.sizes if isinstance(one, Machine | Skeleton) else stated_for(one)
    said = f"{sizes} · {there.counts[-1]} obligations" if there.word == "proved" else ""
    return Shown(one.name, title, key_of(spec, one, None), there.word, said, there.seconds, there.diagnostics, True)


def judged(spec: Loaded, job: Job) -> Iterator[Shown | Cost]:
    """Proves what has no verdict that is kept, machines first, by several processes; then the costs of what is proved."""
    every, there, store = subjects(spec), recalled(spec), Store()
    wanted = [every[title] for title, one in there.items() if one is None]
    machines = [(spec, one) for one in wanted if isinstance(one, Machine)]
    proved = [m for t, one in there.items() if one and one.word == "proved" and isinstance(m := every[t], Machine)]
    for found in store.machines(machines, cores()) if len(machines) > FEW else store.in_turn(machines):
        yield shown(spec, found.machine, found)
        proved += [found.machine] if found.word == "proved" else []
    for one in wanted:
        if not isinstance(one, Machine):
            yield shown(spec, one, store.family(spec, one) if isinstance(one, Skeleton) else store.stated(spec, one))
    for machine in proved:
        if machine.arch != CPU and (key := key_of(spec, machine, None)) not in job.counted:
            yield Cost(key, cost_of(machine))


def shown(spec: Loaded, subject: Subject, one: Verdict) -> Shown:
    """A verdict that was found now."""
    match one:
        case Judged(facts=facts):
            said = f"{facts.sizes} · {facts.obligations} obligations" if facts else ""
        case Proved():
            said = f"{one.sizes} · {one.obligations} obligations" if one.sizes else ""
        case Believed(theorem=theorem):
            said = f"{stated_for(theorem)} · {one.counts[1]} obligations" if one.word == "proved" else ""
    key = key_of(spec, subject, None)
    heading_ = one.machine.heading if isinstance(one, Judged) else one.heading
    return Shown(subject.name, heading_, key, one.word, said, one.seconds, one.diagnostics, one.kept)


def cost_of(machine: Machine) -> str:
    """What a machine moves at usual sizes, and how often that is what it has to; nothing where that is data."""
    from tinygpu.commands.costs import cost_of as counted
    from tinygpu.cost.table import bytes_of

    try:
        cost, _ = counted(machine, {}, "", None)
    except TinygpuError:
        return ""
    times = f", {cost.moved / cost.once:.1f} × once" if cost.moved and cost.once else ""
    return f"moves {bytes_of(cost.moved)}{times} at {', '.join(f'{n} = {v}' for n, v in cost.sizes.items())}"
