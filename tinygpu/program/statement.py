"""Steps and statements: how each kind of step is written, and how it is read.

Comes in: a step, or the tree of a statement and the reader that has come to it. Goes out: the other, or None after a message.
The one idea: reading and writing stand side by side, so that a text gives the step back that it was printed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, assert_never

from tinygpu.category.dtype import STORAGE
from tinygpu.category.monoid import ATOMICS, SCALARS, Monoid, has_atomic
from tinygpu.category.term import TRUE, Axis, Const, Fold, Read, Term, Var, walk
from tinygpu.diagnostic import Span
from tinygpu.model.dtype import not_offered, settle
from tinygpu.model.op import Equation, Op, Tensor, put_in
from tinygpu.model.problems import UNKNOWN, WRONG, counted
from tinygpu.model.scope import GHOST, Scope
from tinygpu.model.value import condition, index, value
from tinygpu.program.call import (
    ASYNC,
    COPY,
    TENSOR,
    UNITS,
    Applied,
    Boxed,
    Commit,
    Enter,
    Fence,
    Leave,
    Prefetch,
    Registers,
    Reserve,
    Sent,
    Stream,
    Sync,
    Wait,
)
from tinygpu.program.declared import read_array, to_array
from tinygpu.program.expression import Scalars, cell, constant, expression
from tinygpu.program.instruction import MOST_GROUPS
from tinygpu.program.pending import fetched, is_copy, leaving
from tinygpu.program.ring import read_ring
from tinygpu.program.space import TENSORS
from tinygpu.program.step import Array, Assign, For, Ghost, If, Step
from tinygpu.program.traverse import in_calls
from tinygpu.record import replace
from tinygpu.syntax import tree

if TYPE_CHECKING:
    from tinygpu.program.read import Reader

PRODUCTS = tuple(unit for unit in UNITS if unit != COPY)  # units of instructions, which a text names


def to_statement(step: Step, scalars: Scalars = frozenset()) -> tree.Statement:
    """`step → statement`."""
    match step:
        case Array():
            return to_array(step)
        case Sync(begins=Boxed() as one):
            places = {a.name: tree.Turn(a.name, expression(a.extent)) for a in one.box}
            copy = tree.Assign(cell(one.target, one.index, scalars), expression(one.value, scalars))
            return tree.Copy(copy, (), tuple(places.values()), TENSOR)
        case Sync(begins=Sent((name, place), tensor, origin)):
            return tree.Copy(tree.Assign(cell(name, place, scalars), cell(tensor, origin, scalars)), (), (), TENSOR)
        case Sync(begins=Applied(instruction, operands)):
            cells = tuple(cell(name, place, scalars) for name, place in operands)
            return tree.Instruct(instruction.name, cells, bool(instruction.unit))
        case Enter(ring, way, turn) | Leave(ring, way, turn):
            return tree.Section(way, ring, turn.name if isinstance(turn, Var) else "0", ())
        case Registers(count):
            return tree.Sync(f"registers {count}")
        case Reserve(array, columns, way):
            return tree.Sync(f"{way} {columns} columns of {array}")
        case Sync():
            return tree.Sync(step.word)
        case Fence(unit):
            return tree.Sync("fence async") if unit == ASYNC else tree.Sync("fence", unit=unit)
        case Commit(unit):
            return tree.Sync("commit", unit="" if unit == COPY else unit)
        case Prefetch(element):
            assert isinstance(element, Read), "an element"
            return tree.Fetch(cell(element.tensor, element.index, scalars))
        case Stream(tensor):
            return tree.Stream(tensor)
        case Wait(count, unit):
            return tree.Sync("wait", constant(count), unit="" if unit == COPY else unit)
        case Assign(target, index, value, update, guard):
            condition = None if guard == TRUE else expression(guard, scalars)
            return tree.Assign(
                cell(target, index, scalars), expression(value, scalars), update, condition, step.atomic, bool(step.pending)
            )
        case For(axis, body):
            return tree.For(axis.name, expression(axis.extent), to_statements(body, scalars), axis.sort)
        case If(guard, body):
            return tree.If(expression(guard, scalars), to_statements(body, scalars))
        case Ghost(target, index, value):
            return tree.Holds(cell(target, index, scalars), expression(value, scalars))
    assert_never(step)


def to_statements(body: tuple[Step, ...], scalars: Scalars = frozenset()) -> tuple[tree.Statement, ...]:
    """`steps → statements`: an instruction is one, and what stands between two calls of a ring."""
    made: list[tree.Statement] = []
    begun: list[tuple[int, tree.Section]] = []
    for step in in_calls(body):
        one = to_statement(step, scalars)
        if isinstance(step, Leave) and begun:
            first, one = begun.pop()
            made[first:] = [replace(one, body=tuple(made[first:]))]
        elif isinstance(step, Enter) and isinstance(one, tree.Section):
            begun.append((len(made), one))
        else:
            made.append(one)
    return tuple(made)


def line(step: Step, scalars: Scalars = frozenset()) -> str:
    """A step as its text begins, without what is inside of it.

    >>> line(Sync("warp")), line(For(Axis("k", Const(3), "time"), (Sync(),)))
    ('warp barrier', 'for k < 3')
    """
    from tinygpu.syntax.format import format_statements

    return " ".join(format_statements((to_statement(step, scalars),)).partition("{")[0].split())


def read_step(reader: Reader, statement: tree.Statement, axes: tuple[Axis, ...]) -> Step | None:
    """`statement → step`, None after a message."""
    match statement:
        case tree.Array():
            return read_array(reader, statement, axes)
        case tree.Ring():
            return read_ring(reader, statement)
        case tree.Assign():
            return assign(statement, reader.scope(axes), reader.cells)
        case tree.Holds():
            return holds(statement, reader.scope(axes), reader.cells, reader.op)
        case tree.If(guard, inner, span=span):
            scope, around = reader.scope(axes), reader.guards
            met = folding(condition(guard, scope), guard, scope)
            reader.guards = (*around, met)
            body, reader.guards = reader.inner(inner, axes), around
            return If(met, body, span)
        case tree.Sync("barrier" | "warp barrier" | "instruction barrier" as kind, begins=key, span=span):
            return Sync(kind.rpartition(" ")[0] or "block", span, reader.written.applied(key, reader.scope(axes)) if key else None)
        case tree.Sync("fence async", span=span):
            return Fence(ASYNC, span)
        case tree.Sync("wait" | "commit" | "fence", unit=unit, span=span) if unit not in ("", *UNITS) or unit == COPY:
            reader.problems.say("TG183.unit", span, near=PRODUCTS, name=unit, known=PRODUCTS)
        case tree.Sync("wait" | "commit", unit="tcgen05", span=span) if all(a.role != TENSORS.name for a in reader.arrays.values()):
            reader.problems.say("TG183.none", span)
        case tree.Sync("fence", unit="tcgen05", span=span):
            reader.problems.say("TG183.fence", span)
        case tree.Sync("wait", count, unit=unit, span=span):
            return waited(count, unit or COPY, span, reader)
        case tree.Sync("commit", unit=unit, span=span):
            return Commit(unit or COPY, span)
        case tree.Sync("fence", unit=unit, span=span):
            return Fence(unit, span)
        case tree.Fetch(element, span=span):
            return fetched(element, span, reader.scope(axes))
        case tree.Stream(name, span=span):
            return leaving(name, span, reader.scope(axes))
        case tree.Sync(kind, span=span):
            reader.problems.say("TG109.step", span, kind=kind)
        case tree.Evaluate(span=span):
            reader.problems.say("TG175.clauses", span)
        case tree.LaunchStatement(span=span) | tree.LaunchClause(span=span):
            reader.problems.say("TG157.launch", span)
    return None


def waited(count: tree.Expr | None, unit: str, span: Span, reader: Reader) -> Wait | None:
    """`wait 1`, `wait mma 1`: the number of groups that may be under way is known."""
    if isinstance(count, tree.Name) and count.name in PRODUCTS:
        reader.problems.say("TG183.count", span, name=count.name, largest=MOST_GROUPS)
        return None
    most = None if count is None else index(count, reader.constants())
    if isinstance(most, Const) and 0 <= most.value <= MOST_GROUPS:
        return Wait(int(most.value), unit, span)
    if most is not None and most != WRONG:
        reader.problems.say("TG183.wait", span, largest=MOST_GROUPS)
    return None


# ── what writes ────────────────────────────────────────────────────────────────────────────────────────────────────
# The target decides the dtype; the value takes it if it is a literal or an index, and has to have it otherwise.


def assign(statement: tree.Assign, scope: Scope, cells: Mapping[str, Tensor]) -> Assign | None:
    """`target[index] = value if guard`, `target[index] += value`, `target[index] max= value`, `atomic target[index] += value`."""
    if statement.update == "-":
        statement = replace(statement, update="sum", value=tree.Unary("-", statement.value, span=statement.value.span))
    target = aimed(statement.target, scope, cells)
    guard = TRUE if statement.guard is None else folding(condition(statement.guard, scope), statement.guard, scope)
    term = folding(value(statement.value, scope), statement.value, scope)
    if target is None:
        return None
    tensor, place = target
    monoid = accepted(statement, tensor, scope) if statement.update else ""
    if monoid is None or (statement.atomic and not indivisible(statement, tensor, scope)):
        return None
    term = typed(term, tensor, statement.value, scope)
    if UNKNOWN in (term.dtype, guard.dtype):
        return None
    unit = statement.unit or COPY * statement.pending
    step = Assign(tensor.name, place, term, monoid, guard, statement.span, statement.atomic, unit)
    return step if unit != COPY or is_copy(step, tensor, scope) else None


def indivisible(statement: tree.Assign, tensor: Tensor, scope: Scope) -> bool:
    """Whether the hardware has the update as one step; says so if not."""
    say, span, update, name = scope.problems.say, statement.span, statement.update, tensor.name
    if tensor.role == "local":
        say("TG159.local", span, tensor.span, name=name)
    elif not update:
        say("TG159.plain", span, name=name)
    elif not has_atomic(update, tensor.dtype):
        message, known = ("TG159.dtype", ATOMICS[update]) if update in ATOMICS else ("TG159.monoid", tuple(ATOMICS))
        say(message, span, tensor.span, name=name, update=update, dtype=tensor.dtype, known=known)
    elif tensor.strided:
        say("TG165.program", span, tensor.span, name=name)
    else:
        return True
    return False


def holds(statement: tree.Holds, scope: Scope, cells: Mapping[str, Tensor], op: Op) -> Ghost | None:
    """`cell holds value`: the one place of a program where a fold may stand, and what the op computes on its way, by its name, unless that is a cell's."""
    target = aimed(statement.target, scope, cells)
    made: dict[str, Equation] = {}
    for equation in (op.equation(t.name) for t in op.intermediates):
        if not equation.along:
            made[equation.target] = replace(equation, value=put_in(equation.value, made))
    named = {t.name: t for t in op.intermediates if t.name in made and t.name not in scope.tensors}
    inside = replace(scope.at(GHOST), tensors={**named, **scope.tensors})
    term = put_in(value(statement.value, inside), {name: made[name] for name in named})
    if target is None:
        return None
    tensor, place = target
    if tensor.role not in ("local", "shared", "fragment"):
        scope.problems.say("TG160.space", statement.span, name=tensor.name, role=tensor.role)
        return None
    term = typed(term, tensor, statement.value, scope)
    return None if term.dtype == UNKNOWN else Ghost(tensor.name, place, term, statement.span)


