"""Elaboration: from a file's tree to its operations and machines, with names, dtypes, ranges and extents settled.

Comes in: a syntax tree, parsed or built in Python. Goes out: a `Spec`, or `TinygpuError` with everything that is wrong.
The one idea: after this nothing is a name any more, what follows works on terms, boxes and arrows; and of a machine the choices come first
(the op, its dtype, the params), so that everything after them sees one op and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from tinygpu.category.term import FALSE, Const, conjunction, conjuncts
from tinygpu.diagnostic import Span
from tinygpu.model.assignment import indices
from tinygpu.model.choice import choices_of
from tinygpu.model.clauses import Clauses, Params, clauses_of, combinations, decided, declared, fixed, names_in, settled, unused
from tinygpu.model.collective import Instruction
from tinygpu.model.composite import without_composites
from tinygpu.model.extent import with_divisors
from tinygpu.model.free import Skeleton, free_of, numbers_of, pinned
from tinygpu.model.gradient import gradients_of
from tinygpu.model.imports import own, with_imports
from tinygpu.model.instruction import instructions_of
from tinygpu.model.launches import explicit, several
from tinygpu.model.lemma import lemma_of
from tinygpu.model.machine import Launch, Machine
from tinygpu.model.monoid import Monoids, monoids_of
from tinygpu.model.names import without_names
from tinygpu.model.op import Op, Tensor, without_states
from tinygpu.model.ops import chains_of, ops_of, pipelines_of
from tinygpu.model.parts import derived
from tinygpu.model.problems import Problems, head
from tinygpu.model.scheme import without_schemes
from tinygpu.model.scope import Scope
from tinygpu.model.served import Instance, instances_of
from tinygpu.model.source import around
from tinygpu.model.spec import Spec
from tinygpu.model.theorem import theorem_of
from tinygpu.model.use import without_use
from tinygpu.model.value import condition
from tinygpu.model.work import Factor, factor_table
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import This, nodes
from tinygpu.syntax.target import ARCHITECTURES, CPU, SIMD, common, strange


def elaborate(file: tree.File) -> Spec:
    """`tree.File → Spec`; raises `TinygpuError` with all the TG1xx diagnostics of the file, and the machines that are right as its `rest`."""
    problems = Problems()
    every = without_schemes(without_composites(with_imports(file, problems), problems), problems)
    problems.stop()
    given, (file, names) = file, without_names(every, problems)
    params = declared((d for d in file.declarations if isinstance(d, tree.Param)), {}, problems)
    unused((p for p in params.values() if own(p, given)), set(names_in((every.declarations, file.declarations))), "file", problems)
    known = combinations(settled(params), problems)
    scope = monoids_of(file, known[0] if known else {}, problems)
    served = ops_of(file, replace(scope, defs=tuple(d.name for d in every.declarations if isinstance(d, tree.Def))), names.wrong)
    file, chains = chains_of(file, served, scope, set(params), names.wrong)
    machines, families = list[Machine](), list[Skeleton]()
    declared_here = (problems.enter(d) for d in file.declarations if isinstance(d, tree.Instruction))
    instructions = tuple(made for one in declared_here for made in instructions_of(one, scope))
    kinds_of_names = (
        tree.Op | tree.Machine | tree.Choice | tree.Pipeline | tree.Monoid,
        tree.Def | tree.Monoid,
        tree.Theorem,
        tree.Lemma,
    )
    for kinds in kinds_of_names:  # what is served or folded with, what is called, what is proved
        seen: dict[str, Span] = {}
        for one in every.declarations:
            if isinstance(one, kinds):
                _once(problems.enter(one), seen, problems)
    meant = (lemma_of(problems.enter(d), scope) for d in file.declarations if isinstance(d, tree.Lemma))
    lemmas = tuple(lemma for lemma in meant if lemma is not None)
    called = {name: None if several is None else [i.op for i in several] for name, several in served.items()}
    theorems = {
        d.name: theorem_of(problems.enter(d), called, lemmas, problems) for d in file.declarations if isinstance(d, tree.Theorem)
    }
    changing = [problems.enter(d) for d in file.declarations if isinstance(d, tree.Gradient)]
    gradients = gradients_of(changing, called, lemmas, problems)
    for declaration in file.declarations:
        if isinstance(declaration, tree.Machine):
            before, instances = len(problems), instances_of(problems.enter(declaration), served, theorems, file, problems)
            if free := free_of(declaration, params):
                families += _families(declaration, instances, free, file, problems, instructions)
                continue
            made = _again(declaration, file, problems, partial(_machines, declaration, instances, params, problems, instructions))
            right = len(problems) == before and declaration.name not in names.wrong
            machines += (replace(m, names=names.terms.get(declaration.name, ()), instructions=instructions) for m in made if right)
    declared_choices = (problems.enter(d) for d in file.declarations if isinstance(d, tree.Choice) and d.name not in names.wrong)
    tried, constants = {d.name for d in file.declarations if isinstance(d, tree.Machine)}, known[0] if known else {}
    choices = tuple(c for d in declared_choices for c in choices_of(d, served, machines, tried, constants, problems))
    file, pipelines = pipelines_of(file, chains, served, (*machines, *choices), constants, problems)
    ops, stated = tuple(i.op for several in served.values() for i in several or ()), tuple(filter(None, theorems.values()))
    spec = Spec(
        ops,
        tuple(machines),
        instructions,
        tuple(problems.warnings),
        stated,
        lemmas,
        gradients,
        choices,
        pipelines,
        tuple(families),
        file,
    )
    problems.stop(spec)
    return spec


def _once(
    declaration: tree.Op | tree.Machine | tree.Choice | tree.Pipeline | tree.Theorem | tree.Lemma | tree.Monoid | tree.Def,
    names: dict[str, Span],
    problems: Problems,
) -> None:
    kind, name = type(declaration).__name__.lower(), declaration.name
    place = head(declaration.span, f"{kind} {name}")
    if name in names:
        problems.say("TG102.name", place, names[name], name=name, kind=f"{'an' if kind == 'op' else 'a'} {kind}")
    names.setdefault(name, place)


# ── machines ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Draft:
    """A machine on its way: its tree, its clauses, and the params that it speaks of."""

    tree: tree.Machine
    clauses: Clauses
    params: Params
    problems: Problems
    instructions: tuple[Instruction, ...] = ()

    @property
    def place(self) -> Span:
        """`machine NAME`."""
        return head(self.tree.span, f"machine {self.tree.name}")

    def at(self, constants: Mapping[str, int]) -> Draft:
        """With the clauses of one choice."""
        if not any(isinstance(node, tree.IfClause) for node in nodes(self.tree.clauses)):
            return self
        machine = decided(self.tree, constants, self.problems)
        return replace(self, tree=machine, clauses=clauses_of(machine, self.problems))

    def scope(self, op: Op, constants: Mapping[str, int]) -> Scope:
        """The names of its preconditions and extents: sizes and params."""
        return Scope(self.problems, dict.fromkeys(op.sizes, Span()), {}, constants, monoids=Monoids()).inside_brackets()


READ: dict[tuple[This[Any], ...], list[Machine]] = {}  # of machines in which nothing was wrong, the latest last
MANY = 64  # of them


def _again(machine: tree.Machine, file: tree.File, problems: Problems, read: Callable[[], list[Machine]]) -> list[Machine]:
    """What was made of a machine before, where it and all that is no machine are the same nodes, as where an editor's text changes elsewhere."""
    key = tuple(This(d) for d in (machine, *(d for d in file.declarations if not isinstance(d, tree.Machine))))
    if key in READ:
        return READ[key]
    warned, made = len(problems.warnings), read()
    if not len(problems) and len(problems.warnings) == warned:
        READ[key] = made
        for old in list(READ)[:-MANY]:
            del READ[old]
    return made


