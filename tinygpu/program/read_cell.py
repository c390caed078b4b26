"""Reading the statements that write: assignments, updates, and ghost facts about cells.

Comes in: the tree of a statement and the scope around it. Goes out: a step, or None after a message.
The one idea: the target decides the dtype; the value takes it if it is a literal or an index, and has to have it otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.monoid import ATOMICS, SCALARS, Monoid, has_atomic
from tinygpu.category.term import TRUE, Fold, Term, walk
from tinygpu.diagnostic import Label
from tinygpu.model.dtype import settle
from tinygpu.model.op import Tensor
from tinygpu.model.problems import UNKNOWN, WRONG, listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.value import condition, index, value
from tinygpu.program.step import Assign, Ghost
from tinygpu.syntax import tree


def assign(statement: tree.Assign, scope: Scope, cells: Mapping[str, Tensor]) -> Assign | None:
    """`target[index] = value if guard`, `target[index] += value`, `target[index] max= value`, `atomic target[index] += value`."""
    target = statement.target
    tensor = written(target, scope, cells)
    place = cell(target, tensor, scope)
    guard = TRUE if statement.guard is None else folding(condition(statement.guard, scope), statement.guard, scope)
    term = folding(value(statement.value, scope), statement.value, scope)
    if tensor is None or place is None:
        return None
    if statement.update and not accepted(statement, tensor, scope):
        return None
    if statement.atomic and not indivisible(statement, tensor, scope):
        return None
    term = typed(term, tensor, statement.value, scope)
    if UNKNOWN in (term.dtype, guard.dtype):
        return None
    monoid = updating(statement.update, scope)
    return Assign(target.name, place, term, monoid if monoid else "", guard, statement.span, statement.atomic)


def indivisible(statement: tree.Assign, tensor: Tensor, scope: Scope) -> bool:
    """Whether the hardware has the update as one step; says so if not."""
    problem, span, update = scope.problems.add, statement.span, statement.update
    declared = Label(tensor.span, f"{tensor.name} is declared here")
    if tensor.role == "local":
        fix = "write it without atomic: no other thread sees the cells of this one"
        problem("TG159", f"the local {tensor.name} is updated atomically", span, "a thread's own cell", declared, help=fix)
    elif not update:
        fix = f"write atomic {tensor.name}[…] += …, or the assignment without atomic"
        problem("TG159", "a plain assignment is not atomic", span, "no update", help=fix)
    elif not has_atomic(update, tensor.dtype):
        dtypes = ATOMICS.get(update)
        known = f"an atomic {update} is one of {listing(dtypes)}" if dtypes else f"{listing(ATOMICS)} can be atomic"
        fix = f"{known}; for others, let one thread own each element"
        problem("TG159", f"no atomic {update} of {tensor.dtype}", span, f"{tensor.name} holds {tensor.dtype}", declared, help=fix)
    else:
        return True
    return False


def holds(statement: tree.Holds, scope: Scope, cells: Mapping[str, Tensor]) -> Ghost | None:
    """`cell holds value`: the one place of a program where a fold may stand."""
    target = statement.target
    tensor = written(target, scope, cells)
    place = cell(target, tensor, scope)
    term = value(statement.value, scope.at("in a ghost fact"))
    if tensor is None or place is None:
        return None
    if tensor.role not in ("local", "shared"):
        fix = "say it of a local or a shared array, before its value is stored"
        scope.problems.add(
            "TG160", f"a fact about the {tensor.role} {tensor.name}", statement.span, "this lies in global memory", help=fix
        )
        return None
    term = typed(term, tensor, statement.value, scope)
    return None if term.dtype == UNKNOWN else Ghost(target.name, place, term, statement.span)


def written(target: tree.Cell, scope: Scope, cells: Mapping[str, Tensor]) -> Tensor | None:
    """The array that a statement is about; None after a message."""
    found = scope.tensors.get(target.name)
    if target.name in cells:
        return cells[target.name]
    if found is None and target.name in scope.elsewhere:
        scope.unknown(target.name, target.span)
        return None
    if found is None:
        fix = (
            suggestion(target.name, scope.tensors)
            or f"declare it before: local {target.name}: f32[{', '.join('8' for _ in target.index)}]"
        )
        reason = "no output and no array of the program has this name"
        scope.problems.add("TG101", f"unknown name {target.name}", target.span, reason, help=fix)
        return None
    outputs = ", ".join(t.name for t in cells.values() if t.role == "output")
    scope.problems.add(
        "TG150",
        f"the input {target.name} is assigned",
        target.span,
        "inputs are only read",
        Label(found.span, f"{target.name} is an input"),
        help=f"assign to an output ({outputs}) or to a local",
    )
    return None


def cell(target: tree.Cell, tensor: Tensor | None, scope: Scope) -> tuple[Term, ...] | None:
    """The index of the cell, of the right rank; None after a message."""
    place = tuple(index(e, scope) for e in target.index)
    if target.fill is not None:
        scope.problems.add(
            "TG151",
            "a fill has no meaning where a cell is written",
            target.fill.span,
            "a fill",
            help="guard the assignment: … if condition",
        )
        return None
    if tensor is None or WRONG in place:
        return None
    if len(place) != len(tensor.shape):
        rank = f"{len(tensor.shape)} axes" if len(tensor.shape) != 1 else "1 axis"
        scope.problems.add(
            "TG110",
            f"{target.name} has {rank}, not {len(place)}",
            target.span,
            f"{len(place)} given here",
            Label(tensor.span, f"{target.name} is declared here"),
        )
        return None
    return place


def updating(name: str, scope: Scope) -> Monoid | None:
    """The monoid of an update: a built-in one, or one with components."""
    return SCALARS.get(name) or scope.monoid(name)


def accepted(statement: tree.Assign, tensor: Tensor, scope: Scope) -> bool:
    """Whether the monoid of an update is known, and is one of values of the target's dtype."""
    monoid = updating(statement.update, scope)
    if monoid is None:
        known = (*SCALARS, *scope.monoids)
        fix = suggestion(statement.update, known) or f"updates are += and *=, and NAME= with {listing(known[2:])}"
        scope.problems.add("TG107", f"unknown monoid {statement.update}", statement.span, "no monoid has this name", help=fix)
        return False
    if not monoid.accepts(tensor.dtype):
        scope.problems.add(
            "TG122",
            f"{statement.update} is not defined for {tensor.dtype}",
            statement.span,
            f"{tensor.name} holds {tensor.dtype}",
            Label(tensor.span, "declared here"),
            help="any= and all= update conditions, += *= max= min= numbers",
        )
        return False
    return True


def typed(term: Term, tensor: Tensor, expr: tree.Expr, scope: Scope) -> Term:
    """The value in the dtype of its target."""
    term = settle(term, tensor.dtype, expr.span, scope.problems)
    if term.dtype in (tensor.dtype, UNKNOWN):
        return term
    return scope.problems.add(
        "TG121",
        f"{tensor.name} holds {tensor.dtype}, the value is {term.dtype}",
        expr.span,
        f"this is {term.dtype}",
        Label(tensor.span, f"{tensor.name} is {tensor.dtype}"),
        help=f"write {tensor.dtype}(…)",
    )


def folding(term: Term, expr: tree.Expr, scope: Scope) -> Term:
    """The term, refused if a fold is in it: a program folds by loops."""
    if any(isinstance(t, Fold) for t in walk(term)):
        help = "fold in a loop: acc[] += …; what a cell holds may be written as a fold: acc[] holds …"
        return scope.problems.add("TG156", "a fold is no step of a program", expr.span, "a fold", help=help)
    return term
