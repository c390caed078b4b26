"""Asynchronous copies, as steps: which assignments may land later; and hints.

    async s[t] = x[g*32 + t] if g*32 + t < n else 0        from a tensor that nobody writes meanwhile, to the block's memory, as it is, or 0

Comes in: an assignment that a text calls `async`; the steps of a launch. Goes out: whether it is a copy; messages. The one idea: what the hardware copies
without a register is one element as it lies, and what it reads may not change until it has landed, so nobody writes it in that launch.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign

from tinygpu.category.term import App, Const, Read, Term, reads
from tinygpu.diagnostic import Span
from tinygpu.model.op import Op, Tensor
from tinygpu.model.problems import Problems
from tinygpu.model.scope import Scope
from tinygpu.model.value import value
from tinygpu.program.call import COPY, TENSOR, Prefetch, Stream
from tinygpu.program.ring import formed
from tinygpu.program.space import INPUT, SPACES
from tinygpu.program.step import Assign, Launch, Step, steps
from tinygpu.program.traverse import written
from tinygpu.syntax import tree


def source(value: Term) -> Read | None:
    """The element that a value is, where it is one or else 0, of which no bit is set.

    >>> from tinygpu.category.term import Var, select
    >>> i, x = Var("i"), Read("x", (Var("i"),), "f32")
    >>> source(x) == x == source(select(i < 4, x, Const(0.0, "f32"))), source(App("neg", (x,), "f32"))
    (True, None)
    >>> source(select(i < 4, x, Const(-0.0, "f32"))) is None
    True
    """
    match value:
        case Read():
            return value
        case App("select", (_, Read() as element, Const(number))) if number == 0 and copysign(1, number) > 0:
            return element
    return None


def is_copy(step: Assign, target: Tensor, scope: Scope) -> bool:
    """Whether an assignment is a copy to the block's memory; says so if not."""
    say, element = scope.problems.say, source(step.value)
    array = None if element is None else scope.tensors.get(element.tensor)
    if SPACES[target.role].owner != "block":
        say("TG183.target", step.span, target.span, name=target.name)
    elif step.update or step.atomic:
        say("TG183.update", step.span, name=target.name)
    elif element is None or not element.index:
        say("TG183.value", step.span)
    elif array is not None and SPACES.get(array.role, INPUT).owner != "grid":
        say("TG183.source", step.span, array.span, name=element.tensor)
    else:
        return True
    return False


def fetched(element: tree.Cell, span: Span, scope: Scope) -> Prefetch | None:
    """`prefetch x[i + 1, j]`: an element of an array in memory."""
    term, tensor = value(element, scope), scope.tensors.get(element.name)
    if tensor is not None and tensor.role not in ("input", "output", "workspace"):
        scope.problems.say("TG186.space", span, tensor.span, name=tensor.name, role=tensor.role)
    elif tensor is not None and tensor.strided:
        scope.problems.say("TG186.strided", span, tensor.span, name=tensor.name)
    elif isinstance(term, Read):
        return Prefetch(term, span)
    return None


def leaving(name: str, span: Span, scope: Scope) -> Stream | None:
    """`stream y`: an output or a workspace."""
    tensor = scope.tensors.get(name)
    known = [t.name for t in scope.tensors.values() if t.role in ("output", "workspace")]
    if tensor is None:
        scope.problems.say("TG101.name", span, near=known, name=name, known=known)
    elif name not in known:
        scope.problems.say("TG186.leaves", span, tensor.span, name=name, role=tensor.role)
    else:
        return Stream(name, span)
    return None


def lawful(op: Op, launches: tuple[Launch, ...], problems: Problems) -> tuple[Launch, ...]:
    """The launches; says where what a copy reads is written in its launch, under whatever name, and which rings have no order."""
    for launch in (
        launches if problems.told else formed(launches, problems)
    ):  # of a section that could not be read the form is not known
        changed = written(launch.body)
        changed |= {name for output, name in op.inplace.items() if output in changed}
        for step in copies(launch.body):
            for element in reads(step.value):
                if element.tensor in changed:
                    problems.say("TG183.changed", step.span, name=element.tensor)
    return launches


def copies(body: tuple[Step, ...]) -> Iterator[Assign]:
    """The copies of a body that land later."""
    return (step for step in steps(body) if isinstance(step, Assign) and step.pending in (COPY, TENSOR))
