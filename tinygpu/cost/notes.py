"""Notes: what makes a machine slower than it need be, each with the place, the number and a way out. Never an error.

Comes in: a cost, and what is known of a device. Goes out: diagnostics TG601 to TG615, in the order of the text.
The one idea: one function for each note, and none says more than was counted; what is said are rows of `grammar/messages.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.term import Const, reads, text, variables
from tinygpu.cost.counted import Count
from tinygpu.cost.layouts import said, without_conflicts
from tinygpu.cost.measure import SECTOR, Cost, Line
from tinygpu.cost.on_device import Filled, hidden
from tinygpu.cost.passing import Passing, passing
from tinygpu.cost.seen import Seen, matters
from tinygpu.cost.table import amount, bytes_of
from tinygpu.cost.warps import asked_again
from tinygpu.derive.wide import Wide, hoisted, wide_accesses, wide_in
from tinygpu.diagnostic import Diagnostic
from tinygpu.hardware.arch import Device, copies_later
from tinygpu.model.problems import counted
from tinygpu.program.arrays import strides
from tinygpu.program.call import Sync
from tinygpu.program.cluster import shared_along
from tinygpu.program.instruction import MOST_GROUPS
from tinygpu.program.ring import sections
from tinygpu.program.step import For, steps
from tinygpu.program.traverse import walk_steps
from tinygpu.record import replace

SECTORS = 2.0  # of those that could hold what is touched: more is a note
AGAIN = 1.5  # how often a block may ask for a sector
CACHED = 4096  # bytes of an array that any first-level cache keeps for a block: less is no note
OCCUPANCY = 0.25
IDLE = 0.25  # of the lanes
WORK = 16  # operations and accesses of a thread between two barriers
BARRIERS = 16  # of a thread: fewer are no note
MEET = 1024  # blocks that update one element


MORE = {  # what is said under a note
    "TG603": ("caches may serve what is asked for again; nothing promises that they do",),
    "TG606": ("a thread that has much to do at once hides its waiting itself: then this costs nothing",),
}


def notes(cost: Cost, device: Device | None = None, on: Sequence[Filled] = ()) -> tuple[Diagnostic, ...]:
    """`cost → what could be better`; those about occupancy and waves only where a device is given."""
    seen = Seen(cost, device, on)
    for rule in RULES:
        rule(seen)
    found = (replace(d, verdict="note", notes=MORE.get(d.code, ())) for d in seen.problems.found)
    return tuple(sorted(found, key=lambda n: (n.span.line, n.span.column, n.code)))


def scattered(seen: Seen) -> None:
    """TG601."""
    elsewhere = {(wide.tensor, wide.stores) for wide in (*_short_rows(seen), *(w for _, w in _all_narrow(seen)))}
    for line in seen.cost.lines:
        tally = line.tally
        if line.shared or tally is None or not tally.fewest or tally.units is None or not matters(seen, line):
            continue
        if (line.array, line.access.stores) in elsewhere:
            continue  # TG604 or TG605 says why
        if tally.units > SECTORS * tally.fewest:
            words = {"name": line.array, "each": tally.units / tally.requests, "best": tally.fewest / tally.requests}
            message = "TG601.store" if line.access.stores else "TG601.read"
            seen.problems.say(message, line.span, element=line.element, requests=amount(tally.requests), **words)


def conflicting(seen: Seen) -> None:
    """TG602."""
    for line in seen.cost.lines:
        if line.shared and line.tally is not None and (line.tally.worst or 0) > 1:
            what = f"{line.access.by} of" if line.access.by else "store to" if line.access.stores else "read of"
            words = {"what": what, "name": line.array, "turns": line.tally.worst, "element": line.element}
            layout = without_conflicts(seen.cost, line.array)
            seen.problems.say(
                "TG602.layout" if layout else "TG602.turns", line.span, layout=said(layout) if layout else "", **words
            )


def repeated(seen: Seen) -> None:
    """TG603."""
    cost = seen.cost
    for number, launch in enumerate(cost.program.launches):
        read = [one for one in cost.lines if one.launch == number and not one.shared and not one.access.stores]
        for name in dict.fromkeys(one.array for one in read):
            lines = [one for one in read if one.array == name]
            if not any(matters(seen, one) for one in lines) or any(reads(made.where.guard) for one in lines for made in one.made):
                continue  # where data say how often, nobody knows
            touched, different = asked_again(launch, [made for one in lines for made in one.made], cost.sizes) or (0, 0)
            if different * SECTOR > CACHED and touched > AGAIN * different:
                worst = max(lines, key=lambda one: one.moved or 0)
                moved = bytes_of(sum(one.moved or 0 for one in lines))
                times = touched / different
                seen.problems.say("TG603.again", worst.span, name=name, times=times, element=worst.element, moved=moved)


def narrow(seen: Seen) -> None:
    """TG604."""
    for loop, wide in _all_narrow(seen):
        what, done = ("store", "stored") if wide.stores else ("read", "read")
        span = wide.access.span if wide.access.span.line else loop.span
        seen.problems.say("TG604.vector", span, name=wide.tensor, what=what, done=done, bytes=wide.bytes, axis=loop.axis.name)


def _all_narrow(seen: Seen) -> Iterator[tuple[For, Wide]]:
    """Loops over a thread's own neighbours that are not declared to be vectors, with an access that then would be wide."""
    program = seen.cost.program
    for number, launch in enumerate(program.launches):
        for step, here, _ in walk_steps(launch.body, Region(launch.axes)):
            own = isinstance(step, For) and step.axis.sort == "register" and isinstance(step.axis.extent, Const)
            if isinstance(step, For) and own and not any(a.sort == "vector" for a in here.axes):
                _, loop = hoisted(step, here.names | set(program.op.sizes))
                yield from ((step, w) for w in wide_in(program, number, loop, here.axes) if not w.shared)


