"""What the warps of a launch do at one access: how many come, how many lanes, sectors of 32 bytes or turns of the banks, exactly.

Comes in: an access, numbers for the sizes. Goes out: a tally over all warps of all blocks and all turns of the loops.
The one idea: an address is a sum of parts, each over axes of its own. What a warp touches depends on the others' sum only modulo a
sector, and on their part of each guard only where the lanes can tell; so the warps of a block meet a few classes of everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinygpu.category.deadline import look
from tinygpu.category.layout import address as shared_address
from tinygpu.category.layout import swizzled
from tinygpu.category.linear import Polynomial, polynomial, term_of
from tinygpu.category.term import Const, Term, reads, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.classes import Classes, classes
from tinygpu.cost.parts import SECTOR_BYTES, WARP, Parts, Unclear, enumerated, extents_of, parts_of, permissive
from tinygpu.cost.sites import Access, Where
from tinygpu.program.arrays import address
from tinygpu.program.step import Launch, Program
from tinygpu.record import dataclass, replace

BANKS, WORD_BYTES = 32, 4  # of shared memory, in the order of addresses
GROUP_BYTES = BANKS * WORD_BYTES  # what lanes that are served together move at most
CELLS = 1 << 21  # lanes that are looked at together, or in one block
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

    def __add__(self, other: Tally) -> Tally:
        sums = [known((getattr(self, n), getattr(other, n))) for n in ("requests", "lanes", "units", "fewest")]
        most = [known((getattr(self, n), getattr(other, n)), max) for n in ("worst", "meeting")]
        return replace(Tally(*sums, *most), exact=self.exact and other.exact)


def known(values: Iterable[Any], how: Callable[[list[Any]], Any] = sum) -> Any:
    """The sum of values, or what else is made of them; None where one of them is not known.

    >>> known([1, 2]), known([1, None]), known([]), known([1, 2], max)
    (3, None, 0, 2)
    """
    every = list(values)
    return None if any(v is None for v in every) else how(every)


def tally(program: Program, access: Access, sizes: Mapping[str, int]) -> Tally | None:
    """`access × sizes → tally`; None where there are too many different warps to look at."""
    shared = access.array.owner == "block"
    flat = _near(program.launches[access.where.launch], access) if shared else address(access.array.extents, access.first)
    return _tally(program, access.where, flat, sizes, (GROUP_BYTES if shared else SECTOR_BYTES) // access.item, access)


def _near(launch: Launch, access: Access) -> Term:
    """Where in a block's memory an access is, without what is the same for all lanes and moves none of them to another bank, before a swizzle or after."""
    layout, extents = access.array.layout, access.array.extents
    if layout.swizzle is None:
        return shared_address(extents, layout, access.first)
    period, threads = max(2 ** sum(layout.swizzle), GROUP_BYTES // access.item), {a.name for a in launch.block}
    whole = polynomial(shared_address(extents, replace(layout, swizzle=None), access.first)).items()
    near: Polynomial = {m: by for m, by in whole if by % period or any(variables(t) & threads or reads(t) for t in m)}
    return swizzled(term_of(near), layout)


def points(program: Program, where: Where, sizes: Mapping[str, int]) -> tuple[int, bool] | None:
    """How often all threads come to a place at these sizes, and whether that is exact; None where there is too much to look at."""
    counted = _tally(program, where, Const(0), sizes, 1, None)
    return (counted.lanes, counted.exact) if counted else None


def _tally(
    program: Program, where: Where, flat: Term, sizes: Mapping[str, int], modulus: int, access: Access | None
) -> Tally | None:
    """Every different warp with every class of the rest, weighed."""
    launch = program.launches[where.launch]
    try:
        parts = parts_of(launch, where.axes, where.guard, flat, sizes, modulus, lasting(program))
        found = classes(parts)
    except Unclear:
        return None
    seen = access if parts.known else None
    sums, most = [0] * 4, [0] * 2
    for weights, here, first in _met(parts, found):
        units = fewest = worst = meeting = np.zeros_like(weights)
        if seen is not None:
            units, fewest, worst = (_turns if seen.array.owner == "block" else _sectors)(seen, here, first)
            meeting = _meeting(first) if seen.atomic else meeting
        sums = [s + int((weights * each).sum()) for s, each in zip(sums, (here.any(-1), here.sum(-1), units, fewest), strict=True)]
        most = [max(m, int((each * (weights > 0)).max(initial=0))) for m, each in zip(most, (worst, meeting), strict=True)]
    return replace(Tally(*(sums + most if seen else (*sums[:2], None, None, None, None))), exact=parts.exact)


def lasting(program: Program) -> Set[str]:
    """The names of the arrays in global memory."""
    return {t.name for t in program.op.tensors} | {w.name for w in program.workspaces}


def _met(parts: Parts, found: Classes) -> Iterator[tuple[Numbers, NDArray[np.bool_], Numbers]]:
    """Every different warp with every class of the rest: how often the two meet, the lanes that take part, their elements (else -1)."""
    if not len(found.counts):
        return
    step = max(1, CELLS // (len(found.counts) * WARP))
    for low in range(0, len(found.warps), step):
        look()
        warps = found.warps[low : low + step]
        weights = found.times[low : low + step, None] * found.counts[None, :]
        held = {atom.name: warps[:, None, :, n + 1] + found.rows[None, :, None, n + 1] for n, atom in enumerate(parts.atoms)}
        here = np.broadcast_to(parts.holds(held) & found.there[low : low + step][:, None, :], (*weights.shape, WARP))
        yield weights, here, np.where(here, warps[:, None, :, 0] + found.rows[None, :, None, 0], -1)


def _sectors(access: Access, here: NDArray[np.bool_], first: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    touched = distinct(np.where(here, first // (SECTOR_BYTES // access.item), -1))
    return touched, -(-distinct(first) * access.bytes // SECTOR_BYTES), touched


def _turns(access: Access, here: NDArray[np.bool_], first: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """A group of lanes takes as many turns as one bank has words to give."""
    words = words_of_groups(access, here, first)
    grouped = np.sort(words, -1)
    new = (np.diff(grouped, axis=-1, prepend=-1) != 0) & (grouped >= 0)
    turns = np.max([(new & (grouped % BANKS == bank)).sum(-1) for bank in range(BANKS)], axis=0)
    return turns.sum(-1), -(-distinct(words.reshape(*words.shape[:2], -1)) // BANKS), turns.max(-1)


def words_of_groups(access: Access, here: NDArray[np.bool_], first: Numbers) -> Numbers:
    """Lanes are served in groups that move 128 bytes together: of each group the words of its lanes, lane by lane; -1 where there is none."""
    together = max(1, min(WARP, GROUP_BYTES // access.bytes))
    start = first * access.item // WORD_BYTES
    words = np.stack([np.where(here, start + n, -1) for n in range(max(1, access.bytes // WORD_BYTES))], -1)
    return np.asarray(words.reshape(*words.shape[:2], WARP // together, -1))


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


def asked_again(launch: Launch, accesses: Sequence[Access], sizes: Mapping[str, int]) -> tuple[int, int] | None:
    """What one block, in the middle, asks for again, and could have kept: the sectors that its reads of an array touch, and the different
    ones among them; None where an address is data, or there is too much to walk through."""
    if any(reads(i) for access in accesses for i in access.first):
        return None
    try:
        found = [_of_block(launch, access, sizes) for access in accesses]
    except Unclear:
        return None
    different = {int(sector) for each in found for sector in np.unique(each)} - {-1}
    return sum(int(distinct(each).sum()) for each in found), len(different)


def _of_block(launch: Launch, access: Access, sizes: Mapping[str, int]) -> np.ndarray:
    """`(turn, warp, lane) → sector`, -1 where nothing is read."""
    extents, guards = extents_of((*launch.grid, *launch.block, *access.where.axes), sizes)
    middle, block, loops = ({a.name: extents[a.name] for a in axes} for axes in (launch.grid, launch.block, access.where.axes))
    threads, turns = prod(block.values()), prod(loops.values())
    if threads * turns > CELLS:
        raise Unclear
    values: dict[str, Any] = {**sizes, **{n: extent // 2 for n, extent in middle.items()}}
    values |= enumerated(block, 1, threads) | enumerated(loops, turns, 1)
    mask = np.ones((turns, threads), bool)
    for guard in (*guards, permissive(access.where.guard, True)):
        mask &= np.asarray(evaluate(guard, values, mask=mask), bool)
    first = np.broadcast_to(np.asarray(evaluate(address(access.array.extents, access.first), values, mask=mask)), mask.shape)
    lanes = np.full((turns, -(-threads // WARP) * WARP), -1, np.int64)
    lanes[:, :threads] = np.where(mask, first // (SECTOR_BYTES // access.item), -1)
    return lanes.reshape(turns, lanes.shape[1] // WARP, WARP)
