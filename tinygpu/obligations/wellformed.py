"""Whether a program is one: arrays declared before use, only once, and where their kind may be; steps that their targets allow; terms that are some.

Comes in: a program, which Python code may have made. Goes out: a gap for everything that is not as `program.read` would have it; then
nothing else is asked, because a meaning that names or types do not have cannot be proved. An operation has its dtypes, and nothing is converted in
silence; a shuffle stands only where every lane comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tinygpu.category.layout import PLAIN, fault
from tinygpu.category.monoid import Carrier, has_atomic, monoids_on
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    DTYPES,
    INDEX,
    INTEGERS,
    LOGIC,
    SHUFFLES,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    children,
    text,
)
from tinygpu.diagnostic import Label, Span
from tinygpu.obligations.obligation import Gap
from tinygpu.program.space import INPUT, OUTPUT, WORKSPACE
from tinygpu.program.step import SCOPES, Array, Assign, Call, For, Ghost, If, Program, Step, Sync
from tinygpu.program.traverse import terms
from tinygpu.record import dataclass

APART = (*LOGIC, "select", "table")  # their arguments may be left out, so no shuffle stands in them


@dataclass(frozen=True, slots=True)
class Names:
    """What may stand at a place: index variables, and arrays. `top`: the place is outside of loops and guards."""

    indices: frozenset[str]
    arrays: dict[str, Array]
    top: bool = True

    def inside(self, *axes: Axis) -> Names:
        """The names in a loop, a guard or a fold."""
        return Names(self.indices | {a.name for a in axes}, self.arrays, False)

    def with_array(self, array: Array) -> Names:
        """The names after a declaration."""
        return Names(self.indices, {**self.arrays, array.name: array}, self.top)

    @property
    def taken(self) -> frozenset[str]:
        return self.indices | self.arrays.keys()


def gap(reason: str, span: Span) -> Gap:
    """One thing that is not well-formed."""
    return Gap("wellformed", "TG513", "this program is not well formed", reason, (Label(span, "here"),))


def condition(guard: Term, names: Names, span: Span) -> Iterator[Gap]:
    """What is wrong with a guard."""
    if guard.dtype != BOOL:
        yield gap(f"{text(guard)} is no condition", span)
    yield from term(guard, names, span)


def term(whole: Term, names: Names, span: Span, lanes: bool = False) -> Iterator[Gap]:
    """Names that are not known in a term, and operations on dtypes that they are not for. `lanes`: whether all lanes evaluate it, so that
    a shuffle may stand here."""
    match whole:
        case Var(name, dtype):
            if name not in names.indices or dtype != INDEX:
                yield gap(f"{name} is not known here", span)
        case Read(tensor, index, dtype):
            array = names.arrays.get(tensor)
            fits = array is not None and (array.dtype, len(array.extents)) == (dtype, len(index))
            if not fits or any(i.dtype != INDEX for i in index):
                yield gap(f"{text(whole)} is no cell of {dtype}", span)
            lanes = False
        case Fold():
            yield from _fold(whole, names, span)
            return
        case App(op, args, dtype):
            if not (part_of(args, dtype) if op == "part" else agrees(op, tuple(a.dtype for a in args), dtype)):
                yield gap(f"{text(whole)} applies {op} to {', '.join(a.dtype for a in args)} and gives {dtype}", span)
            if op in SHUFFLES and not lanes:
                yield gap(f"{text(whole)} stands where not every lane may come", span)
            lanes = lanes and op not in APART
    for child in children(whole):
        yield from term(child, names, span, lanes and child.dtype != INDEX)


def _fold(fold: Fold, names: Names, span: Span) -> Iterator[Gap]:
    axes, known = fold.axes, any(fold.monoid == monoid and monoid.accepts(fold.dtype) for monoid in monoids_on(fold.dtype))
    if fold.body.dtype != fold.dtype or fold.guard.dtype != BOOL or not known:
        yield gap(f"{text(fold)} folds {fold.body.dtype}", span)
    if any(a.name in names.indices for a in axes) or len({a.name for a in axes}) < len(axes):
        yield gap(f"{text(fold)} hides an index", span)
    for axis in axes:
        yield from term(axis.extent, names, span)
    for part in (fold.guard, fold.body):
        yield from term(part, names.inside(*axes), span)


def part_of(args: tuple[Term, ...], dtype: str) -> bool:
    """Whether `part(value, place)` takes a component of that dtype."""
    match args:
        case (value, Const(int(place), dtype="index")) if isinstance(value.dtype, Carrier):
            parts = value.dtype.components
            return 0 <= place < len(parts) and parts[place][1] == dtype
    return False


def agrees(op: str, args: tuple[str, ...], dtype: str) -> bool:
    """Whether an operation on these dtypes gives that one.

    >>> agrees("add", ("f32", "f32"), "f32"), agrees("add", ("f16", "f32"), "f32"), agrees("lt", ("i8", "i8"), "bool")
    (True, False, True)
    >>> agrees("shuffle_xor", ("f32", "index"), "f32"), agrees("shuffle_xor", ("index", "index"), "index")
    (True, False)
    """
    match op:
        case "cast":
            return len(args) == 1 and not any(isinstance(each, Carrier) for each in (*args, dtype))
        case "select":
            return len(args) == 3 and args[0] == BOOL and args[1:] == (dtype, dtype)
        case "table":
            return args[0] == INDEX and set(args[1:]) == {dtype}
        case _ if op in SHUFFLES:
            return args == (dtype, INDEX) and dtype != INDEX
        case "pack":
            return isinstance(dtype, Carrier) and args == tuple(d for _, d in dtype.components)
        case _ if op in COMPARISONS:
            return dtype == BOOL and len(args) == 2 and args[0] == args[1] and not isinstance(args[0], Carrier)
        case _ if isinstance(dtype, Carrier) or isinstance(op, Carrier):
            return op == dtype and args == (dtype, dtype)
        case _ if op in LOGIC:
            return {*args, dtype} == {BOOL}
        case "floordiv" | "mod" | "ceildiv" | "xor":
            return args == (dtype, dtype) and dtype != BOOL and (op != "xor" or dtype in (INDEX, *INTEGERS))
    return set(args) == {dtype} and dtype != BOOL


def gaps(program: Program) -> Iterator[Gap]:
    """What is not well-formed."""
    sizes = Names(frozenset(program.op.sizes), {})
    outer = sizes
    for tensor in program.op.tensors:
        space = OUTPUT if tensor in program.op.outputs else INPUT
        outer = outer.with_array(Array(tensor.name, tensor.dtype, tensor.shape, space))
    for where in program.where:
        yield from term(where, outer, program.span)
    for workspace in program.workspaces:
        yield from _array(workspace, outer)
        if workspace.space != WORKSPACE:
            yield gap(f"the {workspace.space.title} {workspace.name} is no workspace", workspace.span)
        for extent in workspace.extents:
            if extent.dtype != INDEX:
                yield gap(f"an extent of {workspace.name} is no index", workspace.span)
            yield from term(extent, sizes, workspace.span)
        outer = outer.with_array(workspace)
    for launch in program.launches:
        names = outer
        for axis in launch.grid + launch.block:
            yield from _axis(axis, names, sizes, launch.span)
            names = Names(names.indices | {axis.name}, names.arrays)
        yield from _body(launch.body, names, sizes)
    arrays = (*program.workspaces, *(s for s in program.steps if isinstance(s, Array)))
    declared = [(a.name, a.space.title) for a in arrays]
    every = [name for name, _ in declared]
    for name, kind in sorted({one for one in declared if every.count(one[0]) > 1}):
        yield gap(f"the {kind} {name} is declared twice", program.span)


def _array(array: Array, names: Names) -> Iterator[Gap]:
    if array.name in names.taken:
        yield gap(f"{array.name} hides another {array.name}", array.span)
    if array.dtype not in DTYPES and not isinstance(array.dtype, Carrier):
        yield gap(f"{array.name} holds {array.dtype}, which is no dtype", array.span)


def _axis(axis: Axis, names: Names, sizes: Names, span: Span) -> Iterator[Gap]:
    if axis.name in names.taken:
        yield gap(f"{axis.name} hides another {axis.name}", span)
    if axis.extent.dtype != INDEX:
        yield gap(f"the extent of {axis.name} is no index", span)
    yield from term(axis.extent, sizes, span)


def _body(body: tuple[Step, ...], names: Names, sizes: Names) -> Iterator[Gap]:
    for step in body:
        match step:
            case Array():
                yield from _cells(step, names)
                names = names.with_array(step)
            case Assign():
                yield from _assign(step, names)
            case Ghost(target, index, value, span):
                yield from _cell(target, index, ("thread", "block"), names, span)
                yield from _value(target, value, names, span, False)
            case If(guard, inner, span):
                yield from condition(guard, names, span)
                yield from _body(inner, names.inside(), sizes)
            case For(axis, inner, span):
                yield from _axis(axis, names, sizes, span)
                yield from _body(inner, names.inside(axis), sizes)
            case Call():
                for part in terms(step):
                    yield from term(part, names, step.span)
                    if not isinstance(part, Read) or part.tensor not in names.arrays or names.arrays[part.tensor].owner != "grid":
                        yield gap(f"{text(part)} is no element of global memory", step.span)
                if isinstance(step, Sync) and step.scope not in SCOPES:
                    yield gap(f"a barrier of a {step.scope}: there are those of a block and of a warp", step.span)
            case _:
                assert_never(step)


def _cells(step: Array, names: Names) -> Iterator[Gap]:
    yield from _array(step, names)
    if step.space.declared < (1 if names.top else 2):
        where = "a loop or a guard" if step.space.declared == 1 else "a launch"
        yield gap(f"the {step.space.title} {step.name} is declared in {where}", step.span)
    if not all(isinstance(e, Const) and e.dtype == INDEX and e.value >= 1 for e in step.extents):
        yield gap(f"the extents of {step.name} are no numbers", step.span)
    elif not step.space.laid_out and step.layout != PLAIN:
        yield gap(f"the {step.space.title} {step.name} has a layout", step.span)
    elif reason := fault(step.extents, step.layout):
        yield gap(f"the layout of {step.name} is not one to one: {reason}", step.span)


def _assign(step: Assign, names: Names) -> Iterator[Gap]:
    target, update, dtype, span = step.target, step.update, step.value.dtype, step.span
    yield from _cell(target, step.index, ("thread", "block", "grid"), names, span)
    yield from _value(target, step.value, names, span, True)
    yield from condition(step.guard, names, span)
    if update and not any(update == monoid and monoid.accepts(dtype) for monoid in monoids_on(dtype)):
        yield gap(f"{update} does not update {dtype}", span)
    elif step.atomic and not has_atomic(update, dtype):
        yield gap(f"no atomic {update or 'assignment'} of {dtype}", span)
    if step.atomic and target in names.arrays and names.arrays[target].owner == "thread":
        yield gap(f"{target} is a thread's own and is updated atomically", span)


def _cell(target: str, index: tuple[Term, ...], owners: tuple[str, ...], names: Names, span: Span) -> Iterator[Gap]:
    array = names.arrays.get(target)
    if array is None or array.space == INPUT or array.owner not in owners:
        yield gap(f"{target} is not an array declared before that a step may be about here", span)
        return
    if len(index) != len(array.extents) or any(i.dtype != INDEX for i in index):
        yield gap(f"{target} has {len(array.extents)} indices", span)
    for part in index:
        yield from term(part, names, span)


def _value(target: str, value: Term, names: Names, span: Span, lanes: bool) -> Iterator[Gap]:
    if target in names.arrays and value.dtype != names.arrays[target].dtype:
        yield gap(f"{target} holds {names.arrays[target].dtype}, the value is {value.dtype}", span)
    yield from term(value, names, span, lanes)
