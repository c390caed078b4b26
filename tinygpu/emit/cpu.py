"""The CPU kernel of a program, as the text of functions that need numpy, numba and the runtime.

    program → text        for each launch a work function over a range of items and a driver over the threads of the machine

Comes in: a program as `schedule/cpu.py` lays it out. Goes out: its functions, and `NAME_cpu(tensors…, workspaces…, sizes…)`, which runs the
launches on C-contiguous numpy arrays. The one idea: an item is a point of the grid, which one core runs; threads of a block that work
together it runs in turn, between barriers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import log2, prod

from tinygpu.category.bounds import natural
from tinygpu.category.dtype import NUMPY
from tinygpu.category.evaluate import evaluate
from tinygpu.category.linear import polynomial, stride
from tinygpu.category.owner import row_major
from tinygpu.category.term import FLOATS, INDEX, App, Axis, Const, Term, Var, ceildiv, conjunction, conjuncts, text, variables, walk
from tinygpu.category.text import unused
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cpu_body import CpuBody, shared
from tinygpu.emit.cpu_driver import Call, arguments, driver_lines, entry_lines
from tinygpu.emit.cpu_text import RESERVED, Writer, mangle
from tinygpu.emit.cuda_names import index_names
from tinygpu.emit.python import block, identifier, indent
from tinygpu.model.op import Tensor
from tinygpu.model.solved import solve
from tinygpu.program.lanes import LANES, vectors_of
from tinygpu.program.step import Array, Assign, For, Launch, Program, Step, steps
from tinygpu.record import replace
from tinygpu.schedule.ahead import past_caches
from tinygpu.schedule.bound import assume
from tinygpu.schedule.nest import Site, is_long, sites
from tinygpu.schedule.polynomial import positive, term
from tinygpu.schedule.threads import in_turn, threads_of


def cpu_name(program: Program) -> str:
    """The name of the function that runs the program: it takes the op's tensors, inputs first, the workspaces, the sizes."""
    return f"{identifier(program.name)}_cpu"


def cpu_kernels(program: Program) -> str:
    """The two functions of each launch, and `NAME_cpu`."""
    program = unpack(program)
    globals_ = globals_of(program)
    writer = Writer({t.name: t for t in globals_}, {}, vectors_of(program))
    given = arguments(globals_, program.op.sizes)
    functions: list[str] = []
    calls: list[Call] = []
    for number, launch in enumerate(program.launches):
        name = f"{identifier(program.name)}_{number}" if len(program.launches) > 1 else identifier(program.name)
        work, call = work_function(program, name, launch, writer)
        functions.append("\n".join(work))
        functions.append("\n".join(driver_lines(call, ", ".join([given, *map(mangle, call.turns)]))))
        calls.append(call)
    functions.append("\n".join(entry_lines(cpu_name(program), globals_, program.op.sizes, calls)))
    return "\n\n\n".join(functions) + "\n"


def globals_of(program: Program) -> tuple[Tensor, ...]:
    """The arrays and scalars that every function takes: inputs, outputs, workspaces."""
    return (*program.op.tensors, *(Tensor(w.name, w.dtype, w.extents, "workspace", w.span) for w in program.workspaces))