def _machines(
    machine: tree.Machine, ops: Iterable[Instance], file: Params, problems: Problems, instructions: tuple[Instruction, ...]
) -> list[Machine]:
    """`tree.Machine → Machine` for each op and each choice of params. Mistakes are added to `problems`."""
    where = f"on {machine.arch}" if machine.arch else "on a GPU"
    for word, span, fix in strange(machine):
        problems.say("TG162.word", span, word=word, where=where, fix=fix)
    machine = common(machine)
    clauses = clauses_of(machine, problems)
    names = set(names_in((machine.clauses, machine.where)))
    for name in reversed(list(file)):  # those that the file's params among them are made of, too
        names |= set(names_in(file[name])) if name in names else set()
    own = declared(clauses.of(tree.Param), file, problems)
    unused(own.values(), names, "machine", problems)
    draft = Draft(machine, clauses, {n: c for n, c in {**file, **own}.items() if n in names}, problems, instructions)
    if machine.arch and machine.arch not in ARCHITECTURES:
        problems.say("TG106.architecture", draft.place, near=ARCHITECTURES, name=machine.arch, known=ARCHITECTURES)
    chosen = combinations(draft.params, problems)
    before = len(problems)
    made: list[Machine] = []
    for instance in ops:
        if len(problems) == before:  # after a mistake the other ops would say the same
            made += _choices(draft, instance, chosen)
    return made


