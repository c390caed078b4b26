"""Index terms as Python integers: the plainest interpreter, and the one the others are compared with.

Comes in: a term and the values of its variables. Goes out: an exact integer or a truth value.
The one idea: brute force must be too simple to be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.term import FOLDED, App, Const, Term, Var, text


def evaluate(term: Term, values: Mapping[str, int]) -> int:
    """`term → ℤ` at one point: the value of an index or a guard. Raises ValueError for reads, folds and values.

    >>> evaluate(Var("i") // 4 * 4 + Var("i") % 4, {"i": 11})
    11
    >>> from tinygpu.category.term import lift
    >>> evaluate(App("table", (Var("i"), lift(5), lift(7))), {"i": 1})
    7
    """
    match term:
        case Const(int(value)):
            return value
        case Var(name):
            return values[name]
        case App("and", args):
            return all(evaluate(arg, values) for arg in args)
        case App("or", args):
            return any(evaluate(arg, values) for arg in args)
        case App("not", (arg,)):
            return not evaluate(arg, values)
        case App("neg", (arg,)):
            return -evaluate(arg, values)
        case App("select", (condition, then, otherwise)):
            return evaluate(then if evaluate(condition, values) else otherwise, values)
        case App("table", (index, *entries)):
            place = evaluate(index, values)
            if not 0 <= place < len(entries):
                raise ValueError(f"entry {place} of a table of {len(entries)}")
            return evaluate(entries[place], values)
        case App(op, (a, b)) if op in FOLDED:
            return FOLDED[op](evaluate(a, values), evaluate(b, values))
    raise ValueError(f"{text(term)} is not an index term")
