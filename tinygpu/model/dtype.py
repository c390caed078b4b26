"""Dtypes of terms: what a literal becomes where it meets a value, and when two values do not mix.

Comes in: terms whose dtype may still be open (`literal`: only numbers; `index`: sizes and indices).
Goes out: terms of one dtype, with the literals converted and the index terms cast.
The one idea: a literal has no dtype of its own, an index term has one and is cast, and every other mixture is said aloud by the user.
"""

from __future__ import annotations

from tinygpu.category.dtype import DTYPE, RANGE, STORAGE
from tinygpu.category.monoid import Carrier, components
from tinygpu.category.operation import BITWISE, COMPARISONS, FLOAT, FUNCTIONS, INTEGER, OPERATION, SHUFFLES, SYMBOL, UNSIGNED
from tinygpu.category.term import BOOL, FLOATS, INDEX, INTEGERS, App, Const, Fold, Term, apply, select, text, walk
from tinygpu.diagnostic import Span
from tinygpu.model.problems import UNKNOWN, WRONG, Problems
from tinygpu.record import replace

LITERAL = "literal"
OPEN = (LITERAL, INDEX)
# a cast is advised towards the right
WIDER = (*sorted(INTEGERS, key=lambda t: DTYPE[t].digits), *sorted(FLOATS, key=lambda t: (DTYPE[t].bits, -DTYPE[t].exponent)))


def constant(value: int | float | bool, dtype: str) -> Const | None:
    """A literal in a dtype, or None if the dtype does not have it.

    >>> constant(2, "f32"), constant(300, "u8"), constant(0.5, "i32"), constant(1e6, "f16")
    (Const(value=2.0, dtype='f32'), None, None, None)
    """
    if dtype in FLOATS:
        fits = abs(value) <= DTYPE[dtype].largest or (abs(value) == float("inf") and not DTYPE[dtype].saturates)
        return Const(float(value), dtype) if fits else None
    if isinstance(value, float) and not value.is_integer():
        return None
    low, high = RANGE.get(dtype, RANGE["i64"])
    return Const(int(value), dtype) if low <= int(value) <= high else None


def integral(term: Term) -> bool:
    """Whether a term of numbers and indices may be an integer.

    >>> from tinygpu.category.term import Var
    >>> half = Const(0.5, LITERAL)
    >>> integral(App("mul", (Const(2, LITERAL), Var("n")), INDEX)), integral(App("mul", (half, half), LITERAL))
    (True, False)
    """
    return all(
        (not isinstance(t, Const) or float(t.value).is_integer())
        and (not isinstance(t, App) or t.op not in OPERATION or OPERATION[t.op].of != FLOAT)
        for t in walk(term)
    )


def settle(term: Term, dtype: str, span: Span, problems: Problems) -> Term:
    """The term in `dtype`: literals take it, index terms are cast to it. A term of another dtype is left as it is."""
    if term.dtype == dtype or term.dtype not in OPEN or dtype == UNKNOWN:
        return term
    if isinstance(dtype, Carrier):
        return problems.say("TG147.number", span, dtype=dtype, fix=_made(dtype))
    if dtype == BOOL:
        return problems.say("TG123.number", span, kind="a number")
    match term:
        case Const(value) if term.dtype == LITERAL:
            settled = constant(value, dtype)
            return settled or _unfit(text(term), dtype, span, problems)
        case App("select", (condition, a, b)):
            return select(condition, settle(a, dtype, span, problems), settle(b, dtype, span, problems))
        case Fold(_, _, _, body):
            return replace(term, body=settle(body, dtype, span, problems), dtype=dtype)
        case App("cast", (inner,)) if term.dtype == LITERAL or (inner.dtype in INTEGERS and dtype in INTEGERS):
            return inner if inner.dtype == dtype else App("cast", (inner,), dtype)
        case App(op, (shuffled, lane)) if op in SHUFFLES and term.dtype == LITERAL and dtype != INDEX:
            return App(op, (settle(shuffled, dtype, span, problems), lane), dtype)
        case App(op, args) if term.dtype == LITERAL:
            if not offered(op, dtype):
                return not_offered(op, dtype, span, problems)
            settled_args = tuple(settle(a, dtype, span, problems) for a in args)
            made = apply(op, *settled_args) if dtype == INDEX else App(op, settled_args, dtype)
            large = isinstance(made, Const) and made.dtype == INDEX and constant(made.value, INDEX) is None
            return _unfit(text(made), INDEX, span, problems) if large else made
    return App("cast", (term,), dtype)


def _unfit(number: str, dtype: str, span: Span, problems: Problems) -> Const:
    if dtype == INDEX:
        return problems.say("TG119.large" if number.lstrip("-").isdecimal() else "TG119.fraction", span, number=number)
    return problems.say("TG124.unfit", span, dtype=dtype, number=number)


