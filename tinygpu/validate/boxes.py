"""Boxes as a kernel has them copied: what the unit is asked for, by a block and its neighbours in a cluster, is in each block the box of the program.

    for every block n of a cluster:    the parts that are sent to n, at the places that they are sent to  =  the box of n

Comes in: a launch, and the same as its kernel has it. Goes out: nothing, or the error at the kernel. The one idea: how far a part lies behind the beginning of a box is a number,
whatever the sizes are, and a cluster has a few blocks; so parts are counted, block by block.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from tinygpu.category.linear import number, polynomial
from tinygpu.category.term import Axis, Const, Term, substitute, variables
from tinygpu.program.boxes import element, length_of
from tinygpu.program.call import Boxed, Sent, Sync
from tinygpu.program.step import If, Launch, steps
from tinygpu.schedule.roles import apart, sends
from tinygpu.schedule.wide import LAUNCHED
from tinygpu.validate.typed import Differs

Block = Mapping[str, Term]


def boxes(launch: Launch, arch: str, node: ast.AST) -> None:
    """That each block of a launch gets the boxes that its program says, and as many bytes as it waits for. Raises Differs."""
    copies = [s.begins for s in steps(launch.body) if isinstance(s, Sync) and isinstance(s.begins, Boxed)]
    asked = [s.body for s in steps(apart(launch, arch).body) if isinstance(s, If) and s.guard == LAUNCHED] if copies else []
    calls = [some for some in (tuple(sends(body)) for body in asked) if some]
    if len(copies) != len(calls) or not all(map(is_whole, [launch.ranks] * len(calls), copies, calls)):
        raise Differs(node, "has other boxes copied", "what comes to a block is its box")


def is_whole(ranks: Sequence[Axis], box: Boxed, calls: Sequence[Sent]) -> bool:
    """Whether what comes to each block is its box, each element once and at its own place.

    >>> from tinygpu.category.term import Read, Var
    >>> from tinygpu.record import replace
    >>> i, b, c = Axis("i", Const(64)), Var("b"), Var("c")
    >>> box = Boxed("s", (Var("i"),), Read("x", (b * 64 + Var("i"),), "f16"), (i,))
    >>> half = Sent(("s", (c * 32,)), "x", (b * 64 + c * 32,), (32,), 0, 2, ("r", Var("k")), 2, 0b11, (Const(0),))
    >>> wrong = replace(half, mask=0b01), replace(half, origin=(b * 64,)), replace(half, extents=(16,)), replace(half, origin=(b * 32 + c * 32,))
    >>> [is_whole((Axis("c", Const(2)),), box, [call]) for call in (half, *wrong)]
    [True, False, False, False, False]
    """
    every: list[Block] = [
        dict(zip((a.name for a in ranks), map(Const, at), strict=True))
        for at in product(*(range(length_of(a.extent)) for a in ranks))
    ]
    (extents, *others), whole = {along(box, call.extents) for call in calls}, tuple(length_of(a.extent) for a in box.box)
    if others or any(w % e for w, e in zip(whole, extents, strict=True)):
        return False
    cells = {*product(*(range(0, w, e) for w, e in zip(whole, extents, strict=True)))}
    for block, here in enumerate(every):
        found = [
            begins(box, call, here, there) for n, there in enumerate(every) for call in calls if block in wanting(call, n, there)
        ]
        if len(found) != len(cells) or {*found} != cells:
            return False
    return sum(call.bytes for call in calls) == prod(whole) * calls[0].size


def along(box: Boxed, extents: Sequence[int]) -> tuple[int, ...]:
    """Those of a part along the axes of its box."""
    names = {a.name for a in box.box}
    return tuple(e for e, i in zip(extents, element(box).index, strict=True) if variables(i) & names)


def wanting(call: Sent, sender: int, there: Block) -> Iterator[int]:
    """The blocks to which a block sends, by their numbers."""
    if call.parts == 1:
        yield sender
        return
    first = substitute(call.first[0], there)
    yield from (n for n in range(64) if isinstance(first, Const) and call.mask << int(first.value) >> n & 1)


def begins(box: Boxed, call: Sent, here: Block, there: Block) -> tuple[int, ...] | None:
    """How far behind the beginning of the box of the block `here`, along its axes, a part begins that a block `there` sends; None where that is no number, or it
    comes to another place."""
    names = {a.name for a in box.box}
    mine: Block = {**dict.fromkeys(names, Const(0)), **here}
    found = []
    for places, begin in ((box.index, call.near[1]), (element(box).index, call.origin)):
        ahead = [number(polynomial(substitute(b, there) - substitute(p, mine))) for p, b in zip(places, begin, strict=True)]
        if any(a != 0 for a, p in zip(ahead, places, strict=True) if not variables(p) & names):
            return None
        found.append(tuple(a for a, p in zip(ahead, places, strict=True) if variables(p) & names))
    near, far = found
    return tuple(n for n in near if n is not None) if near == far and None not in near else None
