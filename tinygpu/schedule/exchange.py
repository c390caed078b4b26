"""Shuffles as an array of the block: each lane leaves its value there, all come to a barrier, each takes another lane's.

Comes in: the body of a launch. Goes out: the same without shuffles, with more shared arrays and barriers.
The one idea: where one core runs a whole block, a warp's registers are memory that its lanes may all read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tinygpu.category.names import claimed
from tinygpu.category.term import SHUFFLES, App, Axis, Const, Read, Term, Var, conjunction, rebuild, select, walk
from tinygpu.program.space import SHARED
from tinygpu.program.step import Array, Assign, For, If, Launch, Step, Sync
from tinygpu.record import dataclass, field, replace

WARP = 32


def flat_thread(block: tuple[Axis, ...]) -> Term:
    """The number of a thread in its block, row-major.

    >>> from tinygpu.category.term import text
    >>> text(flat_thread((Axis("y", Const(8)), Axis("x", Const(32)))))
    'y*32 + x'
    """
    out: Term = Const(0)
    for axis in block:
        out = out * axis.extent + Var(axis.name)
    return out


def threads_of(block: tuple[Axis, ...]) -> int:
    """How many threads a block has."""
    return math.prod(int(a.extent.value) for a in block if isinstance(a.extent, Const))


@dataclass(slots=True)
class _Exchange:
    """The arrays made so far, by the name that each got."""

    block: tuple[Axis, ...]
    taken: set[str]
    made: list[Array] = field(default_factory=list)

    def array(self, dtype: str) -> str:
        number = len(self.made)
        name = claimed(f"exchange_{number}", self.taken)
        self.made.append(Array(name, dtype, (Const(threads_of(self.block)),), SHARED))
        return name


def without_shuffles(launch: Launch, taken: frozenset[str]) -> Launch:
    """`launch → launch` in which every shuffle is a store, a barrier and a read.

    >>> value = App("shuffle_xor", (Read("v", (), "f32"), Const(1)), "f32")
    >>> before = Launch((), (Axis("t", Const(32), "block"),), (Assign("v", (), value, "sum"),))
    >>> [type(s).__name__ for s in without_shuffles(before, frozenset()).body]
    ['Array', 'Assign', 'Sync', 'Assign']
    """
    exchange = _Exchange(launch.block, set(taken))
    body = tuple(_steps(launch.body, exchange))
    return replace(launch, body=(*exchange.made, *body))


def _steps(body: tuple[Step, ...], exchange: _Exchange) -> Iterator[Step]:
    for step in body:
        match step:
            case Assign(value=value) if any(isinstance(t, App) and t.op in SHUFFLES for t in walk(value)):
                before: list[Step] = []
                left = _taken(value, step, exchange, before)
                yield from before
                yield replace(step, value=left)
            case For(_, inner) | If(_, inner):
                yield replace(step, body=tuple(_steps(inner, exchange)))
            case _:
                yield step


def _taken(t: Term, step: Assign, exchange: _Exchange, before: list[Step]) -> Term:
    """The term with each shuffle read from an array, which steps added to `before` have filled."""
    t = rebuild(t, lambda c: _taken(c, step, exchange, before))
    match t:
        case App(op, (value, lane), dtype) if op in SHUFFLES:
            name = exchange.array(dtype)
            before += [Assign(name, (flat_thread(exchange.block),), value, guard=step.guard), Sync("warp")]
            return Read(name, (source(op, lane, exchange.block),), dtype)
    return t


def source(op: str, lane: Term, block: tuple[Axis, ...]) -> Term:
    """The thread whose value is taken: the own one, where the other lane is outside the warp or the block."""
    thread = flat_thread(block)
    own, start = thread % WARP, thread // WARP * WARP
    if block and block[-1].extent == Const(WARP):
        own, start = Var(block[-1].name), flat_thread(block[:-1]) * WARP
    match op:
        case "shuffle_xor":
            there = own ^ lane
        case "shuffle_up":
            there = own - lane
        case "shuffle_down":
            there = own + lane
        case _:
            there = lane % WARP
    source = start + there
    known = isinstance(lane, Const) and 0 <= lane.value < WARP
    within: list[Term] = []
    if op != "shuffle_idx" and not (known and op != "shuffle_up"):
        within.append(there >= 0)
    if op != "shuffle_idx" and not (known and op != "shuffle_down"):
        within.append(there < WARP)
    if threads_of(block) % WARP:
        within.append(source < threads_of(block))
    return select(conjunction(*within), source, thread)