def offered(op: str, dtype: str) -> bool:
    """Whether a value of `dtype` has the operation.

    >>> offered("div", "i32"), offered("exp", "f16"), offered("mod", "f32"), offered("abs", "i32")
    (False, True, False, True)
    """
    if op in SHUFFLES:
        return dtype != INDEX
    if isinstance(dtype, Carrier):
        return False
    if dtype == BOOL or dtype in STORAGE:
        return op in COMPARISONS
    if (of := OPERATION[op].of) == UNSIGNED:
        return dtype in INTEGERS and not DTYPE[dtype].signed
    return dtype in (*FLOATS, LITERAL) if of == FLOAT else of != INTEGER or dtype not in FLOATS


def not_offered(op: str, dtype: str, span: Span, problems: Problems) -> Const:
    """The message for an operation that a dtype does not have."""
    sign, kind = SYMBOL.get(op, (op, 0))[0].strip(), "an index" if dtype == INDEX else dtype
    if isinstance(dtype, Carrier):
        return problems.say("TG122.carrier", span, sign=sign, kind=kind, component=dtype.components[0][0])
    if dtype in STORAGE:
        return problems.say("TG122.storage", span, sign=sign, kind=kind, fix="f32" if dtype in FLOATS else "i32")
    named = {"div": "TG122.div", "floordiv": "TG122.floordiv", "mod": "TG122.mod", **dict.fromkeys((*BITWISE, "~"), "TG122.whole")}
    if dtype == BOOL:
        return problems.say("TG122.logic" if sign in ("&", "|", "~") else "TG122.bool", span, sign=sign, kind=kind)
    message = named.get(op, "TG122.function" if op in FUNCTIONS else "TG122.sign")
    return problems.say(message, span, sign=sign, kind=kind)


def meet(left: Term, right: Term, spans: tuple[Span, Span], problems: Problems) -> tuple[Term, Term, str]:
    """Two terms in one dtype, and that dtype; `?` if they do not mix."""
    if left.dtype == LITERAL or (left.dtype == INDEX and right.dtype not in (LITERAL, BOOL)):
        left = settle(left, right.dtype, spans[0], problems)
    elif right.dtype in OPEN and (left.dtype != BOOL or right.dtype == LITERAL):
        right = settle(right, left.dtype, spans[1], problems)
    if UNKNOWN in (left.dtype, right.dtype):
        return WRONG, WRONG, UNKNOWN
    if left.dtype == right.dtype:
        return left, right, left.dtype
    problems.say("TG120.meet", *spans, left=_kind(left.dtype), right=_kind(right.dtype), fix=_advice(left, right))
    return WRONG, WRONG, UNKNOWN


def _made(dtype: str) -> str:
    """How a carrier's value is written."""
    return f"write {dtype}({', '.join(name for name, _ in components(dtype))}), a value for each component"


def _kind(dtype: str) -> str:
    return "an index" if dtype == INDEX else dtype


def _advice(left: Term, right: Term) -> str:
    """Which side to cast: the narrower one to the wider, both to f32 where neither holds the other."""
    a, b = left.dtype, right.dtype
    one, other = (text(term).replace("[]", "") for term in (left, right))  # a scalar argument as the user wrote it
    if isinstance(a, Carrier) or isinstance(b, Carrier):
        return _made(a if isinstance(a, Carrier) else b)
    if BOOL in (a, b):
        return f"make the condition a number: 1 if {one if a == BOOL else other} else 0"
    x, y = DTYPE.get(a), DTYPE.get(b)
    if x and y and x.kind == y.kind == FLOAT and not x.holds(y) and not y.holds(x):
        return f"write f32({one}) and f32({other})"
    return f"write {a}({other})" if WIDER.index(a) > WIDER.index(b) else f"write {b}({one})"


def to_index(term: Term, span: Span, problems: Problems) -> Term:
    """The term as an index: literals become index constants, integer values are cast, floats and conditions are refused."""
    term = settle(term, INDEX, span, problems)
    if term.dtype in INTEGERS:
        return App("cast", (term,), INDEX)
    if term.dtype in (*FLOATS, BOOL) or isinstance(term.dtype, Carrier) or (isinstance(term, Fold) and term.dtype == INDEX):
        kind = "a fold" if isinstance(term, Fold) else "a condition" if term.dtype == BOOL else f"a value of {term.dtype}"
        message = {BOOL: "TG119.condition", INDEX: "TG119.fold"}.get(term.dtype, "TG119.value")
        return problems.say(message, span, kind=kind)
    return term
