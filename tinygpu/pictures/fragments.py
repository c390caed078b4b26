"""Fragments: which lane holds which element of an operand, and in which of its registers' cells.

    element (i, k)  ↦  lane(i, k), cell(i, k)

Comes in: an instruction. Goes out: a picture of it, an operand beside the other. The one idea: the declaration of an instruction is these two terms, and they are evaluated at every element.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tinygpu.category.dtype import DTYPE
from tinygpu.category.node import lift
from tinygpu.category.term import Term, Var
from tinygpu.category.to_numpy import evaluate
from tinygpu.cost.parts import WARP, Numbers, Unclear, enumerated
from tinygpu.model.collective import TOGETHER, WORD, Instruction, Operand
from tinygpu.model.instruction import shipped
from tinygpu.pictures.captions import axes_of
from tinygpu.pictures.paper import HUES, SHADES, WIDE, Picture, caption, edged, inscribed, length, moved, painted, stacked
from tinygpu.program.call import Applied, Sync
from tinygpu.program.step import Program

ROWS, COLUMNS = 64, 64
SIZE, MARGIN, LEFT, GAP = 9, 20, 34, 46
WIDEST = 1700.0  # of operands next to each other


def fragments(program: Program) -> Picture:
    """Every instruction of a program. Raises Unclear where it has none."""
    begun = (s.begins.instruction for s in program.steps if isinstance(s, Sync) and isinstance(s.begins, Applied))
    pictures = [instruction_picture(one) for one in dict.fromkeys(begun)]
    if not pictures:
        raise Unclear
    return stacked(pictures, f"instructions of {program.name}", 40)


def of_instruction(name: str) -> Picture:
    """An instruction that is known everywhere: of those whose elements lie alike, whatever their dtypes, the first. Raises Unclear where there is none of that name."""
    alike: dict[object, Instruction] = {}
    for one in shipped(name):
        alike.setdefault(tuple((o.kind, o.shape, o.places, o.cells, o.lanes, o.across) for o in one.operands), one)
    if not alike:
        raise Unclear
    return stacked([*map(instruction_picture, alike.values())], f"the instruction {name}", 40)


def instruction_picture(one: Instruction) -> Picture:
    """The operands of an instruction."""
    line = f"by the {TOGETHER[one.level]} lanes of a {one.level}; t5 r2: what lane 5 has, number 2 of it"
    marks = [
        caption(MARGIN, MARGIN + 12, f"{one.name}, on {', '.join(one.archs)}", 15, "b"),
        caption(MARGIN, MARGIN + 32, line, 11.5, "soft"),
    ]
    across, top, tall, width = float(MARGIN), MARGIN + 56.0, 0.0, 2 * MARGIN + length(line, 11.5)
    for operand in one.operands:
        picture = operand_picture(one, operand)
        if across > MARGIN and across + picture.width > WIDEST:
            across, top, tall = float(MARGIN), top + tall + GAP / 2, 0.0
        marks += moved(across, top, picture.marks)
        across, tall = across + picture.width + GAP, max(tall, picture.height)
        width = max(width, across - GAP + MARGIN)
    return Picture(width, top + tall + MARGIN, tuple(marks), one.name)


def held(operand: Operand) -> tuple[Numbers, Numbers]:
    """Of each element of an operand its lane, and which of its lane's elements it is: of rows, the lane that names the row; in tensor memory, lane and column."""
    names = [f"axis {n}" for n in range(len(operand.shape))]
    points = enumerated(dict(zip(names, operand.shape, strict=True)))
    index = [Var(name) for name in names]
    match operand.kind:
        case "rows":
            both: tuple[Term, Term] = operand.cell(index), lift(0)
        case "tensor":
            both = operand.row_of(index), operand.cell(index)
        case _:
            both = operand.lane(index), operand.cell(index)
    lane, cell = (np.broadcast_to(np.asarray(evaluate(t, points)), prod(operand.shape)).reshape(operand.shape) for t in both)
    return lane, cell


def operand_picture(one: Instruction, operand: Operand) -> Picture:
    """One operand, where each element lies."""
    role = "written" if operand.name == one.op.equations[0].target else "read"
    title = f"{operand.name}[{', '.join(axes_of(one.op, operand.name, len(operand.shape)))}]: {operand.dtype}[{', '.join(map(str, operand.shape))}], {role}"
    lines = [*_said(operand)]
    marks = [caption(0, 10, title, 12.5, "b"), *(caption(0, 28 + 15 * n, line, 11, "soft") for n, line in enumerate(lines))]
    width = max(length(title, 12.5), *(length(line, 11) for line in lines))
    if operand.kind == "descriptor" or len(operand.shape) > 2:
        return Picture(width, 30 + 15 * len(lines), tuple(marks), title)
    lane, cell = (np.atleast_2d(v)[:ROWS, :COLUMNS] for v in held(operand))
    if lane.shape != np.atleast_2d(held(operand)[0]).shape:
        lines.append(f"drawn: {lane.shape[0]} rows, {lane.shape[1]} columns")
        marks.append(caption(0, 28 + 15 * (len(lines) - 1), lines[-1], 11, "soft"))
    labels = [[_label(operand, int(t), int(r)) for t, r in zip(*row, strict=True)] for row in zip(lane, cell, strict=True)]
    longest = max(len(word) for row in labels for each in row for word in each)
    wide, tall = max(22.0, longest * SIZE * WIDE + 6), 14.0 + 10 * (len(labels[0][0]) - 1)
    top = 30 + 15 * len(lines) + 16
    colours = (lane // 4 + lane // WARP) % HUES * SHADES + lane % SHADES
    cells = [
        *painted(colours, wide, tall),
        edged(np.arange(lane.size).reshape(lane.shape), wide, tall, "line thin"),
        edged(lane, wide, tall, "edge"),
    ]
    cells += [*inscribed(labels, wide, tall, SIZE), *_ticks(lane.shape, wide, tall)]
    marks += moved(LEFT, top, cells)
    return Picture(max(width, LEFT + wide * lane.shape[1]), top + tall * lane.shape[0], tuple(marks), title)


def _label(operand: Operand, lane: int, cell: int) -> tuple[str, ...]:
    if operand.kind == "rows":
        return (f"t{lane}",)
    return (f"t{lane}", f"{'c' if operand.kind == 'tensor' else 'r'}{cell}")


def _said(operand: Operand) -> Iterator[str]:
    """Where an operand lies, in words."""
    match operand.kind:
        case "fragment":
            each = WORD // DTYPE[operand.dtype].bits
            packed = f", {each} in a register of 32 bits" if each > 1 else ""
            yield f"in registers: {operand.count} elements a lane{packed}"
        case "rows":
            yield "in shared memory: t5 names the row"
        case "descriptor":
            yield "in shared memory, behind a descriptor:"
            yield "no lane names an element"
        case "tensor":
            yield "in tensor memory: t5 is lane 5, c2 its column 2"


def _ticks(shape: tuple[int, ...], wide: float, tall: float) -> Iterator[str]:
    rows, columns = shape
    yield from (caption(-5, (r + 0.5) * tall + 3.5, str(r), 9.5, "e soft") for r in range(0, rows, 4 if rows > 20 else 1))
    yield from (caption((c + 0.5) * wide, -4, str(c), 9.5, "m soft") for c in range(0, columns, 4 if columns > 20 else 1))
