"""Notes: what makes a machine slower than it need be, each with the place, the number and a way out. Never an error.

Comes in: a cost, and what is known of a device. Goes out: diagnostics TG601 to TG611, in the order of the text.
The one idea: one function for each note, and none says more than was counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.term import Const, text, variables
from tinygpu.cost.counting import Count
from tinygpu.cost.measure import SECTOR, Cost, Line
from tinygpu.cost.predict import Filled
from tinygpu.cost.table import amount, bytes_of
from tinygpu.cost.warps import asked_again
from tinygpu.derive.wide import Wide, hoisted, wide_accesses, wide_in
from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.hardware.arch import Device
from tinygpu.program.step import For
from tinygpu.program.traverse import walk_steps
from tinygpu.record import dataclass

SECTORS = 2.0  # of those that could hold what is touched: more is a note
AGAIN = 1.5  # how often a block may ask for a sector
CACHED = 4096  # bytes of an array that any first-level cache keeps for a block: less is no note
MATTERS = 0.02  # of all bytes moved: less is no note
OCCUPANCY = 0.25
IDLE = 0.25  # of the lanes
WORK = 16  # operations and accesses of a thread between two barriers
BARRIERS = 16  # of a thread: fewer are no note
MEET = 1024  # blocks that update one element


@dataclass(frozen=True, slots=True)
class Seen:
    """What the notes are about."""

    cost: Cost
    device: Device | None
    on: Sequence[Filled]

    def place(self, launch: int) -> Span:
        """Where a launch stands."""
        program = self.cost.program
        here = program.launches[launch].span
        machine = program.machine.span if program.machine else program.span
        return next((s for s in (here, program.span, machine) if s.line), here)


def notes(cost: Cost, device: Device | None = None, on: Sequence[Filled] = ()) -> tuple[Diagnostic, ...]:
    """`cost → what could be better`; those about occupancy and waves only where a device is given."""
    seen = Seen(cost, device, on)
    found: dict[tuple[str, str, Span], Diagnostic] = {}
    for rule in RULES:
        for note in rule(seen):
            found.setdefault((note.code, note.title, note.span), note)
    return tuple(sorted(found.values(), key=lambda n: (n.span.line, n.span.column, n.code)))


def _note(code: str, title: str, span: Span, text: str, help: str, *more: str) -> Diagnostic:
    return Diagnostic(code, title, (Label(span, text),), "note", notes=more, helps=(help,))


def _matters(seen: Seen, line: Line) -> bool:
    total = seen.cost.moved
    return line.moved is not None and (total is None or line.moved >= MATTERS * total)


def scattered(seen: Seen) -> Iterator[Diagnostic]:
    """TG601."""
    elsewhere = {(wide.tensor, wide.stores) for wide in (*_short_rows(seen), *(w for _, w in _all_narrow(seen)))}
    for line in seen.cost.lines:
        tally = line.tally
        if line.shared or tally is None or not tally.fewest or tally.units is None or not _matters(seen, line):
            continue
        if (line.array, line.access.stores) in elsewhere:
            continue  # TG604 or TG605 says why
        if tally.units > SECTORS * tally.fewest:
            each, best = tally.units / tally.requests, tally.fewest / tally.requests
            what = "store" if line.access.stores else "read"
            title = f"a warp's {what} of {line.array} touches {each:.3g} sectors, and {best:.3g} could hold it"
            help = "let neighbours of a block differ in the last index" + (
                "; or turn a tile round in shared memory, as specs/transpose.tgpu does"
                if line.access.stores
                else "; or copy a tile into shared memory (stage) in its own order"
            )
            yield _note("TG601", title, line.span, f"{line.element}, {amount(tally.requests)} requests", help)


def conflicting(seen: Seen) -> Iterator[Diagnostic]:
    """TG602."""
    for line in seen.cost.lines:
        if line.shared and line.tally is not None and (line.tally.worst or 0) > 1:
            what = "store to" if line.access.stores else "read of"
            title = f"a warp's {what} {line.array} takes up to {line.tally.worst} turns instead of 1"
            help = f"give {line.array} a pad or a swizzle in its layout, so that these lanes lie in different banks"
            yield _note("TG602", title, line.span, f"{line.element} lies in the same banks for several lanes", help)


def repeated(seen: Seen) -> Iterator[Diagnostic]:
    """TG603."""
    cost = seen.cost
    for number, launch in enumerate(cost.program.launches):
        read = [one for one in cost.lines if one.launch == number and not one.shared and not one.access.stores]
        for name in dict.fromkeys(one.array for one in read):
            lines = [one for one in read if one.array == name]
            if not any(_matters(seen, one) for one in lines):
                continue
            touched, different = asked_again(launch, [made for one in lines for made in one.made], cost.sizes) or (0, 0)
            if different * SECTOR > CACHED and touched > AGAIN * different:
                times = touched / different
                worst = max(lines, key=lambda one: one.moved or 0)
                moved = bytes_of(sum(one.moved or 0 for one in lines))
                title = f"a block asks for each sector of {name} {times:.3g} times"
                help = (
                    f"keep it in registers, or copy a tile of {name} into shared memory (stage) once for all threads of the block"
                )
                said = "caches may serve what is asked for again; nothing promises that they do"
                yield _note("TG603", title, worst.span, f"{worst.element}: {moved} in all", help, said)


def narrow(seen: Seen) -> Iterator[Diagnostic]:
    """TG604."""
    for loop, wide in _all_narrow(seen):
        what = "store" if wide.stores else "read"
        title = f"{wide.tensor} could be {'stored' if wide.stores else 'read'} {wide.bytes} bytes at once"
        span = wide.access.span if wide.access.span.line else loop.span
        said = f"a thread's neighbours in {loop.axis.name}, one {what} each"
        yield _note("TG604", title, span, said, f"declare {loop.axis.name} as vector instead of register")


def _all_narrow(seen: Seen) -> Iterator[tuple[For, Wide]]:
    """Loops over a thread's own neighbours that are not declared to be vectors, with an access that then would be wide."""
    program = seen.cost.program
    for number, launch in enumerate(program.launches):
        for step, here, _ in walk_steps(launch.body, Region(launch.grid + launch.block)):
            own = isinstance(step, For) and step.axis.sort == "register" and isinstance(step.axis.extent, Const)
            if isinstance(step, For) and own and not any(a.sort == "vector" for a in here.axes):
                _, loop = hoisted(step, here.names | set(program.op.sizes))
                yield from ((step, w) for w in wide_in(program, number, loop, here.axes) if not w.shared)


