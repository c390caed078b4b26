"""The body of a CUDA kernel: steps as lines of Python, loops as loops, and index terms under the equation's own names.

Comes in: a launch of a program. Goes out: the lines of its body, and the arrays that it declares.
The one idea: one walk over the steps. What is in scope grows on the way down, and an index term gets its name where its axes are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tinygpu.category.dtype import HALVES, MEMORY
from tinygpu.category.operation import SHUFFLES
from tinygpu.category.term import (
    BOOL,
    FLOATS,
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjuncts,
    memoised,
    reads,
    rebuild,
    text,
    variables,
    walk,
)
from tinygpu.category.text import unused
from tinygpu.derive.wide import Wide, all_lanes, hoisted, wide_in
from tinygpu.emit.cuda_names import occurs
from tinygpu.emit.cuda_text import Scope, held
from tinygpu.emit.python import Lines, block, choice, comment
from tinygpu.program.arrays import arrays
from tinygpu.program.step import Array, Assign, Call, Fact, For, If, Program, Step
from tinygpu.program.traverse import map_steps, map_terms, terms
from tinygpu.record import dataclass, field, replace

IN_PLACE = {"sum": "+=", "prod": "*="}


@dataclass(frozen=True, slots=True)
class Move:
    """One wide access, and the name of the local array that holds its elements as memory has them."""

    wide: Wide
    cells: str


@dataclass(slots=True)
class Build:
    """What one kernel's walk needs, with the first bytes of shared arrays, and what it gathers: the arrays to declare, by name. `firsts` are
    the coordinates of first lanes, with the coordinate of every lane; what is touched `once` need not stay in a cache."""

    program: Program
    number: int
    labels: dict[Term, str]
    declared: Lines = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    places: Mapping[str, int] = field(default_factory=dict)
    swizzled: Mapping[str, Array] = field(default_factory=dict)
    firsts: Mapping[Term, Term] = field(default_factory=dict)
    once: frozenset[str] = frozenset()


def body_lines(build: Build, body: tuple[Step, ...], scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """The steps, after the names of the index terms whose axes are all known here for the first time."""
    lines: Lines = []
    known = {a.name for a in axes} | set(build.program.op.sizes)
    for term, name in build.labels.items():
        if term in scope.bound or not variables(term) <= known or reads(term):
            continue
        if occurs(build.firsts.get(term, term), body, build.swizzled):
            lines.append(f"{name} = {scope.text(term)}")
            scope = scope.binding(term, name)
    for step in body:
        lines += step_lines(build, step, scope, axes)
    return lines


def step_lines(build: Build, step: Step, scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """One step."""
    match step:
        case Array(owner="thread"):
            build.declared += declaration(scope.names[step.name], held(step.dtype), step)
            return []
        case Array():
            build.declared.append(carved(scope.names[step.name], step, build.places[step.name]))
            return []
        case Assign():
            return assign_lines(build, step, scope)
        case Call():
            return [f"{step.called}({', '.join(place(scope, e.tensor, e.index) for e in terms(step) if isinstance(e, Read))})"]
        case If(condition, body):
            inner = body_lines(build, body, scope, axes)
            return inner if condition == TRUE else block(f"if {scope.text(condition)}", inner)
        case For(axis, body) if axis.sort == "vector":
            return vector_lines(build, step, scope, axes)
        case For(axis, body):
            return loop_lines(build, axis, body, scope, axes)
        case Fact():
            return []
    assert_never(step)


def declaration(python: str, kind: str, local: Array) -> Lines:
    """A local array, or a plain variable for one cell."""
    if not local.extents:
        return [f"{python} = {kind}(0)"]
    extents = ", ".join(text(e) for e in local.extents)
    shape = extents if len(local.extents) == 1 else f"({extents})"
    return [f"{python} = cuda.local.array({shape}, {kind})"]


def carved(python: str, shared: Array, start: int) -> str:
    """A pointer to a shared array, from its first byte in the block's memory on."""
    how = f" pad {shared.layout.pad}" if shared.layout.pad else ""
    how += f" swizzle{shared.layout.swizzle}" if shared.layout.swizzle else ""
    return f"{python} = shared({MEMORY[shared.dtype]}, {start})  # [{', '.join(map(text, shared.extents))}]{how}"