def work_function(program: Program, name: str, launch: Launch, writer: Writer) -> tuple[list[str], Call]:
    """`NAME_work(first, last, …)`, which runs some items one after the other, and how it is called."""
    alone = in_turn(launch, {t.name: t.shape for t in globals_of(program)}, program.op.sizes)
    writer.locals = {s.name: s for s in alone.arrays}
    writer.strip, writer.thread, writer.parts = set(alone.lasting), row_major(launch.block), threads_of(launch.block)
    launch = replace(launch, body=alone.body)
    labels = labelled(program, launch, writer)
    known = frozenset(program.op.sizes) | {a.name for a in launch.grid + launch.turns} | {LANES.name}
    facts = [f for f in shared(launch.body) if variables(f) <= known]
    lines = CpuBody(writer, labels, known).lines(assume(launch.body, facts))
    lines = block(f"if {writer.text(conjunction(*facts))}", lines) if facts else lines
    lines = block("for item in range(first, last)", [*decoded(launch.grid, writer), *lines])
    if past_caches(launch.body):
        lines.append("settled()")
    if any("nought" in line for line in lines):
        lines.insert(0, "nought = min(0, first)  # 0, which the compiler does not know: it would unroll the loops around the tile")
    arrays = [line for s in alone.arrays for line in declared(s, writer)]
    free = reassociates(launch.body)
    note = f"Items [first, last) of {', '.join(f'{a.name} < {text(a.extent)}' for a in launch.grid) or '()'}."
    note += " Sums are reassociated." if free else ""
    met = {
        s.target: (writer.tensors[s.target], s.update)
        for s in steps(launch.body)
        if isinstance(s, Assign) and s.atomic and s.target in writer.tensors
    }
    items = product([writer.text(natural(a.extent)) for a in launch.grid]) or "1"
    turns = {a.name: writer.text(natural(a.extent)) for a in launch.turns}
    call = Call(name, items, work_count(launch, program.op.sizes, writer), tuple(met.values()), turns)
    writer.strip, writer.locals = set(), {}
    given = arguments(globals_of(program), (*program.op.sizes, *turns))
    return work_lines(name, given, note, free, [*arrays, *lines], [mangle(s) for s in steps_of(program, launch)]), call


def steps_of(program: Program, launch: Launch) -> list[str]:
    """The sizes that no input tells, by which neighbours of an innermost loop lie apart or by which indices are divided: strides, which are 1 more
    often than not."""
    found: set[Term] = set()
    for site in (site for site in sites(launch.body) if site.loops):
        for part in (part for read in site.reads for index in read.index for part in walk(index) if part.dtype == INDEX):
            found |= {atom for m in stride(polynomial(part), site.loops[-1].axis.name)[0] or {} for atom in m}
            found |= {part.args[1]} if isinstance(part, App) and part.op in ("floordiv", "mod") else set()
    return [size for size in solve(program.op)[1] if Var(size) in found]


