"""Machines, from the tree: the work object, and for each equation the owner arrow that assigns one to the other.

Comes in: the tree of one `machine`, and the ops it serves. Goes out: one `Machine` for each op, dtype and choice of params.
The one idea: choices first, so that everything after them sees one op and numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.term import FALSE, Const, conjunction, conjuncts, text
from tinygpu.diagnostic import Span
from tinygpu.model.clauses import Clauses, names_in, sort_clauses
from tinygpu.model.divided import with_divisors
from tinygpu.model.launch import explicit
from tinygpu.model.launches import several
from tinygpu.model.machine import Launch, Machine
from tinygpu.model.op import Op, Tensor
from tinygpu.model.params import Params, combinations, declared, fixed
from tinygpu.model.problems import Problems, head, listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.value import condition
from tinygpu.model.work import Factor, factor_table
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.target import CPU, common, strange

ARCHITECTURES = ("cpu", "sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f",
                 "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f")  # fmt: skip
REGISTERS = (4, 8, 16)  # lanes of a factor of simd
Variant = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Instance:
    """An op to serve, and the variant that names it."""

    op: Op
    variant: Variant


@dataclass(frozen=True, slots=True)
class Draft:
    """A machine on its way: its tree, sorted, and the params that it speaks of."""

    tree: tree.Machine
    clauses: Clauses
    params: Params
    problems: Problems

    @property
    def place(self) -> Span:
        """`machine NAME`."""
        return head(self.tree.span, f"machine {self.tree.name}")


def elaborate_machine(machine: tree.Machine, ops: Iterable[Instance], file: Params, problems: Problems) -> tuple[Machine, ...]:
    """`tree.Machine → Machine` for each op and each choice of params. Mistakes are added to `problems`."""
    machine = _of_target(machine, problems)
    clauses = sort_clauses(machine, problems)
    names = _needed(set(names_in(machine.clauses)) | set(names_in(machine.where)), file)
    own = declared(clauses.params, file, problems)
    for param in own.values():
        if param.name not in names:
            title = f"the param {param.name} is never used"
            problems.add("TG104", title, param.span, "nothing in the machine has this name", help="remove it")
    draft = Draft(machine, clauses, {n: c for n, c in {**file, **own}.items() if n in names}, problems)
    _arch(draft)
    chosen = combinations(draft.params, problems)
    before = len(problems)
    made: list[Machine] = []
    for instance in ops:
        if len(problems) == before:  # after a mistake the other ops would say the same
            made += _choices(draft, instance, chosen)
    return tuple(made)


def _choices(draft: Draft, instance: Instance, chosen: list[dict[str, int]]) -> list[Machine]:
    """The machines of one op: one for each choice of params that the preconditions allow."""
    problems, before = draft.problems, len(draft.problems)
    several = [one for one in chosen if _holds(draft, instance.op, one)]
    if chosen and not several and len(problems) == before:
        title, fix = "no choice of the params satisfies the preconditions", "widen a set, or drop a precondition"
        problems.add("TG142", title, draft.place, "none of its choices is left", help=fix)
    made: list[Machine] = []
    for constants in several:
        if len(problems) == before:
            made += _one(draft, instance, constants)
    return made


def _needed(names: set[str], file: Params) -> set[str]:
    """The names with those that the file's params among them are made of."""
    for name in reversed(list(file)):
        if name in names:
            names |= set(names_in(file[name]))
    return names


def _of_target(machine: tree.Machine, problems: Problems) -> tree.Machine:
    """The machine in the words of all targets; says which words are those of another one."""
    where = f"on {machine.arch}" if machine.arch else "on a GPU"
    for word, span, fix in strange(machine):
        problems.add("TG162", f"there is no {word} {where}", span, f"{word} is of another target", help=fix)
    return common(machine)


def _arch(draft: Draft) -> None:
    arch = draft.tree.arch
    if arch and arch not in ARCHITECTURES:
        fix = suggestion(arch, ARCHITECTURES) or f"known are {listing(ARCHITECTURES)}"
        draft.problems.add("TG106", f"unknown architecture {arch}", draft.place, f"on {arch}, which is not known", help=fix)


def _registers(factors: Iterable[Factor], launches: Iterable[Launch], problems: Problems) -> None:
    """A factor of simd is a vector register."""
    extents = {a.name: a.extent for one in launches for p in one.phases for a in p.owner.domain.axes}
    for factor in factors:
        extent = extents.get(factor.name, factor.extent)
        if factor.sort == "vector" and isinstance(extent, Const) and extent.value not in REGISTERS:
            fix = f"write {factor.name}: 16, and give the rest to register or time"
            title = f"no vector register has {text(extent)} lanes"
            problems.add("TG163", title, factor.span, "a factor of simd is one register, of 4, 8 or 16 lanes", help=fix)


def _scope(op: Op, constants: Mapping[str, int], problems: Problems) -> Scope:
    return Scope(problems, dict.fromkeys(op.sizes, Span()), {}, constants).inside_brackets()


def _holds(draft: Draft, op: Op, constants: Mapping[str, int]) -> bool:
    """Whether a choice is allowed: a precondition that is false for it drops it; one that is false for all is said."""
    scope = _scope(op, constants, draft.problems)
    false = [expr for expr in draft.clauses.where if condition(expr, scope) == FALSE]
    if false and all(map(fixed, draft.params.values())):
        fix = "change it, or the params it speaks of"
        draft.problems.add("TG142", "a precondition is never true", false[0].span, "false for these numbers", help=fix)
    return not false


def _one(draft: Draft, instance: Instance, constants: Mapping[str, int]) -> list[Machine]:
    """The machine of one op and one choice, as a list of one; empty after a message."""
    problems, clauses, op = draft.problems, draft.clauses, instance.op
    before, scope = len(problems), _scope(op, constants, problems)
    where = with_divisors((part for expr in clauses.where for part in conjuncts(condition(expr, scope))), op.where)
    hiding = replace(scope, tensors={t.name: t for t in (*op.tensors, *op.intermediates)})
    for name in constants:
        replace(hiding, constants={}).hides(name, draft.params[name].span, "the param")
    tables = [factor_table(one, hiding) for one in clauses.launches]
    crossing: tuple[Tensor, ...] = ()
    if clauses.program:
        launches = explicit(clauses, tables[0], scope, draft.place)
    else:
        launches, crossing = several(clauses, op, tables, scope, conjunction(*op.where, *where), draft.place)
    if draft.tree.arch == CPU:
        _registers((f for table in tables for f in table.values()), launches, problems)
    if len(problems) > before:
        return []
    chosen = tuple((n, str(v)) for n, v in constants.items() if not fixed(draft.params[n]))
    name, arch, variant = draft.tree.name, draft.tree.arch or "", (*instance.variant, *chosen)
    known = tuple(constants.items())
    return [Machine(name, op, launches, clauses.program, where, known, arch, variant, draft.tree.span, crossing)]
