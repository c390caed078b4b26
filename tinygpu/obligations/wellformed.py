"""Whether a program is one: arrays declared before use, only once, and where their kind may be; steps that their targets allow.

Comes in: a program, which Python code may have made. Goes out: a gap for everything that is not as `program.read` would have it; then
nothing else is asked, because a meaning that names or types do not have cannot be proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from tinygpu.category.atomic import has_atomic
from tinygpu.category.carrier import CARRIERS
from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import DTYPES, INDEX, Axis, Const, Term
from tinygpu.diagnostic import Span
from tinygpu.obligations.obligation import Gap
from tinygpu.obligations.welltyped import Names, condition, gap, term
from tinygpu.program.layout import PLAIN, fault
from tinygpu.program.space import WORKSPACE
from tinygpu.program.step import Array, Assign, For, Ghost, If, Launch, Program, Step, Sync
from tinygpu.record import dataclass

SCOPES = ("block", "warp")


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a launch: the names there, those of the program, the arrays that may be written, and of them the thread's and the
    block's own. `top`: outside of loops and guards."""

    names: Names
    outer: Names
    writable: frozenset[str]
    locals: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    top: bool = True

    def inside(self, *axes: Axis) -> Place:
        """The place in a loop or a guard."""
        return Place(self.names.inside(*axes), self.outer, self.writable, self.locals, self.shared, False)

    def declaring(self, step: Array) -> Place:
        """The place after a declaration."""
        one, none = frozenset([step.name]), frozenset[str]()
        locals, shared = (one, none) if step.owner == "thread" else (none, one)
        names = with_array(self.names, step)
        return Place(names, self.outer, self.writable | one, self.locals | locals, self.shared | shared, self.top)


def with_array(names: Names, array: Array) -> Names:
    """The names with one array more."""
    return Names(names.indices, {**names.arrays, array.name: (array.dtype, len(array.extents))})


def gaps(program: Program) -> Iterator[Gap]:
    """What is not well-formed."""
    outer = Names(frozenset(program.op.sizes), {t.name: (t.dtype, len(t.shape)) for t in program.op.tensors})
    for where in program.where:
        yield from term(where, outer, program.span)
    for workspace in program.workspaces:
        yield from _workspace(workspace, outer)
        outer = with_array(outer, workspace)
    writable = frozenset(t.name for t in program.op.outputs) | {w.name for w in program.workspaces}
    for launch in program.launches:
        yield from _launch(launch, Place(outer, outer, writable))
    arrays = (*program.workspaces, *(s for s in program.steps if isinstance(s, Array)))
    declared = [(a.name, a.space.title) for a in arrays]
    names = [name for name, _ in declared]
    for name, kind in sorted({one for one in declared if names.count(one[0]) > 1}):
        yield gap(f"the {kind} {name} is declared twice", program.span)


def _workspace(workspace: Array, outer: Names) -> Iterator[Gap]:
    yield from _array(workspace, outer)
    if workspace.space != WORKSPACE:
        yield gap(f"the {workspace.space.title} {workspace.name} is no workspace", workspace.span)
    for extent in workspace.extents:
        if extent.dtype != INDEX:
            yield gap(f"an extent of {workspace.name} is no index", workspace.span)
        yield from term(extent, Names(outer.indices, {}), workspace.span)


def _array(array: Array, names: Names) -> Iterator[Gap]:
    if array.name in names.arrays or array.name in names.indices:
        yield gap(f"{array.name} hides another {array.name}", array.span)
    if array.dtype not in DTYPES and array.dtype not in CARRIERS:
        yield gap(f"{array.name} holds {array.dtype}, which is no dtype", array.span)


def _launch(launch: Launch, place: Place) -> Iterator[Gap]:
    names = place.names
    for axis in launch.grid + launch.block:
        yield from _axis(axis, names, place.outer, launch.span)
        names = names.inside(axis)
    yield from _body(launch.body, Place(names, place.outer, place.writable))


def _axis(axis: Axis, names: Names, outer: Names, span: Span) -> Iterator[Gap]:
    if axis.name in names.indices or axis.name in names.arrays:
        yield gap(f"{axis.name} hides another {axis.name}", span)
    if axis.extent.dtype != INDEX:
        yield gap(f"the extent of {axis.name} is no index", span)
    yield from term(axis.extent, Names(outer.indices, {}), span)


def _body(body: tuple[Step, ...], place: Place) -> Iterator[Gap]:
    for step in body:
        match step:
            case Array():
                yield from _cells(step, place)
                place = place.declaring(step)
            case Assign():
                yield from _assign(step, place)
            case Ghost(target, index, value, span):
                yield from _cell(target, index, place.locals | place.shared, place.names, span)
                yield from _value(target, value, place.names, span, False)
            case If(guard, inner, span):
                yield from condition(guard, place.names, span)
                yield from _body(inner, place.inside())
            case For(axis, inner, span):
                yield from _axis(axis, place.names, place.outer, span)
                yield from _body(inner, place.inside(axis))
            case Sync(scope, span):
                if scope not in SCOPES:
                    yield gap(f"a barrier of a {scope}: there are those of a block and of a warp", span)
            case _:
                assert_never(step)


def _cells(step: Array, place: Place) -> Iterator[Gap]:
    yield from _array(step, place.names)
    if step.space.declared < (1 if place.top else 2):
        where = "a loop or a guard" if step.space.declared == 1 else "a launch"
        yield gap(f"the {step.space.title} {step.name} is declared in {where}", step.span)
    if not all(isinstance(e, Const) and e.dtype == INDEX and e.value >= 1 for e in step.extents):
        yield gap(f"the extents of {step.name} are no numbers", step.span)
    elif not step.space.laid_out and step.layout != PLAIN:
        yield gap(f"the {step.space.title} {step.name} has a layout", step.span)
    elif reason := fault(step.extents, step.layout):
        yield gap(f"the layout of {step.name} is not one to one: {reason}", step.span)


def _assign(step: Assign, place: Place) -> Iterator[Gap]:
    target, update, dtype, span = step.target, step.update, step.value.dtype, step.span
    yield from _cell(target, step.index, place.writable, place.names, span)
    yield from _value(target, step.value, place.names, span, True)
    yield from condition(step.guard, place.names, span)
    if update and (update not in MONOIDS or not MONOIDS[update].accepts(dtype)):
        yield gap(f"{update} does not update {dtype}", span)
    elif step.atomic and not has_atomic(update, dtype):
        yield gap(f"no atomic {update or 'assignment'} of {dtype}", span)
    if step.atomic and target in place.locals:
        yield gap(f"{target} is a thread's own and is updated atomically", span)


def _cell(target: str, index: tuple[Term, ...], allowed: frozenset[str], names: Names, span: Span) -> Iterator[Gap]:
    if target not in allowed or target not in names.arrays:
        yield gap(f"{target} is not an array declared before that a step may be about here", span)
        return
    rank = names.arrays[target][1]
    if len(index) != rank or any(i.dtype != INDEX for i in index):
        yield gap(f"{target} has {rank} indices", span)
    for part in index:
        yield from term(part, names, span)


def _value(target: str, value: Term, names: Names, span: Span, lanes: bool) -> Iterator[Gap]:
    if target in names.arrays and value.dtype != names.arrays[target][0]:
        yield gap(f"{target} holds {names.arrays[target][0]}, the value is {value.dtype}", span)
    yield from term(value, names, span, lanes)
