"""Pipelines, from their calls: ops in turn that go by one name, each by its machine.

    pipeline P(x) -> (z) { y = f(x) by M  z = g(y) by N }        ⟼        P(x) = N(M(x)), and what stands between lies in one workspace

Comes in: the calls of a pipeline, with the machines, the choices and the pipelines of its file. Goes out: a `Pipeline`. The one idea: a pipeline is a composition and a choice a
case distinction, so both are made of launchers, and each is one: whoever is called may be any of the three.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tinygpu.category.term import Const, Term, text
from tinygpu.diagnostic import Span
from tinygpu.model.chain import Chain, Step
from tinygpu.model.choice import Choice, Launched
from tinygpu.model.given import literal_of
from tinygpu.model.gradient import Gradient
from tinygpu.model.lemma import Lemma
from tinygpu.model.machine import Machine
from tinygpu.model.monoid import Monoids
from tinygpu.model.op import Op, Tensor
from tinygpu.model.problems import Problems, head
from tinygpu.model.scope import Scope
from tinygpu.model.source import Variant, calling
from tinygpu.model.theorem import Theorem
from tinygpu.model.value import index
from tinygpu.record import dataclass, field
from tinygpu.syntax import tree

Claimed: TypeAlias = "Theorem | Gradient | Lemma | Choice | Pipeline"  # what a spec says beside its machines
Agreement: TypeAlias = tuple[Term, Term]  # an extent that is wanted, and the one that is there


@dataclass(frozen=True, slots=True)
class Call:
    """Who is called with what: tensors by name, or numbers; what comes of it; what the sizes of its op are, of which some are `said`, as no extent
    tells them; and which extents have to be equal for that."""

    to: Machine | Choice | Pipeline
    given: tuple[str | Const, ...]
    made: tuple[str, ...]
    sizes: tuple[tuple[str, Term], ...]
    said: tuple[str, ...]
    agreements: tuple[Agreement, ...]
    span: Span = field(default=Span(), compare=False, repr=False)

    @property
    def spelled(self) -> str:
        """As it is written."""
        given = [one if isinstance(one, str) else text(one) for one in self.given]
        given += [f"{size} = {text(extent)}" for size, extent in self.sizes if size in self.said]
        return f"{', '.join(self.made)} = {self.to.op.family}({', '.join(given)}) by {self.to.name}"

    @property
    def needs(self) -> tuple[Term, ...]:
        """What is wanted of the sizes, in its own names."""
        return tuple(dict.fromkeys((*self.to.op.where, *(self.to.where if isinstance(self.to, Machine) else ()))))


@dataclass(frozen=True, slots=True, repr=False)
class Pipeline(Launched):
    """One launcher for ops in turn; `op` is what they compute, and `agreements` are of its outputs."""

    name: str
    op: Op
    calls: tuple[Call, ...]
    agreements: tuple[Agreement, ...] = ()
    variant: Variant = ()
    span: Span = field(default=Span(), compare=False, repr=False)

    @property
    def said(self) -> str:
        """What it is."""
        return "pipeline"

    @property
    def machines(self) -> tuple[Machine, ...]:
        """All that it comes down to, each once."""
        called = (m for call in self.calls for m in ((call.to,) if isinstance(call.to, Machine) else call.to.machines))
        found = {(m.title, m.op.name): m for m in called}
        return tuple(found.values())

    @property
    def joined(self) -> tuple[Choice | Pipeline, ...]:
        """The choices and pipelines that it calls."""
        return tuple(dict.fromkeys(call.to for call in self.calls if not isinstance(call.to, Machine)))

    @property
    def spelled(self) -> str:
        """As a text of its own, without those whom it calls."""
        inputs, outputs = (", ".join(map(_declared, tensors)) for tensors in (self.op.inputs, self.op.outputs))
        where = ", ".join(map(text, (*self.op.where, *self.op.promises)))
        head = f"pipeline {self.name}({inputs}) -> ({outputs}){' where ' * bool(where)}{where} {{"
        return "\n".join([head, *(f"  {call.spelled}" for call in self.calls), "}"])

    def text(self, file: tree.File) -> str:
        """With all that it calls, as a spec of its own; `file` declares it."""
        return calling(file, self.name)


def _declared(one: Tensor) -> str:
    """`x: f32[M, N]`."""
    shape = f"[{', '.join(map(text, one.shape))}]" if one.shape or one.role == "output" else ""
    return f"{one.name}: {one.dtype}{shape}{' strided' * one.strided}"


def pipeline_of(
    chain: Chain, op: Op, callees: Sequence[Machine | Choice | Pipeline], constants: Mapping[str, int], problems: Problems
) -> Pipeline | None:
    """`Chain → Pipeline`, whose op is this one; None after a message."""
    before = len(problems)
    scope = Scope(problems, dict.fromkeys(op.sizes, Span()), {}, constants, monoids=Monoids()).inside_brackets()
    calls = tuple(_call(step, callees, scope) for step in chain.steps)
    ends = tuple((index(made, scope), index(there, scope)) for made, there in chain.pairs)
    span = head(chain.pipeline.span, f"pipeline {op.name}")
    if len(problems) > before or None in calls:
        return None
    return Pipeline(op.name, op, tuple(c for c in calls if c), ends, (), span)


def _call(step: Step, callees: Sequence[Machine | Choice | Pipeline], scope: Scope) -> Call | None:
    to = _callee(step, callees, scope.problems)
    sizes = tuple((size, index(extent, scope)) for size, extent in step.sizes.items())
    agreements = tuple((index(wanted, scope), index(there, scope)) for wanted, there in step.pairs)
    numbers = [literal_of(one, t.dtype) for one, t in zip(step.given, step.op.inputs, strict=True)]
    given = tuple(
        one.name if n is None and isinstance(one, tree.Name) else Const(0 if n is None else n, t.dtype)
        for one, n, t in zip(step.given, numbers, step.op.inputs, strict=True)
    )
    made = tuple(one.name for one in step.turned.made)
    return Call(to, given, made, sizes, step.said, agreements, step.turned.span) if to else None


def _callee(step: Step, callees: Sequence[Machine | Choice | Pipeline], problems: Problems) -> Machine | Choice | Pipeline | None:
    """Who computes the op of a call: who is named, else the one that there is, of which a choice stands for its machines; None after a message."""
    by, name = step.turned.by, step.op.name
    right = [one for one in callees if one.op.name == step.name]
    known = list(dict.fromkeys(one.name for one in right))
    if by is not None:
        found = [one for one in right if one.name == by.name]
        if not found and known:
            problems.say("TG193.by", by.span, near=known, name=by.name, op=name, known=known)
        elif not found:
            problems.say("TG193.nobody", by.span, name=by.name, op=name)
    else:
        found = [one for one in right if not isinstance(one, Machine)] or right
        if not found:
            problems.say("TG193.none", step.turned.span, op=name)
    if len(found) > 1:
        problems.say("TG193.several", (by or step.turned).span, op=name, known=list(dict.fromkeys(one.title for one in found)))
    return found[0] if len(found) == 1 else None
