"""The CPU kernel of a program, as the text of a module that needs numpy and numba and nothing of ours.

Comes in: a program whose threads do not cooperate. Goes out: for each launch a work function over a range of items and a parallel
driver over the threads of the machine, and `NAME_cpu(tensors…, sizes…)`, which runs the launches on C-contiguous numpy arrays.
The one idea: threads that do not cooperate are points of a nest, so the loops may be ordered and cut as the memory likes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tinygpu.category.term import FLOATS, conjunction, text
from tinygpu.emit.cpu_cells import without_copies
from tinygpu.emit.cpu_lanes import IMPORTS as LANES_IMPORTS
from tinygpu.emit.cpu_lanes import lanes_source
from tinygpu.emit.cpu_lift import lift, sites
from tinygpu.emit.cpu_merge import Nest, bound, merge, merge_loops
from tinygpu.emit.cpu_names import renamed
from tinygpu.emit.cpu_nest import innermost, inside, item_count, nest_lines, step_count
from tinygpu.emit.cpu_prelude import HEADER, HEADER_IMPORTS, prelude
from tinygpu.emit.cpu_split import split
from tinygpu.emit.cpu_steps import indent, is_long
from tinygpu.emit.cpu_strip import strips
from tinygpu.emit.cpu_text import HALVES, REGISTER, Writer, mangle
from tinygpu.emit.cpu_tile import tile_of
from tinygpu.emit.cpu_tile_text import tile_count, tile_lines
from tinygpu.emit.mathlib import errors
from tinygpu.emit.python import identifier
from tinygpu.model.op import Op, Tensor
from tinygpu.program.step import For, If, Launch, Local, Program, steps

ALONE = 1 << 16  # steps below which waking other threads costs more than they save


def cpu_name(program: Program) -> str:
    """The name of the function that runs the program: it takes the op's tensors, inputs first, and then its sizes."""
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
    writer = Writer({t.name: t for t in program.op.tensors}, {})
    functions, calls = [], []
    for number, launch in enumerate(program.launches):
        name = f"{identifier(program.name)}_{number}" if len(program.launches) > 1 else identifier(program.name)
        lines, items, work = launch_lines(program.op, name, launch, writer)
        functions.append("\n".join(lines))
        calls.append((name, items, work))
    functions.append("\n".join(entry_lines(program, calls, writer)))
    vectors = tuple((dtype, frozenset(operations)) for dtype, operations in sorted(writer.vectors.items()))
    return Kernels("\n\n\n".join(functions) + "\n", frozenset(writer.needs), vectors)


def nest_of(op: Op, launch: Launch) -> Nest:
    """The launch in normal form: own loops lifted, factors merged, guards made bounds; axes bear the names of the op's indices."""
    outputs = frozenset(t.name for t in op.outputs)
    taken = frozenset(op.sizes) | {t.name for t in op.tensors} | {s.name for s in steps(launch.body) if isinstance(s, Local)}
    taken |= {s.axis.name for s in steps(launch.body) if isinstance(s, For)} | {a.name for a in launch.grid + launch.block}
    lifted, body = lift(launch.body, outputs)
    body = without_copies(body, frozenset(t.name for t in op.inputs))
    axes, body = merge((*launch.grid, *launch.block, *lifted), body, taken)
    body = merge_loops(body, taken | {a.name for a in axes})
    nest = split(bound(axes, body, outputs), taken | {a.name for a in axes})
    body = (If(conjunction(*nest.guards), nest.body),) if nest.guards else nest.body
    nest = bound(*merge(nest.axes, body, taken | {a.name for a in nest.axes}), outputs)
    nest = inside(nest, {t.name: t for t in op.tensors})
    return renamed(op, nest, frozenset(op.sizes) | {t.name for t in op.tensors})


def launch_lines(op: Op, name: str, launch: Launch, writer: Writer) -> tuple[list[str], str, str]:
    """The two functions of a launch, and the texts of its number of items and of its number of steps."""
    nest = nest_of(op, launch)
    writer.locals = {s.name: s for s in steps(nest.body) if isinstance(s, Local)}
    lane = innermost(nest, writer)
    tile = tile_of(nest, writer)
    tile = tile if tile and set(writer.vectors) <= {tile.dtype} else None  # a module has vectors of one dtype
    if tile:
        body, operations = tile_lines(tile, writer)
        writer.vectors.setdefault(tile.dtype, set()).update(operations)
        count = tile_count(tile, writer)
    else:
        body, count = nest_lines(nest, writer), item_count(nest, lane, writer)
    arguments = ", ".join([mangle(t.name) for t in op.tensors] + [mangle(s) for s in op.sizes])
    extents = ", ".join(f"{a.name} < {text(a.extent)}" for a in nest.axes)
    free = reassociates(nest) and not tile and not (lane and strips(nest.body, lane, writer))
    flags = 'fastmath={"contract", "reassoc"}' if free else 'fastmath={"contract"}'
    work = [
        f'@njit(error_model="numpy", nogil=True, {flags})',
        f"def {name}_work(first, last, {arguments}):",
        f'    """Items [first, last) of the points {extents or "()"}.{" Sums are reassociated." if free else ""}"""',
        *indent(body),
    ]
    driver = [
        '@njit(parallel=True, error_model="numpy", nogil=True)',
        f"def {name}_parallel(items, parts, {arguments}):",
        f'    """All {name}_work, in `parts` equal parts."""',
        "    for part in prange(parts):",
        f"        {name}_work(items * part // parts, items * (part + 1) // parts, {arguments})",
    ]
    return [*work, "", "", *driver], count, step_count(nest, writer)


def reassociates(nest: Nest) -> bool:
    """Whether a sum or product of floats runs in a long loop of one point; then its order is left to the compiler, which needs that
    to make vectors of it. Everything else keeps the program's order."""
    folds = [
        site for site in sites(nest.body) if site.step.update in ("sum", "prod") and any(is_long(loop.axis) for loop in site.loops)
    ]
    return any(site.step.value.dtype in FLOATS for site in folds)


def entry_lines(program: Program, calls: list[tuple[str, str, str]], writer: Writer) -> list[str]:
    """`NAME_cpu`: flat views of the arrays, then the launches in order."""
    op = program.op
    lines = [f"def {cpu_name(program)}({', '.join([mangle(t.name) for t in op.tensors] + [mangle(s) for s in op.sizes])}):"]
    shapes = ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(text, t.shape))}]" for t in op.tensors)
    lines.append(f'    """{shapes}; C-contiguous arrays, 16-bit floats in any 16-bit dtype; writes the outputs."""')
    lines += [f"    {mangle(t.name)} = {_argument(t, writer)}" for t in op.tensors]
    arguments = ", ".join([mangle(t.name) for t in op.tensors] + [mangle(s) for s in op.sizes])
    for name, count, steps_ in calls:
        lines.append(f"    items = {count}")
        lines.append(f"    if {steps_} < {ALONE}:")
        lines.append(f"        {name}_work(0, items, {arguments})")
        lines.append("    else:")
        lines.append(f"        {name}_parallel(items, min(items, get_num_threads()), {arguments})")
    return lines


def _argument(tensor: Tensor, writer: Writer) -> str:
    name = mangle(tensor.name)
    if tensor.role == "input" and not tensor.shape:
        if tensor.dtype in HALVES:
            return writer.call(f"round_{tensor.dtype}", writer.call("narrow_to_odd", f"np.float64({name})"))
        return f"{REGISTER[tensor.dtype]}({name})"
    return f"{name}.reshape(-1){'.view(np.uint16)' if tensor.dtype in HALVES else ''}"
