"""A file, elaborated: what it declares, by kind.

Comes in: what `elaborate` makes of a tree. Goes out: a `Spec`. The one idea: whoever asks for a name asks here, and whoever goes through all that a file states goes through `stated`.
"""

from __future__ import annotations

from tinygpu.diagnostic import Diagnostic
from tinygpu.model.choice import Choice
from tinygpu.model.collective import Instruction
from tinygpu.model.free import Skeleton
from tinygpu.model.gradient import Gradient
from tinygpu.model.lemma import Lemma
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.model.pipeline import Claimed, Pipeline
from tinygpu.model.theorem import Theorem
from tinygpu.record import dataclass, field
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Spec:
    """A file, elaborated: its ops (one for each dtype of a family), its machines (one for each op, dtype and choice of params), the instructions
    that it declares, its theorems, lemmas, gradients and choices, its machines with free numbers, what may be a slip of the pen, and the tree that all of it was made of, in which no
    term has a name."""

    ops: tuple[Op, ...]
    machines: tuple[Machine, ...]
    instructions: tuple[Instruction, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    theorems: tuple[Theorem, ...] = ()
    lemmas: tuple[Lemma, ...] = ()
    gradients: tuple[Gradient, ...] = ()
    choices: tuple[Choice, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    families: tuple[Skeleton, ...] = ()
    tree: tree.File = field(default=tree.File(()), compare=False, repr=False)

    @property
    def joined(self) -> tuple[Choice | Pipeline, ...]:
        """What is made of machines."""
        return (*self.choices, *self.pipelines)

    @property
    def stated(self) -> tuple[Claimed, ...]:
        """The lemmas, the theorems, the gradients, the choices and the pipelines; of a choice for several dtypes, which are told apart by the same sizes, the first one."""
        joined = [*{one.name: one for one in reversed(self.joined)}.values()][::-1]
        return (*self.lemmas, *self.theorems, *self.gradients, *joined)

    @property
    def about(self) -> Claimed | None:
        """What a text is about that is made for one of these; None for that of a machine."""
        return self.stated[-1] if self.stated and (self.joined or not self.machines) else None

    def op(self, name: str) -> Op:
        """The op of that name. Raises KeyError."""
        return {o.name: o for o in self.ops}[name]

    def machine(self, title: str) -> Machine:
        """The machine of that title (`saxpy_v4`, `relu_v4[T=f16]`), or the first of that name. Raises KeyError."""
        names = {m.name: m for m in reversed(self.machines)}
        return {**names, **{m.title: m for m in self.machines}}[title]