def aimed(target: tree.Cell, scope: Scope, cells: Mapping[str, Tensor]) -> tuple[Tensor, tuple[Term, ...]] | None:
    """The array that a statement is about, and the index of the cell, of the right rank; None after a message."""
    name, tensor, found, problems = target.name, cells.get(target.name), scope.tensors.get(target.name), scope.problems
    if tensor is None and found is not None:
        outputs = ", ".join(t.name for t in cells.values() if t.role == "output")
        problems.say("TG150.input" if found.role == "input" else "TG150.state", target.span, found.span, name=name, outputs=outputs)
    elif tensor is None and name in scope.elsewhere:
        scope.unknown(name, target.span)
    elif tensor is None:
        extents = ", ".join("8" for _ in target.index)
        problems.say("TG101.written", target.span, near=scope.tensors, name=name, extents=extents)
    place = tuple(index(e, scope) for e in target.index)
    if target.fill is not None:
        problems.say("TG151.fill", target.fill.span)
    elif tensor is not None and WRONG not in place and len(place) != len(tensor.shape):
        words = {"name": name, "axes": counted(len(tensor.shape), "axis"), "given": len(place)}
        problems.say("TG110.cell", target.span, tensor.span, **words)
    elif tensor is not None and WRONG not in place:
        return tensor, place
    return None