def _families(
    machine: tree.Machine,
    ops: Iterable[Instance],
    params: Params,
    file: tree.File,
    problems: Problems,
    instructions: tuple[Instruction, ...],
) -> list[Skeleton]:
    """A machine with free numbers, for each op: it is elaborated at a point, and what is wrong there is wrong."""
    before, found = len(problems), numbers_of(machine, params, problems)
    if found is None:
        return []
    numbers, _, points = found
    chosen = {one.name: number for one, number in zip(numbers, points[0], strict=True)}
    problems.note = problems.note or f"this is its machine with {', '.join(f'{n}={v}' for n, v in chosen.items())}"
    file = replace(file, declarations=around(file, machine.name))
    there = pinned(file, chosen).declarations
    (here,) = (d for d in there if isinstance(d, tree.Machine))
    made = _machines(here, ops, {d.name: d for d in there if isinstance(d, tree.Param)}, problems, instructions)
    rest = [(m.op, tuple((n, v) for n, v in m.variant if n not in chosen)) for m in made]
    place = head(machine.span, f"machine {machine.name}")
    return [Skeleton(machine.name, op, *found, v, place, file) for op, v in rest] if len(problems) == before else []


def _choices(draft: Draft, instance: Instance, chosen: list[dict[str, int]]) -> list[Machine]:
    """The machines of one op: one for each choice of params that the preconditions allow."""
    problems, before = draft.problems, len(draft.problems)
    allowed = [one for one in chosen if _holds(draft.at(one), instance.op, one)]
    if chosen and not allowed and len(problems) == before:
        problems.say("TG142.choices", draft.place)
    made: list[Machine] = []
    for constants in allowed:
        if len(problems) == before:
            made += _one(draft.at(constants), instance, constants)
    return made


def _holds(draft: Draft, op: Op, constants: Mapping[str, int]) -> bool:
    """Whether a choice is allowed: a precondition that is false for it drops it; one that is false for all is said."""
    scope = draft.scope(op, constants)
    false = [expr for expr in draft.clauses.where if condition(expr, scope) == FALSE]
    if false and all(map(fixed, draft.params.values())):
        draft.problems.say("TG142.never", false[0].span)
    return not false


def _one(draft: Draft, instance: Instance, constants: Mapping[str, int]) -> list[Machine]:
    """The machine of one op and one choice, as a list of one; empty after a message."""
    problems, clauses, op = draft.problems, draft.clauses, instance.op
    before, scope = len(problems), draft.scope(op, constants)
    where = with_divisors((part for expr in clauses.where for part in conjuncts(condition(expr, scope))), op.where)
    hiding = replace(scope, tensors={t.name: t for t in (*op.tensors, *op.intermediates)})
    for name in constants:
        replace(hiding, constants={}).hides(name, draft.params[name].span, "the param")
    turns = {a.name for e in op.states for a in (*indices(e, scope), *e.axes)} - {
        a.name for e in without_states(op).equations for a in indices(e, scope)
    }
    clauses, use = without_use(clauses, draft.instructions, hiding)
    parts, hand = derived(clauses, op, problems) if clauses.program else ((), None)
    if len(problems) > before:
        return []  # of what is not computed nothing has to be said
    if parts and parts != (clauses,):
        clauses = replace(clauses, several=parts)
    tables = [{n: f for n, f in factor_table(one, hiding).items() if n not in turns or f.carried} for one in clauses.launches]
    crossing: tuple[Tensor, ...] = ()
    if clauses.program and not parts:
        launches = explicit(clauses, tables[0], scope, draft.place)
    else:
        launches, crossing = several(clauses, without_states(op), tables, scope, conjunction(*op.where, *where), draft.place, hand)
    if draft.tree.arch == CPU:
        _registers((f for table in tables for f in table.values()), launches, problems)
    if len(problems) > before:
        return []
    chosen = tuple((n, str(v)) for n, v in constants.items() if not fixed(draft.params[n]))
    name, arch, variant = draft.tree.name, draft.tree.arch or "", (*instance.variant, *chosen)
    known = tuple(constants.items())
    return [Machine(name, op, launches, clauses.program, where, known, arch, variant, draft.tree.span, crossing, use=use)]


def _registers(factors: Iterable[Factor], launches: Iterable[Launch], problems: Problems) -> None:
    """A factor of simd is a vector register."""
    extents = {a.name: a.extent for one in launches for p in one.phases for a in p.owner.domain.axes}
    for factor in factors:
        extent = extents.get(factor.name, factor.extent)
        if factor.sort == "vector" and isinstance(extent, Const) and extent.value not in SIMD:
            problems.say("TG163.lanes", factor.span, name=factor.name, extent=extent)
