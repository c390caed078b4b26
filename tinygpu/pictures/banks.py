"""Shared memory: in which bank each element of a block's array lies, and which words the lanes of a warp ask of each bank.

    element  ─layout→  address  ─ ÷ 4 bytes →  word  ─ mod 32 →  bank          a group of lanes takes as many turns as one bank has words to give

Comes in: a cost. Goes out: a picture for each shared array. The one idea: what is stacked up on a bank are the words that the cost is counted of, so the height of a stack is the degree
of the conflict, and no count is made here.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import address
from tinygpu.category.term import Const, Var, text, variables
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.layouts import said
from tinygpu.cost.measure import Cost, Line
from tinygpu.cost.parts import WARP, Numbers, Unclear, enumerated, extents_of, nobody, permissive
from tinygpu.cost.sites import Access
from tinygpu.cost.warps import BANKS, CELLS, WORD_BYTES, words_of_groups
from tinygpu.pictures.paper import WIDE, Picture, box, caption, edged, inscribed, length, moved, painted, rule, stacked
from tinygpu.program.step import Array
from tinygpu.record import dataclass

ROWS, COLUMNS = 34, 68  # of an array that are drawn
SIZE, MARGIN, LEFT = 9, 20, 62
WIDTH, TALL = 30.0, 17.0  # of a word on its bank


@dataclass(frozen=True, slots=True)
class Asked:
    """What one warp asks for at one access, in one turn of the loops: `words[group, lane of the group, word of the lane]`, -1 is none."""

    access: Access
    warp: int
    turn: tuple[tuple[str, int], ...]
    words: Numbers

    @property
    def stacks(self) -> list[dict[int, dict[int, list[int]]]]:
        """Of each group, of each bank, its words, each with the lanes that ask for it."""
        found: list[dict[int, dict[int, list[int]]]] = []
        for number, group in enumerate(self.words):
            here: dict[int, dict[int, list[int]]] = {}
            for lane, mine in enumerate(group.tolist()):
                for word in mine:
                    if word >= 0:
                        here.setdefault(word % BANKS, {}).setdefault(word, []).append(number * len(group) + lane)
            found.append(here)
        return found

    @property
    def degree(self) -> int:
        """The most words of one bank, of one group."""
        return max((len(stack) for group in self.stacks for stack in group.values()), default=0)


def banks(cost: Cost) -> Picture:
    """Every shared array of a program, with its accesses. Raises Unclear where it has none."""
    pictures = list[Picture]()
    for name in dict.fromkeys(one.array for one in cost.lines if one.access.array.space.name == "shared"):
        mine = [one for one in cost.lines if one.array == name]
        pictures.append(stacked([layout_picture(mine[0].access.array), *strips(cost, mine)], name))
    if not pictures:
        raise Unclear
    return stacked(pictures, f"shared memory of {cost.program.name}", 40)


# ── where an array lies ────────────────────────────────────────────────────────────────────────────────────────────


def words_in(array: Array) -> Numbers:
    """The word of each element, counted from where the array begins."""
    extents = {f"axis {n}": int(e.value) for n, e in enumerate(array.extents) if isinstance(e, Const)}
    points = enumerated(extents)
    index = [points[name] for name in extents]
    named = address(array.extents, array.layout, [Var(name) for name in extents])
    flat = np.broadcast_to(np.asarray(evaluate(named, dict(zip(extents, index, strict=True)))), prod(extents.values()))
    return np.asarray(flat * BYTES[array.dtype] // WORD_BYTES).reshape(tuple(extents.values()))


def layout_picture(array: Array) -> Picture:
    """The last two axes of an array, its elements in the colours of their banks."""
    held = words_in(array)
    plane = held[(0,) * (held.ndim - 2)] if held.ndim >= 2 else held.reshape(1, -1)
    shown = plane[:ROWS, :COLUMNS] % BANKS
    wide, tall = 2 * SIZE * WIDE + 6, 15.0
    own = said(array.layout) if array.layout.pad or array.layout.swizzle or array.layout.panels else "row by row"
    left = (
        shown.shape[0] < plane.shape[0] or shown.shape[1] < plane.shape[1]
    ) and f"drawn: {shown.shape[0]} of {plane.shape[0]} rows, {shown.shape[1]} of {plane.shape[1]} columns"
    more = f"the first of {prod(held.shape[:-2])} tiles; " if held.ndim > 2 and prod(held.shape[:-2]) > 1 else ""
    title = f"{array.name}: {array.dtype}[{', '.join(map(text, array.extents))}] in shared memory, {own}"
    lines = [
        f"{more}a cell's number is its bank: its word of {WORD_BYTES} bytes, modulo {BANKS}",
        "below, what one warp asks of each bank at once: 5 is a word for lane 5, 5+7 one for lane 5 and seven lanes more",
        *([left] if left else []),
    ]
    marks = [caption(MARGIN, MARGIN + 12, title, 15, "b")]
    marks += [caption(MARGIN, MARGIN + 32 + 18 * n, line, 11.5, "soft") for n, line in enumerate(lines)]
    top = MARGIN + 40 + 18 * len(lines) + 14
    labels = [[(str(bank),) for bank in row] for row in shown.tolist()]
    cells = [
        *painted(shown, wide, tall),
        edged(np.arange(shown.size).reshape(shown.shape), wide, tall, "line thin"),
        *inscribed(labels, wide, tall, SIZE),
    ]
    cells += [
        caption(-6, (row + 0.5) * tall + 3.5, str(row), 10, "e soft")
        for row in range(0, shown.shape[0], 4 if shown.shape[0] > 20 else 1)
    ]
    cells += [
        caption((column + 0.5) * wide, -5, str(column), 10, "m soft")
        for column in range(0, shown.shape[1], 4 if shown.shape[1] > 20 else 1)
    ]
    marks += moved(LEFT, top, cells)
    width = max(
        LEFT + wide * shown.shape[1] + MARGIN, *(2 * MARGIN + length(line, 12) for line in lines), 2 * MARGIN + length(title, 15)
    )
    return Picture(width, top + tall * shown.shape[0] + 8, tuple(marks), title)


# ── what a warp asks for ───────────────────────────────────────────────────────────────────────────────────────────


def strips(cost: Cost, lines: list[Line]) -> Iterator[Picture]:
    """Each way in which kernels access an array: the warp of a block that waits longest there."""
    for line in lines:
        for access in line.made:
            try:
                yield strip(line, worst(cost, access))
            except Unclear:
                yield _unclear(line, access)


def worst(cost: Cost, access: Access) -> Asked:
    """Of all warps of the first block, in all turns, the one whose groups take most turns, and of these one with most lanes. Raises Unclear."""
    launch = cost.program.launches[access.where.launch]
    extents, guards = extents_of((*launch.grid, *launch.block, *access.where.axes), cost.sizes)
    guards = [*guards, permissive(access.where.guard, True)]
    flat = address(access.array.extents, access.array.layout, access.first)
    used = variables(flat).union(*map(variables, guards))
    loops = {a.name: extents[a.name] for a in access.where.axes if a.name in used}
    block, around = {a.name: extents[a.name] for a in launch.block}, {a.name: 0 for a in (*launch.grid, *access.where.axes)}
    threads, turns = prod(block.values()), prod(loops.values())
    if threads * turns > CELLS or not threads * turns:
        raise Unclear
    values = {**cost.sizes, **around, **enumerated(block, 1, threads), **enumerated(loops, turns, 1)}
    mask = np.ones((turns, threads), np.bool_)
    try:
        for guard in guards:
            mask &= np.asarray(evaluate(guard, values, mask=mask, on_zero=nobody), np.bool_)
        place = np.broadcast_to(np.asarray(evaluate(flat, values, mask=mask, on_zero=nobody)), mask.shape)
    except KeyError as problem:  # it is data
        raise Unclear from problem
    missing = ((0, 0), (0, -threads % WARP))
    here, first = (np.pad(lanes, missing).reshape(turns, -1, WARP) for lanes in (mask, place))
    asked = words_of_groups(access, here, first)
    found = [
        (Asked(access, w, _turn(loops, t), _by_lane(access, asked[t, w])), int(here[t, w].sum())) for t, w in _different(asked)
    ]
    return max(found, key=lambda one: (one[0].degree, one[1]))[0]


def _different(asked: Numbers) -> list[tuple[int, int]]:
    """One turn and warp of those that ask alike: for words that lie alike, seen from where the banks begin again."""
    flat = asked.reshape(*asked.shape[:2], -1)
    base = np.where(flat >= 0, flat, np.iinfo(np.int64).max).min(-1, keepdims=True) // BANKS * BANKS
    rows = np.where(flat >= 0, flat - base, -1).reshape(-1, flat.shape[-1])
    _, first = np.unique(rows, axis=0, return_index=True)
    return [(int(n) // asked.shape[1], int(n) % asked.shape[1]) for n in sorted(first)]


def _by_lane(access: Access, groups: Numbers) -> Numbers:
    """`[group, lane of the group, word of the lane]`."""
    each = max(1, access.bytes // WORD_BYTES)
    return groups.reshape(len(groups), -1, each)


def _turn(loops: dict[str, int], number: int) -> tuple[tuple[str, int], ...]:
    spot = np.unravel_index(number, tuple(loops.values())) if loops else ()
    return tuple((name, int(v)) for name, v in zip(loops, spot, strict=True))


def strip(line: Line, asked: Asked) -> Picture:
    """The words that one warp asks for, stacked up on their banks."""
    access, stacks = asked.access, asked.stacks
    verb = "stored" if access.stores else "read"
    how = f"{access.bytes} bytes a lane" + (
        f", by {access.by}" if access.by else ", by a copy that lands later" if access.pending else ""
    )
    title = f"{verb}: {access.array.name}[{', '.join(map(text, access.first))}], {how}"
    title = title if len(title) < 150 else f"{title[:146]} …"
    turn = f", at {', '.join(f'{n} {v}' for n, v in asked.turn)}" if asked.turn else ""
    degree = asked.degree
    verdict = (
        "no conflict: each group of lanes takes one turn"
        if degree <= 1
        else f"conflict of degree {degree}: a bank has {degree} words to give"
    )
    counted = (
        line.tally
        and f"; all warps: {line.tally.units} turns for {line.tally.requests} requests, {line.tally.worst} at most for a group"
    )
    marks = [caption(MARGIN, 14, title, 12.5, "b"), caption(MARGIN, 32, verdict, 12, "in-bad b" if degree > 1 else "b")]
    marks.append(caption(MARGIN + length(verdict, 12.5) + 8, 32, f"warp {asked.warp}{turn}{counted or ''}", 11.5, "soft"))
    top = 58.0
    marks += [caption(LEFT + (bank + 0.5) * WIDTH, top - 5, str(bank), 9.5, "m soft") for bank in range(BANKS)]
    marks.append(caption(MARGIN, top - 5, "bank", 9.5, "soft"))
    for number, group in enumerate(stacks):
        tall = max((len(stack) for stack in group.values()), default=0)
        if not tall:
            continue
        each = asked.words.shape[1]
        if len(stacks) > 1:
            marks.append(caption(LEFT - 6, top + TALL * 0.72, f"{number * each}–{number * each + each - 1}", 9.5, "e soft"))
        for bank in range(BANKS):
            for level, (word, lanes) in enumerate(sorted(group.get(bank, {}).items())):
                marks.append(_word(LEFT + bank * WIDTH, top + level * TALL, bank, word, lanes, level))
        marks.append(rule(LEFT, top + tall * TALL + 2.5, LEFT + BANKS * WIDTH, top + tall * TALL + 2.5, "line"))
        top += tall * TALL + 5
    title_width = 2 * MARGIN + length(title, 12.5)
    width = max(
        LEFT + BANKS * WIDTH + MARGIN,
        title_width,
        2 * MARGIN + length(verdict, 12.5) + 8 + length(f"warp {asked.warp}{turn}{counted or ''}", 11.5),
    )
    return Picture(width, top + 4, tuple(marks), title)


def _word(x: float, y: float, bank: int, word: int, lanes: list[int], level: int) -> str:
    """A word on its bank, with the lane that asks for it, and how many more do."""
    said_ = str(lanes[0]) + (f"+{len(lanes) - 1}" if len(lanes) > 1 else "")
    told = f"word {word}, for lane{'s' if len(lanes) > 1 else ''} {', '.join(map(str, lanes))}"
    mark = box(x + 0.5, y + 0.5, WIDTH - 1, TALL - 1, f"c{bank}", told, 2)
    frame = (
        f'<rect x="{x + 1:.5g}" y="{y + 1:.5g}" width="{WIDTH - 2:g}" height="{TALL - 2:g}" rx="2" class="bad"/>' if level else ""
    )
    return mark + frame + caption(x + WIDTH / 2, y + TALL * 0.7, said_, 9, "m")


def _unclear(line: Line, access: Access) -> Picture:
    title = f"{'stored' if access.stores else 'read'}: {line.element}"
    return Picture(
        900,
        40,
        (
            caption(MARGIN, 14, title[:150], 12.5, "b"),
            caption(MARGIN, 32, "where it is is data, or too much to look at", 11.5, "soft"),
        ),
        title,
    )
