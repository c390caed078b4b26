"""The laws of the monoids with components, for all values of their carriers.

    (a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)      e ⊕ a = a = a ⊕ e      a ⊕ b = b ⊕ a      a ⊕ a = a      the invariant holds of e, of a ⊕ b and of what is lifted

Comes in: a machine. Goes out: for each law, each choice of the components that are infinite, and each path through its comparisons, a claim
without infinities and choices (`extended`). A component is finite, or the infinity that its unit has. Commutativity is asked unless it is known
to fail: a fold of such a monoid has to keep its order (`ordered`), any other is a bag, and a set where a ⊕ a = a (not `counts`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import combinations, product

from tinygpu.replay import smt, solve
from tinygpu.replay.extended import NONE, REAL, Env, Fraction, Infinite, NoValue, Path, Value, equality, paths, truth, value
from tinygpu.replay.ir import (
    FALSE,
    FLOATS,
    ONE,
    TRUE,
    ZERO,
    Axis,
    Claim,
    Fold,
    Op,
    Open,
    Stated,
    Term,
    Unsupported,
    Var,
    both,
    compare,
    conjuncts,
    either,
    put,
    walk,
)
from tinygpu.replay.program import Assign, Machine, Monoid

CODE = "TG520"
SENTENCES = {
    "unit": "the unit of {0} changes nothing", "associative": "{0} is associative", "commutative": "{0} is commutative",
    "idempotent": "{0} takes a value twice as once",
    "invariant": "what {0} combines is a value of its carrier", "lift": "what {0} lifts is a value of its carrier",
}  # fmt: skip
Tuple = tuple[Value, ...]


def stated(machine: Machine) -> Iterator[Stated]:
    """The claims of this property."""
    for name in sorted(used(machine)):
        monoid = machine.monoids[name]
        try:
            yield from laws(monoid, written(machine, name))
            yield from something(machine, monoid)
        except Unsupported as problem:
            yield Open("monoid", CODE, f"{name}: {problem}")


def used(machine: Machine) -> set[str]:
    """The monoids of tuples that a machine speaks of."""
    found = {a.dtype for launch in machine.launches for a in launch.arrays} | {w.dtype for w in machine.workspaces}
    found |= {f.monoid for _, f in folds(machine)}
    return {n for n in found if n in machine.monoids}


def folds(machine: Machine) -> Iterator[tuple[tuple[Axis, ...], Fold]]:
    """The folds of the equations, with the axes around them."""
    for equation in machine.op.equations:
        yield from ((equation.axes, t) for t in walk(equation.value) if isinstance(t, Fold))


def written(machine: Machine, name: str) -> frozenset[int]:
    """The signs of the infinities that are written in what is folded with a monoid."""
    bodies = [f.body for _, f in folds(machine) if f.monoid == name]
    steps = [s for launch in machine.launches for s in every(launch.body)]
    bodies += [s.value for s in steps if isinstance(s, Assign) and s.update == name]
    found = {t.op for b in bodies for t in walk(b) if isinstance(t, Op) and not t.args}
    return frozenset(sign for op, sign in (("inf", 1), ("-inf", -1)) if op in found)


def every(body: tuple[object, ...]) -> Iterator[object]:
    for step in body:
        yield step
        yield from every(getattr(step, "body", ()))


# ── laws ──


def laws(monoid: Monoid, ends: frozenset[int]) -> Iterator[Stated]:
    """The claims of one monoid. `ends` are the infinities that an element may be."""

    def unit(env: Env, path: Path) -> Term:
        return allowed(monoid, all_of(monoid.unit, env, path), path)

    def lifted(env: Env, path: Path) -> Term:
        return allowed(monoid, all_of(monoid.lifted, env, path), path)

    def neutral(env: Env, path: Path) -> Term:
        a, e = side(monoid, "a", env), all_of(monoid.unit, env, path)
        return both(alike(combined(monoid, e, a, path), a), alike(combined(monoid, a, e, path), a))

    def associative(env: Env, path: Path) -> Term:
        a, b, c = (side(monoid, s, env) for s in "abc")
        left = combined(monoid, combined(monoid, a, b, path), c, path)
        return alike(left, combined(monoid, a, combined(monoid, b, c, path), path))

    def kept(env: Env, path: Path) -> Term:
        return allowed(monoid, combined(monoid, side(monoid, "a", env), side(monoid, "b", env), path), path)

    yield from law(monoid, "unit", "", unit)
    for env in elements(monoid, ends):
        yield from claims(monoid, "lift", partial(lifted, env))
    yield from law(monoid, "unit", "a", neutral)
    yield from law(monoid, "invariant", "ab", kept)
    if not ordered(monoid):
        yield from commutative(monoid)
    if not counts(monoid):
        yield from idempotent(monoid)
    yield from law(monoid, "associative", "abc", associative)


def commutative(monoid: Monoid) -> Iterator[Claim]:
    """That operands may change places."""

    def goal(env: Env, path: Path) -> Term:
        a, b = side(monoid, "a", env), side(monoid, "b", env)
        return alike(combined(monoid, a, b, path), combined(monoid, b, a, path))

    yield from law(monoid, "commutative", "ab", goal)


def idempotent(monoid: Monoid) -> Iterator[Claim]:
    """That a value combined with itself is that value."""

    def goal(env: Env, path: Path) -> Term:
        a = side(monoid, "a", env)
        return alike(combined(monoid, a, a, path), a)

    yield from law(monoid, "idempotent", "a", goal)


@cache
def ordered(monoid: Monoid) -> bool:
    """Whether two values are known that do not commute: then `folds` asks for the order, and this law is not asked for.

    Where a side has no value, or a solver gives up, the law is asked for, and is not proved.
    """
    try:
        values = [c for c in commutative(monoid) if c.goal != FALSE]
    except Unsupported:
        return False
    return any(solve.ask_z3(solve.numbered(smt.text(claim))) == "sat" for claim in values)


@cache
def counts(monoid: Monoid) -> bool:
    """Whether a value may count when it comes twice: then `folds` asks that no term does, and this law is not asked for."""
    try:
        values = list(idempotent(monoid))
    except Unsupported:
        return True
    return any(solve.ask_z3(solve.numbered(smt.text(claim))) != "unsat" for claim in values)


def all_of(terms: tuple[Term, ...], env: Env, path: Path) -> Tuple:
    """The values of several terms."""
    return tuple(value(t, env, path) for t in terms)


def law(monoid: Monoid, name: str, sides: str, goal: Callable[[Env, Path], Term]) -> Iterator[Claim]:
    """A law about values of the carrier: each component that may be infinite is, or is not."""
    names = [(f"{s}.{c}", dtype, monoid.unit[place]) for s in sides for place, (c, dtype) in enumerate(monoid.components)]
    choices = [(False, True) if endless(unit) else (False,) for _, _, unit in names]
    for choice in product(*choices):
        env: dict[str, Value] = {}
        for (name_, dtype, unit), infinite in zip(names, choice, strict=True):
            env[name_] = value(unit, {}, Path([])) if infinite else variable(name_, dtype)

        def run(path: Path, env: Env = env) -> Term:
            for s in sides:
                if not keeps(monoid, side(monoid, s, env), path):
                    return TRUE  # no value of the carrier: nothing is said of it
            return goal(env, path)

        yield from claims(monoid, name, run)


def claims(monoid: Monoid, name: str, run: Callable[[Path], Term]) -> Iterator[Claim]:
    """A claim for each path: no value is no law."""
    for path, goal in paths(run):
        if goal != TRUE:
            positive = powers(path)
            sentence = SENTENCES[name].format(monoid.name)
            yield Claim("monoid", CODE, sentence, (), (*path.facts, *positive), FALSE if goal is None else goal)


def powers(path: Path) -> Iterator[Term]:
    """Powers are positive, and of equal numbers equal."""
    for (one, a), (two, b) in combinations(path.powers.items(), 2):
        yield either(compare("ne", a, b), compare("eq", one, two))
    yield from (compare("gt", symbol, NONE) for symbol in path.powers)


def variable(name: str, dtype: str) -> Value:
    """Any finite number of a type."""
    return Fraction(Var(name, REAL if dtype in FLOATS else dtype))


def endless(term: Term) -> bool:
    return isinstance(term, Op) and term.op in ("inf", "-inf")


def elements(monoid: Monoid, ends: frozenset[int]) -> Iterator[Env]:
    """What may be lifted: finite numbers, and the infinities that are written."""
    choices = [(0, *sorted(ends)) if dtype in FLOATS else (0,) for _, dtype in monoid.lift]
    for choice in product(*choices):
        yield {n: Infinite(s) if s else variable(n, d) for (n, d), s in zip(monoid.lift, choice, strict=True)}


def side(monoid: Monoid, name: str, env: Env) -> Tuple:
    """The components of one of the values."""
    return tuple(env[f"{name}.{c}"] for c, _ in monoid.components)


def combined(monoid: Monoid, a: Tuple, b: Tuple, path: Path) -> Tuple:
    """The components of `a ⊕ b`."""
    env = {f"{s}.{c}": v for s, values in (("a", a), ("b", b)) for (c, _), v in zip(monoid.components, values, strict=True)}
    return all_of(monoid.combine, env, path)


def keeps(monoid: Monoid, values: Tuple, path: Path) -> bool:
    """Whether the invariant holds of a value."""
    env = {c: v for (c, _), v in zip(monoid.components, values, strict=True)}
    return all(truth(i, env, path) for i in monoid.invariant)


def allowed(monoid: Monoid, values: Tuple, path: Path) -> Term:
    """Finite components or their unit's infinity, and the invariant."""
    for found, unit in zip(values, monoid.unit, strict=True):
        if isinstance(found, Infinite) and not (endless(unit) and value(unit, {}, Path([])) == found):
            return FALSE
    return TRUE if keeps(monoid, values, path) else FALSE


def alike(a: Tuple, b: Tuple) -> Term:
    """Component for component the same."""
    goals: list[Term] = []
    for x, y in zip(a, b, strict=True):
        if isinstance(x, Fraction) and isinstance(y, Fraction):
            goals.append(equality(x, y))
        elif x != y:
            return FALSE
    return both(*goals)


# ── folds over something ──


def something(machine: Machine, monoid: Monoid) -> Iterator[Claim]:
    """A fold whose result has no value for the unit, such as a mean, is over something."""
    units = {c: value(u, {}, Path([])) for (c, _), u in zip(monoid.components, monoid.unit, strict=True)}
    if all(has_value(result, units) for result in monoid.result):
        return
    for axes, fold in folds(machine):
        if fold.monoid == monoid.name:
            first = {b.name: ZERO for b in fold.binders}
            goal = both(*(compare("ge", put(b.extent, first), ONE) for b in fold.binders), *conjuncts(put(fold.guard, first)))
            yield Claim("fold", "TG532", f"{monoid.name} folds something", axes, machine.facts, goal)


def has_value(result: Term, units: Env) -> bool:
    """Whether a result has a value for the unit; what is not known has none."""
    try:
        value(result, units, Path([]))
    except (NoValue, Unsupported):
        return False
    return True
