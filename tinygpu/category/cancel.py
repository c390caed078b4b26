"""What cancels is gone: a sum, a product, a comparison or a function of a number that is a shorter term by the laws of numbers.

    x + 0·w = x    (x + w) − w = x    x ^ w ^ w = x    exp 0 = 1    log (exp x) = x    max(x, w) ≥ x    x < ∞

Comes in: a value. Goes out: the same value. The one idea: where every operand surely has a value and is a number (`total`), floats are a field and
machine integers a ring, so a value is its polynomial; nothing that may have no value is ever thrown away.
"""

from __future__ import annotations

from itertools import islice
from math import prod

from tinygpu.category.bits import digits
from tinygpu.category.carrier import combined
from tinygpu.category.dtype import BITS, contains, nearest, stored
from tinygpu.category.evaluate import number, wrapped
from tinygpu.category.monoid import Carrier, as_monoid, unit_of
from tinygpu.category.node import kept
from tinygpu.category.operation import KNOWN, SWAPPED
from tinygpu.category.ring import difference, flips, shorter
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FALSE,
    FLOATS,
    FOLDED,
    INDEX,
    INTEGERS,
    App,
    Const,
    Fold,
    Read,
    Term,
    Var,
    apply,
    disjunction,
    memoised,
    negation,
    rebuild,
    select,
    walk,
    whole,
)
from tinygpu.category.total import INFINITE, drowning, failing, limited, mixing, total, vanishing
from tinygpu.record import replace

FEW = 100  # parts of what is put together


@kept
def cancel(term: Term) -> Term:
    """The shorter term, or the same.

    >>> from tinygpu.category.term import text
    >>> x, w = Read("x", (), "f32"), Read("w", (), "f32")
    >>> add, sub, div = (lambda a, b, op=op: App(op, (a, b), "f32") for op in ("add", "sub", "div"))
    >>> [text(cancel(t)) for t in (sub(add(x, w), w), sub(div(x, w), div(x, w)), App("exp", (sub(w, w),), "f32"), div(add(x, x), Const(2.0, "f32")))]
    ['x', 'x / w - x / w', '1', 'x']
    """
    if isinstance(term, Const | Var | Read) or (term.dtype == INDEX and whole(term)):
        return term
    inside = rebuild(term, cancel)
    return inside if term.dtype == INDEX else _cancel(inside)