def not_taken(seen: Seen) -> None:
    """TG605."""
    for wide in _short_rows(seen):
        assert wide.row is not None
        row, value = text(wide.row), str(evaluate(wide.row, seen.cost.sizes))
        row += f" = {value}" * (row != value)
        seen.problems.say("TG605.row", wide.access.span, name=wide.tensor, row=row, lanes=wide.lanes, bytes=wide.bytes)


def _short_rows(seen: Seen) -> tuple[Wide, ...]:
    """The wide accesses that the launcher does not allow, because of their own rows."""
    cost = seen.cost
    if cost.wide is not False:
        return ()
    rows = [w for w in wide_accesses(cost.program) if not w.shared and w.row is not None]
    return tuple(w for w in rows if w.row is not None and evaluate(w.row, cost.sizes) % w.lanes)


LIMITED = {"registers": "TG606.registers", "shared memory": "TG606.shared", "threads": "TG606.threads", "blocks": "TG606.blocks"}


def unoccupied(seen: Seen) -> None:
    """TG606."""
    for number, one in enumerate(seen.on):
        held = one.resident
        if one.assembled is not None and held is not None and held.share < OCCUPANCY:
            words = {"warps": held.warps, "most": held.most, "share": f"{held.share:.0%}", "blocks": counted(held.blocks, "block")}
            seen.problems.say(LIMITED[held.because], seen.place(number), **words)


def few_blocks(seen: Seen) -> None:
    """TG607."""
    if seen.device is None:
        return
    cost, many = seen.cost, seen.device.multiprocessors
    asked = [sum(one.moved or 0 for one in cost.lines if one.launch == n and not one.shared) for n in range(len(cost.launches))]
    for number, launch in enumerate(cost.launches):
        blocks = launch.blocks.number
        if blocks is not None and blocks < many and asked[number] >= 0.1 * max(1, sum(asked)):
            seen.problems.say("TG607.blocks", seen.place(number), blocks=counted(blocks, "block"), many=many, idle=many - blocks)


