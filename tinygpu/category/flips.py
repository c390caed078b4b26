"""Sums of bits without carries: `^` is associative and commutative, 0 is its unit, and what is flipped twice is not flipped.

Comes in: a term. Goes out: an equal one in which the operands of `^` stand in one order. The one idea: integers with `^` are a group in which
every element is its own inverse, so a flip is a set of operands; solvers that count bits find that again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from tinygpu.category.term import App, Const, Term, rebuild, text


def flips(term: Term) -> Term:
    """The term with each `^` in normal form.

    >>> from tinygpu.category.term import Var
    >>> a, b, c = (Var(n, "i32") for n in "abc")
    >>> flip = lambda x, y: App("xor", (x, y), "i32")
    >>> text(flips(flip(flip(c, Const(5, "i32")), flip(a, flip(c, Const(3, "i32")))))), flips(flip(flip(a, b), b)) == a
    ('a ^ 6', True)
    """
    inner = rebuild(term, flips)
    match inner:
        case App("xor", _, dtype):
            once: dict[Term, None] = {}
            number = 0
            for operand in _operands(inner):
                if isinstance(operand, Const):
                    number ^= int(operand.value)
                elif operand in once:
                    del once[operand]
                else:
                    once[operand] = None
            parts = [*sorted(once, key=text), *([Const(number, dtype)] if number or not once else [])]
            return reduce(lambda a, b: App("xor", (a, b), dtype), parts)
    return inner


def _operands(term: Term) -> Iterator[Term]:
    match term:
        case App("xor", (a, b)):
            yield from _operands(a)
            yield from _operands(b)
        case _:
            yield term
