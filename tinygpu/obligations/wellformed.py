"""Whether a program is one: names declared before use and only once in a place, ranks and dtypes that agree, extents over the sizes.

Comes in: a program, which Python code may have made. Goes out: a gap for everything that is not as `program.read` would have it; then
nothing else is asked, because a meaning that names or types do not have cannot be proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import BOOL, COMPARISONS, INDEX, INTEGERS, LOGIC, App, Axis, Const, Fold, Read, Term, Var, children, text
from tinygpu.diagnostic import Label, Span
from tinygpu.obligations.obligation import Gap
from tinygpu.program.step import Assign, For, Holds, If, Launch, Local, Program, Step

Signature = tuple[str, int]  # dtype and rank


@dataclass(frozen=True, slots=True)
class Names:
    """What may stand at a place: index variables, and arrays with their dtypes and ranks."""

    indices: frozenset[str]
    arrays: dict[str, Signature]

    def inside(self, *axes: Axis) -> Names:
        return Names(self.indices | {a.name for a in axes}, self.arrays)


def gaps(program: Program) -> Iterator[Gap]:
    """What is not well-formed."""
    arrays = {t.name: (t.dtype, len(t.shape)) for t in program.op.tensors}
    outer = Names(frozenset(program.op.sizes), arrays)
    for where in program.where:
        yield from term(where, outer, program.span)
    for launch in program.launches:
        yield from _launch(launch, outer, {t.name for t in program.op.outputs})
    declared = [s.name for launch in program.launches for s in _locals(launch.body)]
    for name in sorted({n for n in declared if declared.count(n) > 1}):
        yield gap(f"the local {name} is declared twice", program.span)


def _locals(body: tuple[Step, ...]) -> Iterator[Local]:
    for step in body:
        match step:
            case Local():
                yield step
            case For(_, inner) | If(_, inner):
                yield from _locals(inner)


def gap(reason: str, span: Span) -> Gap:
    """One thing that is not well-formed."""
    return Gap("wellformed", "TG513", "this program is not well formed", reason, (Label(span, "here"),))


def _launch(launch: Launch, outer: Names, outputs: set[str]) -> Iterator[Gap]:
    names = outer
    for axis in launch.grid + launch.block:
        yield from _axis(axis, names, outer, launch.span)
        names = names.inside(axis)
    yield from _body(launch.body, names, outer, outputs)


def _axis(axis: Axis, names: Names, outer: Names, span: Span) -> Iterator[Gap]:
    if axis.name in names.indices or axis.name in names.arrays:
        yield gap(f"{axis.name} hides another {axis.name}", span)
    if axis.extent.dtype != INDEX:
        yield gap(f"the extent of {axis.name} is no index", span)
    yield from term(axis.extent, Names(outer.indices, {}), span)


def _body(body: tuple[Step, ...], names: Names, outer: Names, outputs: set[str]) -> Iterator[Gap]:
    for step in body:
        match step:
            case Local(name, dtype, extents, span):
                if name in names.arrays or name in names.indices:
                    yield gap(f"{name} hides another {name}", span)
                if not all(isinstance(e, Const) and e.dtype == INDEX for e in extents):
                    yield gap(f"the extents of {name} are no numbers", span)
                names = Names(names.indices, {**names.arrays, name: (dtype, len(extents))})
                outputs = outputs | {name}
            case Assign(target, index, value, update, guard, span):
                yield from _cell(target, index, value, names, outputs, span)
                yield from condition(guard, names, span)
                if update and (update not in MONOIDS or not MONOIDS[update].accepts(value.dtype)):
                    yield gap(f"{update} does not update {value.dtype}", span)
            case Holds(target, index, value, span):
                yield from _cell(target, index, value, names, outputs - set(outer.arrays), span)
            case If(guard, inner, span):
                yield from condition(guard, names, span)
                yield from _body(inner, names, outer, outputs)
            case For(axis, inner, span):
                yield from _axis(axis, names, outer, span)
                yield from _body(inner, names.inside(axis), outer, outputs)


def _cell(target: str, index: tuple[Term, ...], value: Term, names: Names, writable: set[str], span: Span) -> Iterator[Gap]:
    if target not in writable or target not in names.arrays:
        yield gap(f"{target} is neither a local declared before nor an output", span)
        return
    dtype, rank = names.arrays[target]
    if len(index) != rank or any(i.dtype != INDEX for i in index):
        yield gap(f"{target} has {rank} indices", span)
    if value.dtype != dtype:
        yield gap(f"{target} holds {dtype}, the value is {value.dtype}", span)
    for part in (*index, value):
        yield from term(part, names, span)


def condition(guard: Term, names: Names, span: Span) -> Iterator[Gap]:
    """What is wrong with a guard."""
    if guard.dtype != BOOL:
        yield gap(f"{text(guard)} is no condition", span)
    yield from term(guard, names, span)


def term(whole: Term, names: Names, span: Span) -> Iterator[Gap]:
    """Names that are not known in a term, and operations on dtypes that they are not for."""
    match whole:
        case Var(name, dtype):
            if name not in names.indices or dtype != INDEX:
                yield gap(f"{name} is not known here", span)
        case Read(tensor, index, dtype):
            if names.arrays.get(tensor) != (dtype, len(index)) or any(i.dtype != INDEX for i in index):
                yield gap(f"{text(whole)} is no cell of {dtype}", span)
        case Fold(monoid, axes, guard, body, dtype):
            if body.dtype != dtype or guard.dtype != BOOL or monoid not in MONOIDS or not MONOIDS[monoid].accepts(dtype):
                yield gap(f"{text(whole)} folds {body.dtype}", span)
            if any(a.name in names.indices for a in axes) or len({a.name for a in axes}) < len(axes):
                yield gap(f"{text(whole)} hides an index", span)
            for axis in axes:
                yield from term(axis.extent, names, span)
            names = names.inside(*axes)
            yield from (g for part in (guard, body) for g in term(part, names, span))
            return
        case App(op, args, dtype) if not agrees(op, tuple(a.dtype for a in args), dtype):
            yield gap(f"{text(whole)} applies {op} to {', '.join(a.dtype for a in args)} and gives {dtype}", span)
    for child in children(whole):
        yield from term(child, names, span)


def agrees(op: str, args: tuple[str, ...], dtype: str) -> bool:
    """Whether an operation on these dtypes gives that one.

    >>> agrees("add", ("f32", "f32"), "f32"), agrees("add", ("f16", "f32"), "f32"), agrees("lt", ("i8", "i8"), "bool")
    (True, False, True)
    """
    match op:
        case "cast":
            return len(args) == 1
        case "select":
            return len(args) == 3 and args[0] == BOOL and args[1:] == (dtype, dtype)
        case "table":
            return args[0] == INDEX and set(args[1:]) == {dtype}
        case _ if op in COMPARISONS:
            return dtype == BOOL and len(args) == 2 and args[0] == args[1]
        case _ if op in LOGIC:
            return {*args, dtype} == {BOOL}
        case "floordiv" | "mod" | "ceildiv" | "xor":
            return args == (dtype, dtype) and dtype != BOOL and (op != "xor" or dtype in (INDEX, *INTEGERS))
    return set(args) == {dtype} and dtype != BOOL
