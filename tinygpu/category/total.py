"""Which terms surely have a value, and which are surely finite: a law of numbers is used of these alone.

    x / 0, log 0, ∞ − ∞, 0·∞ and a cell that nobody wrote have no value;   −∞ is a value, and no number

Comes in: a term. Goes out: yes, or perhaps not. The one idea: what is thrown away unevaluated (`a == a`, `v if c else v`, `c and false`)
has to have had a value, since the program evaluates it.
"""

from __future__ import annotations

from tinygpu.category.dtype import stored
from tinygpu.category.fields import children
from tinygpu.category.node import DTYPES, FLOATS, INDEX, App, Const, Fold, Read, Term, Var, kept
from tinygpu.category.operation import (
    ARITHMETIC,
    ARITHMETICAL,
    COMPARISONS,
    FUNCTION,
    FUNCTIONS,
    INTEGER,
    KEEPING,
    LOGIC,
    OPERATION,
    PARTIAL,
    demands,
)

SPECIAL = ("?", "!", "@")  # stand in names of reads that are no input's: unwritten, without a closed form, of the turn before
PERHAPS = " made perhaps"  # ends the name of what was stored where an equation may have no value
INFINITE = (float("inf"), float("-inf"))


WRITTEN = {row.name: row.apply for row in ARITHMETICAL if row.apply and row.of != INTEGER}  # what is computed of written floats


@kept
def total(term: Term) -> bool:
    """Whether a term has a value, whatever the data is and whoever wrote the cells.

    >>> x = Read("x", (Var("i"),), "f32")
    >>> m = Fold("max", (), Const(True, "bool"), x, "f32")
    >>> [total(t) for t in (x, m, App("div", (x, x), "f32"), App("sub", (x, x), "f32"), App("sub", (m, m), "f32"), Read("v?", (), "f32"))]
    [True, True, False, True, False, False]
    """
    match term:
        case Read(tensor, index):
            return not any(mark in tensor for mark in (*SPECIAL, PERHAPS)) and all(map(total, index))
        case Fold() if blending(term):
            return False
        case App(_, args):
            return literal(term) is not None or (all(map(total, args)) and not failing(term) and not mixing(term))
    return all(map(total, children(term)))


def failing(term: App) -> bool:
    """Whether a partial operation may have no value where its operands are numbers."""
    if term.op not in PARTIAL or term.op in FUNCTION:
        return term.op in PARTIAL
    return not all(met(term.args[place], relation, number) for relation, place, number in demands(term.op, term.dtype))


def met(operand: Term, relation: str, number: float) -> bool:
    """Whether a number that is written compares so."""
    return isinstance(operand, Const) and bool(OPERATION[relation].apply(stored(operand.value, operand.dtype), number))  # type: ignore[misc]


def mixing(term: App) -> bool:
    """Whether an operation computes with what may be an infinity: arithmetic, functions, conversions to integers.

    >>> x, m = Read("x", (), "f32"), Fold("max", (), Const(True, "bool"), Read("x", (), "f32"), "f32")
    >>> mixing(App("add", (m, x), "f32")), mixing(App("max", (m, x), "f32")), mixing(App("gt", (x, m), "bool"))
    (True, False, False)
    """
    if vanishing(term) or drowning(term) or term.op in KEEPING or term.op in COMPARISONS + LOGIC + ("pack", "part", "table"):
        return False
    if term.op == "cast" and term.dtype in FLOATS:
        return False
    return (term.op in ARITHMETIC + FUNCTIONS + ("cast",)) and any(a.dtype in FLOATS and not limited(a) for a in term.args)


def blending(term: Fold) -> bool:
    """Whether a fold computes with terms that may be infinities: `∞ + −∞` and `∞·0` have no value.

    >>> x = Read("x", (Var("k"),), "f32")
    >>> endless = App("select", (App("gt", (x, Const(0.0, "f32")), "bool"), Const(float("inf"), "f32"), x), "f32")
    >>> [blending(Fold(monoid, (), Const(True, "bool"), endless, "f32")) for monoid in ("sum", "prod", "max")]
    [True, True, False]
    """
    return term.monoid in ("sum", "prod") and term.dtype in FLOATS and not limited(term.body)


def vanishing(term: App) -> bool:
    """Whether an operation makes a number of an infinity that is written there: `exp(-inf)`, `x / inf`."""
    match term:
        case App(op, (Const(value),)) if op in FUNCTION:
            return value in FUNCTION[op].ends
        case App("div", (a, Const(value))):
            return value in INFINITE and limited(a) and total(a)
    return False


@kept
def literal(term: Term) -> float | None:
    """The number or infinity that a term of written floats is, without what rounding does; None where it has no value, or is none. That it has
    one makes it no number: −∞ + 1 is no larger than −∞.

    >>> two, end = Const(2.0, "f32"), Const(float("inf"), "f32")
    >>> literal(App("mul", (two, end), "f32")), literal(App("sub", (end, end), "f32"))
    (inf, None)
    """
    match term:
        case Const(value) if term.dtype in FLOATS:
            return float(value)
        case App(op, args) if op in WRITTEN and term.dtype in FLOATS:
            numbers = [number for a in args if (number := literal(a)) is not None]
            if len(numbers) < len(args) or (op == "div" and numbers[1] == 0):
                return None
            found: float = WRITTEN[op](*numbers)
            return None if found != found else found
    return None


def drowning(term: App) -> bool:
    """Whether a number is added to an infinity that is written there: `x - inf` is that infinity."""
    match term:
        case App("add" | "sub", (a, Const(value))) if value in INFINITE:
            return limited(a) and total(a)
        case App("add", (Const(value), a)):
            return value in INFINITE and limited(a) and total(a)
    return False


@kept
def limited(term: Term) -> bool:
    """Whether a value is surely no infinity, wherever it is one at all.

    >>> x, m = Read("x", (), "f32"), Fold("max", (), Const(True, "bool"), Read("x", (), "f32"), "f32")
    >>> limited(x), limited(m), limited(App("max", (m, x), "f32")), limited(App("exp", (x,), "f32"))
    (True, False, False, True)
    """
    if term.dtype not in FLOATS:
        return term.dtype in DTYPES or term.dtype == INDEX
    match term:
        case Const(value):
            return value not in INFINITE
        case Var(name):
            return " " not in name or name.startswith("number ")  # else it stands for a fold
        case Read(tensor):
            return not any(mark in tensor for mark in SPECIAL)
        case Fold(monoid, _, _, body):
            return monoid in ("sum", "prod") and limited(body)
        case App("part"):
            return False
        case App("select", (_, *branches)):
            return all(map(limited, branches))
        case App(op, args):
            return (op in FUNCTION and FUNCTION[op].damped) or vanishing(term) or all(map(limited, args))
