"""Registers that roles trade: who multiplies has more of them, who has boxes copied fewer.

    if use { a };  if load { b };  if use { c }   ↦   if use { registers 232; a; c };   if not use { registers 40; if load { b } }

Comes in: the steps of a launch, each role in a loop of its own. Goes out: the same, where whole warpgroups trade. The one idea: threads of other roles do nothing for
a role's steps, so what they do in between may stand behind; and then no two roles meet before the end of it, where a compiler would have to give both the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.dtype import BYTES
from tinygpu.category.term import Term, conjunction, negation
from tinygpu.program.call import USE, Registers
from tinygpu.program.ring import of_threads, sections, threads_under
from tinygpu.program.step import If, Launch, Step, arrays_in
from tinygpu.record import dataclass
from tinygpu.schedule.threads import threads_of

GROUP = 128  # threads that set their registers together
REGISTERS, MOST = 1 << 16, 240  # of a multiprocessor, and of a thread that sets them
LEFT = 40  # for who has boxes copied
BESIDE = 48  # that a thread needs beside its fragments


@dataclass(frozen=True, slots=True)
class Budget:
    """Who gets registers, how many, and how many the others are left with."""

    using: Term
    users: frozenset[int]
    many: int
    few: int


def budget(launch: Launch, arch: str) -> Budget | None:
    """What roles trade: nothing where each thread has enough for what it holds of fragments, or roles are no whole warpgroups."""
    roles = {s.guards: s.threads(launch) for s in sections(launch.body) if s.enter.way == USE}
    if arch != "sm_90a" or len(roles) != 1:
        return None
    ((guards, users),), every = roles.items(), threads_of(launch.block)
    held = sum(a.held.count * BYTES[a.dtype] // 4 for a in arrays_in(launch.body, "block") if a.held)
    apart = len(users) == GROUP * len({t // GROUP for t in users}) and every % GROUP == 0 and len(users) < every
    if not apart or held + BESIDE <= REGISTERS // every // 8 * 8:
        return None
    return Budget(conjunction(*guards), users, min(MOST, (REGISTERS - (every - len(users)) * LEFT) // len(users) // 8 * 8), LEFT)


def traded(launch: Launch, body: tuple[Step, ...], arch: str) -> tuple[Step, ...]:
    """The steps, with what roles do one after the other put together, role by role, where they trade."""
    found = budget(launch, arch)
    if found is None:
        return body
    first = next(n for n, step in enumerate(body) if isinstance(step, If) and sections((step,)))
    ours = [of_role(launch, step, found.users) for step in body]
    begin = next((n + 1 for n in range(first, -1, -1) if not ours[n]), 0)
    end = next((n for n in range(first, len(body)) if not ours[n]), len(body))
    mine, others = list[Step](), list[Step]()
    for step, who in zip(body[begin:end], ours[begin:end], strict=True):
        (mine if who == "use" else others).append(step)
    span = body[first].span
    work = (Registers(found.many, "inc", span), *(inner for step in mine for inner in under(step, found.using)))
    rest = (Registers(found.few, "dec", span), *others)
    return (*body[:begin], If(found.using, work, span), If(negation(found.using), rest, span), *body[end:])


def of_role(launch: Launch, step: Step, users: frozenset[int]) -> str:
    """Whether a step is of those who use a ring (`use`), of none of them (`other`), or of both."""
    if not isinstance(step, If) or not of_threads(launch, step.guard):
        return ""
    there = threads_under(launch, step.guard)
    return "use" if there <= users else "" if there & users else "other"


def under(step: Step, guard: Term) -> Iterator[Step]:
    """What is done where the guard holds."""
    if isinstance(step, If) and step.guard == guard:
        yield from step.body
    else:
        yield step
