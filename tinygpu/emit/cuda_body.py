"""The body of a CUDA kernel: steps as lines of Python, loops as loops, and index terms under the equation's own names.

Comes in: a launch of a program. Goes out: the lines of its body, and what the prelude has to give.
The one idea: one walk over the steps. What is in scope grows on the way down, and an index term gets its name where its axes are known.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import FLOATS, TRUE, App, Axis, Const, Read, Term, Var, conjuncts, reads, text, variables, walk
from tinygpu.emit.cuda_text import HALVES, Scope, guard, held, index, place, stored, to_store, value
from tinygpu.emit.cuda_wide import Fast, Move, fast
from tinygpu.emit.python import Lines, block, choice, comment, fresh
from tinygpu.program.address import address
from tinygpu.program.step import Assign, For, If, Launch, Local, Program, Step, steps
from tinygpu.program.wide import wide_in

IN_PLACE = {"sum": "+=", "prod": "*="}


@dataclass(slots=True)
class Build:
    """What one kernel's walk needs and what it gathers: the arrays to declare, by name."""

    program: Program
    number: int
    labels: dict[Term, str]
    declared: Lines = field(default_factory=list)
    taken: set[str] = field(default_factory=set)


def index_names(program: Program, launch: Launch) -> dict[Term, str]:
    """Index terms of the launch with the names that the equations give them: `by*64 + ri` stands at C's `i`, so it is `i`."""
    found: dict[Term, str] = {}
    for step in steps(launch.body):
        if not isinstance(step, Assign):
            continue
        for access in (Read(step.target, step.index, ""), *reads(step.value)):
            for names in index_patterns(program, access.tensor):
                for place_, name in zip(access.index, names, strict=False):
                    if name and isinstance(place_, App):
                        found.setdefault(place_, name)
    return found


def index_patterns(program: Program, tensor: str) -> Iterable[tuple[str, ...]]:
    """How the equations write the coordinates of a tensor: names where they are plain, else empty."""
    for equation in program.op.equations:
        if equation.target == tensor:
            yield tuple(a.name for a in equation.axes)
        for read in reads(equation.value):
            if read.tensor == tensor:
                yield tuple(t.name if isinstance(t, Var) else "" for t in read.index)


