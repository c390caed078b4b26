"""CUDA kernels of a program, as readable Python for numba.cuda with the spec's names.

Comes in: a program. Goes out: for each launch one function that makes its kernel, for 32- or 64-bit indices, with wide accesses or not.
The one idea: the text is the program. Loops stay loops over local arrays, which the compiler keeps in registers; a tensor is a pointer;
the grid is flat and is decoded by division.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from tinygpu.category.dtype import MEMORY, ROUNDED, STORAGE
from tinygpu.category.operation import FUNCTION
from tinygpu.category.term import Axis, Const, text
from tinygpu.category.text import claimed, unused
from tinygpu.derive.unpack import unpack
from tinygpu.derive.wide import wide_accesses
from tinygpu.emit.cuda_body import CudaBody
from tinygpu.emit.cuda_names import first_names, index_names
from tinygpu.emit.cuda_text import Scope
from tinygpu.emit.python import Lines, block, docstring, identifier, identifiers, joined_lines, python_names
from tinygpu.program.arrays import STATIC_BYTES, arrays, shared_places, strides
from tinygpu.program.call import Enter, Sync
from tinygpu.program.instruction import FUNCTIONS, INSTRUCTIONS
from tinygpu.program.step import WARP, Array, For, Launch, Program, arrays_in, steps
from tinygpu.program.traverse import written
from tinygpu.record import dataclass, replace
from tinygpu.schedule import contract
from tinygpu.schedule.registers import Called, fragments_of, registered
from tinygpu.schedule.roles import Map, maps, parameter, parted
from tinygpu.schedule.wide import LAUNCHED, moves, widened

BUILTIN = ("range", "min", "max", "abs", "int", "float", "bool")
CALLED = frozenset(name for name, (_, atom) in FUNCTIONS.items() if not FUNCTION[atom.name].keeps)
OURS = {*INSTRUCTIONS, *BUILTIN, "blockIdx", "threadIdx", "names", "bits", "wide", "block", "thread"}
NUMERICS = "Products and sums may be contracted to fused multiply-adds; nothing else is relaxed, and reductions keep their order."
CLOSE = (
    "Functions are libdevice's, within 2 units in the last place by NVIDIA's tests; square roots and divisions are correctly rounded.\n"
    "Sine and cosine are the prelude's: f32 within 1.5 units in the last place, f64 within 2⁻⁵², for |x| ≤ 2³⁰, and NaN beyond."
)
HALF = "Arithmetic of 16-bit floats is done in f32, and rounded to 16 bits to nearest even after every operation."


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel's parameter. `kind`: `pointer` (to elements of `dtype`), `scalar` (of `dtype`), `size` (an index), `stride` (of a strided tensor, in
    elements, with 64 bits whatever an index has), `map` (of a tensor in boxes, which lies in global memory). `dtype` is memory's: 16-bit floats are `u16`, truth values `u8`."""

    name: str
    kind: str
    dtype: str