def loop_lines(build: Build, axis: Axis, body: tuple[Step, ...], scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """A loop in the index type. Where its bound is a constant the compiler unrolls it, as much as is good."""
    extent = scope.text(axis.extent)
    bound = f"ix({extent})" if isinstance(axis.extent, Const) else extent
    return block(f"for {scope.names[axis.name]} in upto({bound})", body_lines(build, body, scope, (*axes, axis)))


def vector_lines(build: Build, loop: For, scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """A vector loop: wide where the kernel is and all lanes are inside, else lane by lane; what is always wide stands around both, and
    the conditions of all lanes around everything."""
    outer, loop = hoisted(loop, {a.name for a in axes} | set(build.program.op.sizes))
    wides = wide_in(build.program, build.number, loop, axes)
    moves = tuple(Move(wide, f"cells {cells_of(build, wide, loop.axis, scope)}") for wide in wides)
    inside = scope.with_raw({move.cells: move.cells.removeprefix("cells ") for move in moves})
    around, quick = tuple(m for m in moves if m.wide.always), tuple(m for m in moves if not m.wide.always)
    lines = loop_lines(build, loop.axis, with_cells(loop, around), inside, axes)
    if quick:
        every = between(build, quick, loop_lines(build, loop.axis, with_cells(loop, moves), inside, axes), inside)
        shares = conjuncts(quick[0].wide.condition)
        test = " and ".join(["wide"] * any(not m.wide.shared for m in quick) + [scope.text(c, 3) for c in shares])
        lines = [*comment(wide_remark(quick, scope)), *choice(test, every, lines)]
    lines = between(build, around, lines, inside)
    return lines if outer == TRUE else block(f"if {scope.text(outer)}", lines)


def between(build: Build, moves: tuple[Move, ...], lines: Lines, scope: Scope) -> Lines:
    """Lines between the loads and the stores of wide accesses."""
    loads, stores = ([move_line(build, m, scope) for m in moves if m.wide.stores == which] for which in (False, True))
    return [*loads, *lines, *stores]


def with_cells(loop: For, moves: tuple[Move, ...]) -> tuple[Step, ...]:
    """The loop's body as a program again: elements that move wide are cells of the thread, and conditions that hold for all lanes are gone."""
    settled = frozenset(c for move in moves for c in conjuncts(move.wide.condition))
    cells = {m.wide.access: m.cells for m in moves}
    lane = (Var(loop.axis.name),)

    @memoised
    def term(t: Term) -> Term:
        if isinstance(t, Read) and t in cells:
            return Read(cells[t], lane, t.dtype)
        if t.dtype == BOOL and all_lanes(t, loop.axis) in settled:
            return TRUE
        return rebuild(t, term)

    def step(s: Step) -> tuple[Step, ...]:
        if isinstance(s, Assign) and s in cells:
            return (replace(map_terms(s, term), target=cells[s], index=lane),)
        return (s if isinstance(s, Call) else map_terms(s, term),)

    return map_steps(loop.body, step)


def cells_of(build: Build, wide: Wide, axis: Axis, scope: Scope) -> str:
    """Declares the cells that hold what moves in one wide access; their name is the tensor's and the axis's."""
    name = unused(f"{scope.names[wide.tensor]}_{scope.names[axis.name]}", build.taken)
    build.taken.add(name)
    kind = MEMORY[arrays(build.program)[wide.tensor].dtype]
    build.declared.append(f"{name} = cuda.local.array({wide.count}, {kind})")
    return name


def wide_remark(quick: tuple[Move, ...], scope: Scope) -> str:
    """What moves wide, in words."""
    moved = [f"{scope.names[m.wide.tensor]} by {m.wide.bytes} bytes" for m in sorted(quick, key=lambda m: m.wide.stores)]
    return f"{', '.join(dict.fromkeys(moved))}, where all {quick[0].wide.count} lanes are inside"


def move_line(build: Build, move: Move, scope: Scope) -> str:
    """One wide load or store."""
    wide = move.wide
    element, cells = place(scope, wide.tensor, wide.first), scope.names[move.cells]
    memory = "shared_" if wide.shared else "streaming_" if wide.stores and wide.tensor in build.once else ""
    call = f"{memory}{'store' if wide.stores else 'load'}{wide.count}"
    return f"{call}({element}, {cells})" if wide.stores else f"{call}({cells}, {element})"


def place(scope: Scope, array: str, index: tuple[Term, ...]) -> str:
    """An element of memory as functions take it: a pointer, and an offset, which is an index also where it is a number."""
    offset = scope.text(scope.offset(array, index))
    return f"{scope.names[array]}, {f'ix({offset})' if offset.isdigit() else offset}"


def assign_lines(build: Build, step: Assign, scope: Scope) -> Lines:
    """An assignment, under its guard; shuffles that Python might not come to stand before it."""
    lines, step, scope = shuffled_first(build, step, scope)
    if step.atomic:
        near = "shared_" if step.target in scope.layouts else ""
        lines.append(f"{near}atomic_{step.update}({place(scope, step.target, step.index)}, {scope.to_store(step.value)})")
    else:
        target = scope.element(Read(step.target, step.index, step.value.dtype))
        dtype = step.value.dtype
        if step.update in IN_PLACE and dtype in FLOATS and dtype not in HALVES:
            lines.append(f"{target} {IN_PLACE[step.update]} {scope.text(step.value)}")
        else:
            lines.append(f"{target} = {assigned(step, scope)}")
    return lines if step.guard == TRUE else block(f"if {scope.text(step.guard)}", lines)


def assigned(step: Assign, scope: Scope) -> str:
    """What is assigned, in the form of the target: memory's bits, or a register's value."""
    term = step.whole
    if step.target in scope.locals and term.dtype != "bool":
        return scope.text(term)
    return scope.to_store(term)


def shuffled_first(build: Build, step: Assign, scope: Scope) -> tuple[Lines, Assign, Scope]:
    """`and`, `or` and a choice leave out what they do not need, but every lane takes part in a shuffle: there it is made beforehand."""
    lines: Lines = []
    kept: dict[Term, Read] = {}

    @memoised
    def made(term: Term) -> Term:
        nonlocal scope
        inner = rebuild(term, made)
        if not isinstance(inner, App) or inner.op not in SHUFFLES:
            return inner
        if inner not in kept:
            name = unused("other", build.taken, "_")
            build.taken.add(name)
            lines.append(f"{name} = {scope.to_store(inner) if inner.dtype == 'bool' else scope.text(inner)}")
            kept[inner] = Read(f"shuffled {name}", (), inner.dtype)
            scope = scope.with_locals({f"shuffled {name}": name})
        return kept[inner]

    lazy = [t for t in walk(step.whole) if isinstance(t, App) and t.op in ("and", "or", "select")]
    if not any(isinstance(t, App) and t.op in SHUFFLES for one in lazy for t in walk(one)):
        return [], step, scope
    value = made(step.value)
    return lines, replace(step, value=value), scope