def not_taken(seen: Seen) -> Iterator[Diagnostic]:
    """TG605."""
    for wide in _short_rows(seen):
        assert wide.row is not None
        value = evaluate(wide.row, seen.cost.sizes)
        title = f"{wide.tensor} moves element by element at these sizes"
        said = f"a row has {text(wide.row)}{f' = {value}' if text(wide.row) != str(value) else ''} elements"
        help = f"rows whose length is a multiple of {wide.lanes} move {wide.bytes} bytes at once"
        yield _note("TG605", title, wide.access.span, f"{said}, which is no multiple of {wide.lanes}", help)


def _short_rows(seen: Seen) -> tuple[Wide, ...]:
    """The wide accesses that the launcher does not allow, because of their own rows."""
    cost = seen.cost
    if cost.wide is not False:
        return ()
    rows = [w for w in wide_accesses(cost.program) if not w.shared and w.row is not None]
    return tuple(w for w in rows if w.row is not None and evaluate(w.row, cost.sizes) % w.lanes)


def unoccupied(seen: Seen) -> Iterator[Diagnostic]:
    """TG606."""
    more = {
        "registers": "fewer elements a thread leave more registers to others",
        "shared memory": "smaller tiles, or fewer turns of them, leave shared memory to other blocks",
        "threads": "blocks whose threads divide those of a multiprocessor leave fewer unused",
        "blocks": "more threads a block fill a multiprocessor with fewer blocks",
    }
    for number, one in enumerate(seen.on):
        held = one.resident
        if held is not None and held.share < OCCUPANCY:
            title = f"a multiprocessor holds {held.warps} of {held.most} warps: {held.share:.0%}"
            limit = f"{held.blocks} block{'s' * (held.blocks != 1)} at once; the limit is {held.because}"
            said = "a thread that has much to do at once hides its waiting itself: then this costs nothing"
            yield _note("TG606", title, seen.place(number), limit, more[held.because], said)