def kernel_parameters(program: Program, launch: Launch) -> tuple[Parameter, ...]:
    """The parameters of the kernel of a launch, in order: pointers of inputs, of outputs, of workspaces, scalar inputs, sizes, strides, the turns of the
    loops around it, maps."""
    op = program.op
    held = [(t.name, t.dtype) for t in op.tensors if t.shape or t.role == "output"]
    held += [(w.name, w.dtype) for w in program.workspaces]
    pointers = [Parameter(name, "pointer", MEMORY[dtype]) for name, dtype in held]
    scalars = [Parameter(t.name, "scalar", MEMORY[t.dtype]) for t in op.inputs if not t.shape]
    paces = [Parameter(name, "stride", "i64") for names in strides(op).values() for name in names]
    turns = [Parameter(a.name, "size", "ix") for a in launch.turns]
    boxes = [Parameter(parameter(one), "map", "i64") for one in maps(program)]
    return (*pointers, *scalars, *(Parameter(s, "size", "ix") for s in op.sizes), *paces, *turns, *boxes)


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
    program, boxes = unpack(program), maps(program)
    parameters = kernel_parameters(program, program.launches[number])
    program = parted(program)
    launch, fragments = program.launches[number], fragments_of(program.launches[number])
    laid = registered(widened(program, number))
    scope = kernel_scope(program, laid, frozenset(fragments), boxes)
    taken = {*OURS, *scope.names.values()}
    ours = Called.of(launch)
    calls = dict.fromkeys((maker, ours.name(s)) for s in steps(launch.body) if (maker := ours.maker(s)))
    instructions = {maker: claimed(name, taken, "_") for maker, name in calls}
    scope = replace(scope, names={**scope.names, **instructions})
    labels = index_names(program, launch, taken)
    places, size = shared_places(launch)
    firsts = {w.first[-1]: w.access.index[-1] for w in wide_accesses(program) if w.launch == number}
    labels |= first_names(firsts, labels, taken)
    known = frozenset({*program.op.sizes, *(a.name for a in launch.axes)})
    swizzled = {name: s for name, s in program.shared.items() if s.layout.swizzle}
    printed = CudaBody(scope, labels, known, taken | set(labels.values()), places, swizzled, firsts, ours, frozenset(fragments))
    decoded = thread_lines(launch, scope)
    lines = printed.lines(laid.body)
    name = unused(identifier(program.name), OURS)
    inner = block(f"def {name}({', '.join(scope.names[p.name] for p in parameters)})", [*decoded, *printed.declared, *lines])
    kept = unwritten(parameters, program, launch)
    types = [f"{'constant' if p.name in kept else 'pointer'}({p.dtype})" if p.kind == "pointer" else p.dtype for p in parameters]
    signature = ", ".join(types)
    uses = frozenset(called(joined_lines([*inner, signature])) | {p.dtype for p in parameters})
    body = [
        *docstring(*remarks(program, number, uses)),
        "names = cuda_names(bits)",
        *made(uses, size),
        *(f"{name} = {maker}" for maker, name in instructions.items()),
    ]
    body += ["", *inner, ""]
    body += [f"return {name}, names.void({signature})"]
    return joined_lines(block(f"def {kernel_name(program, number)}(bits: int, wide: bool) -> Any", body))


def unwritten(parameters: Sequence[Parameter], program: Program, launch: Launch) -> frozenset[str]:
    """The arrays in global memory that nobody writes during a launch, under whatever name."""
    changed = written(launch.body)
    changed |= {source for output, source in program.op.inplace.items() if output in changed}
    return frozenset(p.name for p in parameters if p.kind == "pointer" and p.name not in changed)


def called(text: str) -> set[str]:
    """The names of the prelude that stand in a kernel; nothing else there is called so.

    >>> sorted(called("x[ix(g)] = expf(y)  # load4"))
    ['expf', 'ix']
    """
    return identifiers(text) & INSTRUCTIONS.keys()


def made(uses: frozenset[str], size: int = 0) -> Lines:
    """The lines that give the prelude's names to a kernel. A block's memory of `size` bytes is static while that is allowed.

    >>> made(frozenset(("ix", "expf", "load4", "shared_atomic_sum")))
    ['expf, ix, pointer = names.expf, names.ix, names.pointer', 'load4 = wide_load(4)', "shared_atomic_sum = atomic('sum', 'shared')"]
    """
    static = size if size <= STATIC_BYTES else 0
    makers = {n: INSTRUCTIONS[n][0] for n in sorted(uses | {"pointer"}) if n != "shared"}
    given = [n for n, maker in makers.items() if maker.startswith("names.")]
    lines = [f"{', '.join(given)} = {', '.join(makers[n] for n in given)}"]
    rest = [f"{n} = {maker}" for n, maker in makers.items() if n not in given]
    more = "" if static else f"  # the launch gives its {size} bytes"
    return lines + [f"shared = shared_memory({static}){more}"] * ("shared" in uses) + rest


