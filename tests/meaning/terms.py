"""The meaning of a term at one point: by its nodes, one after the other, as they are written.

Comes in: a term, the values of its variables, and a world, which knows what arrays hold (`equations.py` has the plainest). Goes out: a number, and whether it is *sure*: no
rounding stands between the stored values and it. The one idea: the same walk for equations and for programs; only the world differs:
in an equation what has no value is undefined, in a program it is a fault, or what some float does.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.meaning import values as v
from tests.meaning.certain import Rounded, Value, both, certainty, of_test, undefined_like
from tests.meaning.values import INF, UNDEFINED, WIDTH, CannotJudge, Number
from tinygpu.category.monoid import Carrier, as_monoid
from tinygpu.category.node import BOOL, FLOATS, INDEX, App, Const, Fold, Read, Term, Var
from tinygpu.category.operation import COMPARISONS, SHUFFLES

if TYPE_CHECKING:
    from tests.meaning.equations import Plain

Env: TypeAlias = Mapping[str, Any]
KEEPS = ("min", "max", "neg", "abs", "floor", "round")  # of stored floats they give stored floats
FITS = 1 << 63
WIDER = {"f16": ("f32", "f64"), "bf16": ("f32", "f64"), "f32": ("f64",), "f64": ()}  # what holds all of their numbers
BEYOND, BEFORE = (
    (("gt", INF), ("lt", -INF)),
    (("lt", INF), ("gt", -INF)),
)  # comparisons with what is last, or first, that are false


def evaluate(term: Term, env: Env, world: Plain) -> Value:
    """`term → value` at one point."""
    kind = type(term)
    if kind is App:
        return operation(term, env, world)  # type: ignore[arg-type]
    if kind is Var:
        found = env[term.name]  # type: ignore[union-attr]
        return found if type(found) is tuple else (found, True)
    if kind is Read:
        return world.read(term, tuple([evaluate(i, env, world) for i in term.index]), env)  # type: ignore[union-attr,arg-type]
    if kind is Const:
        value, dtype = term.value, term.dtype  # type: ignore[union-attr]
        return (v.literal(value, dtype) if dtype in FLOATS else value), True
    if kind is Fold:
        return fold(term, env, world)  # type: ignore[arg-type]
    raise TypeError(f"not a term: {term!r}")


def operation(term: App, env: Env, world: Plain) -> Value:
    """An operation, in the order in which its operands are evaluated."""
    op, args = term.op, term.args
    if op == "select":
        condition = evaluate(args[0], env, world)
        if condition[0] is UNDEFINED or not condition[1]:
            return world.choice(term, condition, env)
        return evaluate(args[1 if condition[0] else 2], env, world)
    if op in ("and", "or"):
        return logic(op == "or", args, env, world)
    if op in SHUFFLES:
        return world.exchange(term, env)
    if op == "pack":
        components = tuple(evaluate(a, env, world) for a in args)
        if any(v.infinite(a) and a != u for (a, _), (u, _) in zip(components, unit_of(term.dtype, term.dtype)[0], strict=True)):
            world.outside(term.dtype)
        return world.packed(components)
    if op == "part":
        return evaluate(args[0], env, world)[0][args[1].value]  # type: ignore[union-attr,no-any-return]
    if op == term.dtype:
        return joined(op, evaluate(args[0], env, world), evaluate(args[1], env, world), world)
    if op in COMPARISONS and args[0] == args[1]:
        given = evaluate(args[0], env, world)
        return plain(term, [given, given], world)
    return plain(term, [evaluate(a, env, world) for a in args], world)


def logic(absorbing: bool, args: tuple[Term, ...], env: Env, world: Plain) -> Value:
    """Kleene's `and`, `or`, from the left: what follows is evaluated unless all is decided, whatever rounding does."""
    known: Value = (not absorbing, True)
    for arg in args:
        if known[0] is absorbing and known[1]:
            break
        known = both(absorbing, known, evaluate(arg, env, world))
    return known


def plain(term: App, args: list[Value], world: Plain) -> Value:
    """An operation on numbers."""
    op, dtype, given = term.op, term.dtype, [a for a, _ in args]
    if op == "cast":
        return cast(term, *args[0], world)
    sure = certainty(op, args, True)
    if (op, given[-1]) in BEYOND or (op, given[0]) in BEFORE:
        return False, True  # nothing is there, nor what is no number
    if any(a is UNDEFINED for a in given):
        return UNDEFINED, sure
    if op in COMPARISONS:
        if isinstance(args[0][1], Rounded) and args[0][1] == args[1][1]:  # one float, compared with itself
            world.leans()
            sure = True
        return compare(op, *given), of_test(op, *args) if isinstance(sure, Rounded) and not isinstance(given[0], bool) else sure
    if op == "not":
        return not given[0], sure
    if dtype in FLOATS:
        out = floats(op, given)
        if out is UNDEFINED:
            world.undefined()
        return out, certainty(op, args, op in KEEPS or untouched(op, given))
    return integers(term, given, world), sure


def untouched(op: str, given: list[Number]) -> bool:
    """Whether one operand is a unit or infinite, so that nothing is rounded: `x + 0`, `1*x`, `0*x`, `x - inf`."""
    if op not in ("add", "sub", "mul", "div"):
        return False
    if any(map(v.infinite, given)):
        return True
    match op:
        case "add" | "sub":
            return 0 in given
        case "mul":
            return any(abs(a) in (0, 1) for a in given)
    return bool(abs(given[1]) == 1)


