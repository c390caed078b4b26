"""What one block asks for again: the sectors that its reads of an array touch, and the different ones among them.

Comes in: the reads of an array in a launch, sizes. Goes out: both. The one idea: other blocks' reads of
the same data are the price of a grid, but a block that asks twice could have kept what it had; so one block, in the middle, is walked through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from tinygpu.category.term import reads
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.parts import SECTOR_BYTES, WARP, Unclear, extents_of, permissive
from tinygpu.cost.sites import Access
from tinygpu.cost.warps import distinct
from tinygpu.program.address import address
from tinygpu.program.step import Launch

POINTS = 1 << 21  # accesses of one block to one element of the text


def asked_again(launch: Launch, accesses: Sequence[Access], sizes: Mapping[str, int]) -> tuple[int, int] | None:
    """The sectors touched, and the different ones; None where an address is data, or there is too much to walk through."""
    touched, seen = 0, []
    for access in accesses:
        if any(reads(i) for i in access.first):
            return None
        try:
            found = _sectors(launch, access, sizes)
        except Unclear:
            return None
        touched += int(distinct(found).sum())
        seen.append(np.unique(found))
    different = np.unique(np.concatenate(seen)) if seen else np.zeros(0)
    return touched, int((different >= 0).sum())


def _sectors(launch: Launch, access: Access, sizes: Mapping[str, int]) -> np.ndarray:
    """`(turn, warp, lane) → sector`, -1 where nothing is read."""
    extents, guards = extents_of((*launch.grid, *launch.block, *access.where.axes), sizes)
    block, loops = [a.name for a in launch.block], [a.name for a in access.where.axes]
    threads, turns = prod(extents[n] for n in block), prod(extents[n] for n in loops)
    if threads * turns > POINTS:
        raise Unclear
    own = np.indices([extents[n] for n in block]).reshape(len(block), 1, threads)
    around = np.indices([extents[n] for n in loops]).reshape(len(loops), turns, 1)
    middle = {a.name: extents[a.name] // 2 for a in launch.grid}
    values = {**sizes, **middle, **dict(zip(block, own, strict=True)), **dict(zip(loops, around, strict=True))}
    mask = np.ones((turns, threads), bool)
    for guard in (*guards, permissive(access.where.guard, True)):
        mask &= np.asarray(evaluate(guard, values, mask=mask), bool)
    first = np.broadcast_to(np.asarray(evaluate(address(access.array.extents, access.first), values, mask=mask)), mask.shape)
    lanes = np.full((turns, -(-threads // WARP) * WARP), -1, np.int64)
    lanes[:, :threads] = np.where(mask, first // (SECTOR_BYTES // access.item), -1)
    return lanes.reshape(turns, lanes.shape[1] // WARP, WARP)
