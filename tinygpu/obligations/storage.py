"""A block has room on the hardware, and two cells of it that live together lie at two addresses.

    limits    ∏ block extents ≤ threads of the architecture        Σ words of the locals ≤ registers of a thread
              Σ bytes of the shared arrays, their pads and starts included ≤ shared memory of a block
    storage   address(x) = address(y) ⊢ x = y        0 ≤ address(x) < elements        start(a) + bytes(a) ≤ start(b) for the next array b

Comes in: the program; limits are data in `hardware/sm_*.toml`. Goes out: formulas over constants, and over the cells of each shared array before
its swizzle, which is one to one by the rule of `category.layout`. The extent of the grid depends on the sizes, so the launcher checks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import prod

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import address, elements, fault
from tinygpu.category.linear import polynomial
from tinygpu.category.region import Region, points
from tinygpu.category.term import BOOL, Axis, Const, Term, Var, conjunction, equal, lift, substitute, text
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Label
from tinygpu.hardware.arch import Arch, arch_named
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace, preconditions
from tinygpu.program.arrays import CARVE_BYTES, PATTERN_BYTES, described, in_block, shared_bytes, shared_places
from tinygpu.program.lanes import lanes_of
from tinygpu.program.step import Array, Launch, Program, arrays_in


def limits(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    arch, program = arch_named(program.arch), unpack(program)
    for launch in program.launches:
        threads = points(launch.block)
        labels = tuple(Label(a.span, "a factor of the block") for a in launch.block)
        sentence = f"a block has at most {arch.threads_per_block} threads on {arch.name}"
        title = f"a block has {text(threads)} threads; {arch.name} allows {arch.threads_per_block}"
        help = "make a factor of the block smaller, and give the rest to the grid, a register or a loop"
        hypotheses = preconditions(program)
        yield Obligation("limits", "TG401", title, sentence, hypotheses, threads <= arch.threads_per_block, labels, help)
        yield Obligation(
            "limits", "TG401", "a block has no threads", "a block has a thread", hypotheses, threads >= 1, labels, help
        )
        if launch.cluster:
            yield _cluster(launch, arch, hypotheses)
        yield _registers(program, launch, arch)
        if in_block(launch):
            yield _memory(program, launch, arch)


def _cluster(launch: Launch, arch: Arch, hypotheses: tuple[Term, ...]) -> Obligation:
    blocks, most = points(launch.ranks), arch.blocks_per_cluster
    title = f"a cluster has {text(blocks)} blocks; {arch.name} allows {most if most > 1 else 'none'}"
    help = (
        "make a factor of the cluster smaller, and give the rest to the grid"
        if most > 1
        else "name an architecture that has clusters: on sm_90"
    )
    labels = tuple(Label(a.span, "a factor of the cluster") for a in launch.ranks)
    sentence = f"a cluster has at most {most} blocks on {arch.name}"
    return Obligation("limits", "TG407", title, sentence, hypotheses, blocks <= most, labels, help)


def words_of(launch: Launch) -> Term:
    """How many registers the cells of a thread take, and its parts of fragments."""
    cells = arrays_in(launch.body, "thread")
    words = sum((prod(c.extents, start=lift(1)) * max(1, BYTES[c.dtype] // 4) for c in cells), start=lift(0))
    fragments = [(a, a.held) for a in arrays_in(launch.body, "block") if a.held is not None]
    return words + sum(held.registers * max(1, BYTES[a.dtype] // 4) for a, held in fragments)


def _registers(program: Program, launch: Launch, arch: Arch) -> Obligation:
    words = words_of(launch)
    cells = [a for a in arrays_in(launch.body, "thread", "block") if a.held_alone]
    if all(c > 0 and all(isinstance(atom, Var) for atom in m) for m, c in polynomial(words).items()):
        words = substitute(words, lanes_of(program))  # with as many lanes as there may be: fewer of them are fewer words
    labels = tuple(Label(a.span, f"{a.name} lives in registers") for a in cells)
    title = f"the cells of a thread need {text(words)} registers; it has {arch.registers_per_thread}"
    sentence = f"the cells of a thread fit its {arch.registers_per_thread} registers"
    help = "make a register factor smaller"
    return Obligation("limits", "TG402", title, sentence, preconditions(program), words <= arch.registers_per_thread, labels, help)


def _memory(program: Program, launch: Launch, arch: Arch) -> Obligation:
    size, most = shared_places(launch)[1], arch.shared_bytes_per_block_opt_in
    arrays = in_block(launch)
    labels = tuple(Label(s.span, f"{s.name} takes {shared_bytes(s)} bytes") for s in arrays)
    title = f"the shared arrays of a block take {size} bytes; {arch.name} allows {most}"
    sentence = f"the shared arrays of a block fit its {most} bytes"
    help = "make a tile smaller, or name an architecture that has more with `on`"
    return Obligation("limits", "TG406", title, sentence, preconditions(program), lift(size) <= most, labels, help)


def storage(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for launch in unpack(program).launches:
        arrays = in_block(launch)
        for array in arrays:
            yield from _layout(array)
        yield from _apart(launch, arrays)


def _layout(array: Array) -> Iterator[Claim]:
    """Cells of one array have addresses of their own, inside of it."""
    label = (Label(array.span, "declared here"),)
    help = "leave out the layout, or take another pad or swizzle"
    title = f"two cells of {array.name} lie at one address"
    wrong = fault(array.extents, array.layout)
    sentence = f"the swizzle of {array.name} is one to one"
    yield Obligation("storage", "TG307", title, sentence, (), Const(not wrong, BOOL), label, wrong or help)
    if not array.extents:
        return
    plain = array.layout.plain
    one, two = (tuple(Axis(f"{array.name}.{a}{mark}", e) for a, e in enumerate(array.extents)) for mark in ("", "~"))
    first, second = (address(array.extents, plain, tuple(Var(a.name) for a in axes)) for axes in (one, two))
    same = conjunction(*(equal(Var(a.name), Var(b.name)) for a, b in zip(one, two, strict=True)))
    hypotheses = (*Region((*one, *two)).facts, equal(first, second))
    sentence = f"two cells of {array.name} have two addresses"
    yield Obligation("storage", "TG307", title, sentence, hypotheses, same, label, help)
    inside = conjunction(first >= 0, first < elements(array.extents, array.layout))
    title, sentence = f"a cell of {array.name} lies outside of it", f"the cells of {array.name} lie inside of it"
    yield Obligation("storage", "TG307", title, sentence, Region(one).facts, inside, label, help)


def _apart(launch: Launch, arrays: tuple[Array, ...]) -> Iterator[Claim]:
    """The arrays of a launch share no byte, and start where every access is aligned."""
    (places, _), patterned = shared_places(launch), described(launch)
    for one, two in pairwise(sorted(arrays, key=lambda a: places[a.name])):
        start: Term = lift(places[two.name])
        whole = PATTERN_BYTES if two.name in patterned else CARVE_BYTES
        goal = conjunction(start >= places[one.name] + shared_bytes(one), equal(start % whole, 0))
        labels = (Label(one.span, "one array"), Label(two.span, "and another"))
        title = f"{one.name} and {two.name} share memory"
        sentence = f"{two.name} starts after {one.name} ends"
        yield Obligation("storage", "TG307", title, sentence, (), goal, labels)