def compare(op: str, a: Number, b: Number) -> bool:
    """A comparison of defined values."""
    match op:
        case "eq" | "ne":
            return v.same(a, b) == (op == "eq")
        case "lt" | "ge":
            return v.less(a, b) == (op == "lt")
    return v.less(b, a) == (op == "gt")


def floats(op: str, args: list[Number]) -> Number:
    """An operation on floats that have values."""
    match op:
        case "add":
            return reduce(v.add, args)
        case "sub":
            return v.add(args[0], -args[1])
        case "mul":
            return reduce(v.multiply, args)
        case "div":
            return v.divide(*args)
        case "neg":
            return -args[0]
        case "min" | "max":
            a, b = args
            return (b if v.less(b, a) else a) if op == "min" else (b if v.less(a, b) else a)
    if op not in v.FUNCTION:
        raise CannotJudge(f"{op} of floats")
    return v.FUNCTION[op](args[0])


def integers(term: App, args: list[Number], world: Plain) -> Number:
    """An operation on integers or indices that have values."""
    op, dtype, a = term.op, term.dtype, args[0]
    b = args[1] if len(args) > 1 else 0
    match op:
        case "floordiv" | "mod" | "ceildiv":
            if b < 1 or (a < 0 and op != "ceildiv" and not (dtype == INDEX and world.euclidean)):
                return world.divided(dtype == INDEX, f"{op} of {a} by {b}")
            out = a // b if op == "floordiv" else a % b if op == "mod" else -(-a // b)
        case "shl" | "shr":
            if not 0 <= b < WIDTH[dtype][0]:
                return world.divided(False, f"{a} is shifted by {b}")
            out = a << b if op == "shl" else a >> b
        case "table":
            if not 0 <= a < len(args) - 1:
                raise CannotJudge("an entry outside of a table")
            out = args[1 + a]
        case _:
            out = {
                "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "min": lambda: min(a, b), "max": lambda: max(a, b),
                "xor": lambda: a ^ b, "bitand": lambda: a & b, "bitor": lambda: a | b, "popcount": lambda: bin(a).count("1"), "neg": lambda: -a, "abs": lambda: abs(a),
            }[op]()  # fmt: skip
    if dtype == INDEX:
        world.fits(out)
        return out
    return v.wrap(out, dtype) if dtype in WIDTH else out


def cast(term: App, a: Number, sure: Any, world: Plain) -> Value:
    """The language's cast. A float that becomes a wider one, and an integer that becomes an integer, are not rounded."""
    source, dtype = term.args[0].dtype, term.dtype
    if dtype in FLOATS:
        if source in FLOATS:
            return a, sure if source == dtype or dtype in WIDER[source] else Rounded()
        return (a if a is UNDEFINED else v.number(int(a))), Rounded()
    if dtype == BOOL:
        return (a if a is UNDEFINED else a != 0), sure
    if source in FLOATS:
        whole = "i64" if dtype == INDEX else dtype
        if not sure:
            world.leans()
        return (world.integer(whole) if a is UNDEFINED else v.to_integer(a, whole)), sure
    if a is UNDEFINED:
        return a, sure
    return (v.wrap(int(a), dtype) if dtype in WIDTH else int(a)), sure


def joined(monoid: str, a: Value, b: Value, world: Plain) -> Value:
    """`a ⊕ b` of a carrier."""
    assert isinstance(monoid, Carrier)
    names = [v.name for side in ("a", "b") for v in monoid.variables(side)]
    env = dict(zip(names, (*a[0], *b[0]), strict=True))
    return world.packed(tuple(evaluate(term, env, world) for term in monoid.combination))


def unit_of(monoid: str, dtype: str) -> Value:
    """What a fold over nothing gives; of integers' `max` and `min`, the end of the range."""
    if isinstance(monoid, Carrier):
        return tuple(evaluate(term, {}, None) for term in monoid.identity), True  # type: ignore[arg-type]
    if monoid in ("max", "min"):
        if dtype in FLOATS:
            return v.number(-INF if monoid == "max" else INF), True
        if dtype not in WIDTH:
            raise CannotJudge("the largest index of none")
        return v.ends(dtype)[monoid == "min"], True
    if monoid == "bitand":
        return v.wrap(-1, dtype), True
    number = {"sum": 0, "prod": 1, "any": False, "all": True, "bitor": 0, "xor": 0}[monoid]
    return (v.number(number) if dtype in FLOATS else number), True


def combine(monoid: str, dtype: str, a: Value, b: Value, world: Plain) -> Value:
    """`a ⊕ b`, of numbers or of a carrier."""
    if isinstance(monoid, Carrier):
        return joined(monoid, a, b, world)
    op = as_monoid(monoid).op
    if op in ("or", "and"):
        return both(op == "or", a, b)
    return plain(App(op, (), dtype), [a, b], world)


def fold(term: Fold, env: Env, world: Plain) -> Value:
    """A fold, its points in row-major order. A guard that is not decided leaves it undefined."""
    total = unit_of(term.monoid, term.dtype)
    extents = [evaluate(axis.extent, env, world)[0] for axis in term.axes]
    if any(extent is UNDEFINED for extent in extents):
        return UNDEFINED, True
    for point in itertools.product(*(range(max(0, extent)) for extent in extents)):
        inner = {**env, **{axis.name: place for axis, place in zip(term.axes, point, strict=True)}}
        held, sure = evaluate(term.guard, inner, world)
        if held is UNDEFINED:
            world.undefined()
            total = undefined_like(total)
        elif held:
            total = combine(term.monoid, term.dtype, total, evaluate(term.body, inner, world), world)
        if not sure:
            total = (total[0], Rounded())
    return total
