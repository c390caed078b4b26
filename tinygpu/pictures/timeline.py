"""The timeline of a pipelined loop: for each slot of shared memory when a tile is under way, when it is there and when it is used, beside what the threads do.

    fill x → use x        use y → fill y + slots        a wait for n groups ends all but the last n

Comes in: a program at sizes. Goes out: a picture for each launch in which threads wait for tiles. The one idea: an order and no time. An event begins where what it waits for has ended, a copy is drawn as under way
until somebody has waited for it, and how wide something is means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Term, reads
from tinygpu.cost.parts import Unclear
from tinygpu.pictures.arranged import GAP, SIZE, Held, Timeline, arranged, label_of
from tinygpu.pictures.events import slots, waits
from tinygpu.pictures.paper import HUES, SHADES, Picture, box, caption, length, moved, rule, stacked
from tinygpu.program.step import For, Program, steps

LEFT, TOP, MARGIN, ROW = 120.0, 30.0, 20.0, 20.0
TURNS = 2  # beside those of the slots, of a loop at small sizes
LARGEST = 1 << 12  # of a size


def timeline(program: Program, sizes: Mapping[str, int], given: Mapping[str, int]) -> Picture:
    """Each launch whose threads wait for tiles. Raises Unclear where none does."""
    sizes = several_turns(program, sizes, given)
    memory = frozenset(t.name for t in program.op.tensors) | {w.name for w in program.workspaces}
    pictures = []
    for number, launch in enumerate(program.launches):
        if slots(launch):
            try:
                found = arranged(launch, memory, sizes)
            except (KeyError, ValueError, ZeroDivisionError):
                continue  # where it goes is data
            if found.held:
                where = f", launch {number + 1}" if len(program.launches) > 1 else ""
                pictures.append(picture(found, f"{program.name}{where}: a block's tiles in order", sizes))
    if not pictures:
        raise Unclear
    return stacked(pictures, f"the timeline of {program.name}")


def several_turns(program: Program, sizes: Mapping[str, int], given: Mapping[str, int]) -> dict[str, int]:
    """Sizes at which the loops in which threads wait go a few times more than there are slots."""
    found = dict(sizes)
    for launch in program.launches:
        wanted = max(slots(launch).values(), default=1) + TURNS
        loops = [
            s.axis.extent
            for s in steps(launch.body)
            if isinstance(s, For) and s.axis.sort == "time" and any(map(waits, steps(s.body)))
        ]
        for size, extent in product((s for s in program.op.sizes if s not in given), loops):
            found[size] = next(
                (n for n in range(found[size], LARGEST) if turns_at(extent, {**found, size: n}) >= wanted), found[size]
            )
    conditions = [w for w in (*program.op.where, *program.where) if not reads(w)]
    return found if all(turns_at(w, found) for w in conditions) else dict(sizes)


def turns_at(extent: Term, sizes: Mapping[str, int]) -> int:
    """How often a loop goes; where other loops or data say it, often enough."""
    try:
        return int(evaluate(extent, sizes))
    except (KeyError, ValueError, ZeroDivisionError):
        return LARGEST


# ── drawn ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def colour(tile: int, shade: int) -> str:
    """Of a tile: one hue from copy to use."""
    return f"c{tile % HUES * SHADES + shade}"


def picture(line: Timeline, title: str, sizes: Mapping[str, int]) -> Picture:
    """Rows of roles above rows of slots."""
    at = ", ".join(f"{k} = {v}" for k, v in sizes.items())
    lines = [
        f"at {at}; an order, and no time: a tile is on its way until somebody has waited for it, or the block has met"
        if at
        else "an order, and no time",
        *([f"drawn: {', '.join(line.cut)}"] if line.cut else []),
    ]
    marks = [caption(MARGIN, MARGIN + 12, title, 15, "b")]
    marks += [caption(MARGIN, MARGIN + 32 + 17 * n, one, 11.5, "soft") for n, one in enumerate(lines)]
    top = MARGIN + 40 + 17 * len(lines)
    marks += moved(MARGIN, top, legend())
    top += 24 + TOP
    tall = (len(line.placed) + len(line.held)) * (ROW + 6) + 22
    body = [*turns(line, tall), *roles(line)]
    for number, (spot, tiles) in enumerate(sorted(line.held.items())):
        y = len(line.placed) * (ROW + 6) + 14 + number * (ROW + 6)
        several = sum(name == spot[0] for name, _ in line.held) > 1
        body.append(caption(-8, y + 14, f"{spot[0]}[{spot[1]}]" if several else spot[0], 11, "e"))
        body += slot(tiles, y, line.end)
    marks += moved(LEFT, top, body)
    width = max(LEFT + line.end + MARGIN, 2 * MARGIN + length(title, 15), *(2 * MARGIN + length(one, 11.5) for one in lines), 620)
    return Picture(width, top + tall + 4, tuple(marks), title)


def legend() -> Iterator[str]:
    """What the bars mean."""
    x = 0.0
    for kind, told in (("c0 dash-edge", "on its way"), ("c1", "there"), ("c3", "being read")):
        yield box(x, 0, 22, 13, kind.split()[0], round=2)
        if "dash" in kind:
            yield f'<rect x="{x + 0.5:g}" y="0.5" width="21" height="12" rx="2" class="edge dash"/>'
        yield caption(x + 28, 11, told, 11, "soft")
        x += 40 + length(told, 11) + 12
    yield caption(x, 11, "each tile has its colour", 11, "soft")


def turns(line: Timeline, tall: float) -> Iterator[str]:
    """Where turns of the outermost loop begin, of one role; and barriers."""
    row = line.placed[0] if len(line.placed) == 1 else []
    starts = [
        one for one, before in zip(row, [None, *row], strict=False) if before is None or before.event.turn[:1] != one.event.turn[:1]
    ]
    for number, one in enumerate(starts):
        room = (starts[number + 1].start if number + 1 < len(starts) else line.end + MARGIN) - one.start
        here = " ".join(f"{name} = {turn}" for name, turn in one.event.turn[:1]) or ("after" if number else "before")
        yield rule(one.start - GAP / 2, -16, one.start - GAP / 2, tall - 14, "line")
        if room > length(here, 10.5):
            yield caption(one.start + 2, -8, here, 10.5, "b")
    for one in row:
        if one.event.kind == "barrier":
            yield rule((one.start + one.end) / 2, ROW, (one.start + one.end) / 2, tall - 14, "edge dash")


def roles(line: Timeline) -> Iterator[str]:
    """What each role does, and where it waits for another one."""
    for row, (name, placed) in enumerate(zip(line.names, line.placed, strict=True)):
        y, before = row * (ROW + 6), 0.0
        yield caption(-8, y + 14, name, 11, "e b")
        for one in placed:
            if one.start > before + GAP + 1:
                yield rule(before, y + ROW / 2, one.start, y + ROW / 2, "edge dash")
            plain = one.event.kind not in ("copy", "store", "use") or one.tile < 0
            kind = "void" if plain else colour(one.tile, 3 if one.event.kind == "use" else 1)
            yield box(one.start, y, one.end - one.start, ROW, kind, round=3)
            if one.event.kind in ("wait", "barrier", "enter"):
                yield f'<rect x="{one.start + 0.5:.5g}" y="{y + 0.5:g}" width="{one.end - one.start - 1:.5g}" height="{ROW - 1:g}" rx="3" class="edge"/>'
            yield caption((one.start + one.end) / 2, y + 14, label_of(one.event, one.tile), SIZE, "m")
            before = one.end


def slot(tiles: Sequence[Held], y: float, end: float) -> Iterator[str]:
    """The tiles of a slot, one after the other."""
    for number, held in enumerate(tiles):
        until = tiles[number + 1].begun if number + 1 < len(tiles) else end
        there = held.there if held.there >= 0 else until
        yield box(held.begun, y, there - held.begun, ROW, colour(held.tile, 0), round=2)
        yield f'<rect x="{held.begun + 0.5:.5g}" y="{y + 0.5:g}" width="{max(1, there - held.begun - 1):.5g}" height="{ROW - 1:g}" rx="2" class="edge dash"/>'
        if until > there:
            yield box(there, y, until - there - 1, ROW, colour(held.tile, 1), round=2)
        for start, stop in held.reads:
            yield box(start, y, (stop if stop >= 0 else until) - start, ROW, colour(held.tile, 3), round=2)
        if until - held.begun > 14:
            yield caption(held.begun + 6, y + 14, f"{held.tile}", SIZE, "b")
