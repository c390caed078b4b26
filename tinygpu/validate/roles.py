"""Roles that a kernel has apart: each thread does what the program says, whoever cut it.

    for every thread t:    cut | t  =  launch | t            where | t leaves what is under conditions of the block's factors that t passes, without them

Comes in: a launch, and the same as its kernel has it. Goes out: nothing, or the error at the kernel. The one idea: of one thread there are no roles, so its steps
are compared as they are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tinygpu.category.evaluate import evaluate
from tinygpu.category.owner import cut as digits
from tinygpu.category.term import Term, Var
from tinygpu.program.call import Call, Registers
from tinygpu.program.ring import of_threads, sections
from tinygpu.program.step import Assign, For, If, Launch, Step, steps
from tinygpu.program.traverse import Body, with_body
from tinygpu.schedule.roles import cut
from tinygpu.schedule.threads import threads_of
from tinygpu.validate.typed import Differs


def roles(launch: Launch, arch: str, node: ast.AST) -> None:
    """That each thread of a launch does the same where its roles are apart. Raises Differs."""
    if not sections(launch.body):
        return
    apart, seen = cut(launch, arch), set[tuple[bool, ...]]()
    asked = [s.guard for one in (launch, apart) for s in steps(one.body) if isinstance(s, If) and of_threads(launch, s.guard)]
    every = digits(Var("t"), launch.block)
    for thread in range(threads_of(launch.block)):
        place = {a.name: evaluate(e, {"t": thread}) for a, e in zip(launch.block, every, strict=True)}
        passes = tuple(bool(evaluate(guard, place)) for guard in asked)
        if passes in seen:
            continue
        seen.add(passes)
        known = dict(zip(asked, passes, strict=True))
        if tuple(of_one(launch.body, known)) != tuple(of_one(apart.body, known)):
            raise Differs(node, f"has other steps for thread {thread}", "each thread does what the program says")


def of_one(body: Body, known: dict[Term, bool]) -> Iterator[Step]:
    """What a thread does that passes these conditions, without loops of nothing."""
    for step in body:
        if isinstance(step, If) and step.guard in known:
            if known[step.guard]:
                yield from of_one(step.body, known)
        elif isinstance(step, For | If):
            inner = with_body(step, tuple(of_one(step.body, known)))
            if any(isinstance(s, Assign | Call) for s in steps((inner,))):
                yield inner
        elif not isinstance(step, Registers):
            yield step
