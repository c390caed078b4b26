"""Elaboration: from a file's tree to its operations and machines, with names, dtypes, ranges and extents settled.

Comes in: a syntax tree, parsed or built in Python. Goes out: a `Spec`, or `TinygpuError` with everything that is wrong.
The one idea: after this nothing is a name any more; what follows works on terms, boxes and arrows.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.diagnostic import Label, Span
from tinygpu.model.clauses import names_in
from tinygpu.model.elaborate_machine import Instance, elaborate_machine
from tinygpu.model.elaborate_op import elaborate_op
from tinygpu.model.machine import Machine
from tinygpu.model.monoid import monoids_of
from tinygpu.model.op import Op
from tinygpu.model.params import Params, combinations, declared, fixed
from tinygpu.model.problems import Problems, head, listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.model.source import source
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Spec:
    """A file, elaborated: its ops (one for each dtype of a family) and its machines (one for each op, dtype and choice of params)."""

    ops: tuple[Op, ...]
    machines: tuple[Machine, ...]

    def op(self, name: str) -> Op:
        """The op of that name. Raises KeyError."""
        return {o.name: o for o in self.ops}[name]

    def machine(self, title: str) -> Machine:
        """The machine of that title (`saxpy_v4`, `relu_v4[T=f16]`), or the first of that name. Raises KeyError."""
        names = {m.name: m for m in reversed(self.machines)}
        return {**names, **{m.title: m for m in self.machines}}[title]


def elaborate(file: tree.File) -> Spec:
    """`tree.File → Spec`; raises `TinygpuError` with all the TG1xx diagnostics of the file, and the machines that are right as its `rest`."""
    problems = Problems()
    params = _params(file, problems)
    known = combinations(_constant(params), problems)
    served = _ops(file, monoids_of(file, known[0] if known else {}, problems))
    names: dict[str, Span] = {}
    machines: list[Machine] = []
    for declaration in file.declarations:
        if isinstance(declaration, tree.Op | tree.Machine | tree.Monoid):
            _once(declaration, names, problems)
        if isinstance(declaration, tree.Import):
            problems.add("TG109", "import is not in this version yet", declaration.span, help="put the declarations into one file")
        if isinstance(declaration, tree.Machine):
            before = problems.told
            instances = _instances(declaration, served, problems)
            made = elaborate_machine(declaration, instances, params, problems)
            machines += made if problems.told == before else []
    spec = Spec(tuple(i.op for several in served.values() for i in several or ()), tuple(machines))
    problems.stop(spec)
    return spec


def _params(file: tree.File, problems: Problems) -> dict[str, tree.Param]:
    params = declared((d for d in file.declarations if isinstance(d, tree.Param)), {}, problems)
    used = set(names_in(file.declarations))
    for param in params.values():
        if param.name not in used:
            problems.add(
                "TG104", f"the param {param.name} is never used", param.span, "nothing in the file has this name", help="remove it"
            )
    return params


def _constant(params: Params) -> dict[str, tree.Param]:
    """The params that are one number: fixed, and made of fixed ones. Shapes may speak of these only."""
    found: dict[str, tree.Param] = {}
    for name, param in params.items():
        if fixed(param) and not set(names_in(param.value)) & (set(params) - set(found)):
            found[name] = param
    return found


def _ops(file: tree.File, scope: Scope) -> dict[str, list[Instance] | None]:
    """The ops by name, each with its dtypes; None for one that is wrong, whose machines are then passed over."""
    served: dict[str, list[Instance] | None] = {}
    for op in file.declarations:
        if not isinstance(op, tree.Op) or op.name in served:
            continue
        before = len(scope.problems)
        made = elaborate_op(op, scope)
        dtypes = op.family.dtypes if op.family else ()
        variants = [((op.family.variable, d),) for d in dtypes] if op.family else [()]
        if len(scope.problems) == before:
            made = tuple(replace(o, source=source(file, op, d)) for o, d in zip(made, dtypes or ("",), strict=True))
        served[op.name] = None if len(scope.problems) > before else [Instance(o, v) for o, v in zip(made, variants, strict=True)]
    return served


def _once(declaration: tree.Op | tree.Machine | tree.Monoid, names: dict[str, Span], problems: Problems) -> None:
    kind = type(declaration).__name__.lower()
    place = head(declaration.span, f"{kind} {declaration.name}")
    if declaration.name in names:
        problems.add(
            "TG102",
            f"the name {declaration.name} is declared twice",
            place,
            f"a second declaration, of {'an' if kind == 'op' else 'a'} {kind}",
            Label(names[declaration.name], "the first"),
            help="take another name",
        )
    names.setdefault(declaration.name, place)


def _instances(machine: tree.Machine, served: Mapping[str, list[Instance] | None], problems: Problems) -> list[Instance]:
    """The ops that a machine serves; the op is part of the variant where there are several."""
    found: list[Instance] = []
    for place, name in enumerate(machine.ops):
        if name.name in (other.name for other in machine.ops[:place]):
            problems.add("TG102", f"the operation {name.name} stands twice", name.span, "the second time", help="write it once")
            continue
        if name.name not in served:
            fix = suggestion(name.name, served) or (
                f"the ops are {listing(sorted(served))}" if served else f"declare it: op {name.name}(…) -> (…) {{ … }}"
            )
            problems.add("TG105", f"unknown operation {name.name}", name.span, "no op of this file has this name", help=fix)
        for instance in served.get(name.name) or ():
            choice = (("op", name.name),) if len(machine.ops) > 1 else ()
            found.append(Instance(instance.op, (*choice, *instance.variant)))
    return found
