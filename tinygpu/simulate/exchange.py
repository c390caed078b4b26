"""Collectives of the simulator: shuffles, and who must be there for a shuffle or a barrier.

    xor: lane ^ m      up, down: lane − d, lane + d, or the lane itself where that is outside      idx: k        all of 32

Comes in: values of all lanes and a mask of those that are there. Goes out: the values that each lane gets, and faults.
The one idea: a collective is of whole blocks or whole warps; where some lanes of one are there and others not, that is a fault.
"""

from __future__ import annotations

import numpy as np

from tinygpu.category.number import Array, Value
from tinygpu.model.collective import TOGETHER
from tinygpu.program.step import WARP
from tinygpu.simulate.fault import EACH, Divergent, Faults
from tinygpu.simulate.group import Execution, Group, offenders


def source_lane(op: str, lane: Array, which: Value) -> Array:
    """The lane (of 32) whose value `lane` gets.

    >>> lane = np.arange(4)
    >>> [source_lane(f"shuffle_{op}", lane, 2).tolist() for op in ("xor", "up", "down", "idx")], source_lane("shuffle_down", lane, 30).tolist()
    ([[2, 3, 0, 1], [0, 1, 0, 1], [2, 3, 4, 5], [2, 2, 2, 2]], [30, 31, 2, 3])
    """
    match op:
        case "shuffle_xor":
            return np.asarray(lane ^ (which % WARP))
        case "shuffle_idx":
            return np.asarray(which % WARP + 0 * lane)
        case "shuffle_up":
            there = np.asarray(lane - which)
        case _:
            there = np.asarray(lane + which)
    return np.where((there >= 0) & (there < WARP), there, lane)


def shuffle(op: str, value: Value, which: Value, mask: Array, place: Execution, faults: Faults) -> Value:
    """`(…, lanes) → (…, lanes)`: every lane gets the value of its source."""
    group = place.group
    complete_groups(op, "warp", mask, place, faults)
    lane = group.thread % WARP
    thread = group.thread - lane + source_lane(op, lane, which)
    missing = thread >= group.threads
    if missing.any():
        bad = np.logical_and(mask, missing)
        for at, _, _ in offenders(bad, (), place) if bad.any() else ():
            faults.add(Divergent(at, op, "warp", None), place.span)
        thread = np.where(missing, group.thread, thread)
    if np.ndim(value) == 0 or np.shape(value)[-1] == 1:
        return value
    position = group.block * group.threads + group.place[thread]
    if position.ndim == 1:
        return value[..., position]
    shape = np.broadcast_shapes(np.shape(value), position.shape)
    return np.take_along_axis(np.broadcast_to(value, shape), np.broadcast_to(position, shape), -1)


def complete_groups(collective: str, scope: str, mask: Array, place: Execution, faults: Faults) -> Array:
    """A fault for each block (or warp) of which only some lanes are there. Gives the lanes of those of which any is."""
    if mask.all():
        return mask
    group = place.group
    some, every = (_spread(group, scope, mask, any_) for any_ in (True, False))
    bad = np.logical_and(some, np.logical_not(every))
    if bad.any():
        _report(collective, scope, mask, bad, place, faults)
    return some


def _spread(group: Group, scope: str, mask: Array, any_: bool) -> Array:
    """For every lane whether any (or every) lane of its block or warp is in the mask."""
    if scope == "block":
        blocks = group.of_blocks(mask)
        known = np.asarray(blocks.any(-1) if any_ else blocks.all(-1))
        return np.asarray(known[..., group.block])
    warps, some = group.of_warps(mask, not any_), TOGETHER[scope] // WARP
    known = np.asarray(warps.any(-1) if any_ else warps.all(-1))
    if some > 1:  # of neighbouring warps; a block that is not made of such groups is told where it is checked
        each = known.shape[-1] // some * some
        groups_ = known[..., :each].reshape(*known.shape[:-1], -1, some)
        known = np.concatenate((np.repeat(groups_.any(-1) if any_ else groups_.all(-1), some, -1), known[..., each:]), -1)
    return np.asarray(known[..., group.block, group.thread // WARP])


def _report(collective: str, scope: str, mask: Array, bad: Array, place: Execution, faults: Faults) -> None:
    group, shape = place.group, bad.shape
    unit = group.block * group.warps + (group.thread // WARP if scope == "warp" else 0)
    turns = bad.reshape(-1, group.lanes)
    here = np.broadcast_to(mask, shape).reshape(-1, group.lanes)
    done: set[tuple[int, int]] = set()
    for turn, lane in np.argwhere(turns & here):
        mine = (int(turn), int(unit[lane]))
        if mine in done:
            continue
        done.add(mine)
        other = int(np.flatnonzero((unit == unit[lane]) & np.logical_not(here[turn]))[0])
        at, missing = (place.at(shape, int(turn) * group.lanes + int(spot)) for spot in (lane, other))
        faults.add(Divergent(at, collective, scope, missing), place.span)
        if len(done) == EACH:
            return