def idle(seen: Seen) -> None:
    """TG608."""
    cost = seen.cost
    for number, launch in enumerate(cost.launches):
        whole = -(-launch.threads // 32) * 32
        if launch.threads and (whole - launch.threads) / whole >= IDLE and (launch.blocks.number or 0) > 1:
            lanes = whole - launch.threads
            seen.problems.say("TG608.block", seen.place(number), lanes=lanes, whole=whole, threads=launch.threads)
            continue
        if sections(cost.program.launches[number].body):  # who has boxes copied is idle for the rest
            continue
        shares = [s for one in cost.lines if one.launch == number and (s := _share(cost, one)) is not None]
        if shares and max(shares) < 1 - IDLE:
            seen.problems.say("TG608.outside", seen.place(number), share=f"{1 - max(shares):.0%}")


def _share(cost: Cost, line: Line) -> float | None:
    """The lanes that take part in an access by those that come to it."""
    if line.shared or line.asked.number is None or not line.asked.exact:
        return None
    launch, loops = cost.program.launches[line.launch], line.access.where.axes
    if any(variables(a.extent) - cost.sizes.keys() for a in loops):
        return None
    slots = prod(max(0, evaluate(a.extent, cost.sizes)) for a in (*launch.grid, *launch.block, *loops))
    return line.asked.number / slots if slots else None


def many_barriers(seen: Seen) -> None:
    """TG609."""
    cost = seen.cost
    if len(cost.launches) != 1:
        return
    launch = cost.launches[0]
    barriers, threads = launch.barriers.number or 0, launch.threads * (launch.blocks.number or 0)
    counts: list[Count] = [c for _, _, c in cost.operations] + [one.asked for one in cost.lines]
    if barriers < BARRIERS or not threads or any(c.number is None for c in counts):
        return
    work = sum(c.number or 0 for c in counts) / threads / barriers
    if work < WORK:
        seen.problems.say("TG609.barriers", seen.place(0), barriers=amount(barriers), work=f"{work:.2g}")


def crowded(seen: Seen) -> None:
    """TG610."""
    for line in seen.cost.lines:
        if not line.access.atomic or line.tally is None or line.tally.meeting is None:
            continue
        launch = seen.cost.program.launches[line.launch]
        blocks = seen.cost.launches[line.launch].blocks.number or 0
        alike = not {v for i in line.access.index for v in variables(i)} & {a.name for a in launch.grid}
        if line.tally.meeting > 1:
            seen.problems.say("TG610.lanes", line.span, lanes=line.tally.meeting, name=line.array, element=line.element)
        elif alike and not line.shared and blocks >= MEET:
            elements = "element" + "s" * bool(line.access.index)
            words = {"blocks": amount(blocks), "elements": elements, "name": line.array, "element": line.element}
            seen.problems.say("TG610.blocks", line.span, **words)


def spilled(seen: Seen) -> None:
    """TG611."""
    for number, one in enumerate(seen.on):
        if (code := one.assembled) is not None and (code.spill_bytes or code.stack_bytes):
            message = "TG611.spills" if code.spill_bytes else "TG611.stack"
            bytes_ = code.spill_bytes or code.stack_bytes
            seen.problems.say(message, seen.place(number), bytes=bytes_, registers=code.registers)


def lane_by_lane(seen: Seen) -> None:
    """TG612."""
    program, paces = seen.cost.program, strides(seen.cost.program.op)
    inputs, outputs = (tuple(replace(t, strided=False) for t in some) for some in (program.op.inputs, program.op.outputs))
    rows = replace(program, op=replace(program.op, inputs=inputs, outputs=outputs))
    for wide in wide_accesses(rows) if paces else ():
        if wide.tensor in paces:
            done = "stored" if wide.stores else "read"
            seen.problems.say("TG612.vector", wide.access.span, name=wide.tensor, done=done, bytes=wide.bytes, axis=wide.axis.name)


def shallow(seen: Seen) -> None:
    """TG613."""
    for number, one in enumerate(seen.on):
        ahead, found = seen.cost.launches[number].underway, seen.device and hidden(seen.cost, number, seen.device, one)
        if ahead is None or not found or found.underway >= found.needs:
            continue
        span = next((c.span for c in seen.cost.lines if c.launch == number and c.copied and c.span.line), seen.place(number))
        words = {"under": bytes_of(found.underway), "needs": bytes_of(found.needs), "largest": bytes_of(ahead.largest)}
        groups, blocks = counted(ahead.groups, "group"), counted(found.blocks, "block")
        enough = counted(found.groups, "group")
        message = "TG613.depth" if found.groups <= MOST_GROUPS else "TG613.size"
        seen.problems.say(message, span, groups=groups, blocks=blocks, enough=enough, slots=found.groups + 1, **words)


def in_registers(seen: Seen) -> None:
    """TG614."""
    program, found = seen.cost.program, dict[tuple[str, str, str], tuple[Passing, Line]]()
    if (seen.device and not seen.device.copies) or not copies_later(program.machine.arch if program.machine else ""):
        return
    for number in range(len(program.launches)):
        lines = {(one.array, one.access.index): one for one in seen.cost.lines if one.launch == number and not one.access.stores}
        for one in passing(program, number):
            line = lines.get((one.element.tensor, one.element.index))
            if line is not None and (line.moved is None or matters(seen, line)):
                found[one.step.target, one.element.tensor, one.row] = one, line  # of a ring's copies those in its loop
    for one, line in found.values():
        span = next((s for s in (one.step.span, line.span) if s.line), seen.place(line.launch))
        seen.problems.say(one.row, span, **one.words)


def alone(seen: Seen) -> None:
    """TG615."""
    for launch in seen.cost.program.launches:
        if launch.cluster and not any(shared_along(launch, s) for s in steps(launch.body) if isinstance(s, Sync)):
            seen.problems.say("TG615.nothing", launch.ranks[0].span, names=[a.name for a in launch.ranks])


RULES: tuple[Callable[[Seen], None], ...] = (
    scattered, conflicting, repeated, narrow, not_taken, unoccupied, few_blocks, idle, many_barriers, crowded, spilled, lane_by_lane, shallow,
    in_registers, alone,
)  # fmt: skip
