"""The CPU kernel of a program, as the text of a module that needs numpy and numba and nothing of ours.

Comes in: a program whose threads do not cooperate. Goes out: for each launch a work function over a range of items and a parallel
driver over the threads of the machine, and `NAME_cpu(tensors…, sizes…)`, which runs the launches on C-contiguous numpy arrays.
The one idea: threads that do not cooperate are points of a nest, so the loops may be ordered and cut as the memory likes it.
"""

from __future__ import annotations

from tinygpu.category.term import text
from tinygpu.emit.cpu_lift import lift
from tinygpu.emit.cpu_merge import Nest, bound, merge, merge_loops
from tinygpu.emit.cpu_names import renamed
from tinygpu.emit.cpu_nest import indent, innermost, item_count, nest_lines
from tinygpu.emit.cpu_prelude import HEADER, prelude
from tinygpu.emit.cpu_text import HALVES, REGISTER, Writer, mangle
from tinygpu.emit.mathlib import errors
from tinygpu.model.op import Op, Tensor
from tinygpu.program.step import For, Launch, Local, Program, steps


def cpu_name(program: Program) -> str:
    """The name of the function that runs the program: it takes the op's tensors, inputs first, and then its sizes."""
    return f"{mangle(program.name)}_cpu"


def cpu_source(program: Program) -> str:
    """`program → text` of a whole module: docstring, prelude, kernels, entry."""
    kernels, needs = cpu_kernels(program)
    bounds = errors(needs)
    note = f"\n\nFunctions in f32: {bounds}, as measured against f64." if bounds else ""
    head = f'"""{program.name} on the CPU, through numba.{note}\n"""\n\n'
    return head + HEADER + "\n" + prelude(needs) + "\n" + kernels


def cpu_kernels(program: Program) -> tuple[str, set[str]]:
    """The kernels and the entry without header and prelude, and the names of the prelude that they call."""
    writer = Writer({t.name: t for t in program.op.tensors}, {})
    functions, calls = [], []
    for number, launch in enumerate(program.launches):
        name = f"{mangle(program.name)}_{number}" if len(program.launches) > 1 else mangle(program.name)
        lines, count = launch_lines(program.op, name, launch, writer)
        functions.append("\n".join(lines))
        calls.append((name, count))
    functions.append("\n".join(entry_lines(program, calls)))
    return "\n\n\n".join(functions) + "\n", writer.needs


def nest_of(op: Op, launch: Launch) -> Nest:
    """The launch in normal form: own loops lifted, factors merged, guards made bounds; axes bear the names of the op's indices."""
    outputs = frozenset(t.name for t in op.outputs)
    taken = frozenset(op.sizes) | {t.name for t in op.tensors} | {s.name for s in steps(launch.body) if isinstance(s, Local)}
    taken |= {s.axis.name for s in steps(launch.body) if isinstance(s, For)} | {a.name for a in launch.grid + launch.block}
    lifted, body = lift(launch.body, outputs)
    axes, body = merge((*launch.grid, *launch.block, *lifted), body, taken)
    body = merge_loops(body, taken | {a.name for a in axes})
    return renamed(op, bound(axes, body, outputs), frozenset(op.sizes) | {t.name for t in op.tensors})


def launch_lines(op: Op, name: str, launch: Launch, writer: Writer) -> tuple[list[str], str]:
    """The two functions of a launch, and the text of its number of items."""
    nest = nest_of(op, launch)
    writer.locals = {s.name: s for s in steps(nest.body) if isinstance(s, Local)}
    arguments = ", ".join([mangle(t.name) for t in op.tensors] + [mangle(s) for s in op.sizes])
    extents = ", ".join(f"{a.name} < {text(a.extent)}" for a in nest.axes)
    flags = 'fastmath={"contract", "reassoc"}' if any(isinstance(s, For) for s in steps(nest.body)) else 'fastmath={"contract"}'
    work = [
        f'@njit(error_model="numpy", nogil=True, {flags})',
        f"def {name}_work(first, last, {arguments}):",
        f'    """Items [first, last) of the points {extents or "()"}."""',
        *indent(nest_lines(nest, writer)),
    ]
    driver = [
        '@njit(parallel=True, error_model="numpy", nogil=True)',
        f"def {name}_parallel(items, parts, {arguments}):",
        f'    """All {name}_work, in `parts` equal parts."""',
        "    for part in prange(parts):",
        f"        {name}_work(items * part // parts, items * (part + 1) // parts, {arguments})",
    ]
    return [*work, "", "", *driver], item_count(nest, innermost(nest, writer), writer)


def entry_lines(program: Program, calls: list[tuple[str, str]]) -> list[str]:
    """`NAME_cpu`: flat views of the arrays, then the launches in order."""
    op = program.op
    lines = [f"def {cpu_name(program)}({', '.join([mangle(t.name) for t in op.tensors] + [mangle(s) for s in op.sizes])}):"]
    shapes = ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(text, t.shape))}]" for t in op.tensors)
    lines.append(f'    """{shapes}; C-contiguous arrays, 16-bit floats in any 16-bit dtype; writes the outputs."""')
    lines += [f"    {mangle(t.name)} = {_argument(t)}" for t in op.tensors]
    arguments = ", ".join([mangle(t.name) for t in op.tensors] + [mangle(s) for s in op.sizes])
    for name, count in calls:
        lines.append(f"    items = {count}")
        lines.append("    if items > 0:")
        lines.append(f"        {name}_parallel(items, min(items, get_num_threads()), {arguments})")
    return lines


def _argument(tensor: Tensor) -> str:
    name = mangle(tensor.name)
    if tensor.role == "input" and not tensor.shape:
        return f"{REGISTER[tensor.dtype]}({name})"
    return f"{name}.reshape(-1){'.view(np.uint16)' if tensor.dtype in HALVES else ''}"