def body_lines(build: Build, body: tuple[Step, ...], scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """The steps, after the names of the index terms whose axes are all known here for the first time."""
    lines: Lines = []
    known = {a.name for a in axes} | set(build.program.op.sizes)
    for term, name in build.labels.items():
        if term not in scope.bound and variables(term) <= known and not reads(term) and occurs(term, body):
            lines.append(f"{name} = {index(term, scope)}")
            scope = scope.binding(term, name)
    for step in body:
        lines += step_lines(build, step, scope, axes)
    return lines


def occurs(term: Term, body: tuple[Step, ...]) -> bool:
    """Whether the term stands somewhere in the steps."""
    return any(term in walk(t) for step in steps(body) for t in terms_of(step))


def terms_of(step: Step) -> tuple[Term, ...]:
    """The terms that are evaluated at a step itself."""
    match step:
        case Assign(_, at, term, _, condition):
            return (*at, term, condition)
        case For(axis):
            return (axis.extent,)
        case If(condition):
            return (condition,)
    return ()


def step_lines(build: Build, step: Step, scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """One step."""
    match step:
        case Local():
            build.declared += declaration(step.name, held(step.dtype), step, scope)
            return []
        case Assign():
            return assign_lines(build.program, step, scope)
        case If(condition, body):
            inner = body_lines(build, body, scope, axes)
            return inner if condition == TRUE else block(f"if {guard(condition, scope)}", inner)
        case For(axis, body) if axis.sort == "vector":
            return vector_lines(build, step, scope, axes)
        case For(axis, body):
            return loop_lines(build, axis, body, scope, axes)
    return []  # what holds is proved, and never emitted


def declaration(name: str, kind: str, local: Local, scope: Scope) -> Lines:
    """A local array, or a plain variable for one cell."""
    python = scope.names[name]
    if not local.extents:
        return [f"{python} = {scope.use(kind)}(0)"]
    extents = ", ".join(text(e) for e in local.extents)
    shape = extents if len(local.extents) == 1 else f"({extents})"
    return [f"{python} = {scope.use('cuda')}.local.array({shape}, {scope.use(kind)})"]


def loop_lines(build: Build, axis: Axis, body: tuple[Step, ...], scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """A loop in the index type; register and vector loops have constant bounds, and the compiler unrolls them."""
    extent = index(axis.extent, scope)
    bound = f"{scope.use('ix')}({extent})" if isinstance(axis.extent, Const) else extent
    return block(f"for {scope.names[axis.name]} in range({bound})", body_lines(build, body, scope, (*axes, axis)))


def vector_lines(build: Build, loop: For, scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """A vector loop: wide where the kernel is and all lanes are inside, else lane by lane."""
    plain = loop_lines(build, loop.axis, loop.body, scope, axes)
    wides = wide_in(build.program, build.number, loop, axes)
    if not wides:
        return plain
    names, cells = [], {}
    for wide in wides:
        name = fresh(f"{scope.names[wide.tensor]}_{scope.names[loop.axis.name]}", build.taken)
        build.taken.add(name)
        cells["cells of " + name] = name
        names.append("cells of " + name)
        dtype = build.program.op.tensor(wide.tensor).dtype
        build.declared.append(f"{name} = {scope.use('cuda')}.local.array({wide.count}, {scope.use(stored(dtype))})")
    inside = scope.with_raw(cells)
    quick = fast(loop, wides, tuple(names))
    lines = [move_line(build, m, inside) for m in quick.loads]
    lines += loop_lines(build, loop.axis, quick.body, inside, axes)
    lines += [move_line(build, m, inside) for m in quick.stores]
    test = " and ".join([scope.use("wide"), *(guard(c, scope, 3) for c in conjuncts(quick.condition))])
    return comment(wide_remark(quick, scope)) + choice(test, lines, plain)


def wide_remark(quick: Fast, scope: Scope) -> str:
    """What moves wide, in words."""
    moved = [f"{scope.names[m.wide.tensor]} by {m.wide.bytes} bytes" for m in (*quick.loads, *quick.stores)]
    lanes = (*quick.loads, *quick.stores)[0].wide.count
    return f"{', '.join(dict.fromkeys(moved))}, where all {lanes} lanes are inside"


def move_line(build: Build, move: Move, scope: Scope) -> str:
    """One wide load or store."""
    wide = move.wide
    pointer, cells = scope.names[wide.tensor], scope.names[move.cells]
    offset = index(address(scope.shapes[wide.tensor], wide.first), scope)
    offset = f"{scope.use('ix')}({offset})" if offset.isdigit() else offset
    call = scope.use(f"{'store' if wide.stores else 'load'}{wide.count}")
    return f"{call}({pointer}, {offset}, {cells})" if wide.stores else f"{call}({cells}, {pointer}, {offset})"


def assign_lines(program: Program, step: Assign, scope: Scope) -> Lines:
    """An assignment, under its guard."""
    target = place(step.target, step.index, scope)
    dtype = step.value.dtype
    line = f"{target} = {assigned(program, step, scope)}"
    if step.update in IN_PLACE and dtype in FLOATS and (dtype not in HALVES):
        line = f"{target} {IN_PLACE[step.update]} {value(step.value, scope)}"
    return [line] if step.guard == TRUE else block(f"if {guard(step.guard, scope)}", [line])


def assigned(program: Program, step: Assign, scope: Scope) -> str:
    """What is assigned, in the form of the target: memory's bits, or a register's value."""
    term = step.value
    if step.update:
        term = MONOIDS[step.update].combine(Read(step.target, step.index, term.dtype), term)
    if step.target in scope.locals and term.dtype != "bool":
        return value(term, scope)
    return to_store(term, term.dtype, scope)
