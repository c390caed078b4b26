"""Operations on the bits of integers: shifts, masks, what is made of them.

Comes in: an operator and the two terms that it stands between, or the name of a function and its arguments. Goes out: a term, or a message. The
one idea: an index is an integer, so a shift or a mask by a number is arithmetic; of data it is where that is so for all of it, and else an
operation of its own.
"""

from __future__ import annotations

from tinygpu.category.bits import digits, of_index
from tinygpu.category.dtype import BITS, SIGNED
from tinygpu.category.operation import FAR, OPERATION
from tinygpu.category.term import INDEX, INTEGERS, App, Const, Term, apply
from tinygpu.diagnostic import Span
from tinygpu.model.dtype import LITERAL, meet, not_offered, offered
from tinygpu.model.problems import UNKNOWN, WRONG
from tinygpu.model.scope import Scope

SHIFTS, MASKS = ("shl", "shr"), ("bitand", "bitor")
WIDEST = "i64"  # holds every index
SAME = (*SHIFTS, "bitand")  # which of two numbers are one as of an index


def bitwise(op: str, left: Term, right: Term, spans: tuple[Span, Span], scope: Scope) -> Term:
    """`left << right` and so on."""
    if op in MASKS:
        left, right = _masked(left, right), _masked(right, left)
    left, right, dtype = meet(left, right, spans, scope.problems)
    if dtype == UNKNOWN:
        return WRONG
    both, width = spans[0].to(spans[1]), BITS.get(dtype, FAR)
    if not offered(op, dtype) or (dtype == LITERAL and not (isinstance(left, Const) and isinstance(right, Const))):
        return not_offered(op, dtype, both, scope.problems)
    if op in SHIFTS and isinstance(right, Const) and not 0 <= right.value < width:
        return scope.problems.say("TG128.shift", spans[1], most=width - 1)
    match left, right:
        case (Const(a), Const(b)) if dtype in (LITERAL, INDEX):
            if isinstance(a, float) or isinstance(b, float):
                return not_offered(op, "f32", both, scope.problems)
            return Const(OPERATION[op].apply(a, b), dtype)  # type: ignore[misc]
        case (_, Const(int(number))) if dtype == INDEX:
            return of_index(op, left, number)
        case (Const(int(number)), _) if dtype == INDEX and op in MASKS:
            return of_index(op, right, number)
    if dtype == INDEX and op != "shl" and (data := _data(left, right)):
        return App("cast", (digits(App(op, data, data[0].dtype)),), INDEX)
    match op, left, right:
        case "shl", Const(int(one), "index"), App("cast", (places,)) if places.dtype in INTEGERS:  # `1 << j` has the dtype of j
            return App("cast", (digits(App(op, (Const(one, places.dtype), places), places.dtype)),), INDEX)
    if dtype == INDEX:
        return _of_indices(op, left, right)
    return digits(App(op, (left, right), dtype))


def _of_indices(op: str, left: Term, right: Term) -> Term:
    """Of two indices, which have 64 bits: a shift is by a power of two, and so is a remainder, `i & (1 << k) - 1`."""
    one = Const(1)
    if op in SHIFTS and left != one and (op == "shr" or not isinstance(left, Const)):
        return apply("mul" if op == "shl" else "floordiv", left, _of_indices("shl", one, right))
    for number, mask in ((left, right), (right, left)) if op == "bitand" else ():
        match mask:
            case App("sub", (App("cast", (App("shl", (Const(1), _), "i64"),)) as power, Const(1))):
                return apply("mod", number, power)
    return App("cast", (digits(App(op, (_wide(left), _wide(right)), WIDEST)),), INDEX)


def _wide(term: Term) -> Term:
    """An index with all its bits."""
    match term:
        case Const(value):
            return Const(value, WIDEST)
        case App("cast", (data,)) if data.dtype in INTEGERS:
            return data if data.dtype == WIDEST else App("cast", (data,), WIDEST)
    return App("cast", (term,), WIDEST)


def _data(left: Term, right: Term) -> tuple[Term, Term] | None:
    """Two integers of one dtype that are indices only since they stand in brackets: but for a shift to the left, which wraps, their bits are the same."""
    match left, right:
        case App("cast", (a,)), App("cast", (b,)) if a.dtype == b.dtype and a.dtype in INTEGERS:
            return a, b
    return None


def _masked(number: Term, other: Term) -> Term:
    """A number below 0 beside unsigned ones has the bits that it has as a signed one: `~7` is all but the lowest three."""
    if isinstance(number, Const) and number.dtype == LITERAL and other.dtype in INTEGERS and other.dtype not in SIGNED:
        return Const(number.value + (1 << BITS[other.dtype]), LITERAL) if number.value < 0 else number
    return number


def flipped(term: Term, span: Span, scope: Scope) -> Term:
    """`~term`: every bit is the other one, which is `-1 - term`."""
    if isinstance(term, Const) and term.dtype in (LITERAL, INDEX) and isinstance(term.value, int):
        return Const(~term.value, term.dtype)
    if term.dtype not in (*INTEGERS, INDEX):
        return WRONG if term.dtype == UNKNOWN else not_offered("~", term.dtype, span, scope.problems)
    if term.dtype == INDEX:
        return Const(-1) - term
    ones = -1 if term.dtype in SIGNED else (1 << BITS[term.dtype]) - 1
    return App("sub", (Const(ones, term.dtype), term), term.dtype)
