"""The partition: each tensor as a block and its neighbours have it, coloured by block, warp, lane, register and turn.

    element  ─owners→  (block, warp, lane, register, turn)  ─colour→  cells

Comes in: a program at sizes. Goes out: a picture for each tensor. The one idea: small maps answer one question each, and the large one says each owner in words: `t5 r2` is register 2 of
thread 5 of its block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from tinygpu.cost.parts import WARP, Unclear, extents_of
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.op import Tensor
from tinygpu.pictures.captions import axes_of, block_word, by_threads, head, only_turn, turn_letter
from tinygpu.pictures.owners import NONE, Owners, owners, registers, turns
from tinygpu.pictures.paper import (
    COLOURS,
    HUES,
    NOBODY,
    SHADES,
    WIDE,
    Numbers,
    Picture,
    caption,
    edged,
    inscribed,
    length,
    moved,
    painted,
    stacked,
)
from tinygpu.pictures.window import FOLD, Window, window
from tinygpu.program.step import Program

SIZE = 9  # of the words in a cell
TOLD = 1024  # cells at most that say more when they are pointed at
LEFT, TOP, MARGIN = 62, 34, 20
SMALL, LEAST = 150, 32  # pixels of a small map, and how tall it is at least


def partition(program: Program, sizes: Mapping[str, int], tensors: Sequence[Tensor] = ()) -> Picture:
    """Every tensor, or some, of a program without carriers: outputs as they are stored, inputs as they are read. Raises Unclear where there is none, TG932 where there is too
    much to look at."""
    op, pictures = program.op, list[Picture]()
    for tensor in tensors or (*op.outputs, *op.inputs):
        if not tensor.shape:
            continue
        try:
            one = owners(program, sizes, tensor.name, tensor in op.outputs)
        except Unclear:
            raise TinygpuError.of(
                "TG932",
                f"there is too much to draw of {tensor.name}",
                help="give smaller sizes, or none: small ones are chosen then",
            ) from None
        pictures.append(
            tensor_picture(program, sizes, one) if prod(one.shape) else note(f"{tensor.name} has no element at these sizes")
        )
    if not pictures:
        raise Unclear
    return stacked(pictures, f"the partition of {program.name}")


def note(said: str) -> Picture:
    """A sentence where there is no picture."""
    return Picture(2 * MARGIN + length(said), 3 * MARGIN, (caption(MARGIN, 1.8 * MARGIN, said, 12, "soft"),), said)


def tensor_picture(program: Program, sizes: Mapping[str, int], one: Owners) -> Picture:
    """One array: its head, the small maps, and the large one."""
    shown = window(one)
    names = axes_of(program.op, one.array.name, len(one.shape))
    labels = label_rows(program, one, shown)
    lines = [*head(program, sizes, one, shown, names)]
    top = MARGIN + 8.0
    marks = [caption(MARGIN, top + 8, lines[0], 15, "b")]
    for line in lines[1:]:
        top += 18
        marks.append(caption(MARGIN, top + 10, line, 11.5, "soft"))
    if (one.place == NONE).all():
        return Picture(2 * MARGIN + max(length(line, 15) for line in lines), top + 30, tuple(marks), lines[0])
    top += 30
    small, across, down = maps(program, sizes, one, shown)
    marks += moved(MARGIN, top, small)
    top += down + 12
    longest = max((len(w) for row in labels for cell in row for w in cell), default=1)
    wide, tall = max(22.0, longest * SIZE * WIDE + 5), 13.0 + 10 * (max((len(c) for row in labels for c in row), default=1) - 1)
    told = told_rows(program, sizes, one, shown) if sum(map(len, labels)) <= TOLD else []
    large = [
        *grid(program, one, shown, wide, tall),
        *inscribed(labels, wide, tall, SIZE, told),
        *ticks(one, shown, names, wide, tall),
    ]
    marks += moved(LEFT, top + TOP, large)
    across = max(across + MARGIN, LEFT + wide * (shown.high[1] - shown.low[1]), MARGIN + length(lines[0], 15))
    width = max(across, *(MARGIN + length(line, 11.5) for line in lines)) + MARGIN
    return Picture(width, top + TOP + tall * (shown.high[0] - shown.low[0]) + MARGIN, tuple(marks), f"who has {one.array.name}")


# ── the large map ──────────────────────────────────────────────────────────────────────────────────────────────────


def label_rows(program: Program, one: Owners, shown: Window) -> list[list[tuple[str, ...]]]:
    """The words of all cells."""
    planes = np.stack([shown.of(v) for v in (one.place, one.block, one.thread, one.register, one.time)], -1)
    alone = only_turn(one, shown) is not None
    return [[label(program, one, alone, *cell) for cell in row] for row in planes.tolist()]


def label(
    program: Program, one: Owners, alone: bool, place: int, block: int, thread: int, register: int, time: int
) -> tuple[str, ...]:
    """The words of a cell: who, with which register, in which turn, if that is not the same for all."""
    if place == NONE:
        return ()
    access = one.accesses[place]
    who = f"t{thread}" if program.launches[access.where.launch].block else f"{block_word(program)[0]}{block}"
    own = (f"r{register}",) if registers(access.where.axes) else ()
    return (who, *own, *((f"{turn_letter(one, place)}{time}",) if turns(access.where.axes) and not alone else ()))


def by_lane(thread: Numbers, block: Numbers) -> Numbers:
    """The colour of a thread: warps differ in hue, and lanes next to each other in shade; of one warp all lanes are apart."""
    lane, warp = thread % WARP, thread // WARP
    apart = lane if warp.max(initial=0) == 0 else (warp + block) % HUES * SHADES + (lane + lane // 4 + lane // 16) % SHADES
    return np.where(thread == NONE, NOBODY, apart)


def told_rows(program: Program, sizes: Mapping[str, int], one: Owners, shown: Window) -> list[list[str]]:
    """What each cell says when it is pointed at: the factors of its owner, by their names."""
    planes = np.stack([shown.of(v) for v in (one.place, one.block, one.thread, one.time, one.register)], -1)
    groups = []
    for access in one.accesses:
        launch, around = program.launches[access.where.launch], access.where.axes
        extents, _ = extents_of((*launch.grid, *launch.block, *around), sizes)
        groups.append(
            [[(a.name, extents[a.name]) for a in axes] for axes in (launch.grid, launch.block, turns(around), registers(around))]
        )
    return [
        ["" if place == NONE else ", ".join(factors(groups[place], numbers)) for place, *numbers in row] for row in planes.tolist()
    ]


def factors(groups: Sequence[Sequence[tuple[str, int]]], numbers: Sequence[int]) -> Iterator[str]:
    """The digits of some numbers, by the names of their axes.

    >>> [*factors([[("by", 2), ("bx", 3)], [("t", 32)]], [5, 7])]
    ['by 1', 'bx 2', 't 7']
    """
    for axes, number in zip(groups, numbers, strict=True):
        digits = np.unravel_index(number, [extent for _, extent in axes]) if axes else ()
        yield from (f"{name} {digit}" for (name, _), digit in zip(axes, digits, strict=True))


def grid(program: Program, one: Owners, shown: Window, wide: float, tall: float) -> Iterator[str]:
    """Cells in the colours of their threads, with the lines between threads, warps and blocks."""
    block, thread, register = (shown.of(v) for v in (one.block, one.thread, one.register))
    alone = not by_threads(program)
    colours = (
        np.where(block == NONE, NOBODY, (block + shown.of(one.time)) % HUES * SHADES + register % SHADES)
        if alone
        else by_lane(thread, block)
    )
    yield from painted(colours, wide, tall)
    yield edged(np.arange(block.size).reshape(block.shape), wide, tall, "line thin")
    yield edged(block * (1 << 20) + thread, wide, tall, "edge")
    yield edged(block * (1 << 20) + thread // WARP, wide, tall, "ink")
    yield edged(block, wide, tall, "ink thick")


def ticks(one: Owners, shown: Window, names: Sequence[str], wide: float, tall: float) -> Iterator[str]:
    """The numbers of rows and columns outside, and the names of their axes."""
    rows, columns = shown.high[0] - shown.low[0], shown.high[1] - shown.low[1]
    folded = len(one.shape) == 1
    down, across = (names[0], names[0]) if folded else (names[shown.rows], names[shown.columns])
    every = max(1, int(26 // wide) + (wide < 26))
    for column in range(0, columns, max(every, 4 if columns > 20 else 1)):
        yield caption((column + 0.5) * wide, -5, f"{'+' if folded else ''}{shown.low[1] + column}", 10, "m soft")
    for row in range(0, rows, 4 if rows > 20 else 1):
        yield caption(-6, (row + 0.5) * tall + 3.5, f"{(shown.low[0] + row) * (FOLD if folded else 1)}", 10, "e soft")
    yield caption(0, -19, f"{across} →", 11, "b")
    if not folded:
        yield caption(-6, -19, f"{down} ↓", 11, "e b")


# ── the small maps ─────────────────────────────────────────────────────────────────────────────────────────────────


def maps(program: Program, sizes: Mapping[str, int], one: Owners, shown: Window) -> tuple[list[str], float, float]:
    """One for each question that has more than one answer here: their marks, and how large they are."""
    block, thread, register, time = (shown.of(v) for v in (one.block, one.thread, one.register, one.time))
    inside = block != NONE
    asked = [(f"by {block_word(program)}", block, _hues), ("by warp", np.where(inside, thread // WARP, NONE), _hues)]
    asked += [("by lane", np.where(inside, thread % WARP, NONE), _all), ("by register", register, _all), ("by turn", time, _all)]
    rows, columns = block.shape
    cell = min(SMALL / max(rows, columns), 8.0)
    high = max(cell, min(8.0, LEAST / rows))
    across, marks, tall = 0.0, list[str](), high * rows
    for name, values, how in asked:
        many = len({*values[inside].tolist()})
        if many < 2:
            continue
        wide = max(cell * columns, length(f"{name}: 0000", 11))
        drawn = [
            caption(0, 10, f"{name}: {many}", 11, "soft"),
            *moved(0, 16, [*painted(np.where(inside, how(values), NOBODY), cell, high), edged(block, cell, high, "ink thin")]),
        ]
        marks += moved(across, 0, drawn)
        across += wide + 22
    return marks, across, (tall + 24) if marks else 0.0


def _hues(values: Numbers) -> Numbers:
    """Neighbouring numbers in different hues."""
    return values % HUES * SHADES + 1 + values // HUES % 2


def _all(values: Numbers) -> Numbers:
    """All colours, in order."""
    return values % COLOURS