def labelled(program: Program, launch: Launch, writer: Writer) -> dict[Term, str]:
    """The names of index terms: the equation's own, the number of a thread in its block, and extents that are quotients."""
    taken = {*writer.tensors, *writer.locals, *program.op.sizes, *(a.name for a in launch.axes)}
    taken |= {s.axis.name for s in steps(launch.body) if isinstance(s, For)}
    taken |= {*map(mangle, taken), *RESERVED}
    labels = {t: mangle(n) for t, n in index_names(program, replace(launch, block=()), taken).items()}
    for array in writer.tensors.values():
        for axis, extent in enumerate(array.shape[1:], 1):
            if extent not in labels and any(isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv") for t in walk(extent)):
                labels[extent] = unused(mangle(f"{array.name}_{axis}"), {*taken, *labels.values()}, "_")
    return {writer.thread: "thread", **labels} if writer.strip and not isinstance(writer.thread, Const) else labels


def declared(local: Array, writer: Writer) -> list[str]:
    """An array for each cell that is none but one number, or for each at all, where every thread has it."""
    size: Term = Const(writer.parts if local.name in writer.strip else 1)
    for extent in local.extents:
        size = size * extent
    if not local.extents and local.name not in writer.strip:
        return []
    return [f"{mangle(local.name)} = np.empty({writer.text(size)}, {NUMPY[local.dtype]})"]


def decoded(grid: tuple[Axis, ...], writer: Writer) -> list[str]:
    """`item` as the digits of the grid, slowest first."""
    lines, rest = list[str](), "item"
    for position in reversed(range(len(grid))):
        name, extent = mangle(grid[position].name), writer.text(natural(grid[position].extent))
        lines.append(f"{name} = {f'remainder({rest}, {extent})' if position else rest}")
        if position > 1:
            lines.append(f"rest = quotient({rest}, {extent})")
            rest = "rest"
        elif position:
            rest = f"quotient({rest}, {extent})"
    return lines


def work_count(launch: Launch, sizes: Collection[str], writer: Writer) -> str:
    """About how many steps all items take together: the points of the loops around the assignment that is done most often where every size is
    2²⁰, of those done about as often the one that is counted with the fewest words."""
    nominal = {**dict.fromkeys(sizes, 1 << 20), LANES.name: 8}
    counts = [gathered(points(launch.grid, site, nominal), nominal) for site in sites(launch.body)]
    often = [round(log2(max(prod(evaluate(natural(t), nominal) for t in parts), 1))) for parts in counts]
    texts = [product([writer.text(natural(t)) for t in p]) for p, n in zip(counts, often, strict=True) if n == max(often)]
    return min(texts, key=len, default="") or "1"


def gathered(parts: list[Term], nominal: Mapping[str, int]) -> list[Term]:
    """About the same product: one number for all that no size is in, and `⌈x / c⌉·c` is x.

    >>> from tinygpu.category.term import Var, ceildiv
    >>> [text(t) for t in gathered([ceildiv(Var("M"), 6), Var("K"), Const(2), Const(6)], {"M": 60, "K": 9})]
    ['M', 'K', '2']
    """
    factor = prod(evaluate(t, nominal) for t in parts if not variables(t) - {LANES.name})
    sized = []
    for part in parts:
        match part:
            case _ if not variables(part) - {LANES.name}:
                continue
            case App("ceildiv", (x, c)) if not variables(c) - {LANES.name} and factor % evaluate(c, nominal) == 0:
                factor //= evaluate(c, nominal)
                sized.append(x)
            case _:
                sized.append(part)
    return [*sized, Const(factor)] if factor != 1 else sized


def points(grid: tuple[Axis, ...], site: Site, nominal: Mapping[str, int]) -> list[Term]:
    """About how often an assignment is done, as factors: extents of the axes around it. Where a condition says how many points there are of a
    factor of the grid and the loops that it is cut into, it is so many."""
    axes = [*grid, *(loop.axis for loop in site.loops)]
    parts = {a.name: a.extent for a in axes}
    for guard in conjuncts(conjunction(*site.guards, site.step.guard)):
        inside = [a for a in axes if a.name in variables(guard)]
        p = positive(guard)
        if p is not None and len([a for a in inside if a in grid]) == 1:
            paces = [term(stride(p, a.name)[0] or {}) for a in inside]
            for axis in inside:
                p = stride(p, axis.name)[1]
            if all(variables(t) <= set(nominal) for t in (term(p), *paces)) and all(evaluate(pace, nominal) < 0 for pace in paces):
                parts |= {a.name: Const(1) for a in inside}
                parts[inside[0].name] = ceildiv(term(p), min(-evaluate(pace, nominal) for pace in paces))
                axes = [a for a in axes if a not in inside]
    return [extent for extent in parts.values() if variables(extent) <= set(nominal) and extent != Const(1)]


def product(parts: list[str]) -> str:
    """The text of a product."""
    return " * ".join(f"({p})" if " " in p and len(parts) > 1 else p for p in parts)


def work_lines(name: str, given: str, note: str, free: bool, body: list[str], ones: list[str]) -> list[str]:
    """`NAME_work(first, last, …)`; where there are sizes that are often 1, compiled for these numbers too."""
    flags = 'error_model="numpy", nogil=True, fastmath=' + ('{"contract", "reassoc"}' if free else '{"contract"}')
    if not ones:
        return [f"@njit({flags})", f"def {name}_work(first, last, {given}):", f'    """{note}"""', *indent(body)]
    known = ", ".join("1" if g in ones else g for g in given.split(", "))
    return [
        f"@njit({flags}, forceinline=True)",
        f"def {name}_items(first, last, {given}):",
        f'    """{note}"""',
        *indent(body),
        "",
        "",
        f"@njit({flags})",
        f"def {name}_work(first, last, {given}):",
        f'    """{name}_items, compiled for {", ".join(ones)} of 1 too."""',
        f"    if {' and '.join(f'{size} == 1' for size in ones)}:",
        f"        {name}_items(first, last, {known})",
        "    else:",
        f"        {name}_items(first, last, {given})",
    ]


def reassociates(body: tuple[Step, ...]) -> bool:
    """Whether a sum or product of floats runs in a long loop of one point; then its order is left to the compiler, which needs that
    to make vectors of it. Everything else keeps the program's order."""
    folds = [
        site
        for site in sites(body)
        if site.step.update in ("sum", "prod") and not site.step.index and any(is_long(loop.axis) for loop in site.loops)
    ]
    return any(site.step.value.dtype in FLOATS for site in folds)
