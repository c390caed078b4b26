"""Machines, from the tree: the work object, and for each equation the owner arrow that assigns one to the other.

Comes in: the tree of one `machine`, and the ops it serves. Goes out: one `Machine` for each op, dtype and choice of params.
The one idea: choices first, so that everything after them sees one op and numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tinygpu.category.term import FALSE, Term, conjunction, conjuncts
from tinygpu.diagnostic import Span
from tinygpu.model.clauses import Clauses, names_in, sort_clauses
from tinygpu.model.launch import derived, explicit
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.model.params import Params, combinations, declared, fixed
from tinygpu.model.problems import Problems, head, listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.value import condition
from tinygpu.model.work import factor_table
from tinygpu.syntax import tree

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f",
                 "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f")  # fmt: skip
Variant = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """An op to serve, and the variant that names it."""

    op: Op
    variant: Variant


def elaborate_machine(machine: tree.Machine, ops: Iterable[Instance], file: Params, problems: Problems) -> tuple[Machine, ...]:
    """`tree.Machine → Machine` for each op and each choice of params. Mistakes are added to `problems`."""
    clauses, place = sort_clauses(machine, problems), head(machine.span, f"machine {machine.name}")
    _arch(machine, problems)
    names = _needed(set(names_in(machine.clauses)) | set(names_in(machine.where)), file)
    own = declared(clauses.params, file, problems)
    for param in own.values():
        if param.name not in names:
            problems.add(
                "TG104",
                f"the param {param.name} is never used",
                param.span,
                "nothing in the machine has this name",
                help="remove it",
            )
    params = {n: c for n, c in {**file, **own}.items() if n in names}
    made: list[Machine] = []
    chosen = combinations(params, problems)
    before = len(problems)
    for instance in ops:
        if len(problems) > before:
            break  # the other ops would say the same
        several = [one for one in chosen if _holds(clauses, instance.op, one, params, problems)]
        if chosen and not several and len(problems) == before:
            title, fix = "no choice of the params satisfies the preconditions", "widen a set, or drop a precondition"
            problems.add("TG142", title, place, "none of its choices is left", help=fix)
        for constants in several:
            if len(problems) > before:
                break
            variant = tuple((n, str(v)) for n, v in constants.items() if not fixed(params[n]))
            made += _one(machine, clauses, instance, constants, variant, problems)
    return tuple(made)


def _needed(names: set[str], file: Params) -> set[str]:
    """The names with those that the file's params among them are made of."""
    for name in reversed(list(file)):
        if name in names:
            names |= set(names_in(file[name]))
    return names


def _arch(machine: tree.Machine, problems: Problems) -> None:
    if machine.arch and machine.arch not in ARCHITECTURES:
        fix = suggestion(machine.arch, ARCHITECTURES) or f"known are {listing(ARCHITECTURES)}"
        problems.add(
            "TG106",
            f"unknown architecture {machine.arch}",
            head(machine.span, f"machine {machine.name}"),
            f"on {machine.arch}, which is not known",
            help=fix,
        )


def _scope(op: Op, constants: Mapping[str, int], problems: Problems) -> Scope:
    return Scope(problems, dict.fromkeys(op.sizes, Span()), {}, constants).inside_brackets()


def _preconditions(clauses: Clauses, scope: Scope) -> list[tuple[Term, tree.Expr]]:
    return [(condition(expr, scope), expr) for expr in clauses.where]


def _holds(clauses: Clauses, op: Op, constants: Mapping[str, int], params: Params, problems: Problems) -> bool:
    """Whether a choice is allowed: a precondition that is false for it drops it; one that is false for all is said."""
    false = [expr for guard, expr in _preconditions(clauses, _scope(op, constants, problems)) if guard == FALSE]
    if false and all(map(fixed, params.values())):
        problems.add(
            "TG142",
            "a precondition is never true",
            false[0].span,
            "false for these numbers",
            help="change it, or the params it speaks of",
        )
    return not false


def _one(
    machine: tree.Machine, clauses: Clauses, instance: Instance, constants: Mapping[str, int], chosen: Variant, problems: Problems
) -> list[Machine]:
    """The machine of one op and one choice, as a list of one; empty after a message."""
    before, op, place = len(problems), instance.op, head(machine.span, f"machine {machine.name}")
    scope = _scope(op, constants, problems)
    where = tuple(part for guard, _ in _preconditions(clauses, scope) for part in conjuncts(guard))
    hiding = replace(scope, tensors={t.name: t for t in (*op.tensors, *op.intermediates)}, sizes=dict.fromkeys(op.sizes, Span()))
    table = factor_table(clauses, hiding)
    launch = (
        explicit(clauses, table, scope, place)
        if clauses.program
        else derived(clauses, op, table, scope, conjunction(*op.where, *where), place)
    )
    if launch is None or len(problems) > before:
        return []
    variant = (*instance.variant, *chosen)
    return [
        Machine(
            machine.name, op, (launch,), clauses.program, where, tuple(constants.items()), machine.arch or "", variant, machine.span
        )
    ]
