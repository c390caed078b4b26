"""The hardware has room: threads of a block, cells of a thread, memory of a block.

    ∏ block extents ≤ threads of the architecture        Σ words of the locals ≤ registers of a thread
    Σ bytes of the shared arrays, their pads and starts included ≤ shared memory of a block

Comes in: the program; the limits are data in `hardware/sm_*.toml`. Goes out: formulas over constants. The extent of the grid
depends on the sizes, so the launcher checks it; `Launch.blocks` is what it compares with `GRID_BLOCKS`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.dtype import BYTES
from tinygpu.category.term import Const, Term, lift, text
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Label
from tinygpu.hardware.arch import Arch, arch_named
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.program.arrays import shared_bytes, shared_places
from tinygpu.program.step import Launch, Local, Program, Shared, steps


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    arch, program = arch_named(program.arch), unpack(program)
    for launch in program.launches:
        threads = product(tuple(a.extent for a in launch.block))
        labels = tuple(Label(a.span, "a factor of the block") for a in launch.block)
        sentence = f"a block has at most {arch.threads_per_block} threads on {arch.name}"
        title = f"a block has {text(threads)} threads; {arch.name} allows {arch.threads_per_block}"
        help = "make a factor of the block smaller, and give the rest to the grid, a register or a loop"
        hypotheses = preconditions(program)
        yield Obligation("limits", "TG401", title, sentence, hypotheses, threads <= arch.threads_per_block, labels, help)
        yield Obligation(
            "limits", "TG401", "a block has no threads", "a block has a thread", hypotheses, threads >= 1, labels, help
        )
        yield _registers(program, launch, arch)
        if any(isinstance(s, Shared) for s in steps(launch.body)):
            yield _memory(program, launch, arch)


def _registers(program: Program, launch: Launch, arch: Arch) -> Obligation:
    words = lift(0)
    cells = [s for s in steps(launch.body) if isinstance(s, Local)]
    for local in cells:
        words = words + product(local.extents) * max(1, BYTES[local.dtype] // 4)
    labels = tuple(Label(local.span, f"{local.name} lives in registers") for local in cells)
    title = f"the cells of a thread need {text(words)} registers; it has {arch.registers_per_thread}"
    sentence = f"the cells of a thread fit its {arch.registers_per_thread} registers"
    help = "make a register factor smaller"
    return Obligation("limits", "TG402", title, sentence, preconditions(program), words <= arch.registers_per_thread, labels, help)


def _memory(program: Program, launch: Launch, arch: Arch) -> Obligation:
    size, most = shared_places(launch)[1], arch.shared_bytes_per_block_opt_in
    arrays = [s for s in steps(launch.body) if isinstance(s, Shared)]
    labels = tuple(Label(s.span, f"{s.name} takes {shared_bytes(s)} bytes") for s in arrays)
    title = f"the shared arrays of a block take {size} bytes; {arch.name} allows {most}"
    sentence = f"the shared arrays of a block fit its {most} bytes"
    help = "make a tile smaller, or name an architecture that has more with `on`"
    return Obligation("limits", "TG406", title, sentence, preconditions(program), lift(size) <= most, labels, help)


def product(extents: tuple[Term, ...]) -> Term:
    """The product of extents; 1 for none."""
    out: Term = Const(1)
    for extent in extents:
        out = out * extent
    return out
