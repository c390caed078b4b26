"""Which floats are numbers as they are stored: nothing of them was rounded on the way.

Comes in: terms. Goes out: whether a comparison of them is one of reals. The one idea: a maximum, a choice or a sign makes no new number, and an
index is none; what was added or multiplied may have been rounded, and may have become too large for its dtype.
"""

from __future__ import annotations

from tinygpu.category.rounding import KEEPING
from tinygpu.category.term import COMPARISONS, FLOATS, App, Const, Fold, Read, Term
from tinygpu.category.total import drowning, limited


def exact(term: Term) -> bool:
    """Whether a float is a number that is stored, or chosen among such: its comparisons are those of reals.

    >>> x = Read("x", (), "f32")
    >>> exact(App("max", (x, Const(0.0, "f32")), "f32")), exact(App("mul", (x, x), "f32"))
    (True, False)
    """
    match term:
        case Const():
            return True
        case Read(tensor):
            return " " not in tensor and compared(term)  # what was computed (`made`) may have become too large for its dtype
        case App("select", (condition, *branches)):
            return compared(condition) and all(map(exact, branches))
        case Fold("min" | "max", axes, guard, body):
            return all(compared(a.extent) for a in axes) and compared(guard) and exact(body)
        case App("add" | "sub", args) if drowning(term) or Const(0.0, term.dtype) in args:
            return all(map(exact, args))  # a number and an infinity are that infinity (`cancel`)
        case App("mul", (Const(value), a)) | App("mul" | "div", (a, Const(value))) if abs(value) == 1:
            return exact(a)
        case App("mul", (Const(value), a)) | App("mul", (a, Const(value))) if value == 0:
            return exact(a) and limited(a)
        case App(op, args) if op in KEEPING:
            return all(map(exact, args))
    return False


def compared(condition: Term) -> bool:
    """Whether a condition, or an index, tests no floats but stored ones."""
    match condition:
        case App(op, args) if op in COMPARISONS and any(a.dtype in FLOATS for a in args):
            return all(map(exact, args))
        case App(_, args):
            return not any(a.dtype in FLOATS for a in args) and all(map(compared, args))
        case Fold("all" | "any", axes, guard, body):
            return all(compared(a.extent) for a in axes) and compared(guard) and compared(body)
        case Read(index=index):
            return all(map(compared, index))
    return not isinstance(condition, Fold)