def accepted(statement: tree.Assign, tensor: Tensor, scope: Scope) -> Monoid | None:
    """The monoid of an update, a built-in one or one with components; None after a message that it is unknown, or not one of values of
    the target's dtype."""
    update, monoid = statement.update, SCALARS.get(statement.update) or scope.monoid(statement.update)
    if monoid is None:
        known = (*SCALARS, *scope.monoids)
        scope.problems.say("TG107.update", statement.span, near=known, name=update, known=known[2:])
    elif tensor.dtype in STORAGE:
        not_offered(update, tensor.dtype, statement.span, scope.problems)
    elif not monoid.accepts(tensor.dtype):
        scope.problems.say("TG122.update", statement.span, tensor.span, name=tensor.name, dtype=tensor.dtype, update=update)
    else:
        return monoid
    return None


def typed(term: Term, tensor: Tensor, expr: tree.Expr, scope: Scope) -> Term:
    """The value in the dtype of its target."""
    term = settle(term, tensor.dtype, expr.span, scope.problems)
    if term.dtype in (tensor.dtype, UNKNOWN):
        return term
    return scope.problems.say("TG121.cell", expr.span, tensor.span, name=tensor.name, dtype=tensor.dtype, given=term.dtype)


def folding(term: Term, expr: tree.Expr, scope: Scope) -> Term:
    """The term, refused if a fold is in it: a program folds by loops."""
    return scope.problems.say("TG156.fold", expr.span) if any(isinstance(t, Fold) for t in walk(term)) else term
