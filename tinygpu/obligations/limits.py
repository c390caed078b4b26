"""The hardware has room: threads of a block, cells of a thread.

    ∏ block extents ≤ threads of the architecture        Σ words of the locals ≤ registers of a thread

Comes in: the program; the limits are data in `hardware/sm_*.toml`. Goes out: formulas over constants. The extent of the grid
depends on the sizes, so the launcher checks it; `grid_blocks` is what it compares with `GRID_BLOCKS`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import Const, Term, lift, text
from tinygpu.diagnostic import Label
from tinygpu.hardware.arch import arch_named
from tinygpu.obligations.dataflow import preconditions
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.program.step import Launch, Program

WORDS = {"f64": 2, "i64": 2}


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    arch = arch_named(program.arch)
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
    words = lift(0)
    for local in program.locals.values():
        words = words + product(local.extents) * WORDS.get(local.dtype, 1)
    labels = tuple(Label(local.span, f"{local.name} lives in registers") for local in program.locals.values())
    title = f"the cells of a thread need {text(words)} registers; it has {arch.registers_per_thread}"
    sentence = f"the cells of a thread fit its {arch.registers_per_thread} registers"
    help = "make a register factor smaller"
    yield Obligation("limits", "TG402", title, sentence, preconditions(program), words <= arch.registers_per_thread, labels, help)


def product(extents: tuple[Term, ...]) -> Term:
    """The product of extents; 1 for none."""
    out: Term = Const(1)
    for extent in extents:
        out = out * extent
    return out


def grid_blocks(launch: Launch) -> Term:
    """How many blocks a launch has."""
    return product(tuple(a.extent for a in launch.grid))
