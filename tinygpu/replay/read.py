"""From the text of a spec to operations and programs of this folder.

Comes in: a text whose machines give their programs. Goes out: a machine for each op that it serves, or the reason why not.
The one idea: what cannot be read is reported by name, never left out: a machine that this reader does not know is `Unsupported`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from tinygpu.record import dataclass, field, replace
from tinygpu.replay.dtypes import settle
from tinygpu.replay.expressions import Scope, condition, folded, index, typed, value
from tinygpu.replay.ir import FLOATS, RANGES, Axis, Fold, Op, Term, Unsupported, Var, rebuild, walk
from tinygpu.replay.monoids import built_in
from tinygpu.replay.program import Equation, Machine, Monoid, Operation, Tensor
from tinygpu.replay.ranges import inferred
from tinygpu.replay.steps import launches, unhidden
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse
from tinygpu.syntax.target import common


@dataclass(frozen=True, slots=True)
class Unread:
    """A machine that could not be read, and why."""

    name: str
    op: str
    reason: str


@dataclass(slots=True)
class File:
    """What a text declares: params, monoids, operations by name (each choice of a family on its own)."""

    constants: dict[str, Term] = field(default_factory=dict)
    monoids: dict[str, Monoid] = field(default_factory=dict)
    ops: dict[str, list[tuple[tree.Op, str]]] = field(default_factory=dict)


def read(text: str, path: str = "") -> tuple[Machine | Unread, ...]:
    """`text → machines`; raises `TinygpuError` where it does not parse."""
    declarations = parse(text, path).declarations
    file = File(monoids=dict(standard_monoids()))
    found: list[Machine | Unread] = []
    for one in declarations:
        match one:
            case tree.Param(name, expr) if expr is not None:
                file.constants[name] = index(expr, Scope({}, file.constants, {}))
            case tree.Op():
                choices = one.family.dtypes if one.family else ("",)
                file.ops[one.name] = [(one, choice) for choice in choices]
            case tree.Monoid():
                file.monoids[one.name] = monoid(one, file.monoids)
    for one in declarations:
        if isinstance(one, tree.Machine):
            for served in one.ops:
                for op, choice in file.ops.get(served.name, []):
                    title = f"{op.name}[{op.family.variable}={choice}]" if op.family else op.name
                    try:
                        found.append(machine(one, op, choice, title, file))
                    except Unsupported as problem:
                        found.append(Unread(one.name, title, str(problem)))
    return tuple(found)


# ── monoids ──


@cache
def standard_monoids() -> Mapping[str, Monoid]:
    """The built-in monoids of tuples, read from their texts."""
    found: dict[str, Monoid] = {}
    for one in parse(built_in()).declarations:
        assert isinstance(one, tree.Monoid)
        found[one.name] = monoid(one, found)
    return found


def monoid(written: tree.Monoid, known: Mapping[str, Monoid]) -> Monoid:
    """A declaration of a monoid: its unit, what an element becomes, how two are combined, what it gives."""
    components = tuple((c.name, c.dtype) for c in written.components)
    parts = {p.kind: p for p in written.parts}
    own: dict[str, Term] = {c: Var(c, d) for c, d in components}
    scope = Scope({}, {}, known)
    unit = _tuple(parts["unit"].value, components, scope)
    a, b = (_name(item) for item in _names(parts["combine"].names))
    whole = Monoid(written.name, components, (), (), (), (), (), ())  # so that `a.c` is a component
    pair = replace(scope, monoids={**known, written.name: whole}).having({n: Var(n, written.name) for n in (a, b)})
    both = {f"{side}.{c}": Var(f"{side}.{c}", d) for side in "ab" for c, d in components}
    combine = tuple(_parts(t, {a: "a", b: "b"}, both) for t in _tuple(parts["combine"].value, components, pair))
    lifts: tuple[tuple[str, str], ...] = ()
    lifted: tuple[Term, ...] = ()
    if "lift" in parts:
        lifts = tuple(_lift(item, place, components) for place, item in enumerate(_names(parts["lift"].names)))
        lifted = _tuple(parts["lift"].value, components, scope.having({n: Var(n, d) for n, d in lifts}))
    result = tuple(_closed(value(item, scope.having(own))) for item in parts["result"].value.items) if "result" in parts else ()
    invariant = tuple(condition(c, scope.having(own)) for c in written.where)
    return Monoid(written.name, components, invariant, unit, combine, lifts, lifted, result)


def _closed(term: Term) -> Term:
    if term.dtype not in (*FLOATS, *RANGES, "bool"):
        raise Unsupported("a result of a monoid has no type of its own")
    return term


def _names(group: tree.Group | None) -> tuple[tree.Expr, ...]:
    return group.items if group else ()


def _name(item: tree.Expr) -> str:
    match item:
        case tree.Name(name) | tree.Sized(name):
            return name
    raise Unsupported("a name is needed")


def _lift(item: tree.Expr, place: int, components: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    """A variable of `lift` with its dtype: its own, or that of the component in its place."""
    match item:
        case tree.Sized(name, tree.Name(dtype)):
            return name, dtype
    return _name(item), components[place][1]


def _tuple(group: tree.Group, components: tuple[tuple[str, str], ...], scope: Scope) -> tuple[Term, ...]:
    if len(group.items) != len(components):
        raise Unsupported("a value of a monoid has another number of components")
    return tuple(typed(item, scope, dtype) for item, (_, dtype) in zip(group.items, components, strict=True))


def _parts(term: Term, sides: Mapping[str, str], variables: Mapping[str, Term]) -> Term:
    """`part.c(x)` of a side as the variable `a.c`."""
    match term:
        case Op(op, (Var(name),)) if op.startswith("part.") and name in sides:
            return variables[f"{sides[name]}.{op.removeprefix('part.')}"]
    return rebuild(term, lambda t: _parts(t, sides, variables))


# ── operations ──


def operation(written: tree.Op, choice: str, title: str, file: File) -> Operation:
    """The sizes, tensors and equations of an op, with the dtype of its family put in."""
    dtypes = {written.family.variable: choice} if written.family else {}
    sizes = tuple(dict.fromkeys(n for t in (*written.inputs, *written.outputs) for e in t.shape or () for n in names_of(e)))
    sizes = tuple(s for s in sizes if s not in file.constants)
    terms = {**file.constants, **{s: Var(s) for s in sizes}}
    bare = Scope({}, terms, file.monoids, {}, dtypes)

    def tensor(one: tree.TensorDecl) -> Tensor:
        shape = tuple(index(e, bare) for e in one.shape or ())
        return Tensor(one.name, dtypes.get(one.dtype, one.dtype), shape, one.shape is None)

    inputs, outputs = tuple(map(tensor, written.inputs)), tuple(map(tensor, written.outputs))
    declared = {t.name: t for t in (*inputs, *outputs)}
    scope = replace(bare, tensors=declared)
    equations: list[Equation] = []
    for one in written.equations:
        made = list(_equations(one, scope))
        equations += made
        scope = replace(scope, tensors={**scope.tensors, **{e.target.name: e.target for e in made}})
    given = [condition(c, scope) for c in written.where]
    promises = tuple(c for c in given if any(isinstance(t, Fold) for t in walk(c)))
    where = tuple(c for c in given if c not in promises)
    return Operation(title, sizes, inputs, outputs, tuple(equations), where, promises)


def names_of(expr: tree.Expr) -> Iterator[str]:
    """The names in an extent, in order."""
    match expr:
        case tree.Name(name):
            yield name
        case tree.Binary(_, a, b):
            yield from names_of(a)
            yield from names_of(b)
        case tree.Unary(_, inner) | tree.Group((inner,)):
            yield from names_of(inner)
        case tree.Call(_, args):
            for a in args:
                yield from names_of(a)


def _equations(written: tree.Equation, scope: Scope) -> Iterator[Equation]:
    """An equation for each target."""
    first = written.targets[0]
    indices = tuple(_name(i) for i in first.index)
    if any(tuple(_name(i) for i in t.index) != indices for t in written.targets) or len(set(indices)) != len(indices):
        raise Unsupported("the targets of an equation have different indices")
    known = scope.tensors.get(first.name)
    for name in indices:
        unhidden(name, scope)
    body = written.value
    extents = known.shape if known else tuple(inferred(i, body, scope) for i in indices)
    if len(extents) != len(indices):
        raise Unsupported(f"{first.name} has another rank")
    axes = tuple(Axis(i, e) for i, e in zip(indices, extents, strict=True))
    inner = scope.having({a.name: Var(a.name) for a in axes}, {a.name: a.extent for a in axes})
    values = _values(body, inner, len(written.targets))
    for target, term in zip(written.targets, values, strict=True):
        found = scope.tensors.get(target.name)
        if found is None:
            found = Tensor(target.name, term.dtype, extents)
        term = settle(term, found.dtype)
        if term.dtype != found.dtype or found.dtype not in (*FLOATS, *RANGES, "bool"):
            raise Unsupported(f"{target.name} is {found.dtype}, its equation {term.dtype}")
        yield Equation(found, axes, term, written.span)


def _values(body: tree.Expr, scope: Scope, count: int) -> tuple[Term, ...]:
    if count == 1:
        return (value(body, scope),)
    if isinstance(body, tree.Group) and len(body.items) == 1:
        body = body.items[0]
    if not isinstance(body, tree.FoldExpr):
        raise Unsupported("a tuple is given by a fold")
    found = folded(body, scope, every=True)
    if len(found) != count:
        raise Unsupported("a fold gives another number of values")
    return found


# ── machines ──


def machine(written: tree.Machine, op: tree.Op, choice: str, title: str, file: File) -> Machine:
    """A machine that gives its program, for one op."""
    written = common(written)
    program = next((c for c in written.clauses if isinstance(c, tree.ProgramClause)), None)
    if program is None:
        raise Unsupported("the machine does not give its program")
    constants = dict(file.constants)
    where: list[Term] = []
    done = operation(op, choice, title, file)
    dtypes = {op.family.variable: choice} if op.family else {}
    sizes: dict[str, Term] = {s: Var(s) for s in done.sizes}
    work: tuple[tree.Level, ...] = ()
    conditions = [*written.where]
    for clause in written.clauses:
        match clause:
            case tree.Param(name, expr) if expr is not None:
                constants[name] = index(expr, Scope({}, {**constants, **sizes}, {}))
            case tree.Work(levels):
                work = levels
            case tree.Where(more):
                conditions += more
            case tree.ProgramClause():
                pass
            case _:
                raise Unsupported(f"a clause {type(clause).__name__.lower()} stands beside the program")
    tensors = {t.name: t for t in (*done.inputs, *done.outputs)}
    inputs = frozenset(t.name for t in done.inputs)
    scope = Scope(tensors, {**constants, **sizes}, file.monoids, {}, dtypes, inputs=inputs)
    where += [condition(c, scope) for c in conditions]
    if any(isinstance(t, Fold) for w in where for t in walk(w)):
        raise Unsupported("a precondition of the machine speaks of data")
    workspaces, made = launches(program.body, work, scope)
    return Machine(written.name, done, written.arch or "", tuple(where), workspaces, made, file.monoids)
