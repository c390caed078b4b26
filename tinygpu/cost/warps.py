"""What the warps of a launch do at one access: how many come, how many lanes, sectors of 32 bytes or turns of the banks, exactly.

Comes in: an access, numbers for the sizes. Goes out: a tally over all warps of all blocks and all turns of the loops.
The one idea: an address is a sum of parts, each over axes of its own. What a warp touches depends on the others' sum only modulo a
sector, and on their part of each guard only where the lanes can tell; so the warps of a block meet a few classes of everything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import numpy as np
from numpy.typing import NDArray

from tinygpu.category.layout import address as shared_address
from tinygpu.category.term import Const
from tinygpu.cost.classes import Classes, classes
from tinygpu.cost.parts import SECTOR_BYTES, WARP, Parts, Unclear, parts_of
from tinygpu.cost.sites import Access, Where
from tinygpu.program.address import address
from tinygpu.program.step import Program
from tinygpu.record import dataclass

BANKS, WORD_BYTES = 32, 4  # of shared memory, in the order of addresses
GROUP_BYTES = BANKS * WORD_BYTES  # what lanes that are served together move at most
CELLS = 1 << 21  # lanes that are looked at together
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tally:
    """Over all warps: `requests` with a lane that takes part, and the `lanes` that do.

    Of global memory, in `units` of 32 bytes: the sectors that are touched, the `fewest` that could hold what is touched, the most of
    one request (`worst`). Of shared memory, in turns: those that the banks take, the fewest that could move what is touched (128 bytes each),
    the most for one group of lanes. `meeting`: the most lanes of one request that update one element. None where the address is data;
    `exact` is false where a guard is: then these are bounds.
    """

    requests: int
    lanes: int
    units: int | None
    fewest: int | None
    worst: int | None
    meeting: int | None
    exact: bool = True


def tally(program: Program, access: Access, sizes: Mapping[str, int]) -> Tally | None:
    """`access × sizes → tally`; None where there are too many different warps to look at."""
    shape, where, shared = access.array.extents, access.where, access.array.owner == "block"
    flat = shared_address(shape, access.array.layout, access.first) if shared else address(shape, access.first)
    modulus = (GROUP_BYTES if shared else SECTOR_BYTES) // access.item
    try:
        parts = parts_of(program.launches[where.launch], where.axes, where.guard, flat, sizes, modulus, lasting(program))
        found = classes(parts)
        return (_banked if shared else _sectors)(parts, found, access) if parts.known else _unknown(parts, found)
    except Unclear:
        return None


def points(program: Program, where: Where, sizes: Mapping[str, int]) -> tuple[int, bool] | None:
    """How often all threads come to a place at these sizes, and whether that is exact; None where there is too much to look at."""
    try:
        parts = parts_of(program.launches[where.launch], where.axes, where.guard, Const(0), sizes, 1, lasting(program))
        counted = _unknown(parts, classes(parts))
    except Unclear:
        return None
    return counted.lanes, counted.exact


def lasting(program: Program) -> Set[str]:
    """The names of the arrays in global memory."""
    return {t.name for t in program.op.tensors} | {w.name for w in program.workspaces}


def _met(parts: Parts, found: Classes) -> Iterator[tuple[Numbers, NDArray[np.bool_], Numbers]]:
    """Every different warp with every class of the rest: how often the two meet, the lanes that take part, their elements (else -1)."""
    if not len(found.counts):
        return
    step = max(1, CELLS // (len(found.counts) * WARP))
    for low in range(0, len(found.warps), step):
        warps = found.warps[low : low + step]
        weights = found.times[low : low + step, None] * found.counts[None, :]
        held = {atom.name: warps[:, None, :, n + 1] + found.rows[None, :, None, n + 1] for n, atom in enumerate(parts.atoms)}
        here = np.broadcast_to(parts.holds(held) & found.there[low : low + step][:, None, :], (*weights.shape, WARP))
        yield weights, here, np.where(here, warps[:, None, :, 0] + found.rows[None, :, None, 0], -1)


def _unknown(parts: Parts, found: Classes) -> Tally:
    """Who takes part, where the addresses are data."""
    requests = lanes = 0
    for weights, here, _ in _met(parts, found):
        requests += int((weights * here.any(-1)).sum())
        lanes += int((weights * here.sum(-1)).sum())
    return Tally(requests, lanes, None, None, None, None, parts.exact)


def _sectors(parts: Parts, found: Classes, access: Access) -> Tally:
    requests = lanes = units = fewest = worst = meeting = 0
    for weights, here, first in _met(parts, found):
        touched = distinct(np.where(here, first // (SECTOR_BYTES // access.item), -1))
        requests += int((weights * here.any(-1)).sum())
        lanes += int((weights * here.sum(-1)).sum())
        units += int((weights * touched).sum())
        fewest += int((weights * -(-distinct(first) * access.bytes // SECTOR_BYTES)).sum())
        worst = max(worst, int((touched * (weights > 0)).max(initial=0)))
        meeting = max(meeting, int((_meeting(first) * (weights > 0)).max(initial=0))) if access.atomic else 0
    return Tally(requests, lanes, units, fewest, worst, meeting, parts.exact)


def _banked(parts: Parts, found: Classes, access: Access) -> Tally:
    """Lanes are served in groups that move 128 bytes together; a group takes as many turns as one bank has words to give."""
    together = max(1, min(WARP, GROUP_BYTES // access.bytes))
    requests = lanes = units = fewest = worst = meeting = 0
    for weights, here, first in _met(parts, found):
        start = first * access.item // WORD_BYTES
        words = np.stack([np.where(here, start + n, -1) for n in range(max(1, access.bytes // WORD_BYTES))], -1)
        grouped = np.sort(words.reshape(*words.shape[:2], WARP // together, -1), -1)
        new = (np.diff(grouped, axis=-1, prepend=-1) != 0) & (grouped >= 0)
        turns = np.max([(new & (grouped % BANKS == bank)).sum(-1) for bank in range(BANKS)], axis=0)
        requests += int((weights * here.any(-1)).sum())
        lanes += int((weights * here.sum(-1)).sum())
        units += int((weights * turns.sum(-1)).sum())
        fewest += int((weights * -(-distinct(words.reshape(*words.shape[:2], -1)) // BANKS)).sum())
        worst = max(worst, int((turns.max(-1) * (weights > 0)).max(initial=0)))
        meeting = max(meeting, int((_meeting(first) * (weights > 0)).max(initial=0))) if access.atomic else 0
    return Tally(requests, lanes, units, fewest, worst, meeting, parts.exact)


def distinct(values: Numbers) -> Numbers:
    """How many different values from 0 on there are along the last axis.

    >>> distinct(np.array([[3, 3, -1, 0], [-1, -1, -1, -1]])).tolist()
    [2, 0]
    """
    ordered = np.sort(values, axis=-1)
    new = (np.diff(ordered, axis=-1) != 0) & (ordered[..., 1:] >= 0)
    return np.asarray(new.sum(-1) + (ordered[..., 0] >= 0))


def _meeting(values: Numbers) -> Numbers:
    """How often the most frequent value from 0 on comes."""
    most = np.zeros(values.shape[:-1], np.int64)
    for lane in range(WARP):
        mine = values[..., lane : lane + 1]
        most = np.maximum(most, ((values == mine) & (mine >= 0)).sum(-1))
    return most