def _cancel(term: Term) -> Term:
    match term:
        case App("xor", _, dtype) if dtype in INTEGERS and sure(term):
            return flips(term)
        case App("shl" | "shr" | "bitand") if (plainly := digits(term)) is not term:
            return cancel(plainly)
        case App("bitand" | "bitor" | "popcount" as op, args, dtype) if dtype in INTEGERS and all(
            isinstance(a, Const) for a in args
        ):
            return Const(number(term, {}), dtype)
        case App("cast", (Const(value) as literal,), dtype) if dtype in INTEGERS and literal.dtype in (INDEX, *INTEGERS):
            return Const(wrapped(value, dtype), dtype)
        case App("cast", (inner,), dtype) if {dtype, inner.dtype} <= {*FLOATS} and (settled := _kept(inner, dtype)):
            return settled
        case App("floordiv" | "mod" as op, (Const(a), Const(b)), dtype) if dtype in INTEGERS and a >= 0 and b > 0:
            return Const(FOLDED[op](int(a), int(b)), dtype)
        case App("div", (_, Const()), dtype) if vanishing(term):
            return Const(0.0, dtype)
        case App("add" | "sub" as op, (a, b), dtype) if drowning(term):
            end = b if isinstance(b, Const) and b.value in INFINITE else a
            return end if op == "add" else cancel(App("neg", (b,), dtype))
        case App("neg", (Const(value),), dtype) if dtype in FLOATS:
            return Const(-value, dtype)
        case App("add" | "sub" | "mul" | "neg", _, dtype) if dtype in INTEGERS:
            return _sum(term)
        case App("add" | "sub" | "mul" | "neg" | "div", _, dtype) if dtype in FLOATS:
            return _sum(term)
        case App("min" | "max", (a, b)) if a == b:
            return a
        case App("min" | "max" as op, (a, b), dtype) if (unit := unit_of(op, dtype)) in (a, b):
            return b if a == unit else a
        case App("cast", (inner,), dtype) if dtype in INTEGERS and inner.dtype in INTEGERS and BITS[dtype] <= BITS[inner.dtype]:
            return _narrow(inner, dtype) or term
        case App("cast", (App("cast", (inner,), middle),), dtype) if (
            inner.dtype in INTEGERS and contains(middle, inner.dtype) and (middle in INTEGERS or contains(dtype, inner.dtype))
        ):  # an integer wraps, and a float ends where the dtype does
            return cancel(App("cast", (inner,), dtype))
        case App("cast", (App("cast", (inner,), "index"),), dtype) if dtype in INTEGERS and inner.dtype in INTEGERS:
            return cancel(App("cast", (inner,), dtype))  # an integer as an index is the same number
        case App("log", (App("exp", (inner,)),)) if total(inner) and limited(inner):
            return inner
        case App(op, (Const(value),), dtype) if (op, value) in KNOWN:
            return Const(float(KNOWN[op, value]), dtype)
        case App(op, (a, b)) if op in COMPARISONS and a.dtype in FLOATS + INTEGERS and sure(term):
            holds = _compared(op, a, b)
            return term if holds is None else Const(holds, BOOL)
        case App("or", args):
            return disjunction(*args)
        case App("not", (inner,)):
            return negation(inner)
        case App("part", (App(op, (a, b), carrier) as both, Const(int(place)))) if op == carrier and total(both) and packed(both):
            return cancel(combined(op, a, b)[place]) if isinstance(op, Carrier) else term
        case Fold("sum", axes, Const(True), Const() as each, "f32" | "f64" as dtype) if limited(
            each
        ):  # of others a cast is rounded
            many: Term = prod((apply("max", a.extent, 0) for a in axes), start=Const(1))
            return cancel(App("mul", (App("cast", (many,), dtype), each), dtype))
        case Fold(monoid, _, guard, body, dtype) if total(guard) and (guard == FALSE or body == as_monoid(monoid).unit(dtype)):
            return as_monoid(monoid).unit(dtype) or term  # of nothing, and of units
    return term


def packed(term: App) -> bool:
    """Whether both operands are put together there, of a few parts: a combination writes them several times."""
    return all(isinstance(t, App) and t.op == "pack" and next(islice(walk(t), FEW, None), None) is None for t in term.args)


@kept
def sure(term: Term) -> bool:
    """Whether a term has a value wherever the program is right: it never divides an integer by less than 1, and never shifts beyond a width (`defined.state`)."""
    match term:
        case App("floordiv" | "mod" | "shl" | "shr", args, dtype) if dtype in INTEGERS:
            return all(map(sure, args))
        case App(_, args) if not total(term):
            return all(map(sure, args)) and not failing(term) and not mixing(term)
    return total(term)


def _kept(term: Term, dtype: str) -> Term | None:
    """A float in another dtype, where that is no matter of rounding: a number that both have, or a choice between such a number and another value.

    >>> [_kept(Const(n, "f32"), "e4m3") for n in (0.5, 0.1, 448.0, 449.0, float("inf"), -0.0)]
    [Const(value=0.5, dtype='e4m3'), None, Const(value=448.0, dtype='e4m3'), None, None, None]
    """
    match term:
        case Const(value):
            number = nearest(float(value), term.dtype)
            same = number is not None and number == nearest(float(number), dtype) and str(float(value)) != "-0.0"
            return Const(float(number), dtype) if same and number is not None else None
        case App("select", (condition, a, b)) if isinstance(a, Const) or isinstance(b, Const):
            yes, no = (_kept(t, dtype) if isinstance(t, Const) else _cancel(App("cast", (t,), dtype)) for t in (a, b))
            return App("select", (condition, yes, no), dtype) if yes and no else None
    return None


