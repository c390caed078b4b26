"""A simulation that is watched: every access that a thread makes, with the statement's own term for it, counted warp by warp.

Comes in: a program without carriers, sizes. Goes out: for each access of the text what `cost.warps` says of it, by brute force.
The one idea: nothing is shared with the count but the rule (32 threads, 32 bytes, 32 banks), and every thread is walked through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import strides
from tinygpu.category.term import Term
from tinygpu.cost.warps import Tally
from tinygpu.program.arrays import arrays
from tinygpu.program.space import INPUT
from tinygpu.program.step import Assign, Ghost, Program
from tinygpu.simulate.group import Place
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.interpret import Run
from tinygpu.simulate.memory import Memory
from tinygpu.simulate.simulate import simulate

Key = tuple[int, str, tuple[Term, ...], bool]  # launch, array, index, whether it is stored


@dataclass(slots=True)
class Watch:
    """What was seen: for each access its executions, each with the place and which element every thread touched (-1: none)."""

    seen: dict[Key, dict[int, tuple[Place, np.ndarray]]] = field(default_factory=lambda: defaultdict(dict))
    node: Any = None

    def note(self, array: Memory, index: tuple[Any, ...], mask: Any, place: Place, stores: bool) -> None:
        if isinstance(place.step, Ghost) or array.space.owner == "thread" or (array.space is INPUT and not array.extents):
            return
        terms = self.node.index if self.node is not None else place.step.index  # type: ignore[union-attr]
        lanes = place.group.lanes
        flat = np.zeros(lanes, np.int64)
        for value, extent in zip(index, array.extents, strict=True):
            flat = flat * extent + np.broadcast_to(value, lanes)
        flat = np.where(np.broadcast_to(mask, lanes), flat, -1)
        held = self.seen[place.launch, array.name, terms, stores]
        before = held.get(id(place))
        held[id(place)] = place, flat if before is None else np.maximum(before[1], flat)


@contextmanager
def watching() -> Iterator[Watch]:
    """While it lasts, every access of the simulator is noted."""
    watch, kept = Watch(), {}

    def patch(name: str, stores: bool, rest: int) -> None:
        kept[Memory, name] = original = getattr(Memory, name)

        def noted(self: Any, index: Any, *arguments: Any) -> Any:
            watch.note(self, index, *arguments[rest : rest + 2], stores)
            return original(self, index, *arguments)

        setattr(Memory, name, noted)

    patch("read", False, 0)
    patch("store", True, 1)
    kept[Run, "read"] = read = Run.read

    def named(self: Run, node: Any, index: Any, mask: Any) -> Any:
        watch.node, before = node, watch.node
        try:
            return read(self, node, index, mask)
        finally:
            watch.node = before

    Run.read = named  # type: ignore[method-assign]
    try:
        yield watch
    finally:
        for (kind, name), original in kept.items():
            setattr(kind, name, original)


def brute_force(program: Program, sizes: dict[str, int], seed: int = 0) -> dict[Key, Tally]:
    """`access → tally`, by running every thread."""
    with watching() as watch:
        simulate(program, sizes, random_inputs(program.op, sizes, seed), vectorise=False)
    known = arrays(program)
    return {key: _tallied(known[key[1]], key[3], list(found.values())) for key, found in watch.seen.items()}


def _tallied(array: Any, stores: bool, found: list[tuple[Place, np.ndarray]]) -> Tally:
    """All executions at once: an array of who (execution, block, warp) and one of what, of the lanes that take part."""
    item, shared = BYTES[array.dtype], array.owner == "block"
    held = []
    for number, (place, flat) in enumerate(found):
        group, here = place.group, flat >= 0
        warp = (number * (1 << 20) + group.block * 32 + group.thread // 32)[here]
        held.append(np.stack([warp, group.thread[here] % 32, flat[here]]))
    warp, lane, element = np.concatenate(held, 1)
    requests, lanes = len(np.unique(warp)), len(warp)
    most = pairs(warp, element)[1].max(initial=0)
    atomic = any(stores and isinstance(place.step, Assign) and place.step.atomic for place, _ in found)
    meeting = int(most) if atomic else 0
    if not shared:
        whose = np.unique(warp, return_inverse=True)[1].reshape(-1)
        sectors = np.bincount(pairs(whose, element * item // 32)[0][:, 0], minlength=requests)
        elements = np.bincount(pairs(whose, element)[0][:, 0], minlength=requests)
        fewest = int((-(-elements * item // 32)).sum())
        return Tally(requests, lanes, int(sectors.sum()), fewest, int(sectors.max(initial=0)), meeting)
    together = 32 if item <= 4 else 128 // item
    group_of = warp * 32 + lane // together
    byte = placed(array, element) * item
    words = np.concatenate(
        [np.stack([group_of, (byte + n) // 4]) for n in range(0, item, 4)] or [np.stack([group_of, byte // 4])], 1
    )
    words = np.unique(words, axis=1)
    (who, _), each = pairs(words[0], words[1] % 32)[0].T, pairs(words[0], words[1] % 32)[1]
    groups, whose = np.unique(who, return_inverse=True)
    turns = np.zeros(len(groups), np.int64)
    np.maximum.at(turns, whose.reshape(-1), each)
    least = np.bincount(pairs(np.unique(words[0] // 32, return_inverse=True)[1].reshape(-1), words[1])[0][:, 0], minlength=requests)
    return Tally(requests, lanes, int(turns.sum()), int((-(-least // 32)).sum()), int(turns.max(initial=0)), meeting)


def pairs(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different pairs, and how often each comes."""
    if not len(a):
        return np.zeros((0, 2), np.int64), np.zeros(0, np.int64)
    found, counts = np.unique(np.stack([a, b], 1), axis=0, return_counts=True)
    return found, counts


def placed(array: Any, element: np.ndarray) -> np.ndarray:
    """Where shared cells lie, in elements."""
    extents = [int(e.value) for e in array.extents]
    index = np.unravel_index(element, extents) if extents else ()
    flat = sum((i * s for i, s in zip(index, strides(array.extents, array.layout), strict=True)), np.zeros_like(element))
    if array.layout.swizzle is None:
        return flat
    bits, base, shift = array.layout.swizzle
    return flat ^ ((flat >> (base + shift)) % (1 << bits) << base)
