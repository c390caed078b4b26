"""What a puzzle wants beside a proof, asked of a machine's program and of what was counted of it.

    cost, want  ⟼  "" where it is so, else what is so instead

Comes in: the cost of a program at some sizes. Goes out: a sentence. The one idea: a condition is about what the machine does, so it is never found in the text:
another text that does the same is as good.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tinygpu.cost.counted import added
from tinygpu.cost.measure import Cost, Line
from tinygpu.cost.table import amount
from tinygpu.cost.warps import Tally
from tinygpu.program.call import COPY, Sync, Wait
from tinygpu.program.step import Assign, For, steps
from tinygpu.program.traverse import shuffles
from tinygpu.puzzles.puzzle import Want

WIDEST = 16  # bytes that a thread moves by one access


def unmet(cost: Cost, want: Want) -> str:
    """What is so where a condition is not met; empty where it is."""
    return CONDITIONS[want.what](cost, want)


def wide(cost: Cost, want: Want) -> str:
    """Threads move 16 bytes of global memory at once, wherever they move any."""
    lines = (one for one in cost.lines if not one.shared and max(one.widths, default=0) < WIDEST)
    return next((f"no thread moves {WIDEST} bytes at once at {one.element}" for one in lines), "")


def shared(cost: Cost, want: Want) -> str:
    """What blocks exchange lies in shared memory, which is read."""
    return "" if any(one.shared and not one.access.stores for one in cost.lines) else "nothing is read from shared memory"


def no_shared(cost: Cost, want: Want) -> str:
    """Without shared memory."""
    return "it has an array in shared memory" if cost.program.shared else ""


def no_conflicts(cost: Cost, want: Want) -> str:
    """No two lanes wait for one bank."""
    lines = (one for one in cost.lines if one.shared and (one.tally is None or one.tally.worst is None or one.tally.worst > 1))
    return _first(lines, "lanes meet at a bank of shared memory", lambda tally: f"{tally.worst} times")


def contiguous(cost: Cost, want: Want) -> str:
    """Each request of a warp to global memory touches as few sectors as could hold what it moves."""
    lines = (one for one in cost.lines if not one.shared and (one.tally is None or one.tally.units != one.tally.fewest))
    return _first(lines, "the lanes of a warp do not move neighbours", lambda tally: f"{tally.units} sectors for {tally.fewest}")


def fetched(cost: Cost, want: Want) -> str:
    """Each element of an array is asked for so often at most; what lies in a workspace may be a copy of it."""
    arrays = {want.of, *(workspace.name for workspace in cost.program.workspaces)}
    asked = added(one.asked for one in cost.lines if one.array in arrays and not one.access.stores)
    size = next((flow.once // flow.item for flow in cost.flows if flow.array == want.of and not flow.stores and flow.once), 0)
    if asked.number is not None and asked.number <= want.most * size:
        return ""
    times = amount(asked.number / size) if asked.number is not None and size else "?"
    at = ", ".join(f"{name} = {number}" for name, number in cost.sizes.items())
    return f"at {at} each element of {want.of} is fetched from global memory {times} times, {want.most} are wanted"


def launches(cost: Cost, want: Want) -> str:
    """So many launches at most."""
    return "" if len(cost.launches) <= want.most else f"it has {len(cost.launches)} launches, {want.most} is wanted"


def no_atomics(cost: Cost, want: Want) -> str:
    """Without atomic updates."""
    return "it has an atomic update" if any(isinstance(s, Assign) and s.atomic for s in cost.program.steps) else ""


def exchanged(cost: Cost, want: Want) -> str:
    """Lanes of a warp exchange values."""
    return "" if any(map(shuffles, cost.program.steps)) else "no lane has a value of another one by a shuffle"


def barriers(cost: Cost, want: Want) -> str:
    """So many barriers of a block at most, as the program has them."""
    found = sum(isinstance(s, Sync) and s.scope == "block" for s in cost.program.steps)
    return (
        ""
        if found <= want.most
        else f"its program has {found} barriers, {want.most or 'none'} {'are' if want.most > 1 else 'is'} wanted"
    )


def meets(cost: Cost, want: Want) -> str:
    """Warps of a block exchange values: there is shared memory, and a barrier."""
    return shared(cost, want) or (
        "" if any(one.barriers.number != 0 for one in cost.launches) else "its warps do not meet at a barrier"
    )


def under_way(cost: Cost, want: Want) -> str:
    """Copies land later, so many groups of them are under way at once, and no turn of a loop waits for all."""
    groups = max((one.underway.groups for one in cost.launches if one.underway), default=0)
    if groups < want.most:
        return f"{groups} groups of copies are under way at once, {want.most} are wanted"
    turns = (s for loop in cost.program.steps if isinstance(loop, For) for s in steps(loop.body) if isinstance(s, Wait))
    return "each turn waits for all copies" if any(s.unit == COPY and not s.count for s in turns) else ""


def _first(lines: Iterable[Line], title: str, found: Callable[[Tally], str]) -> str:
    """The first of these accesses, with what was counted there; empty where there is none."""
    for one in lines:
        counted = f", {found(one.tally)}" if one.tally is not None and None not in (one.tally.worst, one.tally.units) else ""
        return f"{title} at {one.element}{f' in line {one.span.line}' * bool(one.span.line)}{counted}"
    return ""


CONDITIONS: dict[str, Callable[[Cost, Want], str]] = {
    "wide": wide,
    "shared": shared,
    "no_shared": no_shared,
    "no_conflicts": no_conflicts,
    "contiguous": contiguous,
    "fetched": fetched,
    "launches": launches,
    "no_atomics": no_atomics,
    "shuffles": exchanged,
    "barriers": barriers,
    "meets": meets,
    "under_way": under_way,
}
