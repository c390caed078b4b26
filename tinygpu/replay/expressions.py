"""Expressions of the syntax tree as terms: names resolved, literals typed, folds with the ranges of their binders.

Comes in: a tree and the names around it. Goes out: a term, or `Unsupported` with the reason.
The one idea: one function over the kinds of expressions, the same for equations, programs and monoids.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tinygpu.record import dataclass, field, replace
from tinygpu.replay.dtypes import LITERAL, apply, cast, meet, negative, settle, to_index
from tinygpu.replay.ir import (
    BOOL,
    FLOATS,
    INDEX,
    RANGES,
    TRUE,
    Axis,
    Fold,
    Names,
    Num,
    Op,
    Read,
    Term,
    Unsupported,
    Var,
    both,
    either,
    negated,
    put,
    select,
    walk,
    within,
)
from tinygpu.replay.monoids import monoid_named
from tinygpu.replay.program import Monoid, Tensor
from tinygpu.replay.ranges import ranged
from tinygpu.syntax import tree

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "^": "xor",
             "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}  # fmt: skip
FUNCTIONS = ("exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "floor", "abs")
SCALARS = ("sum", "prod", "min", "max", "any", "all")
TUPLES = ("argmax", "argmin", "logsumexp", "welford")
SHUFFLES = {"shuffle_xor": "xor", "shuffle_up": "up", "shuffle_down": "down", "shuffle_idx": "idx"}


@dataclass(frozen=True, slots=True)
class Scope:
    """The names at a place: constants (params, listed values), variables with their terms, tensors; `ranges` are the extents of indices."""

    tensors: Mapping[str, Tensor]
    terms: Mapping[str, Term]
    monoids: Mapping[str, Monoid]
    ranges: Mapping[str, Term] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    names: Names = field(default_factory=Names)
    inputs: frozenset[str] = frozenset()
    indices: bool = False  # inside brackets: integers read from data are indices

    def having(self, terms: Mapping[str, Term], ranges: Mapping[str, Term] | None = None) -> Scope:
        return replace(self, terms={**self.terms, **terms}, ranges={**self.ranges, **(ranges or {})})


def index(expr: tree.Expr, scope: Scope) -> Term:
    """An index term."""
    return to_index(value(expr, replace(scope, indices=True)))


def typed(expr: tree.Expr, scope: Scope, dtype: str) -> Term:
    """A value of that type."""
    term = settle(value(expr, scope), dtype)
    if term.dtype != dtype:
        raise Unsupported(f"a value of {term.dtype} stands where {dtype} is needed")
    return term


def condition(expr: tree.Expr, scope: Scope) -> Term:
    """A guard."""
    return typed(expr, scope, BOOL)


def value(expr: tree.Expr, scope: Scope) -> Term:
    """A term; its type may still be open, `literal` or `index`."""
    match expr:
        case tree.Number(text):
            return Num(Fraction(text.replace("_", "")), LITERAL)
        case tree.Name(name):
            return _seen(_name(name, scope), scope)
        case tree.Cell():
            return _cell(expr, scope)
        case tree.Call():
            return _call(expr, scope)
        case tree.Unary("not", inner):
            return negated(condition(inner, scope))
        case tree.Unary(_, inner):
            return negative(value(inner, scope))
        case tree.Binary("and", left, right):
            return both(condition(left, scope), condition(right, scope))
        case tree.Binary("or", left, right):
            return either(condition(left, scope), condition(right, scope))
        case tree.Binary(op, left, right):
            a, b = meet(value(left, scope), value(right, scope))
            if a.dtype == LITERAL and OPERATORS[op] in ("lt", "le", "gt", "ge", "eq", "ne"):
                a, b = settle(a, INDEX), settle(b, INDEX)
            return apply(OPERATORS[op], (a, b))
        case tree.IfElse(then, guard, otherwise):
            return _choice(guard, then, otherwise, scope)
        case tree.FoldExpr():
            return folded(expr, scope)[0]
        case tree.Group((inner,)):
            return value(inner, scope)
        case tree.Field(inner, name):
            return _seen(part(value(inner, scope), name, scope), scope)
    raise Unsupported(f"{type(expr).__name__} is no value")


def _name(name: str, scope: Scope) -> Term:
    if name in scope.terms:
        return scope.terms[name]
    tensor = scope.tensors.get(name)
    if tensor is not None and tensor.scalar:
        return Read(name, (), tensor.dtype)
    match name:
        case "true" | "false":
            return Num(name == "true", BOOL)
        case "inf":
            return Op("inf", (), LITERAL)
    raise Unsupported(f"the name {name} is not known")


def _seen(term: Term, scope: Scope) -> Term:
    """What an integer is inside brackets: an index."""
    return to_index(term) if scope.indices and term.dtype in RANGES else term


def _cell(expr: tree.Cell, scope: Scope) -> Term:
    tensor = scope.tensors.get(expr.name)
    if tensor is None or len(tensor.shape) != len(expr.index):
        raise Unsupported(f"{expr.name} is no array of rank {len(expr.index)}")
    inside = tuple(index(i, scope) for i in expr.index)
    read = Read(expr.name, inside, tensor.dtype)
    if expr.fill is None:
        return _seen(read, scope)
    there = both(*(within(i, e) for i, e in zip(inside, tensor.shape, strict=True)))
    return _seen(select(there, *meet(read, value(expr.fill, scope))), scope)


def _choice(guard: tree.Expr, then: tree.Expr, otherwise: tree.Expr, scope: Scope) -> Term:
    return select(condition(guard, scope), *meet(value(then, scope), value(otherwise, scope)))


def _call(expr: tree.Call, scope: Scope) -> Term:
    name, args = scope.dtypes.get(expr.function, expr.function), expr.args
    monoid = monoid_named(name, scope.monoids)
    if name in SHUFFLES and len(args) == 2:
        exchanged = value(args[0], scope)
        return Op(f"shuffle.{SHUFFLES[name]}", (exchanged, index(args[1], scope)), exchanged.dtype)
    if name == "where" and len(args) == 3:
        return _choice(args[0], args[1], args[2], scope)
    if name in ("min", "max") and len(args) > 1:
        found = value(args[0], scope)
        for arg in args[1:]:
            found = apply(name, meet(found, value(arg, scope)))
        return found
    if name == "ceil" and len(args) == 1 and isinstance(args[0], tree.Binary) and args[0].op == "/":
        return apply("ceildiv", (index(args[0].left, scope), index(args[0].right, scope)))
    if name == INDEX and len(args) == 1:
        return index(args[0], scope)
    if name in (*FLOATS, *RANGES) and len(args) == 1:
        return _seen(cast(value(args[0], scope), name), scope)
    if name in FUNCTIONS and len(args) == 1:
        found = value(args[0], scope)
        return apply(name, (cast(found, LITERAL) if found.dtype == INDEX else found,))
    if monoid is not None:
        return _tuple(monoid, tuple(value(a, scope) for a in args))
    raise Unsupported(f"the function {name} is not known")


def _tuple(monoid: Monoid, given: tuple[Term, ...]) -> Term:
    """`lse(-inf, 0)`: a value from its components; `lse(a, b)`: two values combined."""
    if len(given) == 2 and any(g.dtype == monoid.name for g in given):
        return Op("combine", given, monoid.name)
    if len(given) != len(monoid.components):
        raise Unsupported(f"{monoid.name} has {len(monoid.components)} components")
    return Op("pack", tuple(settle(g, d) for g, (_, d) in zip(given, monoid.components, strict=True)), monoid.name)


def part(term: Term, name: str, scope: Scope) -> Term:
    """A component of a tuple."""
    monoid = monoid_named(term.dtype, scope.monoids)
    places = [] if monoid is None else [c for c, _ in monoid.components]
    if monoid is None or name not in places:
        raise Unsupported(f"{term.dtype} has no component {name}")
    if isinstance(term, Op) and term.op == "pack":
        return term.args[places.index(name)]
    return Op(f"part.{name}", (term,), dict(monoid.components)[name])


# ── folds ──


def folded(expr: tree.FoldExpr, scope: Scope, every: bool = False) -> tuple[Term, ...]:
    """A fold, as one value, or with `every` as all that its monoid gives of it."""
    monoid = monoid_named(expr.monoid, scope.monoids) if expr.named else None
    if monoid is None and (expr.named or expr.monoid not in (*SCALARS, *TUPLES)):
        raise Unsupported(f"the fold {expr.monoid} is not known")
    binders: list[Axis] = []
    guard: Term = TRUE
    inner = scope
    for binder in expr.binders:
        extent, more = ranged(binder, expr.body, inner, index)
        fresh = Var(scope.names.fresh(binder.name))
        binders.append(Axis(fresh.name, extent))
        guard = both(guard, put(more, {binder.name: fresh}))
        inner = inner.having({binder.name: fresh}, {binder.name: extent})
    axes = tuple(binders)
    if expr.monoid in SCALARS and not expr.named:
        body = value(expr.body, replace(inner, indices=False))
        return (Fold(expr.monoid, axes, guard, body, body.dtype),)
    items = expr.body.items if isinstance(expr.body, tree.Group) and len(expr.body.items) > 1 else (expr.body,)
    given = tuple(value(item, replace(inner, indices=False)) for item in items)
    if monoid is None:
        monoid = monoid_named(f"{expr.monoid}_{given[0].dtype}", scope.monoids)
        if monoid is None or len(given) != 1:
            raise Unsupported(f"{expr.monoid} does not fold values of {given[0].dtype}")
        if expr.monoid.startswith("arg"):
            if len(axes) != 1:
                raise Unsupported(f"{expr.monoid} takes one index")
            given = (*given, cast(Var(axes[0].name), "i32"))
    raw = len(given) == 1 and given[0].dtype == monoid.name
    whole = Fold(monoid.name, axes, guard, given[0] if raw else _lifted(monoid, given), monoid.name)
    results = (whole,) if raw else _results(monoid, whole, scope)
    if every:
        return results
    if expr.monoid in ("argmax", "argmin"):
        return results[1:]
    return results[:1] if len(results) == 1 else (whole,)


def _lifted(monoid: Monoid, given: tuple[Term, ...]) -> Term:
    """What one element becomes."""
    if len(given) != len(monoid.lift):
        raise Unsupported(f"{monoid.name} lifts {len(monoid.lift)} values")
    env = {}
    for term, (name, dtype) in zip(given, monoid.lift, strict=True):
        env[name] = settle(term, dtype)
        if env[name].dtype != dtype:
            raise Unsupported(f"{monoid.name} lifts {dtype}, not {term.dtype}")
    return Op("pack", tuple(put(t, env) for t in monoid.lifted), monoid.name)


def _results(monoid: Monoid, whole: Term, scope: Scope) -> tuple[Term, ...]:
    """What a fold gives: the `result` of its monoid, or its components."""
    env = {name: part(whole, name, scope) for name, _ in monoid.components}
    return tuple(_put(t, env) for t in monoid.result) if monoid.result else tuple(env.values())


def _put(term: Term, env: Mapping[str, Term]) -> Term:
    """Substitution in a term of a monoid, which has no binders."""
    assert not any(isinstance(t, Fold) for t in walk(term))
    return put(term, env)
