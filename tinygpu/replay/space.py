"""The hardware has room, cells have addresses of their own, and the program is about something.

    ∏ block ≤ threads     Σ words of locals ≤ registers     Σ bytes of shared arrays ≤ shared memory        (limits, of the architecture)
    address(x) = address(y) ⊢ x = y        0 ≤ address(x) < elements                                         (storage, with pads and swizzles)
    some sizes satisfy the preconditions, and every store is reached                                         (vacuity)

Comes in: a machine. Goes out: claims. Limits are data of the project, one file for each architecture; a machine that names none fits all.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from math import prod

from tinygpu.replay.events import events
from tinygpu.replay.ir import (
    INDEX,
    ONE,
    TRUE,
    ZERO,
    Axis,
    Claim,
    Fold,
    Inhabited,
    Num,
    Op,
    Open,
    Stated,
    Term,
    Var,
    both,
    compare,
    walk,
    within,
)
from tinygpu.replay.program import Array, Launch, Machine
from tinygpu.replay.smt import Written
from tinygpu.replay.width import spelled

BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "u8": 1, "i8": 1, "bool": 1}
CARVED = 16  # the shared arrays of a launch lie in one memory, each at a multiple of this
BITS = 32  # of an address


def stated(machine: Machine) -> Iterator[Stated | Written]:
    """The claims of these properties."""
    yield from vacuity(machine)
    for launch in machine.launches:
        sized = tuple(a for a in launch.arrays if all(isinstance(e, Num) and e.value >= 1 for e in a.extents))
        for array in launch.arrays:
            if array not in sized:
                yield Open("limits", "TG155", f"the extents of {array.name} are no numbers")
        cells = tuple(cell for a in sized for cell in unpacked(machine, a))
        yield from limits(machine, launch, cells)
        for cell in cells:
            if cell.space == "shared":
                yield from storage(cell)


def unpacked(machine: Machine, array: Array) -> Iterator[Array]:
    """The arrays that hold the components of an array of tuples."""
    if array.dtype not in machine.monoids:
        yield array
        return
    for name, dtype in machine.monoids[array.dtype].components:
        yield Array(array.space, f"{array.name}.{name}", dtype, array.extents, array.pad, array.swizzle, array.span)


# ── limits ──


@cache
def allowed(arch: str) -> dict[str, int]:
    """The limits of an architecture, of `sm_90a` those of `sm_90`; without a name the least of each GPU."""
    found = []
    for file in sorted(files("tinygpu.hardware").iterdir(), key=lambda f: f.name):
        name = file.name.removesuffix(".toml")
        if file.name.endswith(".toml") and (name in (arch, arch.rstrip("af")) if arch else name.startswith("sm_")):
            found.append(tomllib.loads(file.read_text(encoding="utf-8"))["limits"])
    return {name: min(int(one[name]) for one in found) for name in found[0]} if found else {}


def limits(machine: Machine, launch: Launch, cells: tuple[Array, ...]) -> Iterator[Stated]:
    """Threads, registers and shared memory of one launch."""
    most = allowed(machine.arch)
    if not most:
        yield Open("limits", "TG401", f"an architecture {machine.arch}")
        return
    threads: Term = ONE
    for axis in launch.block:
        threads = Op("mul", (threads, axis.extent), INDEX)
    room = most["threads_per_block"]
    goal = both(compare("ge", threads, ONE), compare("le", threads, Num(room)))
    yield Claim("limits", "TG401", f"a block has from 1 to {room} threads", (), machine.facts, goal)
    words = [prod(sizes(a)) * (2 if BYTES[a.dtype] == 8 else 1) for a in cells if a.space == "local"]
    room = most["registers_per_thread"]
    yield Claim(
        "limits", "TG402", f"the cells of a thread fit its {room} registers", (), (), compare("le", total(words), Num(room))
    )
    taken, start = [], 0
    for array in (a for a in cells if a.space == "shared"):
        place = -(-start // CARVED) * CARVED
        taken += [place - start, elements(array) * BYTES[array.dtype]]
        start = place + taken[-1]
    room = most["shared_bytes_per_block_opt_in"]
    if taken:
        yield Claim("limits", "TG406", f"the shared arrays fit {room} bytes", (), (), compare("le", total(taken), Num(room)))


def total(numbers: list[int]) -> Term:
    """A sum that is written out, for the solvers to add up."""
    return Op("add", (ZERO, ZERO, *map(Num, numbers)), INDEX)


def sizes(array: Array) -> tuple[int, ...]:
    return tuple(int(e.value) for e in array.extents if isinstance(e, Num))


# ── storage ──


def strides(array: Array) -> tuple[int, ...]:
    """The distance of neighbours along each axis: row-major, with the pad after each row of the last."""
    shape = sizes(array)
    rows = [*shape[:-1], shape[-1] + array.pad] if shape else []
    return tuple(prod(rows[position + 1 :]) for position in range(len(rows)))


def elements(array: Array) -> int:
    """How many elements are set aside: all rows with their pads, in whole blocks of the swizzle."""
    shape = sizes(array)
    rows = prod((*shape[:-1], shape[-1] + array.pad)) if shape else 1
    block = 2 ** (array.swizzle[0] + array.swizzle[1]) if array.swizzle else 1
    return -(-rows // block) * block


def storage(array: Array) -> Iterator[Stated | Written]:
    """Cells have addresses of their own; of a swizzle it is asked in bits."""
    names = [f"x{place}" for place in range(len(array.extents))]
    axes = tuple(Axis(n, e) for n, e in zip(names, array.extents, strict=True))
    other = tuple(Axis(f"{a.name}~", a.extent) for a in axes)
    place = {mark: total([]) for mark in ("", "~")}
    for name, stride in zip(names, strides(array), strict=True):
        for mark in place:
            place[mark] = Op("add", (place[mark], Op("mul", (Var(name + mark), Num(stride)), INDEX)), INDEX)
    known: tuple[Term, ...] = (compare("eq", place[""], place["~"]), compare("ge", Num(array.pad), ZERO))
    for name in names:
        goal = compare("eq", Var(name), Var(f"{name}~"))
        yield Claim("storage", "TG307", f"cells of {array.name} at one address have one {name}", (*axes, *other), known, goal)
        known = (*known, goal)
    inside = both(compare("ge", Num(array.pad), ZERO), within(place[""], Num(elements(array))))
    yield Claim("storage", "TG307", f"the cells of {array.name} lie inside of it", axes, (), inside)
    if array.swizzle:
        yield from swizzled(array, *array.swizzle)


def swizzled(array: Array, bits: int, base: int, shift: int) -> Iterator[Stated | Written]:
    """The swizzle gives two addresses two places, all of them among the elements that are set aside."""
    if bits < 1 or base < 0 or shift < 0 or base + shift + bits > BITS:
        yield Open("storage", "TG158", f"the swizzle of {array.name} changes no bits of an address")
        return
    sort = f"(_ BitVec {BITS})"

    def number(value: int) -> str:
        return f"(_ bv{value} {BITS})"

    def place(a: str) -> str:
        taken = f"(bvand (bvlshr {a} {number(base + shift)}) {number(2**bits - 1)})"
        return f"(bvxor {a} (bvshl {taken} {number(base)}))"

    begin = f"(set-logic ALL)\n(declare-const |a| {sort})\n(declare-const |b| {sort})\n"
    begin += "".join(f"(assert (bvult |{x}| {number(elements(array))}))\n" for x in "ab")
    goals = (
        ("has two places for two addresses", f"(or (= |a| |b|) (distinct {place('|a|')} {place('|b|')}))"),
        ("stays in the memory that is set aside", f"(bvult {place('|a|')} {number(elements(array))})"),
    )
    for sentence, goal in goals:
        text = f"{begin}(assert (not {goal}))\n(check-sat)"
        yield Written("storage", "TG307", f"the swizzle of {array.name} {sentence}", text)


# ── vacuity ──


def vacuity(machine: Machine) -> Iterator[Stated]:
    """Some sizes, none of them 0; every promise can be kept; every store to global memory is reached."""
    facts = (*machine.facts, *(compare("ge", Var(s), ONE) for s in machine.op.sizes))
    yield Inhabited("vacuity", "TG511", "some sizes, all at least 1, satisfy the preconditions", (), facts)
    for promise in machine.op.promises:
        for part in walk(promise):
            if isinstance(part, Fold):
                sentence = "what is promised of the data can be"
                yield Inhabited("vacuity", "TG511", sentence, part.binders, (*facts, part.guard, part.body))
    for launch in machine.launches:
        own = {a.name for a in launch.arrays}
        for event in events(machine, launch)[1]:
            if event.word == "write" and event.array not in own:
                said = [g for g in event.guard if g != TRUE]
                sentence = f"the store to {event.array}[{', '.join(map(spelled, event.index))}] is reached"
                yield Inhabited("vacuity", "TG512", sentence, event.axes, (*machine.facts, *said))
