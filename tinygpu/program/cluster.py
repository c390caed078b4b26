"""Boxes that blocks of a cluster have in common: each block has a part of it copied, to the memory of all that want it.

    s[k, i, j] = A[o + i, p + j]     ↦     block r of n: rows [r·m, (r + 1)·m) of the box to all n blocks, m = rows / n         where o, p are the same in them

Comes in: a launch, a section of it, and a copy there. Goes out: calls of the unit. The one idea: a block has the whole box when its barrier is told so, whoever sent it. What a neighbour sends is ordered by
the ring alone, and by no barrier of the block; so all blocks of a cluster take the same turns, and nobody has touched the array before, or nothing is shared.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.layout import Layout
from tinygpu.category.owner import row_major
from tinygpu.category.term import Axis, Const, Term, reads, substitute, variables
from tinygpu.program.boxes import element, length_of, sent
from tinygpu.program.call import Boxed, Sent, Sync
from tinygpu.program.ring import Section, sections
from tinygpu.program.step import For, If, Launch, arrays_in
from tinygpu.program.traverse import reads_of, walk_steps, written
from tinygpu.record import replace


def calls(launch: Launch, section: Section, one: Boxed, layout: Layout) -> Iterator[Sent]:
    """The calls of the unit for a box."""
    told, same = (section.enter.ring, section.enter.turn), common(launch, section, one)
    parts, others = prod(length_of(a.extent) for a in same), {a.name: Const(0) for a in same}
    for call in sent(one, layout, told, parts, row_major(same)):
        first = substitute(row_major(launch.ranks), others)
        yield replace(call, mask=mask(launch, same), first=(first,)) if call.parts > 1 else call


def common(launch: Launch, section: Section, one: Boxed) -> tuple[Axis, ...]:
    """The factors of a cluster that a box, and where it goes, does not depend on. None, where blocks of a cluster may take other turns than their neighbours, or use its array before."""
    if touched_before(launch, section, one.target):
        return ()
    ranks = {a.name for a in launch.ranks}
    own = {a.name for owner in ("thread", "block") for a in arrays_in(launch.body, owner)}

    def told(term: Term) -> set[str]:
        return ranks if any(r.tensor in own for r in reads(term)) else ranks & variables(term)

    turns = [term for loop in section.loops for term in (loop.start, loop.axis.extent)]
    if any(map(told, (*turns, *section.ends))):
        return ()
    here = set[str]().union(*map(told, (*element(one).index, *one.index)))
    return tuple(a for a in launch.ranks if a.name not in here)


def touched_before(launch: Launch, section: Section, name: str) -> bool:
    """Whether a block reads or writes an array before the sections of a ring, or beside them, when a neighbour may be there already."""
    mine = [s for s in sections(launch.body) if s.enter.ring == section.enter.ring]
    for step, _, path in walk_steps(launch.body):
        here = {r.tensor for r in reads_of(step)} | (set() if isinstance(step, For | If) else written((step,)))
        if name in here and path[0] <= section.begin[0] and not any(s.holds(path) for s in mine):
            return True
    return False


def shared_along(launch: Launch, step: Sync) -> tuple[Axis, ...]:
    """The factors of a cluster whose blocks have parts of a box copied for each other, of a step of a launch that begins one."""
    here = next((s for s in sections(launch.body) if any(step is inner for inner in s.steps(launch.body))), None)
    if here is None or not isinstance(one := step.begins, Boxed):
        return ()
    (layout,) = (a.layout for a in arrays_in(launch.body, "block") if a.name == one.target)
    return common(launch, here, one) if any(call.parts > 1 for call in calls(launch, here, one, layout)) else ()


def mask(launch: Launch, same: tuple[Axis, ...]) -> int:
    """The blocks of a cluster that differ from its first one in these factors only, a bit each.

    >>> from tinygpu.category.term import Var
    >>> y, x = Axis("y", Const(2)), Axis("x", Const(4))
    >>> here = Launch((Axis("g", Var("n")), y, x), (), (), cluster=2)
    >>> [bin(mask(here, same)) for same in ((y,), (x,), (y, x), ())]
    ['0b10001', '0b1111', '0b11111111', '0b1']
    """
    place, zero = row_major(launch.ranks), {a.name: 0 for a in launch.ranks}
    every = product(*(range(length_of(a.extent)) for a in same))
    return sum(1 << int(evaluate(place, zero | dict(zip((a.name for a in same), values, strict=True)))) for values in every)
