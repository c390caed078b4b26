"""Where the equations of an op have values: what the verdict says beside itself, and the module.

    a / b where b ≠ 0;   log a where a > 0;   a + b where they are not ∞ and −∞;   a·b where both are numbers

Comes in: an op. Goes out: conditions as text, none where every element has a value. The one idea: where an operation has a value by its operands'
signs and by what is there, nothing is said; all else is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from tinygpu.category.operation import FUNCTION
from tinygpu.category.region import Region, operands
from tinygpu.category.term import (
    BOOL,
    FALSE,
    FLOATS,
    INDEX,
    TRUE,
    App,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    disjunction,
    substitute,
    tensors,
    text,
    variables,
    walk,
)
from tinygpu.category.total import INFINITE, blending, limited, mixing
from tinygpu.category.visited import Visited
from tinygpu.model.op import Equation, Op, put_in
from tinygpu.obligations.defined import PARTIAL, condition
from tinygpu.obligations.equation import start
from tinygpu.obligations.finite import HIGH, LOW, apart, blended
from tinygpu.record import replace


def where_defined(op: Op) -> tuple[str, ...]:
    """Where the equations of an op have values: a condition for each operation on data that may have none. One side of a theorem has a value where the
    other one has."""
    op, found = op.meant, dict[str, None]()
    numbers: set[str] = set()  # tensors of which it has been said that they are
    infinite = perhaps_infinite(op, numbers)
    for equation in op.equations:
        for term, point in _evaluated(equation.value, start(op, equation), Visited()):
            if isinstance(term, App) and term.op in PARTIAL and term.dtype != INDEX:
                least = sign(term.args[-1], op, point)  # of the divisor, or of the one operand
                if least < 0 or (least == 0 and term.op != "sqrt"):
                    found[text(condition(term))] = None
            if isinstance(term, App | Fold) and (needed := _mixed(term, point, infinite)) != TRUE:
                found |= dict.fromkeys(map(text, conjuncts(needed)))
                numbers |= {name for c in conjuncts(needed) if isinstance(c, App) and c.op == "lt" for name in tensors(c)}
                infinite = perhaps_infinite(op, numbers)
    return tuple(found)


def doubtful(op: Op, names: Iterable[str]) -> tuple[str, ...]:
    """Of some floats of an op those that may be infinite somewhere, or have no value: who takes one for an input takes it for a number."""
    infinite, found = perhaps_infinite(op, ()), list[str]()
    for equation in (op.equation(name) for name in names if op.tensor(name).dtype in FLOATS):
        point, value = start(op, equation), put_in(equation.value, infinite)
        ends = point.settled(conjunction(*(apart(value, sign, point, {}) for sign in (LOW, HIGH))))
        made_of = {equation.target} | op.reached(equation.target)
        if ends != TRUE or where_defined(replace(op, equations=tuple(e for e in op.equations if e.target in made_of))):
            found.append(equation.target)
    return tuple(found)


def perhaps_infinite(op: Op, numbers: Collection[str]) -> dict[str, Equation]:
    """The equations whose elements may be infinite, without names of others that are; of a state, which may read itself, both infinities."""
    found: dict[str, Equation] = {}
    for equation in (e for e in op.equations * (1 + len(op.states)) if e.target not in numbers):
        value = put_in(equation.value, found)
        if equation.along and value.dtype in FLOATS and not limited(value):
            either = App("select", (Var("unknown", BOOL), *(Const(end, value.dtype) for end in INFINITE)), value.dtype)
            found[equation.target] = replace(equation, value=either)
        elif not equation.along and not limited(value):
            found[equation.target] = replace(equation, value=value)
    return found


def _evaluated(term: Term, point: Region, visited: Visited) -> Iterator[tuple[Term, Region]]:
    """The term and everything inside of it, where it is evaluated; what is shared is looked at a few times."""
    if (here := visited.next(term, point)) is not None:
        yield term, here
        for part, where in operands(term, here):
            yield from _evaluated(part, where, visited)


def _mixed(term: App | Fold, point: Region, infinite: Mapping[str, Equation]) -> Term:
    """Where what is computed of numbers and infinities has a value."""
    full = put_in(term, infinite)
    if not (blending(full) if isinstance(full, Fold) else isinstance(full, App) and mixing(full)):
        return TRUE

    def within(a: Term, *signs: int) -> Term:
        return conjunction(*(_not_at(a, sign, point, infinite) for sign in signs))

    match term:
        case App("add" | "sub" as how, (a, b)):
            ends = ((LOW, HIGH), (HIGH, LOW)) if how == "add" else ((LOW, LOW), (HIGH, HIGH))
            return conjunction(*(disjunction(within(a, one), within(b, other)) for one, other in ends))
        case App("div", (a, b)):
            return disjunction(within(a, LOW, HIGH), within(b, LOW, HIGH))
        case App(op, (a,)) if op in FUNCTION:
            return within(a, *(end for end, limit in zip((LOW, HIGH), FUNCTION[op].limits, strict=True) if limit is None))
        case App(_, args):
            return conjunction(*(within(a, LOW, HIGH) for a in args if a.dtype in FLOATS))
    return TRUE if isinstance(full, Fold) and point.settled(blended(full, point, {})) == TRUE else within(term, LOW, HIGH)


def _not_at(term: Term, sign: int, point: Region, infinite: Mapping[str, Equation]) -> Term:
    """Where a value is not the infinity of a sign: by the sizes, or where what it is made of is a number."""
    needed = point.settled(apart(put_in(term, infinite), sign, point, {}))
    if isinstance(term, Const) or (needed != FALSE and not tensors(needed) and "unknown" not in variables(needed)):
        return needed
    read = [t for t in walk(term) if isinstance(t, Read) and t.tensor in infinite]
    return conjunction(*(App("lt", (App("abs", (t,), t.dtype), Const(max(INFINITE), t.dtype)), BOOL) for t in read or (term,)))


def sign(term: Term, op: Op, point: Region) -> int:
    """1 where a value is surely positive, 0 where it is surely not negative, else -1.

    >>> from tinygpu.category.term import TRUE
    >>> x, op = Read("x", (), "f32"), Op("o", (), (), (), (), ())
    >>> square = App("mul", (x, x), "f32")
    >>> [sign(t, op, Region(())) for t in (x, square, App("add", (square, Const(1.0, "f32")), "f32"), App("exp", (x,), "f32"))]
    [-1, 0, 1, 1]
    """
    match term:
        case Const(value):
            return 1 if value > 0 else 0 if value == 0 else -1
        case Read(name, index) if any(e.target == name and not e.along for e in op.equations):
            equation = op.equation(name)
            bind = {a.name: i for a, i in zip(equation.axes, index, strict=True)}
            return sign(substitute(equation.value, bind), op, point)
        case App(name) if name in FUNCTION and FUNCTION[name].positive:
            return 1
        case App("abs"):
            return 0
        case App("cast", (inner,)) if inner.dtype == INDEX:
            return 1 if point.settled(inner >= 1) == TRUE else 0 if point.settled(inner >= 0) == TRUE else -1
        case App("cast" | "sqrt" | "rsqrt", (inner,)):
            return sign(inner, op, point)
        case App("mul", (a, b)) if a == b:
            return 0
        case App("add" | "mul" | "div" | "max" | "min" | "select" as how, args):
            signs = [sign(a, op, point) for a in args[how == "select" :]]
            return max(signs) if how == "max" or (how == "add" and min(signs) >= 0) else min(signs)
        case Fold("sum" | "max" | "min" | "prod" as how):
            fold, there = point.opened(term)
            inside = sign(fold.body, op, there.under(fold.guard))
            first: dict[str, Term] = {a.name: Const(0) for a in term.axes}
            filled = conjunction(*(a.extent >= 1 for a in term.axes), substitute(term.guard, first))
            some = how == "prod" or point.settled(filled) == TRUE  # a maximum over nothing is not positive
            return inside if some else min(inside, 0) if how == "sum" else -1 if how == "max" else inside
    return -1
