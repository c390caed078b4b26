"""Statements of the syntax tree as steps: launches, arrays, loops.

Comes in: the body of a program, and the names around it. Goes out: workspaces and launches.
The one idea: every loop gets a name that no other loop of the launch has, and a loop over listed values is its body once for each.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.record import dataclass, field, replace
from tinygpu.replay.dtypes import settle, to_index
from tinygpu.replay.expressions import Scope, condition, index, typed, value
from tinygpu.replay.ir import INDEX, TRUE, Axis, Num, Read, Term, Unsupported, Var, free, walk
from tinygpu.replay.monoids import STEP
from tinygpu.replay.program import Array, Assign, Barrier, Fresh, Holds, If, Launch, Loop, Step, Tensor
from tinygpu.syntax import tree


def launches(
    body: tuple[tree.Statement, ...], work: tuple[tree.Level, ...], scope: Scope
) -> tuple[tuple[Array, ...], tuple[Launch, ...]]:
    """The workspaces and launches of a program; without a launch, its body is one on the work object of the machine."""
    if not any(isinstance(s, tree.LaunchStatement) for s in body):
        return (), (_launch(work, body, scope, 0),)
    workspaces: list[Array] = []
    found: list[Launch] = []
    for statement in body:
        match statement:
            case tree.Array("workspace"):
                workspaces.append(array(statement, scope))
                scope = _knowing(scope, workspaces[-1])
            case tree.LaunchStatement(levels, inner):
                found.append(_launch(levels, inner, scope, len(found)))
            case _:
                raise Unsupported("a step stands beside launches")
    return tuple(workspaces), tuple(found)


def _launch(levels: tuple[tree.Level, ...], body: tuple[tree.Statement, ...], scope: Scope, number: int) -> Launch:
    """One launch: each factor of its work object is an axis."""
    axes: dict[str, tuple[Axis, ...]] = {"grid": (), "block": ()}
    for level in levels:
        if level.name not in axes:
            raise Unsupported(f"a level {level.name}")
        made = []
        for item in level.factors.items:
            if not isinstance(item, tree.Sized):
                raise Unsupported("a factor of the work has no extent")
            made.append(Axis(item.name, index(item.extent, scope)))
        axes[level.name] = tuple(made)
    both = axes["grid"] + axes["block"]
    for axis in both:
        unhidden(axis.name, scope)
    if len({a.name for a in both}) != len(both):
        raise Unsupported("two factors of the work have one name")
    inner = scope.having({a.name: Var(a.name) for a in both}, {a.name: a.extent for a in both})
    reader = Reader({a.name for a in both})
    steps = tuple(reader.steps(body, inner))
    return Launch(axes["grid"], axes["block"], tuple(reader.arrays), steps, number)


def _knowing(scope: Scope, declared: Array) -> Scope:
    return replace(scope, tensors={**scope.tensors, declared.name: Tensor(declared.name, declared.dtype, declared.extents)})


def array(written: tree.Array, scope: Scope) -> Array:
    """The declaration of an array."""
    if written.order:
        raise Unsupported("an array with an order of its axes")
    dtype = scope.dtypes.get(written.dtype, written.dtype)
    extents = tuple(index(e, scope) for e in written.extents)
    pad, swizzle = 0, None
    if written.place is not None:
        numbers = [index(a, scope) for a in written.place.args]
        given = tuple(int(n.value) for n in numbers if isinstance(n, Num))
        if len(given) != len(numbers) or len(given) != {"pad": 1, "swizzle": 3}[written.place.kind]:
            raise Unsupported("a layout without its numbers")
        pad, swizzle = (given[0], None) if written.place.kind == "pad" else (0, (given[0], given[1], given[2]))
    return Array(written.space, written.name, dtype, extents, pad, swizzle, written.span)


def unhidden(name: str, scope: Scope) -> None:
    """Refuses a name that means something else already."""
    if name in scope.terms or name in scope.tensors:
        raise Unsupported(f"the name {name} has two meanings")


def reads(term: Term) -> bool:
    """Whether a term depends on data."""
    return isinstance(term, Read)


@dataclass(slots=True)
class Reader:
    """The arrays and loops of one launch so far."""

    taken: set[str]
    arrays: list[Array] = field(default_factory=list)

    def steps(self, body: tuple[tree.Statement, ...], scope: Scope) -> Iterator[Step]:
        """The steps of a body; an array is known from its declaration on."""
        for statement in body:
            if isinstance(statement, tree.Array):
                declared = array(statement, scope)
                if declared.name in scope.tensors or any(a.name == declared.name for a in self.arrays):
                    raise Unsupported(f"two arrays are called {declared.name}")
                self.arrays.append(declared)
                scope = _knowing(scope, declared)
                yield Fresh(declared.name)
            else:
                yield from self.step(statement, scope)

    def step(self, statement: tree.Statement, scope: Scope) -> Iterator[Step]:
        """One statement."""
        match statement:
            case tree.Assign():
                yield self.assign(statement, scope)
            case tree.For(name, None, body, _, values):
                for written in values:
                    number = index(written, scope)
                    if not isinstance(number, Num):
                        raise Unsupported("a loop over values that are no numbers")
                    yield from self.steps(body, scope.having({name: number}))
            case tree.For(name, extent, body, sort, _, span) if extent is not None:
                unhidden(name, scope)
                fresh = self.name(name)
                axis = Axis(fresh, index(extent, scope))
                if free(axis.extent) & {n for t in scope.ranges for n in free(scope.terms[t])} or any(
                    map(reads, walk(axis.extent))
                ):
                    raise Unsupported(f"the loop over {name} is not of the same length for all threads")
                inner = scope.having({name: Var(fresh)}, {name: axis.extent})
                yield Loop(axis, tuple(self.steps(body, inner)), sort, span)
            case tree.If(guard, body, span):
                yield If(condition(guard, scope), tuple(self.steps(body, scope)), span)
            case tree.Sync("barrier" | "warp barrier" as kind, _, span):
                yield Barrier("warp" if kind == "warp barrier" else "block", span)
            case tree.Holds(target, expr, span):
                cells = scope.tensors[target.name]
                yield Holds(target.name, tuple(index(i, scope) for i in target.index), typed(expr, scope, cells.dtype), span)
            case _:
                raise Unsupported(f"a statement {type(statement).__name__.lower()}")

    def name(self, name: str) -> str:
        """A name for a loop that no other one has."""
        fresh, number = name, 2
        while fresh in self.taken:
            fresh, number = f"{name}'{number}", number + 1
        self.taken.add(fresh)
        return fresh

    def assign(self, written: tree.Assign, scope: Scope) -> Assign:
        """An assignment: the value has the dtype of the target."""
        target = scope.tensors.get(written.target.name)
        if written.target.name in scope.inputs:
            raise Unsupported(f"the input {written.target.name} is written")
        if target is None or target.scalar or len(target.shape) != len(written.target.index):
            raise Unsupported(f"{written.target.name} is no array of that rank")
        update = written.update
        if update and update not in STEP and update not in scope.monoids:
            raise Unsupported(f"the update {update}=")
        if update in scope.monoids and target.dtype != update:
            raise Unsupported(f"{written.target.name} is not of {update}")
        term = value(written.value, scope)
        term = to_index(term) if target.dtype == INDEX else settle(term, target.dtype)
        if term.dtype != target.dtype:
            raise Unsupported(f"{written.target.name} is {target.dtype}, what is assigned {term.dtype}")
        guard = TRUE if written.guard is None else condition(written.guard, scope)
        place = tuple(index(i, scope) for i in written.target.index)
        return Assign(written.target.name, place, term, update, guard, written.atomic, written.span)
