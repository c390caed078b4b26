"""A counterexample: the threads that do it, and the cells where it goes wrong.

    what a run saw  =  (one thread or two) × (an element of an array)

Comes in: a refutation. Goes out: a picture: the block's threads in rows, the array at these sizes, and a line from each thread to the cell. The one idea: what is drawn is the fault that the
simulator has reported, so whoever sees it can follow it by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Axis
from tinygpu.cost.parts import Unclear
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import NOWHERE, Diagnostic
from tinygpu.pictures.owners import NONE, owners
from tinygpu.pictures.paper import NOBODY, Picture, box, caption, edged, length, moved, painted
from tinygpu.program.arrays import arrays
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation
from tinygpu.proof.replay import Misbehaviour
from tinygpu.record import dataclass
from tinygpu.simulate.fault import At, Divergent
from tinygpu.simulate.tolerance import Mismatch

CELL, SHOWN, MARGIN, LEFT, HEAD = 18.0, 32, 20.0, 46.0, 44.0
FOLD = 32  # threads, or elements, of a row, where there is one axis of more
AND = "\u00a0\u00a0\u00a0and\u00a0\u00a0\u00a0"
ROLES = ("bad", "other")  # of the thread that goes wrong last, and of the one that it meets


@dataclass(frozen=True, slots=True)
class Plane:
    """Cells in rows and columns, from where on they are drawn; `inside` is how many there are of them along each."""

    title: str
    inside: tuple[int, int]
    low: tuple[int, int]
    high: tuple[int, int]
    names: tuple[str, str]


def refuted(verdict: Refutation) -> Picture:
    """The case of a refutation: its words, and where a run has a place for it, its threads and cells."""
    diagnostic, seen = verdict.diagnostic, verdict.seen
    marks = [caption(MARGIN, MARGIN + 12, shortened(diagnostic.headline), 15, "b in-bad")]
    lines = [*told(diagnostic)]
    marks += [caption(MARGIN, MARGIN + 36 + 17 * n, line, 12) for n, line in enumerate(lines)]
    top = MARGIN + 52 + 17 * len(lines)
    width = max(2 * MARGIN + length(shortened(diagnostic.headline), 15), *(2 * MARGIN + length(line, 12) for line in lines), 320)
    if seen is not None and (drawn := scene(verdict.program, dict(verdict.sizes), seen)):
        body, wide, tall = drawn
        marks += moved(MARGIN, top, body)
        width, top = max(width, wide + 2 * MARGIN), top + tall + MARGIN
    return Picture(width, top + 4, tuple(marks), diagnostic.headline)


def told(diagnostic: Diagnostic) -> Iterator[str]:
    """The rows of the case, as a terminal has them."""
    rows = diagnostic.case.rows if diagnostic.case else ()
    wide = max((len(name) for name, _ in rows), default=0)
    for name, values in rows:
        yield shortened(f"{name:\u00a0<{wide}}\u00a0\u00a0\u00a0{AND.join(values)}")


def shortened(text: str) -> str:
    """A line of which nobody needs all."""
    return text if len(text) <= 140 else f"{text[:138]} …"


def scene(program: Program, sizes: Mapping[str, int], seen: Misbehaviour) -> tuple[list[str], float, float] | None:
    """The threads and the array, side by side, and how large both are."""
    places = [*places_of(program, sizes, seen)]
    marks, ends, x, tall = block_of(program, sizes, places)
    array, index = arrays(program).get(named(seen)), getattr(seen, "index", None)
    if array is not None and index is not None and array.extents:
        extents = tuple(int(evaluate(e, sizes)) for e in array.extents)
        plane, spot = cells(array.name, extents, tuple(int(i) for i in index))
        left, up = x + LEFT + (spot[1] - plane.low[1]) * CELL, HEAD + (spot[0] - plane.low[0]) * CELL
        marks += moved(x, 0, grid(plane))
        marks += [line(role, end, (left + CELL / 2, up + CELL / 2)) for role, end in zip(ROLES, ends, strict=False)]
        marks.append(f'<rect x="{left:.5g}" y="{up:.5g}" width="{CELL:g}" height="{CELL:g}" class="bad thick"/>')
        wide, high = size(plane)
        x, tall = x + wide, max(tall, high)
    if not marks:
        return None
    key = [*legend(seen, places, tall + 18)]
    return [*marks, *key], max(x, 560.0), tall + 22 + 17 * len(places)


def block_of(
    program: Program, sizes: Mapping[str, int], places: Sequence[At]
) -> tuple[list[str], list[tuple[float, float]], float, float]:
    """The threads of the block, with those that are at fault: the marks, where these are, and where the next thing may stand."""
    marks, ends, x, tall = list[str](), list[tuple[float, float]](), 0.0, 0.0
    here = [at for at in places if at.launch == places[0].launch and program.launches[at.launch].block]
    for role, at in zip(ROLES, here, strict=False):
        plane, spot = threads(program.launches[at.launch].block, sizes, at, here)
        if not ends:
            marks += moved(0, 0, grid(plane))
            wide, tall = size(plane)
            x = wide + 70
        left, up = LEFT + (spot[1] - plane.low[1]) * CELL, HEAD + (spot[0] - plane.low[0]) * CELL
        marks.append(box(left + 1, up + 1, CELL - 2, CELL - 2, f"in-{role}", at_text(at), 3))
        ends.append((left + CELL / 2, up + CELL / 2))
    return marks, ends, x, tall


def places_of(program: Program, sizes: Mapping[str, int], seen: Misbehaviour) -> Iterator[At]:
    """Who is at fault, and who else: of a wrong value the thread that stores it."""
    for one in (getattr(seen, "at", None), getattr(seen, "first", getattr(seen, "missing", None))):
        if isinstance(one, At):
            yield one
    if isinstance(seen, Mismatch):
        yield from storing(program, sizes, seen.tensor, seen.index)


def storing(program: Program, sizes: Mapping[str, int], name: str, index: tuple[int, ...]) -> Iterator[At]:
    """The thread that stores an element of an output, where that is known."""
    try:
        one = owners(unpack(program), sizes, name, True)
    except Unclear:
        return
    if one.place[index] == NONE or one.left:
        return
    number = one.accesses[one.place[index]].where.launch
    lane: list[tuple[str, int]] = []
    for axes, flat in ((program.launches[number].grid, one.block[index]), (program.launches[number].block, one.thread[index])):
        extents = [int(evaluate(a.extent, sizes)) for a in axes]
        lane += zip((a.name for a in axes), map(int, np.unravel_index(flat, extents) if extents else ()), strict=True)
    yield At(NOWHERE, number, tuple(lane), ())


def named(seen: Misbehaviour) -> str:
    """The array that a fault is about, if it is about one."""
    return str(getattr(seen, "array", getattr(seen, "tensor", "")))


def line(role: str, thread: tuple[float, float], cell: tuple[float, float]) -> str:
    """From a thread to a cell: of the one that goes wrong from below, of the other from its side."""
    (a, b), (c, d), half = thread, cell, CELL / 2 - 1
    if role == ROLES[0]:
        return f'<path class="{role} thick" d="M{a:.5g} {b + half:.5g}C{a:.5g} {b + 60:.5g} {c:.5g} {d + 60:.5g} {c:.5g} {d + half + 1:.5g}"/>'
    bend = (a + c) / 2
    return (
        f'<path class="{role} thick" d="M{a + half:.5g} {b:.5g}C{bend:.5g} {b:.5g} {bend:.5g} {d:.5g} {c - half - 1:.5g} {d:.5g}"/>'
    )


def legend(seen: Misbehaviour, places: Sequence[At], top: float) -> Iterator[str]:
    """Who is who."""
    verbs = (
        ("comes: ", "does not come: ")
        if isinstance(seen, Divergent)
        else ("stored by ",)
        if isinstance(seen, Mismatch)
        else ("", "")
    )
    for number, (role, at, verb) in enumerate(zip(ROLES, places, verbs, strict=False)):
        yield box(0, top + 17 * number - 10, 12, 12, f"in-{role}", round=2)
        yield caption(20, top + 17 * number, f"{verb}{at_text(at)}", 12)


def at_text(at: At) -> str:
    """A thread and its turn."""
    turn = f" at {', '.join(f'{n} {v}' for n, v in at.loops)}" if at.loops else ""
    return f"thread ({', '.join(f'{n} {v}' for n, v in at.lane)}){turn}"


def threads(block: Sequence[Axis], sizes: Mapping[str, int], at: At, every: Sequence[At]) -> tuple[Plane, tuple[int, int]]:
    """The threads of a block, the last factor across, and where one of them is."""
    extents = [int(evaluate(a.extent, sizes)) for a in block]
    here = [[dict(one.lane)[a.name] for a in block] for one in every]
    names = (", ".join(a.name for a in block[:-1]), block[-1].name)
    if len(block) == 1 and extents[0] > FOLD:
        extents, here, names = (
            [-(-extents[0] // FOLD), FOLD],
            [[*divmod(t, FOLD)] for (t,) in here],
            ("warp", f"lane of {block[0].name}"),
        )
    columns, rows = extents[-1], prod(extents[:-1])
    spots = [(int(np.ravel_multi_index(one[:-1], extents[:-1])) if len(one) > 1 else 0, one[-1]) for one in here]
    low, high = around(spots, (rows, columns))
    return Plane("threads of the block", (rows, columns), low, high, names), spots[[*every].index(at)]


def cells(name: str, extents: tuple[int, ...], index: tuple[int, ...]) -> tuple[Plane, tuple[int, int]]:
    """The plane of an array that an element is in, along its last two axes; the element may be outside."""
    whole = (extents[-2] if len(extents) > 1 else 1, extents[-1])
    spot = (index[-2] if len(index) > 1 else 0, index[-1])
    if len(extents) == 1 and max(extents[0], index[0] + 1) > FOLD and index[0] >= 0:
        whole, spot = (-(-extents[0] // FOLD), FOLD), (index[0] // FOLD, index[0] % FOLD)
    low, high = around([spot], (max(whole[0], spot[0] + 1), max(whole[1], spot[1] + 1)))
    before = ", ".join(map(str, index[:-2]))
    title = f"{name}[{before}, …]" if before else name
    return Plane(f"{title}, {' × '.join(map(str, extents))}", whole, low, high, ("", "")), spot


def around(spots: Sequence[tuple[int, int]], whole: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """A part of a plane in which all of some places are, if it can be."""
    lows, highs = [], []
    for axis in (0, 1):
        near, far = min(s[axis] for s in spots), max(s[axis] for s in spots)
        low = max(min(0, near), min(near - 2, whole[axis] - SHOWN)) if whole[axis] > SHOWN else min(0, near)
        lows.append(low)
        highs.append(min(max(whole[axis], far + 1), low + max(SHOWN, far - near + 3 if far - near < 2 * SHOWN else SHOWN)))
    return (lows[0], lows[1]), (highs[0], highs[1])


def size(plane: Plane) -> tuple[float, float]:
    """In pixels."""
    wide = LEFT + CELL * (plane.high[1] - plane.low[1])
    return max(wide + 20 * (not plane.names[1]), length(plane.title, 12)), HEAD + CELL * (plane.high[0] - plane.low[0])


def grid(plane: Plane) -> Iterator[str]:
    """The cells, those that are there grey, and what is outside empty behind dashes."""
    rows, columns = (np.arange(a, b) for a, b in zip(plane.low, plane.high, strict=True))
    inside = ((rows >= 0) & (rows < plane.inside[0]))[:, None] & ((columns >= 0) & (columns < plane.inside[1]))
    yield caption(0, 12, plane.title, 12, "b")
    marks = [*painted(np.where(inside, NOBODY, -2), CELL, CELL)]
    marks = [mark.replace("c-2", "tg-paper") for mark in marks]
    marks.append(edged(np.arange(inside.size).reshape(inside.shape), CELL, CELL, "line"))
    outline = f'<rect x="0" y="0" width="{CELL * inside.shape[1]:g}" height="{CELL * inside.shape[0]:g}" class="line"/>'
    marks += [outline, edged(inside.astype(np.int64), CELL, CELL, "edge dash")]
    step = [1 if len(axis) <= 12 else 4 for axis in (rows, columns)]
    aside, kind = (-6.0, "e soft") if plane.names[1] else (CELL * inside.shape[1] + 6, "soft")  # lines come from the left
    marks += [caption(aside, (n + 0.5) * CELL + 3.5, str(r), 10, kind) for n, r in enumerate(rows.tolist()) if not r % step[0]]
    marks += [caption((n + 0.5) * CELL, -5, str(c), 10, "m soft") for n, c in enumerate(columns.tolist()) if not c % step[1]]
    if plane.names[1]:
        marks.append(caption(0, -18, f"{plane.names[1]} →", 10.5, "soft"))
        marks.append(caption(-LEFT, -5, f"{plane.names[0]} ↓" if plane.names[0] else "", 10.5, "soft"))
    yield from moved(LEFT, HEAD, marks)
