"""Shadow memory against the definition of a race: every access is compared with every earlier one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygpu.category.term import Const
from tinygpu.diagnostic import NOWHERE
from tinygpu.program.arrays import READ, STORE
from tinygpu.program.step import WARP, Assign
from tinygpu.simulate.clock import Access, Clock, Moments
from tinygpu.simulate.fault import At, DoubleStore, Faults, Race
from tinygpu.simulate.group import Execution, Group
from tinygpu.simulate.shadow import Shadow

CELLS = 4


@dataclass(frozen=True)
class Seen:
    """One access of one thread; the epochs are those of its block and of its warp when it happened."""

    kind: str
    block: int
    thread: int
    address: int
    epoch: int
    warp_epoch: int
    event: int


def races(a: Seen, b: Seen) -> bool:
    """The definition."""
    if (a.block, a.address) != (b.block, b.address) or a.thread == b.thread or a.epoch != b.epoch:
        return False
    if a.kind == b.kind and a.kind != STORE:
        return False
    return a.thread // WARP != b.thread // WARP or a.warp_epoch == b.warp_epoch


def place(group: Group, event: int) -> Execution:
    env = {"b": group.blocks[group.block], "t": group.thread, "event": event}
    return Execution(Assign("s", (), Const(0.0, "f32"), span=NOWHERE), 0, group, env, ("b", "t"), ("event",))


def who(one: At) -> tuple[int, int, int]:
    return dict(one.lane)["b"], dict(one.lane)["t"], dict(one.loops)["event"]


@settings(max_examples=150)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from((1, 3, 40, 70)))
def test_races_are_those_of_the_definition(seed: int, warp_barriers: bool, threads: int) -> None:
    chance = np.random.default_rng(seed)
    group = Group.of(np.array([5, 2]), chance.permutation(threads))
    clock = Clock.of_block(group, warp_barriers)
    shadow = Shadow("s", (CELLS,), 2 * CELLS, CELLS, clock)
    epoch, warp_epoch = [0, 0], np.zeros((2, group.warps), int)
    past: list[Seen] = []
    for event in range(int(chance.integers(2, 14))):
        match int(chance.integers(0, 5)):
            case 0:
                passed = chance.integers(0, 2, 2).astype(bool)
                clock.block_barrier(passed[group.block])
                epoch = [e + int(p) for e, p in zip(epoch, passed, strict=True)]
                warp_epoch[passed] += 1
            case 1 if warp_barriers:
                some = chance.integers(0, 2, warp_epoch.shape).astype(bool)
                clock.warp_barrier(some[group.block, group.thread // WARP])
                warp_epoch[some] += 1
            case _:
                kind = str(chance.choice((READ, READ, STORE, "sum", "max")))
                points = chance.random(group.lanes) < chance.choice((1.0, 0.5, 2 / group.lanes))
                cells = chance.integers(0, CELLS, group.lanes) if chance.random() < 0.5 else chance.integers(0, CELLS, 1)
                address = np.broadcast_to(cells, (group.lanes,))
                now = [
                    Seen(kind, b, t, c, epoch[b], int(warp_epoch[b, t // WARP]), event)
                    for b, t, c, p in zip(group.block.tolist(), group.thread.tolist(), address.tolist(), points, strict=True)
                    if p
                ]
                pairs = {(a.block, a.thread, a.event, b.thread, b.address) for b in now for a in past + now if races(a, b)}
                faults = Faults(100)
                shadow.touch(kind, Access.of(place(group, event), address + group.block * CELLS, points), faults)
                past += now
                assert bool(faults.found) == bool(pairs)
                for race in faults.found:
                    assert isinstance(race, Race)
                    number, thread, then = who(race.first)
                    block, second, _ = who(race.at)
                    assert block == number and (group.blocks.tolist().index(number), thread, then, second, race.index[0]) in pairs


@settings(max_examples=60)
@given(st.integers(0, 10**6))
def test_nothing_orders_the_threads_of_a_launch(seed: int) -> None:
    """Groups of blocks run one after the other; two stores to one element are a fault also of one thread."""
    chance = np.random.default_rng(seed)
    moments, logs, last = Moments(), {}, np.full(CELLS, -1, np.int64)
    past: list[tuple[str, int, int]] = []
    order = chance.permutation(3)
    for low, high in ((0, 2), (2, 6)):
        group = Group.of(np.arange(low, high), order)
        shadow = Shadow("h", (CELLS,), CELLS, CELLS, Clock.of_launch(group, 6, moments), logs=logs, last=last)
        for event in range(3):
            kind = str(chance.choice((READ, STORE, "sum")))
            points, address = chance.random(group.lanes) < 0.3, chance.integers(0, CELLS, group.lanes)
            faults = Faults(100)
            shadow.touch(kind, Access.of(place(group, event), address, points), faults)
            thread = group.blocks[group.block] * 3 + group.thread
            now = [(kind, int(t), int(a)) for t, a, p in zip(thread, address, points, strict=True) if p]
            bad = [(a, b) for b in now for a in past if a[0] != b[0] and a[2] == b[2] and a[1] != b[1]]
            twice = [(a, b) for n, b in enumerate(now) for a in (*past, *now[:n]) if a[0] == STORE == b[0] and a[2] == b[2]]
            past += now
            races = [fault for fault in faults.found if isinstance(fault, Race)]
            stores = [fault for fault in faults.found if isinstance(fault, DoubleStore)]
            assert (bool(races), bool(stores)) == (bool(bad), bool(twice)) and all(race.scope == "launch" for race in races)
            for fault, pairs in (*((race, bad) for race in races), *((store, twice) for store in stores)):
                first, second = (who(one)[0] * 3 + who(one)[1] for one in (fault.first, fault.at))
                assert any((a[1], b[1], b[2]) == (first, second, fault.index[0]) for a, b in pairs)
