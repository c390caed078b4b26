"""The CPU kernel of a program, as the text of a module that needs numpy and numba and nothing of ours.

Comes in: a program. Goes out: for each launch a work function over a range of items and a parallel
driver over the threads of the machine, and `NAME_cpu(tensors…, workspaces…, sizes…)`, which runs the launches on C-contiguous numpy arrays.
The one idea: threads that do not cooperate are points of a nest, so the loops may be ordered and cut as the memory likes it; a block of
threads that do cooperate is run by one core.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.term import FLOATS, conjunction, text
from tinygpu.emit.cpu_block import block_count, block_lines, block_steps, cooperates
from tinygpu.schedule.copies import without_copies
from tinygpu.emit.cpu_driver import Call, arguments, driver_lines, entry_lines
from tinygpu.emit.cpu_exchange import without_shuffles
from tinygpu.schedule.rows import in_rows
from tinygpu.emit.cpu_lanes import IMPORTS as LANES_IMPORTS
from tinygpu.emit.cpu_lanes import lanes_source
from tinygpu.schedule.lift import lift, sites
from tinygpu.schedule.merge import Nest, bound, merge, merge_loops
from tinygpu.schedule.names import renamed
from tinygpu.emit.cpu_nest import innermost, inside, item_count, nest_lines, step_count
from tinygpu.emit.cpu_pieces import carried, temporaries
from tinygpu.emit.cpu_prelude import HEADER, HEADER_IMPORTS, prelude
from tinygpu.schedule.split import split
from tinygpu.emit.cpu_steps import indent, is_long
from tinygpu.emit.cpu_strip import strips
from tinygpu.emit.cpu_text import Writer
from tinygpu.emit.cpu_tile import tile_of
from tinygpu.emit.cpu_tile_text import tile_count, tile_lines
from tinygpu.emit.cpu_turn import turn_count, turn_lines, turn_of
from tinygpu.emit.mathlib import errors
from tinygpu.emit.python import identifier
from tinygpu.hardware.arch import CPU
from tinygpu.model.op import Op, Tensor
from tinygpu.program.step import Assign, For, If, Launch, Local, Program, Shared, Step, steps
from tinygpu.program.unpack import unpack
from tinygpu.record import dataclass


def cpu_name(program: Program) -> str:
    """The name of the function that runs the program: it takes the op's tensors, inputs first, the workspaces, the sizes."""
    return f"{identifier(program.name)}_cpu"


@dataclass(frozen=True, slots=True)
class Kernels:
    """The functions of one program, and what they need in front of them: prelude functions, and vector operations by dtype."""

    text: str
    needs: frozenset[str]
    vectors: tuple[tuple[str, frozenset[str]], ...]


def cpu_source(program: Program) -> str:
    """`program → text` of a whole module: docstring, what the kernels need, the kernels, the entry."""
    kernels = cpu_kernels(program)
    bounds = errors(kernels.needs)
    note = f"\n\nFunctions of f32 against the real ones: {bounds}." if bounds else ""
    return f'"""{program.name} on the CPU, through numba.{note}\n"""\n\n{cpu_support((kernels,))}\n\n{kernels.text}'


def cpu_support(kernels: Iterable[Kernels]) -> str:
    """Imports and prelude for the kernels of one or more programs in one module."""
    kernels = tuple(kernels)
    needs = frozenset().union(*(k.needs for k in kernels))
    vectors: dict[str, set[str]] = {}
    for dtype, operations in (v for k in kernels for v in k.vectors):
        vectors.setdefault(dtype, set()).update(operations)
    imports = HEADER_IMPORTS + (LANES_IMPORTS if vectors else "")
    parts = [imports + "\n" + HEADER, prelude(needs), *(lanes_source(d, o) for d, o in sorted(vectors.items()))]
    return "\n\n".join(p.strip("\n") + "\n" for p in parts if p)


def cpu_kernels(program: Program) -> Kernels:
    """The two functions of each launch, and `NAME_cpu`."""
    packed, program = program, unpack(program)
    globals_ = globals_of(program)
    writer = Writer({t.name: t for t in globals_}, {}, sizes=frozenset(program.op.sizes), carried=carried(packed))
    given = arguments(globals_, program.op.sizes)
    functions: list[str] = []
    calls: list[Call] = []
    for number, launch in enumerate(program.launches):
        name = f"{identifier(program.name)}_{number}" if len(program.launches) > 1 else identifier(program.name)
        writer.temporaries = temporaries(packed, launch)
        if cooperates(launch):
            work, call = cooperating_launch(program.op, name, launch, writer)
        else:
            work, call = plain_launch(program.op, name, launch, writer, program.arch == CPU)
        functions.append("\n".join(work))
        if not call.alone:
            functions.append("\n".join(driver_lines(call, given, writer)))
        calls.append(call)
    functions.append("\n".join(entry_lines(cpu_name(program), globals_, program.op.sizes, calls, writer)))
    vectors = tuple((dtype, frozenset(operations)) for dtype, operations in sorted(writer.vectors.items()))
    return Kernels("\n\n\n".join(functions) + "\n", frozenset(writer.needs), vectors)


def tiled(program: Program) -> bool:
    """Whether all launches are tiles: products, of which the machine's own order would only be in the way."""
    program = unpack(program)
    tensors = {t.name: t for t in globals_of(program)}
    return all(_tile(program.op, launch, Writer(tensors, {}, sizes=frozenset(program.op.sizes))) for launch in program.launches)