def _compared(op: str, a: Term, b: Term) -> bool | None:
    """Whether a comparison of two values holds for all data, or for none."""
    for x, y, order in ((a, b, op), (b, a, SWAPPED[op])):  # each is said of `x order y`
        if order in ("ge", "lt") and (_beyond(x, y, "max") or _beyond(y, x, "min") or _natural(x, y)):
            return order == "ge"
        if isinstance(y, Const) and y.value in INFINITE and limited(x):
            return order == "ne" or ((order in ("lt", "le")) == (y.value > 0) and order != "eq")
        if order in ("lt", "ge") and isinstance(x, App) and x.op == "mod" and isinstance(y, Const) and x.args[1] == y:
            return order == "lt"
    if isinstance(a, Const) and isinstance(b, Const):
        return bool(FOLDED[op](stored(a.value, a.dtype), stored(b.value, b.dtype)))  # type: ignore[arg-type]
    if a == b:
        return op in ("eq", "le", "ge")
    if not (limited(a) and limited(b)) or (a.dtype in INTEGERS and op not in ("eq", "ne")):
        return None
    apart = difference(a, b)
    return None if apart is None else bool(FOLDED[op](apart, 0))


@memoised
def _beyond(x: Term, y: Term, op: str) -> bool:
    """Whether `x` is a maximum of which `y` is one operand, or a minimum."""
    return isinstance(x, App) and x.op == op and (y in x.args or any(_beyond(inner, y, op) for inner in x.args))


def _natural(x: Term, y: Term) -> bool:
    """Whether `y` is 0 and `x` a float that is never below it, or a quotient: nothing negative is divided."""
    if y != Const(0.0, y.dtype) or not isinstance(x, App) or x.dtype not in FLOATS:
        return isinstance(x, App) and x.op in ("floordiv", "mod") and y == Const(0, x.dtype)
    return x.op in ("abs", "exp", "exp2") or (x.op == "mul" and x.args[0] == x.args[1])


def _sum(term: App) -> Term:
    """A sum or product: without the units that stand in it; as its polynomial, where that is shorter."""
    zero, one = (Const(float(n) if term.dtype in FLOATS else n, term.dtype) for n in (0, 1))
    match term:
        case App("add", (a, b)) if zero in (a, b):
            return b if a == zero else a
        case App("mul", (a, b)) if one in (a, b):
            return b if a == one else a
        case App("sub" | "div" as op, (a, b)) if b == (zero if op == "sub" else one):
            return a
        case App("neg", (App("neg", (inner,)),)):
            return inner
    return shorter(term) if sure(term) and limited(term) else term


@memoised
def _narrow(term: Term, dtype: str) -> Term | None:
    """An integer modulo 2ʷ, computed modulo 2ʷ: what wraps in the end may wrap all along. None where something else is done to it."""
    match term:
        case App("cast", (inner,)) if inner.dtype == dtype:
            return inner
        case Const(value):
            return Const(wrapped(int(value), dtype), dtype)
        case App("add" | "sub" | "mul" | "neg" | "xor" | "bitand" | "bitor" as op, args):
            operands = [_narrow(a, dtype) for a in args]
            return App(op, tuple(a for a in operands if a is not None), dtype) if None not in operands else None
        case App("select", (condition, *branches)):
            chosen = [_narrow(b, dtype) for b in branches]
            return select(condition, chosen[0], chosen[1]) if chosen[0] is not None and chosen[1] is not None else None
        case Fold("sum" | "prod", body=body):
            summed = _narrow(body, dtype)
            return None if summed is None else replace(term, body=summed, dtype=dtype)
        case App("min" | "max" as op, (a, b)):
            x, y = (_held(t, dtype) or _extreme(t, op, dtype) for t in (a, b))
            if x is not None and y is not None and not (isinstance(a, Fold) and isinstance(b, Fold)):
                return App(op, (x, y), dtype)
    return None


def _held(term: Term, dtype: str) -> Term | None:
    """An integer in a narrower dtype that holds its value."""
    match term:
        case App("cast", (inner,), outer) if inner.dtype == dtype and contains(outer, dtype):
            return inner
        case Const(value) if wrapped(int(value), dtype) == value:
            return Const(value, dtype)
    return None


def _extreme(term: Term, op: str, dtype: str) -> Term | None:
    """A fold of such integers, beside one of them: over nothing it is the end of a range, which is not the other's, and is never taken."""
    if isinstance(term, Fold) and term.monoid == op and (inner := _held(term.body, dtype)) is not None:
        return replace(term, body=inner, dtype=dtype)
    return None
