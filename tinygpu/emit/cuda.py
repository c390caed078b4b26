"""CUDA kernels of a program, as readable Python for numba.cuda with the spec's names.

Comes in: a program. Goes out: for each launch one function that makes its kernel, for 32- or 64-bit indices, with wide accesses or not.
The one idea: the text is the program. Loops stay loops over local arrays, which the compiler keeps in registers; a tensor is a pointer;
the grid is flat and is decoded by division.
"""

from __future__ import annotations

import ast
from functools import reduce

from tinygpu.category.dtype import HALVES, MEMORY, NATIVE
from tinygpu.category.operation import FUNCTION
from tinygpu.category.term import Axis, Const, text
from tinygpu.category.text import unused
from tinygpu.derive.unpack import unpack
from tinygpu.derive.wide import MOST_LANES, wide_accesses
from tinygpu.emit.cuda_body import Build, body_lines
from tinygpu.emit.cuda_names import first_names, index_names
from tinygpu.emit.cuda_text import Scope
from tinygpu.emit.python import Lines, block, docstring, identifier, joined_lines, python_names
from tinygpu.program.arrays import STATIC_BYTES, arrays, once, shared_places
from tinygpu.program.step import For, Launch, Program, arrays_in, steps
from tinygpu.program.traverse import written
from tinygpu.record import dataclass
from tinygpu.schedule import contract

