"""The body of a CUDA kernel: steps as lines of Python, loops as loops, and index terms under the equation's own names.

Comes in: a launch of a program. Goes out: the lines of its body, and the arrays that it declares.
The one idea: one walk over the steps. What is in scope grows on the way down, and an index term gets its name where its axes are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import FLOATS, TRUE, App, Axis, Const, Read, Term, conjuncts, reads, text, variables
from tinygpu.emit.cuda_names import numbered, occurs
from tinygpu.emit.cuda_text import HALVES, Scope, held, stored
from tinygpu.emit.cuda_wide import Fast, Move, fast
from tinygpu.emit.python import Lines, block, choice, comment, fresh
from tinygpu.program.address import address
from tinygpu.program.step import Assign, For, If, Local, Program, Step
from tinygpu.program.wide import Wide, wide_in

IN_PLACE = {"sum": "+=", "prod": "*="}


@dataclass(slots=True)
class Build:
    """What one kernel's walk needs and what it gathers: the arrays to declare, by name."""

    program: Program
    number: int
    labels: dict[Term, str]
    declared: Lines = field(default_factory=list)
    taken: set[str] = field(default_factory=set)


def body_lines(build: Build, body: tuple[Step, ...], scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """The steps, after the names of the index terms whose axes are all known here for the first time."""
    lines: Lines = []
    known = {a.name for a in axes} | set(build.program.op.sizes)
    for term, name in build.labels.items():
        if term not in scope.bound and variables(term) <= known and not reads(term) and occurs(term, body):
            lines.append(f"{name} = {scope.text(term)}")
            scope = scope.binding(term, name)
    for step in body:
        lines += step_lines(build, step, scope, axes)
    return lines


def step_lines(build: Build, step: Step, scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """One step."""
    match step:
        case Local():
            build.declared += declaration(scope.names[step.name], held(step.dtype), step)
            return []
        case Assign():
            return assign_lines(build.program, step, scope)
        case If(condition, body):
            inner = body_lines(build, body, scope, axes)
            return inner if condition == TRUE else block(f"if {scope.text(condition)}", inner)
        case For(axis, body) if axis.sort == "vector":
            return vector_lines(build, step, scope, axes)
        case For(axis, body):
            return loop_lines(build, axis, body, scope, axes)
    return []  # what holds is proved, and never emitted


def declaration(python: str, kind: str, local: Local) -> Lines:
    """A local array, or a plain variable for one cell."""
    if not local.extents:
        return [f"{python} = {kind}(0)"]
    extents = ", ".join(text(e) for e in local.extents)
    shape = extents if len(local.extents) == 1 else f"({extents})"
    return [f"{python} = cuda.local.array({shape}, {kind})"]


def loop_lines(build: Build, axis: Axis, body: tuple[Step, ...], scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """A loop in the index type; register and vector loops have constant bounds, and the compiler unrolls them."""
    extent = scope.text(axis.extent)
    bound = f"ix({extent})" if isinstance(axis.extent, Const) else extent
    return block(f"for {scope.names[axis.name]} in range({bound})", body_lines(build, body, scope, (*axes, axis)))


def vector_lines(build: Build, loop: For, scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """A vector loop: wide where the kernel is and all lanes are inside, else lane by lane."""
    wides = wide_in(build.program, build.number, loop, axes)
    if not wides:
        return loop_lines(build, loop.axis, loop.body, scope, axes)
    lines, scope = first_lines(build, wides, scope)
    plain = loop_lines(build, loop.axis, loop.body, scope, axes)
    cells = [cells_of(build, wide, loop.axis, scope) for wide in wides]
    inside = scope.with_raw({f"cells {name}": name for name in cells})
    quick = fast(loop, wides, tuple(f"cells {name}" for name in cells))
    moved = [move_line(m, inside) for m in quick.loads]
    moved += loop_lines(build, loop.axis, quick.body, inside, axes)
    moved += [move_line(m, inside) for m in quick.stores]
    test = " and ".join(["wide", *(scope.text(c, 3) for c in conjuncts(quick.condition))])
    return [*lines, *comment(wide_remark(quick, scope)), *choice(test, moved, plain)]


def first_lines(build: Build, wides: tuple[Wide, ...], scope: Scope) -> tuple[Lines, Scope]:
    """Names for the coordinates of the first lane: `j0` where the coordinate is j."""
    lines: Lines = []
    for wide in wides:
        first, name = wide.first[-1], build.labels.get(wide.access.index[-1])
        if name and isinstance(first, App) and first not in scope.bound:
            build.labels.setdefault(first, numbered(name + "0", build.taken))
            build.taken.add(build.labels[first])
            lines.append(f"{build.labels[first]} = {scope.text(first)}")
            scope = scope.binding(first, build.labels[first])
    return lines, scope


def cells_of(build: Build, wide: Wide, axis: Axis, scope: Scope) -> str:
    """Declares the cells that hold what moves in one wide access; their name is the tensor's and the axis's."""
    name = fresh(f"{scope.names[wide.tensor]}_{scope.names[axis.name]}", build.taken)
    build.taken.add(name)
    kind = stored(build.program.op.tensor(wide.tensor).dtype)
    build.declared.append(f"{name} = cuda.local.array({wide.count}, {kind})")
    return name


def wide_remark(quick: Fast, scope: Scope) -> str:
    """What moves wide, in words."""
    moved = [f"{scope.names[m.wide.tensor]} by {m.wide.bytes} bytes" for m in (*quick.loads, *quick.stores)]
    lanes = (*quick.loads, *quick.stores)[0].wide.count
    return f"{', '.join(dict.fromkeys(moved))}, where all {lanes} lanes are inside"


def move_line(move: Move, scope: Scope) -> str:
    """One wide load or store."""
    wide = move.wide
    pointer, cells = scope.names[wide.tensor], scope.names[move.cells]
    offset = scope.text(address(scope.shapes[wide.tensor], wide.first))
    offset = f"ix({offset})" if offset.isdigit() else offset
    call = f"{'store' if wide.stores else 'load'}{wide.count}"
    return f"{call}({pointer}, {offset}, {cells})" if wide.stores else f"{call}({cells}, {pointer}, {offset})"


def assign_lines(program: Program, step: Assign, scope: Scope) -> Lines:
    """An assignment, under its guard."""
    target = scope.element(Read(step.target, step.index, step.value.dtype))
    dtype = step.value.dtype
    line = f"{target} = {assigned(program, step, scope)}"
    if step.update in IN_PLACE and dtype in FLOATS and (dtype not in HALVES):
        line = f"{target} {IN_PLACE[step.update]} {scope.text(step.value)}"
    return [line] if step.guard == TRUE else block(f"if {scope.text(step.guard)}", [line])


def assigned(program: Program, step: Assign, scope: Scope) -> str:
    """What is assigned, in the form of the target: memory's bits, or a register's value."""
    term = step.value
    if step.update:
        term = MONOIDS[step.update].combine(Read(step.target, step.index, term.dtype), term)
    if step.target in scope.locals and term.dtype != "bool":
        return scope.text(term)
    return scope.to_store(term)