def _tile(op: Op, launch: Launch, writer: Writer) -> bool:
    if cooperates(launch):
        return False
    nest = nest_of(op, launch, writer.tensors)
    writer.locals = {s.name: s for s in steps(nest.body) if isinstance(s, Local)}
    return tile_of(nest, writer, op) is not None


def globals_of(program: Program) -> tuple[Tensor, ...]:
    """The arrays and scalars that every function takes: inputs, outputs, workspaces."""
    return (*program.op.tensors, *(Tensor(w.name, w.dtype, w.extents, "workspace", w.span) for w in program.workspaces))


def stored(launch: Launch) -> frozenset[str]:
    """The global arrays that a launch writes."""
    own = {s.name for s in steps(launch.body) if isinstance(s, Local | Shared)}
    return frozenset(site.step.target for site in sites(launch.body)) - own


def nest_of(op: Op, launch: Launch, tensors: Mapping[str, Tensor], core: bool = False) -> Nest:
    """The launch in normal form: own loops lifted, factors merged, guards made bounds; axes bear the names of the op's indices. The cells
    of a core are in one row."""
    outputs = stored(launch)
    taken = frozenset(op.sizes) | set(tensors) | {s.name for s in steps(launch.body) if isinstance(s, Local)}
    taken |= {s.axis.name for s in steps(launch.body) if isinstance(s, For)} | {a.name for a in launch.grid + launch.block}
    lifted, body = lift(launch.body, outputs)
    body = without_copies(body, frozenset(tensors) - outputs)
    axes, body = merge((*launch.grid, *launch.block, *lifted), in_rows(body) if core else body, taken)
    body = merge_loops(body, taken | {a.name for a in axes})
    nest = split(bound(axes, body, outputs), taken | {a.name for a in axes})
    body = (If(conjunction(*nest.guards), nest.body),) if nest.guards else nest.body
    nest = bound(*merge(nest.axes, body, taken | {a.name for a in nest.axes}), outputs)
    nest = inside(nest, tensors)
    return renamed(op, nest, frozenset(op.sizes) | set(tensors))


def plain_launch(op: Op, name: str, launch: Launch, writer: Writer, core: bool = False) -> tuple[list[str], Call]:
    """The work function of a launch whose threads do not cooperate; one on a `core` says the shape of its tiles."""
    nest = nest_of(op, launch, writer.tensors, core)
    writer.locals = {s.name: s for s in steps(nest.body) if isinstance(s, Local)}
    lane = innermost(nest, writer)
    tile = tile_of(nest, writer, op, launch if core else None)
    tile = tile if tile and set(writer.vectors) <= {tile.dtype} else None  # a module has vectors of one dtype
    if tile:
        body, operations = tile_lines(tile, writer)
        writer.vectors.setdefault(tile.dtype, set()).update(operations)
        count = tile_count(tile, writer)
    elif turn := turn_of(nest, writer):
        body, count = turn_lines(turn, writer), turn_count(turn, writer)
    else:
        body, count = nest_lines(nest, writer), item_count(nest, lane, writer)
    extents = ", ".join(f"{a.name} < {text(a.extent)}" for a in nest.axes)
    free = reassociates(nest.body) and not tile and not (lane and strips(nest.body, lane, writer))
    note = f"Items [first, last) of the points {extents or '()'}.{' Sums are reassociated.' if free else ''}"
    pieces = any("done = 0" in line for line in body)
    note += " Long folds are taken in pieces, which are combined in another order." if pieces else ""
    return work_lines(op, name, note, free, body, writer), Call(name, count, step_count(nest, writer))


def cooperating_launch(op: Op, name: str, launch: Launch, writer: Writer) -> tuple[list[str], Call]:
    """The work function of a launch whose threads cooperate."""
    taken = frozenset(op.sizes) | set(writer.tensors) | {a.name for a in launch.grid + launch.block}
    taken |= {s.axis.name if isinstance(s, For) else s.name for s in steps(launch.body) if isinstance(s, For | Local | Shared)}
    launch = without_shuffles(launch, taken)
    taken |= {s.name for s in launch.body if isinstance(s, Shared)}
    body = block_lines(launch, writer, taken)
    met = {
        s.target: (writer.tensors[s.target], s.update)
        for s in steps(launch.body)
        if isinstance(s, Assign) and s.target in writer.tensors and s.atomic
    }
    extents = ", ".join(f"{a.name} < {text(a.extent)}" for a in launch.grid)
    free = reassociates(launch.body)
    note = f"Blocks [first, last) of {extents or '()'}, one after the other.{' Sums are reassociated.' if free else ''}"
    call = Call(name, block_count(launch, writer), block_steps(launch, writer), tuple(met.values()))
    return work_lines(op, name, note, free, body, writer), call


def work_lines(op: Op, name: str, note: str, free: bool, body: list[str], writer: Writer) -> list[str]:
    """`NAME_work(first, last, …)`."""
    flags = 'fastmath={"contract", "reassoc"}' if free else 'fastmath={"contract"}'
    return [
        f'@njit(error_model="numpy", nogil=True, {flags})',
        f"def {name}_work(first, last, {arguments(tuple(writer.tensors.values()), op.sizes)}):",
        f'    """{note}"""',
        *indent(body),
    ]


def reassociates(body: tuple[Step, ...]) -> bool:
    """Whether a sum or product of floats runs in a long loop of one point; then its order is left to the compiler, which needs that
    to make vectors of it. Everything else keeps the program's order."""
    folds = [site for site in sites(body) if site.step.update in ("sum", "prod") and any(is_long(loop.axis) for loop in site.loops)]
    return any(site.step.value.dtype in FLOATS for site in folds)