CONVERSIONS = ("f16_bits", "f16_value", "bf16_bits", "bf16_value", "round_f16", "round_bf16", "trunc_i32", "trunc_u32", "trunc_i64")
ANGLES = tuple(row.cuda + end for end in ("f", "") for row in FUNCTION.values() if row.angle)
SHUFFLED = tuple(f"shuffle_{mode}" for mode in ("xor", "up", "down", "idx", "up_any", "down_any"))
UPDATED = tuple(f"{space}atomic_{update}" for space in ("", "shared_") for update in ("sum", "max", "min"))
MOVES = tuple(
    f"{move}{count}"
    for move in ("load", "store", "shared_load", "shared_store", "streaming_store")
    for count in range(1, MOST_LANES + 1)
)
MADE = {"shared": "shared_memory(0)", "upto": "counted()", "constant": "constant_memory()"}
MADE |= {name: f"division({name!r})" for name in ("div", "mod", "ceil")}
LIBDEVICE = {row.cuda: row for row in FUNCTION.values() if row.cuda and not row.angle}
TYPES = (*NATIVE, "u64", "u16", "ix")
BUILTIN = ("range", "min", "max", "abs", "int", "float", "bool")
CALLED = frozenset((*ANGLES, *(f + end for f, row in LIBDEVICE.items() if not row.keeps for end in ("", "f"))))
TOGETHER = ("shared", *SHUFFLED, *UPDATED)
OTHERS = ("upto", "div", "mod", "ceil", "constant", "cuda", "inf")
GIVEN = frozenset((*TYPES, *CONVERSIONS, *ANGLES, *LIBDEVICE, *(f + "f" for f in LIBDEVICE), *MOVES, *TOGETHER, *OTHERS))
OURS = GIVEN | {*BUILTIN, "blockIdx", "threadIdx", "names", "bits", "wide", "block", "thread", "pointer", "void"}
NUMERICS = "Products and sums may be contracted to fused multiply-adds; nothing else is relaxed, and reductions keep their order."
FUNCTIONS = (
    "Functions are libdevice's, within 2 units in the last place by NVIDIA's tests; square roots and divisions are correctly rounded.\n"
    "Sine and cosine are the prelude's: f32 within 1.5 units in the last place, f64 within 2⁻⁵², for |x| ≤ 2³⁰, and NaN beyond."
)
HALF = "Arithmetic of 16-bit floats is done in f32, and rounded to 16 bits to nearest even after every operation."


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel's parameter. `kind`: `pointer` (to elements of `dtype`), `scalar` (of `dtype`), `size` (an index). `dtype` is memory's:
    16-bit floats are `u16`, truth values `u8`."""

    name: str
    kind: str
    dtype: str


def kernel_parameters(program: Program) -> tuple[Parameter, ...]:
    """The parameters of every kernel of a program, in order: pointers of inputs, of outputs, of workspaces, scalar inputs, sizes."""
    op = program.op
    held = [(t.name, t.dtype) for t in op.tensors if t.shape or t.role == "output"]
    held += [(w.name, w.dtype) for w in program.workspaces]
    pointers = [Parameter(name, "pointer", MEMORY[dtype]) for name, dtype in held]
    scalars = [Parameter(t.name, "scalar", MEMORY[t.dtype]) for t in op.inputs if not t.shape]
    return (*pointers, *scalars, *(Parameter(s, "size", "ix") for s in op.sizes))


def block_threads(launch: Launch) -> int:
    """The number of threads of a block."""
    extents = [a.extent for a in launch.block]
    assert all(isinstance(e, Const) for e in extents), "a block's extents are constants"
    return reduce(lambda a, b: a * b, (int(e.value) for e in extents if isinstance(e, Const)), 1)


def kernel_name(program: Program, number: int) -> str:
    """The function that makes the kernel of a launch: `saxpy_v4_kernel`, with the number of the launch where there are several.

    Called with `(bits, wide)` it returns the kernel and its signature.
    """
    return contract.kernel_name(identifier(program.name), program, number)


def cuda_source(program: Program) -> str:
    """`program → source` of its kernels, which call functions of the runtime. Raises ValueError for an ill-formed term."""
    return "\n\n".join(kernel_source(program, number) for number in range(len(program.launches)))


def kernel_source(program: Program, number: int) -> str:
    """The source of one launch's kernel."""
    program = unpack(program)
    launch = program.launches[number]
    scope = kernel_scope(program, launch)
    taken = {*OURS, *scope.names.values()}
    labels = index_names(program, launch, taken)
    places, size = shared_places(launch)
    firsts = {w.first[-1]: w.access.index[-1] for w in wide_accesses(program) if w.launch == number}
    labels |= first_names(firsts, labels, taken)
    build = Build(
        program, number, labels, taken=taken | set(labels.values()), places=places, firsts=firsts, once=once(program, number)
    )
    build.swizzled = {name: s for name, s in program.shared.items() if s.layout.swizzle}
    decoded = thread_lines(launch, scope)
    lines = body_lines(build, launch.body, scope, launch.grid + launch.block)
    name = unused(identifier(program.name), OURS)
    parameters = kernel_parameters(program)
    inner = block(f"def {name}({', '.join(scope.names[p.name] for p in parameters)})", [*decoded, *build.declared, *lines])
    kept = unwritten(program, launch)
    types = [f"{'constant' if p.name in kept else 'pointer'}({p.dtype})" if p.kind == "pointer" else p.dtype for p in parameters]
    signature = ", ".join(types)
    uses = frozenset(called(joined_lines([*inner, signature])) | {p.dtype for p in parameters})
    body = [*docstring(*remarks(program, number, uses)), "names = cuda_names(bits)", *made(uses, size), "", *inner, ""]
    body += [f"return {name}, names.void({signature})"]
    return joined_lines(block(f"def {kernel_name(program, number)}(bits: int, wide: bool) -> Any", body))


def unwritten(program: Program, launch: Launch) -> frozenset[str]:
    """The arrays in global memory that nobody writes during a launch."""
    changed = written(launch.body)
    return frozenset(p.name for p in kernel_parameters(program) if p.kind == "pointer" and p.name not in changed)


def called(text: str) -> set[str]:
    """The names of the prelude that stand in a kernel; nothing else there is called so.

    >>> sorted(called("x[ix(g)] = expf(y)  # load4"))
    ['expf', 'ix']
    """
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} & GIVEN


def made(uses: frozenset[str], size: int = 0) -> Lines:
    """The lines that give the prelude's names to a kernel. A block's memory of `size` bytes is static while that is allowed."""
    static = size if size <= STATIC_BYTES else 0
    given = sorted(n for n in uses | {"pointer"} if made_by(n).startswith("names."))
    lines = [f"{', '.join(given)} = {', '.join('names.' + n for n in given)}"]
    rest = [f"{n} = {made_by(n)}" for n in sorted(uses) if not made_by(n).startswith("names.") and n != "shared"]
    more = "" if static else f"  # the launch gives its {size} bytes"
    return lines + [f"shared = shared_memory({static}){more}"] * ("shared" in uses) + rest