def remarks(program: Program, number: int, uses: frozenset[str]) -> tuple[str, ...]:
    """The docstring: the equations, the work, and what is done to numbers."""
    op, launch = program.op, program.launches[number]
    equations = [f"{e.target}[{', '.join(a.name for a in e.axes)}] = {text(e.value)}" for e in op.equations]
    grid, block_ = (", ".join(f"{a.name}: {text(a.extent)}" for a in axes) for axes in (launch.grid, launch.block))
    around = f", once for each {', '.join(f'{a.name} < {text(a.extent)}' for a in launch.turns)}" if launch.turns else ""
    half = any(a.dtype in ROUNDED and a.dtype not in STORAGE for a in arrays(program).values())
    which = f"launch {number + 1} of {len(program.launches)}, " if len(program.launches) > 1 else ""
    first = f"The kernel of {program.name}, {which}for indices of 32 or 64 bits, with wide accesses or without."
    return (
        first,
        "\n".join(equations),
        f"grid = ({grid}), block = ({block_}){around}",
        NUMERICS,
        HALF if half else "",
        CLOSE if uses & CALLED else "",
    )


def kernel_scope(program: Program, launch: Launch, fragments: frozenset[str] = frozenset(), boxes: Iterable[Map] = ()) -> Scope:
    """The Python names of everything in a launch; arrays in memory with their shapes and layouts, and the thread's own cells, of which those of
    fragments are as they are in memory."""
    op, inside = program.op, tuple(steps(launch.body))
    loops = [s.axis for s in inside if isinstance(s, For)]
    local = [s.name for s in arrays_in(launch.body, "thread")]
    shared = {s.name: s for s in arrays_in(launch.body, "block")}
    spec = [*(t.name for t in op.tensors), *(w.name for w in program.workspaces), *op.sizes]
    spec += [*(a.name for a in (*launch.axes, *loops)), *shared, *local]
    paces = strides(op)
    spec += [name for names in paces.values() for name in names] + [parameter(one) for one in boxes]
    shapes = {t.name: t.shape for t in op.tensors if t.shape or t.role == "output"}
    shapes |= {w.name: w.extents for w in program.workspaces}
    shapes |= {
        s.name: s.extents for s in steps(launch.body) if isinstance(s, Array) and (s.owner == "block" or s.name in fragments)
    }
    layouts = {s.name: s.layout for s in shared.values()}
    raw = fragments | {m.cells for m in moves(inside)}
    names = python_names(spec, OURS) | {LAUNCHED.name: "wide"}
    said = {name: tuple(names[pace] for pace in each) for name, each in paces.items()}
    return Scope(names, shapes, frozenset(local) - raw, raw, layouts=layouts, strides=said)


def thread_lines(launch: Launch, scope: Scope) -> Lines:
    """The factors of the grid from blockIdx.x, and of the block from threadIdx.x, slowest first."""
    ours = any(
        isinstance(s, Enter) or (isinstance(s, Sync) and s.applied and s.applied.instruction.unit) for s in steps(launch.body)
    )
    return decode("block", "blockIdx", launch.grid, scope) + decode("thread", "threadIdx", launch.block, scope, WARP if ours else 0)


def decode(flat: str, register: str, axes: tuple[Axis, ...], scope: Scope, warp: int = 0) -> Lines:
    """A flat number as its digits: a grid has less than 2³¹ blocks. One factor is the number itself. What lanes of a warp have together is said to be so, where `warp`
    is how many they are."""
    if not axes:
        return []
    if len(axes) == 1:
        return [f"{scope.names[axes[0].name]} = ix(cuda.{register}.x)"]
    lines, lanes = [f"{flat} = ix(cuda.{register}.x)"], 1
    for axis in reversed(axes[1:]):
        extent, before = scope.text(axis.extent), lanes
        lanes *= int(axis.extent.value) if isinstance(axis.extent, Const) else 1
        lines.append(f"{scope.names[axis.name]} = mod({flat}, {extent})")
        others = f"div({flat}, {extent})"
        lines.append(f"{flat} = {f'uniform({others})' if warp and lanes % warp == 0 < before % warp else others}")
    return [*lines, f"{scope.names[axes[0].name]} = {flat}"]
