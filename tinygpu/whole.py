"""What is made of machines, from Python: a choice or a pipeline, with all that it calls, proved and built as a machine is.

    check : Machine → Proof,  Choice or Pipeline → Whole;     build : Proof or Whole → a function of arrays

Comes in: a machine, a choice or a pipeline. Goes out: its proof, and a launcher. The one idea: a whole is proved where its parts are and they fit, so its proof is theirs, side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tinygpu import pipeline
from tinygpu.category.deadline import TIME
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.model.choice import Choice
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Pipeline
from tinygpu.proof.kernel import BUDGET
from tinygpu.record import Pictured, dataclass

if TYPE_CHECKING:
    from tinygpu.proof.choice import Covered
    from tinygpu.proof.pipeline import Linked

Checked: TypeAlias = "pipeline.Verdict | Whole | Diagnostic"


@dataclass(frozen=True, slots=True)
class Whole(Pictured):
    """A choice or a pipeline that is proved: the proofs of all machines that it may call, and, last, of it, that of each choice and pipeline among them."""

    about: Choice | Pipeline
    proofs: tuple[pipeline.Proof, ...]
    joined: tuple[Covered | Linked, ...]

    @property
    def obligations(self) -> int:
        """How many were proved, of all its parts."""
        return sum(len(one.theorems) for one in self.proofs) + sum(len(one.claims) for one in self.joined)

    def __repr__(self) -> str:
        return f"<Whole of {self.about.name}: {self.obligations} obligations>"


def check(one: Machine | Choice | Pipeline, budget: int = BUDGET, time: float = TIME) -> Checked:
    """`machine → Proof, Refutation or Unknown`, `choice or pipeline → Whole`, or the first verdict or message of a part that is no proof; each part for all sizes, in at
    most so many seconds. Raises TinygpuError where a machine has no program."""
    if isinstance(one, Machine):
        return pipeline.check(one, budget, time)
    proofs, joined = list[pipeline.Proof](), list[Any]()
    for machine in one.machines:
        verdict = pipeline.check(machine, budget, time)
        if not isinstance(verdict, pipeline.Proof):
            return verdict
        proofs.append(verdict)
    for part in parts(one):
        found = pipeline.believed(part, budget, time)
        if isinstance(found, Diagnostic):
            return found
        joined.append(found)
    return Whole(one, tuple(proofs), tuple(joined))


def parts(one: Choice | Pipeline) -> tuple[Choice | Pipeline, ...]:
    """It with all choices and pipelines that it calls, each behind those that it calls itself."""
    called = (call.to for call in one.calls if not isinstance(call.to, Machine)) if isinstance(one, Pipeline) else ()
    return tuple(dict.fromkeys((*(part for other in called for part in parts(other)), one)))


def build(proof: pipeline.Proof | Whole, machine: Machine | None = None, time: float = TIME) -> Callable[..., Any]:
    """`proof → launcher`, compiled at its first call, made in at most so many seconds a machine. Raises TinygpuError where the module is not what was proved."""
    if not isinstance(proof, Whole):
        return pipeline.build(proof, machine, time)
    from tinygpu.emit.python import identifier
    from tinygpu.run.load import load

    name, text = module(proof, proof.about.name, time)
    return getattr(load(text, identifier(proof.about.name)), name)  # type: ignore[no-any-return]


def module(whole: Whole, title: str, time: float = TIME) -> tuple[str, str]:
    """The name of the launcher of a whole, and the text of a module that has it, read back. Raises TinygpuError where that is not what was proved."""
    from tinygpu.emit.module import launcher_names

    machines, last = whole.about.machines, whole.about.machines[-1]
    pairs = list(zip(whole.proofs, machines, strict=True))
    ready = [pipeline.timely(time, machine, partial(pipeline.built, proof, machine)) for proof, machine in pairs]
    text = pipeline.timely(time * len(ready), last, partial(pipeline.sound, title, ready, whole.joined))
    return launcher_names([*machines, *(one.about for one in whole.joined)])[-1], text


def insisted(found: Checked) -> pipeline.Proof | Whole:
    """A proof. Raises TinygpuError for anything else."""
    match found:
        case pipeline.Proof() | Whole():
            return found
        case Diagnostic():
            raise TinygpuError(found)
        case pipeline.Refutation(_, diagnostic):
            raise TinygpuError(diagnostic)
    raise TinygpuError(*found.diagnostics)