def made_by(name: str) -> str:
    """How the prelude makes a name that a kernel uses.

    >>> made_by("load4"), made_by("shared_load4"), made_by("streaming_store4"), made_by("f16_bits"), made_by("sinf"), made_by("expf")
    ('wide_load(4)', "wide_load(4, 'shared')", "wide_store(4, 'streaming')", "conversion('f16_bits')", "angle_function('sinf')", 'names.expf')
    >>> made_by("shuffle_xor"), made_by("shared_atomic_sum"), made_by("shared"), made_by("upto"), made_by("constant")
    ("shuffle('xor')", "atomic('sum', 'shared')", 'shared_memory(0)', 'counted()', 'constant_memory()')
    >>> made_by("div")
    "division('div')"
    """
    if name in MOVES:
        move = name.rstrip("0123456789")
        memory, _, moved = move.rpartition("_")
        return f"wide_{moved}({name.removeprefix(move)}{f', {memory!r}' if memory else ''})"
    if name in SHUFFLED:
        return f"shuffle({name.removeprefix('shuffle_')!r})"
    if name in UPDATED:
        space, _, update = name.partition("atomic_")
        return f"atomic({update!r}, {'shared' if space else 'global'!r})"
    if name in MADE:
        return MADE[name]
    if name in CONVERSIONS:
        return f"conversion({name!r})"
    return f"angle_function({name!r})" if name in ANGLES else f"names.{name}"


def remarks(program: Program, number: int, uses: frozenset[str]) -> tuple[str, ...]:
    """The docstring: the equations, the work, and what is done to numbers."""
    op, launch = program.op, program.launches[number]
    equations = [f"{e.target}[{', '.join(a.name for a in e.axes)}] = {text(e.value)}" for e in op.equations]
    grid, block_ = (", ".join(f"{a.name}: {text(a.extent)}" for a in axes) for axes in (launch.grid, launch.block))
    half = any(a.dtype in HALVES for a in arrays(program).values())
    which = f"launch {number + 1} of {len(program.launches)}, " if len(program.launches) > 1 else ""
    first = f"The kernel of {program.name}, {which}for indices of 32 or 64 bits, with wide accesses or without."
    return (
        first,
        "\n".join(equations),
        f"grid = ({grid}), block = ({block_})",
        NUMERICS,
        HALF if half else "",
        FUNCTIONS if uses & CALLED else "",
    )


def kernel_scope(program: Program, launch: Launch) -> Scope:
    """The Python names of everything in a launch; arrays in memory with their shapes and layouts, and the thread's own cells."""
    op, inside = program.op, tuple(steps(launch.body))
    loops = [s.axis for s in inside if isinstance(s, For)]
    local = [s.name for s in arrays_in(launch.body, "thread")]
    shared = {s.name: s for s in arrays_in(launch.body, "block")}
    spec = [*(t.name for t in op.tensors), *(w.name for w in program.workspaces), *op.sizes]
    spec += [*(a.name for a in (*launch.grid, *launch.block, *loops)), *shared, *local]
    shapes = {t.name: t.shape for t in op.tensors if t.shape or t.role == "output"}
    shapes |= {w.name: w.extents for w in program.workspaces}
    shapes |= {s.name: s.extents for s in shared.values()}
    layouts = {s.name: s.layout for s in shared.values()}
    return Scope(python_names(spec, OURS), shapes, frozenset(local), layouts=layouts)


def thread_lines(launch: Launch, scope: Scope) -> Lines:
    """The factors of the grid from blockIdx.x, and of the block from threadIdx.x, slowest first."""
    return decode("block", "blockIdx", launch.grid, scope) + decode("thread", "threadIdx", launch.block, scope)


def decode(flat: str, register: str, axes: tuple[Axis, ...], scope: Scope) -> Lines:
    """A flat number as its digits: a grid has less than 2³¹ blocks. One factor is the number itself."""
    if not axes:
        return []
    if len(axes) == 1:
        return [f"{scope.names[axes[0].name]} = ix(cuda.{register}.x)"]
    lines = [f"{flat} = ix(cuda.{register}.x)"]
    for axis in reversed(axes[1:]):
        extent = scope.text(axis.extent)
        lines.append(f"{scope.names[axis.name]} = mod({flat}, {extent})")
        lines.append(f"{flat} = div({flat}, {extent})")
    return [*lines, f"{scope.names[axes[0].name]} = {flat}"]