def few_blocks(seen: Seen) -> Iterator[Diagnostic]:
    """TG607."""
    if seen.device is None:
        return
    cost = seen.cost
    asked = [sum(one.moved or 0 for one in cost.lines if one.launch == n and not one.shared) for n in range(len(cost.launches))]
    for number, launch in enumerate(cost.launches):
        blocks = launch.blocks.number
        if blocks is not None and blocks < seen.device.multiprocessors and asked[number] >= 0.1 * max(1, sum(asked)):
            title = f"{blocks} block{'s' * (blocks != 1)} for {seen.device.multiprocessors} multiprocessors"
            said = f"{seen.device.multiprocessors - blocks} of them have nothing to do at these sizes"
            help = "spread a fold over the grid (two launches, or atomic updates), or give a block less to do"
            yield _note("TG607", title, seen.place(number), said, help)


def idle(seen: Seen) -> Iterator[Diagnostic]:
    """TG608."""
    cost = seen.cost
    for number, launch in enumerate(cost.launches):
        whole = -(-launch.threads // 32) * 32
        if launch.threads and (whole - launch.threads) / whole >= IDLE and (launch.blocks.number or 0) > 1:
            title = f"{whole - launch.threads} of {whole} lanes of a block have no thread"
            said = f"{launch.threads} threads a block"
            yield _note("TG608", title, seen.place(number), said, "blocks of a multiple of 32 threads fill their warps")
            continue
        shares = [s for one in cost.lines if one.launch == number and (s := _share(cost, one)) is not None]
        if shares and max(shares) < 1 - IDLE:
            title = f"{1 - max(shares):.0%} of the lanes are outside at these sizes"
            said = "no access has more lanes that take part"
            help = "a smaller tile, or a block of another shape, leaves fewer lanes outside of the arrays"
            yield _note("TG608", title, seen.place(number), said, help)


def _share(cost: Cost, line: Line) -> float | None:
    """The lanes that take part in an access by those that come to it."""
    if line.shared or line.asked.number is None or not line.asked.exact:
        return None
    launch, loops = cost.program.launches[line.launch], line.access.where.axes
    if any(variables(a.extent) - cost.sizes.keys() for a in loops):
        return None
    slots = prod(max(0, evaluate(a.extent, cost.sizes)) for a in (*launch.grid, *launch.block, *loops))
    return line.asked.number / slots if slots else None


def many_barriers(seen: Seen) -> Iterator[Diagnostic]:
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
        title = f"a thread meets {amount(barriers)} barriers, and does {work:.2g} things between two of them"
        help = "more elements a thread, larger tiles, or shuffles and warp barriers, make barriers fewer"
        yield _note("TG609", title, seen.place(0), "operations and accesses to memory count", help)


def crowded(seen: Seen) -> Iterator[Diagnostic]:
    """TG610."""
    for line in seen.cost.lines:
        if not line.access.atomic or line.tally is None or line.tally.meeting is None:
            continue
        launch = seen.cost.program.launches[line.launch]
        blocks = seen.cost.launches[line.launch].blocks.number or 0
        alike = not {v for i in line.access.index for v in variables(i)} & {a.name for a in launch.grid}
        if line.tally.meeting > 1:
            title = f"{line.tally.meeting} lanes of a warp update one element of {line.array}"
            help = "combine the lanes first, by shuffles: then one of them updates"
            yield _note("TG610", title, line.span, f"{line.element} waits for each of them", help)
        elif alike and not line.shared and blocks >= MEET:
            title = f"{amount(blocks)} blocks update the same element{'s' * bool(line.access.index)} of {line.array}"
            help = "let a block do more before it updates, or leave the parts in a workspace for a second launch"
            yield _note("TG610", title, line.span, f"{line.element}, one update after the other", help)


def spilled(seen: Seen) -> Iterator[Diagnostic]:
    """TG611."""
    for number, one in enumerate(seen.on):
        if one.assembled is not None and (one.assembled.spill_bytes or one.assembled.stack_bytes):
            code = one.assembled
            what = (
                f"{code.spill_bytes} bytes of registers are spilled" if code.spill_bytes else f"a stack of {code.stack_bytes} bytes"
            )
            said = f"{code.registers} registers a thread"
            help = "fewer elements a thread, or fewer threads a block, and what a thread holds stays in registers"
            yield _note("TG611", f"{what}: local memory is memory", seen.place(number), said, help)


RULES: tuple[Callable[[Seen], Iterator[Diagnostic]], ...] = (
    scattered, conflicting, repeated, narrow, not_taken, unoccupied, few_blocks, idle, many_barriers, crowded, spilled,
)  # fmt: skip
