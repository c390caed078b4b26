"""States: tensors that are defined by induction along one of their axes.

    u[0, i] = base        u[t + 1, i] = step(u[t, …])        ⟼        u[t, i] = base if t == 0 else step at t − 1

Comes in: the equations of an op, of which some name an element by `0` and some by `t + 1`. Goes out: one equation for each state, which reads
the state itself, earlier. The one idea: a state is a function of its index like every intermediate; what is asked beside is that a step
reads what was there before it, so that there is one such function. Its length is what the other equations read of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from tinygpu.category.linear import as_written, polynomial
from tinygpu.category.term import App, Read, Var, equal, substitute
from tinygpu.model.length import Part, definitions, length, part
from tinygpu.model.op import Equation, Tensor, put_in
from tinygpu.model.problems import UNKNOWN
from tinygpu.model.ranges import Later
from tinygpu.model.scope import Scope
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import rewritten

Make = Callable[[tree.Cell, tree.Equation, int, Later, Scope], Equation | None]


@dataclass(frozen=True, slots=True)
class Begun:
    """A state of which the base is known: its tensor, at which place of its index the time stands, and what it is at 0, without the time."""

    tensor: Tensor
    place: int
    base: Equation


@dataclass(frozen=True, slots=True)
class States:
    """The states of an op as its equations are read; `make` elaborates an ordinary one."""

    op: tree.Op
    make: Make
    begun: dict[str, Begun] = field(default_factory=dict)

    def begin(self, target: tree.Cell, one: Part, equation: tree.Equation, rest: Later, scope: Scope) -> Scope:
        """The scope with the state whose base this is, or as it was, after a message."""
        declared, say = scope.tensors.get(target.name), scope.problems.say
        if declared is not None:
            say("TG111.state_output" if declared.role == "output" else "TG114.twice", target.span, declared.span, name=target.name)
            return scope
        steps = [p for e in definitions(self.op) for t in e.targets if t.name == target.name and (p := part(t)) and p.time]
        if [p.place for p in steps] != [one.place]:
            names = [at.name if isinstance(at, tree.Name) else "t + 1" for at in target.index]
            say("TG111.state_step", target.span, name=target.name, left=f"{target.name}[{', '.join(names)}]")
            return scope
        timeless = tuple(
            rewritten(e, partial(one.timeless, target.name)) for e in rest
        )  # a base is as long as who reads the state says
        base, extent = self.make(one.without(target), equation, 0, timeless, scope), length(target.name, one.place, self.op, scope)
        if base is not None and extent is None:
            say("TG113.state", steps[0].span, name=target.name, time=steps[0].time)
        if base is None or extent is None:  # and nothing more is said of who reads it
            wrong = Tensor(target.name, UNKNOWN, tuple(Read("", (), UNKNOWN) for _ in target.index), "intermediate", target.span)
            return replace(scope, tensors={**scope.tensors, target.name: wrong})
        shape = [a.extent for a in base.axes]
        shape.insert(one.place, extent)
        made = Tensor(target.name, base.value.dtype, tuple(shape), "intermediate", target.span)
        self.begun[target.name] = Begun(made, one.place, base)
        return replace(scope, tensors={**scope.tensors, target.name: self.until(target.name)})

    def until(self, name: str) -> Tensor:
        """A state as long as its step may read it."""
        state = self.begun[name]
        shape = tuple(as_written(polynomial(e - 1)) if n == state.place else e for n, e in enumerate(state.tensor.shape))
        return replace(state.tensor, shape=shape)

    def step(
        self, target: tree.Cell, one: Part, equation: tree.Equation, known: Mapping[str, Equation], rest: Later, scope: Scope
    ) -> Equation | None:
        """The equation of a state, from its base and this step; `known` are those so far. None after a message."""
        state = self.begun.get(target.name)
        if state is None:
            if not any(
                p and not p.time for e in definitions(self.op) for t in e.targets if t.name == target.name for p in [part(t)]
            ):
                scope.problems.say("TG111.state_base", target.span, name=target.name)
            return None
        later = replace(one.bare(target), name=f"{target.name} at {one.time} + 1")  # what a step says of
        there = {target.name: state.tensor, later.name: replace(self.until(target.name), name=later.name)}
        inside = replace(scope, tensors={**scope.tensors, **there})
        step = self.make(later, equation, 0, rest, inside)
        if step is None:
            return None
        between = {n: e for n, e in known.items() if not e.along}
        value, time = put_in(step.value, between), Var(one.time)
        axes = tuple(replace(a, extent=e) for a, e in zip(step.axes, state.tensor.shape, strict=True))
        first = put_in(state.base.at([Var(a.name) for n, a in enumerate(axes) if n != state.place]), between)
        value = App(
            "select", (equal(time, 0), first, substitute(value, {one.time: time - 1})), value.dtype
        )  # also where both are one
        return Equation(target.name, axes, value, equation.span, one.time)
