"""The body of a CUDA kernel: steps as lines of Python, loops as loops, and index terms under the equation's own names.

Comes in: a launch of a program. Goes out: the lines of its body, and the arrays that it declares.
The one idea: one walk over the steps. What is in scope grows on the way down, and an index term gets its name where its axes are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from tinygpu.category.dtype import HALVES, MEMORY
from tinygpu.category.operation import SHUFFLES
from tinygpu.category.term import FLOATS, TRUE, App, Axis, Const, Read, Term, negation, reads, rebuild, text, variables, walk
from tinygpu.category.text import unused
from tinygpu.emit.cuda_names import occurs
from tinygpu.emit.cuda_text import Scope, held
from tinygpu.emit.python import Lines, block, choice, comment
from tinygpu.program.step import Array, Assign, Call, Fact, For, If, Program, Step
from tinygpu.program.traverse import terms
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.wide import Move, move, moves

IN_PLACE = {"sum": "+=", "prod": "*="}


@dataclass(slots=True)
class Build:
    """What one kernel's walk needs, with the first bytes of shared arrays, and what it gathers: the arrays to declare, by name. `firsts` are
    the coordinates of first lanes, with the coordinate of every lane."""

    program: Program
    labels: dict[Term, str]
    declared: Lines = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    places: Mapping[str, int] = field(default_factory=dict)
    swizzled: Mapping[str, Array] = field(default_factory=dict)
    firsts: Mapping[Term, Term] = field(default_factory=dict)


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
    steps = iter([*body, None])
    step = next(steps)
    while step is not None:
        after = next(steps)
        if isinstance(step, If) and isinstance(after, If) and moves(step.body) and after.guard == negation(step.guard):
            every, each = (body_lines(build, part.body, scope, axes) for part in (step, after))
            lines += [*comment(wide_remark(moves(step.body), scope)), *choice(scope.text(step.guard), every, each)]
            after = next(steps)
        else:
            lines += step_lines(build, step, scope, axes)
        step = after
    return lines


def step_lines(build: Build, step: Step, scope: Scope, axes: tuple[Axis, ...]) -> Lines:
    """One step."""
    match step:
        case Array(owner="thread"):
            kind = MEMORY[step.dtype] if step.name in scope.raw else held(step.dtype)
            build.declared += declaration(scope.names[step.name], kind, step)
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
        case For() if (access := move(step)) is not None:
            return [move_line(access, scope)]
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


def wide_remark(found: tuple[Move, ...], scope: Scope) -> str:
    """What moves wide, in words."""
    said = dict.fromkeys(f"{scope.names[m.first.tensor]} by {m.bytes} bytes" for m in found)
    return f"{', '.join(said)}, where all {found[0].count} lanes are inside"


def move_line(access: Move, scope: Scope) -> str:
    """One wide load or store."""
    name = access.first.tensor
    call = f"{'shared_' if name in scope.layouts else ''}{access.way}{access.count}"
    element, cells = place(scope, name, access.first.index), scope.names[access.cells]
    return f"{call}({cells}, {element})" if access.way == "load" else f"{call}({element}, {cells})"


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
